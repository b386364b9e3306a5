#include <algorithm>
#include <numeric>

#include "touchstone/device/config.h"
#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {
namespace {

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Drops the axes, which have size 1.
Tensor dropped(const Tensor& kept, const std::vector<int>& normal) {
  Shape left;
  for (int i = 0; i < kept.rank(); ++i)
    if (std::ranges::find(normal, i) == normal.end())
      left.push_back(kept.shape()[static_cast<std::size_t>(i)]);
  return kept.reshape(std::move(left));
}

template <class F>
Tensor reduce(const Tensor& x, const std::vector<int>& axes, KeepDim keep) {
  const std::vector<int> normal = x.normal_axes(axes);
  const Tensor kept = apply<F>({x}, normal);
  return keep == KeepDim::Yes ? kept : dropped(kept, normal);
}

// True if each result has so many terms that reading them for the mean and again for the squares
// would load them from memory twice, and adjacent elements belong to one sum.
bool reads_once(const Tensor& x, const std::vector<int>& axes, const sint& count) {
  const std::int64_t threshold = Config::current().reduceop_split_threshold;
  if (x.dtype() != DType::Float32 || x.lazy()->several() || !count.is_int()) return false;
  if (count.as_int() < threshold) return false;
  int last = x.rank() - 1;
  while (last > 0 && x.shape()[static_cast<std::size_t>(last)] == sint(1)) --last;
  return std::ranges::find(axes, last) != axes.end();
}

// All bits set in the type, or true.
Tensor all_bits(const Tensor& x) {
  return is_bool(x.dtype()) ? Tensor::full(x.shape(), true, {x.dtype(), x.device()})
                            : Tensor::full(x.shape(), -1, {x.dtype(), x.device()});
}

Tensor complement(const Tensor& x) {
  return Tensor(LazyBuffer::e(Op::Xor, {x.lazy(), all_bits(x).lazy()}));
}

}  // namespace

Tensor Tensor::sum(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("sum");
  const Tensor wide = is_float(dtype()) ? *this : cast(sum_accumulator(dtype()));
  return reduce<mlops::Sum>(wide, axes, keep);
}

Tensor Tensor::mean(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("mean");
  const Tensor x = mlops::wide(*this), sum = x.sum(axes, keep);
  sint count = 1;
  for (const int axis : normal_axes(axes)) count = count * shape()[static_cast<std::size_t>(axis)];
  const auto share = [&] {  // counted by the kernel, which has the values of the variables
    const Tensor ones = full(shape(), 1, {DType::Int64, device()});
    return sum * (1 / ones.sum(axes, keep).cast(DType::Float64)).cast(x.dtype());
  };
  return (count.is_int() ? sum * (1.0 / static_cast<double>(count.as_int())) : share())
      .cast(mlops::real_type(*this));
}

Tensor Tensor::max(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("max");
  return reduce<mlops::Max>(*this, axes, keep);
}

Tensor Tensor::min(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("min");
  if (is_float(dtype())) return -(-*this).max(axes, keep);
  // ~x reverses the order of integers; -x overflows for the least one.
  return complement(complement(*this).max(axes, keep));
}

Tensor Tensor::argmax(int axis, KeepDim keep) const {
  const OriginScope origin("argmax");
  const int at = normal_axis(axis);
  const std::int64_t count = size(at);
  if (count == 0)
    throw ShapeError(
        fmt::format("argmax, argmin: axis {} of shape {} is empty and has no largest element", axis,
                    str(shape())));
  Shape along(static_cast<std::size_t>(rank()), 1);
  along[static_cast<std::size_t>(at)] = count;
  // Counts down, so that the maximum selects the first.
  const Tensor behind = arange(count - 1, -1, -1, {DType::Int32, device()}).reshape(along);
  const Tensor x = detach(), equal = x == x.max({at}, KeepDim::Yes);
  const Tensor reaches = is_float(dtype()) ? maximum(equal, x.isnan()) : equal;
  return static_cast<int>(count - 1) - (reaches.cast(DType::Int32) * behind).max({at}, keep);
}

Tensor Tensor::argmin(int axis, KeepDim keep) const {
  const OriginScope origin("argmin");
  return (is_float(dtype()) ? -*this : complement(*this)).argmax(axis, keep);
}
Tensor Tensor::argmax() const { return reshape({-1}).argmax(0); }
Tensor Tensor::argmin() const { return reshape({-1}).argmin(0); }

