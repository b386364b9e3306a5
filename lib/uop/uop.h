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
#include "touchstone/uop/ops.h"
#include "touchstone/view/shapetracker.h"

namespace touchstone {

/// A node's result: nothing (SINK, DEVICE), elements, a pointer to elements (DEFINE_GLOBAL), or
/// an image of height x width pixels of four elements, which counts as its base in arithmetic: of
/// those stored as float16 that is float32. Any numbers do; image_dtype() says what is an image.
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
  /// Of an image. Throws DTypeError or ShapeError where there is no such one.
  ImageDType image_dtype() const { return ImageDType(storage, {height, width, 4}); }
  std::string str() const;  // "f32", "none", "pointer f32", "imagef((2, 3, 4))"
  bool operator==(const UOpType&) const = default;

  DType base = DType::Bool;     // of None: Bool
  DType storage = DType::Bool;  // of an image; else Bool
  Form form = Form::None;
  std::int32_t height = 0, width = 0;  // of an image

 private:
  UOpType(DType d, Form f, std::int32_t h, std::int32_t w)
      : base(d), form(f), height(h), width(w) {}
};

/// Of REDUCE_AXIS: ADD, MUL or MAX over `axes`, sorted and distinct, which stay with size 1.
/// `fused`: marked to be computed inside the kernel that reads it.
struct UOpReduce {
  Ops op = Ops::Add;
  std::vector<int> axes;
  bool fused = false;
  bool operator==(const UOpReduce&) const = default;
};

/// Of DEFINE_VAR: an integer in [min, max].
struct UOpVariable {
  std::string name;
  std::int64_t min = 0, max = 0;
  bool operator==(const UOpVariable&) const = default;
};

/// Of CUSTOM: what fills `shape` elements; `id` says which, to whoever made it.
struct UOpFill {
  std::string name;
  std::int64_t id = 0;
  Shape shape;
  bool operator==(const UOpFill&) const = default;
};

/// Where in the program of a tensor a node comes from.
struct UOpOrigin {
  std::string name, caller;
  bool operator==(const UOpOrigin&) const = default;
};
using UOpMetadata = std::vector<UOpOrigin>;  // each once

class UOp;
struct UOpNode;
struct UOpKernel;
using UOpKernelPtr = std::shared_ptr<const UOpKernel>;  // compared by what it holds

using UOpArg = std::variant<std::monostate, std::int64_t, Scalar, std::string,
                            std::vector<std::string>, std::vector<int>, Shape, Mask, ShapeTracker,
                            UOpReduce, UOpVariable, UOpFill, UOpKernelPtr>;
std::string text_of(const UOpArg& arg);
bool same(const UOpArg& a, const UOpArg& b);

