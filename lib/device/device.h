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

/// Totals since the program's start or the last reset().
struct GlobalCounters {
  std::int64_t kernels = 0;
  std::int64_t ops = 0;       // arithmetic operations, by FlopCounter
  std::int64_t mem = 0;       // bytes touched, by FlopCounter
  double seconds = 0;         // time inside kernels
  std::int64_t mem_used = 0;  // bytes allocated now; not changed by reset()
  std::int64_t mem_peak = 0;  // maximum of mem_used since then
  void reset();
};
GlobalCounters& counters();

/// A compiled kernel for one device.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs the kernel and returns the seconds it took. buffers[i] is buffer i, on this device, with
  /// the dtype and at least the size from buffers_of(ast). `values` binds every variable. The
  /// output may share memory with an input; the input is then read before it is overwritten.
  virtual double run(std::span<Buffer* const> buffers, const symbolic::Values& values) = 0;
  /// The generated code; empty if none.
  virtual std::string source() const { return {}; }
  /// The kernel's declared arithmetic: JSON of a profile (interp/oracle/profile.h); empty if
  /// undeclared.
  virtual std::string profile() const { return {}; }
};
using RunnerPtr = std::shared_ptr<Runner>;

/// A runner with the launch data of its kernel, computed once. `ops` and `mem` are 0 if the kernel
/// has variables, whose values determine its cost.
struct PreparedKernel {
  RunnerPtr runner;
  std::vector<BufferSpec> buffers;
  std::vector<symbolic::Node> variables;
  std::int64_t ops = 0;
  std::int64_t mem = 0;
};

/// Owns buffers and runs kernels. Caches runners by AST.
class Device {
 public:
  Device(std::string name, std::unique_ptr<Allocator> allocator);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  Allocator& allocator() const { return *allocator_; }
  /// True if the host can access its buffers directly.
  bool host_memory() const { return allocator_->is_host_memory(); }
  /// True if it belongs to another process and nothing is computed or stored here.
  virtual bool elsewhere() const { return false; }

  /// Returns the runner of a valid kernel, made at first use. Throws AstError or SystemError.
  RunnerPtr runner(const LazyOpPtr& kernel) { return entry(kernel).kernel.runner; }
  const PreparedKernel& prepared(const LazyOpPtr& kernel);
  /// Makes the runners of many kernels at once if that is cheaper than one by one.
  void prepare(std::span<const LazyOpPtr> kernels);
  void forget_runners() {
    runners_.clear();
    kept_ = 0;
  }

  /// Upper case, without ":0", for each device of a tuple; the path after "DISK:" is unchanged.
  static std::string canonical(std::string_view name);
  /// Splits the name of a tuple of devices such as "CPU,CPU:1"; a single device gives one name.
  static std::vector<std::string> names_in(std::string_view name);
  /// Joins names, in this order, into the name of a tuple, or returns a single name. Throws Error
  /// for none or a repeated one.
  static std::string tuple(std::span<const std::string> names);
  /// Returns a device by canonical name, always the same object. NAME:1, NAME:2, ... are further
  /// devices of kind NAME; DISK:path is a file (device/disk.h). Throws Error that lists the
  /// registered names, also for a tuple.
  static Device& get(std::string_view name);
  /// Throws as get does, without making a device. Accepts a tuple.
  static void require(std::string_view name);
  /// Registers `name`; the factory is called at the first get. Until then a later registration
  /// replaces it.
  static void add(const std::string& name, std::function<std::unique_ptr<Device>()> factory);
  static std::vector<std::string> names();

 private:
  /// A device overrides one of these two; by default each calls the other.
  virtual RunnerPtr make_runner(const LazyOpPtr& kernel);
  /// Makes one runner per kernel, in order.
  virtual std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels);
  std::string name_;
  std::unique_ptr<Allocator> allocator_;

  struct Entry {
    PreparedKernel kernel;
    bool complete = false;  // the first launch fills in all but the runner
  };
  Entry& entry(const LazyOpPtr& kernel);
  std::unordered_map<LazyOpPtr, Entry, LazyOpHash, LazyOpSame> runners_;
  std::size_t kept_ = 0;  // when kernels were last dropped
};

/// Checks buffers and values against the kernel, runs it and counts it. Throws BufferError or
/// AstError naming the wrong buffer or variable before anything runs.
double run_kernel(Device& device, const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                  const symbolic::Values& values = {});

/// Copies the elements of `source` to `target` across devices; same dtype and size. Throws
/// BufferError.
void copy(Buffer& target, const Buffer& source);

/// Functions for asynchronous copies between processes; null by default. Do not set while another
/// thread copies or runs kernels.
struct Transfer {
  /// Called first by copy() with matching buffers; returns whether it made the copy.
  bool (*copy)(Buffer& target, const Buffer& source) = nullptr;
  /// Waits until buffers[0] can be written and the others read.
  void (*settle)(std::span<Buffer* const> buffers) = nullptr;
  /// Waits for all copies in progress.
  void (*settle_all)() = nullptr;
};
void set_transfer(const Transfer& transfer);
void settle_transfers(std::span<Buffer* const> buffers);
void settle_all_transfers();

}  // namespace touchstone
