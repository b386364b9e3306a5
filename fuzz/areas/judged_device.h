#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/device/device.h"

namespace touchstone::fuzz {

/// A kernel's answer that the oracle refuses.
class NotLegal : public Error {
 public:
  using Error::Error;
};

/// Runs kernels on another device in host memory and judges each answer: it has the reference's
/// bits, or the oracle accepts it under the other device's profile. Runners throw NotLegal.
class JudgedDevice final : public Device {
 public:
  JudgedDevice(std::string name, std::unique_ptr<Device> device);

  /// True if every answer since the last call had the reference's bits, ignoring NaN payloads.
  bool take_exact() { return std::exchange(exact_, true); }

 private:
  class Judged;
  std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels) override;

  std::unique_ptr<Device> device_, reference_;
  bool exact_ = true;
};

}  // namespace touchstone::fuzz
