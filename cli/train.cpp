#include "train.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "digits.h"
#include "terminal.h"
#include "touchstone/device/device.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Names = std::vector<std::string>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Where parameters and batches go.
struct Placing {
  Names devices;
  bool data = false, tensor = false;

  Tensor batch(const Tensor& x) const {
    return data ? x.shard(devices, 0) : devices.size() > 1 ? x.to(devices) : x.to(devices[0]);
  }
  void parameter(Tensor& p, std::optional<int> axis) const {
    if (tensor && axis)
      p.shard_(devices, *axis);
    else
      p.to_(Device::tuple(devices));
  }
  std::string str() const {
    if (devices.size() == 1) return "on " + devices[0];
    return fmt::format("on {}, {} in parts", fmt::join(devices, " "),
                       data ? "each batch" : "each layer");
  }
};

Placing placing_of(const TrainOptions& o) {
  Placing p{!o.devices.empty()             ? o.devices
            : !train_job().devices.empty() ? train_job().devices
                                           : Names{"CLANG"}};
  const auto n = static_cast<int>(p.devices.size());
  (void)Device::tuple(p.devices);
  for (const std::string& name : p.devices) Device::require(name);
  if (o.data_parallel > 1 && o.tensor_parallel > 1)
    throw Error(
        "train: --data-parallel and --tensor-parallel: a tensor is in parts along one axis; choose "
        "one of them");
  p.tensor = o.tensor_parallel > 1;
  p.data = !p.tensor && n > 1;
  const int wanted = p.tensor ? o.tensor_parallel : o.data_parallel > 0 ? o.data_parallel : n;
  if (wanted != n)
    throw Error(fmt::format("train: {} of {} on {} ({}); name as many with --devices",
                            p.tensor ? "--tensor-parallel" : "--data-parallel", wanted,
                            counted(n, "device"), fmt::join(p.devices, " ")));
  return p;
}

struct Batch {
  Tensor x, labels;
};

/// A network that learns, and what it learns from.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::StateDict state() const = 0;
  /// The axis along which a parameter is in parts where layers are; nullopt: whole on each.
  virtual std::optional<int> axis_of(const std::string& name) const = 0;
  virtual Tensor loss(const Batch& batch) const = 0;
  virtual Tensor logits(const Tensor& x) const = 0;
  virtual std::string_view goal() const = 0;

  /// All to learn from, in an order of the seed's; what is left over is dropped.
  std::vector<Batch> epoch(std::uint64_t seed, std::int64_t batch) const {
    Generator order(seed);
    std::vector<std::int64_t> now;
    for (const std::int64_t i : order.permutation(static_cast<std::int64_t>(train_.size())))
      now.push_back(train_[static_cast<std::size_t>(i)]);
    return batches(now, batch);
  }
  std::vector<Batch> held_out(std::int64_t batch) const { return batches(test_, batch); }
  std::int64_t held_out_size() const { return static_cast<std::int64_t>(test_.size()); }

 protected:
  virtual std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                                     std::int64_t batch) const = 0;
  std::vector<std::int64_t> train_, test_;
};

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

class DigitsTask final : public Task {
 public:
  explicit DigitsTask(const TrainOptions& o) : generator_(o.seed), net_(generator_) {
    digits_ = load_digits(o.data);
    Generator order(o.seed + 1);
    const auto all = order.permutation(static_cast<std::int64_t>(digits_.count()));
    const auto kept = static_cast<std::ptrdiff_t>(digits_.count() / 5);
    test_.assign(all.begin(), all.begin() + kept);
    train_.assign(all.begin() + kept, all.end());
  }
  nn::StateDict state() const override { return net_.state(); }
  // The second convolution gives each device some channels, of which the last layer takes them.
  std::optional<int> axis_of(const std::string& name) const override {
    if (has(name, "second")) return 0;
    if (name == "out.weight") return 1;
    return std::nullopt;
  }
  Tensor logits(const Tensor& x) const override { return net_(x); }
  Tensor loss(const Batch& b) const override { return cross_entropy(net_(b.x), b.labels); }
  std::string_view goal() const override { return "held-out digits read right"; }

