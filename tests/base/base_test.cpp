#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/base/html.h"
#include "touchstone/base/line_log.h"
#include "touchstone/base/private_folder.h"
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

mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

TEST(File, ANewFileHasWhatTheUmaskLeavesAndAnOldOneKeepsItsMode) {
  const TemporaryDirectory dir;
  const mode_t before = ::umask(0);
  for (const mode_t umask : {0U, 022U, 027U, 077U}) {
    ::umask(umask);
    const auto path = dir.path() / std::to_string(umask);
    write_file_atomically(path, "one");
    EXPECT_EQ(mode_of(path), 0666 & ~umask);
    for (const mode_t mode : {0600U, 0640U, 0644U, 0755U}) {
      ::chmod(path.c_str(), mode);
      write_file_atomically(path, "two");
      EXPECT_EQ(mode_of(path), mode);
    }
  }
  ::umask(before);
}

TEST(File, ALinkThatAnotherUserMadeIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const TemporaryDirectory dir;
  const auto target = dir.path() / "target", link = dir.path() / "link";
  write_file_atomically(target, "kept");
  std::filesystem::create_symlink(target, link);
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_THROW(write_file_atomically(link, "lost"), SystemError);
  EXPECT_EQ(read_file(target), "kept");
}

// As seen by a later process.
TEST(TemporaryDirectories, ThoseThatKilledProcessesLeftGoWithTheNext) {
  const TemporaryDirectory dir;
  const char* const set = std::getenv("TMPDIR");
  const std::string tmpdir = set == nullptr ? "" : set;
  ::setenv("TMPDIR", dir.path().c_str(), 1);
  std::filesystem::path left, lives;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<pid_t> makers;
  for (std::filesystem::path* path : {&left, &lives}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const TemporaryDirectory own("touchstone-part");
      write_file_atomically(own.path() / "file", "x");
      const std::string text = own.path().string();
      [[maybe_unused]] const ssize_t n = ::write(ends[1], text.data(), text.size());
      for (;;) ::pause();
    }
    makers.push_back(pid);
    char text[4096];
    const ssize_t n = ::read(ends[0], text, sizeof text);
    *path = std::string(text, static_cast<std::size_t>(n));
  }
  const auto end = [](pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  };
  end(makers[0]);
  const auto mine = dir.path() / "touchstone-results",
             new_one = dir.path() / "touchstone.tmp-abcdef";
  std::filesystem::create_directory(mine);
  std::filesystem::create_directory(new_one);
  ::chmod(new_one.c_str(), 0700);
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& path : {left, lives, mine}) std::filesystem::last_write_time(path, old);
  EXPECT_TRUE(std::filesystem::exists(left / "file"));
  { const TemporaryDirectory next; }
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(lives / "file")) << "its maker lives";
  EXPECT_TRUE(std::filesystem::exists(mine)) << "a name of somebody else's";
  EXPECT_TRUE(std::filesystem::exists(new_one)) << "its maker may not have come to lock it";
  end(makers[1]);
  tmpdir.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", tmpdir.c_str(), 1);
}

std::string why_not(const std::filesystem::path& path) {
  try {
    const PrivateFolder folder(path);
    return "";
  } catch (const SystemError& e) {
    return e.what();
  }
}

TEST(PrivateFolder, IsOursAndClosedToOthers) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "a" / "b";
  EXPECT_EQ(why_not(path), "");
  EXPECT_EQ(mode_of(path), 0700U);
  ::chmod(path.c_str(), 0755);
  EXPECT_EQ(why_not(path.string() + "/"), "");
  EXPECT_EQ(mode_of(path), 0700U);
  for (const mode_t mode : {0777U, 01777U, 0702U, 0720U}) {
    ::chmod(path.c_str(), mode);
    EXPECT_NE(why_not(path).find("other users may write"), std::string::npos) << why_not(path);
    EXPECT_EQ(mode_of(path), mode) << "it is left as it is";
  }
  ::chmod(path.c_str(), 0777);
  EXPECT_THROW(make_own_folder(path), SystemError);
  ::chmod(path.c_str(), 0775);
  make_own_folder(path);
  std::filesystem::create_symlink(path, dir.path() / "link");
  EXPECT_NE(why_not(dir.path() / "link").find("a link"), std::string::npos);
  write_file_atomically(dir.path() / "file", "");
  EXPECT_NE(why_not(dir.path() / "file"), "");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_NE(why_not(path).find("another user"), std::string::npos);
  EXPECT_THROW(make_own_folder(path), SystemError);
}

