#include <algorithm>
#include <numeric>

#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

template <class F>
Tensor reduce(const Tensor& x, const std::vector<int>& axes, KeepDim keep) {
  const std::vector<int> normal = x.normal_axes(axes);
  const Tensor kept = apply<F>({x}, normal);
  if (keep == KeepDim::Yes) return kept;
  Shape left;
  for (int i = 0; i < x.rank(); ++i)
    if (std::ranges::find(normal, i) == normal.end())
      left.push_back(kept.shape()[static_cast<std::size_t>(i)]);
  return kept.reshape(std::move(left));
}

// -1 of the type: every bit set, or true.
Tensor all_bits(const Tensor& x) {
  return is_bool(x.dtype()) ? Tensor::full(x.shape(), true, {x.dtype(), x.device()})
                            : Tensor::full(x.shape(), -1, {x.dtype(), x.device()});
}

Tensor complement(const Tensor& x) {
  return Tensor(LazyBuffer::e(Op::Xor, {x.lazy(), all_bits(x).lazy()}));
}

}  // namespace

Tensor Tensor::sum(const std::vector<int>& axes, KeepDim keep) const {
  const Tensor wide = is_float(dtype()) ? *this : cast(sum_accumulator(dtype()));
  return reduce<mlops::Sum>(wide, axes, keep);
}

Tensor Tensor::mean(const std::vector<int>& axes, KeepDim keep) const {
  const Tensor x = is_float(dtype()) ? *this : cast(DType::Float32);
  std::int64_t count = 1;
  for (const int axis : axes) count = checked_mul(count, size(axis));
  return x.sum(axes, keep) * (1.0 / static_cast<double>(count));
}

Tensor Tensor::max(const std::vector<int>& axes, KeepDim keep) const {
  return reduce<mlops::Max>(*this, axes, keep);
}

Tensor Tensor::min(const std::vector<int>& axes, KeepDim keep) const {
  if (is_float(dtype())) return -(-*this).max(axes, keep);
  // ~x reverses the order of integers, of which -x would lose the least.
  return complement(complement(*this).max(axes, keep));
}

Tensor Tensor::argmax(int axis) const {
  const int at = normal_axis(axis);
  const std::int64_t count = size(at);
  Shape along(static_cast<std::size_t>(rank()), 1);
  along[static_cast<std::size_t>(at)] = count;
  // The first one has the most elements behind it.
  const Tensor behind = arange(count - 1, -1, -1, {DType::Int32, device()}).reshape(along);
  const Tensor reaches = *this == max({at}, KeepDim::Yes);
  return static_cast<int>(count - 1) - (reaches.cast(DType::Int32) * behind).max({at});
}

Tensor Tensor::sum() const { return sum(all_axes(*this)); }
Tensor Tensor::mean() const { return mean(all_axes(*this)); }
Tensor Tensor::max() const { return max(all_axes(*this)); }
Tensor Tensor::min() const { return min(all_axes(*this)); }

Tensor Tensor::matmul(const Tensor& other) const {
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
  // (..., m, 1, k) * (..., 1, n, k), summed over k; a vector has no m or n.
  const Tensor x = other.rank() == 1 ? *this : unsqueeze(-2);
  const Tensor y = other.rank() == 1 ? other : other.transpose();
  return (x * (rank() == 1 || other.rank() == 1 ? y : y.unsqueeze(-3))).sum({-1});
}

}  // namespace touchstone
