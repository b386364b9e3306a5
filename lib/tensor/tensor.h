#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/lazy/realize.h"
#include "touchstone/tensor/number.h"

namespace touchstone {

struct TensorNode;

/// Where and as what a new tensor lives.
struct TensorOptions {
  DType dtype = DType::Float32;
  std::string device = "CPU";
};

enum class KeepDim : bool { No, Yes };

/// Whether a gradient is itself to be differentiated.
enum class CreateGraph : bool { No, Yes };

/// The elements around a padded tensor: one value; the tensor mirrored at its last
/// element, which is not repeated; its last element; the tensor again, from its other side.
enum class PadMode : std::uint8_t { Constant, Reflect, Replicate, Circular };

/// gelu(x) = x P(X <= x) of a normal X, by the error function or by its approximation with tanh.
enum class GeluForm : std::uint8_t { Tanh, Erf };

/// Elements begin, begin + step, ... up to and without end of one axis, as in Python: negative
/// positions count from the end, positions beyond it are cut, a negative step walks down.
struct Slice {
  std::optional<std::int64_t> begin = std::nullopt;  // default: the first element walked
  std::optional<std::int64_t> end = std::nullopt;    // default: walk to the other end
  std::int64_t step = 1;                             // not 0
};

/// A lazily computed array with reverse-mode differentiation. A Tensor is a handle: copies are the
/// same tensor. Nothing is computed before realize(), read() or item().
///
/// Axes may be negative (from the last). Binary operations broadcast as NumPy does and promote
/// dtypes by promote(); functions on the reals turn integers into float32 first. All throw
/// ShapeError, DTypeError or BufferError (devices) where operands do not fit.
class Tensor {
 public:
  explicit Tensor(LazyBufferPtr data);
  explicit Tensor(std::shared_ptr<TensorNode> node) : node_(std::move(node)) {}

  // Creation.
  static Tensor full(const Shape& shape, Number value, const TensorOptions& options = {});
  static Tensor zeros(const Shape& shape, const TensorOptions& options = {});
  static Tensor ones(const Shape& shape, const TensorOptions& options = {});
  static Tensor empty(const Shape& shape, const TensorOptions& options = {});
  /// begin, begin + step, ... up to and without end; rank 1, written to the device at once.
  static Tensor arange(std::int64_t begin, std::int64_t end, std::int64_t step = 1,
                       const TensorOptions& options = {.dtype = DType::Int32});
  /// `count` values from begin to end, both included, evenly spaced; computed in double on the
  /// host. Floats only; throws DTypeError.
  static Tensor linspace(double begin, double end, std::int64_t count,
                         const TensorOptions& options = {});
  static Tensor eye(std::int64_t n, const TensorOptions& options = {});
  static Tensor full_like(const Tensor& x, Number value);
  static Tensor zeros_like(const Tensor& x);
  static Tensor ones_like(const Tensor& x);
  /// Row-major values of the dtype that stores T. Throws ShapeError where the shape has another
  /// number of elements.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape,
                     const std::string& device = "CPU");

  // Properties.
  const LazyBufferPtr& lazy() const;
  const Shape& shape() const { return values()->shape(); }
  int rank() const { return values()->rank(); }
  /// Size of one axis, which must be a number.
  std::int64_t size(int axis) const;
  std::int64_t elements() const;
  DType dtype() const { return values()->dtype(); }
  const std::string& device() const { return values()->device(); }
  const std::shared_ptr<TensorNode>& node() const { return node_; }

  // Values.
  /// Computes the tensor; `values` are those of the variables in its shape and views. Throws Error
  /// where one is missing.
  const Tensor& realize(const symbolic::Values& values = {}) const;
  /// The tensor where its variables have these values: computed now by the kernels of all values,
  /// of a shape of numbers, without history. The tensor itself is not computed, unlike by
  /// realize(), after which it has the values it got. Throws Error where one is missing, ShapeError
  /// where one is outside its range.
  Tensor bind(const symbolic::Values& values) const;
  template <class T>
  std::vector<T> read() const;  // row-major; T stores dtype()
  template <class T>
  T item() const;  // of the only element
  Tensor to(const std::string& device) const;
  Tensor contiguous() const;
  Tensor cast(DType to) const;
  Tensor bitcast(DType to) const;
  /// Replaces the values, of the same shape, dtype and device; history is forgotten.
  void assign(const Tensor& values);

  // Gradients.
  bool requires_grad() const;
  /// Floats only. For leaves.
  Tensor& set_requires_grad(bool wanted = true);
  /// The gradient of a leaf, summed over all backward() since zero_grad(); nullopt before.
  std::optional<Tensor> grad() const;
  void zero_grad();
  /// Adds d(*this)/d(leaf) to the gradient of every leaf that requires one. *this has one element,
  /// or `gradient` says what arrives at each.
  void backward(const std::optional<Tensor>& gradient = std::nullopt) const;
  Tensor detach() const;

