#include "touchstone/fuzz/kernel_backend.h"

#include "touchstone/fuzz/kernel_case.h"
#include "touchstone/interp/profile.h"

namespace touchstone::fuzz {
namespace {

class DeviceBackend final : public KernelBackend {
 public:
  explicit DeviceBackend(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  std::string name() override { return device_->name(); }
  void prepare(std::span<const LazyOpPtr> kernels) override {
    device_->forget_runners();  // no kernel is drawn twice on purpose
    device_->prepare(kernels);
  }
  std::string source(const LazyOpPtr& kernel) override { return device_->runner(kernel)->source(); }
  foreign::Answer run(const KernelCase& c) override {
    foreign::Answer answer;
    answer.kind = foreign::Answer::Kind::Output;
    answer.output = answer_of(c, *device_);
    return answer;
  }

 private:
  std::unique_ptr<Device> device_;
};

class ProcessBackend final : public KernelBackend {
 public:
  ProcessBackend(std::vector<std::string> argv, const foreign::Limits& limits)
      : process_(std::move(argv), limits) {}

  std::string name() override { return process_.capabilities().name; }
  Profile profile() override {
    const std::string& declared = process_.capabilities().profile;
    if (declared.empty()) return {};
    return declared.starts_with('{') ? Profile::from_json(declared) : Profile::named(declared);
  }
  foreign::Answer run(const KernelCase& c) override {
    return process_.run(kernel_file(c.concrete()), c.inputs);
  }

 private:
  foreign::BackendProcess process_;
};

}  // namespace

std::unique_ptr<KernelBackend> make_device_backend(std::unique_ptr<Device> device) {
  return std::make_unique<DeviceBackend>(std::move(device));
}

std::unique_ptr<KernelBackend> make_process_backend(std::vector<std::string> argv,
                                                    const foreign::Limits& limits) {
  return std::make_unique<ProcessBackend>(std::move(argv), limits);
}

}  // namespace touchstone::fuzz
