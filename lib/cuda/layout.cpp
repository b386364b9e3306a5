#include "touchstone/cuda/layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/running_sums.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::cuda {

namespace {

constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kWideTerms = 64;  // concurrent loads per thread of blocks that share a row
constexpr std::int64_t kUnrolled = 8;    // terms with concurrent loads
constexpr int kTile = 8;                 // rows, and columns, per thread

// Sizes for a thread that reduces several rows and columns with accumulators in registers.
constexpr LayoutSizes kThreadSizes{.vector = kTile,
                                   .unit_lanes = kTile,
                                   .other_lanes = kTile,
                                   .block_rows = kTile,
                                   .block_lanes = kTile,
                                   .written_vectors = 0};

struct Way {
  Opts opts;
  GridOpts grid;
};

std::int64_t size_or_many(const sint& size) { return size.is_int() ? size.as_int() : kMany; }

// Output elements, and the most terms along the innermost axis of a reduce.
struct Extent {
  std::int64_t outputs = 1, terms = 0;
};

Extent extent_of(const LazyOpPtr& kernel) {
  Extent extent;
  for (const sint& s : kernel->shape())
    if (__builtin_mul_overflow(extent.outputs, size_or_many(s), &extent.outputs))
      extent.outputs = kMany;
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_reduce(node->op())) continue;
    for (const int axis : node->reduce_arg().axes)
      extent.terms = std::max(
          extent.terms, size_or_many(node->src()[0]->shape()[static_cast<std::size_t>(axis)]));
  }
  return extent;
}

std::vector<Way> ways(const LazyOpPtr& kernel, const CudaOptions& options) {
  const Extent extent = extent_of(kernel);
  std::vector<Way> all;
  const auto add = [&](Opts opts, GridOpts grid) { all.push_back({std::move(opts), grid}); };
  if (extent.terms == 0) {
    for (int width = static_cast<int>(16 / itemsize(kernel->dtype())); width > 1; width /= 2)
      add({}, {.threads = options.threads, .vector = width});
    add({}, {.threads = options.threads});
    return all;
  }
  CodegenOptions codegen = options.codegen;
  codegen.order = TermOrder::Source;
  codegen.stages = false;
  codegen.sizes = kThreadSizes;
  if (Opts opts = hand_coded_optimizations(kernel, codegen);
      find(opts, OptKind::Block) != nullptr) {
    opts.push_back({OptKind::Unroll, {4}});
    for (const int side : {8, 4, 2})
      if (side * side <= options.threads) add(opts, {.threads = side * side, .patch = side});
    add(opts, {.threads = std::min(options.threads, 64)});
  }
  const int scale = options.threads;  // 256; fewer in tests
  if (extent.outputs == 1) {
    // Measured on an H200 (docs/measured/cuda.md).
    const auto shared = [&](int threads, int blocks, int run, std::int64_t terms_of_lane) {
      if (threads >= 1 && extent.terms / threads / blocks >= terms_of_lane)
        add({{OptKind::Sums, {std::int64_t{blocks} * threads}}, {OptKind::Unroll, {kWideTerms}}},
            {.threads = threads, .team = true, .blocks = blocks, .run = run});
    };
    shared(2 * scale, 128, scale, 8 * kWideTerms);
    shared(scale / 2, 256, scale / 4, kWideTerms);
    for (const int blocks : {64, 16}) shared(scale, blocks, 0, kWideTerms / 4);
  }
  for (int threads = 4 * scale; threads >= std::min(32, scale) && threads > 1; threads /= 2) {
    if (threads > 1024 || (threads > scale / 2 && extent.terms < 16 * std::int64_t{threads}))
      continue;
    const std::int64_t rounds = extent.terms / threads;
    if (rounds >= 2)
      add({{OptKind::Sums, {threads}},
           {OptKind::Unroll, {rounds <= 2 * kUnrolled ? rounds : kUnrolled}}},
          {.threads = threads, .team = true});
  }
  // Few adjacent output rows: one thread each would be far too few.
  for (int lanes = 16; lanes >= 2; lanes /= 2)
    if (const int columns = std::max(1, scale / 8);
        columns * lanes <= 1024 && extent.outputs <= 1024 * std::int64_t{scale} / lanes &&
        extent.terms >= std::int64_t{4} * lanes)
      add({{OptKind::Sums, {lanes, 1}}, {OptKind::Unroll, {kUnrolled}}},
          {.threads = columns * lanes, .team = true, .columns = columns});
  add({{OptKind::Unroll, {kUnrolled}}},
      {.threads = extent.outputs < 65536 ? std::min(options.threads, 64) : options.threads});
  add({}, {.threads = options.threads});
  return all;
}

// A random layout, which may be illegal and is usually unusual.
Way drawn_way(const LazyOpPtr& kernel, std::uint64_t seed) {
  std::mt19937_64 random(seed ^ kernel->hash());
  const auto one_of = [&](auto... values) {
    const std::array<int, sizeof...(values)> all{values...};
    return all[random() % all.size()];
  };
  Way way;
  way.grid.threads = one_of(1, 2, 4, 8, 16, 32);
  if (extent_of(kernel).terms == 0) {
    way.grid.vector = one_of(1, 2, 4);
    if (way.grid.vector == 1 && way.grid.threads > 1) way.grid.patch = one_of(0, 1, 2);
  } else if (one_of(0, 1, 2) > 0) {
    way.grid.team = true;
    way.grid.warp = one_of(2, 4, 8, 32);
    way.opts = {{OptKind::Sums, {one_of(2, 4, 8, 16), one_of(0, 1)}}};
    if (extent_of(kernel).outputs == 1)
      way.grid.blocks = one_of(0, 1, 2, 3);
    else if (way.grid.threads > 2)
      way.grid.columns = one_of(1, 2, 4);
  } else {
    way.opts = {{OptKind::Lanes, {one_of(2, 3, 4)}}};
  }
  return way;
}

GridKernel made(const LazyOpPtr& kernel, CodegenOptions codegen, const GridOpts& grid,
                std::size_t merged = std::numeric_limits<std::size_t>::max()) {
  codegen.keep_values = false;  // the grid splits the output loops
  const Opt* const sums = codegen.opts ? find(*codegen.opts, OptKind::Sums) : nullptr;
  if (sums != nullptr && !codegen::rounds_are_whole(axes_of_opts(kernel, codegen), sums->args[0]))
    throw AstError("threads must share a sum by whole rounds of its innermost axis");
  return map_to_grid(linearize(kernel, codegen), grid, variables_of(kernel), merged);
}

}  // namespace

GridKernel lay_out(const LazyOpPtr& kernel, const CudaOptions& options) {
  CodegenOptions codegen = options.codegen;
  if (codegen.math == MathLevel::Library) codegen.math = MathLevel::OneUlp;
  codegen.libm = false;
  if (options.grid || codegen.opts)
    return made(kernel, codegen, options.grid.value_or(GridOpts{.threads = options.threads}));
  validate_kernel(kernel);
  std::vector<Way> all = ways(kernel, options);
  if (options.layout_seed != 0) all.insert(all.begin(), drawn_way(kernel, options.layout_seed));
  for (const Way& way : all) {
    codegen.opts = way.opts;
    try {
      return made(kernel, codegen, way.grid);
    } catch (const AstError&) {  // illegal for this kernel: the next one is simpler
    }
  }
  codegen.opts = Opts{};
  return made(kernel, codegen, {.threads = options.threads}, 1);  // no digits in its indices
}

}  // namespace touchstone::cuda
