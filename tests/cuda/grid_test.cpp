#include "touchstone/cuda/grid.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/cuda/layout.h"
#include "touchstone/cuda/render_cuda.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LazyOpPtr kernel_of(std::string_view formula) { return define::parse(formula).kernel(); }

GridKernel mapped(std::string_view formula, const Opts& opts, const GridOpts& grid) {
  return map_to_grid(linearize(kernel_of(formula), {.opts = opts}), grid);
}

std::string refusal_of(std::string_view formula, const Opts& opts, const GridOpts& grid) {
  try {
    mapped(formula, opts, grid);
    return "taken";
  } catch (const AstError& e) {
    return e.what();
  }
}

TEST(GridOpts, ReadWhatTheyWrite) {
  const GridOpts all[] = {{},
                          {.threads = 64, .vector = 4},
                          {.threads = 256, .patch = 16},
                          {.threads = 128, .team = true, .columns = 32},
                          {.threads = 256, .team = true, .blocks = 64}};
  for (const GridOpts& opts : all) EXPECT_EQ(parse_grid_opts(str(opts)), opts) << str(opts);
  EXPECT_EQ(parse_grid_opts(" vector(2)threads(8) "), (GridOpts{.threads = 8, .vector = 2}));
}

TEST(GridOpts, NameWhatCannotBeRead) {
  for (const char* const text : {"threads", "threads(", "threads()", "threads(x)", "threads(1",
                                 ")(", "threads(99999999999)", "thread(4)", "threads(4) 5"})
    EXPECT_THROW(parse_grid_opts(text), ParseError) << text;
}

TEST(Grid, OptsThatDoNotFitAreRefused) {
  const auto refusal = [](const GridOpts& grid) { return refusal_of("x[6,10] + 1", Opts{}, grid); };
  EXPECT_EQ(refusal({.threads = 4, .vector = 2}), "taken");
  EXPECT_THAT(refusal({.threads = 0}), HasSubstr("threads(0)"));
  EXPECT_THAT(refusal({.threads = 2048}), HasSubstr("1 to 1024"));
  EXPECT_THAT(refusal({.threads = 4, .vector = 8}), HasSubstr("must divide"));
  EXPECT_THAT(refusal({.threads = 4, .vector = 3}), HasSubstr("vector(3)"));
  EXPECT_THAT(refusal({.threads = 4, .patch = 3}), HasSubstr("patch(3)"));
  EXPECT_THAT(refusal({.threads = 4, .columns = 2}), HasSubstr("needs team(1)"));
  EXPECT_THAT(refusal({.threads = 4, .blocks = 2}), HasSubstr("needs team(1)"));
  EXPECT_THAT(refusal({.threads = 4, .team = true, .vector = 2}), HasSubstr("excludes"));
  EXPECT_THAT(refusal_of("sum(x[6,64], axis=1)", {{OptKind::Sums, {4}}},
                         {.threads = 16, .team = true, .columns = 4}),
              HasSubstr("4 columns do not divide"));
  EXPECT_THAT(refusal_of("sum(x[6,64], axis=1)", {{OptKind::Sums, {4}}},
                         {.threads = 4, .team = true, .blocks = 2}),
              HasSubstr("one row"));
}

TEST(Grid, ArraysOfATeamHaveToFitIntoItsMemory) {
  EXPECT_THAT(refusal_of("sum(x[2,65536], axis=1)", {{OptKind::Sums, {16384}}},
                         {.threads = 256, .team = true}),
              HasSubstr("65536 bytes"));
}

TEST(Grid, ThreadsMeetWhereOneReadsWhatAnotherWrote) {
  const GridKernel one =
      mapped("sum(x[2,64], axis=1)", {{OptKind::Sums, {16}}}, {.threads = 16, .team = true});
  EXPECT_TRUE(one.waits());
  const std::string text = render_cuda_function(one, "k");
  std::size_t met = 0;
  for (std::size_t at = text.find("MEET"); at != std::string::npos; at = text.find("MEET", at + 1))
    ++met;
  EXPECT_GE(met, 5U) << text;  // before each half, and before reading the sum
  EXPECT_FALSE(mapped("x[64] + 1", Opts{}, {.threads = 16}).waits());
}

