// Compiled objects on disk: damaged, unwritable, foreign, shared by processes.
#include "touchstone/clang/object_cache.h"

#include <atomic>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "outside.h"

namespace touchstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(ClangCache, ServesLaterDevices) {
  const CountingCompiler compiler;
  const TemporaryDirectory cache;
  ClangOptions options;
  options.compiler = compiler.path();
  options.cache_dir = cache.path() / "new" / "folder";
  expect_works(*make_clang_device("A", options));
  expect_works(*make_clang_device("B", options));
  EXPECT_EQ(compiler.count(), 1);
  options.opt_level = 1;  // other flags, another object
  expect_works(*make_clang_device("C", options));
  EXPECT_EQ(compiler.count(), 2);
}

TEST(ClangCache, DamagedEntryIsCompiledAgain) {
  const CountingCompiler compiler;
  const TemporaryDirectory cache;
  ClangOptions options;
  options.compiler = compiler.path();
  options.cache_dir = cache.path();
  expect_works(*make_clang_device("A", options));
  const fs::path entry = files_in(cache.path()).at(0);
  const std::string good = read_file(entry);
  std::string flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x40);
  int compilations = 1;
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), std::string(), flipped, good.substr(0, good.size() - 1)}) {
    write_file_atomically(entry, bad);
    expect_works(*make_clang_device("B", options));
    EXPECT_EQ(compiler.count(), ++compilations);
    EXPECT_EQ(read_file(entry).size(), good.size());
    EXPECT_EQ(files_in(cache.path()).size(), 1U);
  }
}

std::string store_error(clang::ObjectCache& cache, std::size_t bytes) {
  const std::vector<std::string> keys{"key"};
  try {
    cache.store(keys, std::string(bytes, 'x'));
  } catch (const SystemError& e) {
    return e.what();
  }
  return "no error";
}

TEST(ClangCache, ADefaultOneThatCannotBeWrittenGivesWayToATemporaryOne) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "touchstone";
  write_file_atomically(file, "in the way");
  const Environment cache("XDG_CACHE_HOME", folder.path().c_str());
  expect_works(*make_clang_device("A", ClangOptions()));
  EXPECT_EQ(read_file(file), "in the way");
  clang::ObjectCache nowhere("");
  const Environment temporary("TMPDIR", "/proc");
  EXPECT_THAT(store_error(nowhere, 6),
              AllOf(HasSubstr(file.string()), HasSubstr("TOUCHSTONE_CACHE")));
}

TEST(ClangCache, ANamedOneThatCannotBeWrittenIsAClearError) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "file";
  write_file_atomically(file, "in the way");
  ClangOptions options;
  options.cache_dir = file;
  EXPECT_THAT(error_of(*make_clang_device("A", options)),
              AllOf(HasSubstr(file.string()), HasSubstr("TOUCHSTONE_CACHE")));
  EXPECT_EQ(read_file(file), "in the way");
}

// An object planted by another user must not run with this user's rights.
TEST(ClangCache, WhatOthersMayWriteIsNotUsed) {
  const TemporaryDirectory folder;
  const fs::path open = folder.path() / "touchstone";
  fs::create_directory(open);
  for (const mode_t mode : {0777U, 01777U, 0770U}) {
    ASSERT_EQ(::chmod(open.c_str(), mode), 0);
    ClangOptions options;
    options.cache_dir = open;
    EXPECT_THAT(error_of(*make_clang_device("A", options)),
                AllOf(HasSubstr(open.string()), HasSubstr("other users may write"),
                      HasSubstr("TOUCHSTONE_CACHE")));
    const Environment cache("XDG_CACHE_HOME", folder.path().c_str());
    ::testing::internal::CaptureStderr();
    expect_works(*make_clang_device("B", ClangOptions()));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr(open.string()), HasSubstr("temporary folder")));
  }
  EXPECT_TRUE(files_in(open).empty());
  const fs::path link = folder.path() / "link";
  fs::create_symlink(open, link);
  ClangOptions options;
  options.cache_dir = link;
  EXPECT_THAT(error_of(*make_clang_device("A", options)), HasSubstr("a link"));
  // A folder that others can only read is closed to them.
  ASSERT_EQ(::chmod(open.c_str(), 0755), 0);
  options.cache_dir = open;
  expect_works(*make_clang_device("A", options));
  EXPECT_EQ(fs::status(open).permissions(), fs::perms::owner_all);
}

TEST(ClangCache, NoLinkIsFollowedNorFileOfOthersLoaded) {
  const TemporaryDirectory folder, elsewhere;
  const CountingCompiler compiler;
  ClangOptions options;
  options.cache_dir = folder.path();
  options.compiler = compiler.path();
  expect_works(*make_clang_device("A", options));
  const fs::path object = files_in(folder.path()).at(0), target = elsewhere.path() / "target";
  const auto compiled = [&] {
    const int before = compiler.count();
    expect_works(*make_clang_device("B", options));
    return compiler.count() - before;
  };
  ASSERT_EQ(compiled(), 0);
  fs::rename(object, target);
  const std::string sealed = read_file(target);
  fs::create_symlink(target, object);
  EXPECT_EQ(compiled(), 1) << "a link, though to a sealed object";
  EXPECT_EQ(read_file(target), sealed) << "and it is not written through";
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(object)));
  EXPECT_EQ(fs::status(object).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(object, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(compiled(), 1) << "others may have written it";
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(object.c_str(), 12345, 12345), 0);
    EXPECT_EQ(compiled(), 1) << "it is another user's";
    ASSERT_EQ(::chown(folder.path().c_str(), 12345, 12345), 0);
    EXPECT_THAT(error_of(*make_clang_device("A", options)), HasSubstr("another user"));
    ASSERT_EQ(::chown(folder.path().c_str(), 0, 0), 0);
  }
}

