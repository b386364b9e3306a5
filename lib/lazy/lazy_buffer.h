#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/lazy/origin.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

class LazyBuffer;
using LazyBufferPtr = std::shared_ptr<LazyBuffer>;

/// Work that is no kernel: fills `out` from whole buffers, in the order of the sources.
struct CustomFunction {
  std::string name;  // in schedules
  std::function<void(Buffer& out, std::span<Buffer* const> in)> run;
};
using CustomFunctionPtr = std::shared_ptr<const CustomFunction>;

/// A tensor that need not be computed yet: a node of an immutable graph. It is either a *base*, a
/// contiguous array given by an op over other LazyBuffers or by a realized Buffer, or a *view*, a
/// base seen through a ShapeTracker. Movement ops only ever make views; elementwise ops, reduces
/// and loads make bases. What one kernel computes is decided by schedule(), from the graph alone.
///
/// The only thing that changes in a LazyBuffer's life is how a base comes by its value: realize()
/// replaces op and sources by the Buffer they gave.
///
/// On several devices ("CPU,CPU:1") every device has the whole of it, or a shard along axis(); its
/// movement is a base with the op NOOP, so that kernelize sees each step, and what they may do is
/// asked of the rules for MULTI as they are made. Only the schedulers of lib/kernelize take those.
///
/// Config::current() counts when it is made: LAZYCACHE gives the living LazyBuffer where one is
/// the same op over the same sources (never for EMPTY, RAND, CUSTOM and assign(), never a realized
/// one); LAZY=0 realizes every op at once; REMOVE_MOVEMENT_NOPS, SIMPLIFY_SUM_RESHAPE_EXPAND_SUM
/// and the threshold of split_reduce.
class LazyBuffer : public std::enable_shared_from_this<LazyBuffer> {
 public:
  /// Uninitialised memory (zeros on our devices).
  static LazyBufferPtr empty(Shape shape, DType dtype, const std::string& device);
  /// Float32, uniform in [0, 1): elements arg.first, arg.first + 1, ... of the stream of arg.seed
  /// (device/threefry.h). Throws ShapeError where the shape is symbolic.
  static LazyBufferPtr random(RandArg arg, Shape shape, const std::string& device);
  /// One value at every place. Never takes memory unless made contiguous().
  static LazyBufferPtr constant(Scalar value, const Shape& shape, const std::string& device);
  /// `shape` elements that `function` fills from `srcs`, which get memory of their own on `device`.
  /// Throws ShapeError where the shape is symbolic, BufferError where a source is elsewhere.
  static LazyBufferPtr custom(CustomFunctionPtr function, std::vector<LazyBufferPtr> srcs,
                              Shape shape, DType dtype, const std::string& device);
  /// Element p of the first axis of `table`, where p is the element of `positions`, at each of its
  /// places. Where p is outside it is 0, or, where `checked` numbers the positions, an IndexError
  /// once that element is computed. `table` gets memory, `positions` (int64, of the shape of the
  /// other axes of `table`) need not. Throws ShapeError, DTypeError, BufferError.
  static LazyBufferPtr gather(LazyBufferPtr table, LazyBufferPtr positions,
                              std::optional<ShapeTracker> checked = std::nullopt);
  /// A buffer that exists. Throws ShapeError where the shape (its largest, if symbolic) has another
  /// number of elements.
  static LazyBufferPtr from_buffer(BufferPtr buffer, Shape shape);
  /// What several devices have, a realized base each, in the order of their tuple's names, sharded
  /// along `axis` or whole.
  static LazyBufferPtr from_parts(std::vector<LazyBufferPtr> parts, const std::string& devices,
                                  const Shape& shape, std::optional<int> axis);
  /// The same of what need not be realized: one of each device of the tuple, in its order.
  static LazyBufferPtr stack(std::vector<LazyBufferPtr> parts, const std::string& devices,
                             const Shape& shape, std::optional<int> axis);
  /// What the device of number i has of this: its shard, or the whole.
  LazyBufferPtr part(std::size_t i);
  /// An array in host memory, which is read where it lies: element i... is at data[sum of
  /// i*stride]. strides: in elements, one an axis, of any sign. `owner` keeps the memory, which
  /// must not change while it may be read. Throws ShapeError on sizes below 0 or another number of
  /// strides, BufferError where `device` does not compute in host memory.
  static LazyBufferPtr from_host(void* data, DType dtype, std::span<const std::int64_t> shape,
                                 std::span<const std::int64_t> strides,
                                 std::shared_ptr<const void> owner, const std::string& device);

