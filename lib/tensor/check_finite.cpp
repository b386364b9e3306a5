#include "touchstone/tensor/check_finite.h"

#include <cmath>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/dtype/convert.h"

namespace touchstone {
namespace {

struct Found {
  std::size_t at;
  double value;
};

std::optional<Found> first_not_finite(const Buffer& buffer, bool infinities) {
  if (!is_float(buffer.dtype())) return std::nullopt;
  return with_storage(buffer.dtype(), [&]<class T>(std::type_identity<T>) -> std::optional<Found> {
    if constexpr (!std::is_integral_v<T>) {
      const std::vector<T> values = buffer.read<T>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = convert<double>(values[i]);
        if (std::isnan(value) || (!infinities && std::isinf(value))) return Found{i, value};
      }
    }
    return std::nullopt;
  });
}

}  // namespace

void CheckFinite::ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
                      double) {
  if (item.kind != Op::Store || buffers.empty()) return;
  const bool allowed = infinities_ == Infinities::Allowed;
  const std::optional<Found> found = first_not_finite(*buffers[0], allowed);
  if (!found) return;
  // An infinity among the inputs explains a NaN.
  for (const Buffer* const input : buffers.subspan(1))
    if (first_not_finite(*input, false)) return;
  const Origin origin = item.out->origin();
  const std::string_view value = std::isnan(found->value) ? "nan"
                                 : found->value < 0       ? "-inf"
                                                          : "inf";
  throw Error(fmt::format(
      "check_finite: element {} of kernel {} on {}, made by {}{}, is {}, although its {} input(s) "
      "are finite; look for division by zero, logarithms or roots of invalid values, and overflow",
      found->at, kernel_name(item.ast), device.name(),
      origin.name == nullptr ? "an operator" : origin.name, origin.gradient ? "'s gradient" : "",
      value, buffers.size() - 1));
}

}  // namespace touchstone
