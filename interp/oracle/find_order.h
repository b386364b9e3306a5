#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// In which order a candidate summed, as its output tells.
struct FoundOrder {
  /// The order that gives the bits of every element looked at: "sequential", "lanes of 8",
  /// "pairwise, runs of 128", with the type of the accumulator and what happens to products. Empty:
  /// none of those tried.
  std::string bits;
  std::int64_t elements = 0;  // looked at
  /// A profile's "sum" under which every element is legal: that order, else the declared one of
  /// least height. Empty: none.
  std::string declare;

  /// One or two sentences, with what to declare.
  std::string str() const;
};

/// Replays sums of `kernel` in orders that are usual, and judges `output` under each declared
/// height. `kernel` is valid and without variables, the buffers on the host. Nothing where the
/// kernel is not one sum of floats or of their products, perhaps cast.
std::optional<FoundOrder> find_order(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                     const Buffer& output, const Profile& profile);

}  // namespace touchstone
