#include "touchstone/cli/judging/kernel_io.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <unordered_map>

#include "touchstone/base/counted.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"

namespace touchstone::cli {

namespace {

symbolic::Values parse_values(const std::vector<std::string>& words, const LazyOpPtr& kernel) {
  std::vector<std::string> known;
  for (const symbolic::Node& v : variables_of(kernel)) known.push_back(symbolic::variable_name(v));
  symbolic::Values values;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    std::int64_t value = 0;
    const char* const end = word.data() + word.size();
    const bool formed = equals != std::string::npos && equals != 0 && equals + 1 != word.size();
    const auto [stop, error] = formed ? std::from_chars(word.data() + equals + 1, end, value)
                                      : std::from_chars_result{end, std::errc::invalid_argument};
    if (error == std::errc::result_out_of_range)
      throw ParseError(fmt::format("the value of '{}' does not fit in 64 bits", word));
    if (error != std::errc() || stop != end)
      throw ParseError(fmt::format("'{}' is not NAME=VALUE, as n=3", word));
    const std::string name = word.substr(0, equals);
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw ParseError(known.empty()
                           ? fmt::format("'{}': the kernel has no variables; omit --var", word)
                           : fmt::format("'{}': the kernel has no variable '{}'; it has {}", word,
                                         name, fmt::join(known, ", ")));
    if (!values.emplace(name, value).second)
      throw ParseError(fmt::format("'{}': '{}' is given twice", word, name));
  }
  return values;
}

// A named array, not yet read.
struct Named {
  std::string name;  // of an input: "x" of x=x.npy; empty: by order
  std::string label;
  std::shared_ptr<const ArrayFile> file;  // null: see the label
  std::size_t at = 0;

  HostArray read(const Wanted& wanted) const {
    return file ? file->read(at, wanted) : read_array(label, wanted);
  }
};

// The arrays that the words name. A single file for the inputs may hold all of them: in1, in2, ...
// as written by emit, or arr_0, arr_1, ... as by numpy.savez.
std::vector<Named> named_by(const std::vector<std::string>& paths, int first) {
  std::vector<Named> found;
  if (first == 1 && paths.size() == 1 && std::filesystem::path(paths[0]).extension() != ".npy" &&
      std::filesystem::exists(paths[0])) {
    const auto file = std::make_shared<const ArrayFile>(paths[0]);
    const std::vector<std::string>& all = file->names();
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) places.emplace(all[i], i);
    for (const auto& [prefix, begin] : {std::pair("in", 1U), std::pair("arr_", 0U)}) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string name = prefix + std::to_string(i + begin);
        const auto at = places.find(name);
        if (at == places.end()) break;
        found.push_back({{}, paths[0] + ":" + name, file, at->second});
      }
      if (found.size() == all.size() && !all.empty()) return found;
      found.clear();
    }
  }
  for (const std::string& word : paths) {
    const std::size_t equals = word.find('=');
    const bool is_named = first == 1 && equals != std::string::npos && equals > 0 &&
                          word.find_first_of("/.") > equals && !std::filesystem::exists(word);
    if (!found.empty() && is_named == found[0].name.empty())
      throw ParseError(fmt::format("{}: give all inputs by name (x=x.npy) or none", word));
    found.push_back({is_named ? word.substr(0, equals) : std::string(),
                     is_named ? word.substr(equals + 1) : word, nullptr, 0});
    if (is_named && std::ranges::count(found, found.back().name, &Named::name) > 1)
      throw ParseError(fmt::format("{}: '{}' is given twice", word, found.back().name));
  }
  return found;
}

}  // namespace

KernelToJudge with_values(const KernelToJudge& kernel, const std::vector<std::string>& words) {
  const symbolic::Values values = parse_values(words, kernel.ast);
  for (const symbolic::Node& v : variables_of(kernel.ast))
    if (const std::string& name = symbolic::variable_name(v); !values.contains(name))
      throw ParseError(fmt::format("variable '{0}' has no value; give one with --var {0}=N", name));
  if (values.empty()) return kernel;
  return {kernel_file(bind_variables(kernel.ast, values)), kernel.judging};
}

KernelToJudge kernel_named(const std::string& path, const std::string& op,
                           const std::vector<std::string>& inputs) {
  if (path.empty() == op.empty())
    throw ParseError("give a kernel.json, or a kernel as --op 'softmax(x[64,128])'");
  return op.empty() ? read_kernel(path) : kernel_of_text(op, inputs);
}

KernelToJudge kernel_of_text(const std::string& text, const std::vector<std::string>& inputs) {
  std::vector<define::InputShape> shapes;
  for (const Named& named : named_by(inputs, 1))
    named.read([&](const ArrayLayout& at) {  // reads no elements
      shapes.push_back({at.shape, at.dtype, named.name});
      return std::int64_t{0};
    });
  return formula_to_judge(text, shapes);
}

fuzz::Reproducer parse_reproducer(const std::string& path, std::string_view text) {
  try {
    return fuzz::reproducer_from_json(text);
  } catch (const Error& e) {
    throw ParseError(fmt::format("{}: {}", path, e.what()));
  }
}

KernelToJudge read_kernel(const std::string& path) {
  return parse_kernel(path, read_file(path, kMostKernelText));
}

KernelToJudge parse_kernel(const std::string& path, std::string_view text) {
  if (text.size() > kMostKernelText)
    throw ParseError(fmt::format("{}: the kernel file has {} bytes; the limit is {}", path,
                                 text.size(), kMostKernelText));
  try {
    return kernel_to_judge(kernel_from_json(text), path);
  } catch (const Error& e) {
    constexpr std::string_view kPrefix = "kernel.json: ";
    std::string_view why = e.what();
    if (why.starts_with(kPrefix)) why.remove_prefix(kPrefix.size());
    throw ParseError(fmt::format("{}: {}", path, why));
  }
}

