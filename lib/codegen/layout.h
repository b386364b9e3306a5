#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/opts.h"

namespace touchstone {

/// Returns the kernel whose axes opts refer to: as few views and axes as possible, with the axes
/// that most reduces move along first. Element for element equal to `kernel`, which must be valid.
LazyOpPtr axes_of_opts(const LazyOpPtr& kernel, const CodegenOptions& options = {});

/// The opts that linearize() applies if `options` names none, chosen by measurement.
/// - Contiguous reads along a reduce: Sums; Block if a few adjacent outputs have the same loads.
/// - Otherwise a reduce that varies along the last output axis: Lanes, as many as suit its loads;
///   Stage; Block if several rows share a load; Reorder and Pack if enough rows share a load that
///   is strided across the lanes. If the last axis is too short for whole vectors, or all reduces
///   are constant along it, Reorder puts another axis there.
/// - No reduce, but a load transposed against the output: Tile; otherwise, masks that begin or end
///   at one or two places along the last axis: Peel.
/// `kernel` must be valid.
Opts hand_coded_optimizations(const LazyOpPtr& kernel, const CodegenOptions& options = {});

/// Returns why linearize() refuses `opts` for a kernel, naming the opt and the remedy; nullopt if
/// it accepts them. `kernel` must be valid.
std::optional<std::string> refusal(const LazyOpPtr& kernel, const Opts& opts,
                                   const CodegenOptions& options = {});

/// Returns all lists that differ from `opts` by one opt added, removed or changed and that
/// linearize() accepts; Sums stays unchanged. For a search.
std::vector<Opts> neighbours(const LazyOpPtr& kernel, const Opts& opts,
                             const CodegenOptions& options = {});

/// Returns up to three random opts added to none or to the hand-coded ones, with the hand-coded
/// Sums; deterministic for a kernel and seed. For tests.
Opts drawn_opts(const LazyOpPtr& kernel, std::uint64_t seed, const CodegenOptions& options = {});

}  // namespace touchstone
