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
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"
#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

/// A numbered buffer seen through a ShapeTracker; number 0 is the kernel's output.
struct MemBuffer {
  int idx = 0;
  DType dtype = DType::Float32;
  ShapeTracker st;
  /// For a GATHER; has the shape of the positions. A position out of range is an IndexError with
  /// the number that this view maps it to; where this view is masked the element is unused and
  /// reads as 0. Without it every out-of-range element is 0.
  std::optional<ShapeTracker> checked = std::nullopt;
  bool operator==(const MemBuffer&) const = default;
};

/// A constant viewed through a ShapeTracker; masked elements are 0.
struct ConstBuffer {
  Scalar value;
  ShapeTracker st;
  bool operator==(const ConstBuffer&) const = default;
};

/// CAST converts values (docs/semantics.md); a bitcast keeps the bits and needs equal sizes.
struct CastArg {
  DType to = DType::Float32;
  bool bitcast = false;
  bool operator==(const CastArg&) const = default;
};

/// Axes are sorted and distinct; each remains with size 1. The sum is rounded once to `accumulator`
/// and then to the operand's type, which is the result's type.
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

/// The function that a FUNCTION computes of its operands, rounded once. With `or_last` the last
/// operand is no argument but another result that is as good (interp/oracle).
struct FunctionArg {
  NamedFunction function = NamedFunction::Exp;
  bool or_last = false;
  bool operator==(const FunctionArg&) const = default;
};

using OpArg =
    std::variant<std::monostate, MemBuffer, ConstBuffer, CastArg, ReduceArg, RandArg, FunctionArg>;
std::uint64_t hash_of(const OpArg& arg);

class LazyOp;
using LazyOpPtr = std::shared_ptr<const LazyOp>;

/// A node of a kernel's AST, `STORE(...(LOAD st)...(CONST st))`: immutable and shared; shape, dtype
/// and hash are computed once. Movement ops are folded into the ShapeTrackers of the leaves and the
/// root, so all operands of an elementwise node have its shape. Factories throw AstError naming the
/// op and the mismatch, so no ill-typed node exists.
class LazyOp {
 public:
  static LazyOpPtr load(int idx, DType dtype, ShapeTracker st);
  /// Selects elements along the first axis of `st`: element (i, ...) of the result is element (p,
  /// i, ...) of `st`, where p is the int64 element of `position`. If p is outside the axis, nothing
  /// is read and the result is 0, or as `checked` defines (MemBuffer). The other axes of `st` are
  /// those of `position`.
  static LazyOpPtr gather(int idx, DType dtype, ShapeTracker st, LazyOpPtr position,
                          std::optional<ShapeTracker> checked = std::nullopt);
  static LazyOpPtr constant(Scalar value, ShapeTracker st);
  static LazyOpPtr unary(Op op, LazyOpPtr x);
  static LazyOpPtr cast(LazyOpPtr x, DType to, bool bitcast = false);
  static LazyOpPtr binary(Op op, LazyOpPtr a, LazyOpPtr b);
  static LazyOpPtr ternary(Op op, LazyOpPtr a, LazyOpPtr b, LazyOpPtr c);
  static LazyOpPtr function(NamedFunction function, std::vector<LazyOpPtr> operands);
  /// The default `accumulator` is sum_accumulator of x's type for SUM and x's type for MAX.
  static LazyOpPtr reduce(Op op, LazyOpPtr x, std::vector<int> axes);
  static LazyOpPtr reduce(Op op, LazyOpPtr x, std::vector<int> axes, DType accumulator);
  static LazyOpPtr store(ShapeTracker st, LazyOpPtr x);  // into buffer 0
  /// Makes any op from its parts, with the same checks.
  static LazyOpPtr make(Op op, std::vector<LazyOpPtr> src, OpArg arg);

  Op op() const { return op_; }
  const std::vector<LazyOpPtr>& src() const { return src_; }
  const OpArg& arg() const { return arg_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::uint64_t hash() const { return hash_; }

  // The op's argument; throws std::bad_variant_access for other ops.
  const MemBuffer& buffer() const { return std::get<MemBuffer>(arg_); }
  const ConstBuffer& constant() const { return std::get<ConstBuffer>(arg_); }
  const CastArg& cast_arg() const { return std::get<CastArg>(arg_); }
  const ReduceArg& reduce_arg() const { return std::get<ReduceArg>(arg_); }
  const FunctionArg& function_arg() const { return std::get<FunctionArg>(arg_); }

  ~LazyOp();  // iterative, for chains of any length
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

/// True if both trees have the same ops, arguments and structure. Linear in the distinct nodes.
bool same(const LazyOpPtr& a, const LazyOpPtr& b);

/// Hash and equality by structure, for containers keyed by AST.
struct LazyOpHash {
  std::size_t operator()(const LazyOpPtr& p) const { return static_cast<std::size_t>(p->hash()); }
};
struct LazyOpSame {
  bool operator()(const LazyOpPtr& a, const LazyOpPtr& b) const { return same(a, b); }
};

/// Every distinct node (by address) of the tree, operands before users; deterministic order.
std::vector<LazyOpPtr> toposort(const LazyOpPtr& root);

/// Rebuilds the AST bottom-up: `f` gets each node with its rebuilt operands (the node itself if no
/// operand changed) and returns the replacement.
LazyOpPtr rebuild(const LazyOpPtr& root,
                  const std::function<LazyOpPtr(const LazyOpPtr& node,
                                                const std::vector<LazyOpPtr>& new_src)>& f);
/// The same op and argument with other operands.
LazyOpPtr with_src(const LazyOpPtr& node, std::vector<LazyOpPtr> src);

/// A buffer of a kernel.
struct BufferSpec {
  int idx = 0;
  DType dtype = DType::Float32;
  std::int64_t size = 0;  // elements; from buffers_of: the least that holds all views
  bool operator==(const BufferSpec&) const = default;
};
/// The distinct buffers of a kernel, by number, output first.
std::vector<BufferSpec> buffers_of(const LazyOpPtr& kernel);
/// The variables of all views, by name.
std::vector<symbolic::Node> variables_of(const LazyOpPtr& kernel);

/// Checks the rules of a whole kernel beyond those of its nodes: the root is the only STORE and
/// writes buffer 0 through a contiguous view; each buffer number has one dtype; buffer 0 is not
/// read; reduces nest at most 16 deep. Throws AstError naming the node by its toposort number.
void validate_kernel(const LazyOpPtr& kernel);

/// Replaces the variables with values; those without a value remain. Throws AstError if a value is
/// outside its variable's range.
LazyOpPtr bind_variables(const LazyOpPtr& kernel, const symbolic::Values& values);

/// Formats as a tree, one node per line.
std::string str(const LazyOpPtr& root);

/// A short name from the shape: "E_64_10" for elementwise, "r_64_10_32" with reduced sizes last.
std::string kernel_name(const LazyOpPtr& kernel);

}  // namespace touchstone
