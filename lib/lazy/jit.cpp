#include "touchstone/lazy/jit.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "touchstone/device/config.h"
#include "touchstone/lazy/execution_log.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/lazy/run_custom.h"

namespace touchstone {
namespace lazy {
namespace {

thread_local CacheCollector* collecting = nullptr;

}  // namespace

CacheCollector::CacheCollector() {
  if (collecting != nullptr)
    throw Error(
        "jit: a captured function calls another that would be captured; jit the outer only");
  collecting = this;
}
CacheCollector::~CacheCollector() { collecting = nullptr; }
CacheCollector* CacheCollector::current() { return collecting; }

void require_one_device(const LazyBuffer& x) {
  if (x.several())
    throw Error(fmt::format(
        "jit: a tensor is on several devices ({}), which a jit does not note; call the function "
        "without one",
        x.device()));
}

}  // namespace lazy

namespace {

std::string described(const LazyBuffer& b) {
  return fmt::format("{} {} on {}", name(b.dtype()), str(std::span<const sint>(b.shape())),
                     b.device());
}

std::string names(const symbolic::Values& values) {
  std::vector<std::string> all;
  for (const auto& [name, value] : values) all.push_back(name);
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

void TinyJit::reset() {
  calls_ = 0;
  inputs_.clear();
  places_.clear();
  steps_.clear();
  outputs_.clear();
  values_.clear();
}

TinyJit::Tensors TinyJit::operator()(std::span<const LazyBufferPtr> inputs,
                                     const symbolic::Values& values) {
  if (!Config::current().jit) return run(inputs, values);
  for (const LazyBufferPtr& input : inputs)
    if (input == nullptr) throw Error("jit: an input is null");
  if (steps_.empty() && lazy::CacheCollector::current() != nullptr) return run(inputs, values);
  if (!steps_.empty() && lazy::CacheCollector::current() != nullptr)
    throw Error("jit: a function that is captured calls one that is replayed; jit the outer only");
  realize(inputs, values);
  if (calls_ == 0) {
    Tensors made = run(inputs, values);
    calls_ = 1;
    return made;
  }
  return steps_.empty() ? capture(inputs, values) : replay(inputs, values);
}

TinyJit::Tensors TinyJit::run(std::span<const LazyBufferPtr> inputs,
                              const symbolic::Values& values) {
  Tensors made = function_(inputs);
  for (LazyBufferPtr& output : made) {
    if (output == nullptr) throw Error("jit: the function gave a result that is null");
    output = output->contiguous();
  }
  realize(made, values);
  return made;
}

TinyJit::Tensors TinyJit::capture(std::span<const LazyBufferPtr> inputs,
                                  const symbolic::Values& values) {
  std::unordered_map<const Buffer*, int> place_of;
  std::vector<Place> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    lazy::require_one_device(*inputs[i]);
    const Buffer* const buffer = inputs[i]->realized().get();
    if (buffer == nullptr)
      throw Error(
          fmt::format("jit: input {} is a constant, which the kernels would keep; make it "
                      "contiguous() first",
                      i));
    if (!place_of.emplace(buffer, static_cast<int>(i)).second)
      throw Error(fmt::format("jit: input {} is the same memory as input {}; copy one of them", i,
                              place_of[buffer]));
    places.push_back({From::Input, static_cast<int>(i), nullptr});
  }
  Tensors made;
  std::vector<lazy::CapturedStep> captured;
  {
    lazy::CacheCollector collector;
    made = run(inputs, values);
    captured = collector.finish();
  }
  if (captured.empty())
    throw Error("jit: the function ran no kernel; it depends on nothing, or computed elsewhere");
  const auto place = [&](const BufferPtr& buffer, From from) {
    const auto [it, fresh] = place_of.emplace(buffer.get(), static_cast<int>(places.size()));
    if (fresh) places.push_back({from, -1, buffer});
    return it->second;
  };
  std::vector<Step> steps;
  for (lazy::CapturedStep& from : captured) {
    if (from.kind == Op::Rand)
      throw Error(
          "jit: the function draws random numbers, which every replay would repeat; pass "
          "them as an input");
    Step& step = steps.emplace_back();
    for (std::size_t b = 0; b < from.buffers.size(); ++b)
      step.places.push_back(place(from.buffers[b], b == 0 ? From::Made : From::Fixed));
    if (from.exchanged != nullptr) step.exchanged = place(from.exchanged, From::Fixed);
    from.buffers.clear();
    from.exchanged.reset();
    if (from.kind == Op::Store) {
      const PreparedKernel& kernel = from.device->prepared(from.ast);
      if (kernel.variables.empty()) {
        step.runner = kernel.runner;
        step.ops = kernel.ops;
        step.mem = kernel.mem;
      }
    }
    step.what = std::move(from);
  }
  std::vector<Output> outputs;
  for (const LazyBufferPtr& output : made) {
    lazy::require_one_device(*output);
    if (output->realized() == nullptr)
      throw Error("jit: a result has no elements; leave it out of the function");
    outputs.push_back(
        {place(output->realized(), From::Fixed), output->base().shape(), output->shape()});
  }
  for (const LazyBufferPtr& input : inputs)
    inputs_.push_back({input->base().shape(), input->st(), input->dtype(), input->device()});
  places_ = std::move(places);
  steps_ = std::move(steps);
  outputs_ = std::move(outputs);
  values_ = values;
  now_.resize(places_.size());
  return made;
}

void TinyJit::check(std::span<const LazyBufferPtr> inputs, const symbolic::Values& values) const {
  if (inputs.size() != inputs_.size())
    throw Error(
        fmt::format("jit: {} inputs given, captured with {}", inputs.size(), inputs_.size()));
  std::unordered_map<const Buffer*, std::size_t> memory;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const LazyBuffer& given = *inputs[i];
    const Input& wanted = inputs_[i];
    if (given.dtype() != wanted.dtype || given.device() != wanted.device ||
        given.shape() != wanted.st.shape())
      throw Error(fmt::format(
          "jit: input {} is {}, captured with {} {} on {}; use another TinyJit for it, or a "
          "variable for a size that changes",
          i, described(given), name(wanted.dtype), str(std::span<const sint>(wanted.st.shape())),
          wanted.device));
    if (given.realized() == nullptr || given.st() != wanted.st ||
        given.base().shape() != wanted.base_shape)
      throw Error(
          fmt::format("jit: input {} is seen through another view than the captured one; "
                      "make both contiguous()",
                      i));
    if (const auto [first, fresh] = memory.emplace(given.realized().get(), i); !fresh)
      throw Error(fmt::format("jit: input {} is the same memory as input {}; copy one of them", i,
                              first->second));
  }
  const bool same =
      values.size() == values_.size() &&
      std::ranges::all_of(values, [&](const auto& v) { return values_.contains(v.first); });
  if (!same)
    throw Error(
        fmt::format("jit: variables {} given, captured with {}", names(values), names(values_)));
}

TinyJit::Tensors TinyJit::replay(std::span<const LazyBufferPtr> inputs,
                                 const symbolic::Values& values) {
  check(inputs, values);
  // Memory that somebody still holds is kept; the place gets another.
  for (Place& place : places_) {
    if (place.from == From::Made && place.buffer.use_count() > 1) {
      const Buffer& old = *place.buffer;
      place.buffer = std::make_shared<Buffer>(old.device(), old.dtype(), old.size());
    }
  }
  for (std::size_t p = 0; p < places_.size(); ++p)
    now_[p] = places_[p].from == From::Input
                  ? inputs[static_cast<std::size_t>(places_[p].input)]->realized().get()
                  : places_[p].buffer.get();
  GlobalCounters& c = counters();
  const bool logs = lazy::logs_runs();
  for (const Step& step : steps_) {
    operands_.clear();
    for (const int p : step.places) operands_.push_back(now_[static_cast<std::size_t>(p)]);
    std::optional<lazy::ExecutionTimer> timer;
    if (logs) timer.emplace();
    symbolic::Values bound;
    double seconds = 0;
    if (step.runner != nullptr) {
      seconds = step.runner->run(operands_, {});
      c.kernels += 1;
      c.ops += step.ops;
      c.mem += step.mem;
      c.seconds += seconds;
    } else if (step.what.kind == Op::Store) {
      for (const auto& [name, value] : step.what.values) bound.emplace(name, values.at(name));
      seconds = run_kernel(*step.what.device, step.what.ast, operands_, bound);
    } else if (step.what.kind == Op::From) {
      copy(*operands_[0], *operands_[1]);
    } else if (step.what.kind == Op::Custom) {
      lazy::run_custom(*step.what.custom, *operands_[0], std::span(operands_).subspan(1));
    }
    if (timer)
      lazy::log_run({step.what.kind, step.what.ast, bound, *step.what.device, operands_[0],
                     operands_.size(), true},
                    seconds, *timer);
    if (step.exchanged >= 0)
      now_[static_cast<std::size_t>(step.exchanged)]->exchange(*operands_[0]);
  }
  if (logs) lazy::flush_log();
  Tensors made;
  for (const Output& output : outputs_) {
    const Place& place = places_[static_cast<std::size_t>(output.place)];
    made.push_back(
        LazyBuffer::from_buffer(place.from == From::Input
                                    ? inputs[static_cast<std::size_t>(place.input)]->realized()
                                    : place.buffer,
                                output.base)
            ->reshape(output.shape));
  }
  return made;
}

}  // namespace touchstone
