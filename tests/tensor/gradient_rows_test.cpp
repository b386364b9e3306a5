#include <array>

#include "gradient_table.h"
#include "tensor_check.h"

namespace touchstone {
namespace {

using Ts = std::vector<Tensor>;

// Small ranks and sizes keep every row cheap.
Shape any_shape(int low_rank = 0, int high_rank = 3, std::int64_t smallest = 1) {
  Shape shape;
  for (std::int64_t rank = any_in(low_rank, high_rank); rank > 0; --rank)
    shape.emplace_back(any_in(smallest, 3));
  return shape;
}
int any_axis(const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return static_cast<int>(any_in(-rank, rank - 1));
}
std::vector<int> any_axes(const Shape& shape) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i)
    if (any_in(0, 1) == 0)
      axes.push_back(any_in(0, 1) == 0 ? i : i - static_cast<int>(shape.size()));
  return axes;
}
KeepDim any_keep() { return any_in(0, 1) == 0 ? KeepDim::No : KeepDim::Yes; }
// Rows x and x^2, one per device.
Tensor sharded(const Tensor& x) {
  return Tensor::stack({x, x.square()}).shard({x.device(), x.device() + ":1"}, 0);
}
Tensor any_positions(const Shape& shape, std::int64_t size) {
  std::vector<std::int64_t> at;
  for (std::int64_t i = max_elements(shape); i > 0; --i) at.push_back(any_in(-size, size - 1));
  return Tensor::from<std::int64_t>(at, shape);
}
Tensor any_mask(const Shape& shape) {
  std::vector<bool> truth;
  for (std::int64_t i = max_elements(shape); i > 0; --i) truth.push_back(any_in(0, 1) == 0);
  return Tensor::from<bool>(truth, shape);
}
Padding any_padding(const Shape& shape, std::int64_t most) {
  Padding padding;
  for (std::size_t i = 0; i < shape.size(); ++i)
    padding.emplace_back(any_in(0, most), any_in(0, most));
  return padding;
}
std::int64_t at(const Shape& shape, int axis) {
  return shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(shape.size()) : axis)]
      .as_int();
}

