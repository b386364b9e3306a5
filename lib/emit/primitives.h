#pragma once

#include <array>
#include <string_view>

#include "touchstone/emit/emit.h"

namespace touchstone::emit {

/// An elementwise operation in each language: a function's name, in Python also a text with {0},
/// {1}; empty: the language lacks it. Named functions have the names of ops/function.h.
struct Primitive {
  std::string_view name, numpy, torch, jax, stablehlo, onnx;
  int opset = 17;  // of ONNX: the first that has it

  constexpr std::string_view in(Language l) const {
    return std::array{numpy, torch, jax, stablehlo, onnx}[static_cast<std::size_t>(l)];
  }
};

// clang-format off
inline constexpr Primitive primitives[] = {
    {"add", "{0} + {1}", "{0} + {1}", "{0} + {1}", "add", "Add"},
    {"sub", "{0} - {1}", "{0} - {1}", "{0} - {1}", "subtract", "Sub"},
    {"mul", "{0} * {1}", "{0} * {1}", "{0} * {1}", "multiply", "Mul"},
    {"div", "{0} / {1}", "{0} / {1}", "{0} / {1}", "divide", "Div"},
    {"quotient", "({0} - np.fmod({0}, {1})) // {1}", "torch.div({0}, {1}, rounding_mode=\"trunc\")", "lax.div({0}, {1})", "divide", "Div"},
    {"mod", "np.fmod", "torch.fmod", "lax.rem", "remainder", "Mod"},
    {"max", "np.maximum", "torch.maximum", "jnp.maximum", "maximum", "Max"},
    {"lt", "{0} < {1}", "{0} < {1}", "{0} < {1}", "compare LT,", "Less"},
    {"eq", "{0} == {1}", "{0} == {1}", "{0} == {1}", "compare EQ,", "Equal"},
    {"and", "{0} & {1}", "{0} & {1}", "{0} & {1}", "and", "And"},
    {"or", "{0} | {1}", "{0} | {1}", "{0} | {1}", "or", "Or"},
    {"xor", "{0} ^ {1}", "{0} ^ {1}", "{0} ^ {1}", "xor", "Xor"},
    {"bit_xor", "{0} ^ {1}", "{0} ^ {1}", "{0} ^ {1}", "xor", "BitwiseXor", 18},
    {"not", "~{0}", "~{0}", "~{0}", "not", "Not"},
    {"neg", "-{0}", "-{0}", "-{0}", "negate", "Neg"},
    {"where", "np.where", "torch.where", "jnp.where", "select", "Where"},
    {"exp2", "np.exp2", "torch.exp2", "jnp.exp2", "", ""},
    {"log2", "np.log2", "torch.log2", "jnp.log2", "", ""},
    {"sin", "np.sin", "torch.sin", "jnp.sin", "sine", "Sin"},
    {"sqrt", "np.sqrt", "torch.sqrt", "jnp.sqrt", "sqrt", "Sqrt"},
    {"recip", "np.reciprocal", "torch.reciprocal", "jnp.reciprocal", "", "Reciprocal"},
    {"exp", "np.exp", "torch.exp", "jnp.exp", "exponential", "Exp"},
    {"expm1", "np.expm1", "torch.expm1", "jnp.expm1", "exponential_minus_one", ""},
    {"log", "np.log", "torch.log", "jnp.log", "log", "Log"},
    {"log10", "np.log10", "torch.log10", "jnp.log10", "", ""},
    {"log1p", "np.log1p", "torch.log1p", "jnp.log1p", "log_plus_one", ""},
    {"rsqrt", "", "torch.rsqrt", "lax.rsqrt", "rsqrt", ""},
    {"sigmoid", "", "torch.sigmoid", "jax.nn.sigmoid", "logistic", "Sigmoid"},
    {"silu", "", "torch.nn.functional.silu", "jax.nn.silu", "", ""},
    {"tanh", "np.tanh", "torch.tanh", "jnp.tanh", "tanh", "Tanh"},
    {"erf", "", "torch.erf", "jax.scipy.special.erf", "chlo.erf", "Erf"},
    {"erfc", "", "torch.erfc", "jax.scipy.special.erfc", "chlo.erfc", ""},
    {"gelu", "", "torch.nn.functional.gelu", "jax.nn.gelu({0}, approximate=False)", "", "Gelu", 20},
    {"gelu_tanh", "", "torch.nn.functional.gelu({0}, approximate=\"tanh\")", "jax.nn.gelu({0}, approximate=True)", "", "Gelu tanh", 20},
    {"softplus", "", "torch.nn.functional.softplus({0}, threshold=40)", "jax.nn.softplus", "", "Softplus"},
    {"cos", "np.cos", "torch.cos", "jnp.cos", "cosine", "Cos"},
    {"tan", "np.tan", "torch.tan", "jnp.tan", "tan", "Tan"},
    {"asin", "np.arcsin", "torch.asin", "jnp.arcsin", "chlo.asin", "Asin"},
    {"acos", "np.arccos", "torch.acos", "jnp.arccos", "chlo.acos", "Acos"},
    {"atan", "np.arctan", "torch.atan", "jnp.arctan", "chlo.atan", "Atan"},
    {"sinh", "np.sinh", "torch.sinh", "jnp.sinh", "chlo.sinh", "Sinh"},
    {"cosh", "np.cosh", "torch.cosh", "jnp.cosh", "chlo.cosh", "Cosh"},
    {"asinh", "np.arcsinh", "torch.asinh", "jnp.arcsinh", "chlo.asinh", "Asinh"},
    {"acosh", "np.arccosh", "torch.acosh", "jnp.arccosh", "chlo.acosh", "Acosh"},
    {"atanh", "np.arctanh", "torch.atanh", "jnp.arctanh", "chlo.atanh", "Atanh"},
    {"cbrt", "np.cbrt", "", "jnp.cbrt", "cbrt", ""},
    {"lgamma", "", "torch.lgamma", "jax.scipy.special.gammaln", "chlo.lgamma", ""},
    {"digamma", "", "torch.digamma", "jax.scipy.special.digamma", "chlo.digamma", ""},
    {"erfinv", "", "torch.erfinv", "jax.scipy.special.erfinv", "chlo.erf_inv", ""},
    {"floor", "np.floor", "torch.floor", "jnp.floor", "floor", "Floor"},
    {"ceil", "np.ceil", "torch.ceil", "jnp.ceil", "ceil", "Ceil"},
    {"round", "np.rint", "torch.round", "jnp.rint", "round_nearest_even", "Round"},
    {"trunc", "np.trunc", "torch.trunc", "jnp.trunc", "", ""},
    {"atan2", "np.arctan2", "torch.atan2", "jnp.arctan2", "atan2", ""},
    {"pow", "np.power", "torch.pow", "jnp.power", "power", "Pow"},
    {"hypot", "np.hypot", "torch.hypot", "jnp.hypot", "", ""},
};
// clang-format on

constexpr const Primitive* primitive(std::string_view name) {
  for (const Primitive& p : primitives)
    if (p.name == name) return &p;
  return nullptr;
}

}  // namespace touchstone::emit
