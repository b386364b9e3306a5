#include "touchstone/foreign/backend_process.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/base/visible.h"
#include "touchstone/files/array_file.h"
#include "touchstone/foreign/base64.h"
#include "touchstone/process/room.h"

namespace touchstone::foreign {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::int64_t kProtocol = 1;
constexpr std::size_t kMostWords = std::size_t{1} << 20;  // of a line, not counting its array

// Backend text made safe for display.
std::string shown(std::string_view text) { return visible(text, 80); }

constexpr std::size_t kMostReason = 2000;  // characters kept of its error message

json parse_line(std::string_view line) {
  require_shallow_json(line);
  json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object())
    throw ParseError(fmt::format("it is not a JSON object: {}", shown(line)));
  return parsed;
}

json description(const HostArray& array) {
  return {{"dtype", name(array.dtype)}, {"shape", array.shape}};
}

HostArray output_of(const KernelFile& kernel) {
  return {kernel.ast->dtype(), concrete(kernel.ast->shape()), {}};
}

std::size_t bytes_of(const HostArray& array) {
  return static_cast<std::size_t>(array.size()) * itemsize(array.dtype);
}

void require_bools(const HostArray& array) {
  if (!is_bool(array.dtype)) return;
  for (const char c : array.bytes)
    if (c != 0 && c != 1)
      throw ParseError("its bool output contains an element that is neither 0 nor 1");
}

std::string decoded(const json& text, const HostArray& wanted) {
  const std::optional<std::string> bytes =
      text.is_string() ? from_base64(text.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes) throw ParseError("its \"output\" is not a base64 string");
  if (bytes->size() != bytes_of(wanted))
    throw ParseError(fmt::format("its output has {} bytes, but {} elements of {} have {}",
                                 bytes->size(), wanted.size(), name(wanted.dtype),
                                 bytes_of(wanted)));
  return *bytes;
}

// A backend may leave any kind of file: read only a regular one of about the right size.
std::string from_file(const json& said, const fs::path& path, const HostArray& wanted) {
  if (said != json(true))
    throw ParseError("its \"output\" must be true, since arrays are in files");
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular)
    throw ParseError("it wrote no output file");
  if (fs::file_size(path, error) > bytes_of(wanted) + kMostWords || error)
    throw ParseError("the output file is too large");
  return read_array(path.string(),
                    [&](const ArrayLayout& array) {
                      if (array.dtype != wanted.dtype || array.size() != wanted.size())
                        throw ParseError(fmt::format(
                            "its output has {} elements of {}, expected {} of {}", array.size(),
                            name(array.dtype), wanted.size(), name(wanted.dtype)));
                      // Axes of size 1 do not affect the order.
                      std::vector<std::int64_t> given = array.shape, asked = wanted.shape;
                      std::erase(given, 1);
                      std::erase(asked, 1);
                      if (given != asked)
                        throw ParseError(fmt::format("its output has shape ({}), expected ({})",
                                                     fmt::join(array.shape, ", "),
                                                     fmt::join(wanted.shape, ", ")));
                      return array.size();
                    })
      .bytes;
}

std::string text_member(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return {};
  if (!it->is_string()) throw ParseError(fmt::format("its \"{}\" is not a string", key));
  return it->get<std::string>();
}

}  // namespace

Capabilities capabilities_from(std::string_view line) {
  const json said = parse_line(line);
  const auto version = said.find("touchstone_backend");
  if (const std::string why = text_member(said, "error"); !why.empty())
    throw ParseError(visible(why, kMostReason));
  if (version == said.end() || *version != kProtocol)
    throw ParseError(fmt::format(
        "it speaks protocol {}, but this touchstone speaks {}: answer {{\"touchstone_backend\":{}, "
        "...}}",
        version == said.end() ? "unknown" : shown(version->dump()), kProtocol, kProtocol));
  Capabilities c;
  c.name = text_member(said, "name");
  c.version = text_member(said, "version");
  if (c.name.empty()) throw ParseError("its \"name\" is missing");
  if (const auto profile = said.find("profile"); profile != said.end())
    c.profile = profile->is_string() ? profile->get<std::string>() : profile->dump();
  const std::string arrays = text_member(said, "arrays");
  if (!arrays.empty() && arrays != "base64" && arrays != "files")
    throw ParseError("its \"arrays\" must be \"base64\" or \"files\"");
  c.arrays_in_files = arrays == "files";
  if (const std::string language = text_member(said, "programs"); !language.empty())
    c.programs = emit::parse_language(language);
  return c;
}

