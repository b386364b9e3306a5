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

/// Compiled kernels, ready to be launched.
class Program {
 public:
  virtual ~Program() = default;
  /// Something that Engine::launch takes. Throws SystemError where there is no such kernel.
  virtual void* function(const std::string& symbol) = 0;
};

/// One launch: the buffers by number and what else stands before the variables, the variables, and
/// the grid.
struct Launch {
  void* function = nullptr;
  std::span<void* const> arguments;  // those after `buffers` stand behind the variables
  std::size_t buffers = 0;
  std::span<const std::int64_t> variables;
  std::int64_t blocks = 1;
  int threads = 1;
  bool waits = false;   // its threads for one another
  int warp = 32;        // threads that may do so by themselves
  bool joined = false;  // another launch follows at once
};

/// Where grids run: a GPU, or this process. Nothing is looked for before the first call.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual Target target() const = 0;
  virtual std::unique_ptr<Allocator> allocator() = 0;
  /// Throws SystemError where it cannot be compiled, or where there is no driver.
  virtual std::shared_ptr<Program> build(const std::string& source) = 0;
  /// Returns once all of it is done, unless `joined`. Throws SystemError.
  virtual void launch(Program& program, const Launch& launch) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// The GPU of that number that libcuda.so.1 knows. Every call throws SystemError in one line that
/// says what is missing where there is none.
std::shared_ptr<Engine> make_driver_engine(const CudaOptions& options);

/// The same grids in this process, thread by thread: blocks of even numbers from the first thread
/// on, the others from the last one. Kernels are compiled for the host by clang.
std::shared_ptr<Engine> make_host_engine(const CudaOptions& options);

}  // namespace touchstone::cuda
