#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "subject.h"

namespace touchstone::power {

/// Kinds of real backend faults, each one line of a kernel. None is the faultless backend.
enum class Bug : std::uint8_t {
  None,
  // indices
  DropLast,
  DropFirst,
  DropMiddle,
  TailDropped,
  Duplicate,
  Shift,
  SwapResults,
  SwapOperands,
  Misaligned,
  MaskOffByOne,
  WrongRow,
  LaneLost,
  LaneTwice,
  // accumulators
  StaleAccumulator,
  StartsAtOne,
  WrongIdentity,
  FiniteIdentity,
  NarrowAccumulator,
  ShortSum,
  SaturatingSum,
  ParitySum,
  // signs and zeros
  SignOfOneTerm,
  SignLost,
  NegativeZeroLost,
  ZeroMinus,
  ZerosInMax,
  // precision
  Tf32Inputs,
  Bf16Inputs,
  Truncates,
  TiesAway,
  DoubleRounding,
  Flushes,
  DividesByReciprocal,
  SqrtByReciprocal,
  Exp2ByExp,
  Log2ByLog,
  ShortPi,
  // NaN and infinity
  NanIgnored,
  NanOnOneSide,
  NanCompares,
  ComparesBits,
  WhereByProduct,
  SqrtOfNegative,
  Saturates,
  // integers
  IntegersSaturate,
  IntegersThroughFloat,
  OtherSign,
  FloorsDivision,
  FloorsRemainder,
  OrForXor,
  AddendLost,
  // casts
  CastRounds,
  CastWraps,
  CastSaturates,
  CastNanIsLeast,
  CastBoolTruncates,
  CastZeroExtends,
  CastCutsInteger,
};

struct BugInfo {
  Bug bug;
  std::string_view what;
  bool (*applies)(const Subject&);  // whether it could change a result of this kernel
};
std::span<const BugInfo> bug_table();

}  // namespace touchstone::power
