#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/device/buffer.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// Totals since the program (or reset()) began.
struct GlobalCounters {
  std::int64_t kernels = 0;
  std::int64_t ops = 0;       // floating-point or integer operations, by FlopCounter
  std::int64_t mem = 0;       // bytes touched, by FlopCounter
  double seconds = 0;         // time inside kernels
  std::int64_t mem_used = 0;  // bytes now allocated; reset() leaves it
  std::int64_t mem_peak = 0;  // the most they were since
  void reset();
};
GlobalCounters& counters();

/// A kernel ready to run on one device.
class Runner {
 public:
  virtual ~Runner() = default;
  /// buffers[i] is the buffer of number i; all on this runner's device, of the dtype and at least
  /// the size that buffers_of(ast) asks for. values binds every variable of the kernel. The output
  /// may have the memory of an input, which is read as it was before.
  /// Returns the seconds it took.
  virtual double run(std::span<Buffer* const> buffers, const symbolic::Values& values) = 0;
  /// The code that runs, where there is any.
  virtual std::string source() const { return {}; }
  /// What is declared of the kernel's arithmetic: JSON of a profile (interp/oracle/profile.h);
  /// empty where nothing is.
  virtual std::string profile() const { return {}; }
};
using RunnerPtr = std::shared_ptr<Runner>;

/// A runner with what a launch has to know of its kernel, found out once. `ops` and `mem` are 0
/// where the kernel has variables: its cost then depends on their values.
struct PreparedKernel {
  RunnerPtr runner;
  std::vector<BufferSpec> buffers;
  std::vector<symbolic::Node> variables;
  std::int64_t ops = 0;
  std::int64_t mem = 0;
};

/// A place that holds buffers and runs kernels. Runners are cached by AST.
class Device {
 public:
  Device(std::string name, std::unique_ptr<Allocator> allocator);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  Allocator& allocator() const { return *allocator_; }
  /// Whether its buffers lie in memory that the host computes in, too.
  bool host_memory() const { return allocator_->is_host_memory(); }
  /// Whether it is another process's, so that nothing is computed or held here.
  virtual bool elsewhere() const { return false; }

  /// The runner of a valid kernel, made at first use. Throws AstError or SystemError.
  RunnerPtr runner(const LazyOpPtr& kernel) { return entry(kernel).kernel.runner; }
  const PreparedKernel& prepared(const LazyOpPtr& kernel);
  /// Makes the runners of many kernels at once, where that is cheaper than one by one.
  void prepare(std::span<const LazyOpPtr> kernels);
  void forget_runners() { runners_.clear(); }

  /// Upper case, ":0" dropped, of each device of a tuple; what follows "DISK:" is a path and stays
  /// as it is.
  static std::string canonical(std::string_view name);
  /// The names in that of a tuple of devices, "CPU,CPU:1"; one name of one device.
  static std::vector<std::string> names_in(std::string_view name);
  /// The name of several devices together, in this order, or of one. Throws Error where there is
  /// none, or one stands in it twice.
  static std::string tuple(std::span<const std::string> names);
  /// By canonical name. The same object each time. NAME:1, NAME:2, ... are further devices of the
  /// kind NAME; DISK:path is a file (device/disk.h). Throws Error that lists the registered names,
  /// and for a tuple.
  static Device& get(std::string_view name);
  /// Throws as get does, and makes no device. Takes a tuple of such devices.
  static void require(std::string_view name);
  /// Makes `name` known; the factory is called at the first get. Until then a later registration
  /// takes the place of an earlier one.
  static void add(const std::string& name, std::function<std::unique_ptr<Device>()> factory);
  static std::vector<std::string> names();

 private:
  virtual RunnerPtr make_runner(const LazyOpPtr& kernel) = 0;
  /// One runner a kernel, in order. The default makes them one by one.
  virtual std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels);
  std::string name_;
  std::unique_ptr<Allocator> allocator_;

  struct Entry {
    PreparedKernel kernel;
    bool complete = false;  // all but the runner is found out at the first launch
  };
  Entry& entry(const LazyOpPtr& kernel);
  std::unordered_map<LazyOpPtr, Entry, LazyOpHash, LazyOpSame> runners_;
};

/// Runs a kernel after checking buffers and values against it, and counts it. Throws BufferError
/// or AstError saying which buffer or variable is wrong, before anything runs.
double run_kernel(Device& device, const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                  const symbolic::Values& values = {});

/// Copies the elements of `source` to `target`, across devices; same dtype and size.
/// Throws BufferError.
void copy(Buffer& target, const Buffer& source);

/// Copies between processes, which may take a while to arrive. Empty functions for none, as at
/// first. Not to be set while another thread copies or runs kernels.
struct Transfer {
  /// Is asked first by copy(), of buffers that fit each other: whether it does the copy.
  bool (*copy)(Buffer& target, const Buffer& source) = nullptr;
  /// Waits until buffers[0] can be written, and the others read.
  void (*settle)(std::span<Buffer* const> buffers) = nullptr;
  /// Waits for all that is on its way.
  void (*settle_all)() = nullptr;
};
void set_transfer(const Transfer& transfer);
void settle_transfers(std::span<Buffer* const> buffers);
void settle_all_transfers();

}  // namespace touchstone
