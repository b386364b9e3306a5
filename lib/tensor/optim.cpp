#include "touchstone/tensor/optim.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "touchstone/tensor/function.h"

namespace touchstone::optim {
namespace {

thread_local std::vector<std::weak_ptr<TensorNode>> moved_state;

}  // namespace

void realize_at_next_step(const Tensor& state) {
  constexpr std::size_t kMost = 4096;  // without a step
  std::erase_if(moved_state, [&](const auto& known) {
    const auto node = known.lock();
    return node == nullptr || node == state.node();
  });
  if (moved_state.size() < kMost) moved_state.push_back(state.node());
}

Optimizer::Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!parameters_[i].requires_grad())
      throw Error(
          fmt::format("optimizer: parameter {} of shape {} requires no gradient; call "
                      "set_requires_grad() on it",
                      i, str(parameters_[i].shape())));
}

void Optimizer::zero_grad() {
  for (Tensor& p : parameters_) p.zero_grad();
}

void Optimizer::step(const std::vector<Tensor>& also) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!parameters_[i].grad())
      throw Error(
          fmt::format("optimizer: parameter {} of shape {} has no gradient; call "
                      "backward() on a loss that depends on it before step()",
                      i, str(parameters_[i].shape())));
  const OriginScope origin("optimizer step");
  before_step();
  std::vector<Update> all;
  std::vector<Tensor> wanted = also;
  for (std::weak_ptr<TensorNode>& node : std::exchange(moved_state, {}))
    if (auto there = node.lock()) wanted.emplace_back(std::move(there));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (Update& u : updates(i, parameters_[i].detach(), *parameters_[i].grad())) {
      u.value = u.value.contiguous();
      wanted.push_back(u.value);
      all.push_back(std::move(u));
    }
  realize(wanted);
  for (Update& u : all) u.target.assign(u.value);
}

std::vector<Tensor> Optimizer::zeros_like_parameters() const {
  std::vector<Tensor> zeros;
  for (const Tensor& p : parameters_)
    zeros.push_back(Tensor::zeros(p.shape(), {p.dtype(), p.device()}).contiguous());
  return zeros;
}

SGD::SGD(std::vector<Tensor> parameters, double lr, double momentum, double weight_decay,
         Nesterov nesterov)
    : Optimizer(std::move(parameters)),
      lr_(lr),
      momentum_(momentum),
      weight_decay_(weight_decay),
      nesterov_(nesterov) {
  if (nesterov_ == Nesterov::Yes && momentum_ == 0)
    throw Error("SGD: Nesterov's momentum of 0; give a momentum above 0");
  if (momentum_ != 0) velocity_ = zeros_like_parameters();
}

std::vector<Optimizer::Update> SGD::updates(std::size_t parameter, const Tensor& value,
                                            const Tensor& gradient) {
  const Tensor& target = parameters()[parameter];
  const Tensor decayed = weight_decay_ == 0 ? gradient : gradient + value * weight_decay_;
  if (momentum_ == 0) return {{target, value - decayed * lr_}};
  const Tensor moving = (velocity_[parameter].detach() * momentum_ + decayed).contiguous();
  const Tensor step = nesterov_ == Nesterov::Yes ? decayed + moving * momentum_ : moving;
  return {{velocity_[parameter], moving}, {target, value - step * lr_}};
}

Adam::Adam(std::vector<Tensor> parameters, double lr, double beta1, double beta2, double eps)
    : Optimizer(std::move(parameters)),
      lr_(lr),
      beta1_(beta1),
      beta2_(beta2),
      eps_(eps),
      first_(zeros_like_parameters()),
      second_(zeros_like_parameters()) {
  for (const Tensor& p : this->parameters())
    if (std::ranges::find(powers_, p.device(), &Powers::device) == powers_.end())
      powers_.push_back({p.device(), Tensor::from<double>({1}, {1}, p.device()),
                         Tensor::from<double>({1}, {1}, p.device())});
}

void Adam::before_step() {
  now_.clear();
  corrections_.clear();
}

const Adam::Correction& Adam::correction(const Tensor& like, std::vector<Update>& all) {
  for (const Correction& known : corrections_)
    if (known.dtype == like.dtype() && known.device == like.device()) return known;
  const auto on_device = [&](const Powers& p) { return p.device == like.device(); };
  auto now = std::ranges::find_if(now_, on_device);
  if (now == now_.end()) {
    const Powers& last = *std::ranges::find_if(powers_, on_device);
    now = now_.insert(now, {last.device, (last.first.detach() * beta1_).contiguous(),
                            (last.second.detach() * beta2_).contiguous()});
    all.push_back({last.first, now->first});
    all.push_back({last.second, now->second});
  }
  return corrections_.emplace_back(Correction{like.dtype(), like.device(),
                                              (1 - now->first).cast(like.dtype()),
                                              (1 - now->second).cast(like.dtype())});
}

std::vector<Optimizer::Update> Adam::updates(std::size_t parameter, const Tensor& value,
                                             const Tensor& gradient) {
  std::vector<Update> all;
  const Correction by = correction(value, all);
  const Shape ones(value.shape().size(), 1);
  const Tensor first = (first_[parameter].detach() * beta1_ + gradient * (1 - beta1_)).contiguous();
  const Tensor second =
      (second_[parameter].detach() * beta2_ + gradient.square() * (1 - beta2_)).contiguous();
  const Tensor direction =
      first / by.first.reshape(ones) / ((second / by.second.reshape(ones)).sqrt() + eps_);
  all.push_back({first_[parameter], first});
  all.push_back({second_[parameter], second});
  all.push_back({parameters()[parameter], moved(value, direction)});
  return all;
}

Tensor Adam::moved(const Tensor& value, const Tensor& direction) const {
  return value - direction * lr_;
}

AdamW::AdamW(std::vector<Tensor> parameters, double lr, double weight_decay, double beta1,
             double beta2, double eps)
    : Adam(std::move(parameters), lr, beta1, beta2, eps), weight_decay_(weight_decay) {}
Tensor AdamW::moved(const Tensor& value, const Tensor& direction) const {
  return value * (1 - lr() * weight_decay_) - direction * lr();
}

LAMB::LAMB(std::vector<Tensor> parameters, double lr, double weight_decay, double beta1,
           double beta2, double eps)
    : Adam(std::move(parameters), lr, beta1, beta2, eps), weight_decay_(weight_decay) {}
Tensor LAMB::moved(const Tensor& value, const Tensor& direction) const {
  const Tensor step = direction + value * weight_decay_;
  const Tensor size = value.square().sum().sqrt(), length = step.square().sum().sqrt();
  const Tensor one = Tensor::ones_like(size);
  const Tensor ratio = Tensor::where(size > 0, Tensor::where(length > 0, size / length, one), one);
  return value - step * (ratio * lr());
}

}  // namespace touchstone::optim
