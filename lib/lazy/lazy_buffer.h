#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/kernelize/elements.h"
#include "touchstone/lazy/origin.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

class LazyBuffer;
using LazyBufferPtr = std::shared_ptr<LazyBuffer>;

/// Work outside kernels: fills `out` from whole buffers, in source order.
struct CustomFunction {
  std::string name;  // in schedules
  std::function<void(Buffer& out, std::span<Buffer* const> in)> run;
};
using CustomFunctionPtr = std::shared_ptr<const CustomFunction>;

/// A lazily computed tensor: a node of an immutable graph. It is either a *base*, a contiguous
/// array that is the result of an op on other LazyBuffers or a realized Buffer, or a *view*, a base
/// seen through a ShapeTracker. Movement ops make only views; elementwise ops, reduces and loads
/// make bases. schedule() decides from the graph alone what each kernel computes.
///
/// The only change in a LazyBuffer's lifetime is that realize() replaces a base's op and sources
/// with the resulting Buffer.
///
/// On several devices ("CPU,CPU:1") every device has the whole or a shard along axis(). There,
/// movement makes bases with the op NOOP, so that kernelize sees each step; the rules for MULTI
/// check it at construction. Only the schedulers of lib/kernelize accept these.
///
/// Config::current() applies at construction: LAZYCACHE returns an existing LazyBuffer with the
/// same op and sources (never for EMPTY, RAND, CUSTOM and assign(), and never a realized one);
/// LAZY=0 realizes every op at once; also REMOVE_MOVEMENT_NOPS, SIMPLIFY_SUM_RESHAPE_EXPAND_SUM and
/// the threshold of split_reduce.
class LazyBuffer : public std::enable_shared_from_this<LazyBuffer> {
 public:
  /// Uninitialised memory (zeros on our devices).
  static LazyBufferPtr empty(Shape shape, DType dtype, const std::string& device);
  /// Float32, uniform in [0, 1): elements arg.first, arg.first + 1, ... of the stream of arg.seed
  /// (device/threefry.h). Throws ShapeError for a symbolic shape.
  static LazyBufferPtr random(RandArg arg, Shape shape, const std::string& device);
  /// The same value everywhere. Uses no memory unless made contiguous().
  static LazyBufferPtr constant(Scalar value, const Shape& shape, const std::string& device);
  /// An array of `shape` that `function` fills from `srcs`, which are realized on `device`. Throws
  /// ShapeError for a symbolic shape, BufferError if a source is on another device.
  static LazyBufferPtr custom(CustomFunctionPtr function, std::vector<LazyBufferPtr> srcs,
                              Shape shape, DType dtype, const std::string& device);
  /// Selects, for each element p of `positions`, element p of the first axis of `table`. If p is
  /// out of range the result is 0 or, if `checked` numbers the positions, an IndexError when that
  /// element is computed. `table` is realized; `positions` (int64, of the shape of the other axes
  /// of `table`) need not be. Throws ShapeError, DTypeError, BufferError.
  static LazyBufferPtr gather(LazyBufferPtr table, LazyBufferPtr positions,
                              std::optional<ShapeTracker> checked = std::nullopt);
  /// Wraps an existing buffer. Throws ShapeError if the shape (its maximum if symbolic) has another
  /// number of elements.
  static LazyBufferPtr from_buffer(BufferPtr buffer, Shape shape);
  /// Joins realized bases, one per device in the order of the tuple's names, sharded along `axis`
  /// or whole.
  static LazyBufferPtr from_parts(std::vector<LazyBufferPtr> parts, const std::string& devices,
                                  const Shape& shape, std::optional<int> axis);
  /// As from_parts, for parts that need not be realized.
  static LazyBufferPtr stack(std::vector<LazyBufferPtr> parts, const std::string& devices,
                             const Shape& shape, std::optional<int> axis);
  /// The part on device number i: its shard, or the whole.
  LazyBufferPtr part(std::size_t i);
  /// Uses an array in host memory in place: element i... is at data[sum of i*stride]. strides: in
  /// elements, one per axis, of any sign. `owner` keeps the memory alive; it must not change while
  /// it may be read. Throws ShapeError for negative sizes or a wrong number of strides, BufferError
  /// if `device` does not use host memory.
  static LazyBufferPtr from_host(void* data, DType dtype, std::span<const std::int64_t> shape,
                                 std::span<const std::int64_t> strides,
                                 std::shared_ptr<const void> owner, const std::string& device);

