#include "touchstone/codegen/c_functions.h"

#include <array>

namespace touchstone::codegen {

namespace {

// Constants are minimax fits by Sollya's fpminimax and remez. Contraction is off; muladd_* are
// fused if FUSES_PRODUCTS is defined, and no other step relies on fusion.
constexpr CFunction own_functions[] = {
    {"muladd_f32",
     R"(static inline f32 muladd_f32(f32 a, f32 b, f32 c) {
#ifdef FUSES_PRODUCTS
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
)"},
    {"muladd_f64",
     R"(static inline f64 muladd_f64(f64 a, f64 b, f64 c) {
#ifdef FUSES_PRODUCTS
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
)"},
    // 2^x = 2^n 2^r, where n is x rounded to an integer by adding a constant that leaves no bits
    // for a fraction. Without fused products 2^r = 1 + 0.6875 r + r q(r), where the rounding error
    // of the first addition is added back. n is added to the exponent; below the normal range with
    // 64 more, divided out by a product. Results of 2^128 or more, and NaN, are x * 2^127.
    {"exp2_f32",
     R"(static inline f32 exp2_f32(f32 x) {
  f32 a = x < -151.0f ? -151.0f : x;
  f32 t = a + 0x1.8p+23f, r = a - (t - 0x1.8p+23f);
  f32 q = 0x1.427918p-13f;
  q = muladd_f32(q, r, 0x1.5ef4a2p-10f);
  q = muladd_f32(q, r, 0x1.3b2c58p-7f);
  q = muladd_f32(q, r, 0x1.c6af9ep-5f);
  q = muladd_f32(q, r, 0x1.ebfbdep-3f);
#ifdef FUSES_PRODUCTS
  f32 y = muladd_f32(muladd_f32(q, r, 0x1.62e43p-1f), r, 1);
#else
  f32 p = r * 0.6875f, s = 1 + p;
  f32 y = s + ((q * r + 0x1.7218p-8f) * r + (p - (s - 1)));
#endif
  u32 tiny = x < -125, n = (bits_f32(t) << 23) + (tiny ? 64u << 23 : 0);
  f32 z = f32_bits(bits_f32(y) + n);
  z = tiny ? z * 0x1p-64f : z;
  return x < 128 ? z : x * 0x1p+127f;
}
)"},
    {"exp2_f64",
     R"(static inline f64 exp2_f64(f64 x) {
  f64 a = x < -1076 ? -1076 : x > 1025 ? 1025 : x;
  f64 t = a + 0x1.8p+52, r = a - (t - 0x1.8p+52);
  f64 q = 0x1.e0fcb4f3866bep-36;
  q = q * r + 0x1.ec5e95af6d055p-32;
  q = q * r + 0x1.e4bb7f222dc58p-28;
  q = q * r + 0x1.b5233dce62411p-24;
  q = q * r + 0x1.62c0272e79206p-20;
  q = q * r + 0x1.ffcbfd443c0fcp-17;
  q = q * r + 0x1.430912f75554fp-13;
  q = q * r + 0x1.5d87fe7875275p-10;
  q = q * r + 0x1.3b2ab6fba51a1p-7;
  q = q * r + 0x1.c6b08d704a1d1p-5;
  q = q * r + 0x1.ebfbdff82c58ep-3;
  q = q * r + 0x1.7217f7d1cf79bp-8;
  f64 p = r * 0.6875, s = 1 + p;
  i64 n = (i64)(bits_f64(t) - 0x4338000000000000ull), h = n >> 1;
  f64 y = s + (p - (s - 1) + r * q);
  u64 rest = n < -1075 ? 0 : (u64)(n - h + 1023) << 52;
  return y * f64_bits((u64)(h + 1023) << 52) * f64_bits(rest);
}
)"},
    // log2 x = k + log2 m with m in [2/3, 4/3) and f = m - 1: log2 m = 1.5 f + f q(f). The odd
    // function of f / (f + 2) would save terms but needs a slower division. The rounding errors of
    // 1.5 f and k are added back.
    {"log2_f32",
     R"(static inline f32 log2_f32(f32 x) {
  f32 y = x < 0x1p-126f ? x * 0x1p+24f : x, inf = f32_bits(0x7f800000u);
  u32 b = bits_f32(y) - 0x3f2aaaabu;
  f32 k = (f32)(((i32)b >> 23) - (x < 0x1p-126f ? 24 : 0));
  f32 f = f32_bits((b & 0x7fffffu) + 0x3f2aaaabu) - 1;
  f32 q = -0x1.8a346ap-3f;
  q = muladd_f32(q, f, 0x1.a0bd08p-3f);
  q = muladd_f32(q, f, -0x1.649328p-3f);
  q = muladd_f32(q, f, 0x1.9cf444p-3f);
  q = muladd_f32(q, f, -0x1.ed25d4p-3f);
  q = muladd_f32(q, f, 0x1.27a71ap-2f);
  q = muladd_f32(q, f, -0x1.71526ep-2f);
  q = muladd_f32(q, f, 0x1.ec6fe6p-2f);
  q = muladd_f32(q, f, -0x1.715478p-1f);
  q = muladd_f32(q, f, -0x1.d5712ep-5f);
  f32 h = f * 1.5f, e = f * 0.5f - (h - f), s = k + h;
  f32 l = s + (h - (s - k) + muladd_f32(f, q, e));
  return x > 0 ? x < inf ? l : x : x == 0 ? -inf : x < 0 ? f32_bits(0x7fc00000u) : x;
}
)"},
    // An odd function of s = f / (f + 2). s is sh + sl, 2 / ln 2 likewise; the rounding error of k
    // plus the first part of their product is kept.
    {"log2_f64",
     R"(static inline f64 log2_f64(f64 x) {
  f64 y = x < 0x1p-1022 ? x * 0x1p+54 : x, inf = f64_bits(0x7ff0000000000000ull);
  u64 b = bits_f64(y) - 0x3fe6a09e667f3bcdull;
  f64 k = (f64)(i32)((i64)b >> 52) - (x < 0x1p-1022 ? 54 : 0);
  f64 f = f64_bits((b & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1;
  f64 d = f + 2, dh = f64_bits(bits_f64(d) & ~0x7ffffffull), dl = f - (dh - 2);
  f64 s = f / d, sh = f64_bits(bits_f64(s) & ~0x7ffffffull);
  f64 sl = (f - sh * dh - sh * dl) / d, u = s * s;
  f64 q = -0x1.6aa4344da11f7p-3;
  q = q * u + 0x1.b2986845bfd6dp-3;
  q = q * u + 0x1.856ca78019a8p-3;
  q = q * u + 0x1.c6af2c4a6bcefp-3;
  q = q * u + 0x1.0c9a44ffec257p-2;
  q = q * u + 0x1.484b1467b958dp-2;
  q = q * u + 0x1.a61762a7013bbp-2;
  q = q * u + 0x1.2776c50ef9ee6p-1;
  q = q * u + 0x1.ec709dc3a03fdp-1;
  f64 p = sh * 0x1.7154768p1, t = k + p;
  f64 rest = sl * 0x1.7154768p1 - s * 0x1.6a3e80f444178p-26 + s * u * q;
  f64 l = t + (k - t + p + rest);
  return x > 0 ? x < inf ? l : x : x == 0 ? -inf : x < 0 ? f64_bits(0x7ff8000000000000ull) : x;
}
)"},
    // The sine, except for its sign, of z in [-pi/4, pi/4] plus so many quarter turns.
    {"quarter_sine",
     R"(static inline f64 quarter_sine(f64 z, u32 quarter) {
  f64 u = z * z;
  f64 s = 0x1.6cccbdddccf09p-19;
  s = muladd_f64(s, u, -0x1.a00f65ceb9b0fp-13);
  s = muladd_f64(s, u, 0x1.11110843ff13bp-7);
  s = muladd_f64(s, u, -0x1.5555554c2bb98p-3);
  f64 c = -0x1.23c5ec54a796p-22;
  c = muladd_f64(c, u, 0x1.a00ea394ecf5fp-16);
  c = muladd_f64(c, u, -0x1.6c16b318876aep-10);
  c = muladd_f64(c, u, 0x1.555555456f1c1p-5);
  c = muladd_f64(c, u, -0x1.ffffffffe8beap-2);
  return quarter & 1 ? muladd_f64(u, c, 1) : muladd_f64(z * u, s, z);
}
)"},
    // The sine for |x| <= 2^13. z - e is x minus n half turns, subtracted in four parts: the first
    // multiple of n is rounded in a difference that has room for it, the second is exact (Cody and
    // Waite). The sine is z (v + l), v = 1 - 5/32 z^2 rounded. Zeros keep their sign.
    {"fused_sin_f32",
     R"(#ifdef FUSES_PRODUCTS
static inline f32 fused_sin_f32(f32 x) {
  f32 t = muladd_f32(x, 0x1.45f306p-2f, 0x1.8p+23f), n = t - 0x1.8p+23f;
  f32 a = muladd_f32(n, -0x1.921fb4p+1f, x), z = muladd_f32(n, -0x1.444p-23f, a);
  f32 e = muladd_f32(n, 0x1.444p-23f, z - a);
  e = muladd_f32(n, 0x1.68c234p-38f, e);
  e = muladd_f32(n, 0x1.898cc6p-63f, e);
  f32 u = z * z, rest = muladd_f32(z + z, -e, muladd_f32(z, z, -u));
  f32 p = 0x1.5e5e3ap-19f;
  p = muladd_f32(p, u, -0x1.9f7a2ap-13f);
  p = muladd_f32(p, u, 0x1.110efep-7f);
  p = muladd_f32(p, u, -0x1.5554c2p-7f);
  f32 v = muladd_f32(u, -0.15625f, 1);
  f32 l = muladd_f32(u, p, muladd_f32(u, -0.15625f, 1 - v));
  l = muladd_f32(rest, -0.15f, l);
  f32 y = muladd_f32(z, v, muladd_f32(-e, v, z * l));
  return f32_bits(bits_f32(y) ^ bits_f32(t) << 31);
}
#endif
)"},
    // |x| = m 2^e with an integer m. The bits of m 2^e / 2 pi for whole turns are not needed: 96
    // bits of 1 / 2 pi from the first relevant place give the fraction of a turn to 64 bits (Payne
    // and Hanek, SIGNUM Newsletter 18, 1983).
    {"less_quarters",
     R"(static const u32 turns[9] = {0x28u,       0xbe60db93u, 0x91054a7fu, 0x09d5f47du, 0x4d377036u,
                             0xd8a5664fu, 0x10e4107fu, 0x9458eaf7u, 0xaef1586du};
