#pragma once

#include "touchstone/ops/op.h"

// More groups of case labels as in op.h: the compiler names the switches that lack a new op.
// clang-format off
#define TOUCHSTONE_CASES_ARITHMETIC \
  case Op::Noop: case Op::Cast: case Op::Neg: case Op::Add: case Op::Sub: case Op::Mul: \
  case Op::Div: case Op::Max: case Op::Mod: case Op::Xor
#define TOUCHSTONE_CASES_BEYOND_BINARY \
  TOUCHSTONE_CASES_TERNARY: TOUCHSTONE_CASES_REDUCE: TOUCHSTONE_CASES_NOT_COMPUTED
// clang-format on
