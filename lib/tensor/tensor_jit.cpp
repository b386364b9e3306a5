#include "touchstone/tensor/tensor_jit.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "touchstone/tensor/function.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {
namespace {

TensorJit::Tensors tensors_of(std::span<const LazyBufferPtr> all) {
  TensorJit::Tensors tensors;
  for (const LazyBufferPtr& values : all) tensors.emplace_back(values);
  return tensors;
}

// The values as a base whose buffer is not in `taken`.
LazyBufferPtr apart(const LazyBufferPtr& values, std::unordered_set<const Buffer*>& taken) {
  const LazyBufferPtr whole = values->contiguous();
  realize(std::span(&whole, 1));
  if (whole->several()) {
    std::vector<LazyBufferPtr> parts;
    for (const LazyBufferPtr& part : whole->parts()) parts.push_back(apart(part, taken));
    return LazyBuffer::from_parts(std::move(parts), whole->device(), whole->shape(), whole->axis());
  }
  const BufferPtr& memory = whole->realized();
  if (taken.insert(memory.get()).second)
    return whole->is_base() ? whole : LazyBuffer::from_buffer(memory, whole->shape());
  const auto other = std::make_shared<Buffer>(memory->device(), memory->dtype(), memory->size());
  copy(*other, *memory);
  return LazyBuffer::from_buffer(other, whole->shape());
}

bool is_empty(const TensorNode& node) {
  return std::ranges::find(node.data->shape(), sint(0)) != node.data->shape().end();
}

}  // namespace

bool is_known(const TensorNode& node) {
  return std::ranges::all_of(node.data->shape(), [](const sint& n) { return n.is_int(); });
}

// Inputs in order: the arguments, the tensors that the function assigns to (results too), the
// tensors that it reads. Values without memory at capture, such as constants, are part of the
// kernels: if one changes, everything is captured again.
struct TensorJit::Captured {
  using Function = std::function<Tensors(std::span<const Tensor>)>;
  explicit Captured(Function given)
      : function(std::move(given)),
        jit([this](std::span<const LazyBufferPtr> all) { return run(all); }) {}

  TinyJit::Tensors run(std::span<const LazyBufferPtr> all) {
    StateLog log;
    if (!draws.empty()) log.play(played);
    const Tensors made = function(tensors_of(all.first(inputs)));
    if (others_note && outermost && !log.all_assigned().empty())
      throw Error(
          "assign: a function captured by a TinyJit assigns to a tensor, which a replay would not "
          "repeat; capture it with a TensorJit");
    std::vector<std::shared_ptr<TensorNode>> assigned;
    for (const auto& node : log.all_assigned())
      if (!is_empty(*node)) assigned.push_back(node);
    const bool capturing = lazy::CacheCollector::current() != nullptr && !others_note;
    if (!capturing && jit.captured() == 0)
      states = assigned;
    else if (capturing)
      for (const auto& node : assigned)
        if (std::ranges::find(states, node) == states.end())
          throw Error(
              fmt::format("jit: the function assigns to a tensor of shape {} in its second call, "
                          "but not in its first; it must assign to the same tensors in every call",
                          str(node->data->shape())));
    if (!capturing && !others_note && jit.captured() == 0) {
      reads = read_only(log);
      if (draws.empty()) draws = log.all_draws();
    }
    if (capturing)
      for (const auto& node : log.all_read())
        if (!is_input(node)) parts.emplace_back(node, node->data);
    results = made.size();
    TinyJit::Tensors values;
    for (const Tensor& t : made) values.push_back(t.lazy());
    for (const auto& node : states) values.push_back(node->data);
    return values;
  }

  bool is_input(const std::shared_ptr<TensorNode>& node) const {
    return std::ranges::find(states, node) != states.end() ||
           std::ranges::find(reads, node) != reads.end();
  }

  // Tensors read but not assigned to that have elements and are in memory or to be computed.
  std::vector<std::shared_ptr<TensorNode>> read_only(const StateLog& log) const {
    std::vector<std::shared_ptr<TensorNode>> all;
    for (const auto& node : log.all_read())
      if (std::ranges::find(states, node) == states.end() && !is_empty(*node) && is_known(*node) &&
          !node->data->is_const_base())
        all.push_back(node);
    return all;
  }