static inline f64 less_quarters(f32 x, u32* quarter) {
  u32 b = bits_f32(x) & 0x7fffffffu;
  u32 e = b < 0x3f000000u || b >= 0x7f800000u ? 0 : (b >> 23) - 126, i = e >> 5;
  u64 t0 = turns[i], t1 = turns[i + 1], t2 = turns[i + 2], t3 = turns[i + 3];
  u64 w0 = (t0 << 32 | t1) << (e & 31) >> 32, w1 = (t1 << 32 | t2) << (e & 31) >> 32;
  u64 w2 = (t2 << 32 | t3) << (e & 31) >> 32, m = (b & 0x7fffffu) | 0x800000u;
  u64 turn = (m * w0 << 32) + m * w1 + (m * w2 >> 32);
  f64 far = (f64)(i64)(turn << 2) * 0x1.921fb54442d18p-64;
  u32 small = b < 0x3f490fdbu;
  *quarter = small ? 0 : (u32)((turn + (1ull << 61)) >> 62);
  return small ? f32_bits(b) : far;
}
)"},
    {"sin_f32",
     R"(static inline f32 sin_f32(f32 x) {
  u32 quarter;
  f64 z = less_quarters(x, &quarter);
  u32 b = bits_f32(x) & 0x7fffffffu, sign = quarter << 30 ^ bits_f32(x);
  f32 y = f32_bits(bits_f32((f32)quarter_sine(z, quarter)) ^ (sign & 0x80000000u));
#ifdef FUSES_PRODUCTS
  y = b <= 0x46000000u ? fused_sin_f32(x) : y;
#endif
  return b < 0x7f800000u ? y : x - x;
}
)"},
    {"cos_f32",
     R"(static inline f32 cos_f32(f32 x) {
  u32 quarter;
  f64 z = less_quarters(x, &quarter);
  f32 y = (f32)quarter_sine(z, quarter + 1);
  y = f32_bits(bits_f32(y) ^ ((quarter + 1) << 30 & 0x80000000u));
  return (bits_f32(x) & 0x7fffffffu) < 0x7f800000u ? y : x - x;
}
)"},
    {"tan_f32",
     R"(static inline f32 tan_f32(f32 x) {
  u32 quarter;
  f64 z = less_quarters(x, &quarter);
  f64 s = quarter_sine(z, quarter), c = quarter_sine(z, quarter + 1);
  f32 y = (f32)(s / c);
  y = f32_bits(bits_f32(y) ^ ((quarter << 31 ^ bits_f32(x)) & 0x80000000u));
  return (bits_f32(x) & 0x7fffffffu) < 0x7f800000u ? y : x - x;
}
)"},
    // e^x = 2^n e^r; r is h - l. As in exp2_f32, what 1 + r loses is added back.
    {"exp_f32",
     R"(static inline f32 exp_f32(f32 x) {
  f32 a = x < -104.0f ? -104.0f : x;
  f32 t = muladd_f32(a, 0x1.715476p+0f, 0x1.8p+23f), n = t - 0x1.8p+23f;
  f32 h = a - n * 0x1.62e4p-1f, l = n * 0x1.7f7d1cp-20f, r = h - l;
  f32 q = 0x1.9df7b6p-13f;
  q = muladd_f32(q, r, 0x1.6d4cdp-10f);
  q = muladd_f32(q, r, 0x1.11131p-7f);
  q = muladd_f32(q, r, 0x1.5554e8p-5f);
  q = muladd_f32(q, r, 0x1.555554p-3f);
  q = muladd_f32(q, r, 0.5f);
  f32 s = 1 + r, y = s + muladd_f32(r * r, q, (r - (s - 1)) + (h - r - l));
  u32 tiny = x < -86, k = (bits_f32(t) << 23) + (tiny ? 64u << 23 : 0);
  f32 z = f32_bits(bits_f32(y) + k);
  z = tiny ? z * 0x1p-64f : z;
  return x < 0x1.62e430p+6f ? z : x * 0x1p+127f;
}
)"},
    // k ln 2 + log(1 + f), with k and f as in log2_f32.
    {"log_f32",
     R"(static inline f32 log_f32(f32 x) {
  f32 y = x < 0x1p-126f ? x * 0x1p+24f : x, inf = f32_bits(0x7f800000u);
  u32 b = bits_f32(y) - 0x3f2aaaabu;
  f32 k = (f32)(((i32)b >> 23) - (x < 0x1p-126f ? 24 : 0));
  f32 f = f32_bits((b & 0x7fffffu) + 0x3f2aaaabu) - 1;
  f32 q = 0x1.f8476ep-4f;
  q = muladd_f32(q, f, -0x1.06ac2ep-3f);
  q = muladd_f32(q, f, 0x1.b54e02p-4f);
  q = muladd_f32(q, f, -0x1.f3ba8p-4f);
  q = muladd_f32(q, f, 0x1.25175cp-3f);
  q = muladd_f32(q, f, -0x1.55972ep-3f);
  q = muladd_f32(q, f, 0x1.999668p-3f);
  q = muladd_f32(q, f, -0x1.ffff1ap-3f);
  q = muladd_f32(q, f, 0x1.555558p-2f);
  q = muladd_f32(q, f, -0.5f);
  f32 h = k * 0x1.62e4p-1f, s = h + f;
  f32 l = s + ((h - s + f) + muladd_f32(f * f, q, k * 0x1.7f7d1cp-20f));
  return x > 0 ? x < inf ? l : x : x == 0 ? -inf : x < 0 ? f32_bits(0x7fc00000u) : x;
}
)"},
    // From e^-|x|; what 1 + e loses changes the quotient by its own multiple.
    {"sigmoid_f32",
     R"(static inline f32 sigmoid_f32(f32 x) {
  f32 e = exp_f32(f32_bits(bits_f32(x) | 0x80000000u));
  f32 d = 1 + e, y = (x < 0 ? e : x == x ? 1 : x) / d;
  return y - y * (e - (d - 1)) * (x < 0 ? 1 - y : y);
}
)"},
    // x + x^3 q(x^2), or 1 - 2 / (e^2x + 1).
    {"tanh_f32",
     R"(static inline f32 tanh_f32(f32 x) {
  f32 a = f32_bits(bits_f32(x) & 0x7fffffffu), u = a * a;
  f32 q = 0x1.17b1e6p-9f;
  q = muladd_f32(q, u, -0x1.0bcf8cp-7f);
  q = muladd_f32(q, u, 0x1.638e78p-6f);
  q = muladd_f32(q, u, -0x1.b9f00ep-5f);
  q = muladd_f32(q, u, 0x1.111076p-3f);
  q = muladd_f32(q, u, -0x1.555554p-2f);
  f32 y = a < 0.6f ? muladd_f32(a * u, q, a) : 1 - 2 / (exp_f32(a + a) + 1);
  return f32_bits(bits_f32(y) | (bits_f32(x) & 0x80000000u));
}
)"},
    // x + x q(x^2), or 1 - e^p(x) with p near log(erfc(x)).
    {"erf_f32",
     R"(static inline f32 erf_f32(f32 x) {
  f32 a = f32_bits(bits_f32(x) & 0x7fffffffu), u = a * a;
  f32 q = 0x1.4e2be8p-14f;
  q = muladd_f32(q, u, -0x1.a5b524p-11f);
  q = muladd_f32(q, u, 0x1.54421p-8f);
  q = muladd_f32(q, u, -0x1.b8007cp-6f);
  q = muladd_f32(q, u, 0x1.ce2d6p-4f);
  q = muladd_f32(q, u, -0x1.81274p-2f);
  q = muladd_f32(q, u, 0x1.06eba8p-3f);
  f32 p = -0x1.662b4ep-21f;
  p = muladd_f32(p, a, -0x1.9c28fcp-17f);
  p = muladd_f32(p, a, 0x1.93423ap-12f);
  p = muladd_f32(p, a, -0x1.06fd48p-8f);
  p = muladd_f32(p, a, 0x1.968588p-6f);
  p = muladd_f32(p, a, -0x1.b9fac4p-4f);
  p = muladd_f32(p, a, -0x1.446ad4p-1f);
  p = muladd_f32(p, a, -0x1.21202ap+0f);
  p = muladd_f32(p, a, 0x1.41ac6cp-13f);
  f32 y = a < 0.92f ? muladd_f32(a, q, a) : 1 - exp_f32(a < 3.95f ? p : a == a ? -100 : a);
  return f32_bits(bits_f32(y) | (bits_f32(x) & 0x80000000u));
}
)"},
    // A double with an error of at most 0.72 ULP, rounded: correct except for two arguments.
    {"nearest_exp2_f32",
     R"(static inline f32 nearest_exp2_f32(f32 x) {
  f32 y = (f32)exp2_f64(x);
  return x == 0x1.853a6ep-9f ? 0x1.00870ap+0f : x == -0x1.e7526ep-6f ? 0x1.f58d62p-1f : y;
}
)"},
    {"nearest_log2_f32",
     "static inline f32 nearest_log2_f32(f32 x) { return (f32)log2_f64(x); }\n"},
    {"nearest_sin_f32", "static inline f32 nearest_sin_f32(f32 x) { return (f32)sin((f64)x); }\n"},
    {"fast_exp2_f32",
     R"(static inline f32 fast_exp2_f32(f32 x) {
  f32 a = x < -126 ? -126 : x > 128 ? 128 : x;
  f32 t = a + 0x1.8p+23f, r = a - (t - 0x1.8p+23f);
  f32 q = 0x1.5d413ap-10f;
  q = muladd_f32(q, r, 0x1.3cbe66p-7f);
  q = muladd_f32(q, r, 0x1.c6b31ep-5f);
  q = muladd_f32(q, r, 0x1.ebfa4ep-3f);
  q = muladd_f32(q, r, 0x1.62e42ep-1f);
  f32 y = f32_bits(bits_f32(1 + r * q) + (bits_f32(t) << 23));
  return x < -126 ? 0 : x == x ? y : x;
}
)"},
    {"fast_log2_f32",
     R"(static inline f32 fast_log2_f32(f32 x) {
  f32 y = x < 0x1p-126f ? x * 0x1p+24f : x, inf = f32_bits(0x7f800000u);
  u32 b = bits_f32(y) - 0x3f3504f3u;
  i32 k = ((i32)b >> 23) - (x < 0x1p-126f ? 24 : 0);
  f32 f = f32_bits((b & 0x7fffffu) + 0x3f3504f3u) - 1;
  f32 s = f / (f + 2), u = s * s;
  f32 q = 0x1.c7913p-2f;
  q = muladd_f32(q, u, 0x1.26ee5cp-1f);
  q = muladd_f32(q, u, 0x1.ec7234p-1f);
  q = muladd_f32(q, u, 0x1.715476p+1f);
  f32 l = (f32)k + s * q;
  return x > 0 ? x < inf ? l : x : x == 0 ? -inf : x < 0 ? f32_bits(0x7fc00000u) : x;
}
)"},
    // Without fused products, pi / 2 in two parts, the first of which can be multiplied exactly by
    // 24 bits: the same bits as sin_f32 for |x| < 2^22.
    {"fast_sin_f32",
     R"(static inline f32 fast_sin_f32(f32 x) {
#ifdef FUSES_PRODUCTS
  f32 t = muladd_f32(x, 0x1.45f306p-2f, 0x1.8p+23f), n = t - 0x1.8p+23f;
  f32 z = muladd_f32(n, -0x1.921fb4p+1f, x);
  z = muladd_f32(n, -0x1.444p-23f, z);
  z = muladd_f32(n, -0x1.68c234p-38f, z);
  f32 u = z * z, p = 0x1.616a2p-19f;
  p = muladd_f32(p, u, -0x1.9fb2bap-13f);
  p = muladd_f32(p, u, 0x1.11103ap-7f);
  p = muladd_f32(p, u, -0x1.555554p-3f);
  return f32_bits(bits_f32(z * muladd_f32(u, p, 1)) ^ bits_f32(t) << 31);
#else
  f64 a = f32_bits(bits_f32(x) & 0x7fffffffu);
  f64 t = muladd_f64(a, 0x1.45f306dc9c883p-1, 0x1.8p+52), n = 0x1.8p+52 - t;
  f64 z = muladd_f64(n, 0x1.110b4611a6263p-26, muladd_f64(n, 0x1.921fb5p+0, a));
  u32 quarter = (u32)bits_f64(t), sign = quarter << 30 ^ bits_f32(x);
  f64 y = quarter_sine(z, quarter);
  return f32_bits(bits_f32((f32)y) ^ (sign & 0x80000000u));
#endif
}
)"},
    // Sets `far` where the result differs from sin_f32.
    {"near_sin_f32",
     R"(static inline f32 near_sin_f32(f32 x, u32* far) {
#ifdef FUSES_PRODUCTS
  *far |= (bits_f32(x) & 0x7fffffffu) > 0x46000000u;
  return fused_sin_f32(x);
#else
  *far |= (bits_f32(x) & 0x7fffffffu) >= 0x4a800000u;
  return fast_sin_f32(x);
#endif
}
)"},
};

