#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/judging/judging.h"

namespace touchstone {

/// True if `value` is a legal result for one element, by its flat index, of the kernel's output.
bool is_legal_at(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, std::int64_t index,
                 const Scalar& value, const Profile& profile);
/// The index on each axis of an element, by its flat index.
std::vector<std::int64_t> place_in(const define::Sizes& shape, std::int64_t flat);
/// The cost of a verdict: the values that it computes; those that elements share count once.
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

// What may explain an output: changed arithmetic, kernels with a fault, and data read or written in
// another order.

/// The output is tried as one of this kernel on these inputs.
struct Change {
  std::string words;  // "a zero may have either sign"
  Profile profile;
  LazyOpPtr kernel;
  /// Exchanges inputs, or adds one to `made` and puts it in place of another.
  std::function<void(std::vector<Buffer*>& inputs, std::vector<BufferPtr>& made)> reorder = {};
  std::int64_t copied = 0;  // elements that this copies
  /// The element of the output that is tried as element i, by flat index; -1: none. Empty: i
  /// itself.
  std::function<std::int64_t(std::int64_t)> source = {};
  std::string function = {};  // whose error the profile raises, or the place of a changed number
  bool widens = false;        // makes the legal numbers of most elements wider
  bool is_unlikely = false;   // no usual library needs it
};

/// Declarations of a profile, those that allow least first. Those for one function stand together,
/// its least error first, and the unlikely ones last of all.
std::vector<Change> declarations(const LazyOpPtr& kernel, const Profile& profile);
/// Functions by formulas whose digits cancel; forms that a profile must name, those whose condition
/// may not hold, and the others with products that stay unrounded. Their words begin with "if" or
/// "in the form".
std::vector<Change> less_accurate_forms(const LazyOpPtr& kernel, const Judging& judging);
/// Kernels with a fault that people make.
std::vector<Change> faults(const LazyOpPtr& kernel, const Judging& judging);
/// Kernels whose sums lack several terms at one end, as many as a block has or leaves over.
std::vector<Change> missing_terms(const LazyOpPtr& kernel, const Judging& judging);
/// Data read or written in another order. `shape`: the output's, as the user sees it.
std::vector<Change> orders(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                           const define::Sizes& shape, const Judging& judging);

}  // namespace touchstone
