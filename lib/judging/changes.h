#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/judging/judging.h"

// What may explain an output: changed arithmetic, kernels with a fault, and data read or written in
// another order.

namespace touchstone {

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
  std::string_view function = {};  // whose error the profile raises
  bool widens = false;             // makes the legal numbers of most elements wider
};

/// Declarations of a profile, those that allow least first. Those for one function stand together,
/// its least error first.
std::vector<Change> declarations(const LazyOpPtr& kernel, const Profile& profile);
/// Forms that a profile must name.
std::vector<Change> less_accurate_forms(const Judging& judging);
/// Kernels with a fault that people make.
std::vector<Change> faults(const LazyOpPtr& kernel, const Judging& judging);
/// Data read or written in another order. `shape`: the output's, as the user sees it.
std::vector<Change> orders(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                           const define::Sizes& shape, const Judging& judging);

}  // namespace touchstone
