#include "touchstone/clang/clang_options.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "touchstone/clang/machine.h"
#include "touchstone/process/room.h"

namespace touchstone {

namespace {

// Null if it is unset or empty.
const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

std::optional<int> number_from_environment(const char* name, int least, int most) {
  const char* const text = variable(name);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < least || number > most)
    throw ParseError(fmt::format("{} is '{}'; give a number from {} to {}, or unset it", name, text,
                                 least, most));
  return number;
}

bool fuses_products_at_once() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

CodegenOptions for_this_machine(const ClangOptions& clang) {
  CodegenOptions options = clang.codegen;
  if (options.sizes == LayoutSizes{}) options.sizes = sizes_for(this_machine(clang));
  return options;
}

ClangOptions ClangOptions::from_environment() {
  ClangOptions options;
  process::room_in("/");  // throws now if TOUCHSTONE_ROOM is wrong
  if (const char* const compiler = variable("TOUCHSTONE_CC")) options.compiler = compiler;
  if (const char* const dir = variable("TOUCHSTONE_CACHE")) options.cache_dir = dir;
  const auto number = number_from_environment;
  constexpr int kMostLimit = 1 << 20;
  if (const char* const march = variable("TOUCHSTONE_MARCH")) {
    options.march = march;
    bool known = options.march == "native";
#ifdef __x86_64__
    known = known || (options.march == "x86-64-v3" && __builtin_cpu_supports("avx2") != 0);
#endif
    if (!known)
      throw ParseError(
          fmt::format("TOUCHSTONE_MARCH is '{}'; give native or, on a processor with "
                      "AVX2, x86-64-v3, or unset it",
                      march));
  }
  options.threads = number("TOUCHSTONE_THREADS", 1, 4096).value_or(options.threads);
  options.sanitize = number("TOUCHSTONE_KERNEL_SAN", 0, 1).value_or(0) == 1;
  if (const char* const order = variable("TOUCHSTONE_ORDER")) {
    const std::string_view word = order;
    if (word != "source" && word != "lanes")
      throw ParseError(
          fmt::format("TOUCHSTONE_ORDER is '{}'; give source or lanes, or unset it", word));
    if (word == "source") options.codegen.order = TermOrder::Source;
  }
  const bool fuses = options.codegen.order != TermOrder::Source && fuses_products_at_once();
  options.codegen.contract = number("TOUCHSTONE_FMA", 0, 1).value_or(fuses ? 1 : 0) == 1;
  options.beam = number("TOUCHSTONE_BEAM", 0, 64).value_or(options.beam);
  if (const char* const level = variable("TOUCHSTONE_MATH")) {
    try {
      options.codegen.math = math_level_named(level);
    } catch (const ParseError& e) {
      throw ParseError(fmt::format("TOUCHSTONE_MATH: {}", e.what()));
    }
  }
  process::Limits& limits = options.compiler_limits;
  if (const auto seconds = number("TOUCHSTONE_CC_SECONDS", 0, kMostLimit))
    limits.time = std::chrono::seconds(*seconds);
  if (const auto mebibytes = number("TOUCHSTONE_CACHE_SIZE", 0, kMostLimit))
    options.cache_size = static_cast<std::uint64_t>(*mebibytes) << 20;
  if (const auto mebibytes = number("TOUCHSTONE_CC_OUTPUT", 0, kMostLimit))
    limits.output = static_cast<std::uint64_t>(*mebibytes) << 20;
  if (const auto mebibytes = number("TOUCHSTONE_CC_MEMORY", 0, kMostLimit))
    limits.refused.memory = limits.refused.file = static_cast<std::uint64_t>(*mebibytes) << 20;
  return options;
}

}  // namespace touchstone
