#pragma once

#include <cstddef>

/// Limits on what one kernel computes, for every scheduler.
namespace touchstone::kernelize {

/// Ops of a kernel, since compile time grows faster than linearly.
inline constexpr int kMostInKernel = 2048;
/// Views through which one kernel sees a node: more work repeated costs more than a buffer, and
/// the work of a chain of such nodes doubles with every link.
inline constexpr std::size_t kMostViews = 64;
/// Cheap ops recomputed for every copy that a view makes.
inline constexpr int kMostRecomputed = 3;
/// Ops that several kernels each compute before their result is stored.
inline constexpr int kMostShared = 16;
/// As kMostShared, where grouping decides before it is known which kernels merge.
inline constexpr int kMostGrouped = 64;

}  // namespace touchstone::kernelize
