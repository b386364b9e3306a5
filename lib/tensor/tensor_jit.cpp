#include "touchstone/tensor/tensor_jit.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "touchstone/tensor/function.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {

// What changes the meaning of a function besides its tensors.
struct TensorJit::Modes {
  bool trains, notes_gradients;
  DType dtype;
  static Modes now() { return {is_training(), gradients_are_noted(), default_dtype()}; }
  auto operator<=>(const Modes&) const = default;
};

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

namespace {

constexpr const char* kEarlierGradient =
    "jit: the function adds to an earlier gradient, of shape {}, which a replay would not repeat; "
    "call zero_grad() in the function";

}  // namespace

// For one set of modes. Inputs in order: the arguments, the tensors that the function assigns to,
// the tensors that it reads. Results: its own, the assigned tensors, the arguments that it changed,
// the gradients. Values without memory at capture, such as constants, are part of the kernels: if
// one changes, everything is captured again.
struct TensorJit::Capture {
  using Function = std::function<Tensors(std::span<const Tensor>)>;
  explicit Capture(const Function& given)
      : function(given), jit([this](std::span<const LazyBufferPtr> all) { return run(all); }) {}

  TinyJit::Tensors run(std::span<const LazyBufferPtr> all) {
    const auto* const collector = others_note ? nullptr : lazy::CacheCollector::current();
    const bool capturing = collector != nullptr;
    if (!capturing && outermost) {
      StateLog::take_back(played);
      played.clear();
      draws.clear();
    }
    const std::uint64_t before = TensorNode::last_number();
    const Modes modes = Modes::now();
    StateLog log;
    if (!draws.empty()) log.play(played, first_call);
    Tensors given = tensors_of(all.first(inputs));
    for (std::size_t i = 0; i < inputs; ++i) given[i].set_requires_grad(differentiable[i]);
    const Tensors made = function(given);
    log.end_play();
    if (modes != Modes::now())
      throw Error(
          "jit: the function leaves another mode (training, no_grad or the default dtype), which a "
          "replay would not repeat; set modes in scopes, or before the call");
    if (others_note && outermost && !(log.all_assigned().empty() && log.all_gradients().empty()))
      throw Error(
          "assign: a function captured by a TinyJit assigns to a tensor, which a replay would not "
          "repeat; capture it with a TensorJit");
    std::vector<std::shared_ptr<TensorNode>> assigned;
    for (const auto& node : log.all_assigned())
      if (!is_empty(*node)) assigned.push_back(node);
    again = capturing && (log.draws_differ() || !log.all_draws().empty());
    if (capturing)
      for (const auto& node : assigned)
        if (std::ranges::find(states, node) == states.end()) {
          if (node->number <= first_call && !collector->host_read())
            throw Error(fmt::format(
                "jit: the function assigns to a tensor of shape {} in its second call, but not in "
                "its first; it must assign to the same tensors in every call",
                str(node->data->shape())));
          again = true;
        }
    if (again || (!capturing && jit.captured() == 0)) states = assigned;
    if (!capturing && !others_note && jit.captured() == 0) {
      first_call = before;
      reads = read_only(log);
      if (draws.empty()) draws = log.all_draws();
      parts.clear();
    }
    if (capturing)
      for (const auto& node : log.all_read())
        if (!is_input(node)) parts.emplace_back(node, node->data);
    results = made.size();
    TinyJit::Tensors values;
    for (const Tensor& t : made) values.push_back(t.lazy());
    for (const auto& node : states) values.push_back(node->data);
    changed.clear();
    gradients.clear();
    for (std::size_t i = 0; i < inputs; ++i)
      if (const LazyBufferPtr& now = given[i].node()->data;
          now != all[i] && !is_empty(*given[i].node())) {
        changed.push_back(i);
        values.push_back(now);
      }
    const auto add_gradient = [&](const TensorNode& of, Gradient to) {
      if (is_empty(of)) return;
      to.present = of.gradient != nullptr;
      if (to.present) values.push_back(of.gradient);
      gradients.push_back(std::move(to));
    };
    for (const StateLog::Gradient& g : log.all_gradients())
      add_gradient(*g.node, {g.node, 0, g.set});
    for (std::size_t i = 0; i < inputs; ++i)
      if (given[i].node()->gradient != nullptr) add_gradient(*given[i].node(), {nullptr, i, false});
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
    for (StateLog::Draw d : draws) {
      if (d.from->generator != nullptr) d.position = d.from->generator->position();
      LazyBufferPtr values = d.again().lazy();
      if (std::ranges::find(values->shape(), sint(0)) == values->shape().end()) {
        values = values->contiguous();
        realize(std::span(&values, 1));
        all.push_back(values);
      }
      played.emplace_back(std::move(d), std::move(values));
    }
  }

  void reset() {
    jit.reset();
    again = false;
    draws.clear();
    played.clear();
    states.clear();
    reads.clear();
    parts.clear();
  }