  // Repeats the function's draws in the order of its first call.
  void draw_again(TinyJit::Tensors& all) {
    played.clear();
    for (const StateLog::Draw& d : draws) {
      LazyBufferPtr values = d.again().lazy();
      if (std::ranges::find(values->shape(), sint(0)) == values->shape().end()) {
        values = values->contiguous();
        realize(std::span(&values, 1));
        all.push_back(values);
      }
      played.emplace_back(d.what, std::move(values));
    }
  }

  void reset() {
    jit.reset();
    draws.clear();
    states.clear();
    reads.clear();
    parts.clear();
  }

  Tensors call(std::span<const Tensor> given, const symbolic::Values& values) {
    if (std::ranges::any_of(parts, [](const auto& p) { return p.first->data != p.second; }))
      reset();
    TinyJit::Tensors all;
    std::unordered_set<const Buffer*> taken;
    for (const Tensor& t : given) {
      LazyBufferPtr input = t.lazy();
      if (input->is_const_base())
        input = input->contiguous();  // gives the replay memory to replace
      all.push_back(std::move(input));
    }
    if (!states.empty() || !reads.empty()) realize(std::span<const LazyBufferPtr>(all), values);
    for (const LazyBufferPtr& input : all) {
      for (const LazyBufferPtr& part : input->parts()) taken.insert(part->realized().get());
      if (!input->several()) taken.insert(input->realized().get());
    }
    for (const auto* of : {&states, &reads})
      for (const auto& node : *of) all.push_back(node->data = apart(node->data, taken));
    draw_again(all);
    inputs = given.size();
    others_note = lazy::CacheCollector::current() != nullptr;
    outermost = StateLog::current() == nullptr;
    const TinyJit::Tensors made = jit(all, values);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i]->data = made[results + i];
      states[i]->given = false;
      if (StateLog* const outer = StateLog::current()) outer->assigned(states[i]);
    }
    return tensors_of(std::span(made).first(results));
  }

  Function function;
  TinyJit jit;
  std::vector<std::shared_ptr<TensorNode>> states, reads;  // of the first call
  std::vector<std::pair<std::shared_ptr<TensorNode>, LazyBufferPtr>> parts;
  std::vector<StateLog::Draw> draws;
  StateLog::Played played;  // of this call
  std::size_t inputs = 0, results = 0;
  bool others_note = false;  // an outer jit captures this call
  bool outermost = true;     // and is not a TensorJit
};

TensorJit::TensorJit(std::function<Tensors(std::span<const Tensor>)> function)
    : captured_(std::make_unique<Captured>(std::move(function))) {}

TensorJit::TensorJit(std::function<Tensor(const Tensor&)> function)
    : captured_(std::make_unique<Captured>([run = std::move(function)](
                                               std::span<const Tensor> inputs) {
        if (inputs.size() != 1)
          throw Error(fmt::format("jit: {} inputs given, but the function takes 1", inputs.size()));
        return Tensors{run(inputs[0])};
      })) {}

TensorJit::~TensorJit() = default;
TensorJit::TensorJit(TensorJit&&) noexcept = default;
TensorJit& TensorJit::operator=(TensorJit&&) noexcept = default;

std::size_t TensorJit::captured() const { return captured_->jit.captured(); }

void TensorJit::reset() { captured_->reset(); }

TensorJit::Tensors TensorJit::operator()(std::span<const Tensor> inputs,
                                         const symbolic::Values& values) {
  return captured_->call(inputs, values);
}

Tensor TensorJit::operator()(const Tensor& input, const symbolic::Values& values) {
  Tensors made = (*this)(std::span(&input, 1), values);
  if (made.size() != 1)
    throw Error(fmt::format("jit: the function returns {} results; call it with a list of inputs",
                            made.size()));
  return std::move(made[0]);
}

}  // namespace touchstone