namespace {

// "input x", "input 1 of the kernel", "the kernel's output".
std::string part_of(const KernelToJudge& kernel, int idx) {
  if (idx == 0) return "the kernel's output";
  const std::vector<Judging::Input>& inputs = kernel.judging.inputs;
  const auto i = static_cast<std::size_t>(idx) - 1;
  return i < inputs.size() ? "input " + inputs[i].name
                           : fmt::format("buffer {} of the kernel", idx);
}

// How files came to be the inputs, if their types differ.
std::string taken_in_order(const KernelToJudge& kernel) {
  const std::vector<Judging::Input>& inputs = kernel.judging.inputs;
  const auto is_first = [&](const Judging::Input& i) { return i.dtype == inputs[0].dtype; };
  if (std::ranges::all_of(inputs, is_first)) return {};
  std::vector<std::string> taken;
  for (const Judging::Input& i : inputs)
    taken.push_back(fmt::format("{} is {} of {}", i.name, define::str(i.shape), name(i.dtype)));
  return fmt::format(
      "; arrays without names are taken in the order of first use: {}; or give them names ({}=...)",
      fmt::join(taken, ", "), inputs[0].name);
}

// The inputs in the order of the kernel's buffers.
std::vector<Named> in_order(const KernelToJudge& kernel, std::vector<Named> found) {
  if (found.empty() || found[0].name.empty()) return found;
  const auto place_of = [&](const Named& named) {
    const std::vector<Judging::Input>& inputs = kernel.judging.inputs;
    const auto at = std::ranges::find(inputs, named.name, &Judging::Input::name);
    if (at != inputs.end()) return at - inputs.begin();
    std::vector<std::string> known;
    for (const Judging::Input& input : inputs) known.push_back(input.name);
    throw ParseError(fmt::format(
        "{}={}: the kernel {}", named.name, named.label,
        known.empty() ? "has no names of inputs; give the files in order"
                      : fmt::format("has no such input, it has {}", fmt::join(known, ", "))));
  };
  std::vector<Named> ordered(kernel.judging.inputs.size());
  for (Named& named : found) ordered[static_cast<std::size_t>(place_of(named))] = std::move(named);
  for (std::size_t i = 0; i < ordered.size(); ++i)
    if (ordered[i].name.empty())
      throw ParseError(fmt::format("no array for input '{0}'; add --in {0}=FILE",
                                   kernel.judging.inputs[i].name));
  return ordered;
}

}  // namespace

Wanted wanted_by(const KernelToJudge& kernel, int idx, const std::string& label) {
  return [&kernel, idx, label](const ArrayLayout& array) {
    const auto spec = std::ranges::lower_bound(kernel.buffers, idx, {}, &BufferSpec::idx);
    if (spec == kernel.buffers.end() || spec->idx != idx)
      return std::int64_t{0};  // unused buffer number
    if (array.dtype != spec->dtype)
      throw ParseError(fmt::format("{}: contains {}, but {} is {}{}", label, name(array.dtype),
                                   part_of(kernel, idx), name(spec->dtype),
                                   taken_in_order(kernel)));
    if (array.size() < spec->size || (idx == 0 && array.size() != spec->size))
      throw ParseError(fmt::format("{}: contains {}, but {} has {}", label,
                                   counted(array.size(), "element"), part_of(kernel, idx),
                                   spec->size));
    return spec->size;
  };
}

std::vector<HostArray> read_arrays(const KernelToJudge& kernel,
                                   const std::vector<std::string>& paths, int first) {
  std::vector<HostArray> arrays;
  for (const Named& named : in_order(kernel, named_by(paths, first))) {
    const int idx = first + static_cast<int>(arrays.size());
    if (kernel.buffers.empty() || idx > kernel.buffers.back().idx)
      throw ParseError(fmt::format(
          "{}: too many inputs: this would be buffer {}, the kernel's last is buffer {}",
          named.label, idx, kernel.buffers.empty() ? -1 : kernel.buffers.back().idx));
    arrays.push_back(named.read(wanted_by(kernel, idx, named.label)));
  }
  return arrays;
}

KernelOrRun kernel_or_run(const KernelWords& words, const std::string* output) {
  if (words.file.empty() == words.op.empty())
    throw ParseError("give a kernel.json, a reproducer, or a kernel as --op 'softmax(x[64,128])'");
  if (!words.op.empty()) return {kernel_of_text(words.op, words.inputs), {}};
  const std::string text = read_file(words.file);
  if (!fuzz::is_reproducer(text)) return {parse_kernel(words.file, text), {}};
  if (!words.inputs.empty() || (output != nullptr && !output->empty()))
    throw ParseError(
        fmt::format("{} is a reproducer and contains its own {}", words.file,
                    output != nullptr ? "arrays; omit --in and --out" : "inputs; omit --in"));
  return {{}, parse_reproducer(words.file, text)};
}

RunBuffers::RunBuffers(const HostArray* output, std::span<const HostArray> inputs, Device& device)
    : owned{output == nullptr ? nullptr : to_buffer(device, *output)} {
  for (const HostArray& input : inputs) owned.push_back(to_buffer(device, input));
  for (const BufferPtr& b : owned) raw.push_back(b.get());
}

BufferPtr to_buffer(Device& device, const HostArray& array) {
  auto buffer = std::make_shared<Buffer>(device, array.dtype, array.size());
  buffer->copy_in(std::as_bytes(std::span(array.bytes)));
  return buffer;
}

}  // namespace touchstone::cli
