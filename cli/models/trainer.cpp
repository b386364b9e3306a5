#include "touchstone/cli/models/trainer.h"

#include <algorithm>
#include <tuple>

#include "touchstone/cli/program/terminal.h"
#include "touchstone/device/device.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/networks.h"

namespace touchstone::cli {
namespace {

// The number of groups, and of devices in each.
struct Mesh {
  int data = 1, tensor = 1;
};

Mesh mesh_of(const TrainOptions& o, const std::vector<std::string>& devices) {
  const auto n = static_cast<int>(devices.size());
  const int tensor = std::max(1, o.tensor_parallel);
  const int data = o.data_parallel > 0 ? o.data_parallel : std::max(1, n / tensor);
  if (data * tensor != n)
    throw Error(
        fmt::format("train: --data-parallel {} and --tensor-parallel {} need {}, not {} ({}); name "
                    "as many with --devices",
                    data, tensor, counted(data * tensor, "device"), n, fmt::join(devices, " ")));
  return {data, tensor};
}

}  // namespace

Trainer::Trainer(const TrainOptions& o, std::vector<std::string> devices)
    : devices_(std::move(devices)) {
  (void)Device::tuple(devices_);
  for (const std::string& name : devices_) Device::require(name);
  const Mesh mesh = mesh_of(o, devices_);
  batches_in_parts_ = mesh.tensor == 1 && mesh.data > 1;
  const std::size_t each =
      batches_in_parts_ ? devices_.size() : static_cast<std::size_t>(mesh.tensor);
  for (std::size_t at = 0; at < devices_.size(); at += each) {
    Group& group = groups_.emplace_back();
    const auto first = devices_.begin() + static_cast<std::ptrdiff_t>(at);
    group.devices.assign(first, first + static_cast<std::ptrdiff_t>(each));
    group.task = make_task(o);
    for (auto& [name, tensor] : group.task->state()) {
      Tensor p = tensor;
      const std::optional<int> axis = group.task->axis_of(name);
      if (mesh.tensor > 1 && axis)
        p.shard_(group.devices, *axis);
      else
        p.to_(Device::tuple(group.devices));
      if (p.requires_grad()) group.parameters.push_back(p);
    }
    group.adam = std::make_unique<optim::Adam>(group.parameters, o.lr > 0 ? o.lr : 4e-3);
  }
}

Tensor Trainer::placed(const Tensor& x, const Group& group) const {
  if (batches_in_parts_) return x.shard(group.devices, 0);
  return group.devices.size() > 1 ? x.to(group.devices) : x.to(group.devices[0]);
}

Tensor Trainer::batch_of(const Tensor& x, std::size_t group) const {
  const std::int64_t size = x.shape()[0].as_int(), n = static_cast<std::int64_t>(groups_.size());
  if (size % n != 0)
    throw Error(
        fmt::format("train: a batch of {} does not divide into {} shards; choose another "
                    "--batch",
                    size, n));
  const Tensor part =
      n == 1 ? x : x.narrow(0, static_cast<std::int64_t>(group) * size / n, size / n);
  return placed(part, groups_[group]);
}

// Every group gets the mean of all gradients, added in group order: parameters stay equal.
void Trainer::add_up_gradients() {
  const std::size_t count = groups_[0].parameters.size();
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Tensor> own;
    for (const Group& group : groups_)
      if (const auto gradient = group.parameters[k].grad()) own.push_back(gradient->detach());
    if (own.size() != groups_.size()) continue;
    for (Group& group : groups_) {
      Tensor& p = group.parameters[k];
      std::optional<Tensor> sum;
      for (const Tensor& gradient : own) {
        const Tensor here = gradient.shard_like(p);
        sum = sum ? *sum + here : here;
      }
      p.set_grad(*sum / static_cast<double>(groups_.size()));
    }
  }
}

Tensor Trainer::step(const Tensor& x, const Tensor& labels) {
  std::optional<Tensor> total;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g].adam->zero_grad();
    const Tensor loss = groups_[g].task->loss({batch_of(x, g), batch_of(labels, g)});
    loss.backward();
    const Tensor told = loss.detach().to("CPU");
    total = total ? *total + told : told;
  }
  if (groups_.size() > 1) add_up_gradients();
  const Tensor mean = groups_.size() > 1 ? *total / static_cast<double>(groups_.size()) : *total;
  const Tensor told = mean.contiguous();
  for (const Group& group : groups_) group.adam->step({told});
  return told;
}

double Trainer::accuracy(std::int64_t batch) const {
  const Group& group = groups_[0];
  std::int64_t seen = 0, right = 0;
  const auto n = static_cast<std::int64_t>(group.devices.size());
  const std::int64_t most = group.task->held_out_size() / n * n;
  if (most == 0) return 0;
  for (const Batch& b : group.task->held_out(std::min(batch, most))) {
    const Tensor told = group.task->logits(placed(b.x, group)).detach().to("CPU").argmax(-1);
    right += (told == b.labels.reshape({-1})).cast(DType::Int32).sum().item<std::int32_t>();
    seen += b.labels.elements();
  }
  return static_cast<double>(right) / static_cast<double>(seen);
}