namespace {

Tensor variance(const Tensor& x, const std::vector<int>& axes, std::int64_t correction,
                KeepDim keep) {
  sint count = 1;
  const std::vector<int> normal = x.normal_axes(axes);
  for (const int axis : normal) count = count * x.shape()[static_cast<std::size_t>(axis)];
  const Tensor squares = reads_once(x, normal, count)
                             ? reduce<mlops::SquaresAroundMean>(x, axes, keep)
                             : (x - x.mean(axes, KeepDim::Yes)).square().sum(axes, keep);
  if (count.is_int())
    return squares / static_cast<double>(std::max<std::int64_t>(count.as_int() - correction, 0));
  const Tensor counted =
      Tensor::full(x.shape(), 1, {DType::Int64, x.device()}).sum(axes, keep) - correction;
  return squares / maximum(counted, std::int64_t{0}).cast(DType::Float64).cast(x.dtype());
}

}  // namespace

Tensor Tensor::var(const std::vector<int>& axes, std::int64_t correction, KeepDim keep) const {
  const OriginScope origin("var");
  return variance(mlops::wide(*this), axes, correction, keep).cast(mlops::real_type(*this));
}
Tensor Tensor::std(const std::vector<int>& axes, std::int64_t correction, KeepDim keep) const {
  const OriginScope origin("std");
  const Tensor squares = variance(mlops::wide(*this), axes, correction, keep);
  // Of equal elements the gradient is 0: the root's, which is infinite, is not used.
  const Tensor equal = squares.detach() == 0;
  return where(equal, squares, where(equal, 1, squares).sqrt()).cast(mlops::real_type(*this));
}

Tensor Tensor::prod(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("prod");
  Tensor x = is_float(dtype()) ? mlops::wide(*this) : cast(sum_accumulator(dtype()));
  std::vector<int> order, gone = normal_axes(axes);
  Shape left, kept = shape();
  for (int i = 0; i < rank(); ++i)
    if (std::ranges::find(gone, i) == gone.end()) {
      order.push_back(i);
      left.push_back(shape()[static_cast<std::size_t>(i)]);
    } else {
      kept[static_cast<std::size_t>(i)] = 1;
    }
  std::int64_t count = 1;
  for (const int axis : gone) {
    count = checked_mul(count, size(axis));
    order.push_back(axis);
  }
  x = x.permute(order);
  Shape flat = left;
  flat.emplace_back(count);
  x = x.reshape(flat);
  // Multiplies halves until one element is left, setting an odd one aside. Realizes every fifth
  // round's input, so that expressions do not grow with the axis.
  std::optional<Tensor> odd;
  for (int round = 1; count > 1; ++round) {
    if (count % 2 == 1) {
      const Tensor last = x.narrow(-1, count - 1, 1);
      odd = odd ? *odd * last : last;
    }
    count /= 2;
    x = x.narrow(-1, 0, count) * x.narrow(-1, count, count);
    if (round % 5 == 0) x = x.contiguous();
  }
  if (count == 0) x = Tensor::ones(left, {x.dtype(), device()}).unsqueeze(-1);
  if (odd) x = x * *odd;
  return x.reshape(keep == KeepDim::Yes ? kept : left)
      .cast(is_float(dtype()) ? dtype() : x.dtype());
}

Tensor Tensor::any(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("any");
  const Tensor truth = is_bool(dtype()) ? *this : *this != 0;
  return truth.max(axes, keep);
}
Tensor Tensor::all(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("all");
  return -(*this == 0).any(axes, keep);
}

Tensor Tensor::logsumexp(const std::vector<int>& axes, KeepDim keep) const {
  const OriginScope origin("logsumexp");
  const Tensor x = mlops::wide(*this);
  const Tensor most = x.detach().max(axes, KeepDim::Yes);
  const Tensor shift = where(most.isfinite(), most, 0);
  const Tensor sum = (x - shift).exp().sum(axes, KeepDim::Yes), none = sum.detach() == 0;
  // Where all elements are -inf the gradient is 0, not 0 / 0.
  const Tensor log = where(none, least_number(x.dtype()), where(none, 1, sum).log());
  const Tensor shifted = (log + shift).cast(mlops::real_type(*this));
  return keep == KeepDim::Yes ? shifted : dropped(shifted, normal_axes(axes));
}

Tensor Tensor::sum() const { return sum(all_axes(*this)); }
Tensor Tensor::mean() const { return mean(all_axes(*this)); }
Tensor Tensor::max() const { return max(all_axes(*this)); }
Tensor Tensor::min() const { return min(all_axes(*this)); }
Tensor Tensor::prod() const { return prod(all_axes(*this)); }
Tensor Tensor::any() const { return any(all_axes(*this)); }
Tensor Tensor::all() const { return all(all_axes(*this)); }
Tensor Tensor::var() const { return var(all_axes(*this)); }
Tensor Tensor::std() const { return std(all_axes(*this)); }

