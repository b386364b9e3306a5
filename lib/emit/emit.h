#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/emit/tensor_program.h"

namespace touchstone::emit {

enum class Language : std::uint8_t { NumPy, Torch, Jax, StableHlo, Onnx };

struct LanguageInfo {
  Language language;
  std::string_view name, title, file;  // "torch", "PyTorch", "kernel_torch.py"
};
inline constexpr std::array<LanguageInfo, 5> languages = {{
    {Language::NumPy, "numpy", "NumPy", "kernel_numpy.py"},
    {Language::Torch, "torch", "PyTorch", "kernel_torch.py"},
    {Language::Jax, "jax", "JAX", "kernel_jax.py"},
    {Language::StableHlo, "stablehlo", "StableHLO", "kernel.mlir"},
    {Language::Onnx, "onnx", "ONNX", "kernel.onnx"},
}};
constexpr const LanguageInfo& info(Language l) { return languages[static_cast<std::size_t>(l)]; }
/// Throws ParseError that lists the names.
Language parse_language(std::string_view name);

struct EmitInput {
  DType dtype = DType::Float32;
  Sizes shape = {};
};
/// Inputs of a kernel as flat arrays.
std::vector<EmitInput> flat_inputs(const LazyOpPtr& kernel);

/// A concrete kernel in a language: a function `kernel` of inputs `in1`, `in2`, ... (inputs[i] is
/// buffer i + 1) that returns `out`, or an ONNX model with these names. `title`: a comment. Throws
/// ParseError that names the operation or type that the language lacks.
std::string emitted(const LazyOpPtr& kernel, std::span<const EmitInput> inputs, Language language,
                    std::string_view title = {});

/// As above, of a lowered program.
std::string python_text(const TensorProgram& program, Language language, std::string_view title);
std::string stablehlo_text(const TensorProgram& program, std::string_view title);
std::string onnx_bytes(const TensorProgram& program, std::string_view title);

}  // namespace touchstone::emit