std::string why_not_own(const std::filesystem::path& path) {
  try {
    make_own_folder(path);
    return "";
  } catch (const SystemError& e) {
    return e.what();
  }
}

TEST(OwnFolder, NoLevelOfItIsALinkOrFolderOfAnotherUser) {
  using testing::HasSubstr;
  const TemporaryDirectory dir;
  const auto findings = dir.path() / "findings", elsewhere = dir.path() / "elsewhere";
  EXPECT_EQ(why_not_own(findings / "kernel-1"), "");
  EXPECT_EQ(why_not_own(elsewhere), "");
  std::filesystem::create_symlink(elsewhere, findings / "kernel-2");
  EXPECT_THAT(why_not_own(findings / "kernel-2"), HasSubstr("is a link, which is not followed"));
  EXPECT_EQ(why_not_own(findings / "kernel-2" / "deeper"), "") << "a link of ours on the way";
  EXPECT_TRUE(std::filesystem::is_directory(elsewhere / "deeper"));
  std::filesystem::create_symlink("../elsewhere/../findings", findings / "kernel-3");
  EXPECT_EQ(why_not_own(findings / "kernel-3" / "kernel-1" / "x"), "");
  std::filesystem::create_symlink("loop", findings / "loop");
  EXPECT_NE(why_not_own(findings / "loop" / "x"), "");
  ::chmod(findings.c_str(), 0777);
  EXPECT_THAT(why_not_own(findings / "kernel-1"), HasSubstr("every user may write to it"));
  ::chmod(findings.c_str(), 01777);
  EXPECT_EQ(why_not_own(findings / "kernel-1"), "");
  if (::geteuid() != 0) GTEST_SKIP() << "to give folders away takes root";
  ::chmod(findings.c_str(), 0755);
  const auto in = findings / "kernel-1" / "in";
  ASSERT_EQ(::lchown((findings / "kernel-2").c_str(), 1234, 1234), 0);
  EXPECT_THAT(why_not_own(findings / "kernel-2" / "deeper"),
              HasSubstr("link owned by another user"));
  ASSERT_EQ(::chown((findings / "kernel-1").c_str(), 1234, 1234), 0);
  EXPECT_THAT(why_not_own(findings / "kernel-1"), HasSubstr("belongs to another user"));
  EXPECT_THAT(why_not_own(in), HasSubstr("belongs to another user"));
  EXPECT_FALSE(std::filesystem::exists(in));
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(findings / "kernel-1");
  EXPECT_EQ(why_not_own("in"), "") << "the working folder is the caller's choice";
  std::filesystem::current_path(here);
}