// If writing and reading threads are in one warp, the others do not wait.
TEST(Grid, OneWarpWaitsByItself) {
  const auto meetings = [](std::string_view formula, const GridOpts& opts) {
    const GridKernel grid = mapped(formula, {{OptKind::Sums, {128}}}, opts);
    return std::pair(std::ranges::count(grid.meeting, Meeting::Block),
                     std::ranges::count(grid.meeting, Meeting::Warp));
  };
  // Halves of 64 and 32 need all threads, those of 16 to 1 the warp; all read the sum and continue
  // with a row.
  EXPECT_EQ(meetings("sum(x[2,512], axis=1)", {.threads = 128, .team = true}),
            std::pair(std::ptrdiff_t{4}, std::ptrdiff_t{5}));
  EXPECT_EQ(meetings("sum(x[2,512], axis=1)", {.threads = 128, .team = true, .warp = 4}),
            std::pair(std::ptrdiff_t{7}, std::ptrdiff_t{2}));
  // Neighbouring threads belong to different rows.
  EXPECT_EQ(meetings("sum(x[2,512], axis=1)", {.threads = 256, .team = true, .columns = 2}),
            std::pair(std::ptrdiff_t{9}, std::ptrdiff_t{0}));
}

TEST(Grid, AsFewLoopsAreMergedAsAsked) {
  const LinearKernel linear =
      linearize(kernel_of("transpose(x[10,6]) + y[6,10]"), {.opts = Opts{}});
  EXPECT_EQ(map_to_grid(linear, {.threads = 4}).iterations, 60);
  EXPECT_EQ(map_to_grid(linear, {.threads = 4}, {}, 1).iterations, 6);
}

// Each access stays in its buffer, with counters derived from the thread number.
TEST(Grid, BoundsOfDrawnKernelsAreProvedOnTheGrid) {
  const char* const asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  const std::uint64_t cases = asked == nullptr ? 200 : std::strtoull(asked, nullptr, 10);
  int guarded_loads = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    fuzz::RandomChooser chooser(28, i);
    const LazyOpPtr kernel = fuzz::draw_kernel_case(chooser).kernel;
    CudaOptions options;
    if (i % 3 != 0) options.threads = 8;
    options.layout_seed = i % 2;
    GridKernel grid;
    try {
      grid = lay_out(kernel, options);
    } catch (const AstError& e) {
      ADD_FAILURE() << "case " << i << ": " << e.what();
      continue;
    }
    if (grid.linear.steps.empty()) continue;
    verify(grid.linear);
    guarded_loads += unproved_accesses(grid.linear, variables_of(kernel)).empty() ? 0 : 1;
    EXPECT_GE(blocks_of(grid), 1);
  }
  EXPECT_LE(guarded_loads * 5000, static_cast<int>(cases));
}

TEST(Grid, LayoutsAreWhatTheKernelsAskFor) {
  const auto layout = [](std::string_view formula) {
    return str(lay_out(kernel_of(formula), {}).opts);
  };
  EXPECT_EQ(layout("x[1024,1024] + 1"), "threads(256) vector(4)");
  EXPECT_EQ(layout("cast(x[1024,1024], f16)"), "threads(256) vector(8)");
  EXPECT_EQ(layout("x[1023] + 1"), "threads(256)");
  EXPECT_EQ(layout("matmul(a[512,512], b[512,512])"), "threads(64) patch(8)");
  EXPECT_THAT(layout("softmax(x[64,4096])"), HasSubstr("team(1)"));
  EXPECT_THAT(layout("sum(x[4096,1024], axis=0)"), HasSubstr("columns("));
  EXPECT_THAT(layout("sum(x[100000000])"), HasSubstr("blocks(128) run(256)"));
  EXPECT_THAT(layout("sum(x[3000000])"), HasSubstr("blocks(256) run(64)"));
  EXPECT_THAT(layout("sum(x[1000000])"), HasSubstr("blocks(64)"));
}

TEST(Grid, SumsAreContractedOnlyWhereAsked) {
  CudaOptions options;
  const auto text = [&] {
    return render_cuda_function(lay_out(kernel_of("matmul(a[64,64], b[64,64])"), options), "k");
  };
  EXPECT_THAT(text(), Not(HasSubstr("fused")));
  options.codegen.contract = true;
  EXPECT_THAT(text(), HasSubstr("fused_f32("));
}

}  // namespace
}  // namespace touchstone::cuda
