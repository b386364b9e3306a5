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

// The sum over all taps of x * w * r, with r a factor per output, is linear in each of the three;
// its gradients, summed tap by tap, determine everything.
struct Taps {
  std::int64_t n, groups, cin, cout;  // channels per group
  std::array<std::int64_t, 2> size, kernel, stride, dilation;
  std::array<std::pair<std::int64_t, std::int64_t>, 2> padding;  // negative: cropping

  std::int64_t out(std::size_t a) const {
    const std::int64_t room =
        size[a] + padding[a].first + padding[a].second - dilation[a] * (kernel[a] - 1) - 1;
    return room < 0 ? 0 : room / stride[a] + 1;
  }
  Shape x_shape() const { return {n, groups * cin, size[0], size[1]}; }
  Shape w_shape() const { return {groups * cout, cin, kernel[0], kernel[1]}; }
  Shape r_shape() const { return {n, groups * cout, out(0), out(1)}; }

  struct Gradients {
    Doubles x, w, r;
  };
  Gradients of(const Doubles& x, const Doubles& w, const Doubles& r) const {
    Gradients g{Doubles(x.size()), Doubles(w.size()), Doubles(r.size())};
    const auto at = [](std::int64_t a, std::int64_t b, std::int64_t nb, std::int64_t c,
                       std::int64_t nc, std::int64_t d, std::int64_t nd) {
      return static_cast<std::size_t>(((a * nb + b) * nc + c) * nd + d);
    };
    for (std::int64_t b = 0; b < n; ++b)
      for (std::int64_t o = 0; o < groups * cout; ++o)
        for (std::int64_t y = 0; y < out(0); ++y)
          for (std::int64_t z = 0; z < out(1); ++z)
            for (std::int64_t i = 0; i < cin; ++i)
              for (std::int64_t u = 0; u < kernel[0]; ++u)
                for (std::int64_t v = 0; v < kernel[1]; ++v) {
                  const std::int64_t row = y * stride[0] + u * dilation[0] - padding[0].first,
                                     column = z * stride[1] + v * dilation[1] - padding[1].first;
                  if (row < 0 || row >= size[0] || column < 0 || column >= size[1]) continue;
                  const std::size_t ix = at(b, o / cout * cin + i, groups * cin, row, size[0],
                                            column, size[1]),
                                    iw = at(o, i, cin, u, kernel[0], v, kernel[1]),
                                    ir = at(b, o, groups * cout, y, out(0), z, out(1));
                  g.x[ix] += w[iw] * r[ir];
                  g.w[iw] += x[ix] * r[ir];
                  g.r[ir] += x[ix] * w[iw];
                }
    return g;
  }
};

RC_GTEST_PROP(Convolutions, OfAnySizesHaveTheGradientsOfTheirTaps, ()) {
  register_devices();
  Taps t{any_in(1, 2), any_in(1, 2), any_in(1, 2), any_in(1, 2), {}, {}, {}, {}, {}};
  for (std::size_t a = 0; a < 2; ++a) {
    t.size[a] = any_in(1, 7);
    t.kernel[a] = any_in(1, 3);
    t.stride[a] = any_in(1, 3);
    t.dilation[a] = any_in(1, 2);
    t.padding[a] = {any_in(-1, 3), any_in(-1, 3)};
    RC_PRE(t.out(a) > 0);
    RC_PRE(std::max<std::int64_t>(-t.padding[a].first, 0) +
               std::max<std::int64_t>(-t.padding[a].second, 0) <=
           t.size[a]);
  }
  const auto drawn = [](const Shape& shape, std::uint64_t seed) {
    std::int64_t n = 1;
    for (const sint& s : shape) n *= s.as_int();
    return some(n, -2, 2, seed);
  };
  const Doubles x = drawn(t.x_shape(), 1), w = drawn(t.w_shape(), 2), r = drawn(t.r_shape(), 3),
                q = drawn(t.x_shape(), 4);
  Tensor tx = Tensor::from<double>(x, t.x_shape()), tw = Tensor::from<double>(w, t.w_shape()),
         tr = Tensor::from<double>(r, t.r_shape());
  for (Tensor* leaf : {&tx, &tw, &tr}) leaf->set_requires_grad(true);
  const Tensor sum = (conv(tx, tw, std::nullopt,
                           {.stride = {t.stride[0], t.stride[1]},
                            .dilation = {t.dilation[0], t.dilation[1]},
                            .groups = t.groups,
                            .padding_pairs = {t.padding[0], t.padding[1]}}) *
                      tr)
                         .sum();
  const auto same = [](const Tensor& got, const Doubles& wanted) {
    const Doubles values = read_doubles(got);
    RC_ASSERT(values.size() == wanted.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      RC_ASSERT(std::abs(values[i] - wanted[i]) < 1e-11);
  };
  const std::vector<Tensor> first = gradients(sum, {tx, tw, tr}, CreateGraph::Yes);
  const Taps::Gradients wanted = t.of(x, w, r);
  same(first[0], wanted.x);
  same(first[1], wanted.w);
  same(first[2], wanted.r);
  // The input's gradient, weighted by q, is the sum over taps of q * w * r.
  const std::vector<Tensor> second =
      gradients((first[0] * Tensor::from<double>(q, t.x_shape())).sum(), {tw, tr});
  const Taps::Gradients of_second = t.of(q, w, r);
  same(second[0], of_second.w);
  same(second[1], of_second.r);
}

}  // namespace
}  // namespace touchstone
