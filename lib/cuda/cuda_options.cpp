#include "touchstone/cuda/cuda_options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone {

namespace {

int number_from(const char* name, int fallback, int most) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return fallback;
  const std::string_view digits = text;
  int value = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value > most)
    throw ParseError(fmt::format("{}={}: expected a number from 0 to {}", name, digits, most));
  return value;
}

}  // namespace

CudaOptions CudaOptions::from_environment() {
  const ClangOptions clang = ClangOptions::from_environment();
  CudaOptions options;
  options.compiler = clang.compiler;
  options.compiler_limits = clang.compiler_limits;
  options.cache_dir = clang.cache_dir;
  options.cache_size = clang.cache_size;
  options.codegen.math = clang.codegen.math;
  options.codegen.contract = number_from("TOUCHSTONE_CUDA_FMA", 0, 1) == 1;
  options.device = number_from("TOUCHSTONE_CUDA_DEVICE", 0, 63);
  return options;
}

}  // namespace touchstone
