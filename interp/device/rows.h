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
// rows_arithmetic.cpp and rows_cast.cpp.

namespace touchstone::interp {

/// Fills out[0] ... out[n - 1]; in: the operands' elements. `out` may alias an operand.
using RowFunction = void(const void* const* in, void* out, std::int64_t n);
using Row = RowFunction*;

namespace rows {

/// float, double; uint32 and uint64, which wrap.
template <class T>
struct Arithmetic {
  static RowFunction add, sub, mul;
};

/// float, double, integers of 32 and 64 bits.
template <class T>
struct Ordered {
  static RowFunction div, mod, max, cmplt;
};

/// float, double, uint32, uint64.
template <class T>
struct Equality {
  static RowFunction cmpeq;
};

/// All floats, uint32, uint64, bool.
template <class T>
struct Negation {
  static RowFunction neg;
};

/// float, double.
template <class T>
struct Roots {
  static RowFunction recip, sqrt;
};

/// All floats.
template <class T>
struct Functions {
  static RowFunction exp2, log2, sin;
};

/// Unsigned integers, for any type of the same width.
template <class T>
struct Bits {
  static RowFunction copy, where, exclusive_or;
};

/// bool.
struct Logic {
  static RowFunction either, both, alike, second_alone;
};

/// convert<To>(From), for the pairs that fxn_for_op.cpp needs.
template <class To, class From>
struct Cast {
  static RowFunction cast;
};

}  // namespace rows
}  // namespace touchstone::interp
