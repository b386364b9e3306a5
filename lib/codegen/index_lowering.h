#pragma once

#include <map>
#include <string>

#include "touchstone/codegen/block_builder.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::codegen {

/// Emits the value of an index expression; `names` has the counter or parameter of each variable.
/// Sums are added from the outermost loop inwards, so that their invariant parts can be hoisted.
/// Throws AstError naming a variable missing from `names`.
int lower_index(BlockBuilder& builder, symbolic::Node node,
                const std::map<std::string, int>& names);

}  // namespace touchstone::codegen
