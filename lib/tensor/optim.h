#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/tensor/state.h"

/// Optimizers. A step computes everything, including the gradients, in one schedule and assigns the
/// new parameters. Values that change between steps are data, never kernel constants, so every step
/// runs the same kernels.
namespace touchstone::optim {

/// Registers a state that a layer updated, such as statistics: this thread's next optimizer step
/// realizes it too, so that its graph does not grow without bound.
void realize_at_next_step(const Tensor& state);

/// Parameters with their own settings: a multiple of the optimizer's learning rate, and a weight
/// decay that replaces the optimizer's.
struct Group {
  std::vector<Tensor> parameters;
  double lr_scale = 1;
  std::optional<double> weight_decay = std::nullopt;
};
/// A list of tensors or of groups.
class Parameters {
 public:
  Parameters() = default;
  Parameters(std::vector<Tensor> tensors) : groups_{{std::move(tensors)}} {}  // NOLINT
  Parameters(std::initializer_list<Tensor> tensors) : groups_{{tensors}} {}   // NOLINT
  Parameters(std::vector<Group> groups) : groups_(std::move(groups)) {}       // NOLINT
  Parameters(std::initializer_list<Group> groups) : groups_(groups) {}        // NOLINT
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::vector<Group> groups_;
};

class Optimizer {
 public:
  /// Parameters must be leaves that require a gradient, each listed once; throws Error otherwise.
  Optimizer(const Parameters& parameters, double lr);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void zero_grad();
  /// Takes one step along the gradients; `also` (for example the loss) is realized in the same
  /// schedule. Throws Error naming a parameter without gradient.
  void step(const std::vector<Tensor>& also = {});
  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// The learning rate. It may change between steps, also in replays of a TensorJit; set_lr throws
  /// Error while one captures. See schedules.h for rates by step.
  double lr() const;
  void set_lr(double lr);
  /// The learning rate and the optimizer's state, such as momentum, named by parameter index: use
  /// nn::save_state(file, optimizer.state()), and nn::load_state() into an optimizer constructed
  /// alike.
  virtual nn::StateDict state() const;

 protected:
  /// A tensor and its new value in this step.
  struct Update {
    Tensor target;
    Tensor value;
  };
  virtual void before_step() {}
  virtual std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                                      const Tensor& gradient) = 0;
  /// Realized zeros like each parameter, sharded alike.
  std::vector<Tensor> zeros_like_parameters() const;
  /// The learning rate of a parameter: one float64 element on its device.
  Tensor rate_of(std::size_t parameter) const;
  /// A one-element number in the form that multiplies each element of a parameter.
  Tensor beside(std::size_t parameter, const Tensor& number) const;
  /// The weight decay of the parameter's group, or `otherwise`.
  double weight_decay_of(std::size_t parameter, double otherwise) const {
    return decays_[parameter].value_or(otherwise);
  }
  bool has_weight_decays() const;  // of groups

 private:
  /// The learning rate on one device of the parameters: one float64 element.
  struct Rate {
    std::string device;
    Tensor lr;
  };
  std::vector<Tensor> parameters_;
  std::vector<double> scales_;
  std::vector<std::optional<double>> decays_;
  std::vector<Rate> rates_;
};

/// Scales all gradients by most / (norm + 1e-6) if that is below 1, so that their joint norm is at
/// most `most`, as PyTorch's clip_grad_norm_. Returns the norm before scaling, float32 or wider.
/// Call between backward() and step(). Throws Error if a parameter has no gradient or `most` is not
/// positive.
Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double most);
/// Clamps each gradient element to [-most, most].
void clip_grad_value(const std::vector<Tensor>& parameters, double most);

enum class Nesterov : bool { No, Yes };

/// g = gradient + weight_decay * p; m = momentum * m + g; p = p - lr * m (without momentum lr * g,
/// with Nesterov lr * (g + momentum * m)).
class SGD final : public Optimizer {
 public:
  /// Throws Error for Nesterov with momentum 0.
  SGD(const Parameters& parameters, double lr, double momentum = 0, double weight_decay = 0,
      Nesterov nesterov = Nesterov::No);
  nn::StateDict state() const override;

 protected:
  std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                              const Tensor& gradient) override;

 private:
  double momentum_, weight_decay_;
  Nesterov nesterov_;
  std::vector<Tensor> velocity_;
};

/// Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1:
/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p = p - lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) +
/// eps).
class Adam : public Optimizer {
 public:
  /// Throws Error if a group has a weight decay, which Adam does not support.
  Adam(const Parameters& parameters, double lr = 1e-3, double beta1 = 0.9, double beta2 = 0.999,
       double eps = 1e-8);
  nn::StateDict state() const override;

 protected:
  /// With a weight decay, which groups may replace; nullopt refuses groups that have one.
  Adam(const Parameters& parameters, double lr, double beta1, double beta2, double eps,
       std::optional<double> weight_decay);
  void before_step() override;
  std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                              const Tensor& gradient) final;
  /// The parameter after a step along the corrected m / (sqrt(v) + eps).
  virtual Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const;

  const double weight_decay_;

 private:
  /// beta1^t and beta2^t on one device of the parameters: one float64 element each.
  struct Powers {
    std::string device;
    Tensor first, second;
  };
  /// The divisors of m and v in step t: 1 - beta^t.
  struct Correction {
    DType dtype;
    std::string device;
    Tensor first, second;
  };
  const Correction& correction(const Tensor& like, std::vector<Update>& all);

  double beta1_, beta2_, eps_;
  std::vector<Powers> powers_;
  std::vector<Powers> now_;              // for this step
  std::vector<Correction> corrections_;  // for this step
  std::vector<Tensor> first_, second_;
};

/// AdamW (Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019): Adam, and p = p
/// - lr * weight_decay * p.
class AdamW final : public Adam {
 public:
  AdamW(const Parameters& parameters, double lr = 1e-3, double weight_decay = 0.01,
        double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8);

 protected:
  Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const override;
};

/// LAMB (You et al., Large batch optimization for deep learning: training BERT in 76 minutes, ICLR
/// 2020), algorithm 2 with the identity as phi: r = Adam's direction + weight_decay * p; p = p - lr
/// * (|p| / |r|) r; the ratio is 1 if either norm is 0.
class LAMB final : public Adam {
 public:
  LAMB(const Parameters& parameters, double lr = 1e-3, double weight_decay = 0.01,
       double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-6);

 protected:
  Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const override;
};

}  // namespace touchstone::optim
