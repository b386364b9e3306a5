#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "touchstone/dtype/scalar.h"

namespace touchstone {

/// A number in an expression with tensors. It takes the dtype of the other operand, widened if that
/// cannot hold this kind of number.
class Number {
 public:
  template <class T>
  requires std::integral<T> || std::floating_point<T> Number(
      T value) {  // NOLINT(google-explicit-constructor): a number is a number
    if constexpr (std::floating_point<T>) {
      kind_ = Kind::Fraction;
      fraction_ = static_cast<double>(value);
    } else {
      kind_ = std::same_as<T, bool> ? Kind::Truth : Kind::Whole;
      whole_ = static_cast<std::int64_t>(value);
    }
  }

  /// The dtype of an operation with a tensor of type `met`: float32 for a fraction with integers or
  /// bool, int32 for a whole number with bool, else `met`.
  DType dtype_with(DType met) const {
    if (kind_ == Kind::Fraction && !is_float(met)) return DType::Float32;
    return kind_ == Kind::Whole && is_bool(met) ? DType::Int32 : met;
  }
  Scalar as(DType dtype) const {
    return kind_ == Kind::Fraction ? Scalar::from_double(dtype, fraction_)
                                   : Scalar::from_int(dtype, whole_);
  }

 private:
  enum class Kind : std::uint8_t { Truth, Whole, Fraction };
  Kind kind_;
  std::int64_t whole_ = 0;
  double fraction_ = 0;
};

/// -inf, or the least value of an integer type or bool: the identity of maximum.
inline Number least_number(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (info(dtype).kind != DTypeKind::Signed) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * static_cast<int>(itemsize(dtype)));
}

}  // namespace touchstone
