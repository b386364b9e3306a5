#include "touchstone/codegen/c_preamble.h"

#include <cctype>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include "touchstone/base/hash.h"
#include "touchstone/codegen/c_functions.h"
#include "touchstone/codegen/c_ops.h"

namespace touchstone::codegen {

namespace {

constexpr std::string_view kTypes =
    "typedef signed char i8;\ntypedef unsigned char u8;\n"
    "typedef short i16;\ntypedef unsigned short u16;\n"
    "typedef int i32;\ntypedef unsigned int u32;\n"
    "typedef long long i64;\ntypedef unsigned long long u64;\n"
    "typedef u8 f8e4m3;\ntypedef u8 f8e5m2;\n"
    "typedef u16 f16;\ntypedef u16 bf16;\n"
    "typedef float f32;\ntypedef double f64;\n";

// In OpenCL the functions of <math.h> are overloaded builtins.
constexpr std::string_view kOpenClTypes =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char i8;\ntypedef uchar u8;\ntypedef short i16;\ntypedef ushort u16;\n"
    "typedef int i32;\ntypedef uint u32;\ntypedef long i64;\ntypedef ulong u64;\n"
    "typedef u8 f8e4m3;\ntypedef u8 f8e5m2;\n"
    "typedef u16 f16;\ntypedef u16 bf16;\ntypedef float f32;\ntypedef double f64;\n"
    "#define _Bool bool\n#define __builtin_fmaf fma\n#define __builtin_fma fma\n";

struct Helper {
  std::string name;
  std::string text;
  bool libm = false;
};

// A helper may call earlier ones.
constexpr CFunction fixed_helpers[] = {
    {"note_fault",
     R"(static inline void note_fault(void* faults, i64 part, i64 number, i64 index, i64 size) {
  i64* least = (i64*)faults + 3 * part;
  if (number < 0 || number > least[0]) return;
  if (number == least[0] && (index > least[1] || (index == least[1] && size > least[2]))) return;
  least[0] = number;
  least[1] = index;
  least[2] = size;
}
)"},
    // Transposes a square of 4-byte elements.
    {"transpose_16",
     R"(static inline void transpose_16(void* to, i64 to_apart, const void* from, i64 from_apart) {
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if defined(__AVX512F__) && __has_builtin(__builtin_shufflevector)
#define pairs(x, y, i, k) __builtin_shufflevector(x, y, i, 16 + i, k, 16 + k, 4 + i, 20 + i, 4 + k, \
  20 + k, 8 + i, 24 + i, 8 + k, 24 + k, 12 + i, 28 + i, 12 + k, 28 + k)
#define fours(x, y, i) __builtin_shufflevector(x, y, i, 1 + i, 16 + i, 17 + i, 4 + i, 5 + i, 20 + i, \
  21 + i, 8 + i, 9 + i, 24 + i, 25 + i, 12 + i, 13 + i, 28 + i, 29 + i)
#define eights(x, y, i) __builtin_shufflevector(x, y, i, 1 + i, 2 + i, 3 + i, 8 + i, 9 + i, 10 + i, \
  11 + i, 16 + i, 17 + i, 18 + i, 19 + i, 24 + i, 25 + i, 26 + i, 27 + i)
  typedef u32 row __attribute__((vector_size(64)));
  typedef u32 some __attribute__((vector_size(64), aligned(4), may_alias));
  row a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = *(const some*)((const u32*)from + i * from_apart);
  for (int i = 0; i < 16; i += 2) {
    b[i] = pairs(a[i], a[i + 1], 0, 1);
    b[i + 1] = pairs(a[i], a[i + 1], 2, 3);
  }
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; ++k) {
      a[i + 2 * k] = fours(b[i + k], b[i + k + 2], 0);
      a[i + 2 * k + 1] = fours(b[i + k], b[i + k + 2], 2);
    }
  for (int i = 0; i < 16; i += 8)
    for (int k = 0; k < 4; ++k) {
      b[i + k] = eights(a[i + k], a[i + k + 4], 0);
      b[i + k + 4] = eights(a[i + k], a[i + k + 4], 4);
    }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 4; ++k) {
      a[i + k] = eights(b[i + k], b[i + k + 8], 0);
      a[i + k + 8] = eights(b[i + k], b[i + k + 8], 4);
    }
  for (int i = 0; i < 16; ++i) *(some*)((u32*)to + i * to_apart) = a[i];