std::string program_of(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                       emit::Language language) {
  for (const LazyOpPtr& node : toposort(kernel))
    if (node->op() == Op::Gather && node->buffer().checked)
      throw ParseError(fmt::format("{} cannot say that a position out of range is an error",
                                   emit::info(language).title));
  std::vector<emit::EmitInput> flat;
  for (const HostArray& input : inputs) flat.push_back({input.dtype, {input.size()}});
  return emit::emitted(kernel, flat, language, kernel_name(kernel));
}

Answer answer_from(std::string_view line, std::int64_t id, HostArray wanted,
                   const std::filesystem::path& file) {
  const json said = parse_line(line);
  const auto named = said.find("id");
  if (named == said.end() || *named != id)
    throw ParseError(fmt::format("it has id {}, expected {}",
                                 named == said.end() ? "none" : shown(named->dump()), id));
  if (const std::string why = text_member(said, "unsupported"); !why.empty())
    return {Answer::Kind::Unsupported, why.substr(0, kMostReason), {}};
  if (const std::string why = text_member(said, "error"); !why.empty())
    return {Answer::Kind::Unusable,
            fmt::format("it reported an error: {}", why.substr(0, kMostReason)),
            {}};
  if (const std::string why = text_member(said, "broken"); !why.empty())
    return {Answer::Kind::Broken, why.substr(0, kMostReason), {}};
  const auto output = said.find("output");
  if (output == said.end())
    throw ParseError("none of \"output\", \"unsupported\", \"error\", \"broken\" is present");
  wanted.bytes = file.empty() ? decoded(*output, wanted) : from_file(*output, file, wanted);
  require_bools(wanted);
  return {Answer::Kind::Output, {}, std::move(wanted)};
}

// The folder that a backend may write to; arrays pass through files in it. Its links are not
// followed.
struct BackendProcess::Scratch {
  TemporaryDirectory folder{"touchstone-backend"};
  PrivateFolder files{folder.path()};

  fs::path path(const std::string& name) const { return folder.path() / name; }
  fs::path cleared(const std::string& name) const {
    std::error_code ignored;
    fs::remove_all(path(name), ignored);
    return path(name);
  }
};

std::string Starts::str() const {
  std::string text = fmt::format("it started in {:.1f} s", first_seconds);
  if (times < 2) return text;
  std::vector<std::string> parts;
  for (const auto& [reason, count] : why) parts.push_back(fmt::format("{} {}", reason, count));
  return fmt::format("{}; restarted {} time{}, which took {:.1f} s: {}", text, times - 1,
                     times == 2 ? "" : "s", seconds - first_seconds, fmt::join(parts, ", "));
}

BackendProcess::BackendProcess(std::vector<std::string> argv, Limits limits)
    : argv_(std::move(argv)), limits_(limits) {}
BackendProcess::~BackendProcess() = default;

const Capabilities& BackendProcess::capabilities() {
  start();
  return capabilities_;
}

void BackendProcess::start() {
  if (child_) return;
  const Clock::time_point began = Clock::now();
  if (!scratch_) scratch_ = std::make_unique<Scratch>();
  child_ = std::make_unique<Child>(argv_, limits_, process::room_in(scratch_->folder.path()));
  std::string line;
  const std::string hello = json::object({{"touchstone_backend", kProtocol}}).dump() + '\n';
  const Child::Heard heard = child_->ask(hello, line, kMostWords, Clock::now() + limits_.start);
  const auto failed = [&](const std::string& why) {
    const std::string words = child_->last_words();
    child_.reset();
    return fmt::format("the backend failed to start: {}{}{}", why,
                       words.empty() ? "" : "; its standard error: ", visible(words));
  };
  if (heard == Child::Heard::Nothing)
    throw SystemError(failed(
        fmt::format("no answer to the first line within {} s", limits_.start.count() / 1000)));
  if (heard == Child::Heard::Ended) throw SystemError(failed(child_->end()));
  try {
    if (heard == Child::Heard::TooMuch) throw ParseError("its first line is too long");
    capabilities_ = capabilities_from(line);
  } catch (const Error& e) {
    throw ParseError(failed(e.what()));
  }
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  if (++starts_.times == 1)
    starts_.first_seconds = took;
  else
    ++starts_.why[stopped_for_];
  starts_.seconds += took;
}

