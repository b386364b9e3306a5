#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// Learning rates by the step, counted from 0: optimizer.set_lr(schedule(step)) before each step.
namespace touchstone::optim {

using Schedule = std::function<double(std::int64_t step)>;

/// lr * factor^(step / every), where / floors. Throws Error where `every` is below 1.
Schedule step_decay(double lr, std::int64_t every, double factor = 0.1);
/// lr * factor^(milestones at or below the step).
Schedule milestones(double lr, const std::vector<std::int64_t>& steps, double factor = 0.1);
/// lr * factor^step.
Schedule exponential(double lr, double factor);
/// Half a cosine from lr at step 0 to `lowest` at `steps`, and `lowest` from there on: Loshchilov
/// and Hutter, SGDR, ICLR 2017, without restarts. Throws Error where `steps` is below 1.
Schedule cosine(double lr, std::int64_t steps, double lowest = 0);
/// lr * (1 - step / steps)^power, 0 from `steps` on. Throws Error where `steps` is below 1.
Schedule polynomial(double lr, std::int64_t steps, double power = 1);
/// Rises evenly from then(0) / steps at step 0 to then(0) at step `steps` - 1; from step `steps` on
/// it is then(step - steps). Throws Error where `steps` is below 0.
Schedule warmup(std::int64_t steps, const Schedule& then);
/// Smith and Topin, Super-convergence, 2018, as PyTorch's OneCycleLR: by half cosines from
/// highest / 25 up to `highest` in the first `rising` part of the steps, and down to highest / 25e4
/// at the last, steps - 1. Throws Error below 2 steps, and where `rising` is not between 0 and 1.
Schedule one_cycle(double highest, std::int64_t steps, double rising = 0.3);

/// Watches a loss: lr * factor each time it did not fall below its lowest by the relative
/// `threshold` for more than `patience` calls, as PyTorch's ReduceLROnPlateau.
class Plateau {
 public:
  explicit Plateau(double lr, double factor = 0.1, std::int64_t patience = 10,
                   double threshold = 1e-4, double lowest = 0);
  /// The rate after this loss.
  double operator()(double loss);

 private:
  double lr_, factor_, threshold_, lowest_, best_;
  std::int64_t patience_, bad_ = 0;
};

}  // namespace touchstone::optim
