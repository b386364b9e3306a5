#include "touchstone/fuzz/kernel_backend.h"

#include <algorithm>

#include "touchstone/base/visible.h"
#include "touchstone/foreign/guarded_memory.h"
#include "touchstone/fuzz/kernel_case.h"
#include "touchstone/interp/declared_profile.h"

namespace touchstone::fuzz {
namespace {

class DeviceBackend final : public KernelBackend {
 public:
  DeviceBackend(std::unique_ptr<Device> device, DiffersOn differs_on)
      : device_(std::move(device)), differs_on_(std::move(differs_on)) {}

  std::string name() override { return device_->name(); }
  void prepare(std::span<const LazyOpPtr> kernels) override {
    device_->forget_runners();  // no kernel is drawn twice on purpose
    device_->prepare(kernels);
  }
  Profile profile(const LazyOpPtr& kernel) override {
    return declared_profile(device_->runner(kernel)->profile());
  }
  bool differs_on(const LazyOpPtr& kernel) override { return !differs_on_ || differs_on_(kernel); }
  std::string source(const LazyOpPtr& kernel) override { return device_->runner(kernel)->source(); }
  foreign::Answer run(const KernelCase& c) override {
    foreign::Answer answer;
    answer.kind = foreign::Answer::Kind::Output;
    answer.output = answer_of(c, *device_);
    return answer;
  }

  foreign::Answer run_guarded(const KernelCase& c) override {
    if (!device_->host_memory()) return run(c);
    const std::vector<BufferSpec> specs = buffers_of(c.concrete());
    const auto output = std::ranges::find(specs, 0, &BufferSpec::idx);
    const Guarded target = guarded(output->dtype, output->size);
    std::vector<Guarded> sources;
    std::vector<Buffer*> raw{target.buffer.get()};
    for (const HostArray& input : c.inputs) {
      sources.push_back(guarded(input.dtype, input.size()));
      raw.push_back(sources.back().buffer.get());
      raw.back()->copy_in(std::as_bytes(std::span(input.bytes)));
      sources.back().memory->make_read_only();
    }
    device_->runner(c.kernel)->run(raw, c.values);
    foreign::Answer answer;
    const std::string damage = target.memory->damage();
    answer.kind = damage.empty() ? foreign::Answer::Kind::Output : foreign::Answer::Kind::Broken;
    if (!damage.empty()) answer.why = "it wrote beside its output, " + damage;
    answer.output = {output->dtype, {output->size}, std::string(target.buffer->bytes(), '\0')};
    target.buffer->copy_out(std::as_writable_bytes(std::span(answer.output.bytes)));
    return answer;
  }

 private:
  struct Guarded {
    std::shared_ptr<foreign::GuardedMemory> memory;
    std::unique_ptr<Buffer> buffer;
  };
  // Zeros, which end where a page begins that nobody may touch.
  Guarded guarded(DType dtype, std::int64_t size) {
    const std::size_t bytes = static_cast<std::size_t>(size) * itemsize(dtype);
    Guarded made{std::make_shared<foreign::GuardedMemory>(bytes, itemsize(dtype)), nullptr};
    std::ranges::fill(made.memory->data(), std::byte{0});
    made.buffer =
        std::make_unique<Buffer>(*device_, dtype, size, made.memory->data().data(), made.memory);
    return made;
  }

  std::unique_ptr<Device> device_;
  DiffersOn differs_on_;
};

class ProcessBackend final : public KernelBackend {
 public:
  ProcessBackend(std::vector<std::string> argv, const foreign::Limits& limits)
      : process_(std::move(argv), limits) {}

  std::string name() override { return visible(process_.capabilities().name, kMostName); }
  Profile profile(const LazyOpPtr& /*kernel*/) override {
    return declared_profile(process_.capabilities().profile);
  }
  // Its own words go on the terminal with the finding.
  foreign::Answer run(const KernelCase& c) override {
    foreign::Answer answer = process_.run(kernel_file(c.concrete()), c.inputs);
    answer.why = visible(answer.why);
    return answer;
  }

 private:
  static constexpr std::size_t kMostName = 80;
  foreign::BackendProcess process_;
};

}  // namespace

std::unique_ptr<KernelBackend> make_device_backend(std::unique_ptr<Device> device,
                                                   DiffersOn differs_on) {
  return std::make_unique<DeviceBackend>(std::move(device), std::move(differs_on));
}

std::unique_ptr<KernelBackend> make_process_backend(std::vector<std::string> argv,
                                                    const foreign::Limits& limits) {
  return std::make_unique<ProcessBackend>(std::move(argv), limits);
}

}  // namespace touchstone::fuzz
