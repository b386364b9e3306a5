#include "touchstone/tensor/optim.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "touchstone/tensor/function.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone::optim {
namespace {

thread_local std::vector<std::weak_ptr<TensorNode>> moved_state;

}  // namespace

void realize_at_next_step(const Tensor& state) {
  constexpr std::size_t kMost = 4096;  // states registered without a step
  std::erase_if(moved_state, [&](const auto& known) {
    const auto node = known.lock();
    return node == nullptr || node == state.node();
  });
  if (moved_state.size() < kMost) moved_state.push_back(state.node());
}

Optimizer::Optimizer(const Parameters& parameters, double lr) {
  std::unordered_set<const TensorNode*> seen;
  for (const Group& group : parameters.groups())
    for (const Tensor& p : group.parameters) {
      if (!p.requires_grad())
        throw Error(
            fmt::format("optimizer: parameter {} of shape {} requires no gradient; call "
                        "set_requires_grad() on it",
                        parameters_.size(), str(p.shape())));
      if (!seen.insert(p.node().get()).second)
        throw Error(
            fmt::format("optimizer: parameter {} of shape {} is given twice and would be updated "
                        "twice; remove one",
                        parameters_.size(), str(p.shape())));
      parameters_.push_back(p);
      scales_.push_back(group.lr_scale);
      decays_.push_back(group.weight_decay);
      if (std::ranges::find(rates_, p.device(), &Rate::device) == rates_.end())
        rates_.push_back({p.device(), Tensor::from<double>({lr}, {1}, p.device())});
    }
}

double Optimizer::lr() const { return rates_.empty() ? 0 : rates_[0].lr.read<double>()[0]; }
void Optimizer::set_lr(double lr) {
  if (StateLog::current() != nullptr)
    throw Error(
        "set_lr: a function captured by a TensorJit sets a learning rate, which would be the same "
        "at each replay; set it outside, before the call");
  for (Rate& rate : rates_) rate.lr.assign(Tensor::from<double>({lr}, {1}, rate.device));
}

Tensor Optimizer::rate_of(std::size_t parameter) const {
  const Tensor lr =
      std::ranges::find(rates_, parameters_[parameter].device(), &Rate::device)->lr.detach();
  return scales_[parameter] == 1 ? lr : lr * scales_[parameter];
}
Tensor Optimizer::beside(std::size_t parameter, const Tensor& number) const {
  const Tensor& p = parameters_[parameter];
  return number.cast(p.dtype()).reshape(Shape(p.shape().size(), 1));
}
bool Optimizer::has_weight_decays() const {
  return std::ranges::any_of(decays_, [](const auto& decay) { return decay.has_value(); });
}

namespace {

std::string numbered(std::string_view name, std::size_t i) { return fmt::format("{}.{}", name, i); }

void append_numbered(nn::StateDict& state, std::string_view name, const std::vector<Tensor>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) state.push_back({numbered(name, i), all[i]});
}

}  // namespace

nn::StateDict Optimizer::state() const {
  nn::StateDict all;
  for (std::size_t i = 0; i < rates_.size(); ++i) all.push_back({numbered("lr", i), rates_[i].lr});
  return all;
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
      u.value = u.value.shard_like(u.target).contiguous();
      wanted.push_back(u.value);
      all.push_back(std::move(u));
    }
  realize(wanted);
  for (Update& u : all) u.target.assign(u.value);
}

std::vector<Tensor> Optimizer::zeros_like_parameters() const {
  std::vector<Tensor> zeros;
  for (const Tensor& p : parameters_)
    zeros.push_back(Tensor::zeros_like(p).shard_like(p).detach().contiguous());
  return zeros;
}

namespace {

Tensor gradient_of(const char* who, const Tensor& p) {
  const std::optional<Tensor> gradient = p.grad();
  if (!gradient)
    throw Error(fmt::format("{}: a parameter of shape {} has no gradient; call backward() before",
                            who, str(p.shape())));
  return *gradient;
}

}  // namespace

Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double most) {
  const OriginScope origin("clip_grad_norm");
  if (!(most > 0))
    throw Error(fmt::format("clip_grad_norm: a norm of {}; expected a number above 0", most));
  std::vector<Tensor> gradients;
  std::optional<Tensor> squares;
  for (const Tensor& p : parameters) {
    gradients.push_back(gradient_of("clip_grad_norm", p));
    const Tensor& g = gradients.back();
    const Tensor wide = itemsize(g.dtype()) < 4 ? g.cast(DType::Float32) : g;
    const Tensor here = wide.square().sum();
    squares = squares ? *squares + here.to(squares->device()) : here;
  }
  if (!squares) return Tensor::zeros({});
  const Tensor norm = squares->sqrt().contiguous();
  const Tensor scale = minimum(most / (norm + 1e-6), 1);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Tensor p = parameters[i];
    p.set_grad(gradients[i] * scale.to(p.device()).cast(p.dtype()));
  }
  return norm;
}

