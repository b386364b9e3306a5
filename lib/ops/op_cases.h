#pragma once

#include "touchstone/ops/op.h"

// Case labels of one more group of ops, as those of op.h: a new op is not among them, and asked
// for.
// clang-format off
#define TOUCHSTONE_CASES_ARITHMETIC \
  case Op::Noop: case Op::Cast: case Op::Neg: case Op::Add: case Op::Sub: case Op::Mul: \
  case Op::Div: case Op::Max: case Op::Mod: case Op::Xor
// clang-format on
