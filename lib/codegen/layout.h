#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/opts.h"

namespace touchstone {

/// The kernel whose axes opts are numbered by: the fewest views and axes that were found, those
/// that most reduces move along first. Equal to `kernel` element by element. `kernel` must be
/// valid.
LazyOpPtr axes_of_opts(const LazyOpPtr& kernel, const CodegenOptions& options = {});

/// The opts that linearize() applies where `options` name none: what measurements showed to pay.
/// - Reads that lie side by side along a reduce: Sums; Block where a few outputs beside each other
///   have the same loads.
/// - Otherwise a reduce that differs along the last axis of the output: Lanes of as many elements
///   as its loads serve; Stage; Block where a load serves several rows; Reorder and Pack where
///   enough rows share a load that lies across the lanes. Where the last axis has too few elements
///   for whole vectors, or all reduces are the same along it, Reorder puts another one there.
/// - No reduce, and a load that lies across the output: Tile; otherwise masks that begin or end at
///   one or two places along the last axis: Peel.
/// `kernel` must be valid.
Opts hand_coded_optimizations(const LazyOpPtr& kernel, const CodegenOptions& options = {});

/// Why linearize() refuses `opts` for a kernel, naming the opt and what to change; nullopt where it
/// takes them. `kernel` must be valid.
std::optional<std::string> refusal(const LazyOpPtr& kernel, const Opts& opts,
                                   const CodegenOptions& options = {});

/// All lists that differ from `opts` by one opt, added, taken away or with other arguments, and
/// that linearize() takes; but for Sums, which stays as it is. Those of a search.
std::vector<Opts> neighbours(const LazyOpPtr& kernel, const Opts& opts,
                             const CodegenOptions& options = {});

/// Up to three of them at random on top of none or of the hand-coded ones, the same for the same
/// kernel and seed; with the Sums of the hand-coded ones. Those of a test.
Opts drawn_opts(const LazyOpPtr& kernel, std::uint64_t seed, const CodegenOptions& options = {});

}  // namespace touchstone
