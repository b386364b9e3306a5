#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/lazy/realize.h"
#include "touchstone/tensor/modes.h"
#include "touchstone/tensor/number.h"

namespace touchstone {

struct TensorNode;

namespace nn {
struct LayerOptions;
struct NormOptions;
struct BatchNormOptions;
}  // namespace nn

/// Dtype and device of a new tensor.
struct TensorOptions {
  DType dtype = default_dtype();
  std::string device = "CPU";

  // Options for layers, which extend these.
  operator nn::LayerOptions() const;      // NOLINT(google-explicit-constructor)
  operator nn::NormOptions() const;       // NOLINT(google-explicit-constructor)
  operator nn::BatchNormOptions() const;  // NOLINT(google-explicit-constructor)
};

/// C++ number types except bool.
template <class T>
concept Arithmetic = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

enum class KeepDim : bool { No, Yes };

/// Yes: the gradient can itself be differentiated.
enum class CreateGraph : bool { No, Yes };

/// The elements around a padded tensor: a constant; the tensor mirrored without repeating its edge;
/// its edge element; the tensor wrapped around.
enum class PadMode : std::uint8_t { Constant, Reflect, Replicate, Circular };

/// gelu(x) = x P(X <= x) for normal X, by the error function or its tanh approximation.
enum class GeluForm : std::uint8_t { Tanh, Erf };

/// Elements begin, begin + step, ... before end of one axis, as in Python: negative positions count
/// from the end, positions out of range are clipped, a negative step walks down.
struct Slice {
  std::optional<std::int64_t> begin = std::nullopt;  // default: the first element walked
  std::optional<std::int64_t> end = std::nullopt;    // default: walk to the other end
  std::int64_t step = 1;                             // not 0
};

/// A lazily computed array with reverse-mode differentiation. A Tensor is a handle: copies are the
/// same tensor. Nothing is computed before realize(), read() or item().
///
/// Negative axes count from the last. Binary operations broadcast as in NumPy and promote dtypes
/// with promote(); real functions convert integers to float32 first. All throw ShapeError,
/// DTypeError or BufferError (devices) for operands that do not fit.
class Tensor {
 public:
  explicit Tensor(LazyBufferPtr data);
  explicit Tensor(std::shared_ptr<TensorNode> node) : node_(std::move(node)) {}

