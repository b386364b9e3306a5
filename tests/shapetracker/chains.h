// Chains of movement operations drawn by the fuzzer, with the arrays of addresses that define them.
#pragma once

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "model.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/rapidcheck/index/index_generators.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::model {

/// The views of a chain: merged after each operation, as in the scheduler, or all of them.
enum class Keep { Fewest, All };

/// The array that a chain without variables defines.
inline Array array_of(const fuzz::ViewCase& chain) {
  fuzz::Addresses array = fuzz::addresses_of(chain.base);
  for (const MovementOp& op : chain.ops) fuzz::move(array, op);
  return {std::move(array.shape), std::move(array.cells)};
}

/// A tracker and its expected array.
struct Chain {
  std::string story;
  ShapeTracker tracker;
  Array array;

  explicit Chain(const fuzz::ViewCase& drawn, Keep keep = Keep::Fewest)
      : story(drawn.str()), tracker(ShapeTracker::contiguous(drawn.base)), array(array_of(drawn)) {
    for (const MovementOp& op : drawn.ops) {
      tracker = apply(tracker, op);
      if (keep == Keep::Fewest) tracker = merge_outermost(tracker);
    }
    story += " -> " + tracker.str();
  }
};

using Kind = MovementOp::Kind;
using ChainKind = fuzz::ChainKind;

/// All movement operations equally often.
inline const ChainKind kEveryday{
    2, 8, {Kind::Permute, Kind::Reshape, Kind::Pad, Kind::Shrink, Kind::Expand, Kind::Stride}};
/// Reshapes, two in three.
inline const ChainKind kReshapes{
    2,
    8,
    {Kind::Reshape, Kind::Permute, Kind::Reshape, Kind::Pad, Kind::Reshape, Kind::Stride,
     Kind::Reshape, Kind::Reshape, Kind::Shrink, Kind::Reshape, Kind::Expand, Kind::Reshape}};
/// Reshapes and permutes without padding: leaves the most views.
inline const ChainKind kPermutes{
    2,
    8,
    {Kind::Reshape, Kind::Permute, Kind::Reshape, Kind::Shrink, Kind::Reshape, Kind::Permute},
    true};
inline ChainKind dense(ChainKind kind) {
  kind.dense = true;
  return kind;
}
inline ChainKind of_length(ChainKind kind, std::int64_t least, std::int64_t most) {
  kind.least = least;
  kind.most = most;
  return kind;
}

/// For properties: a chain without variables.
inline Chain any_chain(const ChainKind& kind = {}, Keep keep = Keep::Fewest) {
  return Chain(*testing::chains(kind), keep);
}
/// Chain number `index` of a seed.
inline Chain chain_at(std::uint64_t seed, std::uint64_t index, const ChainKind& kind = {},
                      Keep keep = Keep::Fewest) {
  fuzz::RandomChooser chooser(hash_mix(seed, 0), index);
  return Chain(fuzz::ViewCase::parse(fuzz::draw_chain(chooser, kind)), keep);
}

/// The views of a chain in which each reshape makes a new one.
inline std::vector<View> stack_of(const fuzz::ViewCase& chain) {
  std::vector<View> views = {View::contiguous(chain.base)};
  for (const MovementOp& op : chain.ops) {
    View& top = views.back();
    switch (op.kind) {
      case Kind::Reshape: views.push_back(View::contiguous(op.shape)); break;
      case Kind::AsStrided: views.push_back(View::strided(op.shape, op.strides, op.offset)); break;
      case Kind::Permute: top = top.permute(op.order); break;
      case Kind::Expand: top = top.expand(op.shape); break;
      case Kind::Pad: top = top.pad(op.ends); break;
      case Kind::Shrink: top = top.shrink(op.ends); break;
      case Kind::Stride: top = top.stride(op.steps); break;
    }
  }
  if (views.size() > 1 && views[0] == View::contiguous(chain.base)) views.erase(views.begin());
  return views;
}

/// For properties: `views` views, each strided over the one below.
inline std::vector<View> any_stack(int views) {
  return stack_of(*testing::chains({.strided = views}));
}

}  // namespace touchstone::model
