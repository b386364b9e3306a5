#pragma once

#include <string>
#include <utility>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// Kernels by the name of what they are of.
using KernelParts = std::vector<std::pair<std::string, std::vector<LazyOpPtr>>>;

/// A page that needs nothing else: of each kernel its AST, linear code and C, and what belongs
/// together in them.
std::string kernels_html(const std::string& title, const KernelParts& parts);

}  // namespace touchstone::cli
