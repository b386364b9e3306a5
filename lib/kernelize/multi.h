#pragma once

#include <vector>

#include "touchstone/uop/pattern_matcher.h"

namespace touchstone::kernelize {

/// Whether a graph has a node on several devices.
bool has_several_devices(const UOp& sink);

/// MULTI moves from what is sharded to what is computed of it: every device computes with its own
/// shards, and what one needs of another is a COPY or an ALLREDUCE. Context: none. Throws
/// ShapeError where a movement would take elements from one device to another in part, AstError
/// where an assign's axes differ.
PatternMatcher shard_rules();

/// ALLREDUCE as copies and sums, naive or as a ring. Context: Simplifying.
PatternMatcher allreduce_rules();

/// Copies to several devices and from them; MSELECT and MSTACK go down to what is stored.
PatternMatcher placement_rules();

/// What stacks is stored. After `placement_rules`, where movement is views.
PatternMatcher stored_stacks();

/// The three of them that make single devices of tuples, in the order of the pass "devices".
PatternMatcher device_rules();

/// The part along `axis` of what every device of a tuple of `count` holds whole that is the shard
/// of its number. Throws ShapeError where the axis does not divide into that many.
UOp part_of(const UOp& x, int axis, std::size_t count);

/// Parts one after the other along `axis`, bit for bit: each is padded by zeros to the whole, and
/// the bits are added up as integers.
UOp side_by_side(const std::vector<UOp>& parts, int axis);

/// Where the chunks of a ring begin and end: `count` elements for `devices` of them, in multiples
/// of the first of 32, 16, 8, 4, 2 that divides `count`, the first chunks one multiple longer.
std::vector<std::pair<std::int64_t, std::int64_t>> ring_chunks(std::int64_t count,
                                                               std::size_t devices);

/// The axis of a reshape's result along which `before`, sharded along `axis` into `count`, stays
/// sharded with no element moved between shards. Throws ShapeError where there is none.
int axis_of_reshaped(const Shape& before, const Shape& after, int axis, std::size_t count);

}  // namespace touchstone::kernelize
