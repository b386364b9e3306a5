// Quantization against loops over elements.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/forms.h"
#include "touchstone/define/text.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::define {
namespace {

template <class R, class... T>
std::vector<R> values_of(const std::string& text, const std::vector<T>&... inputs) {
  return test::run<R>(parse(text).kernel()->src()[0], {test::buffer<T>(inputs)...});
}
template <class R, class... T>
Outcome outcome_of(const std::string& text, const std::string& profile,
                   const std::vector<R>& output, const std::vector<T>&... inputs) {
  const std::vector<BufferPtr> buffers{test::buffer<R>(output), test::buffer<T>(inputs)...};
  return judge(parse(text).kernel(), test::raw(buffers), *buffers[0], Profile::named(profile))
      .outcome;
}

std::vector<float> drawn_floats(std::size_t count, float size, unsigned state = 3) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    out.push_back((static_cast<float>(state >> 8) * 0x1p-23F - 1) * size);
  }
  return out;
}

template <class T>
T quantized(float x, float scale, int zero, bool by_reciprocal = false) {
  const float whole = std::nearbyint(by_reciprocal ? x * (1 / scale) : x / scale);
  constexpr float least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  return static_cast<T>(std::min(std::max(whole + static_cast<float>(zero), least), most));
}

template <class T>
void expect_quantized(const std::string& type, int zero) {
  // Ties, both infinities and numbers beyond the range.
  std::vector<float> x = drawn_floats(300, 50);
  for (int i = -300; i < 300; ++i) x.push_back((static_cast<float>(i) + 0.5F) * 0.25F);
  for (const float v : {INFINITY, -INFINITY, 3e38F, -3e38F, 0.0F, -0.0F, 1e-45F}) x.push_back(v);
  std::vector<T> want;
  for (const float v : x) want.push_back(quantized<T>(v, 0.25F, zero));
  const std::string text = fmt::format("quantize(x[{}], s[], z[]:{}, to={})", x.size(), type, type);
  const std::vector<float> s = {0.25F};
  const std::vector<T> z = {static_cast<T>(zero)};
  EXPECT_EQ(values_of<T>(text, x, s, z), want) << type;
  for (const std::string profile : {"library", "ieee"})
    EXPECT_EQ(outcome_of(text, profile, want, x, s, z), Outcome::Pass) << type;
  want[7] = static_cast<T>(want[7] + 1);
  EXPECT_EQ(outcome_of(text, "library", want, x, s, z), Outcome::Fail) << type;
}

TEST(Quantize, RoundsToEvenAndSaturates) {
  expect_quantized<std::uint8_t>("u8", 128);
  expect_quantized<std::uint8_t>("u8", 3);
  expect_quantized<std::int8_t>("i8", 0);
  expect_quantized<std::int8_t>("i8", -7);
  expect_quantized<std::int16_t>("i16", 1);
  expect_quantized<std::uint16_t>("u16", 40000);
}

TEST(Quantize, TakesScalesOfChannelsAndBlocks) {
  const std::vector<float> x = drawn_floats(2 * 7 * 3, 9);
  std::vector<float> s = drawn_floats(2 * 3 * 3, 1, 9);
  for (float& v : s) v = std::abs(v) + 0.05F;
  std::vector<std::int8_t> z;
  for (int i = 0; i < 18; ++i) z.push_back(static_cast<std::int8_t>(5 * i - 40));
  struct Way {
    std::string shape, options;
    std::function<std::size_t(std::size_t, std::size_t, std::size_t)> scale;
  };
  const Way ways[] = {
      {"[7]", "", [](auto, auto j, auto) { return j; }},
      {"[3]", ", axis=-1", [](auto, auto, auto k) { return k; }},
      {"[2]", ", axis=0", [](auto i, auto, auto) { return i; }},
      {"[1]", "", [](auto, auto, auto) { return std::size_t{0}; }},
      {"[2,3,3]", ", block=3", [](auto i, auto j, auto k) { return (i * 3 + j / 3) * 3 + k; }},
      {"[2,7,1]", ", axis=2, block=9223372036854775807",
       [](auto i, auto j, auto) { return i * 7 + j; }},
  };
  for (const Way& way : ways) {
    std::vector<std::int8_t> want;
    std::vector<float> back, faked;
    std::size_t used = 0;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 7; ++j)
        for (std::size_t k = 0; k < 3; ++k) {
          const std::size_t c = way.scale(i, j, k);
          used = std::max(used, c + 1);
          want.push_back(quantized<std::int8_t>(x[want.size()], s[c], z[c]));
          back.push_back(static_cast<float>(want.back() - z[c]) * s[c]);
          const int level = std::min(std::max(static_cast<int>(want.back()), -20), 30);
          faked.push_back(static_cast<float>(level - z[c]) * s[c]);
        }
    const std::vector<float> scales(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(used));
    const std::vector<std::int8_t> zeros(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(used));
    const std::string rest = ", s" + way.shape + ", z" + way.shape + ":i8" + way.options;
    EXPECT_EQ(values_of<std::int8_t>("quantize(x[2,7,3]" + rest + ", to=i8)", x, scales, zeros),
              want)
        << rest;
    EXPECT_EQ(values_of<float>("dequantize(q[2,7,3]:i8" + rest + ")", want, scales, zeros), back)
        << rest;
    EXPECT_EQ(values_of<float>("fake_quantize(x[2,7,3]" + rest + ", quant_min=-20, quant_max=30)",
                               x, scales, zeros),
              faked)
        << rest;
  }
}

