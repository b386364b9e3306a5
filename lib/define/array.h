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

/// A formula for an array of known shape and type over the inputs of a kernel: a small immutable
/// value, made of others. Nothing is computed; `kernel` makes one kernel of it. Sizes are numbers
/// (views with variables are built with ShapeTracker). Where operands of an elementwise operation
/// have other shapes they are broadcast as NumPy does, and where they have other types they are
/// cast to the least type that holds both (`promote`); a `number` takes the type of what it meets.
/// An impossible one throws ShapeError, DTypeError or OverflowError where it is built.
class Array {
 public:
  /// Buffer `buffer` >= 1 of the kernel, in row-major order. One number has one shape and type.
  static Array input(int buffer, Sizes shape, DType dtype = DType::Float32);
  static Array constant(Scalar value, Sizes shape = {});
  /// A scalar without a type of its own, as Scalar::parse reads it; float32 where it meets none.
  static Array number(std::string text);
  Array(double value);  // NOLINT(google-explicit-constructor): so that x * 2.0 can be written

  const Sizes& shape() const;
  DType dtype() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// Size of an axis; negative ones count from the last.
  std::int64_t size(int axis) const;
  /// It is a `number` that has met no type.
  bool is_number() const;

  // Movement, as that of ShapeTracker. Elements that pad adds are 0 of the type.
  Array reshape(const Sizes& shape) const;  // one size may be -1: what is left
  Array permute(const std::vector<int>& order) const;
  Array expand(const Sizes& shape) const;  // axes of size 1 grow; new axes stand in front
  Array pad(const Pairs& before_after) const;
  Array shrink(const Pairs& begin_end) const;
  Array stride(const Sizes& steps) const;  // every |m|-th; negative flips first
  /// Reads the elements in row-major order at offset + sum(index[i] * strides[i]).
  Array as_strided(const Sizes& shape, const Sizes& strides, std::int64_t offset) const;

  Array cast(DType to) const;
  Array bitcast(DType to) const;
  /// An input, moved or not.
  bool is_input() const;
  /// Of an input (rows, X...): element (i..., x...) is that of (index[i...], x...), 0 where the
  /// index is outside, or, where `checked`, an error. index: integers.
  Array rows(const Array& index, bool checked) const;
  /// An elementwise operation of the table.
  static Array apply(Op op, std::vector<Array> operands);
  /// REDUCE_SUM or REDUCE_MAX over axes, which stay with size 1 where `keep`. Over no axes it is
  /// the array itself.
  Array reduce(Op op, std::vector<int> axes, bool keep,
               std::optional<DType> accumulator = std::nullopt) const;

  const std::shared_ptr<const ArrayNode>& node() const { return node_; }

 private:
  explicit Array(std::shared_ptr<const ArrayNode> node) : node_(std::move(node)) {}
  Array make(Op op, Sizes shape, Pairs move, std::int64_t offset = 0) const;
  std::shared_ptr<const ArrayNode> node_;
};

/// The kernel that stores `value`. Movement is folded into the views of its leaves; a value that is
/// broadcast after a reduce is reduced again for every reader, as one kernel has no memory of its
/// own. The stored shape is that of `value` with an axis of size 1 behind it for each axis that
/// stands reduced at its end. Throws AstError where that takes more than 16 reduces above each
/// other or `kMostNodes` nodes.
LazyOpPtr kernel(const Array& value);
inline constexpr std::size_t kMostNodes = 4'000;

/// How many operations may stand above each other in an Array.
inline constexpr int kMostDepth = 1'000;
/// How many reduces, as in every kernel.
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

/// All operands, each of the shape that they are broadcast to together.
std::vector<Array> broadcast(std::vector<Array> operands);
/// `axis` from 0; negative ones count from the last. Throws ShapeError where there is none.
int axis_of(const Array& x, std::int64_t axis);
std::string str(const Sizes& shape);  // "[2,3]"

/// One node of the formula, for `kernel`: movement and reduces keep what they were asked for in
/// `move`, whose pairs mean what the operation's argument does.
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
  CastArg cast;             // CAST
  ReduceArg reduce;         // reduces; axes sorted
  bool checked = false;     // GATHER, of the table and of the positions, which have its shape
  Sizes numbered;           // the shape in which these were given
  int depth = 0;            // operations above each other
  int reduces = 0;          // and the reduces among them
};

}  // namespace touchstone::define
