#pragma once

#include <span>

#include "touchstone/judging/judging.h"

namespace touchstone {

/// True if `value` is a legal result for one element, by its flat index, of the kernel's output.
bool is_legal_at(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, std::int64_t index,
                 const Scalar& value, const Profile& profile);
/// The index on each axis of an element, by its flat index.
std::vector<std::int64_t> place_in(const define::Sizes& shape, std::int64_t flat);
/// The cost of a verdict: the kernel's operations, or its elements if these are more.
std::int64_t cost_of_verdict(const LazyOpPtr& kernel);
/// True for a kernel that may be judged a few times more.
bool is_cheap(const LazyOpPtr& kernel);
/// Flat indices of elements to try first: the first wrong one, and some spread over all.
std::vector<std::int64_t> samples_of(const Verdict& verdict, std::int64_t size);

/// Searches for what explains an output that is not PASS, and puts it into `verdict.cause`. FAIL:
/// the declaration or fault that makes every element legal and lets the least errors through, or
/// which elements are wrong. WEAK, SUSPECT: the faults that the inputs do not show. The buffers are
/// in host memory, the kernel has no variables; `shape`: of the output, as the user sees it.
void add_cause(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
               const define::Sizes& shape, const Judging& judging, Verdict& verdict);

}  // namespace touchstone