template <auto F>
Drawn unary(double low = -2, double high = 2) {
  return {{any_shape()}, [](const Ts& x) { return F(x[0]); }, low, high};
}
// Two operands that broadcast together.
template <auto F>
Drawn binary(double low = -2, double high = 2) {
  const Shape whole = any_shape();
  const auto part = [&] {
    Shape some(whole.begin() + any_in(0, static_cast<std::int64_t>(whole.size())), whole.end());
    for (sint& s : some)
      if (any_in(0, 3) == 0) s = 1;
    return some;
  };
  return {{part(), part()}, [](const Ts& x) { return F(x[0], x[1]); }, low, high};
}
template <auto F>
Drawn with_number(double low = -2, double high = 2) {
  const double n = static_cast<double>(any_in(1, 5)) + 0.21;
  return {{any_shape()}, [n](const Ts& x) { return F(x[0], n); }, low, high};
}
// By axes, by one axis, by position.
template <auto F>
Drawn reduction(double low = -2, double high = 2) {
  const Shape shape = any_shape(1);
  return {{shape},
          [axes = any_axes(shape), keep = any_keep()](const Ts& x) { return F(x[0], axes, keep); },
          low,
          high};
}
template <auto F>
Drawn whole(double low = -2, double high = 2) {
  return {{any_shape(1)}, [](const Ts& x) { return F(x[0]); }, low, high};
}
template <auto F>
Drawn along(double low = -2, double high = 2) {
  const Shape shape = any_shape(1);
  return {{shape}, [axis = any_axis(shape)](const Ts& x) { return F(x[0], axis); }, low, high};
}
template <PadMode kMode>
Drawn padded() {
  const Shape shape = any_shape(1, 3, 2);
  const Padding padding = any_padding(shape, kMode == PadMode::Reflect ? 1 : 2);
  return {{shape}, [padding](const Ts& x) { return x[0].pad(padding, kMode, 3); }};
}
template <bool kTransposed>
Drawn convolution() {
  const std::int64_t groups = any_in(1, 2), in = any_in(1, 2), out = any_in(1, 2),
                     axes = any_in(1, 2);
  ConvArgs args{.groups = groups};
  Shape x = {any_in(1, 2), in * groups}, w;
  if (kTransposed)
    w = {in * groups, out};
  else
    w = {out * groups, in};
  args.stride.clear();
  args.padding.clear();
  args.dilation.clear();
  args.output_padding.clear();
  for (std::int64_t i = 0; i < axes; ++i) {
    const std::int64_t kernel = any_in(1, 2), size = any_in(2, 3);
    args.stride.push_back(any_in(1, 2));
    args.dilation.push_back(any_in(1, 2));
    args.padding.push_back(
        size + kernel == 3 ? 0 : any_in(kTransposed ? 0 : 1, 1) * (kernel - (kTransposed ? 1 : 0)));
    args.output_padding.push_back(
        any_in(0, std::max(args.stride.back(), args.dilation.back()) - 1));
    x.emplace_back(size);
    w.emplace_back(kernel);
  }
  const Shape bias = {out * groups};
  return {{x, w, bias}, [args](const Ts& t) {
            return kTransposed ? conv_transpose(t[0], t[1], t[2], args)
                               : conv(t[0], t[1], t[2], args);
          }};
}
// Padded unevenly, or cropped.
Drawn uneven_convolution() {
  const std::int64_t groups = any_in(1, 2), in = any_in(1, 2), out = any_in(1, 2);
  Shape x = {1, groups * in}, w = {groups * out, in};
  ConvArgs args{.groups = groups};
  args.stride.clear();
  args.dilation.clear();
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t size = any_in(1, 5), kernel = any_in(1, 3), before = any_in(-1, 3),
                       after = any_in(-1, 3);
    args.stride.push_back(any_in(1, 3));
    args.dilation.push_back(any_in(1, 2));
    args.padding_pairs.emplace_back(before, after);
    RC_PRE(std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) + size >= 0);
    RC_PRE(size + before + after > args.dilation.back() * (kernel - 1));
    x.emplace_back(size);
    w.emplace_back(kernel);
  }
  return {{x, w}, [args](const Ts& t) { return conv(t[0], t[1], std::nullopt, args); }};
}
template <auto F>
Drawn pooling() {
  const PoolArgs args = {.stride = {{any_in(1, 2), any_in(1, 2)}}, .padding = {any_in(0, 1)}};
  return {{{any_in(1, 2), any_in(2, 3), any_in(2, 3)}}, [args](const Ts& x) {
            return F(x[0], {2, 2}, args);
          }};
}
template <auto F>
Drawn pooling2d() {
  return {{{2, any_in(2, 3), any_in(2, 4)}}, [n = any_in(1, 2)](const Ts& x) {
            return F(x[0], {2, n}, std::nullopt);
          }};
}
template <Interpolation kMode, AlignCorners kCorners>
Drawn resized() {
  return {{{any_in(1, 2), any_in(1, 3), any_in(1, 3)}},
          [a = any_in(1, 4), b = any_in(1, 4)](const Ts& x) {
            return interpolate(x[0], {a, b}, kMode, kCorners);
          }};
}
template <Order kOrder>
Drawn sorted() {
  const Shape shape = any_shape(1);
  return {{shape},
          [axis = any_axis(shape)](const Ts& x) { return sort(x[0], axis, kOrder).values; }};
}
template <auto F>
Drawn loss(double low = -2, double high = 2) {
  const auto reduction = static_cast<Reduction>(any_in(0, 2));
  const Shape shape = any_shape(1);
  return {{shape, shape}, [reduction](const Ts& x) { return F(x[0], x[1], reduction); }, low, high};
}
using LabelLoss = Tensor (*)(const Tensor&, const Tensor&, Reduction);
template <LabelLoss F>
Drawn labelled() {
  const std::int64_t n = any_in(1, 3), classes = any_in(1, 4);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(any_in(0, classes - 1));
  const auto reduction = static_cast<Reduction>(any_in(0, 2));
  return {{{n, classes}},
          [=](const Ts& x) { return F(x[0], Tensor::from<std::int64_t>(labels, {n}), reduction); }};
}
Drawn attention(int kind) {
  const std::int64_t heads = any_in(1, 2), queries = any_in(1, 3), keys = any_in(1, 3),
                     size = any_in(1, 2);
  std::vector<Shape> shapes = {{heads, queries, size}, {heads, keys, size}, {keys, any_in(1, 2)}};
  AttentionArgs args;
  if (kind == 1) args.causal = true;
  if (kind == 2) args.mask = maximum(any_mask({queries, keys}), Tensor::arange(0, keys) == 0);
  if (kind == 3) shapes.push_back({queries, keys});
  return {shapes, [=](const Ts& x) {
            AttentionArgs all = args;
            if (kind == 3) all.mask = x[3];
            return scaled_dot_product_attention(x[0], x[1], x[2], all);
          }};
}
Drawn einsum_of(const char* notation, std::vector<Shape> shapes) {
  return {std::move(shapes), [notation](const Ts& x) { return einsum(notation, x); }};
}

