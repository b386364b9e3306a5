#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "touchstone/interp/device/block.h"
#include "touchstone/interp/device/rows.h"
#include "touchstone/ops/op.h"

namespace touchstone::interp {

/// An elementwise op on one type: its row, and what is done before and after where the row computes
/// in another type.
class ElementwiseFxn {
 public:
  constexpr ElementwiseFxn() = default;
  constexpr ElementwiseFxn(Row row) : row_(row) {}
  /// `then` takes the result and the last operand.
  constexpr ElementwiseFxn followed_by(Row then) const {
    ElementwiseFxn all = *this;
    all.then_ = then;
    return all;
  }
  /// Operands go through `widen` first, to a type of at most 8 bytes, and the result through
  /// `narrow`, where that is one.
  constexpr ElementwiseFxn between(Row widen, Row narrow) const {
    ElementwiseFxn all = *this;
    all.widen_ = widen;
    all.narrow_ = narrow;
    return all;
  }
  constexpr explicit operator bool() const { return row_ != nullptr; }

  /// Fills `out`, already of the result's dtype and of the count of every operand.
  void operator()(std::span<const Block* const> in, Block& out) const;

 private:
  struct Operand {
    const std::byte* data;
    std::size_t width;  // of an element
  };
  void apply(Row row, std::span<const Operand> in, Block& out) const;

  Row row_ = nullptr, then_ = nullptr, widen_ = nullptr, narrow_ = nullptr;
};

/// The function of an elementwise op on operands of type `operand` (the arms', for WHERE); none
/// where the op does not take the type. CAST has a function for each pair: see fxn_for_cast.
ElementwiseFxn fxn_for_op(Op op, DType operand);
ElementwiseFxn fxn_for_cast(DType from, DType to, bool bitcast);

/// One reduction fed run by run; `finish` writes the result and makes it ready for the next.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// `count` more elements of `in` from `first` on.
  virtual void feed(const Block& in, std::int64_t first, std::int64_t count) = 0;
  virtual void finish(Block& out, std::int64_t at) = 0;
  /// As if what `other`, of the same op and types, was fed had been fed here.
  virtual void merge(const Reducer& other) = 0;
};

/// SUM is exact, rounded once to `accumulator`, then to `dtype`; integers wrap at `accumulator`.
/// MAX propagates NaN. Of nothing: +0, and -inf or the least integer.
std::unique_ptr<Reducer> reducer_for_op(Op op, DType dtype, DType accumulator);

}  // namespace touchstone::interp
