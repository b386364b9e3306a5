#pragma once

#include <vector>

#include "touchstone/tensor/tensor.h"

/// Optimizers: how parameters follow their gradients. A step computes everything, the gradients
/// too, in one schedule and gives the parameters their new values. What changes from step to step
/// is data, never a constant in a kernel, so that each step runs the kernels of the one before.
namespace touchstone::optim {

/// A state that a layer has given a new value, such as statistics: the next step of an optimizer of
/// this thread realizes it, too, so that no graph grows where nobody reads it.
void realize_at_next_step(const Tensor& state);

class Optimizer {
 public:
  /// Parameters are leaves that require a gradient; throws Error where one does not.
  explicit Optimizer(std::vector<Tensor> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void zero_grad();
  /// One step along the gradients; `also` (the loss, say) is realized in the same schedule.
  /// Throws Error naming a parameter without gradient.
  void step(const std::vector<Tensor>& also = {});
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  /// A tensor that takes a new value in this step.
  struct Update {
    Tensor target;
    Tensor value;
  };
  virtual void before_step() {}
  virtual std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                                      const Tensor& gradient) = 0;
  /// Zeros like each parameter, realized.
  std::vector<Tensor> zeros_like_parameters() const;

 private:
  std::vector<Tensor> parameters_;
};

enum class Nesterov : bool { No, Yes };

/// g = gradient + weight_decay * p; m = momentum * m + g; p = p - lr * m (g where momentum is 0,
/// g + momentum * m with Nesterov's momentum).
class SGD final : public Optimizer {
 public:
  /// Throws Error where Nesterov's momentum is 0.
  SGD(std::vector<Tensor> parameters, double lr, double momentum = 0, double weight_decay = 0,
      Nesterov nesterov = Nesterov::No);

 protected:
  std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                              const Tensor& gradient) override;

 private:
  double lr_, momentum_, weight_decay_;
  Nesterov nesterov_;
  std::vector<Tensor> velocity_;
};

/// Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1:
/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p = p - lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) +
/// eps).
class Adam : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, double lr = 1e-3, double beta1 = 0.9, double beta2 = 0.999,
       double eps = 1e-8);

 protected:
  void before_step() override;
  std::vector<Update> updates(std::size_t parameter, const Tensor& value,
                              const Tensor& gradient) final;
  /// The parameter after a step of the corrected m / (sqrt(v) + eps).
  virtual Tensor moved(const Tensor& value, const Tensor& direction) const;
  double lr() const { return lr_; }

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

  double lr_, beta1_, beta2_, eps_;
  std::vector<Powers> powers_;
  std::vector<Powers> now_;              // of this step
  std::vector<Correction> corrections_;  // likewise
  std::vector<Tensor> first_, second_;
};

/// Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019: Adam, and
/// p = p - lr * weight_decay * p.
class AdamW final : public Adam {
 public:
  AdamW(std::vector<Tensor> parameters, double lr = 1e-3, double weight_decay = 0.01,
        double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8);

 protected:
  Tensor moved(const Tensor& value, const Tensor& direction) const override;

 private:
  double weight_decay_;
};

/// You et al., Large batch optimization for deep learning: training BERT in 76 minutes, ICLR 2020,
/// algorithm 2 with the identity as phi: r = Adam's direction + weight_decay * p;
/// p = p - lr * (|p| / |r|) r, where the ratio is 1 if one of the norms is 0.
class LAMB final : public Adam {
 public:
  LAMB(std::vector<Tensor> parameters, double lr = 1e-3, double weight_decay = 0.01,
       double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-6);

 protected:
  Tensor moved(const Tensor& value, const Tensor& direction) const override;

 private:
  double weight_decay_;
};

}  // namespace touchstone::optim
