#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/line_log.h"
#include "touchstone/base/suggest.h"
#include "touchstone/base/visible.h"

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

std::string refusal(const std::filesystem::path& path, std::uint64_t most = kMostText) {
  try {
    read_file(path, most);
  } catch (const SystemError& e) {
    return e.what();
  }
  return "it was read";
}

TEST(File, OnlyRegularFilesAreRead) {
  const TemporaryDirectory dir;
  const auto at = [&](const char* name) { return dir.path() / name; };
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", at("zero"));
  std::filesystem::create_symlink("pipe", at("link"));
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(refusal(at("pipe")).find("it is a pipe; only regular files"), std::string::npos);
  EXPECT_NE(refusal(at("link")).find("it is a pipe"), std::string::npos);
  EXPECT_NE(refusal(at("zero")).find("it is a device"), std::string::npos);
  EXPECT_NE(refusal("/dev/zero").find("it is a device"), std::string::npos);
  EXPECT_NE(refusal(dir.path()).find("it is a directory"), std::string::npos);
  EXPECT_NE(refusal(at("socket")).find("it is a socket"), std::string::npos);
  ::close(listener);
}

TEST(File, ASizeIsAskedBeforeAnythingIsRead) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "sparse";
  write_file_atomically(path, std::string("a\0b", 3));
  EXPECT_EQ(read_file(path), std::string("a\0b", 3));
  EXPECT_EQ(read_file(path, 3).size(), 3U);
  EXPECT_NE(refusal(path, 2).find("it has 3 bytes, at most 2 are read"), std::string::npos);
  std::filesystem::resize_file(path, 20'000'000'000);
  EXPECT_NE(refusal(path).find("it has 20000000000 bytes"), std::string::npos);
}

TEST(File, AFileThatEndsEarlierThanItSaidIsNamed) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "shrinks";
  write_file_atomically(path, std::string(1000, 'x'));
  const InputFile file(path);
  std::filesystem::resize_file(path, 10);
  EXPECT_EQ(file.read(0, 10), std::string(10, 'x'));
  EXPECT_THROW((void)file.read(0, 1000), SystemError);
}

TEST(LineLog, GoesOnBehindTheLastWholeLine) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "log";
  {
    LineLog log(path, "first", false);
    EXPECT_TRUE(log.lines().empty());
    log.add("one");
    log.add("two");
    EXPECT_THROW(LineLog(path, "first", true), SystemError) << "somebody writes to it";
  }
  EXPECT_THROW(LineLog(path, "first", false), ParseError) << "it was not asked for";
  EXPECT_THROW(LineLog(path, "other", true), ParseError);
  std::ofstream(path, std::ios::app) << "three, cut he";
  {
    LineLog log(path, "first", true);
    EXPECT_EQ(log.lines(), (std::vector<std::string>{"one", "two"}));
    log.add("three");
  }
  EXPECT_EQ(read_file(path), "first\none\ntwo\nthree\n");
  std::ofstream(path) << "fir";  // killed in its first line
  LineLog(path, "first", true).add("one");
  EXPECT_EQ(read_file(path), "first\none\n");
}

TEST(LineLog, IsARegularFile) {
  const TemporaryDirectory dir;
  const auto pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {pipe, std::filesystem::path("/dev/null"), dir.path(), dir.path() / "no" / "log"})
    EXPECT_THROW(LineLog(path, "first", true), SystemError) << path;
}

TEST(Visible, WhatATerminalWouldObeyIsSpelledOut) {
  EXPECT_EQ(visible("plain, \\ and Größe 数"), "plain, \\ and Größe 数");
  EXPECT_EQ(visible("\x1b[2J\a\nPASS\r\t"), "\\x1b[2J\\x07\\nPASS\\r\\t");
  EXPECT_EQ(visible(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(visible("\u009b31m\u202egnp.\u2066\u200b\ufeff\u2028"),
            "\\u{9b}31m\\u{202e}gnp.\\u{2066}\\u{200b}\\u{feff}\\u{2028}");
  EXPECT_EQ(visible("\U000e0041\U0001d173"), "\\u{e0041}\\u{1d173}");
  // No UTF-8: a byte alone, an overlong form, half of a pair, above the last, cut.
  EXPECT_EQ(visible("\x9b[\xc0\x8a\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80"),
            "\\x9b[\\xc0\\x8a\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x80");
  EXPECT_EQ(visible("aöüb", 3), "aöü...");
  EXPECT_EQ(visible("abc", 3), "abc");
  EXPECT_EQ(visible_lines("one\ntwo\x1b\r\n"), "one\ntwo\\x1b\\r\n");
}

// Whatever the bytes, no control character is left and the rest is UTF-8.
TEST(Visible, NoByteGetsThroughThatMovesAnything) {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second), 'x'};
      const std::string out = visible(text);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto c = static_cast<unsigned char>(out[i]);
        ASSERT_TRUE(c >= 0x20 && c != 0x7f) << first << ' ' << second;
        if (c < 0x80) continue;
        ASSERT_TRUE(c >= 0xc2 && i + 1 < out.size()) << first << ' ' << second;
        const auto next = static_cast<unsigned char>(out[++i]);
        ASSERT_EQ(next & 0xc0, 0x80) << first << ' ' << second;
        ASSERT_FALSE(c == 0xc2 && (next < 0xa0 || next == 0xad)) << first << ' ' << second;
      }
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
