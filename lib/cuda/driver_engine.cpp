// Grids on a GPU, through the CUDA driver.
#include <optional>

#include <fmt/format.h>

#include "touchstone/base/device_lost.h"
#include "touchstone/base/error.h"
#include "touchstone/base/forks.h"
#include "touchstone/cuda/driver.h"
#include "touchstone/cuda/engine.h"
#include "touchstone/cuda/ptx.h"

namespace touchstone::cuda {

namespace {

Driver::Address address(const void* memory) { return reinterpret_cast<Driver::Address>(memory); }

// A GPU's primary context, made current for the calling thread. It does not survive a fork: in the
// child the driver would hang or fail with an unspecific error.
class Gpu {
 public:
  explicit Gpu(int device) : number_(device) {}

  const Driver& use() {
    const Driver& driver = Driver::get();
    if (!lost_.empty()) throw DeviceLost(lost_);
    if (facts_ && opened_at_ != forks_deep())
      throw SystemError(
          "CUDA was in use before this process was forked, and cannot be used after a fork; fork "
          "first, or start a new program");
    if (!facts_) {
      opened_at_ = forks_deep();
      facts_ = gpu_facts(number_);
      Driver::Ordinal ordinal = 0;
      driver.check(driver.device(&ordinal, number_), "cuDeviceGet");
      driver.check(driver.retain_context(&context_, ordinal), "cuDevicePrimaryCtxRetain");
    }
    thread_local Driver::Handle current = nullptr;
    if (current != context_) {
      driver.check(driver.set_context(context_), "cuCtxSetCurrent");
      current = context_;
    }
    return driver;
  }
  // Of a kernel's error the context may not recover.
  [[noreturn]] void failed(std::string_view kernel, int result, const char* call) {
    const Driver& driver = use();
    const std::string why = fmt::format("kernel {}: {}", kernel, driver.text(result, call));
    if (driver.wait(nullptr) == 0) throw SystemError(why);
    lost_ = why + "; this ended the process's context on the GPU: start the program again";
    throw DeviceLost(lost_);
  }
  const GpuFacts& facts() {
    use();
    return *facts_;
  }

 private:
  int number_;
  std::optional<GpuFacts> facts_;
  int opened_at_ = 0;  // forks_deep()
  Driver::Handle context_ = nullptr;
  std::string lost_;  // why the context cannot be used
};

class GpuAllocator final : public Allocator {
 public:
  explicit GpuAllocator(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  void* allocate(std::size_t bytes) override {
    const Driver& driver = gpu_->use();
    Driver::Address at = 0;
    const std::size_t room = bytes == 0 ? 1 : bytes;
    if (const int result = driver.allocate(&at, room); result != 0)
      throw BufferError(fmt::format("the GPU cannot allocate {} bytes (error {})", bytes, result));
    driver.check(driver.fill(at, 0, room), "cuMemsetD8");
    return reinterpret_cast<void*>(at);
  }
  void release(void* memory, std::size_t) noexcept override {
    try {
      gpu_->use().release(address(memory));
    } catch (const Error&) {  // the driver has shut down and freed all memory
    }
  }
  void copy_in(void* memory, std::span<const std::byte> source) override {
    if (source.empty()) return;
    const Driver& driver = gpu_->use();
    driver.check(driver.copy_in(address(memory), source.data(), source.size()), "cuMemcpyHtoD");
  }
  void copy_out(std::span<std::byte> target, const void* memory) override {
    if (target.empty()) return;
    const Driver& driver = gpu_->use();
    driver.check(driver.copy_out(target.data(), address(memory), target.size()), "cuMemcpyDtoH");
  }

 private:
  std::shared_ptr<Gpu> gpu_;
};

class Module final : public KernelModule {
 public:
  Module(std::shared_ptr<Gpu> gpu, const std::string& ptx) : gpu_(std::move(gpu)) {
    const Driver& driver = gpu_->use();
    driver.check(driver.load(&module_, ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  }
  ~Module() override {
    try {
      gpu_->use().unload(module_);
    } catch (const Error&) {  // the driver has shut down and unloaded the module
    }
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  void* function(const std::string& symbol) override {
    const Driver& driver = gpu_->use();
    Driver::Handle found = nullptr;
    driver.check(driver.function(&found, module_, symbol.c_str()), "cuModuleGetFunction");
    return found;
  }

 private:
  std::shared_ptr<Gpu> gpu_;
  Driver::Handle module_ = nullptr;
};

class DriverEngine final : public Engine {
 public:
  explicit DriverEngine(CudaOptions options)
      : options_(std::move(options)),
        gpu_(std::make_shared<Gpu>(options_.device)),
        cache_(options_.cache_dir, options_.cache_size) {}

  Target target() const override { return Target::Nvptx; }
  std::unique_ptr<Allocator> allocator() override { return std::make_unique<GpuAllocator>(gpu_); }

  std::shared_ptr<KernelModule> build(const std::string& source) override {
    const int capability = gpu_->facts().capability;  // fails before compiling if there is no GPU
    return std::make_shared<Module>(gpu_, options_.keep
                                              ? kept_ptx(cache_, source, capability, options_)
                                              : compile_to_ptx(source, capability, options_));
  }

  void launch(KernelModule&, const Launch& launch) override {
    const Driver& driver = gpu_->use();
    std::vector<void*> arguments(launch.arguments.begin(), launch.arguments.end());
    std::vector<std::int64_t> variables(launch.variables.begin(), launch.variables.end());
    std::vector<void*> places;
    for (std::size_t i = 0; i < launch.buffers; ++i) places.push_back(&arguments[i]);
    for (std::int64_t& value : variables) places.push_back(&value);
    for (std::size_t i = launch.buffers; i < arguments.size(); ++i) places.push_back(&arguments[i]);
    if (const int result = driver.launch(launch.function, static_cast<unsigned>(launch.blocks), 1,
                                         1, static_cast<unsigned>(launch.threads), 1, 1, 0, nullptr,
                                         places.data(), nullptr))
      gpu_->failed(launch.kernel, result, "cuLaunchKernel");
    if (const int result = driver.wait(nullptr))
      gpu_->failed(launch.kernel, result, "cuStreamSynchronize");
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const Driver& driver = gpu_->use();
    driver.check(driver.copy(address(to), address(from), bytes), "cuMemcpyDtoD");
    driver.check(driver.wait(nullptr), "cuStreamSynchronize");
  }

 private:
  CudaOptions options_;
  std::shared_ptr<Gpu> gpu_;
  clang::ObjectCache cache_;
};

}  // namespace

std::shared_ptr<Engine> make_driver_engine(const CudaOptions& options) {
  return std::make_shared<DriverEngine>(options);
}

}  // namespace touchstone::cuda
