#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "touchstone/dtype/image_dtype.h"
#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/function.h"
#include "touchstone/shapetracker/view/shapetracker.h"
#include "touchstone/uop/graph_op.h"

namespace touchstone {

/// A node's result type: none (SINK, DEVICE), elements, a pointer to elements (DEFINE_GLOBAL), or
/// an image of height x width pixels of four elements, used in arithmetic as its base: float32 if
/// stored as float16. The numbers are unchecked; image_dtype() validates them.
struct UOpType {
  enum class Form : std::uint8_t { None, Elements, Pointer, Image };

  UOpType() = default;
  UOpType(DType d) : base(d), form(Form::Elements) {}  // NOLINT(google-explicit-constructor)
  static UOpType none() { return {}; }
  static UOpType pointer(DType d) { return UOpType(d, Form::Pointer, 0, 0); }
  static UOpType image(DType storage, std::int32_t height, std::int32_t width) {
    UOpType type(storage == DType::Float16 ? DType::Float32 : storage, Form::Image, height, width);
    type.storage = storage;
    return type;
  }
  static UOpType image(const ImageDType& of) {
    return image(of.storage(), static_cast<std::int32_t>(of.height()),
                 static_cast<std::int32_t>(of.width()));
  }
  bool is_none() const { return form == Form::None; }
  bool is_image() const { return form == Form::Image; }
  /// The type of an image. Throws DTypeError or ShapeError if invalid.
  ImageDType image_dtype() const { return ImageDType(storage, {height, width, 4}); }
  std::string str() const;  // "f32", "none", "pointer f32", "imagef((2, 3, 4))"
  bool operator==(const UOpType&) const = default;

  DType base = DType::Bool;     // Bool for None
  DType storage = DType::Bool;  // of an image; otherwise Bool
  Form form = Form::None;
  std::int32_t height = 0, width = 0;  // of an image

