#pragma once

#include <cstdint>
#include <string_view>

namespace touchstone {

/// How generated C computes EXP2, LOG2, SIN and named functions. Except for C library functions,
/// the bits are the same on every processor, for fused and for rounded products.
enum class MathLevel : std::uint8_t {
  Library,           // C library: within 1 ULP with glibc; one call per element
  CorrectlyRounded,  // floats of at most 32 bits; SIN and named functions from C's double
  OneUlp,            // within 1 ULP; SIN and named functions of float64 from the C library
  Fast               // float32 within 4 ULP, no subnormal results, SIN up to |x| = 2^17
};

/// Parses "library", "correctly-rounded", "1ulp", "fast"; throws ParseError that lists them.
MathLevel math_level_named(std::string_view name);
std::string_view name(MathLevel level);

/// The members of a profile's JSON (interp/oracle/profile.h) that describe this level.
std::string_view profile_members(MathLevel level);

}  // namespace touchstone