// One row per op; columns by MathLevel.
struct Calls {
  Op op;
  std::array<std::string_view, 4> f32, f64;
};
constexpr Calls function_calls[] = {
    {Op::Exp2,
     {"", "nearest_exp2_f32($a)", "exp2_f32($a)", "fast_exp2_f32($a)"},
     {"", "", "exp2_f64($a)", "exp2_f64($a)"}},
    {Op::Log2,
     {"", "nearest_log2_f32($a)", "log2_f32($a)", "fast_log2_f32($a)"},
     {"", "", "log2_f64($a)", "log2_f64($a)"}},
    {Op::Sin, {"", "nearest_sin_f32($a)", "sin_f32($a)", "fast_sin_f32($a)"}, {"", "", "", ""}},
};

struct NamedCall {
  NamedFunction function;
  std::string_view libm, own;  // our code: of float32
};
constexpr NamedCall named_calls[] = {
    {NamedFunction::Exp, "exp$m($a)", "exp_f32($a)"},
    {NamedFunction::Log, "log$m($a)", "log_f32($a)"},
    {NamedFunction::Sigmoid, "", "sigmoid_f32($a)"},
    {NamedFunction::Tanh, "tanh$m($a)", "tanh_f32($a)"},
    {NamedFunction::Erf, "erf$m($a)", "erf_f32($a)"},
    {NamedFunction::Cos, "cos$m($a)", "cos_f32($a)"},
    {NamedFunction::Tan, "tan$m($a)", "tan_f32($a)"},
    {NamedFunction::Expm1, "expm1$m($a)", ""},
    {NamedFunction::Log10, "log10$m($a)", ""},
    {NamedFunction::Log1p, "log1p$m($a)", ""},
    {NamedFunction::Erfc, "erfc$m($a)", ""},
    {NamedFunction::Asin, "asin$m($a)", ""},
    {NamedFunction::Acos, "acos$m($a)", ""},
    {NamedFunction::Atan, "atan$m($a)", ""},
    {NamedFunction::Sinh, "sinh$m($a)", ""},
    {NamedFunction::Cosh, "cosh$m($a)", ""},
    {NamedFunction::Asinh, "asinh$m($a)", ""},
    {NamedFunction::Acosh, "acosh$m($a)", ""},
    {NamedFunction::Atanh, "atanh$m($a)", ""},
    {NamedFunction::Cbrt, "cbrt$m($a)", ""},
    {NamedFunction::Atan2, "atan2$m($a, $b)", ""},
    {NamedFunction::Pow, "pow$m($a, $b)", ""},
    {NamedFunction::Hypot, "hypot$m($a, $b)", ""},
};

}  // namespace

std::span<const CFunction> c_functions() { return own_functions; }

std::string_view c_function_call(Op op, DType type, MathLevel level) {
  for (const Calls& row : function_calls)
    if (row.op == op)
      return (type == DType::Float32 ? row.f32 : row.f64)[static_cast<std::size_t>(level)];
  return {};
}

std::string_view c_function_call(NamedFunction function, DType type, MathLevel level, bool libm) {
  const bool ours = level == MathLevel::OneUlp || level == MathLevel::Fast;
  for (const NamedCall& row : named_calls) {
    if (row.function != function) continue;
    if (type == DType::Float64 || level == MathLevel::Library) return libm ? row.libm : "";
    return ours ? row.own : "";
  }
  return {};
}

}  // namespace touchstone::codegen
