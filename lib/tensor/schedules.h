#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// Learning rates by step, counted from 0: call optimizer.set_lr(schedule(step)) before each step.
namespace touchstone::optim {

using Schedule = std::function<double(std::int64_t step)>;

/// lr * factor^(step / every), with floor division. Throws Error if `every` is below 1.
Schedule step_decay(double lr, std::int64_t every, double factor = 0.1);
/// lr * factor^(number of milestones at or below the step).
Schedule milestones(double lr, const std::vector<std::int64_t>& steps, double factor = 0.1);
/// lr * factor^step.
Schedule exponential(double lr, double factor);
/// Half a cosine from lr at step 0 to `lowest` at `steps`, constant afterwards (Loshchilov and
/// Hutter, SGDR, ICLR 2017, without restarts). Throws Error if `steps` is below 1.
Schedule cosine(double lr, std::int64_t steps, double lowest = 0);
/// lr * (1 - step / steps)^power, 0 from `steps` on. Throws Error if `steps` is below 1.
Schedule polynomial(double lr, std::int64_t steps, double power = 1);
/// Rises linearly from then(0) / steps at step 0 to then(0) at step `steps` - 1; from step `steps`
/// on it is then(step - steps). Throws Error if `steps` is negative.
Schedule warmup(std::int64_t steps, const Schedule& then);
/// PyTorch's OneCycleLR (Smith and Topin, Super-convergence, 2018): half cosines from highest / 25
/// up to `highest` in the first `rising` fraction of the steps, then down to highest / 25e4 at step
/// steps - 1. Throws Error for fewer than 2 steps or `rising` not between 0 and 1.
Schedule one_cycle(double highest, std::int64_t steps, double rising = 0.3);

/// PyTorch's ReduceLROnPlateau: multiplies the rate by `factor` when the loss has not fallen below
/// its minimum by the relative `threshold` for more than `patience` calls.
class Plateau {
 public:
  explicit Plateau(double lr, double factor = 0.1, std::int64_t patience = 10,
                   double threshold = 1e-4, double lowest = 0);
  /// Takes the next loss and returns the new rate.
  double operator()(double loss);

 private:
  double lr_, factor_, threshold_, lowest_, best_;
  std::int64_t patience_, bad_ = 0;
};

}  // namespace touchstone::optim
