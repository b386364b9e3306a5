#include "touchstone/interp/device/rows.h"
#include "touchstone/interp/device/rows_eigen.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone::interp::rows {

template <class T>
void Roots<T>::recip(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = T{1} / array<T>(in[0], n);
}
template <class T>
void Roots<T>::sqrt(const void* const* in, void* out, std::int64_t n) {
  unary<T, T>(in, out, n, [](T x) { return scalar::sqrt(x); });
}

template <class T>
void Functions<T>::exp2(const void* const* in, void* out, std::int64_t n) {
  unary<T, T>(in, out, n, [](T x) { return scalar::exp2(x); });
}
template <class T>
void Functions<T>::log2(const void* const* in, void* out, std::int64_t n) {
  unary<T, T>(in, out, n, [](T x) { return scalar::log2(x); });
}
template <class T>
void Functions<T>::sin(const void* const* in, void* out, std::int64_t n) {
  unary<T, T>(in, out, n, [](T x) { return scalar::sin(x); });
}

template struct Roots<float>;
template struct Roots<double>;
template struct Functions<float8_e4m3>;
template struct Functions<float8_e5m2>;
template struct Functions<float16>;
template struct Functions<bfloat16>;
template struct Functions<float>;
template struct Functions<double>;

}  // namespace touchstone::interp::rows
