#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

namespace lazy {

/// One step as it ran: buffers[0] was made, the others were read.
struct CapturedStep {
  Op kind = Op::Store;
  Device* device = nullptr;
  LazyOpPtr ast;  // kernels only
  std::vector<BufferPtr> buffers;
  CustomFunctionPtr custom;  // CUSTOM only
  BufferPtr exchanged;       // assign(): what buffers[0] was exchanged with afterwards
  symbolic::Values values;   // kernels: of its variables
};

/// While it lives, what this thread runs is noted. Throws Error where one lives already.
class CacheCollector {
 public:
  CacheCollector();
  ~CacheCollector();
  CacheCollector(const CacheCollector&) = delete;
  CacheCollector& operator=(const CacheCollector&) = delete;

  static CacheCollector* current();
  void add(CapturedStep step) { steps_.push_back(std::move(step)); }
  std::vector<CapturedStep> finish() { return std::move(steps_); }

 private:
  std::vector<CapturedStep> steps_;
};

}  // namespace lazy

/// A function of tensors that is built and scheduled only twice. The first call runs it, the second
/// runs it and notes its kernels, each later call runs these kernels on its own inputs. So what the
/// function does beside computing (print, count, read a file) happens twice, and buffers that it
/// uses beside its inputs stay those of the second call; what it assigns is assigned each time.
///
/// Inputs of a call have the shapes, types, devices and views of those of the second; a size that
/// changes is a variable, with its value in `values`. Results are new tensors each time.
class TinyJit {
 public:
  using Tensors = std::vector<LazyBufferPtr>;
  using Function = std::function<Tensors(std::span<const LazyBufferPtr> inputs)>;

  explicit TinyJit(Function function) : function_(std::move(function)) {}

  /// The realized results. Throws Error that says which input differs from the captured one, that
  /// one is given twice, that nothing was captured, that a variable is new or missing, or that the
  /// function draws random numbers, which would be the same at each replay: pass them as an input.
  Tensors operator()(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values = {});

  /// Steps of a replay; 0 before the second call.
  std::size_t captured() const { return steps_.size(); }
  /// The next call is a first one.
  void reset();

 private:
  enum class From : std::uint8_t { Fixed, Input, Made };
  struct Place {
    From from = From::Fixed;
    int input = -1;    // From::Input
    BufferPtr buffer;  // otherwise; Made: of the last call
  };
  struct Step {
    lazy::CapturedStep what;  // its buffers are in places_
    RunnerPtr runner;         // kernels without variables but the device's number
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

  // An input or a result as it is given; what is on several devices is noted by its parts.
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
  Tensors replay(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values);
  void check(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values) const;

  Function function_;
  int calls_ = 0;
  std::vector<Input> inputs_;
  std::vector<Place> places_;
  std::vector<Step> steps_;
  std::vector<Output> outputs_;
  std::vector<Whole> given_, made_;      // inputs and results of the last call
  symbolic::Values values_;              // of the second call
  std::vector<Buffer*> now_, operands_;  // of a replay
};

}  // namespace touchstone
