#include "tolerance.h"

#include <cmath>

#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/storage.h"

namespace touchstone::power {

Tolerance tolerance(Practice practice, DType dtype) {
  if (practice == Practice::Numpy) return {1e-5, 1e-8};
  if (practice == Practice::Loose) return {1e-3, 1e-6};
  switch (dtype) {
    case DType::Float16: return {1e-3, 1e-5};
    case DType::BFloat16: return {1.6e-2, 1e-5};
    case DType::Float32: return {1.3e-6, 1e-5};
    case DType::Float64: return {1e-7, 1e-7};
    default: return {0, 0};
  }
}

bool accepts(const Tolerance& t, DType dtype, std::span<const std::uint8_t> want,
             std::span<const std::uint8_t> got) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) {
    const T* a = reinterpret_cast<const T*>(want.data());
    const T* b = reinterpret_cast<const T*>(got.data());
    for (std::size_t i = 0; i < want.size() / sizeof(T); ++i) {
      const auto x = convert<double>(a[i]), y = convert<double>(b[i]);
      if (x == y || (x != x && y != y)) continue;
      if (std::isinf(x) || !(std::abs(y - x) <= t.absolute + t.relative * std::abs(x)))
        return false;
    }
    return true;
  });
}

}  // namespace touchstone::power
