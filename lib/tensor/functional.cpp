#include "touchstone/tensor/functional.h"

#include <cmath>
#include <limits>
#include <utility>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {
namespace {

DType common_type(const Tensor& x, std::initializer_list<std::optional<Tensor>> others) {
  DType dtype = x.dtype();
  for (const auto& other : others)
    if (other) dtype = promote(dtype, other->dtype());
  return dtype;
}
// The type of a function of reals.
template <class... Others>
DType type_of(const Tensor& x, const Others&... others) {
  const DType dtype = common_type(x, {others...});
  return is_float(dtype) ? dtype : DType::Float32;
}

// In the wide type of both, in which integers lose no more than they must.
Tensor wide_beside(const Tensor& x, const Tensor& other) {
  return mlops::wide(x.cast(type_of(x, other)));
}

Tensor reduced(const Tensor& losses, Reduction reduction, DType dtype) {
  if (reduction == Reduction::None) return losses.cast(dtype);
  return (reduction == Reduction::Sum ? losses.sum() : losses.mean()).cast(dtype);
}

void check_same(const char* who, const Tensor& x, const Tensor& wanted) {
  if (x.shape() != wanted.shape())
    throw ShapeError(fmt::format("{}: shape {} and wanted {} differ; reshape or expand one", who,
                                 str(x.shape()), str(wanted.shape())));
}

// Normalises to mean 0 and variance 1 over axes.
Tensor normalised(const Tensor& given, const std::vector<int>& axes, double eps) {
  const Tensor x = mlops::wide(given);
  const Tensor centred = x - x.mean(axes, KeepDim::Yes);
  return centred * (centred.square().mean(axes, KeepDim::Yes) + eps).rsqrt();
}

Tensor scaled(const Tensor& x, const Affine& affine) {
  const Tensor wide = affine.weight ? x * *affine.weight : x;
  return affine.bias ? wide + *affine.bias : wide;
}

// One number per channel, shaped to broadcast over (n, channels, ...).
Tensor per_channel(const char* who, const Tensor& x, const Tensor& values) {
  if (x.rank() < 2 || values.shape() != Shape{x.shape()[1]})
    throw ShapeError(
        fmt::format("{}: {} for each channel of {}; expected (n, channels, ...) and (channels)",
                    who, str(values.shape()), str(x.shape())));
  Shape row(static_cast<std::size_t>(x.rank()), 1);
  row[1] = x.shape()[1];
  return values.reshape(row);
}
Affine per_channel(const char* who, const Tensor& x, const Affine& affine) {
  Affine wide;
  if (affine.weight) wide.weight = per_channel(who, x, *affine.weight);
  if (affine.bias) wide.bias = per_channel(who, x, *affine.bias);
  return wide;
}

std::vector<int> last_axes(int count) {
  std::vector<int> axes;
  for (int i = count; i > 0; --i) axes.push_back(-i);
  return axes;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const OriginScope origin("linear");
  const DType dtype = common_type(x, {weight, bias});
  if (!bias || !is_float(dtype)) {
    const Tensor out = x.matmul(weight.transpose());
    return bias ? out + *bias : out;
  }
  return (mlops::wide(x.cast(dtype)).matmul(mlops::wide(weight).transpose()) + *bias).cast(dtype);
}

namespace {

// Softmax functions accept axes 0 and -1 of a scalar, as in PyTorch.
bool of_scalar(const Tensor& x, int axis) { return x.rank() == 0 && (axis == 0 || axis == -1); }

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const OriginScope origin("softmax");
  if (of_scalar(x, axis)) return softmax(x.unsqueeze(0)).squeeze(0);
  const Tensor wide = mlops::wide(x);
  const Tensor powers = (wide - wide.max({axis}, KeepDim::Yes).detach()).exp();
  return (powers / powers.sum({axis}, KeepDim::Yes)).cast(type_of(x));
}

Tensor log_softmax(const Tensor& x, int axis) {
  const OriginScope origin("log_softmax");
  if (of_scalar(x, axis)) return log_softmax(x.unsqueeze(0)).squeeze(0);
  const Tensor wide = mlops::wide(x), shifted = wide - wide.max({axis}, KeepDim::Yes).detach();
  return (shifted - shifted.exp().sum({axis}, KeepDim::Yes).log()).cast(type_of(x));
}

Tensor layernorm(const Tensor& x, int axis, double eps) {
  const OriginScope origin("layernorm");
  return normalised(x, {axis}, eps).cast(type_of(x));
}

Tensor layer_norm(const Tensor& x, int axes, const Affine& affine, double eps) {
  const OriginScope origin("layer_norm");
  if (axes < 1 || axes > x.rank())
    throw ShapeError(fmt::format("layer_norm: over {} axes of shape {}; expected 1 to {}", axes,
                                 str(x.shape()), x.rank()));
  const Shape normal(x.shape().end() - axes, x.shape().end());
  for (const auto& part : {affine.weight, affine.bias})
    if (part && part->shape() != normal)
      throw ShapeError(fmt::format("layer_norm: weight or bias {} for sizes {}; they must be equal",
                                   str(part->shape()), str(normal)));
  return scaled(normalised(x, last_axes(axes), eps), affine)
      .cast(type_of(x, affine.weight, affine.bias));
}

Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight, double eps) {
  const OriginScope origin("rms_norm");
  const Tensor wide = mlops::wide(x);
  const Tensor out = wide * (wide.square().mean({-1}, KeepDim::Yes) + eps).rsqrt();
  return (weight ? out * *weight : out).cast(type_of(x, weight));
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Affine& affine,
                  double eps) {
  const OriginScope origin("batch_norm");
  const Tensor centred = mlops::wide(x) - per_channel("batch_norm", x, mean);
  const Tensor inverse = (mlops::wide(per_channel("batch_norm", x, variance)) + eps).rsqrt();
  return scaled(centred * inverse, per_channel("batch_norm", x, affine))
      .cast(type_of(x, mean, variance, affine.weight, affine.bias));
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Affine& affine, double eps) {
  const OriginScope origin("group_norm");
  if (x.rank() < 2 || groups < 1 || x.size(1) % groups != 0)
    throw ShapeError(
        fmt::format("group_norm: {} groups of the channels of shape {}; expected (n, channels, "
                    "...) and groups that divide the channels",
                    groups, str(x.shape())));
  const Tensor apart = x.unflatten(1, {groups, x.size(1) / groups});
  const Tensor even = normalised(apart, last_axes(apart.rank() - 2), eps).reshape(x.shape());
  return scaled(even, per_channel("group_norm", x, affine))
      .cast(type_of(x, affine.weight, affine.bias));
}
Tensor instance_norm(const Tensor& x, const Affine& affine, double eps) {
  const OriginScope origin("instance_norm");
  return group_norm(x, x.rank() < 2 ? 1 : x.size(1), affine, eps);
}