  Tensors call(std::span<const Tensor> given, const symbolic::Values& values) {
    if (jit.captured() > 0 && given.size() != inputs)
      throw Error(fmt::format("jit: {} inputs given, but captured with {}", given.size(), inputs));
    std::vector<bool> wanted;
    for (const Tensor& t : given) wanted.push_back(t.requires_grad());
    if (wanted != std::exchange(differentiable, wanted) ||
        std::ranges::any_of(parts, [](const auto& p) { return p.first->data != p.second; }))
      reset();
    if (jit.captured() > 0)
      for (const Gradient& g : gradients)
        if (const TensorNode& node = *(g.node ? g.node : given[g.input].node());
            !g.set && node.gradient != nullptr)
          throw Error(fmt::format(kEarlierGradient, str(node.data->shape())));
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
    std::size_t next = results;
    const auto assign = [&](const std::shared_ptr<TensorNode>& node) {
      node->data = made[next++];
      node->given = false;
      if (StateLog* const outer = StateLog::current()) outer->assigned(node);
    };
    for (const auto& node : states) assign(node);
    for (const std::size_t i : changed) {
      if (given[i].requires_grad())
        throw Error(
            fmt::format("jit: the function changes input {} in place, which requires a gradient; "
                        "change a copy, or detach() it",
                        i));
      assign(given[i].node());
    }
    for (const Gradient& g : gradients) set_gradient(g, given, g.present ? made[next++] : nullptr);
    if (again) reset();
    return tensors_of(std::span(made).first(results));
  }

  // The gradient after a call of the function, at a tensor or at an input.
  struct Gradient {
    std::shared_ptr<TensorNode> node;
    std::size_t input = 0;
    bool set = false;      // as in StateLog
    bool present = false;  // false: the function cleared it
  };

  static void set_gradient(const Gradient& g, std::span<const Tensor> given,
                           const LazyBufferPtr& value) {
    const std::shared_ptr<TensorNode>& node = g.node ? g.node : given[g.input].node();
    if (g.node == nullptr) {
      if (node->function != nullptr)
        throw Error(fmt::format(
            "jit: the function computes a gradient at input {}, which was computed from "
            "others; detach() it, or call backward() outside",
            g.input));
      if (node->gradient != nullptr)
        throw Error(fmt::format(kEarlierGradient, str(node->data->shape())));
    }
    node->gradient = value;
    if (StateLog* const outer = StateLog::current()) outer->changed_gradient(node, g.set);
  }

  const Function& function;
  TinyJit jit;
  std::vector<std::shared_ptr<TensorNode>> states, reads;  // of the first call
  std::vector<std::pair<std::shared_ptr<TensorNode>, LazyBufferPtr>> parts;
  std::vector<std::size_t> changed;  // inputs
  std::vector<Gradient> gradients;
  std::vector<bool> differentiable;  // inputs
  std::vector<StateLog::Draw> draws;
  StateLog::Played played;  // of this call
  std::size_t inputs = 0, results = 0;
  std::uint64_t first_call = 0;  // the last node before it
  bool others_note = false;      // an outer jit captures this call
  bool outermost = true;         // and is not a TensorJit
  bool again = false;            // this capture cannot be replayed: the next call is a first one
};

struct TensorJit::Captures {
  Capture& now() { return all.try_emplace(Modes::now(), function).first->second; }

  Capture::Function function;
  std::map<Modes, Capture> all;
  int running = 0;  // calls that have not returned
};

TensorJit::TensorJit(std::function<Tensors(std::span<const Tensor>)> function)
    : captures_(new Captures{std::move(function), {}, 0}) {}

TensorJit::TensorJit(std::function<Tensor(const Tensor&)> function)
    : TensorJit([run = std::move(function)](std::span<const Tensor> inputs) {
        if (inputs.size() != 1)
          throw Error(fmt::format("jit: {} inputs given, but the function takes 1", inputs.size()));
        return Tensors{run(inputs[0])};
      }) {}

TensorJit::~TensorJit() = default;
TensorJit::TensorJit(TensorJit&&) noexcept = default;
TensorJit& TensorJit::operator=(TensorJit&&) noexcept = default;

std::size_t TensorJit::captured() const {
  const auto found = captures_->all.find(Modes::now());
  return found == captures_->all.end() ? 0 : found->second.jit.captured();
}

void TensorJit::reset() {
  if (captures_->running != 0)
    throw Error("jit: reset() during a call of the function; call it before or after");
  captures_->all.clear();
}

TensorJit::Tensors TensorJit::operator()(std::span<const Tensor> inputs,
                                         const symbolic::Values& values) {
  struct Running {
    int& count;
    explicit Running(int& of) : count(of) { ++count; }
    ~Running() { --count; }
  } const running(captures_->running);
  return captures_->now().call(inputs, values);
}

Tensor TensorJit::operator()(const Tensor& input, const symbolic::Values& values) {
  Tensors made = (*this)(std::span(&input, 1), values);
  if (made.size() != 1)
    throw Error(fmt::format("jit: the function returns {} results; call it with a list of inputs",
                            made.size()));
  return std::move(made[0]);
}

}  // namespace touchstone
