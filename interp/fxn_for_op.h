#pragma once

#include <memory>
#include <span>

#include "touchstone/interp/block.h"
#include "touchstone/ops/op.h"

namespace touchstone::interp {

/// Elementwise: fills `out`, already of the result's dtype and of the count of every operand.
using ElementwiseFxn = void (*)(std::span<const Block* const> in, Block& out);

/// The function of an elementwise op on operands of type `operand` (the arms', for WHERE); nullptr
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