Tensor scaled_dot_product_attention(const Tensor& given, const Tensor& keys, const Tensor& values,
                                    const AttentionArgs& args) {
  const OriginScope origin("scaled_dot_product_attention");
  const Tensor q = mlops::wide(given), k = mlops::wide(keys), v = mlops::wide(values);
  const bool adds = args.mask && !is_bool(args.mask->dtype());
  const DType dtype = adds ? type_of(given, keys, values, args.mask) : type_of(given, keys, values);
  const auto from_end = [](const Tensor& x, std::size_t i) {
    return x.shape()[x.shape().size() - i];
  };
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2 || from_end(q, 1) != from_end(k, 1) ||
      from_end(k, 2) != from_end(v, 2))
    throw ShapeError(
        fmt::format("scaled_dot_product_attention: queries {}, keys {}, values {}: expected (..., "
                    "queries, size), "
                    "(..., keys, size), (..., keys, out)",
                    str(q.shape()), str(k.shape()), str(v.shape())));
  const double scale = args.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor products = q.matmul(k.transpose()) * scale;
  const Tensor never =
      Tensor::full({}, -std::numeric_limits<double>::infinity(), {products.dtype(), q.device()});
  const auto allow = [&](const Tensor& allowed) {
    products = Tensor::where(allowed, products, never);
  };
  if (args.mask && !adds) allow(*args.mask);
  if (adds) products = products + *args.mask;
  if (args.causal)
    allow(Tensor::full({from_end(q, 2), from_end(k, 2)}, true, {DType::Bool, q.device()}).tril());
  Tensor shares = softmax(products);
  if (args.dropout != 0) {
    if (args.generator == nullptr)
      throw Error(
          "scaled_dot_product_attention: dropout without a generator; give AttentionArgs one");
    shares = dropout(shares, args.dropout, *args.generator);
  }
  return shares.matmul(v).cast(dtype);
}