#undef pairs
#undef fours
#undef eights
#elif defined(__AVX__) && __has_builtin(__builtin_shufflevector)
#define turn __builtin_shufflevector
  typedef u32 row __attribute__((vector_size(32)));
  typedef u32 some __attribute__((vector_size(32), aligned(4), may_alias));
  for (i64 p = 0; p < 16; p += 8)
    for (i64 q = 0; q < 16; q += 8) {
      row a[8], b[8];
      for (int i = 0; i < 8; ++i) a[i] = *(const some*)((const u32*)from + (p + i) * from_apart + q);
      for (int i = 0; i < 8; i += 2) {
        b[i] = turn(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = turn(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
      }
      for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
          a[i + 2 * k] = turn(b[i + k], b[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
          a[i + 2 * k + 1] = turn(b[i + k], b[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
      for (int k = 0; k < 4; ++k) {
        some* const at = (some*)((u32*)to + (q + k) * to_apart + p);
        *at = turn(a[k], a[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(some*)((u32*)at + 4 * to_apart) = turn(a[k], a[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
      }
    }
#undef turn
#else
  typedef u32 one __attribute__((may_alias));
  for (i64 i = 0; i < 16; ++i)
    for (i64 k = 0; k < 16; ++k) ((one*)to)[k * to_apart + i] = ((const one*)from)[i * from_apart + k];
#endif
}
)"},
    // Stores elements that are not read soon without fetching their cache lines.
    {"write_past_cache",
     R"(static inline void write_past_cache(void* to, const void* from, i64 bytes) {
#ifdef __clang__
  typedef u8 line __attribute__((vector_size(64)));
  typedef u8 some __attribute__((vector_size(64), aligned(1)));
  i64 head = -(i64)to & 63;
  if (head > bytes) head = bytes;
  __builtin_memcpy(to, from, head);
  for (; head + 64 <= bytes; head += 64)
    __builtin_nontemporal_store((line)*(const some*)((const u8*)from + head), (line*)((u8*)to + head));
  __builtin_memcpy((u8*)to + head, (const u8*)from + head, bytes - head);
#else
  __builtin_memcpy(to, from, bytes);
#endif
}
)"},
    {"order_past_cache",
     R"(static inline void order_past_cache(void) {
#if defined(__clang__) && defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}
)"},
    {"bits_f32",
     "static inline u32 bits_f32(f32 x) { union { f32 f; u32 u; } v = {x}; return v.u; }\n"},
    {"f32_bits",
     "static inline f32 f32_bits(u32 x) { union { u32 u; f32 f; } v = {x}; return v.f; }\n"},
    {"bits_f64",
     "static inline u64 bits_f64(f64 x) { union { f64 f; u64 u; } v = {x}; return v.u; }\n"},
    {"f64_bits",
     "static inline f64 f64_bits(u64 x) { union { u64 u; f64 f; } v = {x}; return v.f; }\n"},
    {"f16_to_f32",
     R"(static inline f32 f16_to_f32(f16 x) {
  u32 m = x & 0x7fffu;
  u32 finite = m >= 0x400u ? (m << 13) + (112u << 23) : bits_f32((f32)(i32)m * 0x1p-24f);
  return f32_bits((u32)(x & 0x8000u) << 16 | (m >= 0x7c00u ? 0x7f800000u | m << 13 : finite));
}
)"},
    {"bf16_to_f32", "static inline f32 bf16_to_f32(bf16 x) { return f32_bits((u32)x << 16); }\n"},
    {"f8e4m3_to_f32",
     R"(static inline f32 f8e4m3_to_f32(f8e4m3 x) {
  u32 m = x & 0x7fu;
  u32 finite = m >= 8u ? (m << 20) + (120u << 23) : bits_f32((f32)(i32)m * 0x1p-9f);
  return f32_bits((u32)(x & 0x80u) << 24 | (m == 0x7fu ? 0x7fc00000u : finite));
}
)"},
    {"f8e5m2_to_f32",
     "static inline f32 f8e5m2_to_f32(f8e5m2 x) { return f16_to_f32((f16)(x << 8)); }\n"},
    // Nearest, ties to even. Below the least normal number, adding a power of two whose last place
    // is the least subnormal does the rounding; above, an addition to the bits.
    {"f32_to_f16",
     R"(static inline f16 f32_to_f16(f32 x) {
  u32 b = bits_f32(x), m = b & 0x7fffffffu;
  u32 normal = (m - (112u << 23) + 0xfffu + (m >> 13 & 1u)) >> 13;
  u32 small = bits_f32(f32_bits(m) + 0.5f) - 0x3f000000u;
  u32 r = m >= 0x477ff000u ? 0x7c00u : m >= 0x38800000u ? normal : small;
  return (f16)((b >> 16 & 0x8000u) | (m > 0x7f800000u ? 0x7e00u : r));
}
)"},
    {"f32_to_bf16",
     R"(static inline bf16 f32_to_bf16(f32 x) {
  u32 b = bits_f32(x);
  u32 r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
  return (bf16)((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16 & 0x8000u) | 0x7fc0u : r);
}
)"},
    // From double in one step; via float it could round twice.
    {"f64_to_f16",
     R"(static inline f16 f64_to_f16(f64 x) {
  u64 b = bits_f64(x), m = b & 0x7fffffffffffffffull;
  u64 normal = (m - (1008ull << 52) + 0x1ffffffffffull + (m >> 42 & 1u)) >> 42;
  u64 small = bits_f64(f64_bits(m) + 0x1p+28) - 0x41b0000000000000ull;
  u64 r = m >= 0x40effe0000000000ull ? 0x7c00u : m >= 0x3f10000000000000ull ? normal : small;
  return (f16)((b >> 48 & 0x8000u) | (m > 0x7ff0000000000000ull ? 0x7e00u : r));
}
)"},
    {"f64_to_bf16",
     R"(static inline bf16 f64_to_bf16(f64 x) {
  u64 b = bits_f64(x), m = b & 0x7fffffffffffffffull;
  u64 normal = (m - (896ull << 52) + 0xfffffffffffull + (m >> 45 & 1u)) >> 45;
  u64 small = bits_f64(f64_bits(m) + 0x1p-81) - 0x3ae0000000000000ull;
  u64 r = m >= 0x47eff00000000000ull ? 0x7f80u : m >= 0x3810000000000000ull ? normal : small;
  return (bf16)((b >> 48 & 0x8000u) | (m > 0x7ff0000000000000ull ? 0x7fc0u : r));
}
)"},
    // Values too large, including infinity, saturate, since the type has no infinity.
    {"f32_to_f8e4m3",
     R"(static inline f8e4m3 f32_to_f8e4m3(f32 x) {
  u32 b = bits_f32(x), m = b & 0x7fffffffu;
  u32 normal = (m - (120u << 23) + 0x7ffffu + (m >> 20 & 1u)) >> 20;
  u32 small = bits_f32(f32_bits(m) + 0x1p+14f) - 0x46800000u;
  u32 r = m >= 0x43e00000u ? 0x7eu : m >= 0x3c800000u ? normal : small;
  return (f8e4m3)((b >> 24 & 0x80u) | (m > 0x7f800000u ? 0x7fu : r));
}
)"},
    {"f64_to_f8e4m3",
     R"(static inline f8e4m3 f64_to_f8e4m3(f64 x) {
  u64 b = bits_f64(x), m = b & 0x7fffffffffffffffull;
  u64 normal = (m - (1016ull << 52) + 0xffffffffffffull + (m >> 49 & 1u)) >> 49;
  u64 small = bits_f64(f64_bits(m) + 0x1p+43) - 0x42a0000000000000ull;
  u64 r = m >= 0x407c000000000000ull ? 0x7eu : m >= 0x3f90000000000000ull ? normal : small;
  return (f8e4m3)((b >> 56 & 0x80u) | (m > 0x7ff0000000000000ull ? 0x7fu : r));
}
)"},
    {"f32_to_f8e5m2",
     R"(static inline f8e5m2 f32_to_f8e5m2(f32 x) {
  u32 b = bits_f32(x), m = b & 0x7fffffffu;
  u32 normal = (m - (112u << 23) + 0xfffffu + (m >> 21 & 1u)) >> 21;
  u32 small = bits_f32(f32_bits(m) + 0x1p+7f) - 0x43000000u;
  u32 r = m >= 0x47700000u ? 0x7cu : m >= 0x38800000u ? normal : small;
  return (f8e5m2)((b >> 24 & 0x80u) | (m > 0x7f800000u ? 0x7eu : r));
}
)"},
    {"f64_to_f8e5m2",
     R"(static inline f8e5m2 f64_to_f8e5m2(f64 x) {
  u64 b = bits_f64(x), m = b & 0x7fffffffffffffffull;
  u64 normal = (m - (1008ull << 52) + 0x1ffffffffffffull + (m >> 50 & 1u)) >> 50;
  u64 small = bits_f64(f64_bits(m) + 0x1p+36) - 0x4230000000000000ull;
  u64 r = m >= 0x40ee000000000000ull ? 0x7cu : m >= 0x3f10000000000000ull ? normal : small;
  return (f8e5m2)((b >> 56 & 0x80u) | (m > 0x7ff0000000000000ull ? 0x7eu : r));
}
)"},
    // Folds bits beyond the 53 of a double into its last one, so that only the second step rounds.
    {"u64_to_bf16",
     R"(static inline bf16 u64_to_bf16(u64 x) {
  u64 odd = (x >> 11 | ((x & 0x7ffu) != 0)) << 11;
  return f64_to_bf16((f64)(x >> 53 ? odd : x));
}
)"},
    {"i64_to_bf16",
     R"(static inline bf16 i64_to_bf16(i64 x) {
  bf16 magnitude = u64_to_bf16(x < 0 ? 0 - (u64)x : (u64)x);
  return (bf16)(magnitude | (x < 0 ? 0x8000u : 0));
}
)"},
    // NaN if either is; of two zeros +0 if either is.
    {"max_f32",
     R"(static inline f32 max_f32(f32 a, f32 b) {
  f32 same = f32_bits(bits_f32(a) & bits_f32(b)), most = a > b ? a : b;
  return a == a ? a == b ? same : most : a;
}
)"},
    {"max_f64",
     R"(static inline f64 max_f64(f64 a, f64 b) {
  f64 same = f64_bits(bits_f64(a) & bits_f64(b)), most = a > b ? a : b;
  return a == a ? a == b ? same : most : a;
}
)"},
    // max_f32 and max_f64 for vectors.
    {"max_lanes",
     R"(#define max_lanes(a, b) __extension__({ \
  const __typeof__(a) a_ = a; \
  const __typeof__(b) b_ = b; \
  typedef __typeof__(a_ == b_) bits_; \
  const bits_ x_ = (bits_)a_, y_ = (bits_)b_, more_ = a_ > b_, same_ = a_ == b_, none_ = a_ != a_, \
              most_ = ((more_ & x_) | (~more_ & y_)) & (x_ | ~same_); \
  (__typeof__(a))((none_ & x_) | (~none_ & most_)); })
)"},
    // Every second of 2n - 1 elements as a vector, shuffled from a vector of the first n and one of
    // the last n elements.
    {"every_second",
     R"(#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_shufflevector)
#define every_second(type, n, from, ...) \
  __builtin_shufflevector(*(const type*)(from), *(const type*)((from) + n - 1), __VA_ARGS__)
#else
#define every_second(type, n, from, ...) __extension__({ \
  type each_; \
  for (int l_ = 0; l_ < n; ++l_) each_[l_] = (from)[2 * l_]; \
  each_; })
