#include <type_traits>

#include "touchstone/interp/device/rows.h"
#include "touchstone/interp/device/rows_eigen.h"
#include "touchstone/interp/device/scalar_arith.h"

namespace touchstone::interp::rows {

template <class T>
void Arithmetic<T>::add(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = array<T>(in[0], n) + array<T>(in[1], n);
}
template <class T>
void Arithmetic<T>::sub(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = array<T>(in[0], n) - array<T>(in[1], n);
}
template <class T>
void Arithmetic<T>::mul(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = array<T>(in[0], n) * array<T>(in[1], n);
}

template <class T>
void Ordered<T>::div(const void* const* in, void* out, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>)
    array<T>(out, n) = array<T>(in[0], n) / array<T>(in[1], n);
  else  // without traps
    binary<T, T>(in, out, n, [](T a, T b) { return scalar::div(a, b); });
}
template <class T>
void Ordered<T>::mod(const void* const* in, void* out, std::int64_t n) {
  binary<T, T>(in, out, n, [](T a, T b) { return scalar::mod(a, b); });
}
template <class T>
void Ordered<T>::max(const void* const* in, void* out, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>)
    binary<T, T>(in, out, n, [](T a, T b) { return scalar::max(a, b); });
  else
    array<T>(out, n) = array<T>(in[0], n).max(array<T>(in[1], n));
}
template <class T>
void Ordered<T>::cmplt(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<T>(in[0], n) < array<T>(in[1], n);
}

template <class T>
void Equality<T>::cmpeq(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<T>(in[0], n) == array<T>(in[1], n);
}

template <class T>
void Negation<T>::neg(const void* const* in, void* out, std::int64_t n) {
  unary<T, T>(in, out, n, [](T x) { return scalar::neg(x); });
}

template <class T>
void Bits<T>::copy(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = array<T>(in[0], n);
}
template <class T>
void Bits<T>::where(const void* const* in, void* out, std::int64_t n) {
  array<T>(out, n) = array<bool>(in[0], n).select(array<T>(in[1], n), array<T>(in[2], n));
}
template <class T>
void Bits<T>::exclusive_or(const void* const* in, void* out, std::int64_t n) {
  binary<T, T>(in, out, n, [](T a, T b) { return scalar::xor_(a, b); });
}

void Logic::either(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<bool>(in[0], n) || array<bool>(in[1], n);
}
void Logic::both(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<bool>(in[0], n) && array<bool>(in[1], n);
}

void Logic::alike(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<bool>(in[0], n) == array<bool>(in[1], n);
}
void Logic::second_alone(const void* const* in, void* out, std::int64_t n) {
  array<bool>(out, n) = array<bool>(in[0], n) < array<bool>(in[1], n);
}

template struct Arithmetic<float>;
template struct Arithmetic<double>;
template struct Arithmetic<std::uint32_t>;
template struct Arithmetic<std::uint64_t>;
template struct Ordered<float>;
template struct Ordered<double>;
template struct Ordered<std::int32_t>;
template struct Ordered<std::uint32_t>;
template struct Ordered<std::int64_t>;
template struct Ordered<std::uint64_t>;
template struct Equality<float>;
template struct Equality<double>;
template struct Equality<std::uint32_t>;
template struct Equality<std::uint64_t>;
template struct Negation<bool>;
template struct Negation<std::uint32_t>;
template struct Negation<std::uint64_t>;
template struct Negation<float8_e4m3>;
template struct Negation<float8_e5m2>;
template struct Negation<float16>;
template struct Negation<bfloat16>;
template struct Negation<float>;
template struct Negation<double>;
template struct Bits<std::uint8_t>;
template struct Bits<std::uint16_t>;
template struct Bits<std::uint32_t>;
template struct Bits<std::uint64_t>;

}  // namespace touchstone::interp::rows
