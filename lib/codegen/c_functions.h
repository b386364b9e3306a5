#pragma once

#include <span>
#include <string_view>

#include "touchstone/dtype/dtype.h"
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"
#include "touchstone/uop/math_level.h"

namespace touchstone::codegen {

/// A C function that generated code calls.
struct CFunction {
  std::string_view name, text;
};

constexpr bool is_function(Op op) {
  return op == Op::Exp2 || op == Op::Log2 || op == Op::Sin || op == Op::Function;
}

/// EXP2, LOG2 and SIN of float32 and float64 without branches or calls, so that loops around them
/// vectorize. A function may call earlier ones, and bits_f32, f32_bits, bits_f64, f64_bits. Error
/// bounds in ULP over all float32 inputs, first with FUSES_PRODUCTS (fused products), then without:
/// exp2_f32 0.894 and 0.883, log2_f32 0.945 and 0.991, sin_f32 0.947 and 0.501; fast_log2_f32 2.991
/// both, fast_sin_f32 2.902 and 0.501 for |x| <= 2^17; on every 11th input fast_exp2_f32 3.08. The
/// nearest_ functions round correctly, sin as far as the C library's double does.
std::span<const CFunction> c_functions();

/// Returns the C expression for EXP2, LOG2 or SIN of $a, of type float32 or float64; empty if the C
/// library's function is used.
std::string_view c_function_call(Op op, DType type, MathLevel level);
/// The same for a named function of $a (and $b): our code for float32 at `1ulp` and `fast`, the C
/// library's (if it may be called: `libm`) for float64 and at `library`; empty if it is computed by
/// other ops (ops/decompose.h).
std::string_view c_function_call(NamedFunction function, DType type, MathLevel level,
                                 bool libm = true);

}  // namespace touchstone::codegen
