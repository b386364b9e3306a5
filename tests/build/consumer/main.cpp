#include <cstdio>

#include <touchstone/interp/interpreted.h>
#include <touchstone/tensor/tensor.h>

int main() {
  touchstone::register_interpreted_device();
  const auto x = touchstone::Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  std::printf("%g\n", x.matmul(x).sum().item<float>());
}
