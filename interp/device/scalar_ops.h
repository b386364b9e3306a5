#pragma once

// The truth for one element: what every op of the interpreted device does to its scalars, for all
// storage types (docs/semantics.md). The functions are templates over the storage type; those that
// an element type does not have are constrained away, so `requires` can ask for them.

#include "touchstone/interp/device/scalar_arith.h"
#include "touchstone/interp/device/scalar_transcendental.h"
