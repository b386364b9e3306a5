#include "touchstone/fuzz/reference_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "touchstone/base/hash.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/interp/interpreted.h"
#include "touchstone/interp/threads.h"

namespace touchstone::fuzz {
namespace {

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const sint& size : shape) count *= size.as_int();
  return count;
}

// The view, every element `times` times along a new last axis.
ShapeTracker repeated(const ShapeTracker& st, std::int64_t times) {
  Shape shape = st.shape();
  shape.push_back(1);
  const ShapeTracker taller = st.reshape(shape);
  shape.back() = times;
  return taller.expand(shape);
}

// Nothing where there are no elements, or positions, whose views are of another form.
std::optional<KernelCase> lengthened(const KernelCase& c, std::uint64_t choice) {
  constexpr std::int64_t kMostTimes = std::int64_t{1} << 16;
  const LazyOpPtr kernel = c.concrete();
  std::int64_t most = 1;
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (node->op() == Op::Gather) return std::nullopt;
    most = std::max(most, count_of(node->shape()));
  }
  const std::int64_t elements = count_of(kernel->shape());
  if (elements == 0) return std::nullopt;
  const std::int64_t times = std::min(interp::kWorthThreads / most + 3, kMostTimes);
  LazyOpPtr value = rebuild(kernel->src()[0], [&](const LazyOpPtr& node,
                                                  const std::vector<LazyOpPtr>& src) {
    if (node->op() == Op::Load)
      return LazyOp::load(node->buffer().idx, node->dtype(), repeated(node->buffer().st, times));
    if (node->op() == Op::Const)
      return LazyOp::constant(node->constant().value, repeated(node->constant().st, times));
    return with_src(node, src);
  });
  std::vector<int> axes;
  for (std::size_t i = 0; i < value->shape().size(); ++i) axes.push_back(static_cast<int>(i));
  if (choice % 3 != 0)
    value = LazyOp::reduce(choice % 3 == 1 ? Op::ReduceSum : Op::ReduceMax, value, axes);
  return KernelCase{LazyOp::store(ShapeTracker::contiguous(value->shape()), value), c.inputs};
}

// One answer to a kernel: no function or sum may be off, and no product stays unrounded.
Profile exact_profile() {
  Profile exact;
  exact.exp2 = exact.log2 = exact.sin = {};
  exact.contracts = false;
  exact.order = SumOrder::Exact;
  return exact;
}

// Integers divided by 0, and what is read as another type, may be anything.
bool leaves_one_answer(const LazyOpPtr& kernel) {
  return std::ranges::none_of(toposort(kernel), [](const LazyOpPtr& n) {
    const bool divides = n->op() == Op::Div || n->op() == Op::Mod;
    return n->op() == Op::Gather || (divides && !is_float(n->dtype())) ||
           (n->op() == Op::Cast && n->cast_arg().bitcast);
  });
}

}  // namespace

std::optional<std::string> threads_differ(const KernelCase& c, std::uint64_t choice) {
  static const std::unique_ptr<Device> devices[] = {make_interpreted_device("ONE", 1),
                                                    make_interpreted_device("TWO", 2),
                                                    make_interpreted_device("SEVEN", 7)};
  const std::optional<KernelCase> longer = lengthened(c, choice);
  if (!longer) return std::nullopt;
  for (const auto& device : devices) device->forget_runners();
  const HostArray alone = answer_of(*longer, *devices[0]);
  for (const int i : {1, 2})
    if (answer_of(*longer, *devices[i]).bytes != alone.bytes)
      return fmt::format("in {} threads the reference gives other bits than in one, of\n{}",
                         i == 1 ? 2 : 7, str(longer->kernel));
  return std::nullopt;
}

std::optional<std::string> not_refused(const KernelCase& c, const HostArray& right,
                                       std::uint64_t choice) {
  const std::int64_t n = right.size();
  if (n == 0 || !leaves_one_answer(c.kernel)) return std::nullopt;
  const Profile exact = exact_profile();
  const Verdict own = judge({c, right, {}}, exact);
  if (own.outcome == Outcome::Fail) return "the reference's own answer is not taken: " + own.str();
  if (own.determined < own.checked || own.checked == 0) return std::nullopt;
  const std::uint64_t at = choice % 3 == 0   ? static_cast<std::uint64_t>(n - 1)
                           : choice % 3 == 1 ? 0
                                             : hash_mix(17, choice) % static_cast<std::uint64_t>(n);
  const std::size_t width = itemsize(right.dtype), byte = static_cast<std::size_t>(at) * width;
  HostArray changed = right;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &changed.bytes[byte], width);
  if (is_float(right.dtype) && std::isnan(Scalar::from_bits(right.dtype, bits).to_double()))
    return std::nullopt;
  bits ^= 1;
  std::memcpy(&changed.bytes[byte], &bits, width);
  if (judge({c, changed, {}}, exact).outcome == Outcome::Fail) return std::nullopt;
  return fmt::format("element {} of {} has one answer, and another is taken: {}", at, n,
                     Scalar::from_bits(right.dtype, bits).str());
}

}  // namespace touchstone::fuzz
