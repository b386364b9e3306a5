#pragma once

#include <iosfwd>
#include <string>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// The values as NumPy prints them (8 digits behind the point at most, the ends of each axis where
/// there are more than 1,000), and shape, dtype and device. Computes them. Throws as realize().
std::string str(const Tensor& x);
/// What it is and what it is made of, in one line; computes nothing.
std::string str(const LazyBuffer& x);
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, const LazyBuffer& x);
/// A kernel as the tree of lazy_op.h's str().
std::ostream& operator<<(std::ostream& out, const LazyOpPtr& kernel);

}  // namespace touchstone