 private:
  UOpType(DType d, Form f, std::int32_t h, std::int32_t w)
      : base(d), form(f), height(h), width(w) {}
};

/// For REDUCE_AXIS: ADD, MUL or MAX over `axes`, sorted and distinct, which remain with size 1.
/// `fused`: to be computed in the kernel that reads it.
struct UOpReduce {
  GraphOp op = GraphOp::Add;
  std::vector<int> axes;
  bool fused = false;
  bool operator==(const UOpReduce&) const = default;
};

/// For DEFINE_VAR: an integer in [min, max].
struct UOpVariable {
  std::string name;
  std::int64_t min = 0, max = 0;
  bool operator==(const UOpVariable&) const = default;
};

/// For CUSTOM: fills `shape` elements; `id` identifies it to its creator.
struct UOpFill {
  std::string name;
  std::int64_t id = 0;
  Shape shape;
  bool operator==(const UOpFill&) const = default;
};

/// For GATHER: how its table, an axis and then those of the positions, is seen, and the numbers of
/// the positions if they are checked.
struct UOpGather {
  ShapeTracker table;
  std::optional<ShapeTracker> checked;
  bool operator==(const UOpGather&) const = default;
};

/// The tensor operation that a node comes from.
struct UOpOrigin {
  std::string name, caller;
  bool operator==(const UOpOrigin&) const = default;
};
using UOpMetadata = std::vector<UOpOrigin>;  // distinct

class UOp;
struct UOpNode;
struct UOpKernel;
using UOpKernelPtr = std::shared_ptr<const UOpKernel>;  // compared by value

using UOpArg =
    std::variant<std::monostate, std::int64_t, Scalar, std::string, std::vector<std::string>,
                 std::vector<int>, Shape, Mask, ShapeTracker, UOpReduce, UOpVariable, UOpFill,
                 UOpGather, UOpKernelPtr, NamedFunction>;
std::string text_of(const UOpArg& arg);
bool same(const UOpArg& a, const UOpArg& b);

/// A node of a graph that describes tensors or a kernel. Immutable and hash-consed: nodes with
/// equal op, type, sources, argument and tag are the same node while it lives, so equality is
/// identity. A handle is a reference-counted pointer; destruction is iterative, for chains of any
/// length. Thread-safe.
///
///   op           sources; argument
///   UNIQUE       a number that identifies a buffer
///   DEVICE       a name, or the names of several
///   BUFFER       UNIQUE, DEVICE; number of elements (int64)
///   BUFFER_VIEW  BUFFER or MSTACK; Mask {{first element, number of elements}}
///   CONST        none in kernels, in tensors VIEW(DEVICE); Scalar
///   DEFINE_VAR   UOpVariable. BIND: DEFINE_VAR, CONST
///   RESHAPE EXPAND  x; Shape      PERMUTE  x; order (new axis i is order[i])
///   PAD  x; Mask of elements added before and after   SHRINK  x; Mask of the part kept
///   FLIP x; axes, sorted          VIEW     x, or none inside kernels and in shapes; ShapeTracker
///   elementwise  operands of one shape; FUNCTION: NamedFunction
///   GATHER       positions, memory; UOpGather: 0, or a fault if checked, outside the table
///   REDUCE_AXIS  x; UOpReduce
///   CONTIGUOUS CONTIGUOUS_BACKWARD DETACH FUSE GBARRIER  x
///   COPY         x, DEVICE        CUSTOM   DEVICE, inputs; UOpFill
///   ASSIGN       target, value, then any ASSIGNs it must follow
///   KERNEL       the output's buffer, then its inputs; UOpKernel
///   SINK         anything
///   MULTI x; axis   MSELECT x; which   MSTACK one per device   ALLREDUCE x, DEVICE; UOpReduce
///   LOAD         VIEW(DEFINE_GLOBAL)  STORE  VIEW(DEFINE_GLOBAL), value   VALID  VIEW
///   DEFINE_GLOBAL  number (int64), type a pointer or image
class UOp {
 public:
  UOp() = default;  // null
  UOp(const UOp& other) noexcept : node_(other.node_) { retain(); }
  UOp(UOp&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  UOp& operator=(const UOp& other) noexcept {
    UOp copy(other);
    std::swap(node_, copy.node_);
    return *this;
  }
  UOp& operator=(UOp&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~UOp() {
    if (node_ != nullptr) release();
  }

  /// Makes or finds a node. Throws AstError for a null source; other rules are checked by
  /// `type_verify` (spec.h).
  static UOp make(GraphOp op, UOpType dtype, std::vector<UOp> src = {}, UOpArg arg = {},
                  std::optional<std::int64_t> tag = {});

  // Parts. Undefined for a null handle.
  inline GraphOp op() const;
  inline UOpType dtype() const;
  inline const std::vector<UOp>& src() const;
  inline const UOp& src(std::size_t i) const;
  inline const UOpArg& arg() const;
  /// The argument as T. Throws AstError naming the node if it has another type.
  template <class T>
  const T& arg_as() const;
  inline std::optional<std::int64_t> tag() const;
  inline std::uint64_t hash() const;  // sources enter by address: differs from run to run
  inline OpSet src_ops() const;       // of the direct sources

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const UOp&) const = default;
  const UOpNode* address() const { return node_; }

  // Properties. Computed once per node, without recursion.

  /// The view of `base()`; null for nodes without elements (SINK, DEVICE, kernels' pointers).
  /// Throws ShapeError naming the node if sources disagree or movement does not fit.
  const ShapeTracker* st() const;
  /// As st(), but throws AstError if there is none.
  const ShapeTracker& tracker() const;
  const Shape& shape() const { return tracker().shape(); }
  /// The node below VIEWs with a source, movement and MULTI.
  UOp base() const;
  /// Number of elements: for BUFFER and BUFFER_VIEW their size, else that of the shape.
  sint size() const;
  /// The names of its devices; empty if unknown.
  std::vector<std::string> device() const;
  /// The DEVICE node; null if unknown.
  UOp device_node() const;
  /// The BUFFER (or BUFFER_VIEW, MSELECT or MSTACK of buffers) that holds it. Throws AstError if
  /// there is none.
  UOp buf_uop() const;
  /// The axis it is sharded along, if any. Throws AstError if a RESHAPE splits shards.
  std::optional<int> axis() const;

  /// Its origins; not part of the node's identity. Equal nodes share them.
  std::shared_ptr<const UOpMetadata> metadata() const;
  void set_metadata(UOpMetadata metadata) const;
  /// Appends the origins that are new.
  void add_metadata(std::span<const UOpOrigin> more) const;

  /// Returns this node and all below it, sources before users, left to right, each once. Omits
  /// nodes for which `gate` is false and everything reached only through them.
  std::vector<UOp> toposort(const std::function<bool(const UOp&)>& gate = {}) const;

  // Makers. Movement returns *this if nothing moves. All throw ShapeError or AstError.
  static UOp unique();  // a new one each time
  static UOp device(std::string name);
  static UOp device(std::vector<std::string> names);
  static UOp new_buffer(const UOp& device, std::int64_t size, DType dtype);
  /// The same value in every element of a tensor.
  static UOp constant(Scalar value, const Shape& shape, const UOp& device);
  static UOp constant(Scalar value);  // inside a kernel
  static UOp variable(std::string name, std::int64_t min, std::int64_t max);
  static UOp sink(std::vector<UOp> of);

  UOp reshape(const Shape& shape) const;
  UOp expand(const Shape& shape) const;
  UOp permute(std::vector<int> order) const;
  UOp pad(const Padding& padding) const;
  UOp shrink(const Mask& keep) const;
  UOp flip(std::vector<int> axes) const;
  /// This node viewed through `st`; *this if st is its own contiguous shape.
  UOp view(ShapeTracker st) const;
  /// Elementwise; comparisons give bool, WHERE the type of its second operand.
  UOp alu(GraphOp op, std::vector<UOp> others = {}) const;
  /// FUNCTION of this node, and another for functions of two operands.
  UOp call(NamedFunction function, std::vector<UOp> others = {}) const;
  UOp cast(UOpType to) const;     // *this if it has that type
  UOp bitcast(UOpType to) const;  // likewise
  /// ADD, MUL or MAX; sorts axes, drops those of size 1, returns *this if none is left.
  UOp reduce(GraphOp op, std::vector<int> axes, bool fused = false) const;
  UOp ask(GraphOp op) const;  // applies CONTIGUOUS, DETACH, FUSE, GBARRIER, ...
  UOp contiguous() const { return ask(GraphOp::Contiguous); }
  UOp assign(const UOp& value) const;
  UOp copy_to(const UOp& device) const;
  /// The shards on the devices of *this, in order, as one tensor sharded along `axis`.
  UOp multi(int axis) const;
  /// The part on device number `which`.
  UOp mselect(std::size_t which) const;
  /// Joins tensors of the same shape, each on one device, into one on the tuple of these devices.
  static UOp mstack(std::vector<UOp> of);
  /// Combines the parts on all devices of *this by ADD, MUL or MAX, in the order of docs/multi.md,
  /// on `device`.
  UOp allreduce(GraphOp op, const UOp& device) const;
  /// A CONST of the same type, shape and device.
  UOp const_like(const Scalar& value) const;
  UOp const_like(double value) const;
  /// The value of CONST.
  const Scalar& value() const { return arg_as<Scalar>(); }

  /// The same node with other sources, argument, type or tag.
  UOp with_src(std::vector<UOp> src) const;
  UOp with_arg(UOpArg arg) const;
  UOp with_dtype(UOpType dtype) const;
  UOp with_tag(std::optional<std::int64_t> tag) const;

  /// "ADD f32 (2, 3)": the node without its sources.
  std::string line() const;
  /// One node per line, numbered, sources before users.
  std::string str() const;

 private:
  explicit UOp(const UOpNode* node) : node_(node) {}  // takes over a reference
  inline void retain() const noexcept;
  void release() noexcept;
  friend struct UOpNode;

  const UOpNode* node_ = nullptr;
};

/// The work of a KERNEL: a SINK of STOREs, or one COPY, BUFFER_VIEW or CUSTOM.
struct UOpKernel {
  UOp ast;
  UOpMetadata metadata;
};

/// The number of a device among `count`, as a variable in shapes and views that has a value
/// wherever a kernel runs. The kernels of a device tuple differ only in it.
sint device_number(std::size_t count);
inline constexpr std::string_view kDeviceNumber = "_device_num";

/// The number of nodes alive in the process.
std::int64_t living_uops();

template <class T>
const T& UOp::arg_as() const {
  if (const T* found = std::get_if<T>(&arg())) return *found;
  throw AstError("the argument of " + line() + " is of another type");
}

}  // namespace touchstone

template <>
struct std::hash<touchstone::UOp> {
  std::size_t operator()(const touchstone::UOp& u) const noexcept {
    return std::hash<const void*>()(u.address());
  }
};

#include "touchstone/uop/uop_node.h"  // the parts, inline
