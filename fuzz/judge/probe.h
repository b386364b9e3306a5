#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// Families of inputs for one kernel; each shows errors that others hide. Sums of free order drown
/// small errors, except in rows with one or two significant terms or with exact partial results.
enum class ProbeFamily : std::uint8_t {
  Integers,  // small: sums are exact in any order
  Powers,    // powers of two of both signs: products are exact too
  OneHot,    // rows of zeros except one or two elements
  Deep,      // rows far below zero except one or two elements: other 2^x vanish
  Balanced,  // rows c + d, c - d: means and deviations are exact
  Offset,    // the same about a centre whose square is not exact
  Full,      // full significands (values.h)
  Edges,     // operands on which implementations differ
  Zeros,     // of both signs
  Random
};
std::string_view name(ProbeFamily family);
/// The faults that a family shows, in words.
std::string_view shows(ProbeFamily family);

struct Probe {
  ProbeFamily family = ProbeFamily::Integers;
  std::vector<HostArray> inputs;  // inputs[i] is buffer i + 1
};

/// Inputs of every family that applies to this concrete kernel: row families if floats are reduced,
/// float families if it reads floats. A row is the terms of one reduce result, whatever the
/// buffer's strides. Equal seeds give equal inputs.
std::vector<Probe> draw_probes(const LazyOpPtr& kernel, std::uint64_t seed = 0);

}  // namespace touchstone::fuzz
