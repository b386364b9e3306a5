#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/cuda/cuda_options.h"
#include "touchstone/cuda/render_cuda.h"
#include "touchstone/device/buffer.h"

namespace touchstone::cuda {

/// Compiled kernels, ready to launch.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  /// Returns a handle for Engine::launch. Throws SystemError if there is no such kernel.
  virtual void* function(const std::string& symbol) = 0;
};

/// One launch: buffers by number and other arguments before the variables, the variables, and the
/// grid.
struct Launch {
  std::string_view kernel = {};  // its name, for errors
  void* function = nullptr;
  std::span<void* const> arguments;  // those beyond `buffers` follow the variables
  std::size_t buffers = 0;
  std::span<const std::int64_t> variables;
  std::int64_t blocks = 1;
  int threads = 1;
  bool waits = false;  // threads wait for each other
  int warp = 32;       // threads that can synchronize as a warp
};

/// Runs grids on a GPU or in this process. Initialized by the first call.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual Target target() const = 0;
  virtual std::unique_ptr<Allocator> allocator() = 0;
  /// Throws SystemError if compilation fails or there is no driver.
  virtual std::shared_ptr<KernelModule> build(const std::string& source) = 0;
  /// Returns when everything is done. Throws SystemError that names the kernel: DeviceLost
  /// (base/device_lost.h) if nothing more can be launched.
  virtual void launch(KernelModule& program, const Launch& launch) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Makes an engine for that GPU number of libcuda.so.1. Without one, every call throws a one-line
/// SystemError that states what is missing.
std::shared_ptr<Engine> make_driver_engine(const CudaOptions& options);

/// Makes an engine that runs the grids in this process thread by thread: even blocks from the first
/// thread on, odd ones from the last. Compiles kernels for the host with clang.
std::shared_ptr<Engine> make_host_engine(const CudaOptions& options);

}  // namespace touchstone::cuda
