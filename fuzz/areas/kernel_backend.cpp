#include "touchstone/fuzz/areas/kernel_backend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/foreign/guarded_memory.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/interp/oracle/declared_profile.h"

namespace touchstone::fuzz {
namespace {

class DeviceBackend final : public KernelBackend {
 public:
  DeviceBackend(std::unique_ptr<Device> device, DiffersOn differs_on)
      : device_(std::move(device)), differs_on_(std::move(differs_on)) {}

  std::string name() override { return device_->name(); }
  void prepare(std::span<const LazyOpPtr> kernels) override {
    device_->forget_runners();  // kernels rarely repeat
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
    const foreign::GuardedMemory::Place place = place_of(c);
    const std::vector<BufferSpec> specs = buffers_of(c.concrete());
    const auto output = std::ranges::find(specs, 0, &BufferSpec::idx);
    const Guarded target = guarded(output->dtype, output->size, place);
    std::vector<Guarded> sources;
    std::vector<Buffer*> raw{target.buffer.get()};
    for (const HostArray& input : c.inputs) {
      sources.push_back(guarded(input.dtype, input.size(), place));
      raw.push_back(sources.back().buffer.get());
      raw.back()->copy_in(std::as_bytes(std::span(input.bytes)));
      sources.back().memory->make_read_only();
    }
    device_->runner(c.kernel)->run(raw, c.values);
    foreign::Answer answer;
    const std::string damage = target.memory->damage();
    answer.kind = damage.empty() ? foreign::Answer::Kind::Output : foreign::Answer::Kind::Broken;
    if (!damage.empty()) answer.why = "it wrote outside its output, " + damage;
    answer.output = {output->dtype, {output->size}, std::string(target.buffer->bytes(), '\0')};
    target.buffer->copy_out(std::as_writable_bytes(std::span(answer.output.bytes)));
    return answer;
  }

  foreign::Answer run_in_place(const KernelCase& c, std::size_t input, GoesOn goes_on) override {
    if (!device_->host_memory()) return KernelBackend::run_in_place(c, input, goes_on);
    const std::vector<BufferPtr> buffers = make_buffers(c, *device_);
    const BufferPtr &target = buffers[0], &source = buffers[input + 1];
    // Memory behind the elements written must stay unchanged.
    const auto width = static_cast<std::int64_t>(itemsize(target->dtype()));
    const std::int64_t elements =
        std::max<std::int64_t>(target->size(), static_cast<std::int64_t>(source->bytes()) / width) +
        3;
    const auto both = std::make_shared<Buffer>(*device_, DType::UInt8, elements * width);
    std::memset(both->memory(), 0xA5, both->bytes());
    std::memcpy(both->memory(), source->memory(), source->bytes());
    const std::string before(static_cast<const char*>(both->memory()), both->bytes());
    const auto here = [&](const Buffer& of, std::int64_t size) {
      return std::make_unique<Buffer>(*device_, of.dtype(), size, both->memory(), both);
    };
    const auto out = here(*target, goes_on == GoesOn::Yes ? elements : target->size()),
               in = here(*source, source->size());
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : buffers) raw.push_back(b.get());
    raw[0] = out.get();
    raw[input + 1] = in.get();
    device_->runner(c.kernel)->run(raw, c.values);
    std::string after(static_cast<const char*>(both->memory()), both->bytes());
    foreign::Answer answer;
    if (std::string_view(before).substr(target->bytes()) !=
        std::string_view(after).substr(target->bytes())) {
      answer.kind = foreign::Answer::Kind::Broken;
      answer.why = "it wrote past the end of the output, which shares memory with an input";
      return answer;
    }
    answer.kind = foreign::Answer::Kind::Output;
    after.resize(target->bytes());
    answer.output = {target->dtype(), {target->size()}, std::move(after)};
    return answer;
  }

