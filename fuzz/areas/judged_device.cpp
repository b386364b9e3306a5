#include "touchstone/fuzz/areas/judged_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::fuzz {
namespace {

bool same_numbers(const Buffer& a, const Buffer& b) {
  const std::size_t width = itemsize(a.dtype());
  const auto* const x = static_cast<const std::byte*>(a.memory());
  const auto* const y = static_cast<const std::byte*>(b.memory());
  if (std::memcmp(x, y, a.bytes()) == 0) return true;
  if (!is_float(a.dtype())) return false;
  for (std::size_t i = 0; i < a.bytes(); i += width) {
    std::uint64_t p = 0, q = 0;
    std::memcpy(&p, x + i, width);
    std::memcpy(&q, y + i, width);
    if (p != q &&
        !(Scalar::from_bits(a.dtype(), p).is_nan() && Scalar::from_bits(a.dtype(), q).is_nan()))
      return false;
  }
  return true;
}

}  // namespace

class JudgedDevice::Judged final : public Runner {
 public:
  Judged(JudgedDevice& device, LazyOpPtr kernel)
      : device_(device),
        kernel_(std::move(kernel)),
        runner_(device.device_->runner(kernel_)),
        reference_(device.reference_->runner(kernel_)) {}

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const double seconds = runner_->run(buffers, values);
    const LazyOpPtr bound = values.empty() ? kernel_ : bind_variables(kernel_, values);
    // The part of the output's memory that the kernel writes.
    Buffer answer(device_, buffers[0]->dtype(), bound->buffer().st.real_size());
    std::memcpy(answer.memory(), buffers[0]->memory(), answer.bytes());
    Buffer right(device_, answer.dtype(), answer.size());
    std::vector<Buffer*> on(buffers.begin(), buffers.end());
    on[0] = &right;
    reference_->run(on, values);
    if (same_numbers(answer, right)) return seconds;
    device_.exact_ = false;
    const Verdict verdict =
        judge(kernel_, on, answer, declared_profile(runner_->profile()), values);
    if (verdict.outcome == Outcome::Fail)
      throw NotLegal(verdict.str() + "\nof the kernel\n" + str(bound));
    return seconds;
  }
  std::string source() const override { return runner_->source(); }
  std::string profile() const override { return runner_->profile(); }

 private:
  JudgedDevice& device_;
  LazyOpPtr kernel_;
  RunnerPtr runner_, reference_;
};

JudgedDevice::JudgedDevice(std::string name, std::unique_ptr<Device> device)
    : Device(std::move(name), std::make_unique<HostAllocator>()),
      device_(std::move(device)),
      reference_(make_interpreted_device("REFERENCE", 1)) {}

std::vector<RunnerPtr> JudgedDevice::make_runners(std::span<const LazyOpPtr> kernels) {
  device_->prepare(kernels);
  std::vector<RunnerPtr> runners;
  for (const LazyOpPtr& kernel : kernels)
    runners.push_back(std::make_shared<Judged>(*this, kernel));
  device_->forget_runners();  // our runners own theirs
  reference_->forget_runners();
  return runners;
}

}  // namespace touchstone::fuzz
