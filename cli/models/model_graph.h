#pragma once

#include "touchstone/device/config.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/tensor/models.h"

namespace touchstone::cli {

/// The environment's config, with the switches of `opt` unless -1 and the scheduler of that name
/// unless empty. Throws ParseError for an unknown scheduler.
Config config_of(int opt, const std::string& scheduler);
/// The schedule of a model on CLANG, its leaves realized.
struct ModelSchedule {
  std::vector<LazyBufferPtr> outputs;  // the output, or mean(output^2) and all gradients
  std::vector<ScheduleItem> items;
};
ModelSchedule schedule_of(const models::Model& model, bool backward);

}  // namespace touchstone::cli
