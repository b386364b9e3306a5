#include "touchstone/cli/models/train.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "touchstone/cli/models/trainer.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Saves network and optimizer on CPU: every rank takes part, one writes.
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

int resumed(const TrainOptions& o, Trainer& trainer) {
  const Metadata metadata = nn::load_metadata(o.checkpoint);
  int epochs = -1;
  std::string network;
  for (const auto& [key, value] : metadata) {
    if (key == "epochs") epochs = std::atoi(value.c_str());
    if (key == "network") network = value;
  }
  if (epochs < 0 || network != o.network)
    throw Error(fmt::format("train: '{}' is not a checkpoint of {}", o.checkpoint, o.network));
  trainer.load(o.checkpoint);
  return epochs;
}

}  // namespace

TrainJob& train_job() {
  static TrainJob only;
  return only;
}

std::int64_t batch_of(const TrainOptions& o) {
  return o.batch > 0 ? o.batch : o.network == "digits" ? 60 : 100;
}

int run_train(const TrainOptions& o) {
  const bool digits = o.network == "digits";
  if (o.simulate > 0) return run_simulated_training(o);
  if (o.resume && o.checkpoint.empty()) throw Error("train: --resume needs --checkpoint FILE");
  if (!o.checkpoint.empty() && fs::path(o.checkpoint).extension() != ".safetensors")
    throw Error(fmt::format("train: '{}': a checkpoint must be a .safetensors", o.checkpoint));
  Trainer trainer(o, !o.devices.empty()             ? o.devices
                     : !train_job().devices.empty() ? train_job().devices
                                                    : std::vector<std::string>{"CLANG"});
  const std::int64_t batch = batch_of(o);
  const int epochs = o.epochs > 0 ? o.epochs : digits ? 10 : 20;
  const int first = o.resume ? resumed(o, trainer) : 0;
  const bool speaks = train_job().speaks;
  if (speaks)
    fmt::print("{}, batches of {}, {}{}\n", o.network, batch, trainer.str(),
               first > 0 ? fmt::format(", from epoch {} on", first + 1) : "");
  std::optional<Progress> progress;
  if (speaks) progress.emplace("training", 1);
  std::int64_t step = 0;
  TensorJit learn(
      [&](std::span<const Tensor> in) { return TensorJit::Tensors{trainer.step(in[0], in[1])}; });
  for (int epoch = first; epoch < epochs; ++epoch) {
    const auto start = Clock::now();
    const std::vector<Batch> all =
        trainer.task().epoch(o.seed * 1'000'003 + static_cast<std::uint64_t>(epoch), batch);
    if (all.empty())
      throw Error(
          fmt::format("train: the data has no full batch of {}; use a smaller --batch", batch));
    if (progress) progress->set_total(static_cast<std::int64_t>(all.size()) * (epochs - first));
    float last = 0;
    for (const Batch& b : all) {
      const std::vector<Tensor> in{b.x, b.labels};
      last = learn(std::span(in))[0].item<float>();
      if (progress) progress->update(++step, fmt::format("epoch {}, loss {:.3f}", epoch + 1, last));
    }
    const double seconds = seconds_since(start);
    const double share = trainer.accuracy(batch);
    if (!o.checkpoint.empty()) save(o, trainer.state(), epoch + 1);
    if (!speaks) continue;
    progress->hide();
    fmt::print("epoch {}/{}: loss {:.4f}, {:.2f} % of {}, {}\n", epoch + 1, epochs, last,
               100 * share, trainer.task().goal(), seconds_str(seconds));
    std::fflush(stdout);
  }
  return kExitOk;
}

}  // namespace touchstone::cli
