// Sequences of cells, names that libraries use, and arguments that do not fit. Loops beside the
// definitions: definitions_test.cpp; NumPy beside them: tests/python/beside.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::define {
namespace {

using Numbers = std::vector<float>;

Outcome judged(const std::string& text, const Numbers& output, std::vector<BufferPtr> buffers) {
  const Formula formula = parse(text);
  buffers.insert(buffers.begin(), test::buffer<float>(output));
  return judge(formula.kernel(), test::raw(buffers), *buffers[0],
               Profile::named(usual_profile(formula.is_loose)))
      .outcome;
}
// The right result is legal, and one with an element off by 1 % is not.
void expect_judged(const std::string& text, Numbers right, const std::vector<BufferPtr>& buffers) {
  EXPECT_EQ(judged(text, right, buffers), Outcome::Pass) << text;
  *std::ranges::max_element(right, {}, [](float v) { return std::abs(v); }) *= 1.01F;
  EXPECT_EQ(judged(text, right, buffers), Outcome::Fail) << text;
}

Numbers drawn(std::size_t count, unsigned state) {
  Numbers out;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    out.push_back((static_cast<float>(state >> 8) * 0x1p-23F - 1) * 2);
  }
  return out;
}

// All steps from the states before them; the first from the initial one.
TEST(Cells, JudgeASequenceFromItsOwnStates) {
  constexpr std::size_t kSteps = 40, kIn = 3, kHidden = 2;
  const Numbers x = drawn(kSteps * kIn, 1), w = drawn(kHidden * kIn, 2),
                u = drawn(kHidden * kHidden, 3), first = drawn(kHidden, 4);
  Numbers before = first, states;
  for (std::size_t t = 0; t < kSteps; ++t)
    for (std::size_t i = 0; i < kHidden; ++i) {
      const float* h = t == 0 ? first.data() : &states[(t - 1) * kHidden];
      double sum = 0;
      for (std::size_t k = 0; k < kIn; ++k) sum += w[i * kIn + k] * x[t * kIn + k];
      for (std::size_t k = 0; k < kHidden; ++k) sum += u[i * kHidden + k] * h[k];
      states.push_back(static_cast<float>(std::tanh(sum)));
    }
  before.insert(before.end(), states.begin(), states.end() - kHidden);
  expect_judged("rnn_cell(x[40,3], h[40,2], w[2,3], u[2,2])", states,
                {test::buffer<float>(x), test::buffer<float>(before), test::buffer<float>(w),
                 test::buffer<float>(u)});
}