#endif
)"},
    {"fused_f32",
     "static inline f32 fused_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }\n"},
    {"fused_f64",
     "static inline f64 fused_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }\n"},
    // For vectors of n elements, calls `one` per element if there is no vector builtin.
    {"fused_lanes",
     R"(#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_elementwise_fma)
#define fused_lanes(type, n, one, a, b, c) __builtin_elementwise_fma(a, b, c)
#else
#define fused_lanes(type, n, one, a, b, c) __extension__({ \
  const type a_ = a, b_ = b; \
  type c_ = c; \
  for (int l_ = 0; l_ < n; ++l_) c_[l_] = one(a_[l_], b_[l_], c_[l_]); \
  c_; })
#endif
)"},
    {"min_i64", "static inline i64 min_i64(i64 a, i64 b) { return a < b ? a : b; }\n"},
    {"floor_div",
     R"(static inline i64 floor_div(i64 a, i64 b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {"floor_mod",
     R"(static inline i64 floor_mod(i64 a, i64 b) {
  i64 r = b == 0 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    // Not inlined: loops with its quotients in their bounds take a third of the compile time.
    {"split_at",
     R"(static __attribute__((noinline)) i64 split_at(i64 n, i64 part, i64 parts) {
  return n / parts * part + (part < n % parts ? part : n % parts);
}
)"},
};

