// Failures of the world outside: no compiler, bad source, damaged or unwritable cache.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xmmintrin.h>

#include "harness.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/clang/object_cache.h"

namespace touchstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
namespace fs = std::filesystem;

LazyOpPtr doubling(std::int64_t size) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({size}));
  return stored(LazyOp::binary(Op::Add, x, x));
}

void expect_works(Device& device) {
  EXPECT_EQ(run<float>(device, doubling(3), {{1, 2, 3}}), (Floats{2, 4, 6}));
}

std::string error_of(Device& device) {
  try {
    device.runner(doubling(3));
  } catch (const SystemError& e) {
    return e.what();
  }
  return "no error";
}

// A compiler that counts its compilations and hands on to the true one.
struct CountingCompiler {
  CountingCompiler() {
    std::ofstream(path()) << "#!/bin/sh\n[ \"$1\" = --version ] || echo x >> "
                          << (folder.path() / "count").string() << "\nexec clang-19 \"$@\"\n";
    ::chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder.path() / "cc").string(); }
  int count() const {
    const fs::path file = folder.path() / "count";
    return fs::exists(file) ? static_cast<int>(read_file(file).size() / 2) : 0;
  }
  TemporaryDirectory folder;
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(ClangCompiler, MissingSaysWhatToInstall) {
  ClangOptions options;
  options.compiler = "no-such-compiler";
  const TestDevice device(options);
  EXPECT_THAT(error_of(*device),
              AllOf(HasSubstr("no-such-compiler"), HasSubstr("apt-get install clang-19"),
                    HasSubstr("TOUCHSTONE_CC")));
}

TEST(ClangCompiler, FailureShowsMessageAndNumberedSource) {
  ClangOptions options;
  options.extra_flags = {"-DpartS", "-Dpart=+"};
  const TestDevice device(options);
  EXPECT_THAT(error_of(*device),
              AllOf(HasSubstr("error:"), HasSubstr("   1 | typedef"), HasSubstr("void E_3_")));
  EXPECT_TRUE(files_in(device.cache.path()).empty());
}

TEST(ClangCompiler, LinksWhereTheLinkerAloneMissesSomething) {
  const TemporaryDirectory folder;
  const fs::path object = folder.path() / "divides.so";
  clang::Compiler({}).compile("__int128 divides(__int128 a, __int128 b) { return a / b; }", object);
  void* const library = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  EXPECT_NE(::dlsym(library, "divides"), nullptr);
  ::dlclose(library);
  EXPECT_EQ(files_in(folder.path()), std::vector{object});
}

TEST(ClangCompiler, ThatIsNoCompilerIsNamed) {
  ClangOptions options;
  options.compiler = "/bin/false";
  const TestDevice device(options);
  EXPECT_THAT(error_of(*device), HasSubstr("/bin/false"));
}

TEST(ClangCompiler, ManyKernelsTakeOneCall) {
  const CountingCompiler compiler;
  ClangOptions options;
  options.compiler = compiler.path();
  const TestDevice device(options);
  std::vector<LazyOpPtr> kernels;
  for (std::int64_t i = 1; i <= 12; ++i) kernels.push_back(doubling(1 + i % 6));
  (*device).prepare(kernels);
  EXPECT_EQ(compiler.count(), 1);
  EXPECT_EQ(files_in(device.cache.path()).size(), 6U);
  for (const LazyOpPtr& k : kernels) (*device).runner(k);
  EXPECT_EQ(compiler.count(), 1);
}

// A compiler that counts, and refuses what takes roots.
struct RootlessCompiler {
  RootlessCompiler() {
    const std::string source = (folder.path() / "source.c").string();
    std::ofstream(path()) << "#!/bin/sh\n[ \"$1\" != --version ] || exec clang-19 --version\n"
                          << "echo x >> " << (folder.path() / "count").string() << "\ncat > "
                          << source << "\nif grep -q 'sqrtf(' " << source
                          << "; then echo no roots; exit 1; fi\nexec clang-19 \"$@\" < " << source
                          << "\n";
    ::chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder.path() / "cc").string(); }
  std::size_t count() const { return read_file(folder.path() / "count").size() / 2; }
  TemporaryDirectory folder;
};

