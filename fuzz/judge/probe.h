#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// Families of inputs for one kernel. What one hides another shows: errors of what lies between are
/// drowned by sums whose order is free, and are not where a row has one or two terms that count, or
/// where all partial results are exact.
enum class ProbeFamily : std::uint8_t {
  Integers,  // small: sums are exact in any order
  Powers,    // powers of two of both signs: products are exact, too
  OneHot,    // rows of zeros but for one element, or two
  Deep,      // rows far below zero but for one element, or two: the other terms of 2^x vanish
  Balanced,  // rows c + d, c - d: means and deviations are exact
  Offset,    // the same about a centre whose square takes too many digits
  Full,      // full significands (values.h)
  Edges,     // the operands on which implementations part
  Zeros,     // of both signs
  Random
};
std::string_view name(ProbeFamily family);
/// In words, for a person.
std::string_view shows(ProbeFamily family);

struct Probe {
  ProbeFamily family = ProbeFamily::Integers;
  std::vector<HostArray> inputs;  // inputs[i] is buffer i + 1
};

/// Inputs of every family that means something for this concrete kernel: those of rows where floats
/// are reduced, those of floats where it reads some. A row is what one result of a reduce is made
/// of, however the buffer is strided. The same seed gives the same inputs.
std::vector<Probe> draw_probes(const LazyOpPtr& kernel, std::uint64_t seed = 0);

}  // namespace touchstone::fuzz
