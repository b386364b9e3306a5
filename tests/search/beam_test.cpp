#include "touchstone/search/beam.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/search/first_run.h"

namespace touchstone {
namespace {

ShapeTracker strided(const Shape& shape, const Strides& strides) {
  return ShapeTracker({View::strided(shape, strides, 0, std::nullopt)});
}

LazyOpPtr product(std::int64_t n) {
  const LazyOpPtr a = LazyOp::load(1, DType::Float32, strided({n, n, n}, {n, 1, 0}));
  const LazyOpPtr b = LazyOp::load(2, DType::Float32, strided({n, n, n}, {0, n, 1}));
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, b), {1});
  return LazyOp::store(ShapeTracker::contiguous(sum->shape()), sum);
}

struct Scratch {
  Scratch() {
    options.cache_dir = folder.path() / "cache";
    options.threads = 1;
    options.opt_level = 1;
  }
  TemporaryDirectory folder{"search"};
  ClangOptions options;
};

std::filesystem::path times_in(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".opts") return entry.path();
  return {};
}

TEST(Beam, FindsALegalLayoutAndRemembersWhatItTried) {
  Scratch scratch;
  const LazyOpPtr kernel = product(12);
  BeamOptions options;
  options.width = 1;
  options.rounds = 1;
  int batches = 0;
  bool ended = false;
  options.progress = [&](const BeamProgress& now) {
    ++batches;
    EXPECT_LE(now.tried, now.of);
    ended = now.tried == now.of;
  };
  const BeamResult first = search_opts(kernel, scratch.options, options);
  EXPECT_TRUE(first.wrong.empty()) << first.wrong[0];
  EXPECT_GE(first.tried, 10U);
  EXPECT_GE(batches, 2);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(refusal(kernel, first.opts)) << str(first.opts);
  EXPECT_GT(first.seconds, 0);
  EXPECT_LE(first.seconds, first.hand_coded);
  const BeamResult again = search_opts(kernel, scratch.options, options);
  EXPECT_EQ(again.tried, 0U);
  EXPECT_EQ(again.opts, first.opts);
  EXPECT_EQ(again.seconds, first.seconds);
}

TEST(Beam, GoesOnWhereItWasAndDoesNotTrustADamagedFile) {
  Scratch scratch;
  const LazyOpPtr kernel = product(8);
  BeamOptions options;
  options.width = 1;
  options.rounds = 1;
  const std::size_t all = search_opts(kernel, scratch.options, options).tried;
  const std::filesystem::path file = times_in(scratch.options.cache_dir);
  const std::string text = read_file(file);
  // An interrupted search: the last three lines are missing, the one before is truncated.
  std::size_t end = text.size();
  for (int lines = 0; lines < 5; ++lines) end = text.rfind('\n', end - 1);
  write_file_atomically(file, text.substr(0, end + 4));
  EXPECT_EQ(search_opts(kernel, scratch.options, options).tried, 4U);
  write_file_atomically(file, "nonsense\n-1\tlanes(4)\n");
  EXPECT_EQ(search_opts(kernel, scratch.options, options).tried, all);
}

TEST(Beam, ADeviceUsesWhatWasFound) {
  Scratch scratch;
  ClangOptions options = scratch.options;
  options.beam = 1;
  const auto device = make_clang_device("BEAM", options);
  set_opts_chooser({});
  EXPECT_THROW(device->runner(product(6)), SystemError);
  Opts chosen;
  set_opts_chooser([&](const LazyOpPtr&, const ClangOptions&) {
    chosen = parse_opts("lanes(3) unroll(2)");
    return chosen;
  });
  EXPECT_NE(device->runner(product(6))->source().find("unroll_count(2)"), std::string::npos);
  set_opts_chooser({});
}

// The output of a different kernel over the same inputs is detected.
TEST(Beam, AWrongFirstRunIsSeen) {
  Scratch scratch;
  const LazyOpPtr kernel = product(6);
  const search::FirstRun first(kernel, scratch.options);
  const auto runner = [&](const LazyOpPtr& k) {
    const Opts none;
    return make_clang_runners(k, std::span(&none, 1), scratch.options)[0];
  };
  EXPECT_TRUE(first.gives_its_bits(*runner(kernel)));
  const LazyOpPtr other =
      LazyOp::store(kernel->buffer().st, LazyOp::unary(Op::Neg, kernel->src()[0]));
  EXPECT_FALSE(first.gives_its_bits(*runner(other)));
}

TEST(Beam, VariablesAndEmptyOutputsHaveTheHandCodedLayout) {
  Scratch scratch;
  EXPECT_EQ(search_opts(product(0), scratch.options).tried, 0U);
}

// Position 1 of a one-row table.
TEST(Beam, PositionsThatNoneCanMeetAreNoError) {
  Scratch scratch;
  const ShapeTracker rows = ShapeTracker::contiguous({8});
  const LazyOpPtr kernel =
      LazyOp::store(rows, LazyOp::gather(1, DType::Float32, strided({1, 8}, {1, 0}),
                                         LazyOp::load(2, DType::Int64, rows), rows));
  EXPECT_EQ(search_opts(kernel, scratch.options).tried, 0U);
}

}  // namespace
}  // namespace touchstone
