#include "touchstone/fuzz/areas/code_run.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/checked.h"
#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/codegen/linearize.h"

namespace touchstone::fuzz {
namespace {

using Value = std::optional<std::int64_t>;  // nothing: it depends on loaded values

class StepByStep {
 public:
  StepByStep(const LinearKernel& kernel, const symbolic::Values& values,
             std::span<const std::int64_t> sizes)
      : steps_(kernel.steps), sizes_(sizes), value_(steps_.size()) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const LinearStep& step = steps_[i];
      if (step.kind == StepKind::Loop) open.push_back(i);
      if (step.kind == StepKind::DefineVar)
        if (const auto known = values.find(std::get<std::string>(step.arg)); known != values.end())
          value_[i] = known->second;
      if (step.kind != StepKind::EndLoop) continue;
      end_[open.back()] = i;
      open.pop_back();
    }
  }

  std::optional<CodeRun> run(std::int64_t most) {
    left_ = most;
    run(0, steps_.size());
    return left_ < 0 ? std::nullopt : std::optional(result_);
  }

 private:
  void run(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && --left_ >= 0; ++i) {
      const LinearStep& step = steps_[i];
      if (step.kind != StepKind::Loop) {
        take(i);
        continue;
      }
      const std::size_t close = end_.at(i);
      const std::int64_t last = of(step, 1).value_or(0);
      for (std::int64_t n = of(step, 0).value_or(0); n < last && --left_ >= 0; ++n) {
        value_[i] = n;
        run(i + 1, close);
      }
      i = close;
    }
  }

  void take(std::size_t i) {
    const LinearStep& step = steps_[i];
    switch (step.kind) {
      case StepKind::Index: value_[i] = computed(step); break;
      case StepKind::Const: value_[i] = constant_of(step); break;
      case StepKind::Load:
        if (step.src.size() > 2 && of(step, 2) == 0) break;
        ++result_.reads;
        if (step.src.size() < 3 || of(step, 2)) reach(i, 1, size_of(step));
        break;
      case StepKind::Store:
      case StepKind::LoadAcc: reach(i, 1, size_of(step)); break;
      case StepKind::Assign:
        if (step.src.size() > 2) reach(i, 2, size_of(step));
        break;
      default: break;
    }
  }

  // Of the buffer or array that a step names first; nothing of a buffer whose size is not known.
  std::optional<std::int64_t> size_of(const LinearStep& step) const {
    const LinearStep& memory = steps_[static_cast<std::size_t>(step.src[0])];
    const int* const number = std::get_if<int>(&memory.arg);
    if (memory.kind != StepKind::DefineGlobal)
      return number == nullptr ? std::nullopt : std::optional<std::int64_t>(*number);
    const auto place = static_cast<std::size_t>(*number);
    return place < sizes_.size() ? std::optional(sizes_[place]) : std::nullopt;
  }

  void reach(std::size_t i, std::size_t operand, std::optional<std::int64_t> size) {
    const Value index = of(steps_[i], operand);
    if (result_.outside || !index || !size || (0 <= *index && *index < *size)) return;
    result_.outside =
        fmt::format("step {}, {}, reaches element {} of {}", i, str(steps_[i]), *index, *size);
  }

  Value of(const LinearStep& step, std::size_t operand) const {
    return value_[static_cast<std::size_t>(step.src[operand])];
  }

  Value computed(const LinearStep& step) const {
    const auto op = std::get<IndexOp>(step.arg);
    const Value first = of(step, 0), second = step.src.size() > 1 ? of(step, 1) : Value(0);
    if (op == IndexOp::Where) return first ? (*first != 0 ? second : of(step, 2)) : Value();
    if (op == IndexOp::And && (first == 0 || second == 0)) return 0;
    if (!first || !second) return std::nullopt;
    const std::int64_t a = *first, b = *second;
    switch (op) {
      case IndexOp::Add: return a + b;
      case IndexOp::Sub: return a - b;
      case IndexOp::Mul: return a * b;
      case IndexOp::FloorDiv:
      case IndexOp::Div: return b == 0 ? 0 : floor_div(a, b);
      case IndexOp::FloorMod:
      case IndexOp::Mod: return b == 0 ? 0 : floor_mod(a, b);
      case IndexOp::Lt: return a < b ? 1 : 0;
      case IndexOp::Le: return a <= b ? 1 : 0;
      case IndexOp::Eq: return a == b ? 1 : 0;
      case IndexOp::Ne: return a != b ? 1 : 0;
      case IndexOp::And: return a != 0 && b != 0 ? 1 : 0;
      case IndexOp::Or: return a != 0 || b != 0 ? 1 : 0;
      case IndexOp::Not: return a == 0 ? 1 : 0;
      case IndexOp::Min: return std::min(a, b);
      case IndexOp::Max: return std::max(a, b);
      case IndexOp::Where: break;
    }
    return std::nullopt;
  }

  const std::vector<LinearStep>& steps_;
  std::span<const std::int64_t> sizes_;
  std::vector<Value> value_;
  std::map<std::size_t, std::size_t> end_;  // of each loop
  CodeRun result_;
  std::int64_t left_ = 0;
};

}  // namespace

std::optional<CodeRun> run_code(const LinearKernel& kernel, const symbolic::Values& values,
                                std::span<const std::int64_t> sizes, std::int64_t most) {
  return StepByStep(kernel, values, sizes).run(most);
}

Reply reaches_outside(const KernelCase& c, std::uint64_t choice) {
  constexpr std::int64_t kMostSteps = 100'000;
  std::vector<std::int64_t> sizes{c.concrete()->buffer().st.real_size()};
  for (const HostArray& input : c.inputs) sizes.push_back(input.size());
  CodegenOptions drawn;
  drawn.sizes = kTinySizes;
  drawn.layout_seed = choice | 1;
  for (const CodegenOptions& options : {CodegenOptions{}, drawn}) {
    const LinearKernel code = guarded(linearize(c.kernel, options), variables_of(c.kernel));
    const std::optional<CodeRun> run = run_code(code, c.values, sizes, kMostSteps);
    if (!run) return {false, {}};
    if (run->outside) return {true, fmt::format("of its code, {}:\n{}", *run->outside, str(code))};
  }
  return {};
}

}  // namespace touchstone::fuzz
