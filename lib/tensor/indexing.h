#pragma once

#include <variant>
#include <vector>

#include "touchstone/tensor/tensor.h"

/// Elements chosen by the values of other tensors, read where they lie, bit for bit. Positions are
/// integers, negative ones count from the end. One outside the axis is a ShapeError where it is
/// known: a number, a constant, or in a tensor as it was made from numbers. One that is computed is
/// an IndexError, which is a ShapeError too, when the element is computed: it names the number of
/// the position, the index and the size of the axis; of positions on several axes, of which they
/// are one in row-major order, the index is -1 - i for the i-th. Gradients are added up as
/// scatter_add() does.
namespace touchstone {

/// One part of index(): a position, a Slice, kNewAxis, kEllipsis, a tensor of integer positions, or
/// a bool tensor that covers as many axes as it has.
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

/// x[parts...] as in NumPy: integers take their axis away, tensors are broadcast together and give
/// their axes where the first stood if they stand side by side, in front otherwise. Unlike there,
/// an integer counts as a slice of one element beside tensors (as in PyTorch). A bool tensor is
/// computed at once, as it decides the shape.
/// Throws ShapeError, DTypeError.
Tensor index(const Tensor& x, const std::vector<Index>& parts);
/// The elements of index(x, parts) become `values`, which broadcast to them, or a number; for all
/// handles, as NumPy's x[parts...] = values and PyTorch's index_put_. Of several written to one
/// element the last one stays. Throws what index and Tensor::set throw.
void set_index(Tensor& x, const std::vector<Index>& parts, const Tensor& values);
void set_index(Tensor& x, const std::vector<Index>& parts, Number value);

/// Elements of one axis at positions: its place is taken by the axes of `at`. NumPy's take,
/// PyTorch's index_select. Throws ShapeError for a position in a vector outside the axis.
Tensor take(const Tensor& x, const Tensor& at, int axis);
Tensor take(const Tensor& x, const std::vector<std::int64_t>& at, int axis);

/// out[i, j, k] = x[i, at[i, j, k], k] for axis 1: `at` has the rank of x and sizes at most those
/// of x on other axes. PyTorch's gather; NumPy's take_along_axis where the sizes agree.
Tensor gather(const Tensor& x, int axis, const Tensor& at);
/// x with source[i, j, k] written to (added at) [i, at[i, j, k], k] for axis 1; of several written
/// to one place the last one in row-major order stays; several added to one place are summed in
/// that order, floats in double. One pass over the positions and one over x. `source` has the shape
/// of `at`. Throws ShapeError, DTypeError.
Tensor scatter(const Tensor& x, int axis, const Tensor& at, const Tensor& source);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& at, const Tensor& source);

/// x with `value` where mask, which broadcasts to it, is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);
/// Int64 positions of what is not 0, (count, rank), in row-major order. Computes x at once.
Tensor nonzero(const Tensor& x);

/// Integers of any shape -> (..., classes), bool: true at the place of the integer, nowhere for one
/// outside [0, classes).
Tensor one_hot(const Tensor& labels, std::int64_t classes);

enum class Order : bool { Ascending, Descending };
/// `indices` are int32 positions along the axis.
struct Sorted {
  Tensor values;
  Tensor indices;
};
/// Stable; NaN counts as the largest. Every element is compared with every other of its row.
Sorted sort(const Tensor& x, int axis = -1, Order order = Order::Ascending);
Tensor argsort(const Tensor& x, int axis = -1, Order order = Order::Ascending);
/// The k largest (Ascending: smallest) elements in that order. Throws ShapeError where the axis has
/// fewer.
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, Order order = Order::Descending);

}  // namespace touchstone
