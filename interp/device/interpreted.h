#pragma once

#include <memory>
#include <string>

#include "touchstone/device/device.h"

namespace touchstone {

/// The reference device: evaluates the AST of a kernel node by node over Eigen arrays, each value
/// correctly rounded, each sum exact and rounded once (docs/semantics.md). Obvious beats fast here.
/// Every access is checked against its buffer. Large kernels run in so many threads, 0 for one a
/// core; the results are the same bits for any number.
std::unique_ptr<Device> make_interpreted_device(std::string name = "CPU", int threads = 0);

/// Makes it known as "CPU".
void register_interpreted_device();

}  // namespace touchstone
