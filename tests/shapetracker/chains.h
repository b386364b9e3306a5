// Chains of movement operations, as the fuzzer draws them, beside the arrays of addresses that
// their operations define.
#pragma once

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "model.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/rapidcheck/index/index_generators.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::model {

/// The views of a chain: merged after each operation, as the scheduler does, or all of them.
enum class Keep { Fewest, All };

/// What a chain of numbers alone defines.
inline Array array_of(const fuzz::ViewCase& chain) {
  fuzz::Addresses array = fuzz::addresses_of(chain.base);
  for (const MovementOp& op : chain.ops) fuzz::move(array, op);
  return {std::move(array.shape), std::move(array.cells)};
}

/// A tracker and what it must say.
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

/// The movement operations alike.
inline const ChainKind kEveryday{
    2, 8, {Kind::Permute, Kind::Reshape, Kind::Pad, Kind::Shrink, Kind::Expand, Kind::Stride}};
/// Two in three a reshape.
inline const ChainKind kReshapes{
    2,
    8,
    {Kind::Reshape, Kind::Permute, Kind::Reshape, Kind::Pad, Kind::Reshape, Kind::Stride,
     Kind::Reshape, Kind::Reshape, Kind::Shrink, Kind::Reshape, Kind::Expand, Kind::Reshape}};
/// Reshapes and permutes, and nothing padded: this leaves most views.
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

/// In a property: a chain of numbers alone.
inline Chain any_chain(const ChainKind& kind = {}, Keep keep = Keep::Fewest) {
  return Chain(*testing::chains(kind), keep);
}
/// Number `index` of the chains of a seed.
inline Chain chain_at(std::uint64_t seed, std::uint64_t index, const ChainKind& kind = {},
                      Keep keep = Keep::Fewest) {
  fuzz::RandomChooser chooser(hash_mix(seed, 0), index);
  return Chain(fuzz::ViewCase::parse(fuzz::draw_chain(chooser, kind)), keep);
}

/// The views of a chain where each reshape makes one, whether it must or not.
inline std::vector<View> stack_of(const fuzz::ViewCase& chain) {
  std::vector<View> views = {View::contiguous(chain.base)};
  for (const MovementOp& op : chain.ops) {
    View& top = views.back();
    switch (op.kind) {
      case Kind::Reshape:
        views.push_back(View::contiguous(op.shape));
        break;
      case Kind::AsStrided:
        views.push_back(View::strided(op.shape, op.strides, op.offset));
        break;
      case Kind::Permute:
        top = top.permute(op.order);
        break;
      case Kind::Expand:
        top = top.expand(op.shape);
        break;
      case Kind::Pad:
        top = top.pad(op.ends);
        break;
      case Kind::Shrink:
        top = top.shrink(op.ends);
        break;
      case Kind::Stride:
        top = top.stride(op.steps);
        break;
    }
  }
  if (views.size() > 1 && views[0] == View::contiguous(chain.base)) views.erase(views.begin());
  return views;
}

/// In a property: so many views, each by strides of the one below.
inline std::vector<View> any_stack(int views) {
  return stack_of(*testing::chains({.strided = views}));
}

}  // namespace touchstone::model
