// Lists of opts other than the hand-coded one: for a search, and at random.
#include <algorithm>
#include <numeric>

#include "touchstone/base/hash.h"
#include "touchstone/codegen/plan.h"

namespace touchstone::codegen {

namespace {

constexpr std::size_t kMostReordered = 8;  // axes; there is a move for each pair
constexpr int kMostDrawn = 3;
constexpr int kTries = 6;

bool is_legal(const LazyOpPtr& axes, const Opts& opts) {
  try {
    make_plan(axes, opts);
    return true;
  } catch (const AstError&) {
    return false;
  }
}

// The list without a kind and the kinds that require it.
Opts without(const Opts& opts, OptKind kind) {
  Opts left;
  std::ranges::copy_if(opts, std::back_inserter(left), [&](const Opt& opt) {
    const bool needs_lanes =
        opt.kind == OptKind::Block || opt.kind == OptKind::Stage || opt.kind == OptKind::Pack;
    if (kind == OptKind::Tile && opt.kind == OptKind::Prefetch) return false;
    return opt.kind != kind && (kind != OptKind::Lanes || !needs_lanes);
  });
  return left;
}

Opts with(const Opts& opts, Opt opt) {
  Opts changed = opts;
  const auto place = std::ranges::find(changed, opt.kind, &Opt::kind);
  if (place == changed.end())
    changed.push_back(std::move(opt));
  else
    *place = std::move(opt);
  std::ranges::sort(changed, {}, &Opt::kind);
  return changed;
}

std::vector<std::int64_t> order_of(const Opts& opts, std::size_t rank) {
  if (const Opt* const reorder = find(opts, OptKind::Reorder)) return reorder->args;
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void add_orders(std::vector<Opt>& all, const Opts& opts, std::size_t rank) {
  if (rank > kMostReordered) return;
  const std::vector<std::int64_t> now = order_of(opts, rank);
  for (std::size_t from = 0; from < rank; ++from)
    for (std::size_t to = 0; to < rank; ++to) {
      if (from == to) continue;
      std::vector<std::int64_t> order = now;
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), now[from]);
      all.push_back({OptKind::Reorder, std::move(order)});
    }
}

// Candidates for a search: sizes of vectors, registers and caches.
std::vector<Opt> usual_opts(const Opts& opts, const LayoutSizes& sizes, std::size_t rank) {
  std::vector<Opt> all;
  const auto axes = static_cast<std::int64_t>(rank);
  for (const std::int64_t lanes : {4, 8, 16, 32, 64, 128}) all.push_back({OptKind::Lanes, {lanes}});
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (const std::int64_t rows : {2, 3, 4, 6, 7, 8, 12, 14, 16})
      all.push_back({OptKind::Block, {axis, rows}});
    all.push_back({OptKind::Pack, {axis, sizes.packed_bytes}});
    for (std::int64_t row = 0; row < axes; ++row)
      for (const std::int64_t rows : {8, 16, 32, 64})
        for (const std::int64_t columns : {8, 16, 32, 64})
          all.push_back({OptKind::Tile, {row, axis, rows, columns}});
  }
  all.push_back({OptKind::Stage, {sizes.staged_bytes}});
  for (const std::int64_t count : {2, 4, 8}) all.push_back({OptKind::Unroll, {count}});
  for (const std::int64_t count : {1, 2, 4, 8}) all.push_back({OptKind::Prefetch, {count}});
  for (std::int64_t loop = 0; loop < std::min<std::int64_t>(axes, 3); ++loop)
    all.push_back({OptKind::Parallel, {loop}});
  for (const std::int64_t last : {1, 2, 3}) all.push_back({OptKind::Peel, {last, last}});
  add_orders(all, opts, rank);
  return all;
}

// A deterministic random generator.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::int64_t in(std::int64_t least, std::int64_t most) {
    state_ = hash_mix(state_, 1);
    return least + static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::uint64_t state_;
};

Opt any_opt(Numbers& numbers, std::size_t rank) {
  const auto axis = [&] { return numbers.in(0, static_cast<std::int64_t>(rank) - 1); };
  switch (static_cast<OptKind>(numbers.in(0, static_cast<std::int64_t>(kOptKinds) - 1))) {
    case OptKind::Reorder: {
      std::vector<std::int64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = rank; i > 1; --i)
        std::swap(order[i - 1],
                  order[static_cast<std::size_t>(numbers.in(0, static_cast<std::int64_t>(i) - 1))]);
      return {OptKind::Reorder, std::move(order)};
    }
    case OptKind::Block: return {OptKind::Block, {axis(), numbers.in(2, 4)}};
    case OptKind::Stage: return {OptKind::Stage, {std::int64_t{1} << numbers.in(3, 15)}};
    case OptKind::Pack: return {OptKind::Pack, {axis(), std::int64_t{1} << numbers.in(3, 15)}};
    case OptKind::Tile:
      return {OptKind::Tile, {axis(), axis(), numbers.in(1, 4), numbers.in(1, 4)}};
    case OptKind::Prefetch: return {OptKind::Prefetch, {numbers.in(1, 3)}};
    case OptKind::Unroll: return {OptKind::Unroll, {numbers.in(2, 5)}};
    case OptKind::Parallel: return {OptKind::Parallel, {numbers.in(0, 2)}};
    case OptKind::Peel: return {OptKind::Peel, {numbers.in(0, 3), numbers.in(0, 3)}};
    default: return {OptKind::Lanes, {numbers.in(2, 9)}};
  }
}

}  // namespace

Opts drawn(const LazyOpPtr& kernel, const LazyOpPtr& axes, const CodegenOptions& options) {
  Numbers numbers(hash_mix(LazyOpHash()(kernel), options.layout_seed));
  Opts opts = hand_coded(kernel, axes, options);
  if (numbers.in(0, 1) == 0)
    std::erase_if(opts, [](const Opt& o) { return o.kind != OptKind::Sums; });
  const std::size_t rank = axes->shape().size();
  if (rank == 0) return opts;
  const auto wanted = numbers.in(1, kMostDrawn);
  for (std::int64_t made = 0, tries = 0; made < wanted && tries < wanted * kTries; ++tries) {
    Opts changed = with(opts, any_opt(numbers, rank));
    if (!is_legal(axes, changed)) continue;
    opts = std::move(changed);
    ++made;
  }
  return opts;
}

}  // namespace touchstone::codegen

namespace touchstone {

std::vector<Opts> neighbours(const LazyOpPtr& kernel, const Opts& opts,
                             const CodegenOptions& options) {
  const LazyOpPtr axes = axes_of_opts(kernel, options);
  std::vector<Opts> all;
  const auto add = [&](Opts changed) {
    if (changed != opts && std::ranges::find(all, changed) == all.end() &&
        codegen::is_legal(axes, changed))
      all.push_back(std::move(changed));
  };
  for (const Opt& opt : opts)
    if (opt.kind != OptKind::Sums) add(codegen::without(opts, opt.kind));
  for (Opt& opt : codegen::usual_opts(opts, options.sizes, axes->shape().size()))
    add(codegen::with(opts, std::move(opt)));
  return all;
}

Opts drawn_opts(const LazyOpPtr& kernel, std::uint64_t seed, const CodegenOptions& options) {
  CodegenOptions drawn = options;
  drawn.layout_seed = seed;
  return codegen::drawn(kernel, axes_of_opts(kernel, options), drawn);
}

}  // namespace touchstone
