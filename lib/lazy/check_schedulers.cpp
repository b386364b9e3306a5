#include "touchstone/lazy/check_schedulers.h"

#include <array>
#include <cstring>

#include "touchstone/lazy/aside.h"
#include "touchstone/lazy/realize.h"

namespace touchstone::lazy {
namespace {

// Elements beyond a symbolic shape are not compared.
std::int64_t elements_of(const Shape& shape, const symbolic::Values& values) {
  return elements(shape).evaluate(values);
}

void compare(const LazyBuffer& output, std::size_t number, const Buffer& by_fusion,
             const Buffer& by_other, Scheduler other, const symbolic::Values& values) {
  std::vector<std::byte> a(by_fusion.bytes()), b(by_other.bytes());
  by_fusion.copy_out(a);
  by_other.copy_out(b);
  const std::size_t width = itemsize(output.dtype());
  const auto n = static_cast<std::size_t>(elements_of(output.shape(), values));
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, a.data() + i * width, width);
    std::memcpy(&y, b.data() + i * width, width);
    if (x == y) continue;
    const Scalar left = Scalar::from_bits(output.dtype(), x),
                 right = Scalar::from_bits(output.dtype(), y);
    if (left.is_nan() && right.is_nan()) continue;
    throw Error(fmt::format(
        "TOUCHSTONE_SCHEDULER=check: element {} of output {} is {} by fusion, but {} by {}; report "
        "it with the program, and use TOUCHSTONE_SCHEDULER=lazy; on CLANG bits are the same with "
        "TOUCHSTONE_ORDER=source alone",
        i, number, left.str(), right.str(), scheduler_names[static_cast<std::size_t>(other)]));
  }
}

}  // namespace

void realize_checked(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values) {
  constexpr std::array kOthers = {Scheduler::Kernelize, Scheduler::Ranges};
  std::array<Aside, kOthers.size()> asides;
  for (std::size_t k = 0; k < kOthers.size(); ++k) {
    Config config = Config::current();
    config.scheduler = kOthers[k];
    for (const ScheduleItem& item : schedule(outputs, values, config)) asides[k].run(item);
  }
  run_schedule(schedule(outputs, values));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const LazyBuffer& base = outputs[i]->base();
    for (std::size_t k = 0; k < kOthers.size(); ++k)
      if (const BufferPtr other = asides[k].made(base))
        compare(base, i, *base.realized(), *other, kOthers[k], values);
  }
}

}  // namespace touchstone::lazy
