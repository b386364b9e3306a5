#pragma once

#include <memory>
#include <string>

#include "touchstone/device/device.h"

namespace touchstone {

/// The reference device: evaluates the AST of a kernel node by node over Eigen arrays, each value
/// correctly rounded, each sum exact and rounded once (docs/semantics.md). Obvious beats fast here.
/// Every access is checked against its buffer.
std::unique_ptr<Device> make_interpreted_device(std::string name = "CPU");

/// Makes it known as "CPU".
void register_interpreted_device();

}  // namespace touchstone
