#include "touchstone/fuzz/values.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace touchstone::fuzz {
namespace {

std::vector<Scalar> float_edges(DType d) {
  const DTypeInfo& f = info(d);
  const double largest = std::ldexp(2 - std::ldexp(1, 1 - f.digits), f.max_exponent);
  const double least_normal = std::ldexp(1, f.min_exponent);
  const double least = std::ldexp(1, f.min_exponent - f.digits + 1);
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Scalar> out;
  for (const double x : {0.0,           1.0,
                         -0.0,          -1.0,
                         nan,           inf,
                         -inf,          least,
                         -least,        least_normal,
                         -least_normal, largest,
                         -largest,      1 + std::ldexp(1, 1 - f.digits),
                         0.5,           2.0,
                         -2.5,          255.5,
                         -129.0,        65504.0,
                         1e10})
    out.push_back(Scalar::from_double(d, x));
  return out;
}

template <class T>
std::vector<Scalar> integer_edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<Scalar> out;
  for (const T x : {T{0}, T{1}, static_cast<T>(-1), T{2}, Limits::max(), Limits::min(),
                    static_cast<T>(Limits::max() - 1), static_cast<T>(Limits::min() + 1),
                    static_cast<T>(Limits::max() / 2 + 1), T{7}, static_cast<T>(-7)})
    out.push_back(Scalar::of(x));
  return out;
}

std::vector<Scalar> make_edges(DType d) {
  if (is_bool(d)) return {Scalar::of(false), Scalar::of(true)};
  if (is_float(d)) return float_edges(d);
  return with_storage(d, []<class T>(std::type_identity<T>) -> std::vector<Scalar> {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return integer_edges<T>();
    else
      return {};
  });
}

Scalar draw_random(Chooser& chooser, DType d) {
  if (is_bool(d)) return Scalar::of(chooser.below(2) == 1);
  if (!is_float(d))
    return Scalar::from_int(d, static_cast<std::int64_t>(chooser.below(UINT64_MAX)));
  const double fraction = 1 + static_cast<double>(chooser.below(1ULL << 52)) * 0x1p-52;
  const double magnitude = std::ldexp(fraction, static_cast<int>(chooser.between(-6, 5)));
  return Scalar::from_double(d, chooser.below(2) == 0 ? magnitude : -magnitude);
}

Scalar draw_one(Chooser& chooser, ValueFamily family, DType d) {
  if (family == ValueFamily::Random) return draw_random(chooser, d);
  if (family == ValueFamily::Edges && chooser.chance(1, 2)) return chooser.pick(edge_values(d));
  const std::int64_t small = chooser.between(0, 14);  // 0, 1, -1, 2, -2 ...
  const std::int64_t signed_small = small % 2 == 0 ? -small / 2 : (small + 1) / 2;
  return Scalar::from_int(d, info(d).kind == DTypeKind::Unsigned ? small : signed_small);
}

}  // namespace

std::string_view name(ValueFamily family) {
  switch (family) {
    case ValueFamily::Integers:
      return "integers";
    case ValueFamily::Edges:
      return "edges";
    case ValueFamily::Random:
      return "random";
  }
  return "";
}

const std::vector<Scalar>& edge_values(DType dtype) {
  static const auto table = [] {
    std::array<std::vector<Scalar>, kDTypeCount> out;
    for (int d = 0; d < kDTypeCount; ++d)
      out[static_cast<std::size_t>(d)] = make_edges(static_cast<DType>(d));
    return out;
  }();
  return table[static_cast<std::size_t>(dtype)];
}

HostArray draw_values(Chooser& chooser, ValueFamily family, DType dtype, std::int64_t size) {
  HostArray out{dtype, {size}, {}};
  const std::size_t width = itemsize(dtype);
  out.bytes.resize(static_cast<std::size_t>(size) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    const std::uint64_t bits = draw_one(chooser, family, dtype).bits();
    std::memcpy(out.bytes.data() + i * width, &bits, width);
  }
  return out;
}

std::vector<HostArray> draw_inputs(Chooser& chooser, ValueFamily family, const LazyOpPtr& kernel) {
  std::vector<HostArray> inputs;
  for (const BufferSpec& spec : buffers_of(kernel)) {
    if (spec.idx == 0) continue;
    while (static_cast<int>(inputs.size()) + 1 < spec.idx) inputs.push_back({DType::Bool, {0}, {}});
    inputs.push_back(draw_values(chooser, family, spec.dtype, spec.size));
  }
  return inputs;
}

}  // namespace touchstone::fuzz