constexpr std::string_view libm_functions[] = {"exp2", "log2",  "sin",   "sqrt",  "exp",  "expm1",
                                               "log",  "log10", "log1p", "tanh",  "erf",  "erfc",
                                               "cos",  "tan",   "asin",  "acos",  "atan", "sinh",
                                               "cosh", "asinh", "acosh", "atanh", "cbrt", "lgamma"};

std::string replaced(std::string_view text, char letter, std::string_view by) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == letter) {
      out += by;
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Division by zero gives 0 and the least value over -1 wraps: neither may trap.
void add_integer_helpers(DType d, std::vector<Helper>& helpers) {
  const std::string t(c_type(d));
  const bool is_signed = info(d).kind == DTypeKind::Signed;
  const auto add = [&](const std::string& name, std::string_view body) {
    helpers.push_back({name,
                       "static inline " + t + " " + name + "(" + t + " a, " + t + " b) { return " +
                           replaced(body, 't', t) + "; }\n",
                       false});
  };
  add("max_" + t, "a > b ? a : b");
  const std::string minus = d == DType::Int64 ? "($t)(0 - (u64)a)" : "($t)(0 - (u32)a)";
  add("div_" + t, is_signed ? "b == 0 ? 0 : b == -1 ? " + minus + " : ($t)(a / b)"
                            : "b == 0 ? 0 : ($t)(a / b)");
  add("mod_" + t, is_signed ? "b == 0 || b == -1 ? 0 : ($t)(a % b)" : "b == 0 ? 0 : ($t)(a % b)");
}

// Truncates, saturates, NaN to 0: explicit, so that a loop's vector body and tail agree.
void add_float_to_integer(DType from, DType to, std::vector<Helper>& helpers) {
  const std::string f(c_type(from)), t(c_type(to));
  const int digits = info(to).digits;
  const bool is_signed = info(to).kind == DTypeKind::Signed;
  const std::string suffix = from == DType::Float32 ? "f" : "";
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - digits);
  const std::string most_text = fmt::format("{}ull", most);
  const std::string low =
      is_signed ? fmt::format("x <= -0x1p+{}{} ? ({})(0 - {} - 1)", digits, suffix, t, most_text)
                : std::string("x <= 0 ? 0");
  const std::string name = f + "_to_" + t;
  helpers.push_back(
      {name,
       fmt::format("static inline {} {}({} x) {{\n  return x >= 0x1p+{}{} ? ({}){} : {} : "
                   "x == x ? ({})x : 0;\n}}\n",
                   t, name, f, digits, suffix, t, most_text, low, t),
       false});
}

