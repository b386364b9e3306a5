#pragma once

#include <cstdint>

#include "touchstone/dtype/storage.h"

// The rows of the Interpreted device's table: one Eigen expression each, over whole arrays. Eigen
// computes only where it follows IEEE 754 and C++: + - * /, comparisons, choice, and casts that are
// exact or round once. Everything else is a function of scalar_ops.h in unaryExpr or binaryExpr,
// since Eigen's sqrt, exp, log, sin, min and max of floats are not IEEE. One operation per row, so
// there is nothing to contract.
//
// Types share a row if the results are the same (fxn_for_op.cpp): wrapping types are unsigned, and
// narrow types compute in wider ones between conversions. Instantiated in rows_float.cpp,
// rows_integer.cpp and rows_cast.cpp.

namespace touchstone::interp {

/// Fills out[0] ... out[n - 1]; in: the operands' elements. `out` may alias an operand.
using Row = void (*)(const void* const* in, void* out, std::int64_t n);

namespace rows {

/// float, double; uint32 and uint64, which wrap.
template <class T>
struct Arithmetic {
  static void add(const void* const* in, void* out, std::int64_t n);
  static void sub(const void* const* in, void* out, std::int64_t n);
  static void mul(const void* const* in, void* out, std::int64_t n);
};

/// float, double, integers of 32 and 64 bits.
template <class T>
struct Ordered {
  static void div(const void* const* in, void* out, std::int64_t n);
  static void mod(const void* const* in, void* out, std::int64_t n);
  static void max(const void* const* in, void* out, std::int64_t n);
  static void cmplt(const void* const* in, void* out, std::int64_t n);
};

/// float, double, uint32, uint64.
template <class T>
struct Equality {
  static void cmpeq(const void* const* in, void* out, std::int64_t n);
};

/// All floats, uint32, uint64, bool.
template <class T>
struct Negation {
  static void neg(const void* const* in, void* out, std::int64_t n);
};

/// float, double.
template <class T>
struct Roots {
  static void recip(const void* const* in, void* out, std::int64_t n);
  static void sqrt(const void* const* in, void* out, std::int64_t n);
};

/// All floats.
template <class T>
struct Functions {
  static void exp2(const void* const* in, void* out, std::int64_t n);
  static void log2(const void* const* in, void* out, std::int64_t n);
  static void sin(const void* const* in, void* out, std::int64_t n);
};

/// Unsigned integers, for any type of the same width.
template <class T>
struct Bits {
  static void copy(const void* const* in, void* out, std::int64_t n);
  static void where(const void* const* in, void* out, std::int64_t n);
  static void exclusive_or(const void* const* in, void* out, std::int64_t n);
};

/// bool.
struct Logic {
  static void either(const void* const* in, void* out, std::int64_t n);
  static void both(const void* const* in, void* out, std::int64_t n);
  static void alike(const void* const* in, void* out, std::int64_t n);
  static void second_alone(const void* const* in, void* out, std::int64_t n);
};

/// convert<To>(From), for the pairs that fxn_for_op.cpp needs.
template <class To, class From>
struct Cast {
  static void cast(const void* const* in, void* out, std::int64_t n);
};

}  // namespace rows
}  // namespace touchstone::interp
