#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "touchstone/dtype/dtype.h"

namespace touchstone::power {

/// Accepts |got - want| <= absolute + relative * |want|; equal infinities and two NaNs are equal.
/// Integers and bools compare by value, as floats.
struct Tolerance {
  double relative, absolute;
};

enum class Practice : std::uint8_t { Numpy, Torch, Loose };
/// numpy.allclose (1e-5, 1e-8); torch.testing.assert_close (by type); 1e-3, 1e-6.
Tolerance tolerance(Practice practice, DType dtype);

/// True if all of `got` is near `want`; both have elements of `dtype`.
bool accepts(const Tolerance& t, DType dtype, std::span<const std::uint8_t> want,
             std::span<const std::uint8_t> got);

}  // namespace touchstone::power