 private:
  std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                             std::int64_t batch) const override {
    std::vector<Batch> all;
    for (std::size_t at = 0; at + static_cast<std::size_t>(batch) <= of.size();
         at += static_cast<std::size_t>(batch)) {
      std::vector<float> pixels;
      std::vector<std::int32_t> labels;
      for (std::size_t k = at; k < at + static_cast<std::size_t>(batch); ++k) {
        const auto first = digits_.pixels.begin() + 64 * of[k];
        for (auto p = first; p != first + 64; ++p) pixels.push_back(*p / 16);
        labels.push_back(digits_.labels[static_cast<std::size_t>(of[k])]);
      }
      all.push_back({Tensor::from(pixels, {batch, 1, 8, 8}), Tensor::from(labels, {batch})});
    }
    return all;
  }

  Generator generator_;
  models::DigitsNet net_;
  Digits digits_;
};

// Sums of two numbers below 50, "07+35=42", a character a token: the last two are to be told.
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
  // Heads of attention, and parts of what follows it.
  std::optional<int> axis_of(const std::string& name) const override {
    for (const char* part : {"query", "key", "value", "widen"})
      if (has(name, part)) return 0;
    if (has(name, "out.weight") || has(name, "narrow.weight")) return 1;
    return std::nullopt;
  }
  // Of the two last characters.
  Tensor logits(const Tensor& x) const override {
    return net_(x).narrow(1, kTokens - 2, 2).reshape({-1, 12});
  }
  Tensor loss(const Batch& b) const override {
    return cross_entropy(logits(b.x), b.labels.reshape({-1}));
  }
  std::string_view goal() const override { return "digits of held-out sums right"; }

 private:
  static constexpr std::int64_t kTokens = 7;

  std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                             std::int64_t batch) const override {
    std::vector<Batch> all;
    for (std::size_t at = 0; at + static_cast<std::size_t>(batch) <= of.size();
         at += static_cast<std::size_t>(batch)) {
      std::vector<std::int32_t> tokens, labels;
      for (std::size_t k = at; k < at + static_cast<std::size_t>(batch); ++k) {
        const auto a = static_cast<std::int32_t>(of[k] / 50),
                   b = static_cast<std::int32_t>(of[k] % 50);
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

// All of the network and of the optimizer, on CPU: every rank takes part, and one writes.
void save(const TrainOptions& o, const nn::StateDict& state, int epoch) {
  nn::StateDict here;
  for (const auto& [name, tensor] : state)
    here.push_back({name, tensor.detach().to("CPU").contiguous()});
  std::vector<Tensor> all;
  for (const nn::NamedTensor& t : here) all.push_back(t.tensor);
  realize(all);
  if (train_job().speaks)
    nn::save_state(o.checkpoint, here, {{"epochs", std::to_string(epoch)}, {"network", o.network}});
  train_job().barrier();
}

int resumed(const TrainOptions& o, const nn::StateDict& state) {
  const Metadata metadata = nn::load_metadata(o.checkpoint);
  int epochs = -1;
  std::string network;
  for (const auto& [key, value] : metadata) {
    if (key == "epochs") epochs = std::atoi(value.c_str());
    if (key == "network") network = value;
  }
  if (epochs < 0 || network != o.network)
    throw Error(fmt::format("train: '{}' is no checkpoint of {}", o.checkpoint, o.network));
  nn::load_state(o.checkpoint, state);
  return epochs;
}

// Of what is held out, in batches as large as there can be; 0 of it where there are none.
double accuracy(const Task& task, const Placing& placing, std::int64_t batch) {
  std::int64_t seen = 0, right = 0;
  const auto n = static_cast<std::int64_t>(placing.devices.size());
  const std::int64_t most = task.held_out_size() / n * n;
  if (most == 0) return 0;
  for (const Batch& b : task.held_out(std::min(batch, most))) {
    const Tensor told = task.logits(placing.batch(b.x)).detach().to("CPU").argmax(-1);
    right += (told == b.labels.reshape({-1})).cast(DType::Int32).sum().item<std::int32_t>();
    seen += b.labels.elements();
  }
  return static_cast<double>(right) / static_cast<double>(seen);
}

}  // namespace

TrainJob& train_job() {
  static TrainJob only;
  return only;
}

int run_train(const TrainOptions& o) {
  const bool digits = o.network == "digits";
  if (o.resume && o.checkpoint.empty())
    throw Error("train: --resume: from which file? name it with --checkpoint");
  if (!o.checkpoint.empty() && fs::path(o.checkpoint).extension() != ".safetensors")
    throw Error(fmt::format("train: '{}': a checkpoint is a .safetensors", o.checkpoint));
  const Placing placing = placing_of(o);
  const std::unique_ptr<Task> task = digits ? std::unique_ptr<Task>(std::make_unique<DigitsTask>(o))
                                            : std::make_unique<SumsTask>(o);
  std::vector<Tensor> parameters;
  for (auto& [name, tensor] : task->state()) {
    Tensor p = tensor;
    placing.parameter(p, task->axis_of(name));
    if (p.requires_grad()) parameters.push_back(p);
  }
  optim::Adam adam(parameters, o.lr > 0 ? o.lr : 4e-3);
  nn::StateDict state = nn::prefixed("net", task->state());
  for (nn::NamedTensor& t : nn::prefixed("optimizer", adam.state())) state.push_back(std::move(t));
  const std::int64_t batch = o.batch > 0 ? o.batch : digits ? 60 : 100;
  const int epochs = o.epochs > 0 ? o.epochs : digits ? 10 : 20;
  const int first = o.resume ? resumed(o, state) : 0;
  const bool speaks = train_job().speaks;
  if (speaks)
    fmt::print("{}, batches of {}, {}{}\n", o.network, batch, placing.str(),
               first > 0 ? fmt::format(", from epoch {} on", first + 1) : "");
  std::optional<Progress> progress;
  if (speaks) progress.emplace("training", 1);
  std::int64_t step = 0;
  TensorJit learn([&](std::span<const Tensor> in) {
    adam.zero_grad();
    const Tensor loss = task->loss({placing.batch(in[0]), placing.batch(in[1])});
    loss.backward();
    const Tensor told = loss.detach().to("CPU").contiguous();
    adam.step({told});
    return TensorJit::Tensors{told};
  });
  for (int epoch = first; epoch < epochs; ++epoch) {
    const auto start = Clock::now();
    const std::vector<Batch> all =
        task->epoch(o.seed * 1'000'003 + static_cast<std::uint64_t>(epoch), batch);
    if (all.empty())
      throw Error(fmt::format("train: no batch of {} in the data; make --batch smaller", batch));
    if (progress) progress->set_total(static_cast<std::int64_t>(all.size()) * (epochs - first));
    float last = 0;
    for (const Batch& b : all) {
      const std::vector<Tensor> in{b.x, b.labels};
      last = learn(std::span(in))[0].item<float>();
      if (progress) progress->update(++step, fmt::format("epoch {}, loss {:.3f}", epoch + 1, last));
    }
    const double seconds = seconds_since(start);
    const double share = accuracy(*task, placing, batch);
    if (!o.checkpoint.empty()) save(o, state, epoch + 1);
    if (!speaks) continue;
    progress->hide();
    fmt::print("epoch {}/{}: loss {:.4f}, {:.2f} % of {}, {}\n", epoch + 1, epochs, last,
               100 * share, task->goal(), seconds_str(seconds));
    std::fflush(stdout);
  }
  return kExitOk;
}

}  // namespace touchstone::cli
