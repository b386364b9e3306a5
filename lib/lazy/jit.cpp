#include "touchstone/lazy/jit.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "touchstone/device/config.h"
#include "touchstone/lazy/execution_log.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/lazy/run_custom.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone {
namespace lazy {
namespace {

thread_local CacheCollector* collecting = nullptr;

}  // namespace

CacheCollector::CacheCollector() {
  if (collecting != nullptr)
    throw Error(
        "jit: a captured function calls another one that would be captured; jit only the outer "
        "one");
  collecting = this;
}
CacheCollector::~CacheCollector() { collecting = nullptr; }
CacheCollector* CacheCollector::current() { return collecting; }

void CacheCollector::seen(const BufferPtr& buffer) {
  host_read_ = true;
  CapturedStep step;
  step.device = &buffer->device();
  step.buffers.push_back(buffer);
  step.seen.emplace(buffer->bytes());
  buffer->copy_out(*step.seen);
  add(std::move(step));
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

std::vector<TinyJit::Whole> TinyJit::wholes(std::span<const LazyBufferPtr> all) {
  std::vector<Whole> out;
  for (const LazyBufferPtr& x : all)
    out.push_back(x->several() ? Whole{x->device(), x->shape(), x->axis(), x->parts().size()}
                               : Whole{});
  return out;
}

TinyJit::Tensors TinyJit::parted(std::span<const LazyBufferPtr> all) {
  Tensors out;
  for (const LazyBufferPtr& x : all) {
    if (x->several() && x->parts().empty())
      throw Error(
          "jit: a constant on several devices, which the kernels would capture; make it "
          "contiguous() first");
    if (x->several())
      out.insert(out.end(), x->parts().begin(), x->parts().end());
    else
      out.push_back(x);
  }
  return out;
}

TinyJit::Tensors TinyJit::together(std::span<const LazyBufferPtr> parts,
                                   const std::vector<Whole>& wholes) {
  Tensors out;
  for (const Whole& whole : wholes) {
    const std::size_t n = std::max<std::size_t>(1, whole.parts);
    const auto own = parts.first(n);
    parts = parts.subspan(n);
    out.push_back(whole.parts == 0 ? own[0]
                                   : LazyBuffer::from_parts({own.begin(), own.end()}, whole.devices,
                                                            whole.shape, whole.axis));
  }
  return out;
}

TinyJit::Tensors TinyJit::operator()(std::span<const LazyBufferPtr> inputs,
                                     const symbolic::Values& values) {
  for (const LazyBufferPtr& input : inputs)
    if (input == nullptr) throw Error("jit: an input is null");
  if (std::ranges::any_of(inputs, [](const LazyBufferPtr& x) { return x->several(); }))
    realize(inputs, values);
  const Tensors parts = parted(inputs);
  std::vector<Whole> given = wholes(inputs);
  if (!steps_.empty() && given.size() == given_.size() && given != given_)
    throw Error(
        "jit: inputs are on other devices, or sharded differently, than in the captured call; use "
        "another TinyJit for them");
  if (steps_.empty()) given_ = std::move(given);
  return together(call(parts, values), made_);
}

TinyJit::Tensors TinyJit::call(std::span<const LazyBufferPtr> inputs,
                               const symbolic::Values& values) {
  if (!Config::current().jit) return run(inputs, values);
  if (steps_.empty() && lazy::CacheCollector::current() != nullptr) return run(inputs, values);
  if (!steps_.empty() && lazy::CacheCollector::current() != nullptr)
    throw Error(
        "jit: a function that is captured calls one that is replayed; jit only the outer one");
  realize(inputs, values);
  if (!steps_.empty()) {
    if (std::optional<Tensors> made = replay(inputs, values)) return *std::move(made);
    reset();
  }
  if (calls_ > 0) return capture(inputs, values);
  Tensors made = run(inputs, values);
  calls_ = 1;
  return made;
}

TinyJit::Tensors TinyJit::run(std::span<const LazyBufferPtr> inputs,
                              const symbolic::Values& values) {
  Tensors made = function_(together(inputs, given_));
  for (LazyBufferPtr& output : made) {
    if (output == nullptr) throw Error("jit: the function returned a null result");
    output = output->contiguous();
  }
  realize(made, values);
  made_ = wholes(made);
  return parted(made);
}

TinyJit::Tensors TinyJit::capture(std::span<const LazyBufferPtr> inputs,
                                  const symbolic::Values& values) {
  std::unordered_map<const Buffer*, int> place_of;
  std::vector<Place> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Buffer* const buffer = inputs[i]->realized().get();
    if (buffer == nullptr)
      throw Error(
          fmt::format("jit: input {} is a constant, which the kernels would capture; make it "
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
    throw Error(
        "jit: the function ran no kernel; its result does not depend on the inputs, or was "
        "computed elsewhere");
  const auto place = [&](const BufferPtr& buffer, From from) {
    const auto [it, fresh] = place_of.emplace(buffer.get(), static_cast<int>(places.size()));
    if (fresh) places.push_back({from, -1, buffer});
    return it->second;
  };
  std::vector<Step> steps;
  bool assigns = false;
  for (lazy::CapturedStep& from : captured) {
    assigns = assigns || from.exchanged != nullptr;
    if (from.seen && assigns)
      throw Error(
          "jit: the function assigns to memory and then reads a value on the host; a replay that "
          "meets another value could not undo the assignment: read the value first");
    if (from.kind == Op::Rand)
      throw Error(
          "jit: the function draws random numbers, which every replay would repeat; pass them as "
          "an input");
    Step& step = steps.emplace_back();
    for (std::size_t b = 0; b < from.buffers.size(); ++b)
      step.places.push_back(
          place(from.buffers[b], b == 0 && !from.seen ? From::Made : From::Fixed));
    if (from.exchanged != nullptr) step.exchanged = place(from.exchanged, From::Fixed);
    from.buffers.clear();
    from.exchanged.reset();
    if (from.kind == Op::Store && !from.seen) {
      const PreparedKernel& kernel = from.device->prepared(from.ast);
      const bool fixed = std::ranges::all_of(kernel.variables, [](const symbolic::Node& v) {
        return symbolic::variable_name(v) == kDeviceNumber;
      });
      if (fixed) {
        const FlopCounter cost = get_lazyop_info(bind_variables(from.ast, from.values));
        step.runner = kernel.runner;
        step.ops = cost.flops.as_int();
        step.mem = cost.total_mem().as_int();
      }
    }
    step.what = std::move(from);
  }
  std::vector<Output> outputs;
  for (const LazyBufferPtr& output : made) {
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
        fmt::format("jit: {} inputs given, but captured with {}", inputs.size(), inputs_.size()));
  std::unordered_map<const Buffer*, std::size_t> memory;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const LazyBuffer& given = *inputs[i];
    const Input& wanted = inputs_[i];
    if (given.dtype() != wanted.dtype || given.device() != wanted.device ||
        given.shape() != wanted.st.shape())
      throw Error(
          fmt::format("jit: input {} is {}, but was captured with {} {} on {}; use another TinyJit "
                      "for it, or a variable for a size that changes",
                      i, described(given), name(wanted.dtype),
                      str(std::span<const sint>(wanted.st.shape())), wanted.device));
    if (given.realized() == nullptr || given.st() != wanted.st ||
        given.base().shape() != wanted.base_shape)
      throw Error(fmt::format(
          "jit: input {} has a different view from the captured one; make both contiguous()", i));
    if (const auto [first, fresh] = memory.emplace(given.realized().get(), i); !fresh)
      throw Error(fmt::format("jit: input {} is the same memory as input {}; copy one of them", i,
                              first->second));
  }
  const bool same =
      values.size() == values_.size() &&
      std::ranges::all_of(values, [&](const auto& v) { return values_.contains(v.first); });
  if (!same)
    throw Error(fmt::format("jit: variables {} given, but captured with {}", names(values),
                            names(values_)));
}

std::optional<TinyJit::Tensors> TinyJit::replay(std::span<const LazyBufferPtr> inputs,
                                                const symbolic::Values& values) {
  check(inputs, values);
  // A buffer that has another owner is kept; the place gets a new one.
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
    if (step.what.kind != Op::From) settle_transfers(operands_);
    if (step.what.seen) {
      std::vector<std::byte> now(step.what.seen->size());
      operands_[0]->copy_out(now);
      if (now == *step.what.seen) continue;
      settle_all_transfers();
      if (logs) lazy::flush_log();
      return std::nullopt;
    }
    if (step.runner != nullptr) {
      seconds = step.runner->run(operands_, step.what.values);
      c.kernels += 1;
      c.ops += step.ops;
      c.mem += step.mem;
      c.seconds += seconds;
    } else if (step.what.kind == Op::Store) {
      for (const auto& [name, value] : step.what.values)
        bound.emplace(name, name == kDeviceNumber ? value : values.at(name));
      seconds = run_kernel(*step.what.device, step.what.ast, operands_, bound);
    } else if (step.what.kind == Op::From) {
      copy(*operands_[0], *operands_[1]);
    } else if (step.what.kind == Op::Custom && !step.what.device->elsewhere()) {
      lazy::run_custom(*step.what.custom, *operands_[0], std::span(operands_).subspan(1));
    }
    if (timer)
      lazy::log_run({step.what.kind, step.what.ast, bound, *step.what.device, operands_[0],
                     operands_.size(), true},
                    seconds, *timer);
    if (step.exchanged < 0) continue;
    Buffer* const place = now_[static_cast<std::size_t>(step.exchanged)];
    settle_transfers({&place, 1});
    place->exchange(*operands_[0]);
  }
  settle_all_transfers();
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
