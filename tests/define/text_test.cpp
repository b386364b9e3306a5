#include "touchstone/define/text.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/definitions.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::define {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

std::string error_for(const std::string& text) {
  return error_of([&] { parse(text).kernel(); });
}

TEST(Text, InputsAreNumberedAsTheyFirstStand) {
  const Formula f = parse("relu(matmul(a[8,16], b[16,4]) + c[4]) + a_[]:f32 * c");
  EXPECT_THAT(f.inputs, testing::ElementsAre("a", "b", "c", "a_"));
  const KernelFile file = kernel_file(f.kernel());
  ASSERT_EQ(file.buffers.size(), 5U);
  EXPECT_EQ(file.buffers[0].size, 32);
  EXPECT_EQ(file.buffers[1].size, 128);
  EXPECT_EQ(file.buffers[4].size, 1);
}

TEST(Text, FlagsAreNumbersOrWords) {
  EXPECT_TRUE(same(parse("sort(x[3], descending=true)").kernel(),
                   parse("sort(x[3], descending=1)").kernel()));
  EXPECT_TRUE(same(parse("sum(x[3], keep=false)").kernel(), parse("sum(x[3])").kernel()));
  EXPECT_THAT(error_for("sort(x[3], descending=f32)"), HasSubstr("descending is 0 or 1"));
}

TEST(Text, AnInputWithoutSizesHasThoseThatAreGiven) {
  const InputShape shapes[] = {{{8, 16}, DType::Float32}, {{16}, DType::Float16}};
  const auto equal = [&](const char* bare, const char* whole) {
    const Formula a = parse(bare, shapes), b = parse(whole);
    return a.inputs == b.inputs && same(a.kernel(), b.kernel());
  };
  EXPECT_TRUE(equal("x + y", "x[8,16] + y[16]:f16"));
  EXPECT_TRUE(equal("softmax(x, axis=1) * x", "softmax(x[8,16], axis=1) * x"));
  EXPECT_TRUE(equal("x + x[8,16]", "x[8,16] + x"));
  EXPECT_TRUE(equal("a[8,1,16] + b[16]:f16", "a[8,1,16] + b[16]:f16"));  // explicit types stay
  EXPECT_TRUE(equal("where(x < 0, 0, x) + y", "where(x[8,16] < 0, 0, x) + y[16]:f16"));
  EXPECT_TRUE(equal("sum(cast(y, f32))", "sum(cast(y[8,16], f32))"));  // the first input
  const std::string third = error_of([&] { parse("x + y + z", shapes); });
  EXPECT_THAT(third, HasSubstr("'z' is input 3, but there are only 2 arrays; give its sizes"));
  EXPECT_THAT(error_of([&] { parse("x[16,8] + y", shapes); }),
              HasSubstr("x has the sizes [16,8], and the array given for it [8,16]"));
  EXPECT_THAT(error_of([&] { parse("x + y[4]:f16", shapes); }), HasSubstr("given for it [16]"));
  EXPECT_THAT(
      error_of([&] { parse("maximum(reshape(x, shape=[128]), y)", shapes); }),
      HasSubstr("; arrays are taken in the order of first use: x is [8,16] of float32, y is "
                "[16] of float16; or give them names (x=...)"));
  EXPECT_EQ(error_of([&] { parse("x + reshape(y[4,4]:f16, shape=[16])", shapes); }),
            "no error");  // flat
  EXPECT_THAT(error_of([&] { parse("x + x[4]", shapes); }), HasSubstr("'x' is [8,16]"));
}

