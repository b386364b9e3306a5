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

/// Runs kernels on another device of the host's memory, and holds each answer: it is the
/// reference's, or one that the oracle takes under what the other device declares. Runners throw
/// NotLegal.
class JudgedDevice final : public Device {
 public:
  JudgedDevice(std::string name, std::unique_ptr<Device> device);

  /// Whether all answers since the last call had the reference's bits, but for those of a NaN.
  bool take_exact() { return std::exchange(exact_, true); }

 private:
  class Judged;
  RunnerPtr make_runner(const LazyOpPtr& kernel) override;
  std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels) override;

  std::unique_ptr<Device> device_, reference_;
  bool exact_ = true;
};

}  // namespace touchstone::fuzz