  // Movement.
  Tensor reshape(Shape shape) const;  // one size may be -1: what is left
  Tensor permute(std::vector<int> order) const;
  Tensor transpose(int a = -2, int b = -1) const;
  Tensor movedim(int from, int to) const;    // the others keep their order
  Tensor expand(const Shape& shape) const;   // -1 keeps a size; leading axes may be added
  Tensor pad(const Padding& padding) const;  // with zeros; one pair an axis
  /// One pair an axis, as numpy.pad; `value` is used by Constant alone. Reflect takes less than
  /// the size of an axis, Circular at most that, Replicate an axis that is not empty. Throws
  /// ShapeError.
  Tensor pad(const Padding& padding, PadMode mode, Number value = 0) const;
  Tensor shrink(const Mask& keep) const;  // [begin, end) of each axis
  Tensor flip(const std::vector<int>& axes) const;
  Tensor slice(const std::vector<Slice>& slices) const;  // axes left out are kept whole
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;
  Tensor squeeze() const;                                // all axes of size 1
  Tensor flatten(int first = 0) const;                   // axes first.. become one
  Tensor unflatten(int axis, const Shape& sizes) const;  // one axis becomes several; one may be -1
  Tensor narrow(int axis, const sint& begin, const sint& size) const;
  /// Parts along an axis, of the sizes given, which add up to that of the axis.
  std::vector<Tensor> split(const std::vector<std::int64_t>& sizes, int axis = 0) const;
  /// Parts of `size`, the last one may be smaller.
  std::vector<Tensor> split(std::int64_t size, int axis = 0) const;
  /// At most `count` parts of one size, the last one may be smaller (as PyTorch; NumPy's
  /// array_split evens them out).
  std::vector<Tensor> chunk(std::int64_t count, int axis = 0) const;
  Tensor repeat(const std::vector<std::int64_t>& times) const;   // numpy.tile; one number an axis
  Tensor repeat_interleave(std::int64_t times, int axis) const;  // each element: numpy.repeat
  Tensor roll(std::int64_t by, int axis) const;
  /// Windows of `size` elements, every `step`-th, along an axis, which counts them; a new last axis
  /// holds their elements. A view.
  Tensor unfold(int axis, std::int64_t size, std::int64_t step = 1) const;
  /// The two last axes with zeros below (above) diagonal `k`, counted upwards from the main one.
  Tensor triu(std::int64_t k = 0) const;
  Tensor tril(std::int64_t k = 0) const;
  /// The diagonal of two axes, which go; it is the last axis.
  Tensor diagonal(int a = -2, int b = -1) const;
  static Tensor cat(const std::vector<Tensor>& parts, int axis = 0);
  static Tensor stack(const std::vector<Tensor>& parts, int axis = 0);

  // Elementwise.
  Tensor operator-() const;
  Tensor exp() const;
  Tensor exp2() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor reciprocal() const;
  Tensor relu() const;
  Tensor sigmoid() const;
  Tensor tanh() const;
  Tensor tan() const;
  Tensor erf() const;
  Tensor abs() const;
  Tensor square() const;
  Tensor pow(int exponent) const;     // by repeated squaring
  Tensor pow(double exponent) const;  // as pow(Tensor, Tensor) where the exponent is no integer
  Tensor clamp(Number low, Number high) const;  // NaN stays
  Tensor gelu(GeluForm form = GeluForm::Tanh) const;
  Tensor silu() const;      // x sigmoid(x), also called swish
  Tensor mish() const;      // x tanh(softplus(x))
  Tensor softplus() const;  // log(1 + exp(x))
  Tensor log_sigmoid() const;
  Tensor softsign() const;  // x / (1 + |x|)
  Tensor elu(double alpha = 1) const;
  Tensor selu() const;
  Tensor leaky_relu(double slope = 0.01) const;
  Tensor relu6() const;
  Tensor hardtanh(double low = -1, double high = 1) const;
  Tensor hardsigmoid() const;
  Tensor hardswish() const;
  // Constant in pieces: exact, and no gradient passes.
  Tensor floor() const;
  Tensor ceil() const;
  Tensor trunc() const;
  Tensor round() const;  // ties to even
  Tensor sign() const;   // NaN for NaN
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor logical_not() const;  // true where 0
  static Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

