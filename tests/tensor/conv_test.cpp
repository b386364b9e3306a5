#include <gtest/gtest.h>

#include "tensor_check.h"

namespace touchstone {
namespace {

struct ConvCase {
  std::int64_t n, cin, cout, h, w, kh, kw;
  WindowArgs args;
  std::int64_t out_h() const {
    return (h + 2 * args.padding[0] - args.dilation[0] * (kh - 1) - 1) / args.stride[0] + 1;
  }
  std::int64_t out_w() const {
    return (w + 2 * args.padding[1] - args.dilation[1] * (kw - 1) - 1) / args.stride[1] + 1;
  }
};

// The seven loops.
Doubles naive_conv(const ConvCase& c, const Doubles& x, const Doubles& weight) {
  Doubles out;
  for (std::int64_t b = 0; b < c.n; ++b)
    for (std::int64_t o = 0; o < c.cout; ++o)
      for (std::int64_t y = 0; y < c.out_h(); ++y)
        for (std::int64_t z = 0; z < c.out_w(); ++z) {
          double sum = 0;
          for (std::int64_t i = 0; i < c.cin; ++i)
            for (std::int64_t u = 0; u < c.kh; ++u)
              for (std::int64_t v = 0; v < c.kw; ++v) {
                const std::int64_t at_h =
                    y * c.args.stride[0] + u * c.args.dilation[0] - c.args.padding[0];
                const std::int64_t at_w =
                    z * c.args.stride[1] + v * c.args.dilation[1] - c.args.padding[1];
                if (at_h < 0 || at_h >= c.h || at_w < 0 || at_w >= c.w) continue;
                sum += x[static_cast<std::size_t>(((b * c.cin + i) * c.h + at_h) * c.w + at_w)] *
                       weight[static_cast<std::size_t>(((o * c.cin + i) * c.kh + u) * c.kw + v)];
              }
          out.push_back(sum);
        }
  return out;
}

Tensor conv_of(const ConvCase& c, const std::string& device) {
  const Tensor x =
      Tensor::from<double>(some(c.n * c.cin * c.h * c.w), {c.n, c.cin, c.h, c.w}, device);
  const Tensor w = Tensor::from<double>(some(c.cout * c.cin * c.kh * c.kw, -1, 1, 2),
                                        {c.cout, c.cin, c.kh, c.kw}, device);
  return conv2d(x, w, std::nullopt, c.args);
}

Expectation expected(const ConvCase& c, const std::string& device) {
  const Tensor out = conv_of(c, device);
  EXPECT_EQ(out.shape(), (Shape{c.n, c.cout, c.out_h(), c.out_w()}));
  return {out, naive_conv(c, some(c.n * c.cin * c.h * c.w),
                          some(c.cout * c.cin * c.kh * c.kw, -1, 1, 2))};
}

class Conv : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Conv);

TEST_P(Conv, EqualsTheLoops) {
  const std::vector<ConvCase> cases = {
      {2, 3, 4, 6, 5, 3, 3, {}},
      {1, 2, 2, 6, 6, 3, 3, {.padding = {1, 1}}},
      {1, 1, 1, 7, 8, 3, 2, {.stride = {2, 3}}},
      {1, 1, 2, 5, 5, 1, 1, {.stride = {2, 2}}},
      {1, 2, 1, 9, 9, 3, 3, {.stride = {2, 2}, .padding = {1, 2}, .dilation = {2, 1}}},
      {1, 1, 1, 6, 6, 2, 2, {.stride = {2, 2}}},
      {1, 1, 1, 4, 4, 4, 4, {}}};
  std::vector<Expectation> all;
  for (const ConvCase& c : cases) all.push_back(expected(c, device()));
  expect_near(all);
}

TEST_P(Conv, AddsABiasPerChannel) {
  const Tensor x = make(Doubles(9, 1), {1, 1, 3, 3}), w = make(Doubles(8, 1), {2, 1, 2, 2});
  expect_near(conv2d(x, w, make({10, 20}, {2})), {14, 14, 14, 14, 24, 24, 24, 24});
  EXPECT_THROW(conv2d(x, w, make({10}, {1})), ShapeError);
  EXPECT_THROW(conv2d(x, make(Doubles(32, 1), {2, 1, 4, 4})), ShapeError);
}

TEST_P(Conv, PoolsEqualTheLoops) {
  const Doubles x = some(2 * 7 * 6);
  std::vector<Expectation> all;
  for (const std::int64_t stride : {1, 2, 3}) {
    const std::int64_t oh = (7 - 2) / stride + 1, ow = (6 - 2) / stride + 1;
    Doubles largest, mean;
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j) {
          const auto at = [&](std::int64_t u, std::int64_t v) {
            return x[static_cast<std::size_t>((c * 7 + i * stride + u) * 6 + j * stride + v)];
          };
          largest.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
          mean.push_back((at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4);
        }
    const Tensor image = make(x, {1, 2, 7, 6});
    all.push_back({max_pool2d(image, {2, 2}, {{stride, stride}}), largest});
    all.push_back({avg_pool2d(image, {2, 2}, {{stride, stride}}), mean});
  }
  expect_near(all);
}

RC_GTEST_PROP(Convolutions, OfAnySizesEqualTheLoops, ()) {
  register_devices();
  const auto pick = any_in;
  const ConvCase c{
      pick(1, 2), pick(1, 2),
      pick(1, 2), pick(1, 6),
      pick(1, 6), pick(1, 3),
      pick(1, 3), {{pick(1, 3), pick(1, 3)}, {pick(0, 2), pick(0, 2)}, {pick(1, 2), pick(1, 2)}}};
  RC_PRE(c.h + 2 * c.args.padding[0] >= c.args.dilation[0] * (c.kh - 1) + 1);
  RC_PRE(c.w + 2 * c.args.padding[1] >= c.args.dilation[1] * (c.kw - 1) + 1);
  const Doubles got = read_doubles(conv_of(c, "CPU"));
  const Doubles wanted =
      naive_conv(c, some(c.n * c.cin * c.h * c.w), some(c.cout * c.cin * c.kh * c.kw, -1, 1, 2));
  RC_ASSERT(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) RC_ASSERT(std::abs(got[i] - wanted[i]) < 1e-12);
}

}  // namespace
}  // namespace touchstone
