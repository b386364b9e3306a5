#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The order in which a candidate summed, inferred from its output.
struct FoundOrder {
  /// The order that reproduces every examined element bit by bit: "sequential", "lanes of 8",
  /// "pairwise, runs of 128", with the accumulator type and the rounding of products. Empty: none
  /// of those tried.
  std::string bits;
  std::int64_t elements = 0;  // number examined
  /// A profile's "sum" under which every element is legal: that order, else the declared one of
  /// least height. Empty: none.
  std::string declare;

  /// One or two sentences, with the declaration to use.
  std::string str() const;
};

/// Replays sums of `kernel` in common orders and judges `output` under each declared height.
/// `kernel` must be valid and without variables, the buffers on the host. nullopt unless the kernel
/// is one sum of floats or of their products, possibly cast.
std::optional<FoundOrder> find_order(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                     const Buffer& output, const Profile& profile);

}  // namespace touchstone
