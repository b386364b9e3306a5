#include "touchstone/fuzz/areas/graph_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/areas/lazy_modes.h"
#include "touchstone/fuzz/cases/uop_program.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone::fuzz {
namespace {

// Writes the program as a graph and runs it.
class GraphRun {
 public:
  GraphRun(const TensorProgram& program, std::uint64_t choices, Device& device)
      : program_(program), choices_(choices), types_(program.types()), device_(device) {}

  // Writes the text in the notation of uop_program.h; false if the graph cannot express it.
  bool write() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      ProgramStep s = program_.steps[i];
      if (s.name == "gather" || s.name == "away" || s.name == "back") return false;
      for (int& o : s.of) o = at_[static_cast<std::size_t>(o)];
      if (s.name == "assign") {
        const auto to = static_cast<std::size_t>(program_.steps[i].of[0]);
        const bool once = program_.steps[to].name == "input" && assigned_.insert(to).second;
        if (once)
          target_of_[i] = to;
        else
          s = {"contiguous", {s.of[1]}, {}};
      } else if (s.name == "copy") {
        s.name = "contiguous";
      } else if (s.name == "realize") {
        static constexpr const char* kAsked[] = {"contiguous", "contiguous_backward", "detach",
                                                 "fuse"};
        s.name = kAsked[next(4)];
      } else if (s.name == "cmpeq" && next(2) == 0) {
        s.name = "cmpne";
        emit(s);
        s = {"neg", {count_ - 1}, {}};
      }
      emit(s);
      at_.push_back(count_ - 1);
      if (!s.leaf()) made_.push_back(i);
    }
    if (made_.empty()) return false;
    wanted_ = {program_.steps.size() - 1};
    std::vector<std::size_t> assigns;
    for (const auto& [assign, target] : target_of_) assigns.push_back(assign);
    const auto& from = !assigns.empty() && next(2) == 0 ? assigns : made_;
    if (const std::size_t other = from[next(from.size())]; other != wanted_[0])
      wanted_.push_back(other);
    text_ += "; sink";
    for (const std::size_t w : wanted_) text_ += fmt::format(" %{}", at_[w]);
    return true;
  }

  bool assigns() const { return !assigned_.empty(); }

  /// True if only assigns of values read before are wanted, and with every reduce materialised some
  /// order puts all reads of old values before the writes that overwrite them.
  bool can_be_ordered() const {
    std::map<std::size_t, std::set<std::size_t>> after;  // keyed by reduce or assign
    std::vector<std::size_t> open;
    for (const std::size_t w : wanted_) {
      if (!target_of_.contains(w)) return false;
      open.push_back(w);
    }
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (after.contains(at)) continue;
      std::set<std::size_t>& later = after[at];
      for (const std::size_t read : read_for(at)) {
        if (target_of_.contains(read)) return false;
        for (const std::size_t w : wanted_)
          if (target_of_.at(w) == read) later.insert(w);
        if (is_reduce(read)) open.push_back(read);
      }
      if (later.contains(at)) return false;
    }
    for (auto& [at, later] : after)
      for (const std::size_t read : read_for(at))
        if (is_reduce(read)) after[read].insert(at);
    for (bool some = true; some;) {  // removes nodes that nothing waits for
      some = std::erase_if(after, [&](const auto& node) {
               return std::ranges::none_of(
                   after, [&](const auto& other) { return other.second.contains(node.first); });
             }) > 0;
    }
    return after.empty();
  }

  std::optional<std::string> differs(const Config& config) {
    const UOpProgram graph = UOpProgram::parse(text_);
    for (std::size_t i = 0; i < program_.steps.size(); ++i)
      if (program_.steps[i].name == "input") inputs_.set(value(graph, i).base(), i);
    const RewriteMap map = kernelize_graph(graph.sink, config, Assigns::InPlace);
    for (const UOp& assign : order_of_kernels(result_of(map, graph.sink))) run(assign);
    for (const std::size_t w : wanted_) {
      const ProgramType& type = types_[w];
      const UOp result = result_of(map, value(graph, w));
      if (result.base().op() == GraphOp::Buffer && written_.has(result.base()))
        continue;  // unchanged
      const std::optional<std::string> got = read(result, type);
      if (!got) return fmt::format("%{} is wanted and not in memory: {}", at_[w], text_);
      TensorProgram before;
      before.steps.assign(program_.steps.begin(),
                          program_.steps.begin() + static_cast<std::ptrdiff_t>(w) + 1);
      const std::string right = by_definition(before, device_);
      if (auto what = first_difference(type.dtype, right, *got))
        return fmt::format("%{} of the graph {}: {}", at_[w], text_, *what);
      const auto target = target_of_.find(w);
      if (target == target_of_.end()) continue;
      const std::optional<std::string> now = read(value(graph, target->second), type);
      if (!now || first_difference(type.dtype, right, *now))
        return fmt::format("%{} of the graph {} is not where it is assigned to", at_[w], text_);
    }
    return std::nullopt;
  }

 private:
  // True for a reduce of more than one term; the scheduler drops others.
  bool is_reduce(std::size_t i) const {
    const ProgramStep& s = program_.steps[i];
    if (!s.name.starts_with("reduce")) return false;
    const std::vector<std::int64_t>& from = types_[static_cast<std::size_t>(s.of[0])].shape;
    return std::ranges::any_of(axes_of(s),
                               [&](int axis) { return from[static_cast<std::size_t>(axis)] > 1; });
  }

  // The inputs, reduces and assigns read to compute an assign or a reduce.
  std::set<std::size_t> read_for(std::size_t i) const {
    std::set<std::size_t> found, seen;
    const ProgramStep& s = program_.steps[i];
    std::vector<int> open = target_of_.contains(i) ? std::vector{s.of[1]} : s.of;
    while (!open.empty()) {
      const auto at = static_cast<std::size_t>(open.back());
      open.pop_back();
      if (!seen.insert(at).second) continue;
      const ProgramStep& of = program_.steps[at];
      if (of.leaf() || is_reduce(at) || target_of_.contains(at))
        found.insert(at);
      else if (of.name == "assign")
        open.push_back(of.of[1]);
      else
        open.insert(open.end(), of.of.begin(), of.of.end());
    }
    return found;
  }

  std::uint64_t next(std::uint64_t below) {
    choices_ = hash_mix(choices_, 0x6e);
    return (choices_ >> 20) % below;
  }

  void emit(const ProgramStep& s) {
    text_ += (text_.empty() ? "" : "; ") + TensorProgram{{s}}.str();
    ++count_;
  }

  const UOp& value(const UOpProgram& graph, std::size_t i) const {
    return graph.values[static_cast<std::size_t>(at_[i])];
  }

  BufferPtr memory_of(const UOp& buffer, std::int64_t least) {
    if (const BufferPtr* known = memory_.find(buffer)) return *known;
    const DType dtype = buffer.dtype().base;
    const std::int64_t size = std::max(least, buffer.arg_as<std::int64_t>());
    auto made = std::make_shared<Buffer>(device_, dtype, size);
    if (const std::size_t* input = inputs_.find(buffer)) {
      std::vector<std::byte> bytes(made->bytes());
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
        const std::uint64_t bits = value_of(program_.steps[*input], i).bits();
        std::memcpy(bytes.data() + i * itemsize(dtype), &bits, itemsize(dtype));
      }
      made->copy_in(bytes);
    }
    memory_.set(buffer, made);
    return made;
  }

  void run(const UOp& assign) {
    const LoweredKernel lowered = lower_kernel(assign, Assigns::InPlace);
    written_.add(assign.buf_uop());
    std::vector<Buffer*> buffers(lowered.inputs.size() + 1);
    for (const BufferSpec& spec : buffers_of(lowered.ast)) {
      const auto i = static_cast<std::size_t>(spec.idx);
      const UOp node = (i == 0 ? assign : lowered.inputs[i - 1]).buf_uop();
      buffers[i] = memory_of(node, spec.size).get();
    }
    run_on(lowered.ast, buffers);
  }

  void run_on(const LazyOpPtr& kernel, const std::vector<Buffer*>& buffers) {
    device_.runner(kernel)->run(buffers, {});
  }

  // The elements of a kernelized value; nullopt if there are none to read.
  std::optional<std::string> read(const UOp& result, const ProgramType& type) {
    const Shape shape(type.shape.begin(), type.shape.end());
    const std::int64_t n = max_elements(shape);
    if (n == 0) return std::string();
    const UOp base = result.base();
    LazyOpPtr seen;
    const auto out = std::make_shared<Buffer>(device_, type.dtype, n);
    std::vector<Buffer*> buffers(2, out.get());
    if (base.op() == GraphOp::Const) {
      seen = LazyOp::constant(base.value(), result.tracker());
      buffers.pop_back();
    } else if (base.op() == GraphOp::Assign || base.op() == GraphOp::Buffer) {
      seen = LazyOp::load(1, type.dtype, result.tracker());
      buffers[1] = memory_of(base.buf_uop(), 0).get();
    } else {
      return std::nullopt;
    }
    run_on(LazyOp::store(ShapeTracker::contiguous(shape), seen), buffers);
    std::string bytes(out->bytes(), '\0');
    out->copy_out(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  const TensorProgram& program_;
  std::uint64_t choices_;
  const std::vector<ProgramType> types_;
  Device& device_;
  std::string text_;
  int count_ = 0;                  // statements in text_
  std::vector<int> at_;            // statement of the program -> statement of text_
  std::vector<std::size_t> made_;  // statements that compute
  std::vector<std::size_t> wanted_;
  std::set<std::size_t> assigned_;
  std::map<std::size_t, std::size_t> target_of_;  // in-place assign -> input
  UOpMap<std::size_t> inputs_;
  UOpMap<BufferPtr> memory_;
  UOpSet written_;
};

}  // namespace

GraphChecked graph_differs(const TensorProgram& program, std::uint64_t choices,
                           const Config& config, Device& device) {
  GraphRun run(program, choices, device);
  if (!run.write()) return {false};
  try {
    if (auto what = run.differs(config)) return {true, Checked::fail("graph", *what)};
  } catch (const AstError& e) {
    if (!run.assigns()) throw;
    if (!config.kernelize.dont_group_reduces && run.can_be_ordered())
      return {true, Checked::fail("graph", fmt::format("has no order: {}", e.what()))};
    return {false};
  }
  return {};
}

}  // namespace touchstone::fuzz