  const std::string& device() const { return device_; }  // canonical name
  /// Of the devices that it is on.
  std::vector<std::string> devices() const { return Device::names_in(device_); }
  bool several() const { return several_; }
  /// Along which it is sharded; nullopt where every device has all of it.
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

  /// The memory of the base; null until realized, and on several devices.
  const BufferPtr& realized() const { return base().buffer_; }
  /// The base has memory, here or on each of its devices.
  bool is_realized() const { return base().buffer_ != nullptr || !base().parts_.empty(); }
  /// Of a realized base on several devices: what each has, a base on that device.
  const std::vector<LazyBufferPtr>& parts() const { return base().parts_; }
  /// A step of movement on several devices: its op and argument. MULTI: sharding along an axis;
  /// MSELECT: what one device has; MSTACK: of one source a device, along an axis or, at -1, whole.
  struct Move {
    Ops op;
    UOpArg arg;
  };
  const Move* move() const { return move_.get(); }
  /// The op, sources and argument of a base that is not realized; of no meaning afterwards.
  Op op() const { return op_; }
  const std::vector<LazyBufferPtr>& srcs() const { return srcs_; }
  const OpArg& arg() const { return arg_; }
  /// contiguous() was asked of this base: it must get memory of its own.
  bool must_realize() const { return must_realize_; }
  const CustomFunctionPtr& custom_function() const { return custom_; }
  /// assign() made this base: what held the value that it replaces; null otherwise.
  const LazyBufferPtr& assigns_to() const { return assigns_to_; }

  /// The living LazyBuffers that compute from this one, and those that are views of this base.
  std::vector<LazyBufferPtr> children() const;
  std::vector<LazyBufferPtr> views() const;

  /// The base is a constant that has no memory; the view may still mask it.
  bool is_const_base() const { return !is_realized() && base().op_ == Op::LoadConst; }
  bool is_unrealized_const() const { return constant_value().has_value(); }
  /// One such value, seen through no view that repeats it.
  bool is_unrealized_contiguous_const() const { return is_const_base() && st_ == base().st_; }
  /// The value where every element is one known constant: a const base, nothing masked.
  std::optional<Scalar> constant_value() const;

  /// An elementwise op over sources of one shape on one device; result is a base of that shape.
  /// All sources have one dtype (WHERE: a bool, then two of one dtype); comparisons give bool.
  /// Identities that hold bit for bit are folded: x*1, x/1, x-0, and x+0 for integers (for floats
  /// only x + -0.0, as -0.0 + 0.0 is 0.0). Throws ShapeError, DTypeError, or BufferError where
  /// devices differ.
  static LazyBufferPtr e(Op op, std::vector<LazyBufferPtr> srcs);
  /// The values converted to `to`.
  LazyBufferPtr cast(DType to);
  /// The same bits as another type of the same size, not bool. Throws DTypeError.
  LazyBufferPtr bitcast(DType to);
  /// REDUCE_SUM or REDUCE_MAX over `axes` (distinct, each in [0, rank)), which stay with size 1.
  /// SUM accumulates in sum_accumulator(dtype) and gives the dtype of the source. A reduce of
  /// very many elements to one is split in two, see split_reduce. No elements give the identity: 0,
  /// or the least value of the type. Throws ShapeError, DTypeError.
  LazyBufferPtr r(Op op, std::vector<int> axes);

