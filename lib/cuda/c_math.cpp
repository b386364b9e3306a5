#include "touchstone/cuda/c_math.h"

#include <array>

#include "touchstone/codegen/c_preamble.h"

namespace touchstone::cuda {

namespace {

struct Own {
  std::string_view declared;  // in the preamble, under the C library's name
  std::string_view macro;     // for that name
  std::string_view text;
};

// As SIN of float32 in codegen/c_functions.cpp: only the bits of 1 / 2 pi below whole turns, here
// 192, so that more than 70 remain near a multiple of a quarter turn. Times 2 pi this is a sum of
// two doubles. The polynomials are Taylor's; the first omitted term is below 2^-64 of the result up
// to pi / 4.
constexpr std::string_view kSin = R"(static const u64 turns_f64[21] = {
    0ull,                  0x28be60db9391054aull, 0x7f09d5f47d4d3770ull, 0x36d8a5664f10e410ull,
    0x7f9458eaf7aef158ull, 0x6dc91b8e909374b8ull, 0x01924bba82746487ull, 0x3f877ac72c4a69cfull,
    0xba208d7d4baed121ull, 0x3a671c09ad17df90ull, 0x4e64758e60d4ce7dull, 0x272117e2ef7e4a0eull,
    0xc7fe25fff7816603ull, 0xfbcbc462d6829b47ull, 0xdb4d9fb3c9f2c26dull, 0xd3d18fd9a797fa8bull,
    0x5d49eeb1faf97c5eull, 0xcf41ce7de294a4baull, 0x9afed7ec47e35742ull, 0x1580cc11bf1edaeaull,
    0xfc33ef0826bd0d87ull};
static inline u64 upper_f64(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
static inline f64 sin_f64(f64 x) {
  u64 b = bits_f64(x) & 0x7fffffffffffffffull;
  if (b >= 0x7ff0000000000000ull) return x - x;
  u64 quarter = 0, below = 0;
  f64 z = f64_bits(b), rest = 0;
  if (b >= 0x3fe921fb54442d18ull) {
    u64 p = (b >> 52) - 1011, i = p >> 6, s = p & 63, m = (b & 0xfffffffffffffull) | 1ull << 52;
    u64 t0 = turns_f64[i], t1 = turns_f64[i + 1], t2 = turns_f64[i + 2], t3 = turns_f64[i + 3];
    u64 w0 = t0 << s | t1 >> 1 >> (63 - s), w1 = t1 << s | t2 >> 1 >> (63 - s);
    u64 w2 = t2 << s | t3 >> 1 >> (63 - s);
    u64 f2 = m * w2, f1 = m * w1, up = upper_f64(m, w2);
    f1 += up;
    u64 f0 = m * w0 + upper_f64(m, w1) + (f1 < up);
    quarter = (f0 + (1ull << 61)) >> 62;
    f0 -= quarter << 62;
    below = f0 >> 63;
    if (below) {
      f2 = 0 - f2;
      f1 = ~f1 + (f2 == 0);
      f0 = ~f0 + (f2 == 0 && f1 == 0);
    }
    u64 zeros = 0;
    if (f0 == 0) {
      f0 = f1;
      f1 = f2;
      f2 = 0;
      zeros = 64;
    }
    u64 n = (u64)__builtin_clzll(f0 | 1);
    f0 = f0 << n | f1 >> 1 >> (63 - n);
    f1 = f1 << n | f2 >> 1 >> (63 - n);
    zeros += n;
    u64 low = f0 * 0xc90fdaa22168c234ull, high = upper_f64(f0, 0xc90fdaa22168c234ull);
    u64 add = upper_f64(f0, 0xc4c6628b80dc1cd1ull);
    low += add;
    high += low < add;
    add = upper_f64(f1, 0xc90fdaa22168c234ull);
    low += add;
    high += low < add;
    f64 unit = f64_bits((962 - zeros) << 52);
    z = (f64)(high & ~0x7ffull) * unit;
    rest = (f64)((high & 0x7ffull) << 53 | low >> 11) * (unit * 0x1p-53);
  }
  f64 u = z * z, h = u * 0.5, w = 1 - h;
  f64 s = 0x1.952c77030ad4ap-49;
  s = s * u - 0x1.ae7f3e733b81fp-41;
  s = s * u + 0x1.6124613a86d09p-33;
  s = s * u - 0x1.ae64567f544e4p-26;
  s = s * u + 0x1.71de3a556c734p-19;
  s = s * u - 0x1.a01a01a01a01ap-13;
  s = s * u + 0x1.1111111111111p-7;
  s = s * u - 0x1.5555555555555p-3;
  f64 c = -0x1.6827863b97d97p-53;
  c = c * u + 0x1.ae7f3e733b81fp-45;
  c = c * u - 0x1.93974a8c07c9dp-37;
  c = c * u + 0x1.1eed8eff8d898p-29;
  c = c * u - 0x1.27e4fb7789f5cp-22;
  c = c * u + 0x1.a01a01a01a01ap-16;
  c = c * u - 0x1.6c16c16c16c17p-10;
  c = c * u + 0x1.5555555555555p-5;
  f64 sine = z + (rest * w + z * (u * s)), cosine = w + ((1 - w - h) + (u * u * c - z * rest));
  f64 y = quarter & 1 ? cosine : sine;
  u64 sign = (quarter >> 1 ^ (below & ~quarter)) << 63 ^ bits_f64(x);
  return f64_bits(bits_f64(y) ^ (sign & 0x8000000000000000ull));
}
)";

// x = a 2^i, y = b 2^j with integers a and b: reduces a 2^(i - j) modulo b, as many bits at a time
// as fit in 64, then multiplies by 2^j.
constexpr std::string_view kMod = R"(static inline f64 mod_f64(f64 x, f64 y) {
  u64 a = bits_f64(x) & 0x7fffffffffffffffull, b = bits_f64(y) & 0x7fffffffffffffffull;
  u64 sign = bits_f64(x) & 0x8000000000000000ull;
  if (b == 0 || a >= 0x7ff0000000000000ull || b > 0x7ff0000000000000ull)
    return f64_bits(0x7ff8000000000000ull);
  if (a < b) return x;
  i64 i = (i64)(a >> 52), j = (i64)(b >> 52);
  u64 m = (a & 0xfffffffffffffull) | (u64)(i > 0) << 52;
  u64 n = (b & 0xfffffffffffffull) | (u64)(j > 0) << 52;
  i = i > 0 ? i : 1;
  j = j > 0 ? j : 1;
  u64 r = m % n;
  for (i64 d = i - j; d > 0 && r != 0; d -= 11) r = (r << (d < 11 ? d : 11)) % n;
  f64 unit = f64_bits(j > 52 ? (u64)(j - 52) << 52 : 1ull << (j - 1));
  return f64_bits(bits_f64((f64)(i64)r * unit) | sign);
}
)";

