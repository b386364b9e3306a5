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

/// Where and as what a new tensor lives.
struct TensorOptions {
  DType dtype = default_dtype();
  std::string device = "CPU";

  // For layers, whose options are these and more.
  operator nn::LayerOptions() const;      // NOLINT(google-explicit-constructor)
  operator nn::NormOptions() const;       // NOLINT(google-explicit-constructor)
  operator nn::BatchNormOptions() const;  // NOLINT(google-explicit-constructor)
};

/// Number types of C++ but bool.
template <class T>
concept Arithmetic = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

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
  /// 0, 1, ... up to and without end.
  static Tensor arange(std::int64_t end) { return arange(0, end); }
  /// The same of fractions, as numpy.arange: ceil((end - begin) / step) values begin + i step, each
  /// computed in double.
  template <Arithmetic A, Arithmetic B, Arithmetic C = int>
  requires(std::floating_point<A> || std::floating_point<B> || std::floating_point<C>)  //
      static Tensor arange(A begin, B end, C step = 1, const TensorOptions& options = {}) {
    return arange_of(static_cast<double>(begin), static_cast<double>(end),
                     static_cast<double>(step), options);
  }
  /// `count` values from begin to end, both included, evenly spaced; computed in double on the
  /// host. Floats only; throws DTypeError.
  static Tensor linspace(double begin, double end, std::int64_t count,
                         const TensorOptions& options = {});
  static Tensor eye(std::int64_t n, const TensorOptions& options = {});
  /// Of the shape and device of x, and of its dtype where none is given.
  static Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype = std::nullopt);
  static Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  static Tensor ones_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  static Tensor empty_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
  /// Row-major values of the dtype that stores T. Throws ShapeError where the shape has another
  /// number of elements.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape,
                     const std::string& device = "CPU");
  /// The same with sizes that are no int64, such as values.size().
  template <class T, std::integral Size>
  requires(!std::same_as<Size, int> && !std::same_as<Size, std::int64_t>)  //
      static Tensor from(const std::vector<T>& values, std::initializer_list<Size> sizes,
                         const std::string& device = "CPU") {
    Shape shape;
    for (const Size size : sizes) shape.emplace_back(static_cast<std::int64_t>(size));
    return from(values, shape, device);
  }
  /// A number, as rank 0; a list; lists of lists as they are written, {{1, 2}, {3, 4}}, on CPU.
  /// Throws ShapeError where rows differ in length.
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
  /// No tensor, which a layer has in the place of what it was made without. Everything but
  /// defined() throws Error.
  static Tensor none() { return Tensor(std::shared_ptr<TensorNode>()); }

  // Properties.
  const LazyBufferPtr& lazy() const;
  const Shape& shape() const { return values()->shape(); }
  int rank() const { return values()->rank(); }
  /// Size of one axis, which must be a number.
  std::int64_t size(int axis) const;
  std::int64_t elements() const;
  std::int64_t nbytes() const;  // of the elements
  bool defined() const { return node_ != nullptr; }
  DType dtype() const { return values()->dtype(); }
  const std::string& device() const { return values()->device(); }  // "CPU,CPU:1": several
  std::vector<std::string> devices() const { return values()->devices(); }
  /// Along which each of several devices has its part; nullopt: the whole, or nothing.
  std::optional<int> shard_axis() const { return values()->axis(); }
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
  /// The whole on each of several devices, which work on it together. Results of it stay there,
  /// until to() takes them to one device. Throws Error where one is named twice.
  Tensor to(const std::vector<std::string>& devices) const;
  Tensor to(std::initializer_list<std::string> devices) const;
  /// The first part of `axis` on the first device, and so on. Steps that need more than one part
  /// are copies between devices and allreduces. Throws as to(), and ShapeError where the axis does
  /// not divide into equal parts.
  Tensor shard(const std::vector<std::string>& devices, int axis) const;
  Tensor shard_like(const Tensor& other) const;  // where and along which axis that one is
  Tensor& shard_(const std::vector<std::string>& devices, int axis);  // for all handles, as to_()
  /// Moves this tensor and its gradient, for all handles. Throws Error for one that was computed
  /// from others whose gradients are wanted, and in a function that a TensorJit notes.
  Tensor& to_(const std::string& device);
  Tensor contiguous() const;
  Tensor clone() const;  // a tensor of its own with these values; the gradient passes
  Tensor cast(DType to) const;
  Tensor half() const { return cast(DType::Float16); }
  Tensor float_() const { return cast(DType::Float32); }
  Tensor double_() const { return cast(DType::Float64); }
  Tensor int_() const { return cast(DType::Int32); }
  Tensor long_() const { return cast(DType::Int64); }
  Tensor bool_() const { return cast(DType::Bool); }
  Tensor bitcast(DType to) const;
  /// Replaces the values, of the same shape, dtype and device; history is forgotten.
  void assign(const Tensor& values);
  /// The elements at `slices` (axes left out are whole) become `values`, which broadcast to them,
  /// or a number; of this dtype, for all handles, as NumPy's x[...] = values. Throws Error where a
  /// gradient is wanted of this tensor or of the values, and what assign throws.
  Tensor& set(const std::vector<Slice>& slices, const Tensor& values);
  Tensor& set(const std::vector<Slice>& slices, Number value);
  /// For all handles, where no gradient is wanted of either operand: the shape and the dtype stay,
  /// as in NumPy. Where one is wanted this handle alone becomes the result, with its history, as
  /// x = x + other; a leaf of which one is wanted is an Error outside of a NoGrad scope. Throws
  /// ShapeError, DTypeError where the result has another shape or dtype.
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
  /// Floats only. For leaves.
  Tensor& set_requires_grad(bool wanted = true);
  /// The gradient of a leaf, summed over all backward() since zero_grad(); nullopt before.
  std::optional<Tensor> grad() const;
  void zero_grad();
  /// The gradient becomes this one, of the same shape, dtype and device. Throws as assign.
  void set_grad(const Tensor& gradient);
  /// backward() gives this tensor its gradient, too, though it was computed from others.
  Tensor& retain_grad();
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
  /// (before, after) of the last axis, then of the one before it, ..., as the lineage's pad2d and
  /// PyTorch's pad; negative numbers take elements away.
  Tensor pad2d(const std::vector<std::int64_t>& padding, Number value = 0) const;
  Tensor shrink(const Mask& keep) const;  // [begin, end) of each axis
  Tensor flip(const std::vector<int>& axes) const;
  Tensor slice(const std::vector<Slice>& slices) const;  // axes left out are kept whole
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;                        // of another size: as it is
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
  /// numpy.tile: one number an axis; more numbers than axes make new ones in front.
  Tensor repeat(const std::vector<std::int64_t>& times) const;
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
  Tensor tan() const;
  // Within a few units in the last place, also near 0.
  Tensor tanh() const;
  Tensor expm1() const;  // exp(x) - 1
  Tensor log1p() const;  // log(1 + x)
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor asinh() const;
  Tensor acosh() const;
  Tensor atanh() const;
  Tensor erf() const;
  Tensor abs() const;
  Tensor square() const;
  Tensor pow(int exponent) const;     // by repeated squaring
  Tensor pow(double exponent) const;  // as pow(Tensor, Tensor) where the exponent is no integer
  Tensor clamp(Number low, Number high) const;  // NaN stays
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
  /// A number takes the dtype of the tensor as beside an operator; two are bool, int32 or float32.
  static Tensor where(const Tensor& condition, const Tensor& a, Number b);
  static Tensor where(const Tensor& condition, Number a, const Tensor& b);
  static Tensor where(const Tensor& condition, Number a, Number b);
  /// f(...g(x)).
  Tensor sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions) const;

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
  /// there is one. Without an axis: in row-major order. Throws ShapeError where the axis is empty.
  Tensor argmax(int axis, KeepDim keep = KeepDim::No) const;
  Tensor argmin(int axis, KeepDim keep = KeepDim::No) const;
  Tensor argmax() const;
  Tensor argmin() const;

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
  static Tensor arange_of(double begin, double end, double step, const TensorOptions& options);
  Tensor& become(const Tensor& result, const char* what);
  static Tensor from_bytes(DType dtype, std::span<const std::byte> bytes, const Shape& shape,
                           const std::string& device);
  BufferPtr host_ready() const;  // realized, contiguous memory
  Tensor& place_(const char* who, const std::string& device, std::optional<int> axis);
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
/// Of bits; of integers and bool. Throws DTypeError.
Tensor operator^(const Tensor& a, const Tensor& b);
/// a^b for floats, as 2^(b log2 |a|) with its sign; NaN for a negative number and a fraction, 1 for
/// an exponent of 0. Within some |b log2 a| units in the last place. No gradient passes at a = 0.
Tensor pow(const Tensor& a, const Tensor& b);

// With a number, which becomes a constant of the tensor's dtype (of float32 where a fraction meets
// integers).
Tensor operator^(const Tensor& a, Number b);
Tensor operator^(Number a, const Tensor& b);
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