// Creates a file of `kibibytes`, last used `seconds` ago.
void used_before(const PrivateFolder& folder, const std::string& name, int kibibytes, int seconds) {
  folder.write(name, std::string(static_cast<std::size_t>(kibibytes) << 10, 'x'));
  std::filesystem::last_write_time(
      folder.path() / name,
      std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

std::string names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

TEST(PrivateFolder, TheLeastRecentlyUsedFilesGoFirst) {
  const TemporaryDirectory dir;
  const PrivateFolder folder(dir.path() / "folder");
  used_before(folder, "a.so", 64, 7200);
  used_before(folder, "b.so", 64, 9000);
  used_before(folder, "c.so", 64, 8000);
  used_before(folder, "d.so", 64, 500);
  used_before(folder, "e.so", 64, 5);
  used_before(folder, "f.txt", 64, 90000);
  used_before(folder, "g.so.1-1.tmp", 64, 90000);
  used_before(folder, "h.so.1-2.tmp", 64, 5);
  std::filesystem::create_hard_link(folder.path() / "a.so", folder.path() / "a2.so");
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "link.so");
  ASSERT_EQ(folder.trim(".so", 320 << 10), 320U << 10) << "two names are one file";
  EXPECT_EQ(names_in(folder.path()), "a.so a2.so b.so c.so d.so e.so f.txt h.so.1-2.tmp link.so ");
  folder.mark_used("b.so");
  EXPECT_EQ(folder.trim(".so", 256 << 10), 256U << 10);
  EXPECT_EQ(names_in(folder.path()), "a.so a2.so b.so d.so e.so f.txt h.so.1-2.tmp link.so ");
  EXPECT_EQ(folder.trim(".so", 255 << 10), 192U << 10);
  EXPECT_EQ(names_in(folder.path()), "b.so d.so e.so f.txt h.so.1-2.tmp link.so ") << "both names";
  EXPECT_EQ(folder.trim(".so", 0), 128U << 10) << "b and e were used just now";
  EXPECT_EQ(names_in(folder.path()), "b.so e.so f.txt h.so.1-2.tmp link.so ");
  EXPECT_EQ(folder.trim(".so", 0, std::chrono::seconds(0)), 0U);
  EXPECT_EQ(names_in(folder.path()), "f.txt h.so.1-2.tmp link.so ");
  EXPECT_TRUE(std::filesystem::exists("/etc/passwd"));
}

TEST(PrivateFolder, OneProcessTrimsAtATime) {
  const TemporaryDirectory dir;
  const PrivateFolder folder(dir.path() / "folder");
  used_before(folder, "a.so", 4, 7200);
  const int other = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_EQ(folder.trim(".so", 0), std::nullopt);
  EXPECT_EQ(names_in(folder.path()), "a.so ");
  ::close(other);
  EXPECT_EQ(folder.trim(".so", 0), 0U);
}

TEST(PrivateFolder, NothingInItIsFollowed) {
  const TemporaryDirectory dir;
  const auto path = dir.path() / "folder", target = dir.path() / "target";
  const PrivateFolder folder(path);
  write_file_atomically(target, "kept");
  std::filesystem::create_symlink(target, path / "a");
  EXPECT_EQ(folder.read("a", 100), std::nullopt);
  folder.write("a", "mine");
  EXPECT_EQ(folder.read("a", 4), "mine");
  EXPECT_EQ(folder.read("a", 3), std::nullopt) << "too large";
  EXPECT_EQ(read_file(target), "kept");
  std::filesystem::create_symlink(target, path / "b");
  const std::vector<std::string> names{"a", "b", "b"};
  folder.write(names, "mine");
  folder.write(names, "mine");
  EXPECT_TRUE(std::filesystem::equivalent(path / "a", path / "b"));
  EXPECT_EQ(folder.read("b", 100), "mine");
  EXPECT_EQ(read_file(target), "kept");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 2);
  ::chmod((path / "a").c_str(), 0620);
  EXPECT_EQ(folder.read("a", 100), std::nullopt);
  ::mkfifo((path / "pipe").c_str(), 0600);
  EXPECT_EQ(folder.read("pipe", 100), std::nullopt);
  EXPECT_EQ(folder.read("none", 100), std::nullopt);
  // Another folder takes the name; the checked folder is still the one used.
  std::filesystem::rename(path, dir.path() / "moved");
  std::filesystem::create_directory(path);
  folder.write("c", "here");
  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(read_file(folder.anchored("c")), "here");
}

TEST(File, AMissingFolderIsAnErrorAndStaysMissing) {
  const TemporaryDirectory dir;
  const auto target = dir.path() / "missing" / "a.txt";
  EXPECT_THROW(write_file_atomically(target, "x"), SystemError);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST(File, AFullDiskLosesNothing) {
  // A file size limit stops the write halfway, like a full disk.
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
  ASSERT_GE(listener, 0);
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
  EXPECT_NE(refusal(path, 2).find("it has 3 bytes; the limit is 2"), std::string::npos);
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
  // Invalid UTF-8: a lone byte, an overlong form, a lone surrogate, beyond the last code point,
  // truncated.
  EXPECT_EQ(visible("\x9b[\xc0\x8a\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80"),
            "\\x9b[\\xc0\\x8a\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x80");
  EXPECT_EQ(visible("aöüb", 3), "aöü...");
  EXPECT_EQ(visible("abc", 3), "abc");
  EXPECT_EQ(visible_lines("one\ntwo\x1b\r\n"), "one\ntwo\\x1b\\r\n");
}

// For any bytes, no control character remains and the rest is UTF-8.
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

TEST(Html, WhatWouldBeMarkupIsText) {
  EXPECT_EQ(html_text("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; 'd'");
  EXPECT_EQ(html_text("&lt;"), "&amp;lt;");
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
