#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

namespace lazy {

/// A step as it ran: wrote buffers[0], read the others.
struct CapturedStep {
  Op kind = Op::Store;
  Device* device = nullptr;
  LazyOpPtr ast;  // kernels only
  std::vector<BufferPtr> buffers;
  CustomFunctionPtr custom;  // CUSTOM only
  BufferPtr exchanged;       // assign(): the buffer then exchanged with buffers[0]
  symbolic::Values values;   // kernels: values of its variables
  std::optional<std::vector<std::byte>> seen;  // no step: the host read these bytes of buffers[0]
};

/// Captures the steps that this thread runs during its lifetime. Throws Error if another is active.
class CacheCollector {
 public:
  CacheCollector();
  ~CacheCollector();
  CacheCollector(const CacheCollector&) = delete;
  CacheCollector& operator=(const CacheCollector&) = delete;

  static CacheCollector* current();
  void add(CapturedStep step) { steps_.push_back(std::move(step)); }
  /// Records that the host reads a realized buffer.
  void seen(const BufferPtr& buffer);
  /// True if the host has read a buffer so far.
  bool host_read() const { return host_read_; }
  std::vector<CapturedStep> finish() { return std::move(steps_); }

 private:
  std::vector<CapturedStep> steps_;
  bool host_read_ = false;
};

}  // namespace lazy

/// A function of tensors that is built and scheduled only twice. The first call runs it, the second
/// runs and captures it, each later call runs the captured kernels on its own inputs. Side effects
/// (printing, counting, reading a file) therefore happen twice. Other buffers that the function
/// uses stay those of the second call; assignments happen in every call. Values that the host reads
/// in the function are compared at each replay: if one differs, the call becomes a first one.
///
/// Inputs must match the shapes, types, devices and views of the second call; a varying size is a
/// variable with its value in `values`. Results are new tensors each time.
class TinyJit {
 public:
  using Tensors = std::vector<LazyBufferPtr>;
  using Function = std::function<Tensors(std::span<const LazyBufferPtr> inputs)>;

  explicit TinyJit(Function function) : function_(std::move(function)) {}

  /// Returns the realized results. Throws Error if an input differs from the captured one or is
  /// given twice, if nothing was captured, if a variable is new or missing, or if the function
  /// draws random numbers, which would repeat at each replay: pass them as an input.
  Tensors operator()(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values = {});

  /// Steps per replay; 0 before the second call.
  std::size_t captured() const { return steps_.size(); }
  /// Makes the next call a first one.
  void reset();

 private:
  enum class From : std::uint8_t { Fixed, Input, Made };
  struct Place {
    From from = From::Fixed;
    int input = -1;    // From::Input
    BufferPtr buffer;  // Fixed; Made: from the last call
  };
  struct Step {
    lazy::CapturedStep what;  // its buffers are in places_
    RunnerPtr runner;         // kernels whose only variable may be the device number
    std::int64_t ops = 0, mem = 0;
    std::vector<int> places;  // of buffers
    int exchanged = -1;
  };
  struct Input {
    Shape base_shape;
    ShapeTracker st;
    DType dtype = DType::Float32;
    std::string device;
  };
  struct Output {
    int place = 0;
    Shape base, shape;
  };

  // An input or result as given; one on several devices is recorded by its parts.
  struct Whole {
    std::string devices;
    Shape shape;
    std::optional<int> axis;
    std::size_t parts = 0;  // 0: on one device
    bool operator==(const Whole&) const = default;
  };
  static std::vector<Whole> wholes(std::span<const LazyBufferPtr> all);
  static Tensors parted(std::span<const LazyBufferPtr> all);
  static Tensors together(std::span<const LazyBufferPtr> parts, const std::vector<Whole>& wholes);

  Tensors call(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values);
  Tensors run(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values);
  Tensors capture(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values);
  /// nullopt if a value that the host read differs from the captured one.
  std::optional<Tensors> replay(std::span<const LazyBufferPtr> inputs,
                                const symbolic::Values& values);
  void check(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values) const;

  Function function_;
  int calls_ = 0;
  std::vector<Input> inputs_;
  std::vector<Place> places_;
  std::vector<Step> steps_;
  std::vector<Output> outputs_;
  std::vector<Whole> given_, made_;      // inputs and results of the last call
  symbolic::Values values_;              // from the second call
  std::vector<Buffer*> now_, operands_;  // during a replay
};

}  // namespace touchstone