TEST(Spellings, OfLibrariesAreAcceptedOrNameTheRightOne) {
  const std::pair<const char*, const char*> kSame[] = {
      {"clip(x[3], min=0, max=1)", "clamp(x[3], low=0, high=1)"},
      {"swish(x[3])", "silu(x[3])"},
      {"cat(x[3], y[2], dim=0)", "concat(x[3], y[2], axis=0)"},
      {"amax(x[3,4], dim=1, keepdim=true)", "max(x[3,4], axis=1, keep=1)"},
      {"permute_dims(x[3,4], dims=[1,0])", "permute(x[3,4], order=[1,0])"},
      {"max_pool1d(x[2,5], kernel_size=2)", "max_pool1d(x[2,5], size=2)"},
      {"topk(x[5], 2, dim=0)", "top_k(x[5], k=2, axis=0)"},
      {"ArgMax(x[3,4], axis=1, keepdims=True, select_last_index=False)",
       "argmax(x[3,4], axis=1, keep=1)"},
      {"ReduceL1(x[3,4], axes=(0, 1), keepdims=0)", "l1_norm(x[3,4], axis=[0,1])"},
      {"CrossEntropyLoss(x[3,4], t[3]:i64, weight=None, reduction='mean')",
       "cross_entropy(x[3,4], t[3]:i64, reduction=mean)"},
      {"BatchNorm2d(x[2,3], m[3], v[3])", "batch_norm(x[2,3], m[3], v[3])"},
      {"ScatterElements(x[3], i[2]:long, u[2], reduction=\"prod\")",
       "scatter(x[3], i[2]:i64, u[2], reduce=mul)"},
      {"DepthToSpace(x[1,4,2,2], blocksize=2, mode='DCR')", "depth_to_space(x[1,4,2,2], block=2)"},
      {"interpolate(x[4,4], size=(2,2), mode='nearest-exact')",
       "interpolate(x[4,4], size=[2,2], mode=nearest_exact)"},
      {"QuantizeLinear(x[4], y_scale=s[], to=float8_e4m3fn)", "quantize(x[4], s[], to=f8e4m3)"},
      {"quantize(x[4], s[], z[]:e4m3)", "quantize(x[4], s[], z[]:f8e4m3)"},
      {"dequantize(x[4]:FLOAT8E4M3FN, s[])", "dequantize(x[4]:f8e4m3, s[])"},
      {"cast(x[4], fp8_e5m2)", "cast(x[4], float8_e5m2)"},
      {"gaussian_nll_loss(x[5,5], t[5,5], v[5])",
       "gaussian_nll_loss(x[5,5], t[5,5], reshape(v[5], shape=[5,1]))"}};
  for (const auto& [typed, right] : kSame)
    EXPECT_TRUE(same(parse(typed).kernel(), parse(right).kernel())) << typed;
  EXPECT_TRUE(parse("swish(x[3])").called.contains("silu"));
  for (const auto& [text, why] : {std::pair{"squeeze(x[1,3])", "write reshape(x, shape=[..])"},
                                  {"flatten(x[2,3])", "write reshape(x, shape=[n,-1])"},
                                  {"gt(x[3], y[3])", "write x > y"},
                                  {"scatter_amax(x[3], i[3], u[3])", "reduce=max)"},
                                  {"Resize(x[3])", "write interpolate(x, size=[..], mode=..)"},
                                  {"gather(x[3], dim=0, i[3]:i64)", "write take_along("},
                                  {"Mod(x[3], y[3])", "write remainder"},
                                  {"x[3]:bool & y[3]:bool", "bit_and(x, y)"},
                                  {"abs(x[3]:complex64)", "pairs of floats"},
                                  {"flip(x[3], axis=(0", "expected ')'"},
                                  {"roll(x[3], shift=(1.5, 2))", "a whole number"},
                                  {"sum(x[3], axis='all", "expected ' after the word"},
                                  {"sort(x[3], stable=True)", "leave it out"},
                                  {"softmax(x[3], dimension=0)", "no argument 'dimension'"}})
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

TEST(Formulas, AreLooseAndNarrowOnesRoundOnce) {
  for (const Definition& d : definitions())
    EXPECT_TRUE(d.make != nullptr || d.is_loose) << d.signature;
  EXPECT_EQ(parse("lerp(x[2]:f16, y[2]:f16, 0.3)").value.dtype(), DType::Float16);
  EXPECT_EQ(parse("lerp(x[2]:f16, y[2], 0.3)").value.dtype(), DType::Float32);
  EXPECT_EQ(parse("isnan(x[2]:bf16)").value.dtype(), DType::Bool);
  // Forms reach through a formula.
  EXPECT_TRUE(parse("softmin(x[2,3])").called.contains("softmax"));
  const Numbers got = test::run<float>(parse("softshrink(x[4], lambd=1)").kernel()->src()[0],
                                       {test::buffer<float>({3, -3, 0.5F, NAN})});
  EXPECT_EQ(Numbers(got.begin(), got.end() - 1), (Numbers{2, -2, 0}));
  EXPECT_TRUE(std::isnan(got[3]));
  EXPECT_EQ(parse("soft_margin_loss(x[2]:f16, t[2]:f16, reduction=sum)").value.dtype(),
            DType::Float16);
  EXPECT_EQ(parse("hardmax(x[3,0])").value.shape(), (Sizes{3, 0}));
}

TEST(Definitions, ThatDoNotFitSayWhy) {
  const char* const kErrors[][2] = {
      {"grid_sample(x[1,2,3], g[1,3,1])", "must be (n, channels, 2 or 3 sizes)"},
      {"grid_sample(x[2,1,3,4], g[1,3,3,2])", "must be (n, channels, 2 or 3 sizes)"},
      {"grid_sample(x[1,1,3,4]:i32, g[1,3,3,2])", "grid_sample"},
      {"grid_sample(x[1,1,3,4], g[1,3,3,2], mode=bicubic, padding_mode=reflection)", "bicubic"},
      {"affine_grid(t[1,2,3], size=3)", "2 sizes take (n, 2, 3)"},
      {"affine_grid(t[1,2,3], size=[0,3])", "a size of 0 is not positive"},
      {"roi_align(x[1,1,3,4], r[2,4], b[1]:i32, size=2, sampling_ratio=1)", "(boxes)"},
      {"roi_align(x[1,1,3,4], r[2,4], b[2]:i32, size=2, sampling_ratio=0)", "depend on the boxes"},
      {"lp_pool1d(x[4], p=0, size=2)", "p = 0 is not positive"},
      {"pad(x[0], before=1, after=0, mode=edge)", "axis 0 of [0] is empty"},
      {"pad(x[3], before=1, after=0, mode=mirror)", "mode is one of constant, reflect"},
      {"center_crop_pad(x[3], size=[2,2])", "2 sizes for 1 axes"},
      {"center_crop_pad(x[3], size=-1)", "a size of -1"},
      {"depth_to_space(x[3,2,2], block=2)", "channels divisible by 2 * 2"},
      {"depth_to_space(x[4,2,2], block=0)", "channels divisible by 0 * 0"},
      {"space_to_depth(x[4,2,3], block=2)", "rows and columns divisible by 2"},
      {"tile(x[3], times=-1)", "tile: -1 times"},
      {"searchsorted(x[2,2], y[3])", "must have one axis"},
      {"reverse_sequence(x[4,3], n[4]:i32)", "one integer for each place"},
      {"reverse_sequence(x[4,3], n[3])", "one integer for each place"},
      {"gather_nd(x[2,3], i[4,3]:i32)", "must have between 1 and 2 entries"},
      {"gather_nd(x[2,3], i[4,1]:i32, batch_dims=1)", "the first 1 axes"},
      {"dynamic_slice(x[4], s[2]:i32, size=2)", "start [2] and sizes [2] for the 1 axes"},
      {"dynamic_slice(x[4], s[1]:i32, size=5)", "5 elements of axis 0"},
      {"dynamic_update_slice(x[4], u[2]:f16, s[1]:i32)", "cast one of them"},
      {"scatter(x[3]:i32, i[1024]:i32, u[1024]:i32, reduce=mul)", "at most 1024"},
      {"copysign(x[3]:i32, y[3]:i32)", "copysign takes floats"},
      {"clz(x[3])", "clz takes integers"},
      {"l2_norm(x[3]:i32)", "l2_norm takes floats, not int32"},
      {"normalize(x[3,4]:i32)", "normalize takes floats, not int32"},
      {"isinf(x[3]:i32)", "isinf takes floats, not int32"},
      {"pad(x[5], before=1, after=1, value=3, mode=wrap)", "pad: value is for mode=constant"},
      {"l1_loss(x[3], t[3], reduction=max)", "l1_loss: reduction is one of none, mean, sum"},
      {"multi_margin_loss(x[3,4], t[4]:i32)", "multi_margin_loss: x [3,4] and targets [4]"},
      {"local_response_norm(x[3], size=3)", "local_response_norm"},
      {"softmin(x[3], axis=1)", "softmin: axis 1 is not in [-1, 1)"},
  };
  for (const auto& [text, why] : kErrors)
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

}  // namespace
}  // namespace touchstone::define