TEST(ClangUnkept, OneKernelThatIsRefusedLeavesTheOthers) {
  const RootlessCompiler compiler;
  ClangOptions options;
  options.compiler = compiler.path();
  options.keep = false;
  const TestDevice device(options);
  const LazyOpPtr root = stored(
      LazyOp::unary(Op::Sqrt, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({3}))));
  std::vector<LazyOpPtr> kernels{root};
  for (std::int64_t i = 1; i <= 7; ++i) kernels.push_back(doubling(i));
  EXPECT_THROW((*device).prepare(kernels), SystemError);
  const std::size_t searched = compiler.count();
  EXPECT_EQ(searched, 7U) << "of 8, 4, 2, 1, 1, 2, 4";
  expect_works(*device);
  for (std::int64_t i = 1; i <= 7; ++i) (*device).runner(doubling(i));
  EXPECT_EQ(compiler.count(), searched);
  try {
    (*device).runner(root);
    ADD_FAILURE() << "no error";
  } catch (const SystemError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("no roots"), HasSubstr("sqrtf")));
  }
  EXPECT_TRUE(files_in(device.cache.path()).empty());
}

TEST(ClangUnkept, KernelsThatDifferInNameAloneAreOne) {
  const CountingCompiler compiler;
  ClangOptions options;
  options.compiler = compiler.path();
  options.keep = false;
  const TestDevice device(options);
  const auto shaped = [](std::vector<sint> shape) {
    return stored(LazyOp::load(1, DType::Float32, ShapeTracker::contiguous(std::move(shape))));
  };
  const std::vector<LazyOpPtr> kernels{shaped({6}), shaped({2, 3}), shaped({3, 2})};
  (*device).prepare(kernels);
  for (const LazyOpPtr& k : kernels)
    EXPECT_EQ(run<float>(*device, k, {{1, 2, 3, 4, 5, 6}}), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(compiler.count(), 1);
}

TEST(ClangThreads, ShareAKernelOfAnySizeWhereAskedTo) {
  ClangOptions options = ClangOptions::from_environment();
  options.keep = false;
  options.threads = 3;
  options.parallel_work = 0;
  const TestDevice device(options);
  for (std::int64_t n = 1; n < 9; ++n) {
    const Floats x = counting<float>(n);
    Floats twice;
    for (const float v : x) twice.push_back(2 * v);
    EXPECT_EQ(run<float>(*device, doubling(n), {x}), twice);
  }
}

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

// Sets a variable of the environment for a while; null takes it away.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value != nullptr)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

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

// A sealed object that somebody put there must not be run: it would be this user's own doing.
TEST(ClangCache, WhatOthersMayWriteIsNotUsed) {
  const TemporaryDirectory folder;
  const fs::path open = folder.path() / "touchstone";
  fs::create_directory(open);
  for (const mode_t mode : {0777U, 01777U, 0770U}) {
    ASSERT_EQ(::chmod(open.c_str(), mode), 0);
    ClangOptions options;
    options.cache_dir = open;
    EXPECT_THAT(error_of(*make_clang_device("A", options)),
                AllOf(HasSubstr(open.string()), HasSubstr("others may write"),
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
  // One that others can read alone is closed to them.
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

// The same version and flags, and others that only the script knows of.
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
  const TemporaryDirectory dir;  // which is locked while it lives
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
  EXPECT_TRUE(cache.find(key(0)).has_value());  // which is its use
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

// A disk is full in the middle of a write: here a file may grow no further.
// Kernels that were compiled together are one object, which is found by each of them, whoever
// stores the first of them beside others meanwhile.
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

// An object that others put in the place of a kernel's, which is loaded already for its own.
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
  EXPECT_THAT(message, AllOf(HasSubstr(folder.path().string()), HasSubstr("make room")));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(store_error(cache, 1 << 20), "no error");
}

// A compiler that knows its version and then does something else.
struct ScriptedCompiler {
  explicit ScriptedCompiler(const std::string& script) {
    std::ofstream(path()) << "#!/bin/sh\n[ \"$1\" != --version ] || exec clang-19 --version\n"
                          << script;
    ::chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder.path() / "cc").string(); }
  TemporaryDirectory folder;
};

TEST(ClangCompiler, IsEndedWhereItTakesMoreThanItMay) {
  const auto limited = [](const std::string& script, bool keep) {
    const ScriptedCompiler compiler(script);
    ClangOptions options;
    options.compiler = compiler.path();
    options.keep = keep;
    options.compiler_limits.time = std::chrono::milliseconds(300);
    options.compiler_limits.output = 1 << 20;
    options.compiler_limits.refused.memory = std::uint64_t{512} << 20;
    const TestDevice device(options);
    return error_of(*device);
  };
  for (const bool keep : {true, false}) {
    EXPECT_THAT(limited("sleep 1000", keep),
                AllOf(HasSubstr("was ended as it compiled: it took longer than 0.3 s"),
                      HasSubstr("TOUCHSTONE_CC_SECONDS")));
    EXPECT_THAT(limited("exec >&- 2>&-; setsid sleep 1000", keep),
                HasSubstr("TOUCHSTONE_CC_SECONDS"));
    EXPECT_THAT(limited("exec yes", keep),
                AllOf(HasSubstr("it wrote more than 1 MiB"), HasSubstr("TOUCHSTONE_CC_OUTPUT")));
    EXPECT_THAT(limited("exec dd if=/dev/zero of=/dev/null bs=1G count=1", keep),
                AllOf(HasSubstr("more than 512 MiB of memory"), HasSubstr("TOUCHSTONE_CC_MEMORY")));
  }
}

TEST(ClangOptions, ThreadsMustBeANumber) {
  ::setenv("TOUCHSTONE_THREADS", "many", 1);
  EXPECT_THROW(ClangOptions::from_environment(), ParseError);
  ::setenv("TOUCHSTONE_THREADS", "3", 1);
  EXPECT_EQ(ClangOptions::from_environment().threads, 3);
  ::unsetenv("TOUCHSTONE_THREADS");
}

// The order of sums, and whether their products are rounded, by the environment.
TEST(ClangOptions, SayInWhichOrderAndHowSumsAreComputed) {
  const auto read = [](const char* order, const char* fma) {
    const Environment a("TOUCHSTONE_ORDER", order), b("TOUCHSTONE_FMA", fma);
    return ClangOptions::from_environment().codegen;
  };
  const bool here = fuses_products_at_once();
  EXPECT_EQ(read(nullptr, nullptr).order, TermOrder::RunningSums);
  EXPECT_EQ(read(nullptr, nullptr).contract, here);
  EXPECT_EQ(read("lanes", nullptr).contract, here);
  EXPECT_EQ(read("source", nullptr).order, TermOrder::Source);
  EXPECT_FALSE(read("source", nullptr).contract);
  EXPECT_TRUE(read("source", "1").contract);
  EXPECT_FALSE(read(nullptr, "0").contract);
  EXPECT_THROW(read("backwards", nullptr), ParseError);
  EXPECT_THROW(read(nullptr, "2"), ParseError);
}

TEST(ClangOptions, LimitsOfTheCompilerAreNumbers) {
  const Environment time("TOUCHSTONE_CC_SECONDS", "7"), output("TOUCHSTONE_CC_OUTPUT", "3"),
      memory("TOUCHSTONE_CC_MEMORY", "0");
  const process::Limits limits = ClangOptions::from_environment().compiler_limits;
  EXPECT_EQ(limits.time, std::chrono::seconds(7));
  EXPECT_EQ(limits.output, 3U << 20);
  EXPECT_EQ(limits.refused.memory, 0U);
  const Environment wrong("TOUCHSTONE_CC_SECONDS", "-1");
  EXPECT_THROW(ClangOptions::from_environment(), ParseError);
}

TEST(ClangFloatingPoint, ModeOfTheCallerIsNeitherUsedNorLost) {
  const TestDevice device;
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({2}));
  const auto kernel = stored(LazyOp::binary(Op::Mul, x, x));
  run<float>(*device, kernel, {{1, 1}});
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  const Floats got = run<float>(*device, kernel, {{0x1p-70f, 1}});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(got[0], 0x1p-140f);
  EXPECT_EQ(after & 0x8040, 0x8040U);
}

}  // namespace
}  // namespace touchstone