  // Reductions. Without axes: over all, to a scalar.
  /// bool and narrow integers are summed, and returned, in 32 bits; narrow floats in float32 and
  /// returned as they came.
  Tensor sum() const;
  Tensor sum(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor mean() const;
  Tensor mean(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor max() const;
  Tensor max(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor min() const;
  Tensor min(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// Sum of squares around the mean over n - correction (NumPy's default is 0).
  Tensor var(const std::vector<int>& axes, std::int64_t correction = 1,
             KeepDim keep = KeepDim::No) const;
  Tensor std(const std::vector<int>& axes, std::int64_t correction = 1,
             KeepDim keep = KeepDim::No) const;
  Tensor var() const;
  Tensor std() const;
  /// bool and narrow integers are multiplied, and returned, in 32 bits.
  Tensor prod() const;
  Tensor prod(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// Whether some (every) element is not 0.
  Tensor any() const;
  Tensor any(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor all() const;
  Tensor all(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// log(sum(exp(x))) without overflow; -inf where all are.
  Tensor logsumexp(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// Int32 index of the first largest (smallest) element along an axis, of the first NaN where
  /// there is one. Throws ShapeError where the axis is empty.
  Tensor argmax(int axis) const;
  Tensor argmin(int axis) const;

  // Scans along an axis: element i is the reduction of elements 0..i. Sums are each rounded once
  // on the reference device; n elements cost n times min(n, 256).
  Tensor cumsum(int axis) const;  // dtypes as sum
  Tensor cumprod(int axis) const;
  Tensor cummax(int axis) const;
  Tensor cummin(int axis) const;

  /// (..., m, k) x (..., k, n) -> (..., m, n), leading axes broadcast; a vector is a row on the
  /// left and a column on the right, and its axis goes.
  Tensor matmul(const Tensor& other) const;

  /// `axis` in [0, rank), negative counted from the end. Throws ShapeError.
  int normal_axis(int axis) const;
  std::vector<int> normal_axes(const std::vector<int>& axes) const;

 private:
  static Tensor from_bytes(DType dtype, std::span<const std::byte> bytes, const Shape& shape,
                           const std::string& device);
  BufferPtr host_ready() const;         // realized, contiguous memory
  TensorNode& held() const;             // throws Error where it was moved from
  const LazyBufferPtr& values() const;  // as lazy(), where only the form is asked for

  std::shared_ptr<TensorNode> node_;
};

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);  // integers truncate
Tensor operator<(const Tensor& a, const Tensor& b);  // comparisons give bool and no gradient
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN where one is; ties share the gradient
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor mod(const Tensor& a, const Tensor& b);  // the sign of a, as in C
/// a^b for floats, as 2^(b log2 |a|) with its sign; NaN for a negative number and a fraction, 1 for
/// an exponent of 0. Within some |b log2 a| units in the last place. No gradient passes at a = 0.
Tensor pow(const Tensor& a, const Tensor& b);

// With a number, which becomes a constant of the tensor's dtype (of float32 where a fraction meets
// integers).
Tensor operator+(const Tensor& a, Number b);
Tensor operator+(Number a, const Tensor& b);
Tensor operator-(const Tensor& a, Number b);
Tensor operator-(Number a, const Tensor& b);
Tensor operator*(const Tensor& a, Number b);
Tensor operator*(Number a, const Tensor& b);
Tensor operator/(const Tensor& a, Number b);
Tensor operator/(Number a, const Tensor& b);
Tensor operator<(const Tensor& a, Number b);
Tensor operator<=(const Tensor& a, Number b);
Tensor operator>(const Tensor& a, Number b);
Tensor operator>=(const Tensor& a, Number b);
Tensor operator==(const Tensor& a, Number b);
Tensor operator!=(const Tensor& a, Number b);
Tensor maximum(const Tensor& a, Number b);
Tensor minimum(const Tensor& a, Number b);
Tensor mod(const Tensor& a, Number b);

/// d(of)/d(x) for each x, summed over the elements of `of` with the weights `gradient` (1 where
/// `of` has one element and none are given); zeros where `of` does not depend on x. No leaf's
/// grad() changes. With CreateGraph::Yes the results are differentiable in turn.
/// Throws Error, ShapeError, DTypeError.
std::vector<Tensor> gradients(const Tensor& of, const std::vector<Tensor>& with_respect_to,
                              CreateGraph create = CreateGraph::No,
                              const std::optional<Tensor>& gradient = std::nullopt);

/// Realizes many tensors in one schedule.
void realize(std::span<const Tensor> tensors, const symbolic::Values& values = {});

/// The shape that both broadcast to. Throws ShapeError naming both.
Shape broadcast_shape(const Shape& a, const Shape& b);

template <class T>
Tensor Tensor::from(const std::vector<T>& values, const Shape& shape, const std::string& device) {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::byte> bytes;
    for (const bool value : values) bytes.push_back(std::byte{value});
    return from_bytes(DType::Bool, bytes, shape, device);
  } else {
    return from_bytes(dtype_v<T>, std::as_bytes(std::span<const T>(values)), shape, device);
  }
}

template <class T>
std::vector<T> Tensor::read() const {
  if (dtype_v<T> != dtype())
    throw DTypeError(fmt::format("read: the tensor is {}, asked for {}; cast first", name(dtype()),
                                 name(dtype_v<T>)));
  if (elements() == 0) return {};
  return host_ready()->template read<T>();
}

template <class T>
T Tensor::item() const {
  if (elements() != 1)
    throw ShapeError(fmt::format("item: shape {} has {} elements, not 1; reduce or slice first",
                                 str(shape()), elements()));
  return read<T>()[0];
}

}  // namespace touchstone
