#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/tensor/state.h"

/// Optimizers: how parameters follow their gradients. A step computes everything, the gradients
/// too, in one schedule and gives the parameters their new values. What changes from step to step
/// is data, never a constant in a kernel, so that each step runs the kernels of the one before.
namespace touchstone::optim {

/// A state that a layer has given a new value, such as statistics: the next step of an optimizer of
/// this thread realizes it, too, so that no graph grows where nobody reads it.
void realize_at_next_step(const Tensor& state);

/// Parameters that are moved alike: at this multiple of the optimizer's learning rate, and with
/// this weight decay in the place of the optimizer's.
struct Group {
  std::vector<Tensor> parameters;
  double lr_scale = 1;
  std::optional<double> weight_decay = std::nullopt;
};
/// Tensors, or groups of them.
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
  /// Parameters are leaves that require a gradient; throws Error where one does not, and where one
  /// stands twice.
  Optimizer(const Parameters& parameters, double lr);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void zero_grad();
  /// One step along the gradients; `also` (the loss, say) is realized in the same schedule.
  /// Throws Error naming a parameter without gradient.
  void step(const std::vector<Tensor>& also = {});
  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// The learning rate, which may change between steps, also of a step that a TensorJit replays;
  /// throws Error in a function that one notes. schedules.h has rates for each step.
  double lr() const;
  void set_lr(double lr);
  /// The learning rate, and what a step leaves for the next, such as momentum, named by the place
  /// of its parameter: nn::save_state(file, optimizer.state()), and nn::load_state() into an
  /// optimizer that was made alike.
  virtual nn::StateDict state() const;

 protected:
  /// A tensor that takes a new value in this step.
  struct Update {
    Tensor target;
    Tensor value;
  };
  virtual void before_step() {}
  virtual std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                                      const Tensor& gradient) = 0;
  /// Zeros like each parameter, sharded as it is, realized.
  std::vector<Tensor> zeros_like_parameters() const;
  /// The learning rate of a parameter, float64 of one element, on its device.
  Tensor rate_of(std::size_t parameter) const;
  /// A number of one element, as what each element of a parameter is multiplied by.
  Tensor beside(std::size_t parameter, const Tensor& number) const;
  /// Of its group, or this.
  double weight_decay_of(std::size_t parameter, double otherwise) const {
    return decays_[parameter].value_or(otherwise);
  }
  bool has_weight_decays() const;  // of groups

 private:
  /// On each device of the parameters, float64, of one element.
  struct Rate {
    std::string device;
    Tensor lr;
  };
  std::vector<Tensor> parameters_;
  std::vector<double> scales_;
  std::vector<std::optional<double>> decays_;
  std::vector<Rate> rates_;
};

/// Scales all gradients by one number, so that their norm as one vector is at most `most`, as
/// PyTorch's clip_grad_norm_: by most / (norm + 1e-6) where that is below 1. Gives the norm from
/// before, float32 or wider. Between backward() and step(). Throws Error where a parameter has no
/// gradient, or for a norm that is not above 0.
Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double most);
/// Brings each element of the gradients into [-most, most].
void clip_grad_value(const std::vector<Tensor>& parameters, double most);

enum class Nesterov : bool { No, Yes };

/// g = gradient + weight_decay * p; m = momentum * m + g; p = p - lr * m (g where momentum is 0,
/// g + momentum * m with Nesterov's momentum).
class SGD final : public Optimizer {
 public:
  /// Throws Error where Nesterov's momentum is 0.
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
  /// Throws Error where a group has a weight decay, which Adam has not.
  Adam(const Parameters& parameters, double lr = 1e-3, double beta1 = 0.9, double beta2 = 0.999,
       double eps = 1e-8);
  nn::StateDict state() const override;

 protected:
  enum class WeightDecay : bool { No, Yes };
  Adam(const Parameters& parameters, double lr, double beta1, double beta2, double eps,
       WeightDecay decays);
  void before_step() override;
  std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                              const Tensor& gradient) final;
  /// The parameter after a step of the corrected m / (sqrt(v) + eps).
  virtual Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const;

 private:
  /// beta1^t and beta2^t on a device of the parameters, float64, of one element.
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
  std::vector<Powers> now_;              // of this step
  std::vector<Correction> corrections_;  // likewise
  std::vector<Tensor> first_, second_;
};

/// Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019: Adam, and
/// p = p - lr * weight_decay * p.
class AdamW final : public Adam {
 public:
  AdamW(const Parameters& parameters, double lr = 1e-3, double weight_decay = 0.01,
        double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8);

 protected:
  Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const override;

 private:
  double weight_decay_;
};

/// You et al., Large batch optimization for deep learning: training BERT in 76 minutes, ICLR 2020,
/// algorithm 2 with the identity as phi: r = Adam's direction + weight_decay * p;
/// p = p - lr * (|p| / |r|) r, where the ratio is 1 if one of the norms is 0.
class LAMB final : public Adam {
 public:
  LAMB(const Parameters& parameters, double lr = 1e-3, double weight_decay = 0.01,
       double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-6);

 protected:
  Tensor moved(std::size_t parameter, const Tensor& value, const Tensor& direction) const override;

 private:
  double weight_decay_;
};

}  // namespace touchstone::optim
