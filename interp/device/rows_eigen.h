#pragma once

#include <cstdint>

#include "touchstone/interp/device/block.h"

// Maps operands of rows to Eigen arrays; only for rows_*.cpp.

namespace touchstone::interp::rows {

template <class T>
ConstArrayMap<T> array(const void* memory, std::int64_t n) {
  return {static_cast<const T*>(memory), n};
}
template <class T>
ArrayMap<T> array(void* memory, std::int64_t n) {
  return {static_cast<T*>(memory), n};
}

/// out = f(a), element by element.
template <class T, class R, class F>
void unary(const void* const* in, void* out, std::int64_t n, F f) {
  array<R>(out, n) = array<T>(in[0], n).unaryExpr(f);
}
/// out = f(a, b), element by element.
template <class T, class R, class F>
void binary(const void* const* in, void* out, std::int64_t n, F f) {
  array<R>(out, n) = array<T>(in[0], n).binaryExpr(array<T>(in[1], n), f);
}

}  // namespace touchstone::interp::rows
