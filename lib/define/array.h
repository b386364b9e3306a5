#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::define {

using Sizes = std::vector<std::int64_t>;                           // elements per axis
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // per axis

struct ArrayNode;

/// A formula for an array of known shape and type over a kernel's inputs: a small immutable value
/// built from others. Nothing is computed; `kernel` makes one kernel of it. Sizes are numbers (for
/// views with variables use ShapeTracker). Elementwise operands are broadcast as in NumPy and cast
/// to their common type (`promote`); a `number` takes the type of the other operand. Invalid
/// operations throw ShapeError, DTypeError or OverflowError when built.
class Array {
 public:
  /// Buffer `buffer` >= 1 of the kernel, row-major. All uses of a buffer have one shape and type.
  static Array input(int buffer, Sizes shape, DType dtype = DType::Float32);
  static Array constant(Scalar value, Sizes shape = {});
  /// An untyped scalar, parsed by Scalar::parse; float32 if it meets no typed operand.
  static Array number(std::string text, bool computed = false);
  Array(double value);  // NOLINT(google-explicit-constructor): allows x * 2.0

  const Sizes& shape() const;
  DType dtype() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// Size of an axis; negative axes count from the last.
  std::int64_t size(int axis) const;
  /// True for a `number` that has no type yet.
  bool is_number() const;

  // Movement, as in ShapeTracker. Padding is 0 of the type.
  Array reshape(const Sizes& shape) const;  // one size may be -1: inferred
  Array permute(const std::vector<int>& order) const;
  Array expand(const Sizes& shape) const;  // axes of size 1 grow; new axes go in front
  Array pad(const Pairs& before_after) const;
  Array shrink(const Pairs& begin_end) const;
  Array stride(const Sizes& steps) const;  // every |m|-th; negative flips first
  /// Element index is read at offset + sum(index[i] * strides[i]) of the row-major elements.
  Array as_strided(const Sizes& shape, const Sizes& strides, std::int64_t offset) const;

  Array cast(DType to) const;
  Array bitcast(DType to) const;
  /// True for an input, possibly moved.
  bool is_input() const;
  /// For an input (rows, X...): element (i..., x...) is that of (index[i...], x...); if the index,
  /// an integer, is out of range it is 0 or, if `checked`, an error.
  Array rows(const Array& index, bool checked) const;
  /// Applies an elementwise op of the table.
  static Array apply(Op op, std::vector<Array> operands);
  /// A named function of floats.
  static Array call(NamedFunction function, std::vector<Array> operands);
  /// REDUCE_SUM or REDUCE_MAX over axes, which remain with size 1 if `keep`. Over no axes, returns
  /// the array itself.
  Array reduce(Op op, std::vector<int> axes, bool keep,
               std::optional<DType> accumulator = std::nullopt) const;

  const std::shared_ptr<const ArrayNode>& node() const { return node_; }

 private:
  explicit Array(std::shared_ptr<const ArrayNode> node) : node_(std::move(node)) {}
  Array make(Op op, Sizes shape, Pairs move, std::int64_t offset = 0) const;
  std::shared_ptr<const ArrayNode> node_;
};

/// Numbers of a kernel are rounded to the type of the other operands; or those of float32 may stay
/// unrounded, for judging: a NOOP marks a CAST that may be left out.
enum class Numbers : std::uint8_t { Rounded, MayBeExact };

/// Returns the kernel that stores `value`. Movement is folded into the views of its leaves; a
/// reduce whose result is broadcast is recomputed for every reader, since a kernel has no memory of
/// its own. The stored shape is that of `value` plus a trailing axis of size 1 for each axis of its
/// outermost reduces. Throws AstError if reduces nest more than 16 deep or there are more than
/// `kMostNodes` nodes.
LazyOpPtr kernel(const Array& value, Numbers numbers = Numbers::Rounded);
inline constexpr std::size_t kMostNodes = 4'000;

/// The maximum nesting of operations in an Array.
inline constexpr int kMostDepth = 1'000;
/// The maximum nesting of reduces, as in every kernel.
inline constexpr int kMostReduces = 16;

Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator-(const Array& a);
Array less(const Array& a, const Array& b);
Array equal(const Array& a, const Array& b);
Array where(const Array& condition, const Array& yes, const Array& no);
Array maximum(const Array& a, const Array& b);

/// Broadcasts all operands to their common shape.
std::vector<Array> broadcast(std::vector<Array> operands);
/// Maps a negative `axis`, counted from the last, to one from 0. Throws ShapeError if out of range.
int axis_of(const Array& x, std::int64_t axis);
std::string str(const Sizes& shape);  // "[2,3]"

/// A node of the formula. `move` holds the argument of movement and reduces, as pairs with the
/// meaning of that operation's argument.
struct ArrayNode {
  Op op = Op::Const;
  Sizes shape;
  DType dtype = DType::Float32;
  std::vector<std::shared_ptr<const ArrayNode>> src;
  Pairs move;               // movement: sizes, order, padding, ranges, steps, (size, stride)
  std::int64_t offset = 0;  // AS_STRIDED
  int buffer = 0;           // LOAD
  Scalar value;             // CONST
  std::string number;       // CONST without a type: its text
  // CONST: the exact number, which `value` rounds to float32.
  std::optional<double> unrounded = std::nullopt;
  bool computed = false;  // from other numbers
  CastArg cast;           // CAST
  FunctionArg function;   // FUNCTION
  ReduceArg reduce;       // reduces; axes sorted
  bool checked = false;   // GATHER, of the table and the positions
  Sizes numbered;         // the original shape of the positions
  int depth = 0;          // nesting of operations
  int reduces = 0;        // nesting of reduces
};

}  // namespace touchstone::define