TEST(Quantize, ByAReciprocalIsAForm) {
  std::vector<float> x;
  std::vector<std::int8_t> direct, by_reciprocal;
  const float s = 0.1F * 3;
  for (int i = -500; i < 500; ++i) {
    const float v = (static_cast<float>(i % 120) + 0.5F) * s;
    x.push_back(i % 2 == 0 ? v : std::nextafter(v, 0.0F));
    direct.push_back(quantized<std::int8_t>(x.back(), s, 0));
    by_reciprocal.push_back(quantized<std::int8_t>(x.back(), s, 0, true));
  }
  ASSERT_NE(direct, by_reciprocal);
  const std::string text = "quantize(x[1000], s[], to=i8)";
  const std::vector<FormulaForm> forms = forms_of(text, {});
  ASSERT_EQ(forms.size(), 1U);
  EXPECT_EQ(forms[0].name, "quantize: reciprocal");
  EXPECT_EQ(test::run<std::int8_t>(forms[0].kernel->src()[0],
                                   {test::buffer<float>(x), test::buffer<float>({s})}),
            by_reciprocal);
  const std::vector<float> scales = {s};
  EXPECT_EQ(outcome_of(text, "ieee", by_reciprocal, x, scales), Outcome::Fail);
  EXPECT_EQ(outcome_of(text, "library", by_reciprocal, x, scales), Outcome::Pass);
}

// Though the quotient may be off by some ULP.
TEST(Quantize, HasOneAnswerAwayFromTies) {
  const std::vector<float> x = drawn_floats(1000, 40), s = {0.37F};
  const std::string call = "quantize(x[1000], s[], 100)";
  const std::vector<BufferPtr> buffers{test::buffer(values_of<std::uint8_t>(call, x, s)),
                                       test::buffer(x), test::buffer(s)};
  const Verdict verdict = judge(parse(call).kernel(), test::raw(buffers), *buffers[0],
                                Profile::named(usual_profile(parse(call).is_loose)));
  EXPECT_EQ(verdict.outcome, Outcome::Pass) << verdict.str();
  EXPECT_EQ(verdict.determined, 1000) << verdict.str();
}

TEST(Quantize, OfNanIsAnyInteger) {
  const std::vector<float> x = {NAN, 1}, s = {1};
  const std::string text = "quantize(x[2], s[], to=i8)";
  for (const std::int8_t any : std::vector<std::int8_t>{0, 127, -128, 5}) {
    EXPECT_NE(outcome_of(text, "library", std::vector<std::int8_t>{any, 1}, x, s), Outcome::Fail);
    EXPECT_EQ(outcome_of(text, "library", std::vector<std::int8_t>{any, 2}, x, s), Outcome::Fail);
  }
  EXPECT_TRUE(std::isnan(values_of<float>("fake_quantize(x[2], s[])", x, s)[0]));
}

TEST(Quantize, ToFloat8Saturates) {
  const std::vector<float> x = {1000, -1000, 1e9F, INFINITY, NAN, 3.3F, -0.0F, 900}, s = {2};
  const auto of = [&](const std::string& type) {
    return values_of<float>("cast(quantize(x[8], s[], to=" + type + "), f32)", x, s);
  };
  const auto expect = [&](const std::string& type, const std::vector<float>& want) {
    const std::vector<float> got = of(type);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i])
          << type << " of " << x[i] << ": " << got[i];
    EXPECT_TRUE(std::signbit(got[6]));
  };
  expect("f8e4m3", {448, -448, 448, 448, NAN, 1.625F, 0, 448});
  expect("f8e5m2", {512, -512, 57344, 57344, NAN, 1.75F, 0, 448});
}

TEST(Dequantize, IsExactForIntegersAndRoundedOnce) {
  const std::vector<std::int32_t> q = {INT32_MAX, INT32_MIN, 5, -5}, z = {INT32_MIN};
  const std::vector<float> s = {0.1F};
  std::vector<float> want;
  for (const std::int32_t v : q)
    want.push_back(
        static_cast<float>(static_cast<std::int64_t>(v) - static_cast<std::int64_t>(INT32_MIN)) *
        0.1F);
  EXPECT_EQ(values_of<float>("dequantize(q[4]:i32, s[], z[]:i32)", q, s, z), want);
  // float16 scales: computed in float32 and rounded once.
  std::vector<std::int8_t> bytes;
  for (int i = -128; i < 128; ++i) bytes.push_back(static_cast<std::int8_t>(i));
  const float16 d = convert<float16>(0.3333F);
  const std::vector<float16> got =
      values_of<float16>("dequantize(q[256]:i8, s[]:f16, 3)", bytes, std::vector<float16>{d});
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_EQ(
        convert<float>(got[i]),
        convert<float>(convert<float16>(static_cast<float>(bytes[i] - 3) * convert<float>(d))));
  EXPECT_EQ(values_of<float>("dequantize(cast(x[2], f8e4m3), s[2], axis=0)",
                             std::vector<float>{1.5F, -448}, std::vector<float>{3, 0.5F}),
            (std::vector<float>{4.5F, -224}));
}