// The request line for one kernel.
std::string BackendProcess::question(const KernelFile& kernel, std::span<const HostArray> inputs,
                                     const HostArray& wanted, const std::string& program) {
  ordered_json line = {{"id", asked_}, {"kernel", ordered_json::parse(to_json(kernel))}};
  ordered_json& arrays = line["inputs"] = ordered_json::array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    json entry = description(inputs[i]);
    if (capabilities_.arrays_in_files) {
      const std::string file = fmt::format("in{}.npy", i + 1);
      entry["npy"] = scratch_->cleared(file).string();
      scratch_->files.write(file, npy_bytes(inputs[i]));
    } else {
      entry["base64"] = to_base64(inputs[i].bytes);
    }
    arrays.emplace_back(entry);
  }
  ordered_json& output = line["output"] = description(wanted);
  if (capabilities_.arrays_in_files) output["npy"] = scratch_->cleared("out.npy").string();
  if (!program.empty())
    line["program"] = capabilities_.programs == emit::Language::Onnx ? to_base64(program) : program;
  return line.dump() + '\n';
}

Answer BackendProcess::stop(Answer::Kind kind, const std::string& why,
                            const std::string& in_short) {
  stopped_for_ = in_short.empty() ? "its answer was unusable" : in_short;
  std::string words;
  if (child_) {
    child_->end();
    words = child_->last_words();
    child_.reset();
  }
  return {kind, words.empty() ? why : fmt::format("{}; its standard error: {}", why, words), {}};
}

Answer BackendProcess::run(const KernelFile& kernel, std::span<const HostArray> inputs) {
  if (hangs_ >= kMostHangs)
    return {Answer::Kind::Unusable, fmt::format("it was not run again after {} hangs", hangs_), {}};
  try {
    start();
    std::string program;
    if (capabilities_.programs) {
      try {
        program = program_of(kernel.ast, inputs, *capabilities_.programs);
      } catch (const Error& e) {
        return {Answer::Kind::Unsupported, e.what(), {}};
      }
    }
    ++asked_;
    HostArray wanted = output_of(kernel);
    const std::string line = question(kernel, inputs, wanted, program);
    return listen(line, std::move(wanted));
  } catch (const Error& e) {
    return stop(Answer::Kind::Unusable, e.what());
  }
}

Answer BackendProcess::listen(const std::string& question, HostArray wanted) {
  std::string line;
  const std::size_t most =
      kMostWords + (capabilities_.arrays_in_files ? 0 : bytes_of(wanted) / 3 * 4);
  switch (child_->ask(question, line, most, Clock::now() + limits_.answer)) {
    case Child::Heard::Ended:
      return stop(Answer::Kind::Broken, "it crashed: " + child_->end(), "it crashed");
    case Child::Heard::Nothing:
      ++hangs_;
      return stop(Answer::Kind::Broken,
                  fmt::format("it hung: no answer within {} s",
                              static_cast<double>(limits_.answer.count()) / 1000),
                  "it hung");
    case Child::Heard::TooMuch:
      return stop(Answer::Kind::Unusable, fmt::format("its answer exceeds {} bytes", most));
    case Child::Heard::Line: break;
  }
  if (!child_->took_all())
    return stop(Answer::Kind::Unusable,
                fmt::format("it answered before a question: {}", shown(line)));
  try {
    const fs::path file = capabilities_.arrays_in_files ? scratch_->path("out.npy") : fs::path();
    Answer answer = answer_from(line, asked_, std::move(wanted), file);
    if (answer.kind == Answer::Kind::Broken)
      return stop(answer.kind, answer.why, "it reported that it is broken");
    return answer;
  } catch (const Error& e) {
    return stop(Answer::Kind::Unusable, fmt::format("its answer is unusable: {}", e.what()));
  }
}

}  // namespace touchstone::foreign
