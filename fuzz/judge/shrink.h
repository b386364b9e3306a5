#pragma once

#include <functional>

#include "touchstone/fuzz/judge/reproducer.h"

namespace touchstone::fuzz {

/// The size of a case, most important first; every accepted shrink lowers it, so shrinking ends.
struct CaseSize {
  std::size_t nodes = 0;      // of the AST
  std::int64_t elements = 0;  // of all shapes, and the sizes of their axes
  std::size_t views = 0;      // views and masks beyond a plain contiguous one, types beyond
                              // float32, int32 and bool, variables
  std::int64_t buffer_bytes = 0;
  std::size_t plain = 0;  // elements that are neither 0 nor 1
  auto operator<=>(const CaseSize&) const = default;
};
CaseSize size_of(const KernelCase& c);

/// Produces cases that may be smaller, one kind of step at a time, the boldest first. `take`
/// receives each kind; false stops.
void smaller_cases(const KernelCase& c,
                   const std::function<bool(std::vector<KernelCase> candidates)>& take);

struct Shrunk {
  KernelCase smallest;
  int runs = 0;  // calls of `fails`
};

/// Delta debugging on the graph until no step still fails. Steps: an inner node becomes the root; a
/// node is replaced by an operand or its values, or two nodes of one operation by theirs; variables
/// become numbers or smaller; an operand replaces another; buffers become constants or are merged;
/// types become float32 or int32; axes are cut; views become simpler or plain buffers; values
/// become 0 or 1. Deterministic. `c` must fail. At most `most_runs` trials.
Shrunk shrink(const KernelCase& c, const std::function<bool(const KernelCase&)>& fails,
              int most_runs = 2000);

/// Records the candidate's answer to a case for later judging.
Reproducer record(const KernelCase& c, Device& candidate);

struct ShrunkRun {
  Reproducer smallest;  // its verdict is FAIL
  int runs = 0;         // of the candidate
};

/// Shrinks a run whose verdict is FAIL. The result holds the answer of the failing run itself,
/// because a broken candidate need not repeat it. `progress` receives each count of runs.
ShrunkRun shrink_failure(const Reproducer& failing, Device& candidate, int most_runs = 2000,
                         const std::function<void(int runs)>& progress = {});

}  // namespace touchstone::fuzz
