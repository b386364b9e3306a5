#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {

/// The node of a kernel at which a candidate goes wrong.
struct Blame {
  LazyOpPtr node;   // null if there is none
  Verdict verdict;  // on that node alone, or on the kernel that ends in it
  int runs = 0;     // kernels run on the candidate
};

/// Finds the culprit from the candidate's intermediate values: the first node, operands first, that
/// is illegal given the candidate's own operand values. held(node) returns its elements in
/// row-major order, or null if unknown. `inputs` as for judge; inputs[0] is not read.
Blame blame(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
            const std::function<Buffer*(const LazyOpPtr& node)>& held, const Profile& profile = {});

/// A prefix may use only some inputs: the same kernel with those numbered from 1, and their old
/// numbers.
std::pair<LazyOpPtr, std::vector<int>> renumbered(const LazyOpPtr& prefix);

/// Finds the culprit without intermediate values, by running prefixes of a failing kernel on the
/// candidate. run(prefix) returns its output in row-major order; prefixes read the same inputs.
/// Returns a node whose prefix fails while those of its operands pass, after about log2(depth) runs
/// for a chain and one more for each other operand on the way. The node is null if the kernel
/// passes.
Blame blame_by_prefixes(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                        const std::function<BufferPtr(const LazyOpPtr& prefix)>& run,
                        const Profile& profile = {});

}  // namespace touchstone
