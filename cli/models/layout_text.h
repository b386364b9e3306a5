#pragma once

#include <string>

#include "touchstone/codegen/linearize.h"

namespace touchstone::cli {

/// The opts of a kernel, the axes that they number, and the effect of each. Throws AstError if they
/// do not fit the kernel.
std::string layout_text(const LazyOpPtr& kernel, const CodegenOptions& options);

/// What the sizes of the CLANG device's layouts follow from on this machine.
std::string machine_text();

}  // namespace touchstone::cli