  // Creation.
  static Tensor full(const Shape& shape, Number value, const TensorOptions& options = {});
  static Tensor zeros(const Shape& shape, const TensorOptions& options = {});
  static Tensor ones(const Shape& shape, const TensorOptions& options = {});
  static Tensor empty(const Shape& shape, const TensorOptions& options = {});
  /// begin, begin + step, ... before end; rank 1, written to the device at once.
  static Tensor arange(std::int64_t begin, std::int64_t end, std::int64_t step = 1,
                       const TensorOptions& options = {.dtype = DType::Int32});
  /// 0, 1, ..., end - 1.
  static Tensor arange(std::int64_t end) { return arange(0, end); }
  /// arange for fractions, as numpy.arange: ceil((end - begin) / step) values begin + i step, each
  /// computed in double.
  template <Arithmetic A, Arithmetic B, Arithmetic C = int>
  requires(std::floating_point<A> || std::floating_point<B> || std::floating_point<C>)  //
      static Tensor arange(A begin, B end, C step = 1, const TensorOptions& options = {}) {
    return arange_of(static_cast<double>(begin), static_cast<double>(end),
                     static_cast<double>(step), options);
  }
  /// `count` evenly spaced values from begin to end inclusive, computed in double on the host.
  /// Floats only; throws DTypeError.
  static Tensor linspace(double begin, double end, std::int64_t count,
                         const TensorOptions& options = {});
  static Tensor eye(std::int64_t n, const TensorOptions& options = {});
  /// With the shape and device of x, and its dtype by default.
  static Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype = std::nullopt);
  static Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  static Tensor ones_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  static Tensor empty_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  /// Row-major values of the dtype that stores T. Throws ShapeError if the shape has another number
  /// of elements.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape,
                     const std::string& device = "CPU");
  /// As above, for sizes of other integer types such as values.size().
  template <class T, std::integral Size>
  requires(!std::same_as<Size, int> && !std::same_as<Size, std::int64_t>)  //
      static Tensor from(const std::vector<T>& values, std::initializer_list<Size> sizes,
                         const std::string& device = "CPU") {
    Shape shape;
    for (const Size size : sizes) shape.emplace_back(static_cast<std::int64_t>(size));
    return from(values, shape, device);
  }
  /// A scalar of rank 0; a list; or nested lists, {{1, 2}, {3, 4}}; on CPU. Throws ShapeError if
  /// rows differ in length.
  template <class T>
  requires(std::integral<T> || std::floating_point<T>) static Tensor from(T value) {
    return from(std::vector<T>{value}, Shape{});
  }
  template <class T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, {values.size()});
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values) {
    return from(std::vector<T>(values));
  }
  template <class T>
  static Tensor from(std::initializer_list<std::initializer_list<T>> rows);
  template <class T>
  static Tensor from(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks);
  /// No tensor, for a layer's missing parameter. All members except defined() throw Error.
  static Tensor none() { return Tensor(std::shared_ptr<TensorNode>()); }

  // Properties.
  const LazyBufferPtr& lazy() const;
  const Shape& shape() const { return values()->shape(); }
  int rank() const { return values()->rank(); }
  /// Size of one axis, which must not be a variable.
  std::int64_t size(int axis) const;
  std::int64_t elements() const;
  std::int64_t nbytes() const;  // of the elements
  bool defined() const { return node_ != nullptr; }
  DType dtype() const { return values()->dtype(); }
  const std::string& device() const { return values()->device(); }  // several: "CPU,CPU:1"
  std::vector<std::string> devices() const { return values()->devices(); }
  /// The axis sharded over several devices; nullopt if each has the whole, or there is only one.
  std::optional<int> shard_axis() const { return values()->axis(); }
  const std::shared_ptr<TensorNode>& node() const { return node_; }

  // Values.
  /// Computes the tensor; `values` binds the variables in its shape and views. Throws Error if one
  /// is missing.
  const Tensor& realize(const symbolic::Values& values = {}) const;
  /// Returns the tensor for these variable values, computed now by the kernels for all values, with
  /// a numeric shape and no history. Unlike realize(), which fixes the values, this does not
  /// compute the tensor itself. Throws Error if a variable is missing, ShapeError if a value is out
  /// of range.
  Tensor bind(const symbolic::Values& values) const;
  template <class T>
  std::vector<T> read() const;  // row-major; T stores dtype()
  template <class T>
  T item() const;  // the only element
  Tensor to(const std::string& device) const;
  /// Copies the whole tensor to each of several devices, which then compute on it together; results
  /// stay there until to() moves them to one device. Throws Error for a repeated name.
  Tensor to(const std::vector<std::string>& devices) const;
  Tensor to(std::initializer_list<std::string> devices) const;
  /// Distributes equal parts of `axis` over the devices in order. Steps that need more than one
  /// part copy between devices or allreduce. Throws as to(), and ShapeError if the axis does not
  /// divide into equal parts.
  Tensor shard(const std::vector<std::string>& devices, int axis) const;
  Tensor shard_like(const Tensor& other) const;  // with the placement of `other`
  Tensor& shard_(const std::vector<std::string>& devices, int axis);  // for all handles, as to_()
  /// Moves this tensor and its gradient, for all handles. Throws Error if it was computed from
  /// tensors that require gradients, and in a function captured by a TensorJit.
  Tensor& to_(const std::string& device);
  Tensor contiguous() const;
  Tensor clone() const;  // a new tensor with these values; the gradient passes through
  Tensor cast(DType to) const;
  Tensor half() const { return cast(DType::Float16); }
  Tensor float_() const { return cast(DType::Float32); }
  Tensor double_() const { return cast(DType::Float64); }
  Tensor int_() const { return cast(DType::Int32); }
  Tensor long_() const { return cast(DType::Int64); }
  Tensor bool_() const { return cast(DType::Bool); }
  Tensor bitcast(DType to) const;
  /// Replaces the values; same shape, dtype and device. Discards the history.
  void assign(const Tensor& values);
  /// Sets the elements at `slices` (missing axes are whole) to `values`, which broadcast to them,
  /// or to a number; of this dtype, for all handles, as NumPy's x[...] = values. Throws Error if
  /// this tensor or the values require a gradient, and as assign.
  Tensor& set(const std::vector<Slice>& slices, const Tensor& values);
  Tensor& set(const std::vector<Slice>& slices, Number value);
  /// Without gradients, changes the tensor for all handles and keeps shape and dtype, as in NumPy.
  /// If an operand requires a gradient, only this handle changes, to the result of x = x + other
  /// with its history; for a leaf that requires one this is an Error outside of a NoGrad scope.
  /// Throws ShapeError, DTypeError if the result has another shape or dtype.
  Tensor& operator+=(const Tensor& other);
  Tensor& operator-=(const Tensor& other);
  Tensor& operator*=(const Tensor& other);
  Tensor& operator/=(const Tensor& other);
  Tensor& operator+=(Number other);
  Tensor& operator-=(Number other);
  Tensor& operator*=(Number other);
  Tensor& operator/=(Number other);

  // Gradients.
  bool requires_grad() const;
  /// For float leaves.
  Tensor& set_requires_grad(bool wanted = true);
  /// The gradient of a leaf, summed over all backward() since zero_grad(); nullopt before the
  /// first.
  std::optional<Tensor> grad() const;
  void zero_grad();
  /// Replaces the gradient; same shape, dtype and device. Throws as assign.
  void set_grad(const Tensor& gradient);
  /// Makes backward() store this tensor's gradient although it is not a leaf.
  Tensor& retain_grad();
  /// Adds d(*this)/d(leaf) to the gradient of every leaf that requires one. *this must have one
  /// element, or `gradient` is the gradient of each element.
  void backward(const std::optional<Tensor>& gradient = std::nullopt) const;
  Tensor detach() const;

  // Movement.
  Tensor reshape(Shape shape) const;  // one size may be -1: inferred
  Tensor permute(std::vector<int> order) const;
  Tensor transpose(int a = -2, int b = -1) const;
  Tensor movedim(int from, int to) const;    // the other axes keep their order
  Tensor expand(const Shape& shape) const;   // -1 keeps a size; leading axes may be added
  Tensor pad(const Padding& padding) const;  // with zeros; one pair per axis
  /// One pair per axis, as numpy.pad; only Constant uses `value`. Reflect pads less than the axis
  /// size, Circular at most the axis size, Replicate requires a non-empty axis. Throws ShapeError.
  Tensor pad(const Padding& padding, PadMode mode, Number value = 0) const;
  /// (before, after) of the last axis, then of the one before it, ..., as the lineage's pad2d and
  /// PyTorch's pad; negative numbers crop.
  Tensor pad2d(const std::vector<std::int64_t>& padding, Number value = 0) const;
  Tensor shrink(const Mask& keep) const;  // [begin, end) of each axis
  Tensor flip(const std::vector<int>& axes) const;
  Tensor slice(const std::vector<Slice>& slices) const;  // missing axes are whole
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;                        // unchanged if its size is not 1
  Tensor squeeze() const;                                // all axes of size 1
  Tensor flatten(int first = 0) const;                   // merges axes first..
  Tensor unflatten(int axis, const Shape& sizes) const;  // splits an axis; one size may be -1
  Tensor narrow(int axis, const sint& begin, const sint& size) const;
  /// Splits an axis into parts of these sizes, which must add up to its size.
  std::vector<Tensor> split(const std::vector<std::int64_t>& sizes, int axis = 0) const;
  /// Splits into parts of `size`; the last may be smaller.
  std::vector<Tensor> split(std::int64_t size, int axis = 0) const;
  /// Splits into at most `count` parts of equal size; the last may be smaller (as PyTorch; NumPy's
  /// array_split balances them).
  std::vector<Tensor> chunk(std::int64_t count, int axis = 0) const;
  /// numpy.tile: one number per axis; extra numbers add axes in front.
  Tensor repeat(const std::vector<std::int64_t>& times) const;
  Tensor repeat_interleave(std::int64_t times, int axis) const;  // numpy.repeat
  Tensor roll(std::int64_t by, int axis) const;
  /// Windows of `size` elements, every `step`-th, along an axis, which becomes the window index; a
  /// new last axis holds the window. A view.
  Tensor unfold(int axis, std::int64_t size, std::int64_t step = 1) const;
  /// The last two axes with zeros below (tril: above) diagonal `k`; positive k is above the main
  /// one.
  Tensor triu(std::int64_t k = 0) const;
  Tensor tril(std::int64_t k = 0) const;
  /// The diagonal of two axes, which it replaces; it becomes the last axis.
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
  Tensor tan() const;
  // These and exp, log, cos, rsqrt, sigmoid, tan, erf, gelu, silu and softplus: see docs/tensor.md.
  Tensor tanh() const;
  Tensor expm1() const;  // exp(x) - 1
  Tensor log1p() const;  // log(1 + x)
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor asinh() const;
  Tensor acosh() const;
  Tensor atanh() const;
  Tensor erf() const;
  Tensor erfc() const;  // 1 - erf(x)
  Tensor log10() const;
  Tensor asin() const;
  Tensor acos() const;
  Tensor atan() const;
  Tensor cbrt() const;
  Tensor lgamma() const;   // log |gamma(x)|
  Tensor digamma() const;  // its derivative; NaN at -1, -2, ...
  Tensor erfinv() const;   // inverse of erf
  Tensor abs() const;
  Tensor square() const;
  Tensor pow(int exponent) const;               // as pow(Tensor, Number)
  Tensor pow(double exponent) const;            // the same
  Tensor clamp(Number low, Number high) const;  // keeps NaN
  Tensor gelu(GeluForm form = GeluForm::Tanh) const;
  Tensor quick_gelu() const;  // x sigmoid(1.702 x)
  Tensor silu() const;        // x sigmoid(x), also called swish
  Tensor mish() const;        // x tanh(softplus(x))
  Tensor softplus() const;    // log(1 + exp(x))
  Tensor log_sigmoid() const;
  Tensor softsign() const;  // x / (1 + |x|)
  Tensor elu(double alpha = 1) const;
  Tensor selu() const;
  Tensor celu(double alpha = 1) const;  // alpha (exp(x / alpha) - 1) below 0
  Tensor leaky_relu(double slope = 0.01) const;
  Tensor relu6() const;
  Tensor hardtanh(double low = -1, double high = 1) const;
  Tensor hardsigmoid() const;
  Tensor hardswish() const;
  // Piecewise constant: exact, without gradient.
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
  /// A number takes the tensor's dtype as with an operator; two numbers give bool, int32 or
  /// float32.
  static Tensor where(const Tensor& condition, const Tensor& a, Number b);
  static Tensor where(const Tensor& condition, Number a, const Tensor& b);
  static Tensor where(const Tensor& condition, Number a, Number b);
  /// Applies the functions in order.
  Tensor sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions) const;

  // Reductions. Without axes: over all axes, to a scalar.
  /// Sums bool and narrow integers in 32 bits and returns those; sums narrow floats in float32 and
  /// returns their own type.
  Tensor sum() const;
  Tensor sum(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor mean() const;
  Tensor mean(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor max() const;
  Tensor max(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor min() const;
  Tensor min(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// Sum of squares around the mean divided by n - correction (NumPy's default is 0).
  Tensor var(const std::vector<int>& axes, std::int64_t correction = 1,
             KeepDim keep = KeepDim::No) const;
  Tensor std(const std::vector<int>& axes, std::int64_t correction = 1,
             KeepDim keep = KeepDim::No) const;
  Tensor var() const;
  Tensor std() const;
  /// Multiplies bool and narrow integers in 32 bits and returns those.
  Tensor prod() const;
  Tensor prod(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// True if some (all: every) element is not 0.
  Tensor any() const;
  Tensor any(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  Tensor all() const;
  Tensor all(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// log(sum(exp(x))) without overflow; -inf if all elements are.
  Tensor logsumexp(const std::vector<int>& axes, KeepDim keep = KeepDim::No) const;
  /// Int32 index of the first largest (argmin: smallest) element along an axis, or of the first NaN
  /// if there is one. Without an axis: in row-major order. Throws ShapeError for an empty axis.
  Tensor argmax(int axis, KeepDim keep = KeepDim::No) const;
  Tensor argmin(int axis, KeepDim keep = KeepDim::No) const;
  Tensor argmax() const;
  Tensor argmin() const;

  // Scans along an axis: element i reduces elements 0..i. On the reference device each sum is
  // rounded once. The cost for n elements is n * min(n, 256).
  Tensor cumsum(int axis) const;  // dtypes as sum
  Tensor cumprod(int axis) const;
  Tensor cummax(int axis) const;
  Tensor cummin(int axis) const;

  /// (..., m, k) x (..., k, n) -> (..., m, n) with leading axes broadcast; a vector is a row on the
  /// left and a column on the right, and its axis is dropped. Of the operands' common dtype.
  Tensor matmul(const Tensor& other) const;

  /// Maps a negative `axis` to [0, rank). Throws ShapeError if it is out of range.
  int normal_axis(int axis) const;
  std::vector<int> normal_axes(const std::vector<int>& axes) const;

 private:
  static Tensor arange_of(double begin, double end, double step, const TensorOptions& options);
  Tensor& become(const Tensor& result, const char* what);
  static Tensor from_bytes(DType dtype, std::span<const std::byte> bytes, const Shape& shape,
                           const std::string& device);
  BufferPtr host_ready() const;  // realized, contiguous memory
  Tensor& place_(const char* who, const std::string& device, std::optional<int> axis);
  TensorNode& held() const;             // throws Error if moved from
  const LazyBufferPtr& values() const;  // as lazy(), without marking the values as used

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
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN if either is; ties share the gradient
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor mod(const Tensor& a, const Tensor& b);  // the sign of a, as in C
/// a / b rounded down, and a minus b times that, with the sign of b; as in Python. The remainder's
/// gradients are 1 and minus the quotient, the quotient has none. Bools count as int8.
Tensor floor_div(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Tensor& b);
/// Bitwise; integers and bool. Throws DTypeError.
Tensor operator^(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
/// a^b. Of integers exact, modulo 2^bits as products; a negative exponent gives 1 / a^-b without
/// its fraction (0 for a = 0) or, where it is a constant, throws DTypeError. Two bools give int8.
/// Of floats: NaN for a negative base with a fraction, 1 for exponent 0. The gradients are 0 where
/// undefined: a's for b = 0, b's for a = 0 and b >= 0.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor atan2(const Tensor& y, const Tensor& x);  // the angle of (x, y), as in C
Tensor hypot(const Tensor& x, const Tensor& y);

// With a number, which becomes a constant of the tensor's dtype (float32 for a fraction with
// integers).
Tensor operator^(const Tensor& a, Number b);
Tensor operator^(Number a, const Tensor& b);
Tensor operator&(const Tensor& a, Number b);
Tensor operator|(const Tensor& a, Number b);
Tensor floor_div(const Tensor& a, Number b);
Tensor floor_div(Number a, const Tensor& b);
Tensor remainder(const Tensor& a, Number b);
Tensor remainder(Number a, const Tensor& b);
Tensor pow(const Tensor& a, Number b);
Tensor pow(Number a, const Tensor& b);
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

/// Returns d(of)/d(x) for each x, summed over the elements of `of` with weights `gradient` (default
/// 1 if `of` has one element); zeros if `of` does not depend on x. Leaves' grad() stays unchanged.
/// With CreateGraph::Yes the results are differentiable. Throws Error, ShapeError, DTypeError.
std::vector<Tensor> gradients(const Tensor& of, const std::vector<Tensor>& with_respect_to,
                              CreateGraph create = CreateGraph::No,
                              const std::optional<Tensor>& gradient = std::nullopt);

/// Realizes many tensors in one schedule.
void realize(std::span<const Tensor> tensors, const symbolic::Values& values = {});

/// Returns the broadcast shape of two shapes. Throws ShapeError naming both.
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
Tensor Tensor::from(std::initializer_list<std::initializer_list<T>> rows) {
  const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
  std::vector<T> values;
  for (const auto& row : rows) {
    if (row.size() != width)
      throw ShapeError(fmt::format("from: rows of {} and {} values; they must have equal lengths",
                                   width, row.size()));
    values.insert(values.end(), row.begin(), row.end());
  }
  return from(values, {rows.size(), width});
}

template <class T>
Tensor Tensor::from(std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks) {
  std::vector<Tensor> parts;
  for (const auto& block : blocks) parts.push_back(from(block));
  std::vector<T> values;
  for (const Tensor& part : parts) {
    if (part.shape() != parts[0].shape())
      throw ShapeError(fmt::format("from: blocks of shapes {} and {}; they must be equal",
                                   str(parts[0].shape()), str(part.shape())));
    const std::vector<T> some = part.read<T>();
    values.insert(values.end(), some.begin(), some.end());
  }
  if (parts.empty()) return from(values, Shape{0, 0, 0});
  return from(values, Shape{static_cast<std::int64_t>(parts.size()), parts[0].shape()[0],
                            parts[0].shape()[1]});
}

template <class T>
std::vector<T> Tensor::read() const {
  if (dtype_v<T> != dtype())
    throw DTypeError(
        fmt::format("read: the tensor is {}, not {}; cast first", name(dtype()), name(dtype_v<T>)));
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
