#pragma once

#include <string>
#include <utility>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// Kernels under the name of the model or program that they belong to.
using KernelParts = std::vector<std::pair<std::string, std::vector<LazyOpPtr>>>;

/// A page that needs nothing else: of each kernel its AST, linear code and C. The lines of one node
/// are lit together.
std::string kernels_html(const std::string& title, const KernelParts& parts);
/// Writes it to a file and says so, or to standard output where that is "-".
void write_kernels_page(const std::string& file, const std::string& title,
                        const KernelParts& parts);

}  // namespace touchstone::cli
