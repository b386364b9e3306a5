#include "touchstone/standalone/standalone.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/lazy/memory_plan.h"
#include "touchstone/standalone/driver.h"

namespace touchstone {
namespace {

constexpr std::size_t kAligned = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

std::string bytes_of(const Buffer& buffer) {
  std::string bytes(buffer.bytes(), '\0');
  buffer.copy_out(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::size_t bytes_of_value(const LazyBuffer& value, std::string_view what) {
  for (const sint& size : value.shape())
    if (!size.is_int())
      throw Error(
          fmt::format("{} has the shape {}, not all of whose sizes are known; bind its variables",
                      what, str(std::span(value.shape()))));
  return static_cast<std::size_t>(value.st().size().as_int()) * itemsize(value.dtype());
}

std::string_view why_no_kernel(const ScheduleItem& item) {
  if (item.out->assigns_to()) return "assign(), which overwrites memory";
  if (item.kind == Op::Rand) return "random numbers; realize them first, or draw them outside";
  if (item.kind == Op::From) return "a copy from another device; realize it first";
  return item.kind == Op::Custom ? "a function of the host" : "";
}

class Writer {
 public:
  Writer(std::string_view name, std::span<const LazyBufferPtr> inputs,
         std::span<const LazyBufferPtr> outputs, const CodegenOptions& codegen)
      : codegen_(codegen) {
    program_.name = name;
    for (std::size_t i = 0; i < inputs.size(); ++i) add_input(*inputs[i], i);
    for (const LazyBufferPtr& output : outputs)
      outputs_.push_back(output->is_base() && !output->is_const_base() ? output
                                                                       : output->contiguous());
    for (std::size_t i = 0; i < outputs_.size(); ++i) add_output(*outputs_[i], i);
    const std::vector<ScheduleItem> items = schedule(outputs_);
    place(items);
    for (const ScheduleItem& item : items) add(item);
    for (std::size_t i = 0; i < outputs_.size(); ++i) copy_if_elsewhere(i);
    program_.preamble = (codegen.contract ? "#define FUSES_PRODUCTS\n" : "") +
                        codegen::c_preamble(program_.functions);
  }

  const standalone::EmittedProgram& program() const { return program_; }

 private:
  void add_input(LazyBuffer& input, std::size_t i) {
    const std::string name = fmt::format("input{}", i);
    if (!input.realized())
      throw Error(fmt::format("{} of the program has no memory yet; realize it first", name));
    const std::size_t bytes = bytes_of_value(input, name);
    if (!memory_.emplace(&input.base(), name).second)
      throw Error(fmt::format("{} of the program is already an input", name));
    if (bytes != input.realized()->bytes())
      throw Error(fmt::format("{} is a part of an array; give the whole array, or a copy", name));
    program_.inputs.push_back({input.dtype(), str(std::span(input.shape())), bytes});
  }

  void add_output(LazyBuffer& output, std::size_t i) {
    const std::string name = fmt::format("output{}", i);
    program_.outputs.push_back(
        {output.dtype(), str(std::span(output.shape())), bytes_of_value(output, name)});
    if (!output.realized()) memory_.emplace(&output.base(), name);
  }

  // Assigns intermediate results to places in the workspace.
  void place(std::span<const ScheduleItem> items) {
    const MemoryPlan plan = plan_memory(items);
    std::size_t end = 0;
    for (const auto& [device, bytes] : plan.blocks) end += static_cast<std::size_t>(bytes);
    if (plan.blocks.size() > 1) throw Error("the graph is on several devices; copy it to one");
    for (std::size_t i = 0; i < items.size(); ++i) {
      const LazyBuffer& out = items[i].out->base();
      if (memory_.contains(&out)) continue;
      std::size_t at = end;
      if (plan.places[i])
        at = static_cast<std::size_t>(plan.places[i]->offset);
      else
        end += rounded(static_cast<std::size_t>(max_elements(out.shape())) * itemsize(out.dtype()));
      memory_.emplace(&out, fmt::format("work + {}", at));
    }
    program_.workspace = end;
  }

  void add(const ScheduleItem& item) {
    if (const auto why = why_no_kernel(item); !why.empty())
      throw Error(fmt::format("the graph needs {}", why));
    if (item.kind != Op::Store) return;  // EMPTY: contents do not matter
    LinearKernel linear = linearize(item.ast, codegen_);
    if (linear.steps.empty()) return;
    std::vector<std::string> buffers(linear.places(), "0");
    for (const BufferSpec& spec : linear.buffers) {
      const auto i = static_cast<std::size_t>(spec.idx);
      buffers[i] = "(void*)(" + memory_of(i == 0 ? *item.out : *item.inputs[i - 1]) + ")";
    }
    standalone::KernelCall call{function_of(linear), std::move(buffers), {}, linear.checks()};
    for (const std::string& variable : linear.variables)
      call.variables.push_back(item.var_vals.at(variable));
    program_.calls.push_back(std::move(call));
  }

  void copy_if_elsewhere(std::size_t i) {
    const std::string &from = memory_of(*outputs_[i]), to = fmt::format("output{}", i);
    if (from != to) program_.copies.push_back({to, from, program_.outputs[i].bytes});
  }

  const std::string& memory_of(LazyBuffer& value) {
    LazyBuffer& base = value.base();
    const auto found = memory_.find(&base);
    if (found != memory_.end()) return found->second;
    std::string& weights = program_.weights;
    const std::size_t at = weights.size();
    weights += bytes_of(*base.realized());
    weights.resize(rounded(weights.size()));
    return memory_.emplace(&base, fmt::format("(const char*)weights + {}", at)).first->second;
  }

  // Equal kernels share one function.
  std::string function_of(const LinearKernel& linear) {
    constexpr std::string_view kNameless = "@";
    const auto [known, is_new] = names_.emplace(render_c_function(linear, kNameless), "");
    if (!is_new) return known->second;
    known->second = fmt::format("kernel{}_{}", names_.size() - 1, linear.name);
    std::string text = known->first;
    text.replace(text.find(kNameless), 1, known->second);
    program_.functions += "\nstatic " + text;
    return known->second;
  }

  CodegenOptions codegen_;
  std::vector<LazyBufferPtr> outputs_;
  std::unordered_map<const LazyBuffer*, std::string> memory_;  // of bases: their address in C
  std::unordered_map<std::string, std::string> names_;         // of functions, by their text
  standalone::EmittedProgram program_;
};

}  // namespace

std::map<std::string, std::string> standalone_c(std::string_view name,
                                                std::span<const LazyBufferPtr> inputs,
                                                std::span<const LazyBufferPtr> outputs,
                                                const CodegenOptions& codegen) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto known = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  if (name.empty() || !letter(name[0]) || !std::ranges::all_of(name, known) || name == "main")
    throw Error(
        fmt::format("'{}' is not a valid C function name; use letters, digits and _", name));
  if (outputs.empty()) throw Error("a program must have an output");
  const Writer writer(name, inputs, outputs, codegen);
  return standalone::files(writer.program());
}

}  // namespace touchstone