std::vector<Helper> make_helpers() {
  std::vector<Helper> helpers;
  for (const std::string_view f : libm_functions) {
    helpers.push_back({fmt::format("{}f", f), fmt::format("float {}f(float);\n", f), true});
    helpers.push_back({std::string(f), fmt::format("double {}(double);\n", f), true});
  }
  for (const std::string_view f : {"fmod", "atan2", "pow", "hypot"}) {
    helpers.push_back({fmt::format("{}f", f), fmt::format("float {}f(float, float);\n", f), true});
    helpers.push_back({std::string(f), fmt::format("double {}(double, double);\n", f), true});
  }
  for (const auto list : {std::span<const CFunction>(fixed_helpers), c_functions()})
    for (const CFunction& h : list)
      helpers.push_back({std::string(h.name), std::string(h.text), false});
  for (const DTypeInfo& row : dtype_table) {
    if (!is_integer(row.dtype)) continue;
    add_integer_helpers(row.dtype, helpers);
    add_float_to_integer(DType::Float32, row.dtype, helpers);
    add_float_to_integer(DType::Float64, row.dtype, helpers);
  }
  return helpers;
}

constexpr bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Adds the names called in a text; they are all helpers. Names point into the text.
void add_called(std::string_view text, std::unordered_set<std::string_view>& names) {
  for (std::size_t end = text.find('('); end < text.size(); end = text.find('(', end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    if (begin < end) names.insert(text.substr(begin, end - begin));
  }
}

const std::vector<Helper>& all_helpers() {
  static const std::vector<Helper> helpers = make_helpers();
  return helpers;
}

std::string helpers_for(std::string_view functions, bool with_libm) {
  const std::vector<Helper>& helpers = all_helpers();
  std::unordered_set<std::string_view> wanted;
  add_called(functions, wanted);
  std::string text;
  for (auto h = helpers.rbegin(); h != helpers.rend(); ++h) {
    if (!wanted.contains(h->name)) continue;
    add_called(h->text, wanted);
    if (with_libm || !h->libm)
      text.insert(0, h->text);
    else if (h->text.starts_with("float"))
      text.insert(0, "#define " + h->name + " " + h->name.substr(0, h->name.size() - 1) + "\n");
  }
  return text;
}

}  // namespace

std::string c_preamble(std::string_view functions) {
  return std::string(kTypes) + helpers_for(functions, true);
}

const std::string& c_preamble_identity() {
  static const std::string identity = [] {
    std::string all(kTypes);
    for (const Helper& h : all_helpers()) all += h.text;
    return content_hash(all);
  }();
  return identity;
}

std::string opencl_preamble(std::string_view functions) {
  return std::string(kOpenClTypes) + helpers_for(functions, false);
}

std::string opencl_literals(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_name(text[end])) ++end;
    std::string_view word = text.substr(i, end - i);
    if (word.ends_with("ull") && std::isdigit(static_cast<unsigned char>(word[0])))
      word.remove_suffix(1);
    out += word;
    if (end < text.size()) out += text[end];
    i = end + 1;
  }
  return out;
}

}  // namespace touchstone::codegen
