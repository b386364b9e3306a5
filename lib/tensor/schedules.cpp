#include "touchstone/tensor/schedules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "touchstone/base/error.h"

namespace touchstone::optim {
namespace {

void require_steps(const char* who, std::int64_t steps, std::int64_t least) {
  if (steps < least)
    throw Error(fmt::format("{}: {} steps; expected {} or more", who, steps, least));
}

double half_cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

}  // namespace

Schedule step_decay(double lr, std::int64_t every, double factor) {
  require_steps("step_decay", every, 1);
  return [=](std::int64_t step) {
    const std::int64_t drops = step / every;
    return lr * std::pow(factor, static_cast<double>(drops));
  };
}

Schedule milestones(double lr, const std::vector<std::int64_t>& steps, double factor) {
  return [=](std::int64_t step) {
    const auto passed = std::ranges::count_if(steps, [&](std::int64_t at) { return at <= step; });
    return lr * std::pow(factor, static_cast<double>(passed));
  };
}

Schedule exponential(double lr, double factor) {
  return [=](std::int64_t step) { return lr * std::pow(factor, static_cast<double>(step)); };
}

Schedule cosine(double lr, std::int64_t steps, double lowest) {
  require_steps("cosine", steps, 1);
  return [=](std::int64_t step) {
    return half_cosine(lr, lowest,
                       static_cast<double>(std::min(step, steps)) / static_cast<double>(steps));
  };
}

Schedule polynomial(double lr, std::int64_t steps, double power) {
  require_steps("polynomial", steps, 1);
  return [=](std::int64_t step) {
    const double left = static_cast<double>(steps - std::min(step, steps));
    return lr * std::pow(left / static_cast<double>(steps), power);
  };
}

Schedule warmup(std::int64_t steps, const Schedule& then) {
  require_steps("warmup", steps, 0);
  return [=](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
  };
}

Schedule one_cycle(double highest, std::int64_t steps, double rising) {
  require_steps("one_cycle", steps, 2);
  if (!(rising > 0 && rising < 1))
    throw Error(
        fmt::format("one_cycle: a rising part of {}; expected one between 0 and 1", rising));
  return [=](std::int64_t step) {
    const double top = rising * static_cast<double>(steps) - 1,
                 last = static_cast<double>(steps) - 1,
                 at = std::min(static_cast<double>(step), last);
    if (at <= top) return half_cosine(highest / 25, highest, top > 0 ? at / top : 1);
    return half_cosine(highest, highest / 25e4, (at - top) / (last - top));
  };
}

Plateau::Plateau(double lr, double factor, std::int64_t patience, double threshold, double lowest)
    : lr_(lr),
      factor_(factor),
      threshold_(threshold),
      lowest_(lowest),
      best_(std::numeric_limits<double>::infinity()),
      patience_(patience) {}

double Plateau::operator()(double loss) {
  const bool better = loss < best_ * (1 - threshold_);
  bad_ = better ? 0 : bad_ + 1;
  if (better) best_ = loss;
  if (bad_ > patience_) {
    lr_ = std::max(lr_ * factor_, lowest_);
    bad_ = 0;
  }
  return lr_;
}

}  // namespace touchstone::optim
