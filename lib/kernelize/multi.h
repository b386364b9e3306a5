#pragma once

#include <vector>

#include "touchstone/uop/pattern_matcher.h"

namespace touchstone::kernelize {

/// True if a node of the graph is on several devices.
bool has_several_devices(const UOp& sink);

/// Moves MULTI from sharded sources to results: every device computes with its own shards, and
/// exchanges between devices are COPY or ALLREDUCE. Context: none. Throws ShapeError if a movement
/// would split a device's elements between devices, AstError if the axes of an assign differ.
PatternMatcher shard_rules();

/// ALLREDUCE as copies and sums, directly or as a ring. Context: Simplifying.
PatternMatcher allreduce_rules();

/// Copies to and from several devices; pushes MSELECT and MSTACK down to stored values.
PatternMatcher placement_rules();

/// Stores the sources of a stack. Apply after `placement_rules`, when movement is views.
PatternMatcher stored_stacks();

/// The three rule sets that turn tuples into single devices, in the order of the pass "devices".
PatternMatcher device_rules();

/// For a value that each of `count` devices holds whole: each device's own shard along `axis`.
/// Throws ShapeError if the axis does not divide into `count`.
UOp part_of(const UOp& x, int axis, std::size_t count);

/// Concatenates parts along `axis` bit for bit: pads each with zeros to the whole and adds the bits
/// as integers.
UOp side_by_side(const std::vector<UOp>& parts, int axis);

/// The [begin, end) of the chunks of a ring: `count` elements over `devices`, in multiples of the
/// first of 32, 16, 8, 4, 2 that divides `count`; the first chunks are one multiple longer.
std::vector<std::pair<std::int64_t, std::int64_t>> ring_chunks(std::int64_t count,
                                                               std::size_t devices);

/// The axis of a reshape's result along which `before`, sharded along `axis` into `count`, stays
/// sharded without moving elements between shards. Throws ShapeError if there is none.
int axis_of_reshaped(const Shape& before, const Shape& after, int axis, std::size_t count);

}  // namespace touchstone::kernelize
