#include "touchstone/judging/cause.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone {
namespace {

// Operations of a kernel that may be judged several times.
constexpr std::int64_t kMostFlops = 1'000'000;
constexpr std::int64_t kSamples = 16;
// A change explains nothing if the legal numbers of most elements span more of their larger end.
constexpr double kWidestCause = 0.5;
constexpr std::size_t kMostUnseen = 3;

// A changed arithmetic, or a changed kernel.
struct Change {
  std::string words;  // "a zero may have either sign"
  Profile profile;
  LazyOpPtr kernel;
  std::string_view function = {};  // whose error the profile raises
};

std::vector<LazyOpPtr> nodes_of(const LazyOpPtr& kernel) { return interp::nodes_of(kernel); }

bool has(const LazyOpPtr& kernel, const std::function<bool(const LazyOp&)>& property) {
  return std::ranges::any_of(nodes_of(kernel), [&](const LazyOpPtr& n) { return property(*n); });
}

bool is_narrow_float(DType dtype) { return is_float(dtype) && itemsize(dtype) < 4; }

// Errors of the functions that the kernel uses: 1, 2, 4, ... 256 ULP.
void add_function_errors(const LazyOpPtr& kernel, const Profile& profile,
                         std::vector<Change>& changes) {
  const auto add = [&](std::string_view name, auto error_of) {
    for (double ulp = 1; ulp <= 256; ulp *= 2) {
      Profile changed = profile;
      FunctionError& error = error_of(changed);
      if (ulp <= error.ulp) continue;
      error.ulp = ulp;
      changes.push_back({fmt::format("{} has errors of {} ULP", name, ulp), changed, kernel, name});
    }
  };
  constexpr std::pair<Op, FunctionError Profile::*> kOps[] = {
      {Op::Exp2, &Profile::exp2}, {Op::Log2, &Profile::log2},   {Op::Sin, &Profile::sin},
      {Op::Sqrt, &Profile::sqrt}, {Op::Recip, &Profile::recip}, {Op::Div, &Profile::div}};
  for (const auto& [op, member] : kOps)
    if (has(kernel, [&](const LazyOp& n) { return n.op() == op && is_float(n.dtype()); }))
      add(name(op), [&](Profile& p) -> FunctionError& { return p.*member; });
  std::set<NamedFunction> functions;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (const auto* f = std::get_if<FunctionArg>(&n->arg())) functions.insert(f->function);
  for (const NamedFunction f : functions)
    if (!info(f).exact)
      add(info(f).name, [&](Profile& p) -> FunctionError& { return p.error_of(f); });
}

// Declarations of a profile, those that allow least first.
std::vector<Change> declarations(const LazyOpPtr& kernel, const Profile& profile) {
  std::vector<Change> changes;
  const auto add = [&](std::string words, const std::function<void(Profile&)>& change) {
    Profile changed = profile;
    change(changed);
    if (changed != profile) changes.push_back({std::move(words), changed, kernel});
  };
  add("a zero may have either sign", [](Profile& p) { p.zeros_alike = true; });
  add("the larger of NaN and a number may be either", [](Profile& p) { p.max = MaxOfNan::Either; });
  add("subnormal results may be zero", [](Profile& p) { p.flushes_outputs = true; });
  add("subnormal operands and results may be zero",
      [](Profile& p) { p.flushes_inputs = p.flushes_outputs = true; });
  add("a product that is added may stay unrounded", [](Profile& p) { p.contracts = true; });
  add("a float outside an integer's range may give anything",
      [](Profile& p) { p.casts_saturate = false; });
  add("positions outside a table are clamped", [](Profile& p) { p.outside = Outside::Clamps; });
  for (const DType wide : {DType::Float32, DType::Float64})
    if (!profile.excess || info(*profile.excess).digits < info(wide).digits)
      add(fmt::format("floats are computed in {} and rounded at the end", name(wide)),
          [&](Profile& p) { p.excess = wide; });
  add_function_errors(kernel, profile, changes);
  if (has(kernel, [](const LazyOp& n) { return n.op() == Op::ReduceSum && is_float(n.dtype()); })) {
    add("sums truncate", [](Profile& p) { p.truncates_sums = true; });
    add("the factors of products are rounded to TF32", [](Profile& p) { p.product_digits = 11; });
    add("the factors of products are rounded to TF32, and sums truncate", [](Profile& p) {
      p.product_digits = 11;
      p.truncates_sums = true;
    });
    add("the factors of products are rounded to bfloat16",
        [](Profile& p) { p.product_digits = 8; });
    const DType own = kernel->dtype();  // before other narrow types
    for (const DType narrow : {DType::Float32, is_narrow_float(own) ? own : DType::Float16,
                               DType::Float16, DType::BFloat16})
      if (!profile.accumulator || info(narrow).digits < info(*profile.accumulator).digits)
        add(fmt::format("the accumulator is {}", name(narrow)),
            [&](Profile& p) { p.accumulator = narrow; });
  }
  return changes;
}

// Forms that a profile must name.
std::vector<Change> less_accurate_forms(const Judging& judging) {
  std::vector<Change> changes;
  if (judging.inputs.empty()) return changes;
  for (const define::CompositeForm& form : define::composite_forms()) {
    if (form.by_default) continue;
    const std::string name(form.name);
    for (const define::FormulaForm& f :
         define::forms_of(judging.definition, shapes_of(judging), {&name, 1}))
      if (!f.name.empty())
        changes.push_back(
            {fmt::format("the form is declared: {}", f.name), judging.profile, f.kernel});
  }
  return changes;
}

LazyOpPtr rounded(const LazyOpPtr& x, DType narrow) {
  return LazyOp::cast(LazyOp::cast(x, narrow), x->dtype());
}

// Kernels with a fault that people make.
std::vector<Change> faults(const LazyOpPtr& kernel, const Profile& profile,
                           const Judging& judging) {
  std::vector<Change> changes;
  const auto add = [&](std::string words, const LazyOpPtr& changed) {
    if (!same(changed, kernel)) changes.push_back({std::move(words), profile, changed});
  };
  add("the last term of each sum is missing", interp::without_term(kernel, false, false));
  add("the first term of each sum is missing", interp::without_term(kernel, true, false));
  add("the last term of each sum and maximum is missing",
      interp::without_term(kernel, false, true));
  const LazyOpPtr& value = kernel->src()[0];
  std::set<int> inputs;
  for (const LazyOpPtr& n : nodes_of(kernel))
    if (const auto* b = std::get_if<MemBuffer>(&n->arg()); b != nullptr && is_float(n->dtype()))
      inputs.insert(b->idx);
  for (const DType narrow : {DType::Float16, DType::BFloat16}) {
    const auto is_wider = [&](const LazyOp& n) {
      return is_float(n.dtype()) && info(n.dtype()).digits > info(narrow).digits;
    };
    if (is_wider(*value))
      add(fmt::format("the result is rounded to {}", name(narrow)),
          interp::kernel_of(rounded(value, narrow)));
    for (const int input : inputs)
      add(fmt::format("{} is rounded to {}",
                      static_cast<std::size_t>(input) <= judging.inputs.size()
                          ? judging.inputs[static_cast<std::size_t>(input) - 1].name
                          : fmt::format("input {}", input),
                      name(narrow)),
          interp::kernel_of(interp::replaced(value, [&](const LazyOpPtr& n) -> LazyOpPtr {
            const auto* b = std::get_if<MemBuffer>(&n->arg());
            return b != nullptr && b->idx == input && n->op() == Op::Load && is_wider(*n)
                       ? rounded(n, narrow)
                       : nullptr;
          })));
  }
  if (is_float(value->dtype()) || (is_integer(value->dtype()) && !is_unsigned(value->dtype())))
    add("the sign is wrong", interp::kernel_of(LazyOp::unary(Op::Neg, value)));
  return changes;
}

// The faults that the inputs do not show: "also legal: ...".
std::string unseen_by(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                      const Buffer& candidate, const Judging& judging) {
  std::vector<std::string> unseen;
  for (const Change& change : faults(kernel, judging.profile, judging)) {
    if (unseen.size() == kMostUnseen) break;
    const auto accepts = [&](std::int64_t element) {
      return is_legal_at(change.kernel, inputs, element, element_of(candidate, element),
                         change.profile);
    };
    bool is_legal = true;
    for (std::int64_t i = 0; i < kSamples && is_legal; ++i)
      is_legal = accepts(i * (candidate.size() - 1) / (kSamples - 1));
    if (!is_legal) continue;
    const Outcome outcome = judge(change.kernel, inputs, candidate, change.profile).outcome;
    if (outcome == Outcome::Pass || outcome == Outcome::Weak) unseen.push_back(change.words);
  }
  return unseen.empty() ? std::string() : fmt::format("also legal: {}", fmt::join(unseen, "; "));
}

}  // namespace

