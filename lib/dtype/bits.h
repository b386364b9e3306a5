#pragma once

#include "touchstone/dtype/dtype.h"

namespace touchstone {

/// The integers of a type's size, for its bits.
constexpr DType unsigned_of(DType d) {
  switch (itemsize(d)) {
    case 1: return DType::UInt8;
    case 2: return DType::UInt16;
    case 4: return DType::UInt32;
    default: return DType::UInt64;
  }
}
constexpr DType signed_of(DType d) {
  return static_cast<DType>(static_cast<int>(unsigned_of(d)) - 1);
}
static_assert(signed_of(DType::Float64) == DType::Int64 && signed_of(DType::Bool) == DType::Int8);

}  // namespace touchstone