// The same version and flags; only the script differs.
TEST(ClangCache, AnotherProgramMakesObjectsOfItsOwn) {
  const TemporaryDirectory folder;
  const CountingCompiler first, second;
  ClangOptions options;
  options.cache_dir = folder.path();
  for (const CountingCompiler* compiler : {&first, &second, &first}) {
    options.compiler = compiler->path();
    expect_works(*make_clang_device("A", options));
  }
  EXPECT_EQ(first.count(), 1);
  EXPECT_EQ(second.count(), 1);
}

TEST(ClangCache, BeyondItsSizeTheLeastRecentlyUsedObjectsGo) {
  const TemporaryDirectory dir;  // locked while it lives
  const fs::path folder = dir.path() / "objects";
  constexpr std::uint64_t kObject = 64 << 10;
  const auto key = [](int i) { return fmt::format("k{:02}", i); };
  clang::ObjectCache cache(folder, 10 * kObject);
  const auto object_of = [&](int i) {
    const std::vector<std::string> keys{key(i), key(i) + "b"};
    cache.store(keys, std::string(kObject - 4096, 'x'));
    const auto made = fs::file_time_type::clock::now() - std::chrono::hours(100 - i);
    fs::last_write_time(folder / (key(i) + ".so"), made);
  };
  for (int i = 0; i < 8; ++i) object_of(i);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(fs::exists(folder / (key(i) + ".so")));
  EXPECT_TRUE(cache.find(key(0)).has_value());  // counts as its use
  for (int i = 8; i < 40; ++i) {
    object_of(i);
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size() / 2;
    EXPECT_LE(bytes, 10 * kObject);
    EXPECT_GE(bytes, 7 * kObject);
  }
  EXPECT_TRUE(cache.find(key(0)).has_value());
  EXPECT_TRUE(cache.find(key(0) + "b").has_value());
  EXPECT_FALSE(cache.find(key(1)).has_value());
  EXPECT_FALSE(cache.find(key(1) + "b").has_value());
  for (int i = 34; i < 40; ++i) EXPECT_TRUE(cache.find(key(i)).has_value()) << i;
}

// Kernels compiled together are one object, found by each of them, even if another process
// meanwhile stores the first one in other company.
TEST(ClangCache, WhatIsStoredTogetherIsFoundTogether) {
  const TemporaryDirectory folder;
  std::atomic<int> wrong = 0;
  const auto stores = [&](const std::string& own) {
    clang::ObjectCache cache(folder.path());
    for (int i = 0; i < 200; ++i) {
      const std::string mine = own + std::to_string(i);
      cache.store(std::vector<std::string>{"first", mine}, mine);
      wrong += cache.read(mine) != mine || !cache.read("first");
    }
  };
  std::thread other(stores, "a");
  stores("b");
  other.join();
  EXPECT_EQ(wrong, 0);
  for (const auto& file : fs::directory_iterator(folder.path()))
    EXPECT_EQ(file.path().extension(), ".so");
}

// Another object replaces a kernel's file after its own was loaded.
TEST(ClangCache, AnObjectOfOtherKernelsIsCompiledAnew) {
  const auto kernel = [](Op op) {
    const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({5}));
    return stored(LazyOp::binary(op, x, x));
  };
  const std::vector<float> x{1, 2, 3, 4, 5}, doubled{2, 4, 6, 8, 10}, squared{1, 4, 9, 16, 25};
  for (const bool first : {true, false}) {
    const TemporaryDirectory folder;
    ClangOptions options;
    options.cache_dir = folder.path();
    for (const bool exchanged : {false, true}) {
      const auto device = make_clang_device("A", options);
      EXPECT_EQ(run<float>(*device, kernel(Op::Add), {x}), doubled);
      EXPECT_EQ(run<float>(*device, kernel(Op::Mul), {x}), squared);
      if (exchanged) continue;
      std::vector<fs::path> files = files_in(folder.path());
      ASSERT_EQ(files.size(), 2U);
      if (first) std::swap(files[0], files[1]);
      fs::remove(files[0]);
      fs::create_hard_link(files[1], files[0]);
    }
  }
}

TEST(ClangCache, AFullDiskIsAClearErrorAndLeavesNothing) {
  const TemporaryDirectory folder;
  clang::ObjectCache cache(folder.path());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = store_error(cache, 1 << 20);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr(folder.path().string()), HasSubstr("free space")));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(store_error(cache, 1 << 20), "no error");
}

}  // namespace
}  // namespace touchstone