constexpr std::string_view kModf = R"(static inline f32 mod_f32(f32 x, f32 y) {
  u32 a = bits_f32(x) & 0x7fffffffu, b = bits_f32(y) & 0x7fffffffu;
  u32 sign = bits_f32(x) & 0x80000000u;
  if (b == 0 || a >= 0x7f800000u || b > 0x7f800000u) return f32_bits(0x7fc00000u);
  if (a < b) return x;
  i32 i = (i32)(a >> 23), j = (i32)(b >> 23);
  u64 m = (a & 0x7fffffu) | (u32)(i > 0) << 23, n = (b & 0x7fffffu) | (u32)(j > 0) << 23;
  i = i > 0 ? i : 1;
  j = j > 0 ? j : 1;
  u64 r = m % n;
  for (i32 d = i - j; d > 0 && r != 0; d -= 40) r = (r << (d < 40 ? d : 40)) % n;
  f32 unit = f32_bits(j > 23 ? (u32)(j - 23) << 23 : 1u << (j - 1));
  return f32_bits(bits_f32((f32)(i32)r * unit) | sign);
}
)";

constexpr std::array<Own, 3> kOwn = {{
    {"double sin(double);\n", "#define sin sin_f64\nstatic double sin_f64(double);\n", kSin},
    {"double fmod(double, double);\n", "#define fmod mod_f64\n", kMod},
    {"float fmodf(float, float);\n", "#define fmodf mod_f32\n", kModf},
}};

}  // namespace

std::string preamble_without_libm(std::string_view functions) {
  // Helpers that our functions call are found by their calls.
  std::string text = codegen::c_preamble(functions), macros, own;
  for (const Own& f : kOwn) {
    const std::size_t at = text.find(f.declared);
    if (at == std::string::npos) continue;
    macros += f.macro;
    own += f.text;
  }
  if (own.empty()) return text;
  text = codegen::c_preamble(std::string(functions) + own);
  for (const Own& f : kOwn)
    if (const std::size_t at = text.find(f.declared); at != std::string::npos)
      text.erase(at, f.declared.size());
  return macros + text + own;
}

}  // namespace touchstone::cuda