  const std::string& device() const { return device_; }  // canonical name
  /// The names of its devices.
  std::vector<std::string> devices() const { return Device::names_in(device_); }
  bool several() const { return several_; }
  /// The axis it is sharded along; nullopt if every device has all of it.
  std::optional<int> axis() const { return axis_; }
  DType dtype() const { return dtype_; }
  const ShapeTracker& st() const { return st_; }
  const Shape& shape() const { return st_.shape(); }
  int rank() const { return st_.rank(); }

  bool is_base() const { return base_ == nullptr; }
  LazyBuffer& base() { return base_ ? *base_ : *this; }
  const LazyBuffer& base() const { return base_ ? *base_ : *this; }
  const LazyBufferPtr& base_of_view() const { return base_; }  // null for a base
  LazyBufferPtr base_ptr() { return base_ ? base_ : shared_from_this(); }

  /// The memory of the base; null until realized, and for several devices.
  const BufferPtr& realized() const { return base().buffer_; }
  /// True if the base has memory, here or on each of its devices.
  bool is_realized() const { return base().buffer_ != nullptr || !base().parts_.empty(); }
  /// For a realized base on several devices: the base on each.
  const std::vector<LazyBufferPtr>& parts() const { return base().parts_; }
  /// A movement step on several devices: op and argument. MULTI: shard along an axis; MSELECT: the
  /// part of one device; MSTACK: joins one source per device along an axis or, with -1, as copies.
  struct Move {
    GraphOp op;
    UOpArg arg;
  };
  const Move* move() const { return move_.get(); }
  /// Op, sources and argument of an unrealized base; meaningless after realization.
  Op op() const { return op_; }
  const std::vector<LazyBufferPtr>& srcs() const { return srcs_; }
  const OpArg& arg() const { return arg_; }
  /// True if contiguous() was called on this base: it must be realized.
  bool must_realize() const { return must_realize_; }
  const CustomFunctionPtr& custom_function() const { return custom_; }
  /// For a base made by assign(): the buffer whose value it replaces; otherwise null.
  const LazyBufferPtr& assigns_to() const { return assigns_to_; }

  /// The existing LazyBuffers that compute from this one; views(): those that are views of this
  /// base.
  std::vector<LazyBufferPtr> children() const;
  std::vector<LazyBufferPtr> views() const;

  /// True if the base is a constant without memory; the view may still mask it.
  bool is_const_base() const { return !is_realized() && base().op_ == Op::LoadConst; }
  /// The value if every element is the same known constant: a const base, nothing masked.
  std::optional<Scalar> constant_value() const;

  /// Makes a base by an elementwise op on sources of the same shape and device. All sources have
  /// one dtype (WHERE: a bool, then two of one dtype); comparisons give bool. Folds identities that
  /// are exact bit for bit: x*1, x/1, x-0, and x+0 for integers (for floats only x + -0.0, as -0.0
  /// + 0.0 is 0.0). Throws ShapeError, DTypeError, or BufferError for differing devices.
  static LazyBufferPtr e(Op op, std::vector<LazyBufferPtr> srcs, OpArg arg = {});
  /// A named function of float sources, as e().
  static LazyBufferPtr call(NamedFunction function, std::vector<LazyBufferPtr> srcs) {
    return e(Op::Function, std::move(srcs), FunctionArg{function});
  }
  /// The values converted to `to`.
  LazyBufferPtr cast(DType to);
  /// Reinterprets the bits as another type of the same size, not bool. Throws DTypeError.
  LazyBufferPtr bitcast(DType to);
  /// REDUCE_SUM or REDUCE_MAX over `axes` (distinct, each in [0, rank)), which remain with size 1.
  /// SUM accumulates in sum_accumulator(dtype) and returns the source's dtype. A reduce of very
  /// many elements to one is split in two (split_reduce). A reduce of no elements gives the
  /// identity: 0, or the least value of the type. Throws ShapeError, DTypeError.
  LazyBufferPtr r(Op op, std::vector<int> axes);

