#pragma once

#include <variant>
#include <vector>

#include "touchstone/tensor/tensor.h"

/// Selects elements by the values of other tensors, bit for bit. Positions are integers; negative
/// ones count from the end. A position out of range is a ShapeError if it is known beforehand: a
/// number, a constant, or in a tensor made from host numbers. A computed one throws IndexError (a
/// ShapeError) when its element is computed, with the position's number, the index and the axis
/// size; for positions on several axes, combined in row-major order, the reported index is -1 - i
/// for the i-th axis. Gradients are added up as in scatter_add().
namespace touchstone {

/// One part of index(): a position, a Slice, kNewAxis, kEllipsis, a tensor of integer positions, or
/// a bool tensor that covers as many axes as its rank.
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis kNewAxis;
inline constexpr Ellipsis kEllipsis;
class Index {
 public:
  using Part = std::variant<std::int64_t, Slice, NewAxis, Ellipsis, Tensor>;
  template <class T>
  requires std::integral<T> Index(T at) : part_(static_cast<std::int64_t>(at)) {}  // NOLINT
  Index(Slice slice) : part_(slice) {}                                             // NOLINT
  Index(NewAxis axis) : part_(axis) {}                                             // NOLINT
  Index(Ellipsis rest) : part_(rest) {}                                            // NOLINT
  Index(Tensor at) : part_(std::move(at)) {}                                       // NOLINT
  const Part& part() const { return part_; }

 private:
  Part part_;
};

/// x[parts...] as in NumPy: integers remove their axis; tensors are broadcast together and put
/// their axes in place of the first one if they are adjacent, else in front. Unlike NumPy but like
/// PyTorch, an integer beside tensors counts as a slice of one element. A bool tensor is computed
/// at once, since it determines the shape. Throws ShapeError, DTypeError.
Tensor index(const Tensor& x, const std::vector<Index>& parts);
/// Sets the elements of index(x, parts) to `values`, which broadcast to them, or to a number; for
/// all handles, as NumPy's x[parts...] = values and PyTorch's index_put_. If one element is written
/// several times, the last value stays. Throws as index and Tensor::set.
void set_index(Tensor& x, const std::vector<Index>& parts, const Tensor& values);
void set_index(Tensor& x, const std::vector<Index>& parts, Number value);

/// Selects elements along one axis, which is replaced with the axes of `at`. NumPy's take,
/// PyTorch's index_select. Throws ShapeError for a position in a vector outside the axis.
Tensor take(const Tensor& x, const Tensor& at, int axis);
Tensor take(const Tensor& x, const std::vector<std::int64_t>& at, int axis);

/// out[i, j, k] = x[i, at[i, j, k], k] for axis 1: `at` has the rank of x and, on other axes, sizes
/// at most those of x. PyTorch's gather; NumPy's take_along_axis if the sizes agree.
Tensor gather(const Tensor& x, int axis, const Tensor& at);
/// x with source[i, j, k] written to (scatter_add: added at) [i, at[i, j, k], k] for axis 1. Of
/// several values written to one place the last in row-major order stays; several added to one
/// place are summed in that order, floats in double. One pass over the positions and one over x.
/// `source` has the shape of `at`. Throws ShapeError, DTypeError.
Tensor scatter(const Tensor& x, int axis, const Tensor& at, const Tensor& source);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& at, const Tensor& source);

/// x, with `value` where `mask`, which broadcasts to x, is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);
/// Int64 positions of the elements that are not 0, (count, rank), in row-major order. Computes x at
/// once.
Tensor nonzero(const Tensor& x);

/// Integers of any shape -> (..., classes), bool: true at the integer's place; all false for an
/// integer outside [0, classes).
Tensor one_hot(const Tensor& labels, std::int64_t classes);

enum class Order : bool { Ascending, Descending };
/// `indices` are int32 positions along the axis.
struct Sorted {
  Tensor values;
  Tensor indices;
};
/// Stable sort; NaN counts as the largest. Compares all pairs of elements of a row.
Sorted sort(const Tensor& x, int axis = -1, Order order = Order::Ascending);
Tensor argsort(const Tensor& x, int axis = -1, Order order = Order::Ascending);
/// The k largest (Ascending: smallest) elements in that order. Throws ShapeError if the axis has
/// fewer.
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, Order order = Order::Descending);

}  // namespace touchstone
