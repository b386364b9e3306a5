#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone::emit {

using Sizes = std::vector<std::int64_t>;

/// One operation on whole arrays, as tensor languages have them. Operands have one shape, except
/// where a kind says otherwise.
struct TensorOp {
  enum class Kind : std::uint8_t {
    Input,
    Number,   // `value`, of shape [1]
    Iota,     // 0, 1, ... in int64, of one axis
    Move,     // `move`, never AsStrided; padding is 0
    Take,     // of a flat array, the elements at the int64 positions of the second operand
    Compute,  // the primitive `name` of primitives.h
    Sum,      // over `axes`, which stay with size 1; of numbers, added in their own type
    Max,      // the same; of bools: any
    Cast,
    Bitcast
  };
  Kind kind = Kind::Input;
  DType dtype = DType::Float32;
  Sizes shape = {};
  std::vector<int> src = {};  // positions of the operands
  std::string name = {};      // of an input or a primitive
  MovementOp move = {.kind = MovementOp::Kind::Reshape};
  std::vector<int> axes = {};
  Scalar value = {};
  bool operator==(const TensorOp&) const = default;
};

struct TensorProgram {
  std::vector<TensorOp> ops;  // operands before their users
  std::vector<int> inputs, outputs;
};

/// The primitives that a language has, for an element type.
using Has = bool (*)(std::string_view primitive, DType dtype);

/// Lowers kernels to tensor operations. Primitives that the language lacks are made of others,
/// where the result stays legal: in float64, rounded once. Members throw ParseError that names what
/// the language cannot say.
class Lowering {
 public:
  Lowering(Has has, std::string language) : has_(has), language_(std::move(language)) {}

  int input(std::string name, DType dtype, Sizes shape);
  /// The value of a concrete kernel; buffers[i] is its buffer i + 1, of any shape. Positions out of
  /// range read 0, also where the kernel says that they are an error.
  int kernel(const LazyOpPtr& kernel, std::span<const int> buffers);
  TensorProgram done(std::vector<int> outputs);

 private:
  friend class KernelLowering;
  int add(TensorOp op);
  const TensorOp& op(int i) const { return program_.ops[static_cast<std::size_t>(i)]; }
  int move(int x, MovementOp by);
  int reshape(int x, const Sizes& shape);
  int seen(int x, const ShapeTracker& view);  // of a flat array
  int full(Scalar value, const Sizes& shape);
  int number(double value, int like);
  int cast(int x, DType dtype);
  int compute(std::string_view primitive, std::vector<int> src);
  int without(std::string_view primitive, const std::vector<int>& src);
  [[noreturn]] void refuse(const std::string& what) const;

  Has has_;
  std::string language_;
  TensorProgram program_;
};

}  // namespace touchstone::emit
