#include "touchstone/fuzz/areas/reference_check.h"

#include <algorithm>
#include <cstring>

#include "touchstone/base/hash.h"
#include "touchstone/fuzz/definitions/kernel_value.h"
#include "touchstone/fuzz/definitions/number_formats.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/device/threads.h"

namespace touchstone::fuzz {
namespace {

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const sint& size : shape) count *= size.as_int();
  return count;
}

// The view with every element repeated `times` times along a new last axis.
ShapeTracker repeated(const ShapeTracker& st, std::int64_t times) {
  Shape shape = st.shape();
  shape.push_back(1);
  const ShapeTracker taller = st.reshape(shape);
  shape.back() = times;
  return taller.expand(shape);
}

// Nothing for empty kernels and for gathers, whose views have another form.
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

// Integer division by 0 and bitcasts may give anything.
bool leaves_one_answer(const LazyOpPtr& kernel) {
  return std::ranges::none_of(toposort(kernel), [](const LazyOpPtr& n) {
    const bool divides = n->op() == Op::Div || n->op() == Op::Mod;
    return n->op() == Op::Gather || (divides && !is_float(n->dtype())) ||
           (n->op() == Op::Cast && n->cast_arg().bitcast);
  });
}

std::string text_at(const HostArray& array, std::size_t i) {
  return Scalar::from_bits(array.dtype, bits_at(array, i)).str();
}

std::optional<KernelValue> value_of(const KernelCase& c, const HostArray& output) {
  return kernel_value(c, static_cast<std::size_t>(output.size()));
}

}  // namespace

Profile exact_profile() {
  Profile exact;
  exact.exp2 = exact.log2 = exact.sin = {};
  exact.contracts = false;
  exact.order = SumOrder::Exact;
  return exact;
}

Reply untrue(const KernelCase& c, const HostArray& right) {
  const std::optional<KernelValue> value = value_of(c, right);
  if (!value) return {false};
  for (std::size_t i = 0; i < value->bits.size(); ++i)
    if (!value->agrees(i, bits_at(right, i)))
      return {true, fmt::format("element {} is {} by definition, and {} on the reference", i,
                                Scalar::from_bits(value->dtype, value->bits[i]).str(),
                                text_at(right, i))};
  return {};
}

Reply taken_from_afar(const KernelCase& c, const HostArray& right, const Profile& profile,
                      std::uint64_t choice) {
  if (!is_float(right.dtype) || !leaves_one_answer(c.kernel)) return {false};
  const std::optional<KernelValue> value = value_of(c, right);
  constexpr double kFar = 20, kWidened = 18;
  const double least_normal = std::ldexp(1.0, info(right.dtype).min_exponent);
  for (std::size_t i = 0; value && i < value->bits.size(); ++i) {
    const double number = value->number(i), radius = value->radius[i];
    if (value->open[i] || radius == 0 || !std::isfinite(number) || !std::isfinite(radius)) continue;
    const double far = number + (choice % 2 == 0 ? kFar : -kFar) * radius;
    const std::uint64_t bits = definition::bits_of_float(right.dtype, far);
    const double taken = definition::float_of_bits(right.dtype, bits);
    if (!std::isfinite(taken) || std::abs(taken - number) < kWidened * radius) continue;
    // A device may flush numbers this small to 0.
    if (std::max(std::abs(taken), std::abs(number)) < least_normal) continue;
    HostArray changed = right;
    std::memcpy(changed.bytes.data() + i * itemsize(right.dtype), &bits, itemsize(right.dtype));
    if (judge({c, changed, {}}, profile).outcome == Outcome::Fail) return {};
    return {true, fmt::format("element {} is {}, give or take {:.3g}, and {} is taken", i, number,
                              radius, taken)};
  }
  return {false};
}

std::string borne_out(const KernelCase& c, const HostArray& output, const HostArray& right,
                      std::int64_t index) {
  const std::optional<KernelValue> value = value_of(c, right);
  const auto i = static_cast<std::size_t>(index);
  if (!value || i >= value->bits.size() || output.bytes.size() != right.bytes.size()) return {};
  if (value->open[i]) return "\nby definition it may be anything: the oracle is at fault";
  const std::string exact = Scalar::from_bits(value->dtype, value->bits[i]).str();
  if (!value->agrees(i, bits_at(right, i)))
    return fmt::format(
        "\nby definition it is {}, and the reference has {}: the reference is at fault", exact,
        text_at(right, i));
  if (value->agrees(i, bits_at(output, i)))
    return fmt::format(
        "\nby definition it is {}: the oracle, or a declared profile that allows less, is at fault",
        exact);
  return fmt::format("\nby definition it is {}, as on the reference", exact);
}

Reply threads_differ(const KernelCase& c, std::uint64_t choice) {
  static const std::unique_ptr<Device> devices[] = {make_interpreted_device("ONE", 1),
                                                    make_interpreted_device("TWO", 2),
                                                    make_interpreted_device("SEVEN", 7)};
  const std::optional<KernelCase> longer = lengthened(c, choice);
  if (!longer) return {false};
  for (const auto& device : devices) device->forget_runners();
  const HostArray alone = answer_of(*longer, *devices[0]);
  for (const int i : {1, 2})
    if (answer_of(*longer, *devices[i]).bytes != alone.bytes)
      return {true, fmt::format("in {} threads the reference gives other bits than in one, of\n{}",
                                i == 1 ? 2 : 7, str(longer->kernel))};
  return {};
}

namespace {

Reply change_is_refused(const KernelCase& c, const HostArray& right, std::uint64_t choice) {
  const std::int64_t n = right.size();
  if (n == 0 || !leaves_one_answer(c.kernel)) return {false};
  const Profile exact = exact_profile();
  const Verdict own = judge({c, right, {}}, exact);
  if (own.outcome == Outcome::Fail)
    return {true, "the reference's own answer is not taken: " + own.str()};
  if (own.determined < own.checked || own.checked == 0) return {false};
  const std::uint64_t at = choice % 3 == 0   ? static_cast<std::uint64_t>(n - 1)
                           : choice % 3 == 1 ? 0
                                             : hash_mix(17, choice) % static_cast<std::uint64_t>(n);
  std::uint64_t bits = bits_at(right, at);
  if (Scalar::from_bits(right.dtype, bits).is_nan()) return {false};
  bits ^= 1;
  const std::size_t width = itemsize(right.dtype);
  HostArray changed = right;
  std::memcpy(&changed.bytes[static_cast<std::size_t>(at) * width], &bits, width);
  if (judge({c, changed, {}}, exact).outcome == Outcome::Fail) return {};
  return {true, fmt::format("element {} of {} has one answer, and another is taken: {}", at, n,
                            Scalar::from_bits(right.dtype, bits).str())};
}

}  // namespace

Reply not_refused(const KernelCase& c, const HostArray& right, std::uint64_t choice) {
  if (choice % 24 != 0) return change_is_refused(c, right, choice);
  static const std::unique_ptr<Device> device = make_interpreted_device("LONG", 1);
  const std::optional<KernelCase> longer = lengthened(c, choice);
  if (!longer) return {false};
  device->forget_runners();
  return change_is_refused(*longer, answer_of(*longer, *device), choice);
}

}  // namespace touchstone::fuzz