#define METHOD(name) [](const Tensor& x) { return x.name(); }

// clang-format off
constexpr auto kRows = std::to_array<GradientRow>({
  // Elementwise.
  {"operator-", [] { return unary<[](const Tensor& x) { return -x; }>(); }},
  {"exp", [] { return unary<METHOD(exp)>(); }},
  {"exp2", [] { return unary<METHOD(exp2)>(); }},
  {"log", [] { return unary<METHOD(log)>(0.5, 4); }},
  {"log2", [] { return unary<METHOD(log2)>(0.5, 4); }},
  {"sin", [] { return unary<METHOD(sin)>(); }},
  {"cos", [] { return unary<METHOD(cos)>(); }},
  {"tan", [] { return unary<METHOD(tan)>(-1, 1); }},
  {"expm1", [] { return unary<METHOD(expm1)>(); }},
  {"log1p", [] { return unary<METHOD(log1p)>(-0.9, 4); }},
  {"sinh", [] { return unary<METHOD(sinh)>(); }},
  {"cosh", [] { return unary<METHOD(cosh)>(); }},
  {"asinh", [] { return unary<METHOD(asinh)>(); }},
  {"acosh", [] { return unary<METHOD(acosh)>(1.2, 4); }},
  {"atanh", [] { return unary<METHOD(atanh)>(-0.9, 0.9); }},
  {"erfc", [] { return unary<METHOD(erfc)>(); }},
  {"log10", [] { return unary<METHOD(log10)>(0.5, 4); }},
  {"asin", [] { return unary<METHOD(asin)>(-0.9, 0.9); }},
  {"acos", [] { return unary<METHOD(acos)>(-0.9, 0.9); }},
  {"atan", [] { return unary<METHOD(atan)>(); }},
  {"cbrt", [] { return unary<METHOD(cbrt)>(0.5, 4); }},
  {"lgamma", [] { return unary<METHOD(lgamma)>(0.3, 4); }},
  {"digamma", [] { return unary<METHOD(digamma)>(0.3, 4); }},
  {"digamma/left", [] { return unary<METHOD(digamma)>(-0.8, -0.2); }},
  {"erfinv", [] { return unary<METHOD(erfinv)>(-0.9, 0.9); }},
  {"atan2", [] { return binary<[](const Tensor& a, const Tensor& b) { return atan2(a, b); }>(0.5, 3); }},
  {"hypot", [] { return binary<[](const Tensor& a, const Tensor& b) { return hypot(a, b); }>(0.5, 3); }},
  {"remainder", [] { return binary<[](const Tensor& a, const Tensor& b) { return remainder(a + 8, b + 4); }>(0.5, 3); }},
  {"celu", [] { return unary<[](const Tensor& x) { return x.celu(0.7); }>(); }},
  {"quick_gelu", [] { return unary<METHOD(quick_gelu)>(); }},
  {"sequential", [] { return unary<[](const Tensor& x) { return x.sequential({[](const Tensor& t) { return t.exp(); }, [](const Tensor& t) { return t.square(); }}); }>(); }},
  {"clone", [] { return unary<[](const Tensor& x) { return x.square().clone().exp(); }>(); }},
  {"double_", [] { return unary<[](const Tensor& x) { return x.square().double_(); }>(); }},
  {"where/number", [] { return unary<[](const Tensor& x) { return Tensor::where(x.detach() < 0, x.exp(), 2) * Tensor::where(x.detach() < 1, 3.5, x.square()); }>(); }},
  {"pow/number", [] { return unary<[](const Tensor& x) { return pow(2.5, x) * pow(x.square() + 1, 1.5); }>(); }},
  {"pad2d", [] { return Drawn{{{2, 3, 3}}, [a = any_in(-1, 2), b = any_in(-2, 2)](const Ts& x) { return x[0].pad2d({a, b, b, a}, 2).exp(); }}; }},
  {"sqrt", [] { return unary<METHOD(sqrt)>(0.5, 4); }},
  {"rsqrt", [] { return unary<METHOD(rsqrt)>(0.5, 4); }},
  {"reciprocal", [] { return unary<METHOD(reciprocal)>(0.5, 4); }},
  {"relu", [] { return unary<METHOD(relu)>(); }},
  {"sigmoid", [] { return unary<METHOD(sigmoid)>(); }},
  {"tanh", [] { return unary<METHOD(tanh)>(); }},
  {"erf", [] { return unary<METHOD(erf)>(-3, 3); }},
  {"abs", [] { return unary<METHOD(abs)>(); }},
  {"square", [] { return unary<METHOD(square)>(); }},
  {"pow/whole", [] { return Drawn{{any_shape()}, [n = static_cast<int>(any_in(1, 7)) - 4](const Ts& x) { return x[0].pow(n) * x[0]; }, 0.5, 3}; }},
  {"pow/fraction", [] { return with_number<[](const Tensor& x, double n) { return x.pow(n); }>(0.5, 3); }},
  {"pow/tensors", [] { return binary<[](const Tensor& a, const Tensor& b) { return pow(a, b); }>(0.5, 3); }},
  {"pow/negative base", [] { return unary<[](const Tensor& x) { return pow(x, Tensor::full({}, 3.0, {DType::Float64, "CPU"})); }>(-3, -0.5); }},
  {"clamp", [] { return unary<[](const Tensor& x) { return x.clamp(-0.5, 1); }>(); }},
  {"gelu", [] { return unary<METHOD(gelu)>(); }},
  {"gelu/erf", [] { return unary<[](const Tensor& x) { return x.gelu(GeluForm::Erf); }>(); }},
  {"silu", [] { return unary<METHOD(silu)>(); }},
  {"mish", [] { return unary<METHOD(mish)>(); }},
  {"softplus", [] { return unary<METHOD(softplus)>(); }},
  {"log_sigmoid", [] { return unary<METHOD(log_sigmoid)>(); }},
  {"softsign", [] { return unary<METHOD(softsign)>(); }},
  {"elu", [] { return unary<[](const Tensor& x) { return x.elu(0.7); }>(); }},
  {"selu", [] { return unary<METHOD(selu)>(); }},
  {"leaky_relu", [] { return unary<METHOD(leaky_relu)>(); }},
  {"relu6", [] { return unary<METHOD(relu6)>(-2, 8); }},
  {"hardtanh", [] { return unary<METHOD(hardtanh)>(); }},
  {"hardsigmoid", [] { return unary<METHOD(hardsigmoid)>(-4, 4); }},
  {"hardswish", [] { return unary<METHOD(hardswish)>(-4, 4); }},
  {"operator+", [] { return binary<[](const Tensor& a, const Tensor& b) { return a + b; }>(); }},
  {"operator-/binary", [] { return binary<[](const Tensor& a, const Tensor& b) { return a - b; }>(); }},
  {"operator*", [] { return binary<[](const Tensor& a, const Tensor& b) { return a * b; }>(); }},
  {"operator/", [] { return binary<[](const Tensor& a, const Tensor& b) { return a / b; }>(0.5, 3); }},
  {"maximum", [] { return binary<[](const Tensor& a, const Tensor& b) { return maximum(a, b); }>(); }},
  {"minimum", [] { return binary<[](const Tensor& a, const Tensor& b) { return minimum(a, b); }>(); }},
  {"operator+/number", [] { return with_number<[](const Tensor& x, double n) { return n + x + n; }>(); }},
  {"operator-/number", [] { return with_number<[](const Tensor& x, double n) { return n - (x - n); }>(); }},
  {"operator*/number", [] { return with_number<[](const Tensor& x, double n) { return n * x * n; }>(); }},
  {"operator//number", [] { return with_number<[](const Tensor& x, double n) { return n / (x / n); }>(0.5, 3); }},
  {"maximum/number", [] { return with_number<[](const Tensor& x, double n) { return maximum(x, n); }>(); }},
  {"minimum/number", [] { return with_number<[](const Tensor& x, double n) { return minimum(x, n); }>(); }},
  {"where", [] { return binary<[](const Tensor& a, const Tensor& b) { return Tensor::where(a.detach() < b.detach(), a.exp(), b.square()); }>(); }},
  {"cast", [] { return unary<[](const Tensor& x) { return x.square().cast(DType::Float64); }>(); }},
  {"contiguous", [] { return unary<[](const Tensor& x) { return x.square().contiguous().exp(); }>(); }},
  {"to", [] { return unary<[](const Tensor& x) { return x.square().to("CLANG").to("CPU").exp(); }>(); }},
  {"shard", [] { return unary<[](const Tensor& x) { return sharded(x).exp().to(x.device()).sum({0}); }>(); }},
  {"shard_like", [] { return unary<[](const Tensor& x) { return Tensor::stack({x, x.square()}).shard_like(sharded(x.detach())).exp().to(x.device()).sum({0}); }>(); }},
  // Reductions.
  {"sum", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.square().sum(a, k); }>(); }},
  {"sum/all", [] { return whole<METHOD(sum)>(); }},
  {"mean", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.mean(a, k); }>(); }},
  {"mean/all", [] { return whole<METHOD(mean)>(); }},
  {"max", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.max(a, k); }>(); }},
  {"max/all", [] { return whole<METHOD(max)>(); }},
  {"min", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.min(a, k); }>(); }},
  {"min/all", [] { return whole<METHOD(min)>(); }},
  {"prod", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.prod(a, k); }>(); }},
  {"prod/all", [] { return whole<METHOD(prod)>(-1.2, 1.2); }},
  {"var", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.var(a, 0, k); }>(); }},
  {"var/all", [] { return Drawn{{any_shape(1, 2, 2)}, [](const Ts& x) { return x[0].var(); }}; }},
  {"std", [] { return Drawn{{any_shape(2, 2, 2)}, [a = static_cast<int>(any_in(0, 1))](const Ts& x) { return x[0].std({a}); }}; }},
  {"std/all", [] { return Drawn{{any_shape(1, 2, 2)}, [](const Ts& x) { return x[0].std(); }}; }},
  {"logsumexp", [] { return reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.logsumexp(a, k); }>(); }},
  {"cumsum", [] { return along<[](const Tensor& x, int a) { return x.square().cumsum(a); }>(); }},
  {"cumprod", [] { return along<[](const Tensor& x, int a) { return x.cumprod(a); }>(); }},
  {"cummax", [] { return along<[](const Tensor& x, int a) { return x.cummax(a); }>(); }},
  {"cummin", [] { return along<[](const Tensor& x, int a) { return x.cummin(a); }>(); }},
  {"matmul", [] {
     const std::int64_t k = any_in(1, 3), b = any_in(1, 2);
     Shape left = {b, any_in(1, 3), k}, right = {any_in(0, 1) == 0 ? b : 1, k, any_in(1, 3)};
     left.erase(left.begin(), left.begin() + any_in(0, 2));
     right.erase(right.begin(), right.begin() + any_in(0, 1));
     if (any_in(0, 3) == 0) right = {k};
     return Drawn{{left, right}, [](const Ts& x) { return x[0].matmul(x[1]); }};
   }},
  // Movement.
  {"reshape", [] { return unary<[](const Tensor& x) { return x.square().reshape({-1}); }>(); }},
  {"permute", [] { return Drawn{{any_shape(3, 3)}, [](const Ts& x) { return x[0].permute({2, 0, 1}).exp(); }}; }},
  {"transpose", [] { return Drawn{{any_shape(2, 3)}, [](const Ts& x) { return x[0].transpose().exp(); }}; }},
  {"movedim", [] { return Drawn{{any_shape(3, 3)}, [a = static_cast<int>(any_in(-3, 2)), b = static_cast<int>(any_in(-3, 2))](const Ts& x) { return x[0].movedim(a, b).exp(); }}; }},
  {"expand", [] { return unary<[](const Tensor& x) { Shape s(x.shape().size() + 1, -1); s[0] = 2; return x.expand(s).exp(); }>(); }},
  {"pad", [] { const Shape s = any_shape(1); return Drawn{{s}, [p = any_padding(s, 2)](const Ts& x) { return x[0].pad(p).exp(); }}; }},
  {"pad/constant", padded<PadMode::Constant>},
  {"pad/reflect", padded<PadMode::Reflect>},
  {"pad/replicate", padded<PadMode::Replicate>},
  {"pad/circular", padded<PadMode::Circular>},
  {"shrink", [] { return Drawn{{{3, 3}}, [a = any_in(0, 3), b = any_in(0, 2)](const Ts& x) { return x[0].shrink({{0, a}, {b, 3}}).exp(); }}; }},
  {"flip", [] { const Shape s = any_shape(1); return Drawn{{s}, [a = any_axes(s)](const Ts& x) { return x[0].flip(a).exp(); }}; }},
  {"slice", [] {
     const std::int64_t step = any_in(1, 3) * (any_in(0, 1) == 0 ? 1 : -1);
     return Drawn{{any_shape(2, 2)}, [step, from = any_in(-4, 4)](const Ts& x) { return x[0].slice({{.begin = from, .step = step}, {.step = -step}}).exp(); }};
   }},
  {"unsqueeze", [] { return unary<[](const Tensor& x) { return x.unsqueeze(-1).exp(); }>(); }},
  {"squeeze", [] { return unary<[](const Tensor& x) { return x.unsqueeze(0).squeeze(0).exp(); }>(); }},
  {"squeeze/all", [] { return unary<METHOD(squeeze)>(); }},
  {"flatten", [] { return unary<[](const Tensor& x) { return x.flatten().exp(); }>(); }},
  {"unflatten", [] { return Drawn{{{2, 6}}, [](const Ts& x) { return x[0].unflatten(1, {2, -1}).exp(); }}; }},
  {"narrow", [] { return Drawn{{{2, 3}}, [a = any_in(0, 2)](const Ts& x) { return x[0].narrow(1, a, 1).exp(); }}; }},
  {"split", [] { return Drawn{{{2, 3}}, [](const Ts& x) { const Ts p = x[0].split({1, 2}, 1); return p[0] * p[1]; }}; }},
  {"split/size", [] { return Drawn{{{3, 2}}, [](const Ts& x) { const Ts p = x[0].split(2); return p[0] * p[1]; }}; }},
  {"chunk", [] { return Drawn{{{2, 4}}, [](const Ts& x) { const Ts p = x[0].chunk(2, 1); return p[0] * p[1]; }}; }},
  {"repeat", [] { return Drawn{{any_shape(2, 2)}, [a = any_in(0, 2), b = any_in(1, 2)](const Ts& x) { return x[0].repeat({a, b}); }}; }},
  {"repeat_interleave", [] { const Shape s = any_shape(1); return Drawn{{s}, [n = any_in(0, 3), a = any_axis(s)](const Ts& x) { return x[0].repeat_interleave(n, a); }}; }},
  {"roll", [] { const Shape s = any_shape(1); return Drawn{{s}, [n = any_in(-4, 4), a = any_axis(s)](const Ts& x) { return x[0].roll(n, a) * x[0]; }}; }},
  {"unfold", [] { return Drawn{{{2, any_in(2, 5)}}, [n = any_in(1, 2), s = any_in(1, 3)](const Ts& x) { return x[0].unfold(1, n, s).exp(); }}; }},
  {"triu", [] { return Drawn{{any_shape(2, 3)}, [k = any_in(-2, 2)](const Ts& x) { return x[0].triu(k).exp(); }}; }},
  {"tril", [] { return Drawn{{any_shape(2, 3)}, [k = any_in(-2, 2)](const Ts& x) { return x[0].tril(k).exp(); }}; }},
  {"diagonal", [] { return Drawn{{any_shape(3, 3)}, [a = static_cast<int>(any_in(0, 1))](const Ts& x) { return x[0].diagonal(a, 2).exp(); }}; }},
  {"cat", [] { return Drawn{{{2, any_in(0, 2)}, {2, any_in(1, 3)}}, [](const Ts& x) { return Tensor::cat({x[0], x[1].exp(), x[0]}, 1); }}; }},
  {"stack", [] { const Shape s = any_shape(); return Drawn{{s, s}, [](const Ts& x) { return Tensor::stack({x[0], x[1].exp()}, -1); }}; }},
  // Indexed by tensors.
  {"take", [] {
     const Shape s = any_shape(1);
     const int axis = any_axis(s);
     return Drawn{{s}, [axis, i = any_positions({2, 2}, at(s, axis))](const Ts& x) { return take(x[0], i, axis).exp(); }};
   }},
  {"index", [] {
     const Tensor i = any_positions({2, 1}, 2), j = any_positions({3}, 3);
     return Drawn{{{2, 3, 2}}, [=](const Ts& x) { return index(x[0], {i, j, -1}) * index(x[0], {kNewAxis, i, Slice{.step = 2}, j.clamp(-2, 1)}).sum({2, 3}); }};
   }},
  {"index/mask", [] { return Drawn{{{2, 3}}, [m = any_mask({2, 3})](const Ts& x) { return index(x[0], {m}).exp(); }}; }},
  {"gather", [] { return Drawn{{{2, 3}}, [i = any_positions({any_in(1, 2), any_in(1, 4)}, 3)](const Ts& x) { return gather(x[0], 1, i).exp(); }}; }},
  {"scatter", [] { return Drawn{{{3, 2}, {4, 2}}, [i = any_positions({4, 2}, 3)](const Ts& x) { return scatter(x[0], 0, i, x[1].exp()); }}; }},
  {"scatter_add", [] { return Drawn{{{2, 3}, {1, 4}}, [i = any_positions({1, 4}, 3)](const Ts& x) { return scatter_add(x[0], 1, i, x[1].exp()); }}; }},
  {"masked_fill", [] { return Drawn{{{2, 3}}, [m = any_mask({3})](const Ts& x) { return masked_fill(x[0].exp(), m, 2); }}; }},
  {"sort", sorted<Order::Ascending>},
  {"sort/descending", sorted<Order::Descending>},
  {"topk", [] { return Drawn{{{2, 4}}, [k = any_in(0, 4)](const Ts& x) { return topk(x[0], k).values.exp(); }}; }},
  // Sums of products.
  {"einsum", [] { return einsum_of("ij,jk->ik", {{any_in(1, 3), 2}, {2, any_in(1, 3)}}); }},
  {"einsum/diagonal", [] { return einsum_of("iij->j", {{2, 2, any_in(1, 3)}}); }},
  {"einsum/ellipsis", [] { return einsum_of("...i,i,j...->j...", {{any_in(1, 2), 2, 2}, {2}, {3, 2}}); }},
  {"conv", convolution<false>},
  {"conv_transpose", convolution<true>},
  {"conv/pairs", uneven_convolution},
  {"conv_transpose/pairs", [] { return Drawn{{{1, 1, 3}, {1, 1, 2}}, [a = any_in(-1, 1), b = any_in(-1, 1)](const Ts& x) { return conv_transpose(x[0], x[1], std::nullopt, {.padding_pairs = {{a, b}}}); }}; }},
  {"conv1d", [] { return Drawn{{{1, 2, 3}, {2, 2, 2}}, [](const Ts& x) { return conv1d(x[0], x[1]); }}; }},
  {"conv2d", [] { return Drawn{{{1, 2, 3, 2}, {1, 2, 2, 2}, {1}}, [](const Ts& x) { return conv2d(x[0], x[1], x[2], {.stride = {2, 1}, .padding = {1, 0}}); }}; }},
  {"pool", [] { return Drawn{{{2, any_in(2, 3), 3}}, [](const Ts& x) { return pool(x[0], {2, 2}, {.stride = {1, 2}, .padding = {0, 1}}).exp(); }}; }},
  {"max_pool", pooling<max_pool>},
  {"avg_pool", pooling<avg_pool>},
  {"max_pool2d", pooling2d<max_pool2d>},
  {"avg_pool2d", pooling2d<avg_pool2d>},
  {"interpolate", resized<Interpolation::Nearest, AlignCorners::No>},
  {"interpolate/linear", resized<Interpolation::Linear, AlignCorners::No>},
  {"interpolate/corners", resized<Interpolation::Linear, AlignCorners::Yes>},
  {"scaled_dot_product_attention/dropout", [] { return Drawn{{{2, 2}, {2, 2}, {2, 1}}, [](const Ts& x) { Generator g(3); return scaled_dot_product_attention(x[0], x[1], x[2], {.dropout = 0.3, .generator = &g}); }}; }},
  {"linear", [] { return Drawn{{{2, 3}, {2, 3}, {2}}, [](const Ts& x) { return linear(x[0], x[1], x[2]); }}; }},
  // Layers.
  {"softmax", [] { return along<softmax>(); }},
  {"log_softmax", [] { return along<log_softmax>(); }},
  {"layernorm", [] { return Drawn{{{any_in(2, 3), any_in(2, 3)}}, [a = static_cast<int>(any_in(0, 1))](const Ts& x) { return layernorm(x[0], a, 0.1); }}; }},
  {"layer_norm", [] { return Drawn{{{2, 3, 2}, {3, 2}, {3, 2}}, [](const Ts& x) { return layer_norm(x[0], 2, {x[1], x[2]}, 0.1); }}; }},
  {"rms_norm", [] { return Drawn{{{any_in(1, 2), 3}, {3}}, [](const Ts& x) { return rms_norm(x[0], x[1], 0.1); }}; }},
  {"batch_norm", [] { return Drawn{{{2, 2, 3}, {2}, {2}, {2}, {2}}, [](const Ts& x) { return batch_norm(x[0], x[1], x[2], {x[3], x[4]}); }, 0.5, 3}; }},
  {"group_norm", [] { return Drawn{{{any_in(1, 2), 4, 2}, {4}, {4}}, [g = any_in(1, 2)](const Ts& x) { return group_norm(x[0], g, {x[1], x[2]}, 0.1); }}; }},
  {"instance_norm", [] { return Drawn{{{1, 2, 3}}, [](const Ts& x) { return instance_norm(x[0], {}, 0.1); }}; }},
  {"scaled_dot_product_attention", [] { return attention(0); }},
  {"scaled_dot_product_attention/causal", [] { return attention(1); }},
  {"scaled_dot_product_attention/mask", [] { return attention(2); }},
  {"scaled_dot_product_attention/bias", [] { return attention(3); }},
  {"dropout", [] { return unary<[](const Tensor& x) { Generator g(3); return dropout(x, 0.4, g).square(); }>(); }},
  // Losses.
  {"mse_loss", [] { return loss<mse_loss>(); }},
  {"l1_loss", [] { return loss<l1_loss>(); }},
  {"huber_loss", [] { return loss<[](const Tensor& x, const Tensor& y, Reduction r) { return huber_loss(x, y, 0.6, r); }>(); }},
  {"binary_cross_entropy", [] { return loss<binary_cross_entropy>(0.1, 0.9); }},
  {"binary_cross_entropy_with_logits", [] { return loss<binary_cross_entropy_with_logits>(); }},
  {"nll_loss", labelled<nll_loss>},
  {"cross_entropy", labelled<cross_entropy>},
  {"cross_entropy/smoothed", labelled<[](const Tensor& x, const Tensor& y, Reduction r) { return cross_entropy(x, y, {0.2, -1, r}); }>},
});

