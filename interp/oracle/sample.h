#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/interp/device/program.h"
#include "touchstone/interp/oracle/sampling.h"

namespace touchstone::interp {

/// A run of consecutive elements of the output.
struct ElementRun {
  std::int64_t first, last;
};

struct Sample {
  std::vector<ElementRun> runs;  // in order, without overlaps
  Sampled sampled;
};
/// The size of the last axis of more than one element.
std::int64_t columns_of(const KernelProgram& program);
/// The values computed for a run of `length` elements at the beginning of a row. Results of a
/// reduce that repeat within the run count once.
double work_of(const KernelProgram& program, std::int64_t length);
/// Elements spread over the output, with its edges; nullopt if all can be judged, or a sample would
/// not be much cheaper. Whole rows where the elements of a row share most of their work.
std::optional<Sample> sample_of(const KernelProgram& program, const Sampling& sampling);

}  // namespace touchstone::interp
