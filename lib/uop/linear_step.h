#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "touchstone/base/rows.h"
#include "touchstone/dtype/scalar.h"
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone {

/// Kinds of linear code. A step refers to operands by their index in the list.
enum class StepKind : std::uint8_t {
  DefineGlobal,  // a buffer;              arg: its number
  DefineVar,     // an int64 parameter;    arg: its name
  DefineAcc,     // an accumulator; src: initial value; arg: its lanes, none for a scalar, which as
                 // an operand means its current value; lanes without an initial value are an array,
                 // valid where assigned
  Const,         // arg: Scalar
  Loop,          // an int64 loop counter; src: begin, end (exclusive)[, a Const: iterations to
                 // unroll]; arg: its name
  EndLoop,       // src: the loop
  Load,          // src: buffer, index[, valid]; if valid is 0, gives 0 without reading
  Store,         // src: buffer, index, value
  Alu,           // an elementwise op or FUNCTION; arg: Op (not CAST)
  Index,         // int64 index arithmetic, cannot overflow; arg: IndexOp
  Cast,          // conversion by the rules of convert<To, From>
  Bitcast,       // the same bits as a type of equal size
  LoadAcc,       // src: accumulator with lanes, lane
  Assign,        // src: accumulator, value[, lane]
  Check,         // src: position, size, number; a fault with that number if the position is outside
                 // [0, size) and the number is not negative
  Prefetch       // src: buffer, index, possibly outside the buffer; arg: its cache line goes into
                 // the first level of caches (3) or the second (2)
};
inline constexpr int kStepKindCount = 16;

/// Index arithmetic on int64; comparisons and logic give 0 or 1. Div and Mod are C's, with operands
/// proved non-negative and a divisor proved positive; FloorDiv and FloorMod accept any operands and
/// give 0 for a divisor of 0.
// clang-format off
enum class IndexOp : std::uint8_t {
  Add, Sub, Mul, FloorDiv, FloorMod, Div, Mod, Lt, Le, Eq, Ne, And, Or, Not, Min, Max, Where
};
// clang-format on

using symbolic::ExprOp;

/// Properties of an index op.
struct IndexOpInfo {
  IndexOp op;
  std::string_view name;
  int arity;
  ExprOp step;  // the same on expressions
};

// clang-format off
inline constexpr std::array<IndexOpInfo, 17> index_op_table = {{
    {IndexOp::Add, "+", 2, ExprOp::Add}, {IndexOp::Sub, "-", 2, ExprOp::Sub},
    {IndexOp::Mul, "*", 2, ExprOp::Mul}, {IndexOp::FloorDiv, "floor_div", 2, ExprOp::Div},
    {IndexOp::FloorMod, "floor_mod", 2, ExprOp::Mod}, {IndexOp::Div, "/", 2, ExprOp::Div},
    {IndexOp::Mod, "%", 2, ExprOp::Mod}, {IndexOp::Lt, "<", 2, ExprOp::Lt},
    {IndexOp::Le, "<=", 2, ExprOp::Le}, {IndexOp::Eq, "==", 2, ExprOp::Eq},
    {IndexOp::Ne, "!=", 2, ExprOp::Ne}, {IndexOp::And, "and", 2, ExprOp::And},
    {IndexOp::Or, "or", 2, ExprOp::Or}, {IndexOp::Not, "not", 1, ExprOp::Not},
    {IndexOp::Min, "min", 2, ExprOp::Min}, {IndexOp::Max, "max", 2, ExprOp::Max},
    {IndexOp::Where, "where", 3, ExprOp::Where},
}};
// clang-format on

static_assert(rows_follow_enum(index_op_table, &IndexOpInfo::op, IndexOp::Where),
              "index_op_table needs one row per IndexOp, in the order of IndexOp");

constexpr const IndexOpInfo& info(IndexOp op) {
  return index_op_table[static_cast<std::size_t>(op)];
}

using StepArg = std::variant<std::monostate, int, std::string, Scalar, Op, IndexOp>;

/// The operands of a step, stored inline.
class Operands {
 public:
  static constexpr std::size_t kMost = 3;

  Operands() = default;
  Operands(std::initializer_list<int> values) {
    for (const int v : values) push_back(v);
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int* begin() { return values_.data(); }
  int* end() { return values_.data() + count_; }
  const int* begin() const { return values_.data(); }
  const int* end() const { return values_.data() + count_; }
  int& operator[](std::size_t i) { return values_[i]; }
  int operator[](std::size_t i) const { return values_[i]; }
  int back() const { return values_[count_ - 1]; }

  /// Throws AstError if there are already kMost, the most that any step has.
  void push_back(int value);
  void pop_back() { values_[--count_] = 0; }

  bool operator==(const Operands&) const = default;

 private:
  std::array<int, kMost> values_{};  // 0 beyond the last
  std::uint32_t count_ = 0;
};

/// One step of linear code: kind, result type, operands. Store, EndLoop, Assign, Check and Prefetch
/// have no result; their dtype is that of what they store, count or assign.
struct LinearStep {
  StepKind kind = StepKind::Const;
  DType dtype = DType::Int64;
  Operands src;
  StepArg arg;
  NamedFunction function = NamedFunction::Exp;  // of FUNCTION

  bool operator==(const LinearStep&) const = default;
};

std::string_view name(StepKind kind);
/// The value of an integer Const; nullopt for other steps.
std::optional<std::int64_t> constant_of(const LinearStep& step);
std::uint64_t hash_of(const LinearStep& uop);
/// "ADD f32 %3 %4": a step without its number.
std::string str(const LinearStep& uop);

}  // namespace touchstone
