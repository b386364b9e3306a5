// A two-layer net that learns exclusive or on the reference device.
#include <cstdio>

#include <touchstone/interp/device/interpreted.h>
#include <touchstone/tensor/nn.h>
#include <touchstone/tensor/optim.h>

using namespace touchstone;

int main() {
  register_interpreted_device();
  Generator generator(1);
  const nn::Linear hidden(2, 8, generator), last(8, 1, generator);
  optim::Adam adam({hidden.weight, hidden.bias, last.weight, last.bias}, 0.1);

  const Tensor x = Tensor::from<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const Tensor wanted = Tensor::from<float>({0, 1, 1, 0}, {4, 1});
  const auto net = [&] { return last(hidden(x).tanh()).sigmoid(); };
  for (int step = 0; step < 60; ++step) {
    adam.zero_grad();
    const Tensor loss = (net() - wanted).square().mean();
    loss.backward();
    adam.step({loss});
  }
  for (const float y : net().read<float>()) std::printf("%.0f ", y);
}
