#pragma once

#include <functional>
#include <span>

#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {

/// The node of a kernel at which a candidate goes wrong.
struct Blame {
  LazyOpPtr node;   // null: none does
  Verdict verdict;  // on that node alone, or on the kernel that ends in it
  int runs = 0;     // kernels that the candidate was asked to run
};

/// With what the candidate held at every node, or at some (null elsewhere), each as a buffer of the
/// node's elements in row-major order: the first node, operands first, that is illegal given the
/// candidate's own values of its operands. `inputs` as for judge; inputs[0] is not read.
Blame blame(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
            const std::function<Buffer*(const LazyOpPtr& node)>& held, const Profile& profile = {});

/// Without: runs prefixes of a failing kernel on the candidate. run(prefix) answers with its
/// output, which has a buffer's elements in row-major order; prefixes read the same inputs. Finds a
/// node whose prefix fails while those of its operands do not, in about log2(depth) runs for a
/// chain, and in one more for each other operand on the way. The node is null where the kernel
/// passes.
Blame blame_by_prefixes(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                        const std::function<BufferPtr(const LazyOpPtr& prefix)>& run,
                        const Profile& profile = {});

}  // namespace touchstone
