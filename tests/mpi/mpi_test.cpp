// Ranks under mpirun: the scenarios' output, exit code and time.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/base/file.h"
#include "touchstone/mpi/mpi_world.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

struct Ended {
  int code = 0;
  double seconds = 0;
  std::string out;
};

Ended ended_of(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  Ended ended;
  FILE* const pipe = popen(command.c_str(), "r");
  char text[4096];
  while (std::fgets(text, sizeof text, pipe) != nullptr) ended.out += text;
  ended.code = pclose(pipe);
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ended;
}

// In a folder of its own: ending runs clear a shared folder while others start there.
Ended run(int ranks, const std::string& scenario, const std::string& environment = "") {
  const TemporaryDirectory folder;
  return ended_of(
      fmt::format("{} TMPDIR={} TOUCHSTONE_MPI_PATIENCE={} timeout -k 5 100 {} --allow-run-as-root "
                  "--oversubscribe -n {} "
                  "{} {} 2>&1",
                  environment, folder.path().string(), scenario == "stalls" ? 2 : 60,
                  TOUCHSTONE_MPIRUN, ranks, TOUCHSTONE_SCENARIOS, scenario));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "built without MPI";
    // Open MPI and its plugins leak memory in ranks; other tests check our own code for leaks.
    const char* const given = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", fmt::format("{}:detect_leaks=0", given ? given : "").c_str(), 1);
  }
};

TEST_F(Mpi, RanksComputeTheBitsOfDevicesOfOneProcess) {
  for (const int ranks : {2, 3, 4}) {
    const Ended ended = run(ranks, "computes");
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_EQ(count(ended.out, " ok "), 24U * static_cast<std::size_t>(ranks)) << ended.out;
  }
}

TEST_F(Mpi, RowsOfTablesAndTheirGradients) {
  const Ended ended = run(3, "looks_up");
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(count(ended.out, " ok "), 9U) << ended.out;
}

TEST_F(Mpi, RanksTrainLayersAsDevicesOfOneProcess) {
  for (const int ranks : {2, 4}) {
    const Ended ended = run(ranks, "trains");
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_EQ(count(ended.out, " ok "), 16U * static_cast<std::size_t>(ranks)) << ended.out;
  }
}

TEST_F(Mpi, OneRankAlone) { EXPECT_EQ(run(1, "large").code, 0); }

TEST_F(Mpi, LargeMessages) {
  const Ended ended = run(3, "large");
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(count(ended.out, " ok "), 3U) << ended.out;
}

TEST_F(Mpi, OneRankWritesTheCheckpointWhole) {
  const auto path = std::filesystem::temp_directory_path() / "touchstone_mpi_test.safetensors";
  const Ended ended = run(3, "saves", "SCENARIO_FILE=" + path.string());
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(count(ended.out, " ok "), 3U) << ended.out;
  EXPECT_GT(std::filesystem::file_size(path), 3U * 6 * 4);
  std::filesystem::remove(path);
}

// Every rank names the differing step.
TEST_F(Mpi, DifferentGraphsAreAnErrorOnEveryRank) {
  const Ended ended = run(3, "differs");
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(count(ended.out, "ERROR the ranks run different graphs: step "), 3U) << ended.out;
  EXPECT_EQ(count(ended.out, "on rank 1; every rank must run the same program"), 3U) << ended.out;
  EXPECT_LT(ended.seconds, 20);
  const Ended shorter = run(2, "shorter");
  EXPECT_NE(shorter.code, 0);
  EXPECT_EQ(count(shorter.out, "different graphs"), 2U) << shorter.out;
}

TEST_F(Mpi, ARankThatDiesEndsTheJob) {
  const Ended ended = run(3, "dies");
  EXPECT_NE(ended.code, 0);
  EXPECT_LT(ended.seconds, 30) << ended.out;
  const Ended failed = run(3, "fails");
  EXPECT_NE(failed.code, 0);
  EXPECT_THAT(failed.out, HasSubstr("rank 1 ERROR no memory, say"));
  EXPECT_LT(failed.seconds, 30) << failed.out;
}

// Every rank names the failing rank and the reason.
TEST_F(Mpi, ARankWithoutMemoryIsAnErrorOnEveryRank) {
  setenv("ASAN_OPTIONS",
         fmt::format("{}:allocator_may_return_null=1", std::getenv("ASAN_OPTIONS")).c_str(), 1);
  const Ended ended = run(3, "exhausts");
  EXPECT_NE(ended.code, 0);
  EXPECT_LT(ended.seconds, 30) << ended.out;
  const std::string why = "cannot allocate a buffer of 17592186044416 bytes";
  EXPECT_THAT(ended.out, HasSubstr("rank 1 ERROR " + why));
  EXPECT_EQ(count(ended.out, "rank 1 failed: " + why), 2U) << ended.out;
}

TEST_F(Mpi, MoreMessagesThanFitAnyBufferArrive) {
  for (const int ranks : {2, 3}) {
    const Ended ended = run(ranks, "floods");
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_EQ(count(ended.out, " ok "), static_cast<std::size_t>(ranks)) << ended.out;
    EXPECT_LT(ended.seconds, 60) << ended.out;
  }
}