Scalar element_of(const Buffer& buffer, std::int64_t index) {
  const std::size_t width = itemsize(buffer.dtype());
  std::uint64_t bits = 0;
  std::memcpy(
      &bits,
      static_cast<const std::byte*>(buffer.memory()) + static_cast<std::size_t>(index) * width,
      width);
  return Scalar::from_bits(buffer.dtype(), bits);
}

bool is_cheap(const LazyOpPtr& kernel) {
  const sint flops = get_lazyop_info(kernel).flops;
  return flops.is_int() && flops.as_int() <= kMostFlops;
}

void add_cause(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
               const Judging& judging, Verdict& verdict) {
  if (verdict.outcome != Outcome::Fail) {
    if (!is_cheap(kernel) || !candidate.device().host_memory() || candidate.size() == 0) return;
    verdict.cause = unseen_by(kernel, inputs, candidate, judging);
    return;
  }
  // The median of the legal numbers' spans, if the change makes all elements legal.
  const auto width_of = [&](const Change& change) -> std::optional<double> {
    if (!is_legal_at(change.kernel, inputs, verdict.index, verdict.candidate, change.profile))
      return std::nullopt;
    const Verdict v = judge(change.kernel, inputs, candidate, change.profile);
    const bool legal = v.outcome == Outcome::Pass || v.outcome == Outcome::Weak;
    return legal && v.relative.median <= kWidestCause ? std::optional(v.relative.median)
                                                      : std::nullopt;
  };
  std::vector<Change> changes = declarations(kernel, judging.profile);
  for (Change& change : less_accurate_forms(judging)) changes.push_back(std::move(change));
  const std::size_t declared = changes.size();
  for (Change& change : faults(kernel, judging.profile, judging))
    changes.push_back(std::move(change));
  const bool compares = is_cheap(kernel);
  double least = std::numeric_limits<double>::infinity();
  std::string_view explained;  // a function whose smaller error explains it
  verdict.cause = "no known declaration or fault explains all of it";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (!change.function.empty() && change.function == explained) continue;
    const std::optional<double> width = width_of(change);
    if (!width) continue;
    explained = change.function;
    if (*width >= least) continue;
    least = *width;
    verdict.cause = fmt::format("{} if {}", i < declared ? "legal" : "explained", change.words);
    if (!compares) return;
  }
}

}  // namespace touchstone
