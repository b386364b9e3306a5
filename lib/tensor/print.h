#pragma once

#include <iosfwd>
#include <string>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Formats the values as NumPy does (at most 8 digits after the point; only the ends of each axis
/// beyond 1,000 elements), with shape, dtype and device. Computes them. Throws as realize().
std::string str(const Tensor& x);
/// Describes a buffer and its sources in one line; computes nothing.
std::string str(const LazyBuffer& x);
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, const LazyBuffer& x);
/// Prints a kernel as a tree, with lazy_op.h's str().
std::ostream& operator<<(std::ostream& out, const LazyOpPtr& kernel);

}  // namespace touchstone
