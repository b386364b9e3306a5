#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/op.h"
#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// A numbered buffer seen through a ShapeTracker; number 0 is the kernel's output.
struct MemBuffer {
  int idx = 0;
  DType dtype = DType::Float32;
  ShapeTracker st;
  /// Of a GATHER, whose positions it has the shape of: a position outside is an IndexError that
  /// calls it by the number that this view gives it; where the view is masked nobody asks for the
  /// element, and it is 0. Without it such an element is 0 everywhere.
  std::optional<ShapeTracker> checked = std::nullopt;
  bool operator==(const MemBuffer&) const = default;
};

/// One value seen through a ShapeTracker: where the view is masked the element is 0, not the value.
struct ConstBuffer {
  Scalar value;
  ShapeTracker st;
  bool operator==(const ConstBuffer&) const = default;
};

/// CAST converts values (docs/semantics.md); a bitcast keeps the bits, sizes must agree.
struct CastArg {
  DType to = DType::Float32;
  bool bitcast = false;
  bool operator==(const CastArg&) const = default;
};

/// Axes are sorted and distinct; each stays, with size 1. The sum is rounded once to `accumulator`
/// and then to the type of the operand, which is the type of the result.
struct ReduceArg {
  std::vector<int> axes;
  DType accumulator = DType::Float32;
  bool operator==(const ReduceArg&) const = default;
};

/// Elements `first`, first + 1, ... of the stream of a named generator (device/threefry.h).
struct RandArg {
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  bool operator==(const RandArg&) const = default;
};

using OpArg = std::variant<std::monostate, MemBuffer, ConstBuffer, CastArg, ReduceArg, RandArg>;

class LazyOp;
using LazyOpPtr = std::shared_ptr<const LazyOp>;

/// A node of one kernel's AST, `STORE(...(LOAD st)...(CONST st))`: immutable, shared, its shape,
/// dtype and hash computed once. Movement is folded into the ShapeTrackers of the leaves and the
/// root, so all operands of an elementwise node have its shape. An ill-typed node cannot be built:
/// every factory throws AstError naming the op and what disagrees.
class LazyOp {
 public:
  static LazyOpPtr load(int idx, DType dtype, ShapeTracker st);
  /// Element p of the first axis of `st`, where p, an int64, is the element of `position`: element
  /// (i, ...) is that of `st` at (p, i, ...), and 0, with nothing read, where p is outside the
  /// axis, or as `checked` says (MemBuffer). The other axes of `st` are those of `position`.
  static LazyOpPtr gather(int idx, DType dtype, ShapeTracker st, LazyOpPtr position,
                          std::optional<ShapeTracker> checked = std::nullopt);
  static LazyOpPtr constant(Scalar value, ShapeTracker st);
  static LazyOpPtr unary(Op op, LazyOpPtr x);
  static LazyOpPtr cast(LazyOpPtr x, DType to, bool bitcast = false);
  static LazyOpPtr binary(Op op, LazyOpPtr a, LazyOpPtr b);
  static LazyOpPtr ternary(Op op, LazyOpPtr a, LazyOpPtr b, LazyOpPtr c);
  /// `accumulator` is sum_accumulator of x's type for SUM and x's type for MAX where not given.
  static LazyOpPtr reduce(Op op, LazyOpPtr x, std::vector<int> axes);
  static LazyOpPtr reduce(Op op, LazyOpPtr x, std::vector<int> axes, DType accumulator);
  static LazyOpPtr store(ShapeTracker st, LazyOpPtr x);  // into buffer 0
  /// Any op by its parts, with the same checks.
  static LazyOpPtr make(Op op, std::vector<LazyOpPtr> src, OpArg arg);

  Op op() const { return op_; }
  const std::vector<LazyOpPtr>& src() const { return src_; }
  const OpArg& arg() const { return arg_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::uint64_t hash() const { return hash_; }

  // The argument of an op that has it; throws std::bad_variant_access otherwise.
  const MemBuffer& buffer() const { return std::get<MemBuffer>(arg_); }
  const ConstBuffer& constant() const { return std::get<ConstBuffer>(arg_); }
  const CastArg& cast_arg() const { return std::get<CastArg>(arg_); }
  const ReduceArg& reduce_arg() const { return std::get<ReduceArg>(arg_); }

  ~LazyOp();  // iterative: a chain of any length may end here
  LazyOp(const LazyOp&) = delete;
  LazyOp& operator=(const LazyOp&) = delete;

 private:
  LazyOp(Op op, std::vector<LazyOpPtr> src, OpArg arg);
  Op op_;
  DType dtype_ = DType::Bool;
  std::vector<LazyOpPtr> src_;
  OpArg arg_;
  Shape shape_;
  std::uint64_t hash_ = 0;
};

/// Same tree: same ops, arguments and structure. Linear in the number of distinct nodes.
bool same(const LazyOpPtr& a, const LazyOpPtr& b);

/// Hash and equality by structure, for containers keyed by AST.
struct LazyOpHash {
  std::size_t operator()(const LazyOpPtr& p) const { return static_cast<std::size_t>(p->hash()); }
};
struct LazyOpSame {
  bool operator()(const LazyOpPtr& a, const LazyOpPtr& b) const { return same(a, b); }
};

/// Every distinct node (by address) below and with `root`, operands before users, deterministic.
std::vector<LazyOpPtr> toposort(const LazyOpPtr& root);

/// Rebuilds the AST bottom-up: `f` gets each node with its rebuilt operands (the node itself where
/// nothing below changed) and gives the node to stand in its place.
LazyOpPtr rebuild(const LazyOpPtr& root,
                  const std::function<LazyOpPtr(const LazyOpPtr& node,
                                                const std::vector<LazyOpPtr>& new_src)>& f);
/// The same op and argument over other operands.
LazyOpPtr with_src(const LazyOpPtr& node, std::vector<LazyOpPtr> src);

/// The distinct buffers of a kernel, by number, output first.
struct BufferSpec {
  int idx = 0;
  DType dtype = DType::Float32;
  std::int64_t size = 0;  // elements; in buffers_of the least that all views stay inside
  bool operator==(const BufferSpec&) const = default;
};
std::vector<BufferSpec> buffers_of(const LazyOpPtr& kernel);
/// The variables of all views, by name.
std::vector<symbolic::Node> variables_of(const LazyOpPtr& kernel);

/// Rules of a whole kernel, beyond those each node keeps by construction: the root is a STORE to
/// buffer 0 through a contiguous view; there is no other STORE; one buffer number has one dtype;
/// buffer 0 is not read; at most 16 reduces stand above each other. Throws AstError naming the node
/// by its place in toposort order.
void validate_kernel(const LazyOpPtr& kernel);

/// The kernel with its variables replaced by values; one without a value stays. Throws AstError
/// where a value is outside its variable's range.
LazyOpPtr bind_variables(const LazyOpPtr& kernel, const symbolic::Values& values);

/// A tree, one node a line, as a person would draw it.
std::string str(const LazyOpPtr& root);

/// Short and descriptive, from the shape: "E_64_10" elementwise, "r_64_10_32" with the sizes of
/// reduced axes last.
std::string kernel_name(const LazyOpPtr& kernel);

}  // namespace touchstone