constexpr auto kWithout = std::to_array<WithoutGradient>({
  {"full", "made of numbers"}, {"zeros", "made of numbers"}, {"ones", "made of numbers"},
  {"empty", "made of nothing"}, {"arange", "made of numbers"}, {"linspace", "made of numbers"},
  {"eye", "made of numbers"}, {"from", "made of numbers"}, {"full_like", "takes a shape alone"},
  {"zeros_like", "takes a shape alone"}, {"ones_like", "takes a shape alone"},
  {"uniform", "random"}, {"normal", "random"}, {"randint", "random"}, {"glorot_uniform", "random"},
  {"glorot_normal", "random"}, {"kaiming_uniform", "random"}, {"kaiming_normal", "random"},
  {"bitcast", "bits are not numbers"}, {"detach", "asks for none"}, {"bind", "gives no history"},
  {"floor", "constant in pieces"}, {"ceil", "constant in pieces"}, {"trunc", "constant in pieces"},
  {"round", "constant in pieces"}, {"sign", "constant in pieces"}, {"isnan", "gives bool"},
  {"isinf", "gives bool"}, {"isfinite", "gives bool"}, {"logical_not", "gives bool"},
  {"any", "gives bool"}, {"all", "gives bool"}, {"one_hot", "gives bool"},
  {"argmax", "gives positions"}, {"argmin", "gives positions"}, {"argsort", "gives positions"},
  {"nonzero", "gives positions"}, {"mod", "not differentiated"},
  {"floor_div", "not differentiated"}, {"operator&", "not differentiated"}, {"operator|", "not differentiated"},
  {"operator<", "gives bool"}, {"operator<=", "gives bool"}, {"operator>", "gives bool"},
  {"operator>=", "gives bool"}, {"operator==", "gives bool"}, {"operator!=", "gives bool"},
  {"empty_like", "made of nothing"}, {"none", "no tensor"},
  {"rand", "random"}, {"randn", "random"}, {"rand_like", "random"}, {"randn_like", "random"},
  {"scaled_uniform", "random"}, {"multinomial", "random"}, {"operator^", "not differentiated"},
  {"half", "a cast, whose differences are too coarse"},
  {"float_", "a cast, whose differences are too coarse"}, {"int_", "gives integers"},
  {"long_", "gives integers"}, {"bool_", "gives bool"},
  {"set", "refuses history"}, {"to_", "refuses history"}, {"shard_", "refuses history"}, {"retain_grad", "no operation"},
  {"operator+=", "+ or no history"}, {"operator-=", "- or no history"},
  {"operator*=", "* or no history"}, {"operator/=", "/ or no history"},
  {"gradients", "tested as second derivatives"},
  {"set_requires_grad", "no operation"}, {"realize", "no operation"},
});
// clang-format on

}  // namespace

std::span<const GradientRow> gradient_rows() { return kRows; }
std::span<const WithoutGradient> without_gradient() { return kWithout; }

}  // namespace touchstone