void clip_grad_value(const std::vector<Tensor>& parameters, double most) {
  const OriginScope origin("clip_grad_value");
  if (!(most > 0))
    throw Error(fmt::format("clip_grad_value: values up to {}; expected a number above 0", most));
  for (Tensor p : parameters) p.set_grad(gradient_of("clip_grad_value", p).clamp(-most, most));
}

SGD::SGD(const Parameters& parameters, double lr, double momentum, double weight_decay,
         Nesterov nesterov)
    : Optimizer(parameters, lr),
      momentum_(momentum),
      weight_decay_(weight_decay),
      nesterov_(nesterov) {
  if (nesterov_ == Nesterov::Yes && momentum_ == 0)
    throw Error("SGD: Nesterov's momentum of 0; give a momentum above 0");
  if (momentum_ != 0) velocity_ = zeros_like_parameters();
}

nn::StateDict SGD::state() const {
  nn::StateDict all = Optimizer::state();
  append_numbered(all, "velocity", velocity_);
  return all;
}

std::vector<Optimizer::Update> SGD::updates(std::size_t parameter, const Tensor& value,
                                            const Tensor& gradient) {
  const Tensor& target = parameters()[parameter];
  const Tensor lr = beside(parameter, rate_of(parameter));
  const double decay = weight_decay_of(parameter, weight_decay_);
  const Tensor decayed = decay == 0 ? gradient : gradient + value * decay;
  if (momentum_ == 0) return {{target, value - decayed * lr}};
  const Tensor moving = (velocity_[parameter].detach() * momentum_ + decayed).contiguous();
  const Tensor step = nesterov_ == Nesterov::Yes ? decayed + moving * momentum_ : moving;
  return {{velocity_[parameter], moving}, {target, value - step * lr}};
}

Adam::Adam(const Parameters& parameters, double lr, double beta1, double beta2, double eps)
    : Adam(parameters, lr, beta1, beta2, eps, std::nullopt) {}

Adam::Adam(const Parameters& parameters, double lr, double beta1, double beta2, double eps,
           std::optional<double> weight_decay)
    : Optimizer(parameters, lr),
      weight_decay_(weight_decay.value_or(0)),
      beta1_(beta1),
      beta2_(beta2),
      eps_(eps),
      first_(zeros_like_parameters()),
      second_(zeros_like_parameters()) {
  if (!weight_decay && has_weight_decays())
    throw Error("Adam: a group with weight decay, which Adam does not support; use AdamW");
  for (const Tensor& p : this->parameters())
    if (std::ranges::find(powers_, p.device(), &Powers::device) == powers_.end())
      powers_.push_back({p.device(), Tensor::from<double>({1}, {1}, p.device()),
                         Tensor::from<double>({1}, {1}, p.device())});
}

nn::StateDict Adam::state() const {
  nn::StateDict all = Optimizer::state();
  for (std::size_t i = 0; i < powers_.size(); ++i) {
    all.push_back({numbered("beta1_power", i), powers_[i].first});
    all.push_back({numbered("beta2_power", i), powers_[i].second});
  }
  append_numbered(all, "first", first_);
  append_numbered(all, "second", second_);
  return all;
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
  all.push_back({parameters()[parameter], moved(parameter, value, direction)});
  return all;
}

Tensor Adam::moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const {
  return value - direction * beside(parameter, rate_of(parameter));
}

AdamW::AdamW(const Parameters& parameters, double lr, double weight_decay, double beta1,
             double beta2, double eps)
    : Adam(parameters, lr, beta1, beta2, eps, weight_decay) {}
Tensor AdamW::moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const {
  const Tensor lr = rate_of(parameter);
  const Tensor kept = 1 - lr * weight_decay_of(parameter, weight_decay_);
  return value * beside(parameter, kept) - direction * beside(parameter, lr);
}

LAMB::LAMB(const Parameters& parameters, double lr, double weight_decay, double beta1, double beta2,
           double eps)
    : Adam(parameters, lr, beta1, beta2, eps, weight_decay) {}
Tensor LAMB::moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const {
  const Tensor step = direction + value * weight_decay_of(parameter, weight_decay_);
  const Tensor size = value.square().sum().sqrt(), length = step.square().sum().sqrt();
  const Tensor one = Tensor::ones_like(size);
  const Tensor ratio = Tensor::where(size > 0, Tensor::where(length > 0, size / length, one), one);
  return value - step * (ratio * beside(parameter, rate_of(parameter)));
}

}  // namespace touchstone::optim
