#pragma once

// The reference result for one element: the scalar function of every op for all storage types
// (docs/semantics.md). The functions are templates over the storage type, constrained to the
// supported element types, so `requires` can test for support.

#include "touchstone/interp/device/scalar_arith.h"
#include "touchstone/interp/device/scalar_transcendental.h"
