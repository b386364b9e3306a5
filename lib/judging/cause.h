#pragma once

#include <span>

#include "touchstone/judging/judging.h"

namespace touchstone {

/// True if `value` is a legal result for one element, by its flat index, of the kernel's output.
bool is_legal_at(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, std::int64_t index,
                 const Scalar& value, const Profile& profile);
/// The shapes of the formula's inputs.
std::vector<define::InputShape> shapes_of(const Judging& judging);
/// An element in host memory.
Scalar element_of(const Buffer& buffer, std::int64_t index);
/// True for a kernel that may be judged a few times more.
bool is_cheap(const LazyOpPtr& kernel);

/// Searches for what explains an output that is not PASS, and puts it into `verdict.cause`. FAIL:
/// the first of a list of declarations, least first, then of faults, that makes every element legal
/// and most of them by less than half of their size.
/// WEAK, SUSPECT: the faults that the inputs do not show. The kernel has no variables.
void add_cause(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
               const Judging& judging, Verdict& verdict);

}  // namespace touchstone
