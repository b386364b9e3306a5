#pragma once

#include "touchstone/ops/lazy_op.h"

// Named functions in terms of the elementwise ops, for devices without code of their own for them.

namespace touchstone {

/// The result of a FUNCTION by other nodes, within a few ULP of it except where the formula's own
/// intermediate values overflow or cancel (docs/define.md); narrow floats are computed in float32.
/// FUNCTION nodes within the formula remain.
LazyOpPtr decomposed(NamedFunction function, const std::vector<LazyOpPtr>& operands);

/// The kernel without FUNCTION nodes, as a device without code for them computes it, except where
/// `has_code` holds.
LazyOpPtr without_functions(const LazyOpPtr& kernel,
                            const std::function<bool(const LazyOp&)>& has_code = {});

/// The kernel in which the decomposition of each FUNCTION is another legal result of it
/// (FunctionArg::or_last), unless its results are exact or `is_alone` holds for the node.
LazyOpPtr with_decompositions(const LazyOpPtr& kernel,
                              const std::function<bool(const LazyOp&)>& is_alone = {});

}  // namespace touchstone