Tensor Tensor::matmul(const Tensor& other) const {
  const OriginScope origin("matmul");
  if (rank() == 0 || other.rank() == 0)
    throw ShapeError(
        fmt::format("matmul: shapes {} and {}: a scalar has no axis to multiply over; "
                    "use *",
                    str(shape()), str(other.shape())));
  const int column = other.rank() == 1 ? -1 : -2;
  if (shape().back() != other.shape()[static_cast<std::size_t>(other.normal_axis(column))])
    throw ShapeError(
        fmt::format("matmul: shapes {} and {}: the last size of the first, {}, and "
                    "the {} size of the second, {}, differ; transpose or reshape one",
                    str(shape()), str(other.shape()), shape().back().str(),
                    column == -1 ? "only" : "last but one",
                    other.shape()[static_cast<std::size_t>(other.normal_axis(column))].str()));
  // (..., m, 1, k) * (..., 1, n, k), summed over k; a vector lacks m or n.
  const Tensor x = other.rank() == 1 ? *this : unsqueeze(-2);
  const Tensor y = other.rank() == 1 ? other : other.transpose();
  const Tensor products = x * (rank() == 1 || other.rank() == 1 ? y : y.unsqueeze(-3));
  return products.sum({-1}).cast(products.dtype());  // narrow integers are summed in 32 bits
}

// Scans: element i of the result is a reduction of elements 0..i.
namespace {

constexpr std::int64_t kChunk = 16, kDirect = 64;

// A scan by windows: reduces all windows that end at an element. Long axes are scanned in chunks,
// whose totals are scanned in turn.
struct Scan {
  Tensor (*reduce)(const Tensor& x);  // over the last axis
  Tensor (*combine)(const Tensor& a, const Tensor& b);
  Number neutral;

  // Pads an axis with neutral elements before and after.
  Tensor padded(const Tensor& x, int axis, std::int64_t before, std::int64_t after) const {
    Padding padding(static_cast<std::size_t>(x.rank()), {0, 0});
    padding[static_cast<std::size_t>(axis)] = {before, after};
    return x.pad(padding, PadMode::Constant, neutral);
  }

  Tensor along(const Tensor& x, int axis) const {
    const std::int64_t size = x.size(axis);
    if (size <= 1) return x;
    if (size <= kDirect) return reduce(padded(x, axis, size - 1, 0).unfold(axis, size));
    const std::int64_t chunks = ceil_div(size, kChunk);
    const Tensor inner =
        along(padded(x, axis, 0, chunks * kChunk - size).unflatten(axis, {chunks, kChunk}),
              axis + 1)
            .contiguous();
    const Tensor totals = along(inner.narrow(axis + 1, kChunk - 1, 1).squeeze(axis + 1), axis);
    const Tensor carried = padded(totals, axis, 1, 0).narrow(axis, 0, chunks).unsqueeze(axis + 1);
    Shape whole = x.shape();
    whole[static_cast<std::size_t>(axis)] = chunks * kChunk;
    return combine(inner, carried).reshape(whole).narrow(axis, 0, size);
  }

  Tensor operator()(const Tensor& x, int axis) const { return along(x, x.normal_axis(axis)); }
};

}  // namespace

Tensor Tensor::cumsum(int axis) const {
  const OriginScope origin("cumsum");
  const Tensor wide = is_float(dtype()) ? mlops::wide(*this) : cast(sum_accumulator(dtype()));
  const Scan scan = {[](const Tensor& x) { return x.sum({-1}); },
                     [](const Tensor& a, const Tensor& b) { return a + b; }, 0};
  return scan(wide, axis).cast(is_float(dtype()) ? dtype() : wide.dtype());
}

Tensor Tensor::cummax(int axis) const {
  const OriginScope origin("cummax");
  const Scan scan = {[](const Tensor& x) { return x.max({-1}); },
                     [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
                     least_number(dtype())};
  return scan(*this, axis);
}

Tensor Tensor::cummin(int axis) const {
  const OriginScope origin("cummin");
  if (is_float(dtype())) return -(-*this).cummax(axis);
  const Number ones = is_bool(dtype()) ? Number(true) : Number(-1);
  const auto complement = [&](const Tensor& x) {
    return Tensor(LazyBuffer::e(Op::Xor, {x.lazy(), full_like(x, ones).lazy()}));
  };
  return complement(complement(*this).cummax(axis));
}

Tensor Tensor::cumprod(int axis) const {
  const OriginScope origin("cumprod");
  const int at = normal_axis(axis);
  const Tensor wide = is_float(dtype()) ? mlops::wide(*this) : cast(sum_accumulator(dtype()));
  Tensor x = wide.movedim(at, -1);
  const std::int64_t size = x.size(-1);
  // Each round doubles the number of elements in the products.
  int round = 0;
  for (std::int64_t reach = 1; reach < size; reach *= 2) {
    Padding padding(static_cast<std::size_t>(x.rank()), {0, 0});
    padding.back().first = reach;
    x = x * x.narrow(-1, 0, size - reach).pad(padding, PadMode::Constant, 1);
    if (++round % 3 == 0) x = x.contiguous();
  }
  return x.movedim(-1, at).cast(is_float(dtype()) ? dtype() : wide.dtype());
}

}  // namespace touchstone
