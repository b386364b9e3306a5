#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "touchstone/base/rows.h"
namespace touchstone {

/// Functions of floats that a FUNCTION node names. Each means the real function, rounded once to
/// the operands' type; special values as C's Annex F has them.
// clang-format off
enum class NamedFunction : std::uint8_t {
  Exp, Expm1, Log, Log10, Log1p, Rsqrt, Sigmoid, Silu, Tanh, Erf, Erfc, Gelu, GeluTanh, Softplus,
  Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Cbrt, Lgamma, Digamma, Erfinv,
  Floor, Ceil, Round, Trunc,
  // of two operands
  Atan2, Pow, Hypot
};
// clang-format on
inline constexpr std::size_t kFunctionCount = 35;

/// How a function of one operand runs within its domain, for intervals of operands.
enum class Course : std::uint8_t {
  Rises,
  Falls,
  Valley,  // falls up to `turn`, rises after it
  Wave,    // changes by at most the change of its operand
  Poles,   // no claim about an interval
  OfTwo,   // two operands
};

/// `least` and `most` bound every result. The errors are in ULP, of float32 for narrower types:
/// `error` for the profile `library`; `glibc` from the GNU C library's manual ("Known Maximum
/// Errors in Math Functions", x86_64); `opencl` from OpenCL C 3.0, 7.4. The last two equal `error`
/// for functions that their source lacks. `exact`: the result is a whole number of its type.
struct FunctionInfo {
  NamedFunction function;
  std::string_view name;
  std::string_view meaning;
  int arity;
  Course course;
  double turn;      // of a Valley
  double from, to;  // domain: NaN outside
  double least, most;
  double error, glibc, opencl;
  bool exact;
};

// `error` covers the largest float32 errors of NumPy 2.5, PyTorch 2.11 and JAX on 4.7 million
// operands (docs/measured/frameworks.md), except where a library flushes subnormals or keeps only
// an absolute error, and for JAX's cosh and erfinv.
// clang-format off
namespace detail {
inline constexpr double kAny = std::numeric_limits<double>::infinity();
}
inline constexpr std::array<FunctionInfo, kFunctionCount> function_table = {{
    {NamedFunction::Exp, "exp", "e^x", 1, Course::Rises, 0, -detail::kAny, detail::kAny, 0, detail::kAny, 3, 1, 3, false},
    {NamedFunction::Expm1, "expm1", "e^x - 1", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -1, detail::kAny, 6, 1, 3, false},
    {NamedFunction::Log, "log", "natural logarithm", 1, Course::Rises, 0, 0, detail::kAny, -detail::kAny, detail::kAny, 4, 1, 3, false},
    {NamedFunction::Log10, "log10", "logarithm to base 10", 1, Course::Rises, 0, 0, detail::kAny, -detail::kAny, detail::kAny, 3, 2, 3, false},
    {NamedFunction::Log1p, "log1p", "log(1 + x)", 1, Course::Rises, 0, -1, detail::kAny, -detail::kAny, detail::kAny, 2, 1, 2, false},
    {NamedFunction::Rsqrt, "rsqrt", "1 / sqrt(x)", 1, Course::Falls, 0, 0, detail::kAny, -detail::kAny, detail::kAny, 2, 2, 2, false},
    {NamedFunction::Sigmoid, "sigmoid", "1 / (1 + e^-x)", 1, Course::Rises, 0, -detail::kAny, detail::kAny, 0, 1, 3, 3, 3, false},
    {NamedFunction::Silu, "silu", "x / (1 + e^-x)", 1, Course::Valley, -1.2784645427610738, -detail::kAny, detail::kAny, -0.28, detail::kAny, 4, 4, 4, false},
    {NamedFunction::Tanh, "tanh", "hyperbolic tangent", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -1, 1, 5, 2, 5, false},
    {NamedFunction::Erf, "erf", "error function", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -1, 1, 6, 1, 16, false},
    {NamedFunction::Erfc, "erfc", "1 - erf(x)", 1, Course::Falls, 0, -detail::kAny, detail::kAny, 0, 2, 5, 5, 16, false},
    {NamedFunction::Gelu, "gelu", "x/2 (1 + erf(x / sqrt 2))", 1, Course::Valley, -0.7517915246935645, -detail::kAny, detail::kAny, -0.18, detail::kAny, 4, 4, 4, false},
    {NamedFunction::GeluTanh, "gelu_tanh", "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", 1, Course::Valley, -0.7524614220710163, -detail::kAny, detail::kAny, -0.18, detail::kAny, 4, 4, 4, false},
    {NamedFunction::Softplus, "softplus", "log(1 + e^x)", 1, Course::Rises, 0, -detail::kAny, detail::kAny, 0, detail::kAny, 3, 3, 3, false},
    {NamedFunction::Cos, "cos", "x in radians, of any size", 1, Course::Wave, 0, -detail::kAny, detail::kAny, -1, 1, 4, 1, 4, false},
    {NamedFunction::Tan, "tan", "x in radians, of any size", 1, Course::Poles, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 4, 1, 5, false},
    {NamedFunction::Asin, "asin", "from -pi/2 to pi/2", 1, Course::Rises, 0, -1, 1, -detail::kAny, detail::kAny, 4, 1, 4, false},
    {NamedFunction::Acos, "acos", "from 0 to pi", 1, Course::Falls, 0, -1, 1, 0, detail::kAny, 3, 1, 4, false},
    {NamedFunction::Atan, "atan", "from -pi/2 to pi/2", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 3, 1, 5, false},
    {NamedFunction::Sinh, "sinh", "hyperbolic sine", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 3, 2, 4, false},
    {NamedFunction::Cosh, "cosh", "hyperbolic cosine", 1, Course::Valley, 0, -detail::kAny, detail::kAny, 1, detail::kAny, 3, 2, 4, false},
    {NamedFunction::Asinh, "asinh", "inverse of sinh", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 3, 2, 4, false},
    {NamedFunction::Acosh, "acosh", "inverse of cosh, at least 0", 1, Course::Rises, 0, 1, detail::kAny, 0, detail::kAny, 4, 2, 4, false},
    {NamedFunction::Atanh, "atanh", "inverse of tanh", 1, Course::Rises, 0, -1, 1, -detail::kAny, detail::kAny, 3, 2, 5, false},
    {NamedFunction::Cbrt, "cbrt", "cube root", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 4, 4, 2, false},
    {NamedFunction::Lgamma, "lgamma", "log |gamma(x)|", 1, Course::Poles, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 7, 7, 7, false},
    {NamedFunction::Digamma, "digamma", "derivative of lgamma; NaN at -1, -2, ...", 1, Course::Poles, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 8, 8, 8, false},
    {NamedFunction::Erfinv, "erfinv", "inverse of erf", 1, Course::Rises, 0, -1, 1, -detail::kAny, detail::kAny, 3, 3, 3, false},
    {NamedFunction::Floor, "floor", "the next whole number down", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 0, 0, 0, true},
    {NamedFunction::Ceil, "ceil", "the next whole number up", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 0, 0, 0, true},
    {NamedFunction::Round, "round", "the nearest whole number, ties to even", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 0, 0, 0, true},
    {NamedFunction::Trunc, "trunc", "without the fraction", 1, Course::Rises, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 0, 0, 0, true},
    {NamedFunction::Atan2, "atan2", "the angle of (x, y) = (second, first)", 2, Course::OfTwo, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 4, 1, 6, false},
    {NamedFunction::Pow, "pow", "x^y", 2, Course::OfTwo, 0, -detail::kAny, detail::kAny, -detail::kAny, detail::kAny, 4, 1, 16, false},
    {NamedFunction::Hypot, "hypot", "sqrt(x^2 + y^2)", 2, Course::OfTwo, 0, -detail::kAny, detail::kAny, 0, detail::kAny, 2, 1, 4, false},
}};
// clang-format on

static_assert(rows_follow_enum(function_table, &FunctionInfo::function, NamedFunction::Hypot),
              "function_table needs one row per NamedFunction, in the order of NamedFunction");

constexpr const FunctionInfo& info(NamedFunction f) {
  return function_table[static_cast<std::size_t>(f)];
}

/// Looks up a name; nullopt if unknown.
std::optional<NamedFunction> function_from_name(std::string_view name);
/// As function_from_name, but throws AstError with the nearest name.
NamedFunction parse_function(std::string_view name);

}  // namespace touchstone