/// A node of a graph: what a tensor is, what a kernel computes. Immutable and hash-consed: two
/// nodes of equal op, type, sources, argument and tag are one node while either lives, so that
/// equality is identity. A handle is one pointer and counts references; a node dies with the last
/// of them, however long the chain below it. All of it may be used by any number of threads.
///
///   op           sources; argument
///   UNIQUE       a number that makes a buffer this buffer
///   DEVICE       a name, or the names of several
///   BUFFER       UNIQUE, DEVICE; number of elements (int64)
///   BUFFER_VIEW  BUFFER or MSTACK; Mask {{first element, number of elements}}
///   CONST        none in kernels, in tensors VIEW(DEVICE); Scalar
///   DEFINE_VAR   UOpVariable. BIND: DEFINE_VAR, CONST
///   RESHAPE EXPAND  x; Shape      PERMUTE  x; order (new axis i is order[i])
///   PAD  x; Mask of what is added before and after    SHRINK  x; Mask of what is kept
///   FLIP x; axes, sorted          VIEW     x, or none inside kernels and in shapes; ShapeTracker
///   elementwise  operands of one shape
///   REDUCE_AXIS  x; UOpReduce
///   CONTIGUOUS CONTIGUOUS_BACKWARD DETACH FUSE GBARRIER  x
///   COPY         x, DEVICE        CUSTOM   DEVICE, what it reads; UOpFill
///   ASSIGN       target, value, then any ASSIGNs it must follow
///   KERNEL       the output's buffer, then what it reads; UOpKernel
///   SINK         anything
///   MULTI x; axis   MSELECT x; which   MSTACK one a device   ALLREDUCE x, DEVICE; UOpReduce
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

  /// The node of these parts. Nothing is checked but that no source is null: what a graph must be
  /// is said by `type_verify` (spec.h). Throws AstError on a null source.
  static UOp make(Ops op, UOpType dtype, std::vector<UOp> src = {}, UOpArg arg = {},
                  std::optional<std::int64_t> tag = {});

  // Parts. Of a null handle: undefined.
  inline Ops op() const;
  inline UOpType dtype() const;
  inline const std::vector<UOp>& src() const;
  inline const UOp& src(std::size_t i) const;
  inline const UOpArg& arg() const;
  /// The argument as T. Throws AstError naming the node where it is another.
  template <class T>
  const T& arg_as() const;
  inline std::optional<std::int64_t> tag() const;
  inline std::uint64_t hash() const;  // of the parts; sources by address: differs from run to run
  inline OpSet src_ops() const;       // of the direct sources

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const UOp&) const = default;
  const UOpNode* address() const { return node_; }

  // Properties. Computed once a node; none of them recurses.

  /// How the elements lie over `base()`; null for what has none (SINK, DEVICE, kernels' pointers).
  /// Throws ShapeError naming the node where sources disagree or movement does not fit.
  const ShapeTracker* st() const;
  /// The same where there must be one. Throws AstError where there is none.
  const ShapeTracker& tracker() const;
  const Shape& shape() const { return tracker().shape(); }
  /// Through VIEW with a source, movement and MULTI.
  UOp base() const;
  /// Elements: of BUFFER and BUFFER_VIEW what they hold, else of the shape.
  sint size() const;
  /// The names of the devices it is on, one or several; empty where none is known.
  std::vector<std::string> device() const;
  /// The DEVICE node; null where none is known.
  UOp device_node() const;
  /// The BUFFER (or BUFFER_VIEW, MSELECT or MSTACK of buffers) that holds it. Throws AstError where
  /// it has none.
  UOp buf_uop() const;
  /// The axis it is sharded along, if it is. Throws AstError where a RESHAPE tears it apart.
  std::optional<int> axis() const;

  /// Where it came from; beside the node, no part of its identity. Equal nodes share it.
  std::shared_ptr<const UOpMetadata> metadata() const;
  void set_metadata(UOpMetadata metadata) const;
  /// Appends what is not there yet.
  void add_metadata(std::span<const UOpOrigin> more) const;

  /// Every node below and with this one, sources before users, left to right, each once. A node for
  /// which `gate` is false is left out with all that is reached only through it.
  std::vector<UOp> toposort(const std::function<bool(const UOp&)>& gate = {}) const;

  // Makers. Movement gives *this where nothing moves. Each throws ShapeError or AstError.
  static UOp unique();  // another one each time
  static UOp device(std::string name);
  static UOp device(std::vector<std::string> names);
  static UOp new_buffer(const UOp& device, std::int64_t size, DType dtype);
  /// One value at every place of a tensor.
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
  /// The same seen through `st`, of one node; *this where st is this one's own contiguous shape.
  UOp view(ShapeTracker st) const;
  /// Elementwise; comparisons give bool, WHERE the type of its second operand.
  UOp alu(Ops op, std::vector<UOp> others = {}) const;
  UOp cast(UOpType to) const;     // *this where it has the type
  UOp bitcast(UOpType to) const;  // the same
  /// ADD, MUL or MAX; axes sorted, those of size 1 dropped, *this where none is left.
  UOp reduce(Ops op, std::vector<int> axes, bool fused = false) const;
  UOp ask(Ops op) const;  // CONTIGUOUS, DETACH, FUSE, GBARRIER, ... of it
  UOp contiguous() const { return ask(Ops::Contiguous); }
  UOp assign(const UOp& value) const;
  UOp copy_to(const UOp& device) const;
  /// The same shards as one tensor: those of the devices of *this, in their order, along `axis`.
  UOp multi(int axis) const;
  /// What device `which` of several holds.
  UOp mselect(std::size_t which) const;
  /// One tensor of one shape each, on one device each, as what a tuple of those devices holds.
  static UOp mstack(std::vector<UOp> of);
  /// What the devices of *this hold, combined by ADD, MUL or MAX in the order that
  /// docs/multi.md says, on `device`.
  UOp allreduce(Ops op, const UOp& device) const;
  /// A CONST of the same type, shape and device.
  UOp const_like(const Scalar& value) const;
  UOp const_like(double value) const;
  /// The value of CONST.
  const Scalar& value() const { return arg_as<Scalar>(); }

  /// The same with other sources, argument, type or tag.
  UOp with_src(std::vector<UOp> src) const;
  UOp with_arg(UOpArg arg) const;
  UOp with_dtype(UOpType dtype) const;
  UOp with_tag(std::optional<std::int64_t> tag) const;

  /// "ADD f32 (2, 3)": one node without its sources.
  std::string line() const;
  /// One node a line, numbered, sources before users.
  std::string str() const;

 private:
  explicit UOp(const UOpNode* node) : node_(node) {}  // takes a reference over
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

/// The number of a device among `count` of a tuple: a variable in shapes and views, which has a
/// value wherever a kernel runs. Kernels of a tuple are the same but for it.
sint device_number(std::size_t count);
inline constexpr std::string_view kDeviceNumber = "_device_num";

/// Nodes alive in the process.
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