  /// The same elements as a base that will be realized.
  LazyBufferPtr contiguous();
  /// Stores `value` in the memory of this base, which must not be a view. Use the result from now
  /// on; this LazyBuffer and everything computed from it keep the old value, because assignment
  /// exchanges memories: no kernel overwrites data that is still to be read. If this has no memory
  /// yet, returns value->contiguous(). Throws ShapeError, DTypeError, BufferError if the two
  /// differ.
  LazyBufferPtr assign(const LazyBufferPtr& value);
  /// Copies to another device, or to each of several; copies of copies start at the first source.
  LazyBufferPtr copy_to_device(const std::string& device);
  /// Shards a tensor that is whole on each of several devices along `axis`. Throws ShapeError if
  /// there is no such axis or it does not divide into equal shards, BufferError on a single device.
  LazyBufferPtr shard(int axis);
  /// Moves to `device`, one or several, sharded along `axis` or whole; returns *this if already
  /// there.
  LazyBufferPtr place(const std::string& device, std::optional<int> axis);

  // Movement by views only. Returns *this if nothing moves; throws ShapeError.
  LazyBufferPtr reshape(const Shape& shape);
  LazyBufferPtr permute(std::span<const int> order);
  LazyBufferPtr expand(const Shape& shape);
  LazyBufferPtr pad(const Padding& padding);
  LazyBufferPtr shrink(const Mask& keep);
  LazyBufferPtr stride(std::span<const std::int64_t> steps);

  /// The tensor operation that first made it.
  Origin origin() const { return origin_; }

  /// Gives a base its memory and releases the graph above it. For realize() and similar.
  void set_realized(BufferPtr buffer);
  /// Marks an unrealized base of a schedule as an assignment to this realized one.
  void exchange_with(LazyBufferPtr old) { assigns_to_ = std::move(old); }
  /// As set_realized, for several devices: one realized base each, sharded along `axis` or whole.
  void set_parts(std::vector<LazyBufferPtr> parts, std::optional<int> axis);

  ~LazyBuffer();  // iterative, for chains of any length
  LazyBuffer(const LazyBuffer&) = delete;
  LazyBuffer& operator=(const LazyBuffer&) = delete;

 private:
  LazyBuffer(std::string device, DType dtype, ShapeTracker st);
  static LazyBufferPtr make_base(std::string device, DType dtype, Shape shape, Op op, OpArg arg,
                                 std::vector<LazyBufferPtr> srcs);
  static LazyBufferPtr enter(LazyBufferPtr made);  // applies cache, families, LAZY=0
  LazyBufferPtr view(ShapeTracker st);
  bool steps_alone() const { return several_ && !is_const_base(); }
  LazyBufferPtr moved(GraphOp op, UOpArg arg, const ShapeTracker& st);  // on several devices
  // Calls `make` for each device and joins the results.
  template <class Make>
  static LazyBufferPtr on_each(const std::vector<std::string>& devices, const Make& make);
  static LazyBufferPtr gathered_on_each(const LazyBufferPtr& table, const LazyBufferPtr& positions,
                                        const std::optional<ShapeTracker>& checked);
  LazyBufferPtr r_whole(Op op, std::vector<int> axes);  // as one kernel
  /// Reduces without the axes that only repeat elements; null if there are none.
  LazyBufferPtr r_of_copies(Op op, const std::vector<int>& axes);

  std::string device_;
  DType dtype_;
  ShapeTracker st_;  // a base: contiguous
  Origin origin_ = OriginScope::current();
  LazyBufferPtr base_;  // a view's base; null for a base
  Op op_ = Op::Empty;   // bases only, as all members below
  OpArg arg_;
  std::vector<LazyBufferPtr> srcs_;
  BufferPtr buffer_;
  std::vector<LazyBufferPtr> parts_;
  std::shared_ptr<const Move> move_;
  CustomFunctionPtr custom_;
  LazyBufferPtr assigns_to_;
  std::optional<int> axis_;
  bool several_ = false;
  bool must_realize_ = false;
  bool remembered_ = false;  // it is in the cache
  std::vector<std::weak_ptr<LazyBuffer>> children_, views_;
};

/// A reduce split in two: axis `axis` is viewed as (size/factor, factor); the first kernel reduces
/// the chunks of `factor`, the second the rest.
struct ReduceSplit {
  int axis = 0;
  std::int64_t factor = 1;
  bool operator==(const ReduceSplit&) const = default;
};
/// Returns how to split a reduce of `x` over `axes`; nullopt if one kernel suffices. A split needs
/// at least `threshold` elements per result and a factor (a common divisor of the size and 256) of
/// at least 16 whose stride is not too large. The rule of tinygrad@v0.8.0 lazy.py.
std::optional<ReduceSplit> split_reduce(const ShapeTracker& x, std::span<const int> axes,
                                        std::int64_t threshold = 32768);

}  // namespace touchstone