 private:
  struct Guarded {
    std::shared_ptr<foreign::GuardedMemory> memory;
    std::unique_ptr<Buffer> buffer;
  };
  // Zeros.
  Guarded guarded(DType dtype, std::int64_t size, foreign::GuardedMemory::Place place) {
    const std::size_t bytes = static_cast<std::size_t>(size) * itemsize(dtype);
    Guarded made{std::make_shared<foreign::GuardedMemory>(bytes, itemsize(dtype), place), nullptr};
    std::ranges::fill(made.memory->data(), std::byte{0});
    made.buffer =
        std::make_unique<Buffer>(*device_, dtype, size, made.memory->data().data(), made.memory);
    return made;
  }

  // The case alone decides which end is exact, so failures reproduce.
  static foreign::GuardedMemory::Place place_of(const KernelCase& c) {
    std::size_t hash = c.inputs.size();
    for (const HostArray& input : c.inputs) hash += std::hash<std::string>()(input.bytes);
    using enum foreign::GuardedMemory::Place;
    return hash % 2 == 0 ? AtEnd : AtStart;
  }

  std::unique_ptr<Device> device_;
  DiffersOn differs_on_;
};

class ProcessBackend final : public KernelBackend {
 public:
  ProcessBackend(std::vector<std::string> argv, const foreign::Limits& limits,
                 std::shared_ptr<SharedStarts> starts)
      : process_(std::move(argv), limits), starts_(std::move(starts)) {}

  std::string name() override { return visible(capabilities().name, kMostName); }
  Profile profile(const LazyOpPtr& /*kernel*/) override {
    return declared_profile(capabilities().profile);
  }
  std::pair<std::string, std::string> program(const KernelCase& c) override {
    const std::optional<emit::Language> language = capabilities().programs;
    if (!language) return {};
    try {
      return {std::string(emit::info(*language).file),
              foreign::program_of(c.concrete(), c.inputs, *language)};
    } catch (const Error&) {  // it cannot be said, so it never ran
      return {};
    }
  }
  // The backend's own message is printed with the finding.
  foreign::Answer run(const KernelCase& c) override {
    foreign::Answer answer = process_.run(kernel_file(c.concrete()), c.inputs);
    count();
    answer.why = visible(answer.why);
    return answer;
  }

 private:
  static constexpr std::size_t kMostName = 80;

  const foreign::Capabilities& capabilities() {
    const foreign::Capabilities& said = process_.capabilities();
    count();
    return said;
  }

  // Counts the starts since the last call.
  void count() {
    const foreign::Starts& now = process_.starts();
    if (!starts_ || now.times == counted_.times) return;
    starts_->add(now.times - counted_.times, now.times - std::max(counted_.times, 1),
                 now.seconds - counted_.seconds);
    counted_ = now;
  }

  foreign::BackendProcess process_;
  foreign::Starts counted_;
  std::shared_ptr<SharedStarts> starts_;
};

}  // namespace

std::unique_ptr<KernelBackend> make_device_backend(std::unique_ptr<Device> device,
                                                   DiffersOn differs_on) {
  return std::make_unique<DeviceBackend>(std::move(device), std::move(differs_on));
}

struct SharedStarts::Counts {
  std::atomic<int> times = 0, anew = 0;
  std::atomic<std::int64_t> microseconds = 0;
};

SharedStarts::SharedStarts() {
  void* const memory =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("cannot share memory with workers");
  counts_ = new (memory) Counts;
}
SharedStarts::~SharedStarts() { ::munmap(counts_, sizeof(Counts)); }

void SharedStarts::add(int times, int anew, double seconds) {
  counts_->times += times;
  counts_->anew += anew;
  counts_->microseconds += std::llround(seconds * 1e6);
}
int SharedStarts::times() const { return counts_->times; }
int SharedStarts::anew() const { return counts_->anew; }
double SharedStarts::seconds() const { return static_cast<double>(counts_->microseconds) * 1e-6; }

std::unique_ptr<KernelBackend> make_process_backend(std::vector<std::string> argv,
                                                    const foreign::Limits& limits,
                                                    std::shared_ptr<SharedStarts> starts) {
  return std::make_unique<ProcessBackend>(std::move(argv), limits, std::move(starts));
}

}  // namespace touchstone::fuzz