Tensor mse_loss(const Tensor& x, const Tensor& wanted, Reduction reduction) {
  const OriginScope origin("mse_loss");
  check_same("mse_loss", x, wanted);
  return reduced((wide_beside(x, wanted) - wanted).square(), reduction, type_of(x, wanted));
}
Tensor l1_loss(const Tensor& x, const Tensor& wanted, Reduction reduction) {
  const OriginScope origin("l1_loss");
  check_same("l1_loss", x, wanted);
  return reduced((wide_beside(x, wanted) - wanted).abs(), reduction, type_of(x, wanted));
}
Tensor huber_loss(const Tensor& x, const Tensor& wanted, double delta, Reduction reduction) {
  const OriginScope origin("huber_loss");
  check_same("huber_loss", x, wanted);
  if (!(delta > 0))
    throw Error(fmt::format("huber_loss: delta {}; expected a number above 0", delta));
  const Tensor d = wide_beside(x, wanted) - wanted, size = d.abs(), near = size.detach() < delta;
  const Tensor square = Tensor::where(near, d, 0).square() * 0.5;  // 0 * inf is not 0
  return reduced(Tensor::where(near, square, (size - delta / 2) * delta), reduction,
                 type_of(x, wanted));
}
Tensor binary_cross_entropy(const Tensor& p, const Tensor& wanted, Reduction reduction) {
  const OriginScope origin("binary_cross_entropy");
  check_same("binary_cross_entropy", p, wanted);
  // Below -100 the gradient is 0; behind a maximum, it would be 0 * inf for a p of 0 or 1.
  const auto log = [](const Tensor& x) {
    const Tensor low = x.detach().log() <= -100;
    return Tensor::where(low, -100, Tensor::where(low, 1, x).log());
  };
  const Tensor wide = wide_beside(p, wanted), yes = log(wide), no = log(1 - wide);
  return reduced(-(wanted * yes + (1 - wanted) * no), reduction, type_of(p, wanted));
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& wanted,
                                        Reduction reduction) {
  const OriginScope origin("binary_cross_entropy_with_logits");
  check_same("binary_cross_entropy_with_logits", x, wanted);
  // softplus(x) - x y = softplus(-x) + x (1 - y), whose terms do not cancel for a large x. A finite
  // share of an infinite x is infinite, a share of 0 is 0.
  const Tensor wide = wide_beside(x, wanted), above = wide.detach() > 0;
  const Tensor labels = wide_beside(wanted, x);
  const Tensor share = Tensor::where(above, 1 - labels, -labels);
  const Tensor none = minimum(share.detach() == 0, wide.detach().isinf());
  const Tensor loss =
      Tensor::where(above, -wide, wide).softplus() + Tensor::where(none, 0, wide) * share;
  return reduced(loss, reduction, type_of(x, wanted));
}