TEST_F(Mpi, ACheckpointIsWholeWhereItsWriterIsKilled) {
  const auto path = std::filesystem::temp_directory_path() / "touchstone_mpi_cut.safetensors";
  const std::string file = "SCENARIO_FILE=" + path.string();
  const Ended ended = run(2, "cut_off", file);
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(count(ended.out, "saved once"), 2U) << ended.out;
  EXPECT_EQ(count(ended.out, "saved twice"), 0U) << ended.out;
  EXPECT_LT(ended.seconds, 30) << ended.out;
  EXPECT_EQ(count(run(3, "goes_on", file).out, " ok "), 0U);  // another shape
  const Ended next = run(2, "goes_on", file);
  EXPECT_EQ(next.code, 0) << next.out;
  EXPECT_EQ(count(next.out, "the older one is whole"), 2U) << next.out;
  std::filesystem::remove(path);
}

// The relation `multi` of the fuzzer.
TEST_F(Mpi, RandomProgramsOverRanksGiveTheBitsOfOneDevice) {
  for (const int ranks : {2, 3}) {
    const Ended ended = ended_of(
        fmt::format("timeout -k 5 100 {} --allow-run-as-root --oversubscribe -n {} {} {} 150 2>&1",
                    TOUCHSTONE_MPIRUN, ranks, TOUCHSTONE_PROGRAMS, ranks));
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_EQ(count(ended.out, " ok "), static_cast<std::size_t>(ranks)) << ended.out;
  }
}

TEST_F(Mpi, ARankThatStandsStillIsAnErrorWithinThePatience) {
  const Ended ended = run(3, "stalls");
  EXPECT_NE(ended.code, 0);
  for (const char* rank : {"rank 0 ERROR", "rank 2 ERROR", "no message for 2 s"})
    EXPECT_THAT(ended.out, HasSubstr(rank));
  EXPECT_LT(ended.seconds, 20) << ended.out;
}

TEST_F(Mpi, ValuesOfOtherRanksAndRanksThatAreNot) {
  EXPECT_THAT(
      run(2, "foreign").out,
      HasSubstr("rank 1 ERROR the values of CLANG@0 belong to another rank; copy them to CPU"));
  const Ended ended = run(2, "nowhere");
  EXPECT_EQ(count(ended.out, "there is no device 'CLANG@2'"), 2U) << ended.out;
  EXPECT_NE(ended.code, 0);
}

#ifdef TOUCHSTONE_COMMAND
// Any number of ranks or devices gives the same network, also when stopped and resumed.
TEST_F(Mpi, TheCommandTrainsUnderMpirun) {
  const auto file = std::filesystem::temp_directory_path() / "touchstone_train_test.safetensors";
  const auto last = [](const Ended& ended) {
    EXPECT_EQ(ended.code, 0) << ended.out;
    const std::size_t at = ended.out.find("epoch 2/2");
    return at == std::string::npos ? ended.out : ended.out.substr(at, 80).substr(0, 60);
  };
  const auto train = [&](const std::string& with) {
    return ended_of(fmt::format("timeout 100 {} train digits {} 2>&1", TOUCHSTONE_COMMAND, with));
  };
  const auto under = [&](int ranks, const std::string& with) {
    return ended_of(fmt::format(
        "timeout 100 {} --allow-run-as-root --oversubscribe -n {} {} train digits {} 2>&1",
        TOUCHSTONE_MPIRUN, ranks, TOUCHSTONE_COMMAND, with));
  };
  const std::string one = last(train("--epochs 2"));
  EXPECT_THAT(one, HasSubstr("87.67 % of held-out digits"));
  const auto same = [&](const std::string& other) {
    EXPECT_EQ(other.substr(0, other.find('%')), one.substr(0, one.find('%')));
  };
  same(last(train("--epochs 2 --devices CLANG:0,CLANG:1 --tensor-parallel 2")));
  const std::string four = "--epochs 2 --devices CLANG:0,CLANG:1,CLANG:2,CLANG:3 ";
  same(last(train(four + "--data-parallel 2 --tensor-parallel 2")));
  EXPECT_THAT(train(four + "--data-parallel 3 --tensor-parallel 2").out,
              HasSubstr("--data-parallel 3 and --tensor-parallel 2 need 6 devices, not 4"));
  EXPECT_THAT(train(four + "--tensor-parallel 2 --batch 7").out,
              HasSubstr("a batch of 7 does not divide into 2 shards"));
  EXPECT_EQ(under(4, "--epochs 1 --tensor-parallel 2 --checkpoint " + file.string()).code, 0);
  same(last(train(four + "--tensor-parallel 2 --resume --checkpoint " + file.string())));
  EXPECT_EQ(under(2, "--epochs 1 --checkpoint " + file.string()).code, 0);
  same(last(under(3, "--epochs 2 --resume --checkpoint " + file.string())));
  EXPECT_NE(under(2, "--epochs 1 --batch 7").code, 0);
  EXPECT_THAT(under(2, "--epochs 1 --batch 7").out, HasSubstr("does not divide into 2 shards"));
  std::filesystem::remove(file);
}
#endif

TEST_F(Mpi, PatienceIsANumberOfSeconds) {
  setenv("TOUCHSTONE_MPI_PATIENCE", "soon", 1);
  EXPECT_THAT(test::error_of([] { MpiOptions::from_environment(); }),
              HasSubstr("TOUCHSTONE_MPI_PATIENCE is 'soon'"));
  setenv("TOUCHSTONE_MPI_PATIENCE", "7", 1);
  EXPECT_EQ(MpiOptions::from_environment().patience, std::chrono::seconds(7));
  unsetenv("TOUCHSTONE_MPI_PATIENCE");
  EXPECT_EQ(MpiOptions::from_environment().patience, std::chrono::seconds(60));
}

}  // namespace
}  // namespace touchstone
