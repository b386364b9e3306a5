#include "touchstone/clang/clang_options.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace touchstone {

namespace {

int parse_threads(const char* text) {
  int threads = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, threads);
  if (error != std::errc() || stop != end || threads < 1 || threads > 4096)
    throw ParseError(
        fmt::format("TOUCHSTONE_THREADS is '{}'; give a number from 1 to 4096, or unset it", text));
  return threads;
}

}  // namespace

ClangOptions ClangOptions::from_environment() {
  ClangOptions options;
  const auto text = [](const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr || *value == '\0' ? nullptr : value;
  };
  if (const char* const compiler = text("TOUCHSTONE_CC")) options.compiler = compiler;
  if (const char* const dir = text("TOUCHSTONE_CACHE")) options.cache_dir = dir;
  if (const char* const threads = text("TOUCHSTONE_THREADS"))
    options.threads = parse_threads(threads);
  return options;
}

}  // namespace touchstone