nn::StateDict Trainer::state_of(const Group& group) {
  nn::StateDict state = nn::prefixed("net", group.task->state());
  for (nn::NamedTensor& t : nn::prefixed("optimizer", group.adam->state()))
    state.push_back(std::move(t));
  return state;
}

void Trainer::load(const std::string& file) {
  for (const Group& group : groups_) nn::load_state(file, state_of(group));
}

std::string Trainer::str() const {
  if (devices_.size() == 1) return "on " + devices_[0];
  const bool layers = groups_[0].devices.size() > 1 && !batches_in_parts_;
  return fmt::format("on {}, {}{}{} in parts", fmt::join(devices_, " "),
                     groups_.size() > 1 || batches_in_parts_ ? "each batch" : "",
                     groups_.size() > 1 && layers ? " and " : "", layers ? "each layer" : "");
}

namespace {

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

class DigitsTask final : public Task {
 public:
  explicit DigitsTask(const TrainOptions& o) : generator_(o.seed), net_(generator_) {
    digits_ = load_digits(o.data);
    Generator order(o.seed + 1);
    std::tie(train_, test_) = split(digits_, order);
  }
  nn::StateDict state() const override { return net_.state(); }
  // The second convolution is sharded by output channels, the last layer by input channels.
  std::optional<int> axis_of(const std::string& name) const override {
    if (has(name, "second")) return 0;
    if (name == "out.weight") return 1;
    return std::nullopt;
  }
  Tensor logits(const Tensor& x) const override { return net_(x); }
  Tensor loss(const Batch& b) const override { return cross_entropy(net_(b.x), b.labels); }
  std::string_view goal() const override { return "held-out digits classified correctly"; }

 private:
  std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                             std::int64_t batch) const override {
    std::vector<Batch> all;
    for (const Indices& which : whole_batches(of, batch)) all.push_back(batch_of(digits_, which));
    return all;
  }

  Generator generator_;
  models::DigitsNet net_;
  Digits digits_;
};

// Sums of two numbers below 50, "07+35=42", one token per character: the last two are predicted.
class SumsTask final : public Task {
 public:
  explicit SumsTask(const TrainOptions& o)
      : generator_(o.seed),
        net_({.vocabulary = 12, .context = kTokens, .width = 32, .heads = 4, .layers = 2},
             generator_) {
    Generator order(o.seed + 1);
    for (const std::int64_t i : order.permutation(2500))
      (test_.size() < 500 ? test_ : train_).push_back(i);
  }
  nn::StateDict state() const override { return net_.state(); }
  // Attention is sharded by heads, and the following layers accordingly.
  std::optional<int> axis_of(const std::string& name) const override {
    for (const char* part : {"query", "key", "value", "widen"})
      if (has(name, part)) return 0;
    if (has(name, "out.weight") || has(name, "narrow.weight")) return 1;
    return std::nullopt;
  }
  // For the last two characters.
  Tensor logits(const Tensor& x) const override {
    return net_(x).narrow(1, kTokens - 2, 2).reshape({-1, 12});
  }
  Tensor loss(const Batch& b) const override {
    return cross_entropy(logits(b.x), b.labels.reshape({-1}));
  }
  std::string_view goal() const override { return "digits of held-out sums predicted correctly"; }

 private:
  static constexpr std::int64_t kTokens = 7;

  std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                             std::int64_t batch) const override {
    std::vector<Batch> all;
    for (const Indices& which : whole_batches(of, batch)) {
      std::vector<std::int32_t> tokens, labels;
      for (const std::int64_t i : which) {
        const auto a = static_cast<std::int32_t>(i / 50), b = static_cast<std::int32_t>(i % 50);
        const std::int32_t sum = a + b;
        for (const std::int32_t t : {a / 10, a % 10, 10, b / 10, b % 10, 11, sum / 10})
          tokens.push_back(t);
        labels.insert(labels.end(), {sum / 10, sum % 10});
      }
      all.push_back({Tensor::from(tokens, {batch, kTokens}), Tensor::from(labels, {batch, 2})});
    }
    return all;
  }

  Generator generator_;
  models::Gpt net_;
};

}  // namespace

std::vector<Batch> Task::epoch(std::uint64_t seed, std::int64_t batch) const {
  Generator order(seed);
  std::vector<std::int64_t> now;
  for (const std::int64_t i : order.permutation(static_cast<std::int64_t>(train_.size())))
    now.push_back(train_[static_cast<std::size_t>(i)]);
  return batches(now, batch);
}

std::unique_ptr<Task> make_task(const TrainOptions& o) {
  if (o.network == "digits") return std::make_unique<DigitsTask>(o);
  return std::make_unique<SumsTask>(o);
}

}  // namespace touchstone::cli