TEST(Dequantize, ReadsGgmlsBlocks) {
  constexpr std::size_t kBlocks = 3;
  const float16 scales[kBlocks] = {convert<float16>(0.37F), convert<float16>(-1e-5F),
                                   convert<float16>(1000.0F)};
  for (const int bits : {4, 8}) {
    std::vector<std::uint8_t> raw, numbers;
    std::vector<float> want;
    unsigned state = 1;
    for (const float16 d : scales) {
      const auto code = std::bit_cast<std::uint16_t>(d);
      raw.push_back(static_cast<std::uint8_t>(code & 255U));
      raw.push_back(static_cast<std::uint8_t>(code >> 8U));
      std::vector<float> low, high;
      for (int i = 0; i < 4 * bits; ++i) {
        state = state * 1664525U + 1013904223U;
        const auto byte = static_cast<std::uint8_t>(state >> 24U);
        raw.push_back(byte);
        numbers.push_back(byte);
        low.push_back(static_cast<float>(
            bits == 4 ? (byte & 15) - 8 : static_cast<int>(static_cast<std::int8_t>(byte))));
        if (bits == 4) high.push_back(static_cast<float>((byte >> 4) - 8));
      }
      low.insert(low.end(), high.begin(), high.end());
      for (const float v : low) want.push_back(v * convert<float>(d));
    }
    const std::string name = fmt::format("dequantize_q{}_0", bits);
    const std::string whole = fmt::format("{}(q[{}]:u8)", name, raw.size());
    EXPECT_EQ(values_of<float>(whole, raw), want) << name;
    EXPECT_EQ(outcome_of(whole, "glibc", want, raw), Outcome::Pass);
    const std::vector<float16> d(std::begin(scales), std::end(scales));
    const std::string apart = bits == 4 ? "dequantize_q4_0(q[48]:u8, d[3]:f16)"
                                        : "dequantize_q8_0(bitcast(q[96]:u8, i8), d[3]:f16)";
    EXPECT_EQ(values_of<float>(apart, numbers, d), want) << name;
    // Neighbours exchanged, as if the digits of a byte were next to each other.
    for (std::size_t i = 0; i < want.size(); i += 2) std::swap(want[i], want[i + 1]);
    EXPECT_EQ(outcome_of(whole, "glibc", want, raw), Outcome::Fail);
  }
}

TEST(Quantize, OfInputsThatDoNotFitIsAnError) {
  const char* const kErrors[][2] = {
      {"quantize(x[4]:i32, s[])", "quantize: x must be floats, not int32"},
      {"quantize(x[4], s[]:i32)", "scales must be floats, not int32"},
      {"quantize(x[4], s[], z[])", "must be integers or 8-bit floats, not float32"},
      {"quantize(x[4], s[], to=i32)", "quantize: to int32; expected an integer of 8 or 16 bits"},
      {"quantize(x[4], s[], to=f16)", "or an 8-bit float"},
      {"quantize(x[4], s[], to=bool)", "quantize: to bool"},
      {"quantize(x[4], s[4])", "axis 1 is not in [-1, 1) of shape [4]"},
      {"quantize(x[2,4], s[2])", "along axis 1; expected one number or [4]"},
      {"quantize(x[2,4], s[2,3], block=2)", "in blocks of 2; expected one number or [2,2]"},
      {"quantize(x[2,4], s[4], block=-1)", "in blocks of -1"},
      {"dequantize(x[4]:i8, s[]:i8)", "dequantize: scales must be floats"},
      {"dequantize(x[4]:i8, s[], z[]:f16)", "zero points must be integers"},
      {"fake_quantize(x[4], s[], quant_min=2, quant_max=1)", "levels 2 to 1"},
      {"fake_quantize(x[4], s[], quant_max=100000)", "within [-65536, 65536]"},
      {"dequantize_q8_0(q[34])", "dequantize_q8_0: the blocks have type float32; expected uint8"},
      {"dequantize_q8_0(q[32]:u8, d[1])", "expected int8 beside scales"},
      {"dequantize_q8_0(q[33]:u8)", "must hold whole blocks of 34 bytes"},
      {"dequantize_q4_0(q[32]:u8, d[1]:f16)", "scales of shape [1]; the blocks of [32] take [2]"},
      {"dequantize_q4_0(q[16]:u8, d[1]:i8)", "scales must be floats"},
      {"dequantize_q4_0(q[]:u8)", "must hold whole blocks of 18 bytes"},
  };
  for (const auto& [text, why] : kErrors)
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

}  // namespace
}  // namespace touchstone::define
