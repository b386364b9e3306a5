#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <sys/resource.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/suggest.h"

namespace touchstone {
namespace {

TEST(Checked, DivisionFloorsForAllSigns) {
  EXPECT_EQ(floor_div(7, 2), 3);
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(floor_div(7, -2), -4);
  EXPECT_EQ(floor_mod(-7, 2), 1);
  EXPECT_EQ(floor_mod(7, -2), -1);
  EXPECT_EQ(ceil_div(7, 2), 4);
  EXPECT_EQ(ceil_div(-7, 2), -3);
}

TEST(Checked, OverflowIsAnErrorThatNamesTheOperands) {
  EXPECT_THROW(checked_add(INT64_MAX, 1), OverflowError);
  EXPECT_THROW(checked_sub(INT64_MIN, 1), OverflowError);
  EXPECT_THROW(checked_mul(INT64_MAX, 2), OverflowError);
  EXPECT_EQ(checked_mul(-3, 4), -12);
}

TEST(File, AWriteReplacesTheWholeFileAndLeavesNoNeighbour) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "a.txt";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(File, AMissingFolderIsAnErrorAndStaysMissing) {
  const TemporaryDirectory dir;
  const auto target = dir.path() / "missing" / "a.txt";
  EXPECT_THROW(write_file_atomically(target, "x"), SystemError);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST(File, AFullDiskLosesNothing) {
  // A limit on the size of files stops the write in its middle, as a full disk does.
  const TemporaryDirectory dir;
  const auto path = dir.path() / "a.txt";
  write_file_atomically(path, "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_THROW(write_file_atomically(path, std::string(5000, 'x')), SystemError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(File, WhatIsNoFileIsWrittenToAndNotReplaced) {
  const TemporaryDirectory dir;
  const auto device = dir.path() / "null";
  std::filesystem::create_symlink("/dev/null", device);
  write_file_atomically(device, "x");
  EXPECT_TRUE(std::filesystem::is_character_file(device));
  EXPECT_TRUE(std::filesystem::is_symlink(device));
  EXPECT_THROW(write_file_atomically("/dev/full", "x"), SystemError);
  const auto file = dir.path() / "file", link = dir.path() / "link";
  write_file_atomically(file, "one");
  std::filesystem::create_symlink("file", link);
  write_file_atomically(link, "two");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(file), "two");
}

TEST(File, DirectoriesOfOwnersThatNeverGoVanishAtTheExit) {
  EXPECT_EXIT(
      {
        const auto* const owner = new TemporaryDirectory("touchstone-exit");
        std::fprintf(stderr, "made %s\n", owner->path().c_str());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "made");
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("touchstone-exit"));
}

TEST(File, AMissingFileIsNamed) {
  try {
    read_file("/nonexistent/kernel.json");
    FAIL();
  } catch (const SystemError& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/kernel.json"), std::string::npos);
  }
}

TEST(File, TemporaryDirectoriesVanish) {
  std::filesystem::path path;
  {
    const TemporaryDirectory dir;
    path = dir.path();
    std::ofstream(path / "x") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Hash, ContentHashIsTheSameOnEveryMachine) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");  // xxHash's own XXH3-128 of ""
  EXPECT_NE(content_hash("a"), content_hash("b"));
  EXPECT_EQ(content_hash("abc").size(), 32U);
}

TEST(Suggest, NamesTheNearestWordOrNothing) {
  const std::string_view words[] = {"permute", "reshape", "pad"};
  EXPECT_EQ(did_you_mean("reshap", words), "; did you mean 'reshape'?");
  EXPECT_EQ(did_you_mean("zzzzzzzzz", words), "");
  EXPECT_EQ(edit_distance("ADD", "add"), 0);
}

}  // namespace
}  // namespace touchstone
