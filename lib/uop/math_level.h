#pragma once

#include <cstdint>
#include <string_view>

namespace touchstone {

/// How EXP2, LOG2 and SIN are computed by generated C. Where products are fused bits are the same
/// on every processor, and where they are rounded, too, but for what the C library computes.
enum class MathLevel : std::uint8_t {
  Library,           // by the C library: within 1 ULP with glibc; one call an element
  CorrectlyRounded,  // floats of at most 32 bits, as the reference; SIN by the C library's double
  OneUlp,            // within 1 ULP; SIN of float64 by the C library
  Fast               // float32 within 4 ULP, no subnormal results, SIN up to |x| = 2^17
};

/// "library", "correctly-rounded", "1ulp", "fast"; throws ParseError that lists them.
MathLevel math_level_named(std::string_view name);
std::string_view name(MathLevel level);

/// The members of a profile's JSON (interp/oracle/profile.h) that hold of code at this level.
std::string_view profile_members(MathLevel level);

}  // namespace touchstone
