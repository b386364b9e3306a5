#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "touchstone/interp/device/block.h"
#include "touchstone/interp/device/rows.h"
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"

namespace touchstone::interp {

/// An elementwise op on one type: its row, with conversions before and after if the row computes in
/// another type.
class ElementwiseFxn {
 public:
  constexpr ElementwiseFxn() = default;
  constexpr ElementwiseFxn(Row row) : row_(row) {}
  /// `then` receives the result and the last operand.
  constexpr ElementwiseFxn followed_by(Row then) const {
    ElementwiseFxn all = *this;
    all.then_ = then;
    return all;
  }
  /// Converts operands with `widen`, to a type of at most 8 bytes, and the result with `narrow`, if
  /// given.
  constexpr ElementwiseFxn between(Row widen, Row narrow) const {
    ElementwiseFxn all = *this;
    all.widen_ = widen;
    all.narrow_ = narrow;
    return all;
  }
  constexpr explicit operator bool() const { return row_ != nullptr; }

  /// Fills `out`, which already has the result's dtype and the operands' count.
  void operator()(std::span<const Block* const> in, Block& out) const;

 private:
  struct Operand {
    const std::byte* data;
    std::size_t width;  // of an element
  };
  void apply(Row row, std::span<const Operand> in, Block& out) const;

  Row row_ = nullptr, then_ = nullptr, widen_ = nullptr, narrow_ = nullptr;
};

/// The function of an elementwise op for operands of type `operand` (for WHERE, that of the arms);
/// empty if the op does not support the type. For CAST see fxn_for_cast.
ElementwiseFxn fxn_for_op(Op op, DType operand);
ElementwiseFxn fxn_for_cast(DType from, DType to, bool bitcast);
/// Fills `out`, which has the operands' float type and count, with f of each element.
void apply_function(NamedFunction f, std::span<const Block* const> in, Block& out);

/// A reduction fed run by run; `finish` writes the result and resets it.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// Adds `count` elements of `in` from `first` on.
  virtual void feed(const Block& in, std::int64_t first, std::int64_t count) = 0;
  /// Adds as many zeros of a sum, in the order of its terms.
  virtual void skip(std::int64_t) {}
  virtual void finish(Block& out, std::int64_t at) = 0;
  virtual std::unique_ptr<Reducer> clone() const = 0;
  /// As if everything fed to `other`, of the same op and types, had been fed here.
  virtual void merge(const Reducer& other) = 0;
};

/// SUM is exact, rounded once to `accumulator`, then to `dtype`; integers wrap at `accumulator`.
/// MAX propagates NaN. An empty reduction is +0 for SUM, and -inf or the least integer for MAX.
std::unique_ptr<Reducer> reducer_for_op(Op op, DType dtype, DType accumulator);

}  // namespace touchstone::interp
