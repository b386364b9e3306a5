#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "touchstone/ops/op.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone {

/// Kinds of linear code. An ALU step's `arg` is an Op.
enum class UOps : std::uint8_t {
  DefineGlobal, DefineVar, DefineAcc, Special, Const, Loop, EndLoop, If, EndIf, Load, Store, Alu, Cast, Bitcast, Phi
};

}  // namespace touchstone