TEST(Text, ArraysAreTakenByNameIfTheyHaveNames) {
  const std::vector<InputShape> shapes{{{5, 3}, DType::Float32, "w"},
                                       {{2, 3}, DType::Float32, "x"}};
  EXPECT_EQ(parse("linear(x, w)", shapes).value.shape(), (Sizes{2, 5}));
  EXPECT_EQ(parse("linear(x[2,3], w)", shapes).value.shape(), (Sizes{2, 5}));
  const auto error = [&](std::string_view text) {
    try {
      parse(text, shapes);
    } catch (const ParseError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("linear(x, w, b)"),
              HasSubstr("no array is given for input 'b'; there are arrays for w, x"));
  EXPECT_THAT(error("relu(x)"), HasSubstr("there is no input 'w'; the inputs are x"));
  EXPECT_THAT(error("linear(x[3,2], w)"), HasSubstr("x has the sizes [3,2]"));
}

TEST(Text, PrecedenceIsThatOfArithmetic) {
  const auto same_kernel = [](const char* a, const char* b) {
    return same(parse(a).kernel(), parse(b).kernel());
  };
  EXPECT_TRUE(same_kernel("a[2] + b[2] * c[2]", "a[2] + (b[2] * c[2])"));
  EXPECT_TRUE(same_kernel("a[2] - b[2] - c[2]", "(a[2] - b[2]) - c[2]"));
  EXPECT_TRUE(same_kernel("-a[2] * b[2]", "(-a[2]) * b[2]"));
  EXPECT_TRUE(same_kernel("a[2,3] @ b[3,4] + 1", "matmul(a[2,3], b[3,4]) + 1"));
  EXPECT_TRUE(same_kernel("a[2] % 2", "mod(a[2], 2)"));
  EXPECT_TRUE(same_kernel("a[2] < b[2] + 1", "a[2] < (b[2] + 1)"));
  EXPECT_FALSE(same_kernel("a[2] / (b[2] * c[2])", "a[2] / b[2] * c[2]"));
  EXPECT_TRUE(same_kernel("-a[2]**b[2]**c[2]", "-pow(a[2], pow(b[2], c[2]))"));
  EXPECT_TRUE(same_kernel("a[2] * b[2]**-1.5", "a[2] * pow(b[2], -1.5)"));
  EXPECT_TRUE(same_kernel("a[2]:i8**2", "a[2]:i8 * a"));
  EXPECT_THROW(parse("a[2]:i8**3"), ParseError);
  EXPECT_TRUE(parse("a[2]**b[2]").is_loose);
  EXPECT_TRUE(same_kernel("softmax(x[2,3], axis=1)", " softmax ( x [ 2 , 3 ] , 1 ) "));
}

TEST(Text, NumbersTakeTheTypeTheyMeetAndTypesArePromoted) {
  EXPECT_EQ(parse("x[2]:i8 + 3").value.dtype(), DType::Int8);
  EXPECT_EQ(parse("x[2]:f16 * 0.5").value.dtype(), DType::Float16);
  EXPECT_EQ(parse("x[2]:f16 + y[2]:bf16").value.dtype(), promote(DType::Float16, DType::BFloat16));
  EXPECT_EQ(parse("where(c[2]:bool, x[2]:f64, 1)").value.dtype(), DType::Float64);
  EXPECT_EQ(parse("2").value.dtype(), DType::Float32);
  EXPECT_EQ(parse("sum(x[4]:f16, accumulate=f32)").kernel()->src()[0]->reduce_arg().accumulator,
            DType::Float32);
}

// Of integers that no integer type holds: as numbers.
TEST(Text, ComparisonsAreExact) {
  using Wide = std::int64_t;
  constexpr Wide kMost = std::numeric_limits<Wide>::max(),
                 kLeast = std::numeric_limits<Wide>::min();
  const std::vector<Wide> x{kLeast, -1, 0, 1, kMost, kMost};
  const std::vector<std::uint64_t> y{0, ~0ULL, 0, 2, 1ULL << 63, (1ULL << 63) - 1};
  const std::array<bool, 6> below{true, true, false, true, true, false}, same{0, 0, 1, 0, 0, 1};
  const std::vector<InputShape> given{{{6}, DType::Int64, "x"}, {{6}, DType::UInt64, "y"}};
  const auto at = [&](const std::string& text, auto wanted) {
    std::vector<InputShape> named;
    for (const InputShape& input : given)
      if (text.find(input.name) != std::string::npos) named.push_back(input);
    const Formula formula = parse(text, named);
    std::vector<BufferPtr> buffers;
    for (const std::string& name : formula.inputs)
      buffers.push_back(name == "x" ? test::buffer<Wide>(x) : test::buffer<std::uint64_t>(y));
    const auto found = test::run<bool>(formula.kernel()->src()[0], buffers);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(found[i], wanted(i)) << text << " at " << i;
  };
  at("x < y", [&](auto i) { return below[i]; });
  at("y < x", [&](auto i) { return !below[i] && !same[i]; });
  at("x == y", [&](auto i) { return same[i]; });
  at("y != x", [&](auto i) { return !same[i]; });
  at("x >= y", [&](auto i) { return !below[i]; });
  for (const auto& [text, wanted] : {std::pair{"x < 18446744073709551615", true},
                                     {"x == 9223372036854775808", false},
                                     {"-99999999999999999999 < x", true},
                                     {"x <= -99999999999999999999", false},
                                     {"y < -1", false},
                                     {"y != -1", true},
                                     {"cast(x, i32) < 3000000000", true},
                                     {"300 == cast(x, u8)", false}})
    at(text, [&](auto) { return wanted; });
}

TEST(Text, PartsHaveNames) {
  const auto same_kernel = [](const char* a, const char* b) {
    return same(parse(a).kernel(), parse(b).kernel());
  };
  EXPECT_TRUE(same_kernel("p = x[2,3] + 1; p * p", "(x[2,3] + 1) * (x + 1)"));
  EXPECT_TRUE(same_kernel("a = 0.5;\nb = a * x[2];\nb - a", "0.5 * x[2] - 0.5"));
  EXPECT_TRUE(same_kernel("x[2] == y[2]", "x[2] == y[2]"));
  const auto says = [](const char* text, const char* what) {
    try {
      parse(text);
      ADD_FAILURE() << text;
    } catch (const ParseError& e) {
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
    }
  };
  says("p = x[2]; p = x + 1; p", "'p' has a value already");
  says("x[2] + 1; x", "expected the end");
  says("p = x[2]", "expected ';' after the value of p");
  says("p = x[2];", "but the text ends");
  says("p = p + 1; p", "unknown input 'p'");
}

TEST(Text, NumbersAmongThemselvesAreComputedInFloat64) {
  const auto same_kernel = [](const char* a, const char* b) {
    return same(parse(a).kernel(), parse(b).kernel());
  };
  EXPECT_TRUE(same_kernel("x[2]:f64 * (1/3)", "x[2]:f64 * 0.3333333333333333"));
  EXPECT_TRUE(same_kernel("x[2]:f64 + -(2 * 0.7 - 3)", "x[2]:f64 + 1.6"));
  EXPECT_TRUE(same_kernel("x[2]:f64 * 2**0.5", "x[2]:f64 * 1.4142135623730951"));
  EXPECT_TRUE(same_kernel("x[2]:f64 * sqrt(2)", "x[2]:f64 * 1.4142135623730951"));
  EXPECT_EQ(parse("x[2]:f16 * (1/3)").value.dtype(), DType::Float16);
  EXPECT_EQ(parse("x[2]:i8 + (2 + 1)").value.dtype(), DType::Int8);
  EXPECT_EQ(parse("x[2]:i8 * (7 / 2)").value.dtype(), DType::Float32);
  EXPECT_TRUE(same_kernel("x[2]:i64 + 2**53", "x[2]:i64 + 9007199254740992"));
  EXPECT_TRUE(
      same_kernel("x[2]:i64 + (-9223372036854775807 - 1)", "x[2]:i64 + -9223372036854775808"));
}

TEST(Text, ErrorsNameThePlaceAndSuggest) {
  EXPECT_EQ(error_for("softmx(x[2,3])"),
            "there is no definition 'softmx'; did you mean 'softmax'?; touchstone kernel --list "
            "shows all\n  softmx(x[2,3])\n  ^");
  EXPECT_EQ(error_for("a[2] + softmax(a, axs=1)"),
            "softmax(x, axis=-1) has no argument 'axs'; did you mean 'axis'?\n"
            "  a[2] + softmax(a, axs=1)\n"
            "                    ^");
  EXPECT_THAT(error_for("x[2,3] + y"), HasSubstr("unknown input 'y'"));
  EXPECT_THAT(error_for("sum(x[2,3], axis=2)"),
              HasSubstr("axis 2 is not in [-2, 2) of shape [2,3]"));
  EXPECT_THAT(error_for("a[2,3] + b[4]"), HasSubstr("[2,3] and [4] do not broadcast"));
  EXPECT_THAT(error_for("x[2]:f31"), HasSubstr("there is no element type 'f31'"));
  EXPECT_THAT(error_for("softmax(x[2]:i32)"), HasSubstr("softmax takes floats, not int32"));
  EXPECT_THAT(error_for("cast(x[2])"), HasSubstr("cast(x, to=...) lacks to"));
  EXPECT_THAT(error_for("cast(x[2], 3)"), HasSubstr("an element type"));
  EXPECT_THAT(error_for("exp(x[2], x)"), HasSubstr("too many arguments"));
  EXPECT_THAT(error_for("softmax(x[2], 0, axis=0)"), HasSubstr("axis is given twice"));
  EXPECT_THAT(error_for("softmax(x[2], axis=0.5)"), HasSubstr("a whole number"));
  EXPECT_THAT(error_for("x[2] + x[3]"), HasSubstr("at its first use"));
  EXPECT_THAT(error_for("matmul(a[2,3], b[4,5])"), HasSubstr("sizes 3 and 4 differ"));
  EXPECT_THAT(error_for("conv2d(x[1,3,4,4], w[2,2,3,3])"), HasSubstr("groups"));
  EXPECT_THAT(error_for("conv2d(x[1,1,2,2], w[1,1,3,3])"), HasSubstr("spans 3"));
  EXPECT_THAT(error_for("x[3]:f16 * 1e10"), HasSubstr("1e10 is too large for float16"));
  EXPECT_EQ(error_for("x[3]:f16 * inf"), "no error");
  EXPECT_THAT(error_for("x[2"), HasSubstr("expected ']'"));
  EXPECT_THAT(error_for("x[2] y"), HasSubstr("expected the end"));
  EXPECT_THAT(error_for("[1,2]"), HasSubstr("expected an array, found a list"));
  EXPECT_THAT(error_for("x[2]:i32 + 0.5"), HasSubstr("0.5"));
  EXPECT_THAT(error_for(""), HasSubstr("the text ends"));
}

TEST(Text, HostileTextGivesAnError) {
  EXPECT_THAT(error_for(std::string(1'000'000, '(')), HasSubstr("the limit is 65536"));
  EXPECT_THAT(error_for(std::string(60'000, '(')), HasSubstr("more than 100"));
  EXPECT_THAT(error_for(std::string(60'000, '-') + "x[1]"), HasSubstr("more than 100"));
  std::string calls;
  for (int i = 0; i < 10'000; ++i) calls += "exp(";
  EXPECT_THAT(error_for(calls), HasSubstr("more than 100"));
  std::string sum = "x[1]";
  for (int i = 0; i < 20'000; ++i) sum += "+x";
  EXPECT_THAT(error_for(sum), HasSubstr("nested operations"));
  EXPECT_THAT(error_for(std::string("x[2]\0+1", 7)), HasSubstr("expected the end"));
  EXPECT_THAT(error_for("\xff\xfe\x1b[31m"), AllOf(HasSubstr("expected"), HasSubstr("??")));
  EXPECT_THAT(error_for("x[9223372036854775808]"), HasSubstr("below 2^63"));
  EXPECT_THAT(error_for("x[-1]"), HasSubstr("negative size"));
  EXPECT_THAT(error_for("x[4294967296,4294967296]"), HasSubstr("64 bits"));
  EXPECT_THAT(error_for("a[4294967296,1] + b[4294967296]"), HasSubstr("64 bits"));
  EXPECT_THAT(error_for("repeat(x[2], times=9223372036854775807)"), HasSubstr("64 bits"));
  EXPECT_THAT(error_for("pad(x[2], before=9223372036854775807, after=1)"), HasSubstr("64 bits"));
  EXPECT_THAT(error_for("roll(x[0], shift=-9223372036854775808)"),
              testing::Not(HasSubstr("crash")));
  EXPECT_THAT(error_for("stride(x[2], steps=-9223372036854775808)"), HasSubstr("step"));
  EXPECT_THAT(error_for("as_strided(x[4], shape=[2], strides=[9223372036854775807])"),
              HasSubstr("addresses"));
  EXPECT_THAT(error_for("triu(x[3,3], diagonal=9223372036854775807)"), HasSubstr("64 bits"));
  EXPECT_THAT(error_for("var(x[3], correction=-9223372036854775808)"), HasSubstr("whole number"));
  EXPECT_THAT(error_for("1e999999999999"), HasSubstr("too large for float32"));
  EXPECT_THAT(error_for("  9e99"), AllOf(HasSubstr("    ^"), HasSubstr("too large for float32")));
  std::string nested = "x[2,2]";
  for (int i = 0; i < 40; ++i) nested = "softmax(" + nested + ")";
  EXPECT_THAT(error_for(nested), HasSubstr("nested reduces"));
  std::string doubling = "x[2]";
  for (int i = 0; i < 40; ++i) doubling = "roll(" + doubling + ", 1)";
  EXPECT_THAT(error_for(doubling), HasSubstr("more than 4000 nodes"));
  // Large sizes are no error, because nothing is computed.
  EXPECT_EQ(kernel_file(parse("sum(x[4096,4194304], axis=1)").kernel()).buffers[1].size, 1LL << 34);
}

// Every formula mutated once or twice gives a formula or a ParseError.
TEST(Text, MutatedFormulasNeverCrash) {
  const std::string texts[] = {"softmax(x[2,3]:f16, axis=-1) + 0.5e-3*y[3]",
                               "conv2d(x[1,2,5,5], w[2,2,3,3], b[2], stride=[2,1], padding=1)",
                               "where(a[4]:i32 <= 3, -cast(a, f32), sum(z[4,4], [1]))"};
  const std::string parts[] = {
      "(", ")", "[", "]", ",", "=",  "==",   "-",  "9999999999", "0",  "axis",
      ":", "x", "e", ".", "<", "!=", "\x80", "\"", "all",        "nan"};
  unsigned state = 5;
  const auto next = [&](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  int good = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = texts[next(3)];
    for (std::size_t times = 1 + next(3); times > 0; --times) {
      const std::size_t at = next(text.size());
      if (next(2) == 0)
        text.erase(at, 1 + next(4));
      else
        text.insert(at, parts[next(std::size(parts))]);
      if (text.empty()) text = "x";
    }
    try {
      parse(text).kernel();
      ++good;
    } catch (const ParseError& e) {
      ASSERT_NE(std::string(e.what()).find('^'), std::string::npos) << text;
    } catch (const Error&) {  // about the whole kernel
    }
  }
  EXPECT_GT(good, 20);
}

TEST(Text, SignaturesReadBack) {
  for (const Definition& d : definitions()) {
    EXPECT_EQ(&definition(d.name()), &d);
    std::set<std::string> names;
    for (const Parameter& p : parameters(d)) {
      EXPECT_TRUE(names.insert(p.name).second) << d.signature;
      EXPECT_FALSE(p.name.empty()) << d.signature;
    }
    EXPECT_FALSE(d.summary.empty());
  }
}

// A kernel depends only on its text; parsing and building give equal ones.
TEST(Text, BuildsWhatTheBuilderDoes) {
  const Array x = Array::input(1, {4, 8}), w = Array::input(2, {8});
  EXPECT_TRUE(same(kernel(rms_norm(x, w, 1e-6)), parse("rms_norm(x[4,8], w[8])").kernel()));
  EXPECT_TRUE(same(kernel(softmax(x * 2.0, 0)), parse("softmax(x[4,8] * 2, axis=0)").kernel()));
  const LazyOpPtr plain = LazyOp::store(
      ShapeTracker::contiguous({4, 1}),
      LazyOp::reduce(Op::ReduceSum,
                     LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4, 8})), {1}));
  EXPECT_TRUE(same(kernel(sum(x, {1})), plain)) << touchstone::str(kernel(sum(x, {1})));
}

TEST(Text, OneInputHasOneShape) {
  EXPECT_THAT(error_of([] {
                kernel(Array::input(1, {4}) + Array::input(1, {1, 4}));
              }),
              HasSubstr("in another"));
  EXPECT_THAT(error_of([] { Array::input(0, {4}); }), HasSubstr("numbered from 1"));
}

}  // namespace
}  // namespace touchstone::define
