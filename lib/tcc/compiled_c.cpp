#include "touchstone/tcc/compiled_c.h"

#include "touchstone/base/error.h"

#ifdef TOUCHSTONE_HAS_TCC

#include <cmath>
#include <cstring>
#include <mutex>

#include <libtcc.h>

namespace touchstone::tcc {
namespace {

// libtcc keeps compilation state in globals.
std::mutex& compiling() {
  static std::mutex only;
  return only;
}

// Support functions that libtcc calls on x86-64 for missing instructions and to fill arrays.
float u64_to_float(std::uint64_t x) { return static_cast<float>(x); }
double u64_to_double(std::uint64_t x) { return static_cast<double>(x); }
std::uint64_t float_to_u64(float x) { return static_cast<std::uint64_t>(x); }
std::uint64_t double_to_u64(double x) { return static_cast<std::uint64_t>(x); }
std::int64_t float_to_i64(float x) { return static_cast<std::int64_t>(x); }
std::int64_t double_to_i64(double x) { return static_cast<std::int64_t>(x); }

template <class F>
const void* address(F* function) {
  return reinterpret_cast<const void*>(function);
}

// clang-format off
struct OfOne { const char* name; float (*narrow)(float); double (*wide)(double); };
struct OfTwo { const char* name; float (*narrow)(float, float); double (*wide)(double, double); };
constexpr OfOne kUnary[] = {
    {"exp2", ::exp2f, ::exp2}, {"log2", ::log2f, ::log2}, {"sin", ::sinf, ::sin},
    {"sqrt", ::sqrtf, ::sqrt}, {"exp", ::expf, ::exp}, {"expm1", ::expm1f, ::expm1},
    {"log", ::logf, ::log}, {"log10", ::log10f, ::log10}, {"log1p", ::log1pf, ::log1p},
    {"tanh", ::tanhf, ::tanh}, {"erf", ::erff, ::erf}, {"erfc", ::erfcf, ::erfc},
    {"cos", ::cosf, ::cos}, {"tan", ::tanf, ::tan}, {"asin", ::asinf, ::asin},
    {"acos", ::acosf, ::acos}, {"atan", ::atanf, ::atan}, {"sinh", ::sinhf, ::sinh},
    {"cosh", ::coshf, ::cosh}, {"asinh", ::asinhf, ::asinh}, {"acosh", ::acoshf, ::acosh},
    {"atanh", ::atanhf, ::atanh}, {"cbrt", ::cbrtf, ::cbrt},
};
constexpr OfTwo kBinary[] = {
    {"fmod", ::fmodf, ::fmod}, {"atan2", ::atan2f, ::atan2}, {"pow", ::powf, ::pow}, {"hypot", ::hypotf, ::hypot},
};
// clang-format on

void add_symbols(TCCState* s) {
  const auto add = [&](const char* name, const void* at) { tcc_add_symbol(s, name, at); };
  for (const auto& [name, narrow, wide] : kUnary) {
    add((std::string(name) + "f").c_str(), address(narrow));
    add(name, address(wide));
  }
  for (const auto& [name, narrow, wide] : kBinary) {
    add((std::string(name) + "f").c_str(), address(narrow));
    add(name, address(wide));
  }
  add("__builtin_fmaf", address<float(float, float, float)>(&::fmaf));
  add("__builtin_fma", address<double(double, double, double)>(&::fma));
  add("__floatundisf", address(&u64_to_float));
  add("__floatundidf", address(&u64_to_double));
  add("__fixunssfdi", address(&float_to_u64));
  add("__fixunsdfdi", address(&double_to_u64));
  add("__fixsfdi", address(&float_to_i64));
  add("__fixdfdi", address(&double_to_i64));
  add("memset", address(&std::memset));
  add("memcpy", address<void*(void*, const void*, std::size_t)>(&std::memcpy));
  add("memmove", address<void*(void*, const void*, std::size_t)>(&std::memmove));
}

TCCState* state(void* s) { return static_cast<TCCState*>(s); }

}  // namespace

CompiledC::CompiledC(const std::string& source) {
  const std::scoped_lock lock(compiling());
  TCCState* const s = tcc_new();
  if (s == nullptr) throw SystemError("libtcc is out of memory");
  std::string messages;
  tcc_set_error_func(s, &messages, [](void* to, const char* text) {
    *static_cast<std::string*>(to) += std::string(text) + "\n";
  });
  tcc_set_options(s, "-nostdlib -nostdinc -w");
  tcc_set_output_type(s, TCC_OUTPUT_MEMORY);
  add_symbols(s);
  if (tcc_compile_string(s, source.c_str()) != 0 || tcc_relocate(s, TCC_RELOCATE_AUTO) != 0) {
    tcc_delete(s);
    throw SystemError(fmt::format("libtcc rejects this:\n{}in\n{}", messages, source));
  }
  state_ = s;
}

CompiledC::~CompiledC() {
  const std::scoped_lock lock(compiling());
  tcc_delete(state(state_));
}

KernelFunction CompiledC::function(const std::string& symbol) const {
  const std::scoped_lock lock(compiling());
  void* const at = tcc_get_symbol(state(state_), symbol.c_str());
  if (at == nullptr) throw SystemError(fmt::format("libtcc produced no function {}", symbol));
  return reinterpret_cast<KernelFunction>(at);
}

}  // namespace touchstone::tcc

#else

namespace touchstone::tcc {

CompiledC::CompiledC(const std::string&) {
  throw SystemError(
      "this program was built without libtcc; install libtcc-dev, then configure and build again");
}
CompiledC::~CompiledC() = default;
KernelFunction CompiledC::function(const std::string& symbol) const {
  throw SystemError(fmt::format("there is no function {}", symbol));
}

}  // namespace touchstone::tcc

#endif
