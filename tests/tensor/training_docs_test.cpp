// The program of docs/training.md: the page shows the code compiled here.
#include <fstream>
#include <sstream>

#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/print.h"
#include "touchstone/tensor/schedules.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

// [module]
struct Net final : nn::Module {
  explicit Net(Generator& generator)
      : hidden(part("hidden", nn::Linear(2, 32, generator))),
        norm(part("norm", nn::BatchNorm(32))),
        out(part("out", nn::Linear(32, 2, generator))) {}
  Tensor operator()(const Tensor& x) const { return out(norm(hidden(x)).relu()); }

  nn::Linear hidden;
  nn::BatchNorm norm;
  nn::Linear out;
};
// [end]

// The text between markers of this file, with `indent` spaces removed from each line.
std::string marked(const std::string& name, std::size_t indent) {
  std::ifstream file(std::string(TOUCHSTONE_SOURCE_DIR) + "/tests/tensor/training_docs_test.cpp");
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with("// [end]")) inside = false;
    if (inside) out += (line.size() > indent ? line.substr(indent) : "") + '\n';
    if (line.ends_with("// [" + name + "]")) inside = true;
  }
  return out;
}

TEST(TrainingDocs, TheirProgramRuns) {
  register_devices();
  const TemporaryDirectory directory;
  const std::filesystem::path& folder = directory.path();
  // [data]
  Generator generator(7);
  const Tensor points = generator.normal({512, 2});
  const Tensor inside = (points.square().sum({1}) < 1.4).int_();
  // [end]
  // [optimizer]
  const Net net(generator);
  std::vector<Tensor> weights, others;
  for (const nn::NamedTensor& p : net.named_parameters())
    (p.tensor.rank() > 1 ? weights : others).push_back(p.tensor);
  optim::AdamW optimizer({optim::Group{weights}, optim::Group{others, 1, 0.0}}, 0.02);
  const optim::Schedule rate = optim::warmup(10, optim::cosine(0.02, 70));
  // [end]
  // [step]
  TensorJit step([&](std::span<const Tensor> batch) {
    const TrainingScope training;
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(batch[0]), batch[1]);
    loss.backward();
    optim::clip_grad_norm(net.parameters(), 1);
    optimizer.step({loss});
    return TensorJit::Tensors{loss};
  });
  // [end]
  // [loop]
  Tensor sum = Tensor::zeros({});
  for (std::int64_t i = 0; i < 80; ++i) {
    const std::int64_t begin = i % 8 * 64;
    const Tensor x = points.narrow(0, begin, 64).contiguous(),
                 y = inside.narrow(0, begin, 64).contiguous();
    optimizer.set_lr(rate(i));
    sum += step(std::vector{x, y})[0];
  }
  const float mean_loss = (sum / 80).item<float>();
  // [end]
  // [evaluate]
  const auto share_right = [&](const Net& of) {
    const NoGrad scope;
    return (of(points).argmax(1) == inside).float_().mean().item<float>();
  };
  const float right = share_right(net);
  // [end]
  // [save]
  nn::save_state(folder / "net.safetensors", net.state(), {{"steps", "80"}});
  nn::save_state(folder / "optimizer.safetensors", optimizer.state());
  // [end]
  // [load]
  const Net loaded(generator);
  nn::load_state(folder / "net.safetensors", loaded.state());
  const std::string steps = nn::load_metadata(folder / "net.safetensors").at("steps");
  // [end]
  EXPECT_LT(mean_loss, 0.5F);
  EXPECT_GT(right, 0.9F);
  EXPECT_EQ(share_right(loaded), right);
  EXPECT_EQ(steps, "80");
  EXPECT_GT(step.captured(), 0U);
  optim::AdamW other({optim::Group{weights}, optim::Group{others, 1, 0.0}}, 1);
  nn::load_state(folder / "optimizer.safetensors", other.state());
  EXPECT_EQ(other.lr(), optimizer.lr());
  const std::string page =
      read_file(std::string(TOUCHSTONE_SOURCE_DIR) + "/docs/training.md", kMostText);
  for (const auto& [name, indent] :
       std::vector<std::pair<const char*, std::size_t>>{{"module", 0},
                                                        {"data", 2},
                                                        {"optimizer", 2},
                                                        {"step", 2},
                                                        {"loop", 2},
                                                        {"evaluate", 2},
                                                        {"save", 2},
                                                        {"load", 2}})
    EXPECT_NE(page.find("```cpp\n" + marked(name, indent) + "```"), std::string::npos) << name;
}

}  // namespace
}  // namespace touchstone
