#include "touchstone/cli/models/train_tasks.h"

#include <tuple>

#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/networks.h"

namespace touchstone::cli {
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