namespace {

// (n, classes), bool: true at each row's label; everywhere in a row whose label is not a class, so
// that nan_outside() makes its gradient NaN.
Tensor label_places(const Tensor& log_p, const Tensor& labels) {
  if (log_p.rank() != 2 || labels.shape() != Shape{log_p.shape()[0]})
    throw ShapeError(
        fmt::format("nll_loss, cross_entropy: {} and labels {}: expected (n, classes) and (n)",
                    str(log_p.shape()), str(labels.shape())));
  const Tensor wide = labels.detach().cast(DType::Int64).unsqueeze(-1);
  const Tensor outside = maximum(wide < 0, wide >= log_p.size(1));
  return maximum(one_hot(labels, log_p.size(1)), outside);
}

// True for each label that is a class or `but`. Throws ShapeError for labels that are neither; in a
// jit, only for labels that are host data, as a replay cannot throw.
Tensor are_classes(const Tensor& labels, std::int64_t classes,
                   std::optional<std::int64_t> but = std::nullopt) {
  const bool constant = labels.lazy()->constant_value().has_value();
  const bool sized = labels.shape().size() == 1 && labels.shape()[0].is_int();
  const bool captured =
      StateLog::current() != nullptr || lazy::CacheCollector::current() != nullptr;
  if ((constant || labels.node()->given || !captured) && sized && labels.elements() > 0)
    with_storage(labels.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const std::vector<T> seen =
            (constant ? labels.shrink({{0, 1}}) : labels.realize()).read<T>();
        for (std::size_t i = 0; i < seen.size(); ++i)
          if ((std::cmp_less(seen[i], 0) || std::cmp_greater_equal(seen[i], classes)) &&
              !(but && std::cmp_equal(seen[i], *but)))
            throw ShapeError(fmt::format(
                "nll_loss, cross_entropy: label {} of row {} is not one of the {} classes", seen[i],
                i, classes));
      }
    });
  const Tensor wide = labels.detach().cast(DType::Int64);
  const Tensor inside = minimum(wide >= 0, wide < classes);
  return but ? maximum(inside, wide == *but) : inside;
}

// The loss and its gradient are NaN if a label is not a class.
Tensor nan_outside(const Tensor& loss, const Tensor& is_class) {
  const auto number = [&](double value) {
    return Tensor::full({}, value, {loss.dtype(), loss.device()});
  };
  return loss *
         Tensor::where(is_class, number(1), number(std::numeric_limits<double>::quiet_NaN()));
}

// Sums each row where `places` is true; a product would add 0 * -inf.
Tensor sum_where(const Tensor& places, const Tensor& x) {
  return Tensor::where(places, x, Tensor::zeros({}, {x.dtype(), x.device()})).sum({1});
}

}  // namespace

Tensor nll_loss(const Tensor& log_p, const Tensor& labels, Reduction reduction) {
  const OriginScope origin("nll_loss");
  const Tensor places = label_places(log_p, labels);
  const Tensor is_class = are_classes(labels, log_p.size(1));
  const Tensor losses = -sum_where(places, mlops::wide(log_p));
  return reduced(nan_outside(losses, is_class), reduction, type_of(log_p));
}
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, Reduction reduction) {
  const OriginScope origin("cross_entropy");
  return nll_loss(log_softmax(mlops::wide(logits)), labels, reduction).cast(type_of(logits));
}
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyArgs& args) {
  const OriginScope origin("cross_entropy");
  const double share = args.label_smoothing;
  if (!(share >= 0 && share <= 1))
    throw Error(
        fmt::format("cross_entropy: label_smoothing {}; expected a share from 0 to 1", share));
  const Tensor log_p = log_softmax(mlops::wide(logits));
  const Tensor places = label_places(log_p, labels);
  const Tensor none = Tensor::zeros({}, {log_p.dtype(), log_p.device()});
  Tensor loss = -sum_where(places, log_p);
  if (share > 0) loss = loss * (1 - share) - log_p.mean({1}) * share;
  loss = nan_outside(loss, are_classes(labels, log_p.size(1), args.ignore_index));
  const DType dtype = type_of(logits);
  if (!args.ignore_index) return reduced(loss, args.reduction, dtype);
  const Tensor counts = labels.cast(DType::Int64) != *args.ignore_index;
  loss = Tensor::where(counts, loss, none);
  if (args.reduction != Reduction::Mean) return reduced(loss, args.reduction, dtype);
  return (loss.sum() / counts.cast(loss.dtype()).sum()).cast(dtype);
}

}  // namespace touchstone
