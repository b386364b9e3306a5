#pragma once

#include "touchstone/base/error.h"

namespace touchstone {

/// A kernel ended its device's context: this process can compute nothing more on the device. The
/// message names the kernel.
class DeviceLost : public SystemError {
 public:
  using SystemError::SystemError;
};

}  // namespace touchstone
