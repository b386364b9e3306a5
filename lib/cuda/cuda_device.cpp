#include "touchstone/cuda/cuda_device.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/cuda/driver.h"
#include "touchstone/cuda/engine.h"
#include "touchstone/cuda/layout.h"
#include "touchstone/cuda/ptx.h"
#include "touchstone/cuda/render_cuda.h"
#include "touchstone/ops/index_fault.h"

namespace touchstone {

namespace {

using cuda::Engine;
using cuda::GridKernel;
using cuda::KernelModule;
using cuda::Target;

std::string symbol(std::size_t i) { return fmt::format("kernel_{}", i); }

std::string source_of(const GridKernel& kernel) {
  const std::string function = cuda::render_cuda_function(kernel, kernel.linear.name);
  return fmt::format("// {}\n{}\n{}", str(kernel.opts),
                     cuda::target_preamble(Target::Nvptx, function), function);
}

// Device memory that is released with its owner.
class Scratch {
 public:
  Scratch(Allocator& allocator, std::size_t bytes)
      : allocator_(allocator), memory_(allocator.allocate(bytes)), bytes_(bytes) {}
  ~Scratch() { allocator_.release(memory_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* memory() const { return memory_; }

 private:
  Allocator& allocator_;
  void* memory_;
  std::size_t bytes_;
};

class CudaRunner final : public Runner {
 public:
  /// `program` is null if there is nothing to compute.
  CudaRunner(GridKernel kernel, std::shared_ptr<Engine> engine,
             std::shared_ptr<KernelModule> program, const std::string& name, Allocator& allocator)
      : kernel_(std::move(kernel)),
        engine_(std::move(engine)),
        program_(std::move(program)),
        allocator_(allocator),
        checks_(kernel_.linear.checks()) {
    launch_.function = program_ == nullptr ? nullptr : program_->function(name);
    launch_.blocks = blocks_of(kernel_);
    launch_.threads = kernel_.opts.threads;
    launch_.buffers = kernel_.linear.buffers.size();
    launch_.warp = kernel_.opts.warp;
    launch_.waits = kernel_.waits() || kernel_.opts.blocks != 0;
    if (program_ != nullptr && kernel_.opts.blocks != 0)
      scratch_ =
          std::make_unique<Scratch>(allocator_, static_cast<std::size_t>(scratch_bytes(kernel_)));
  }

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const auto begin = std::chrono::steady_clock::now();
    if (launch_.function != nullptr) launch(buffers, values);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string source() const override { return source_of(kernel_); }

  std::string profile() const override { return profile_json(kernel_.linear); }

 private:
  void launch(std::span<Buffer* const> buffers, const symbolic::Values& values) {
    std::vector<void*> arguments;
    bool aliased = false;
    for (const BufferSpec& spec : kernel_.linear.buffers) {
      arguments.push_back(buffers[static_cast<std::size_t>(spec.idx)]->memory());
      aliased = aliased || (arguments.size() > 1 && arguments.back() == arguments.front());
    }
    std::vector<std::int64_t> variables;
    for (const std::string& name : kernel_.linear.variables) variables.push_back(values.at(name));
    if (!aliased) return call(arguments, variables);
    // The output's memory is also an input: write to a copy, because inputs must be read unchanged
    // and elements that the kernel does not write must keep their values.
    const Scratch result(allocator_, buffers[0]->bytes());
    void* const target = std::exchange(arguments.front(), result.memory());
    engine_->copy(result.memory(), target, buffers[0]->bytes());
    call(arguments, variables);
    engine_->copy(target, result.memory(), buffers[0]->bytes());
  }

  void call(std::vector<void*>& arguments, std::span<const std::int64_t> variables) {
    cuda::Launch launch = launch_;
    launch.kernel = kernel_.linear.name;
    launch.variables = variables;
    if (scratch_) {
      arguments.push_back(scratch_->memory());
      launch.arguments = arguments;
      return engine_->launch(*program_, launch);
    }
    if (!checks_) {
      launch.arguments = arguments;
      return engine_->launch(*program_, launch);
    }
    std::vector<IndexFault> faults(
        static_cast<std::size_t>(launch.blocks * std::int64_t{launch.threads}));
    const Scratch noted(allocator_, faults.size() * sizeof(IndexFault));
    allocator_.copy_in(noted.memory(), std::as_bytes(std::span(faults)));
    arguments.push_back(noted.memory());
    launch.arguments = arguments;
    engine_->launch(*program_, launch);
    allocator_.copy_out(std::as_writable_bytes(std::span(faults)), noted.memory());
    raise_if_found(std::ranges::min(faults));
  }

  GridKernel kernel_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<KernelModule> program_;
  Allocator& allocator_;
  bool checks_;
  cuda::Launch launch_;
  std::unique_ptr<Scratch> scratch_;  // for blocks that share a row
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::string name, CudaOptions options, std::shared_ptr<Engine> engine)
      : Device(std::move(name), engine->allocator()),
        options_(std::move(options)),
        engine_(std::move(engine)) {}

 private:
  std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels) override {
    std::vector<GridKernel> made;
    std::string functions, entries;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      made.push_back(cuda::lay_out(kernels[i], options_));
      if (made.back().linear.steps.empty()) continue;
      functions += cuda::render_cuda_function(made.back(), symbol(i)) + "\n";
      if (engine_->target() == Target::Host) entries += host_entry(made.back(), symbol(i)) + "\n";
    }
    std::shared_ptr<KernelModule> program;
    if (!functions.empty())
      program =
          engine_->build(cuda::target_preamble(engine_->target(), functions) + functions + entries);
    std::vector<RunnerPtr> runners;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const bool computes = !made[i].linear.steps.empty();
      runners.push_back(std::make_shared<CudaRunner>(
          std::move(made[i]), engine_, computes ? program : nullptr, symbol(i), allocator()));
    }
    return runners;
  }

  CudaOptions options_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(std::string name, CudaOptions options) {
  auto engine = cuda::make_driver_engine(options);
  return std::make_unique<CudaDevice>(std::move(name), std::move(options), std::move(engine));
}

std::unique_ptr<Device> make_cuda_on_host(std::string name, CudaOptions options) {
  auto engine = cuda::make_host_engine(options);
  return std::make_unique<CudaDevice>(std::move(name), std::move(options), std::move(engine));
}

std::string no_cuda_reason(int device) {
  try {
    cuda::gpu_facts(device);
    return {};
  } catch (const SystemError& e) {
    return e.what();
  }
}

std::string cuda_text(int device) {
  const cuda::GpuFacts facts = cuda::gpu_facts(device);
  return fmt::format("{} ({}.{}), CUDA {}.{}", facts.name, facts.capability / 10,
                     facts.capability % 10, facts.driver_version / 1000,
                     facts.driver_version % 1000 / 10);
}

std::string cuda_source(const LazyOpPtr& kernel, const CudaOptions& options) {
  return source_of(cuda::lay_out(kernel, options));
}

std::string cuda_ptx(std::span<const LazyOpPtr> kernels, int capability,
                     const CudaOptions& options) {
  std::string functions;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (const GridKernel made = cuda::lay_out(kernels[i], options); !made.linear.steps.empty())
      functions += cuda::render_cuda_function(made, symbol(i)) + "\n";
  return cuda::compile_to_ptx(cuda::target_preamble(Target::Nvptx, functions) + functions,
                              capability, options);
}

void register_cuda_device() {
  Device::add("CUDA", [] {
    CudaOptions options = CudaOptions::from_environment();
    options.keep = true;
    return make_cuda_device("CUDA", std::move(options));
  });
}

}  // namespace touchstone