  /// The same elements as a base that will have memory of its own.
  LazyBufferPtr contiguous();
  /// `value` in the memory of this base, which must be seen whole. The result is what to go on
  /// with; this LazyBuffer and what was computed from it before keep the old value, for which the
  /// memory is exchanged when the time comes: no kernel overwrites what is still to be read.
  /// Where there is no memory yet this is value->contiguous(). Throws ShapeError, DTypeError,
  /// BufferError where the two differ.
  LazyBufferPtr assign(const LazyBufferPtr& value);
  /// The same elements on another device, or on each of several; of a copy of a copy, the first.
  LazyBufferPtr copy_to_device(const std::string& device);
  /// Of what every one of several devices has whole: of each its part along `axis`. Throws
  /// ShapeError where there is no such axis, or it does not divide into equal shards, BufferError
  /// on one device.
  LazyBufferPtr shard(int axis);
  /// On `device`, one or several, and there sharded along `axis` or whole; *this where it is so.
  LazyBufferPtr place(const std::string& device, std::optional<int> axis);

  // Movement, by view alone. Each gives *this where nothing moves, and throws ShapeError.
  LazyBufferPtr reshape(const Shape& shape);
  LazyBufferPtr permute(std::span<const int> order);
  LazyBufferPtr expand(const Shape& shape);
  LazyBufferPtr pad(const Padding& padding);
  LazyBufferPtr shrink(const Mask& keep);
  LazyBufferPtr stride(std::span<const std::int64_t> steps);

  /// The operation in which it was made first.
  Origin origin() const { return origin_; }

  /// Gives a base its memory and lets go of the graph above it. For realize() and the like.
  void set_realized(BufferPtr buffer);
  /// For a base of a schedule, not yet realized: assigns to this realized one.
  void exchange_with(LazyBufferPtr old) { assigns_to_ = std::move(old); }
  /// As set_realized, on several devices: a realized base for each, sharded along `axis` or whole.
  void set_parts(std::vector<LazyBufferPtr> parts, std::optional<int> axis);

  ~LazyBuffer();  // iterative: a chain of any length may end here
  LazyBuffer(const LazyBuffer&) = delete;
  LazyBuffer& operator=(const LazyBuffer&) = delete;

 private:
  LazyBuffer(std::string device, DType dtype, ShapeTracker st);
  static LazyBufferPtr make_base(std::string device, DType dtype, Shape shape, Op op, OpArg arg,
                                 std::vector<LazyBufferPtr> srcs);
  static LazyBufferPtr enter(LazyBufferPtr made);  // cache, families, LAZY=0
  LazyBufferPtr view(ShapeTracker st);
  bool steps_alone() const { return several_ && !is_const_base(); }
  LazyBufferPtr moved(Ops op, UOpArg arg, const ShapeTracker& st);  // on several devices
  // What `make` makes on each of them, the same everywhere.
  template <class Make>
  static LazyBufferPtr on_each(const std::vector<std::string>& devices, const Make& make);
  static LazyBufferPtr gathered_on_each(const LazyBufferPtr& table, const LazyBufferPtr& positions,
                                        const std::optional<ShapeTracker>& checked);
  LazyBufferPtr r_whole(Op op, std::vector<int> axes);  // in one kernel
  /// The reduce where some of the axes only repeat elements, without them; null where none do.
  LazyBufferPtr r_of_copies(Op op, const std::vector<int>& axes);

  std::string device_;
  DType dtype_;
  ShapeTracker st_;  // a base: contiguous
  Origin origin_ = OriginScope::current();
  LazyBufferPtr base_;  // a view: what it sees; a base: null
  Op op_ = Op::Empty;   // bases only, as all below
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
  bool remembered_ = false;  // in the cache
  std::vector<std::weak_ptr<LazyBuffer>> children_, views_;
};

/// Elements a buffer of this shape needs: the largest the shape can have. Throws ShapeError where a
/// size has no bound.
std::int64_t max_elements(const Shape& shape);

/// How a reduce of `x` over `axes` is split in two: axis `axis`, viewed as (size/factor, factor),
/// has its chunks of `factor` reduced by a first kernel and all the rest by a second; nullopt where
/// one kernel does. A split wants at least `threshold` elements for each result and a factor (a
/// common divisor of the size and 256) of at least 16 that is not strided too far. The rule of
/// tinygrad@v0.8.0 lazy.py.
struct ReduceSplit {
  int axis = 0;
  std::int64_t factor = 1;
  bool operator==(const ReduceSplit&) const = default;
};
std::optional<ReduceSplit> split_reduce(const ShapeTracker& x, std::span<const int> axes,
                                        std::int64_t threshold = 32768);

}  // namespace touchstone
