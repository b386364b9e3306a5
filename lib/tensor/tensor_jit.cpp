#include "touchstone/tensor/tensor_jit.h"

#include <utility>

namespace touchstone {
namespace {

TinyJit::Tensors lazy_of(std::span<const Tensor> tensors) {
  TinyJit::Tensors all;
  for (const Tensor& t : tensors) all.push_back(t.lazy());
  return all;
}

TensorJit::Tensors tensors_of(std::span<const LazyBufferPtr> all) {
  TensorJit::Tensors tensors;
  for (const LazyBufferPtr& values : all) tensors.emplace_back(values);
  return tensors;
}

}  // namespace

TensorJit::TensorJit(std::function<Tensors(std::span<const Tensor>)> function)
    : jit_([run = std::move(function)](std::span<const LazyBufferPtr> inputs) {
        return lazy_of(run(tensors_of(inputs)));
      }) {}

TensorJit::TensorJit(std::function<Tensor(const Tensor&)> function)
    : jit_([run = std::move(function)](std::span<const LazyBufferPtr> inputs) {
        if (inputs.size() != 1)
          throw Error(fmt::format("jit: {} inputs given, the function takes 1", inputs.size()));
        return TinyJit::Tensors{run(Tensor(inputs[0])).lazy()};
      }) {}

TensorJit::Tensors TensorJit::operator()(std::span<const Tensor> inputs,
                                         const symbolic::Values& values) {
  TinyJit::Tensors given = lazy_of(inputs);
  for (LazyBufferPtr& input : given)
    if (input->is_const_base()) input = input->contiguous();  // memory, which a replay can replace
  return tensors_of(jit_(given, values));
}

Tensor TensorJit::operator()(const Tensor& input, const symbolic::Values& values) {
  Tensors made = (*this)(std::span(&input, 1), values);
  if (made.size() != 1)
    throw Error(fmt::format("jit: the function gives {} results; call it with a list of inputs",
                            made.size()));
  return std::move(made[0]);
}

}  // namespace touchstone
