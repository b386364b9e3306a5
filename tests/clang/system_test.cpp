// External failures: no compiler, bad source, limits, invalid options.
#include <gtest/gtest.h>

#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <xmmintrin.h>

#include "outside.h"
#include "touchstone/clang/compiler.h"

namespace touchstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Floats = std::vector<float>;
namespace fs = std::filesystem;

TEST(ClangCompiler, MissingSaysWhatToInstall) {
  ClangOptions options;
  options.compiler = "no-such-compiler";
  const FreshDevice device(options);
  EXPECT_THAT(error_of(*device),
              AllOf(HasSubstr("no-such-compiler"), HasSubstr("apt-get install clang-19"),
                    HasSubstr("TOUCHSTONE_CC")));
}

TEST(ClangCompiler, FailureShowsMessageAndNumberedSource) {
  ClangOptions options;
  options.extra_flags = {"-DpartS", "-Dpart=+"};
  const FreshDevice device(options);
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
  const FreshDevice device(options);
  EXPECT_THAT(error_of(*device), HasSubstr("/bin/false"));
}

TEST(ClangCompiler, ManyKernelsTakeOneCall) {
  const CountingCompiler compiler;
  ClangOptions options;
  options.compiler = compiler.path();
  const FreshDevice device(options);
  std::vector<LazyOpPtr> kernels;
  for (std::int64_t i = 1; i <= 12; ++i) kernels.push_back(doubling(1 + i % 6));
  (*device).prepare(kernels);
  EXPECT_EQ(compiler.count(), 1);
  EXPECT_EQ(files_in(device.cache.path()).size(), 6U);
  for (const LazyOpPtr& k : kernels) (*device).runner(k);
  EXPECT_EQ(compiler.count(), 1);
}

// Environment variables that change or break the code of clang, gcc and their helpers.
TEST(ClangCompiler, StrayVariablesChangeNeitherCodeNorKey) {
  const TemporaryDirectory folder;
  for (const char* const file : {"stdint.h", "as", "ld"}) {
    std::ofstream(folder.path() / file) << "#!/bin/sh\n#error not this one\nexit 9\n";
    ::chmod((folder.path() / file).c_str(), 0755);
  }
  const std::string here = folder.path().string() + "/";
  const std::string source =
      "#include <stdint.h>\nfloat f(float a, float b, uint32_t c) { return a * b + (float)c; }\n";
  for (const std::string name : {"clang-19", "gcc"}) {
    ClangOptions options;
    options.compiler = name;
    const auto results = [&] {
      const clang::Compiler compiler(options);
      compiler.compile(source, folder.path() / "object.so");
      return std::pair(compiler.identity(), compiler.assembly(source));
    };
    const auto before = results();
    for (const auto& [variable, value] : std::vector<std::pair<const char*, std::string>>{
             {"CCC_OVERRIDE_OPTIONS", "#+-ffp-contract=fast"},
             {"CPATH", here},
             {"C_INCLUDE_PATH", here},
             {"COMPILER_PATH", here},
             {"GCC_EXEC_PREFIX", here},
             {"LIBRARY_PATH", here},
             {"LD_RUN_PATH", here},
             {"LANG", "de_DE.UTF-8"}}) {
      const Environment stray(variable, value.c_str());
      EXPECT_EQ(results(), before) << name << " with " << variable;
    }
    const Environment path("PATH", "/usr/bin:/bin:/sbin");
    EXPECT_NE(results().first, before.first) << "what passes is part of the key";
  }
}

// A compiler that counts calls and refuses square roots.
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
  Environment room{"TOUCHSTONE_ROOM", "off"};
};

// A compiler that records its passes and calls the real one.
struct PassListingCompiler {
  PassListingCompiler() {
    std::ofstream(path()) << "#!/bin/sh\n[ \"$1\" != --version ] || exec clang-19 --version\n"
                          << "exec clang-19 \"$@\" -Xclang -fdebug-pass-manager 2>> "
                          << (folder.path() / "passes").string() << "\n";
    ::chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder.path() / "cc").string(); }
  std::string passes() const { return read_file(folder.path() / "passes"); }
  TemporaryDirectory folder;
  Environment room{"TOUCHSTONE_ROOM", "off"};
};

// clang 19 turns (float)0xffffffff into 1 in the SLP vectoriser.
TEST(ClangCompiler, NegatedConditionsAreConvertedAsUnsigned) {
  const PassListingCompiler compiler;
  // Windows of two: the loop along them is unrolled.
  const std::vector<std::uint32_t> given{7, 0, 0, 5};
  const auto windows = ShapeTracker({View::strided({3, 2}, {1, 1}, 0, std::nullopt)});
  const auto zero =
      LazyOp::constant(Scalar::from_int(DType::UInt32, 0),
                       ShapeTracker({View::strided({3, 2}, {0, 0}, 0, std::nullopt)}));
  const auto is_set = LazyOp::cast(
      LazyOp::binary(Op::CmpLt, zero, LazyOp::load(1, DType::UInt32, windows)), DType::UInt32);
  const auto kernel = stored(LazyOp::cast(LazyOp::unary(Op::Neg, is_set), DType::Float32));
  for (const int level : {2, 3}) {
    ClangOptions options;
    options.compiler = compiler.path();
    options.opt_level = level;
    const FreshDevice device(options);
    const BufferPtr out = std::make_shared<Buffer>(*device, DType::Float32, 6);
    const BufferPtr in = std::make_shared<Buffer>(*device, DType::UInt32, 4);
    in->write(std::span<const std::uint32_t>(given));
    run_kernel(*device, kernel, std::vector<Buffer*>{out.get(), in.get()});
    EXPECT_EQ(out->read<float>(), (Floats{0x1p32f, 0, 0, 0, 0, 0x1p32f}));
  }
  EXPECT_THAT(compiler.passes(), AllOf(HasSubstr("Running pass: LoopVectorizePass"),
                                       Not(HasSubstr("SLPVectorizerPass"))));
}

TEST(ClangUnkept, OneKernelThatIsRefusedLeavesTheOthers) {
  const RootlessCompiler compiler;
  ClangOptions options;
  options.compiler = compiler.path();
  options.keep = false;
  const FreshDevice device(options);
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
  const FreshDevice device(options);
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
  const FreshDevice device(options);
  for (std::int64_t n = 1; n < 9; ++n) {
    const Floats x = counting<float>(n);
    Floats twice;
    for (const float v : x) twice.push_back(2 * v);
    EXPECT_EQ(run<float>(*device, doubling(n), {x}), twice);
  }
}

// A compiler that reports its version and then runs a script.
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
  using std::chrono::milliseconds;
  const auto limited = [](const std::string& script, bool keep, milliseconds time) {
    const ScriptedCompiler compiler(script);
    ClangOptions options;
    options.compiler = compiler.path();
    options.keep = keep;
    options.compiler_limits.time = time;
    options.compiler_limits.output = 1 << 20;
    options.compiler_limits.refused.memory = std::uint64_t{512} << 20;
    const FreshDevice device(options);
    return error_of(*device);
  };
  for (const bool keep : {true, false}) {
    EXPECT_THAT(limited("sleep 1000", keep, milliseconds(1500)),
                AllOf(HasSubstr("was killed while compiling: it took longer than 1.5 s"),
                      HasSubstr("TOUCHSTONE_CC_SECONDS")));
    EXPECT_THAT(limited("exec >&- 2>&-; setsid sleep 1000", keep, milliseconds(1500)),
                HasSubstr("TOUCHSTONE_CC_SECONDS"));
    EXPECT_THAT(limited("exec yes", keep, milliseconds(30'000)),
                AllOf(HasSubstr("it wrote more than 1 MiB"), HasSubstr("TOUCHSTONE_CC_OUTPUT")));
    EXPECT_THAT(
        limited("exec dd if=/dev/zero of=/dev/null bs=1G count=1", keep, milliseconds(30'000)),
        AllOf(HasSubstr("more than 512 MiB of memory"), HasSubstr("TOUCHSTONE_CC_MEMORY")));
  }
}

TEST(ClangCompiler, WritesToItsFolderAlone) {
  const TemporaryDirectory folder;
  const std::filesystem::path outside = folder.path() / "file";
  const ScriptedCompiler compiler("echo x > \"$TMPDIR/file\" && echo kept; echo x > " +
                                  outside.string() + "; exit 1");
  const auto words = [&](const char* room) {
    const Environment set("TOUCHSTONE_ROOM", room);
    ClangOptions options;
    options.compiler = compiler.path();
    const FreshDevice device(options);
    return error_of(*device);
  };
  EXPECT_THAT(words(nullptr), HasSubstr("\nkept\n"));
  if (std::filesystem::exists(outside)) GTEST_SKIP() << "this system has no Landlock";
  EXPECT_THAT(words(nullptr), HasSubstr("denied"));
  words("off");
  EXPECT_TRUE(std::filesystem::exists(outside));
}

TEST(ClangOptions, ThreadsMustBeANumber) {
  ::setenv("TOUCHSTONE_THREADS", "many", 1);
  EXPECT_THROW(ClangOptions::from_environment(), ParseError);
  ::setenv("TOUCHSTONE_THREADS", "3", 1);
  EXPECT_EQ(ClangOptions::from_environment().threads, 3);
  ::unsetenv("TOUCHSTONE_THREADS");
}

TEST(ClangOptions, KernelsMayBeHeldToAvx2) {
  const Environment wrong("TOUCHSTONE_MARCH", "x86-64-v9");
  EXPECT_THROW(ClangOptions::from_environment(), ParseError);
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") == 0) return;
  const Environment held("TOUCHSTONE_MARCH", "x86-64-v3");
  EXPECT_EQ(for_this_machine(ClangOptions::from_environment()).sizes.block_lanes, 16);
#endif
}

// The environment sets the order of sums and the rounding of their products.
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
  const FreshDevice device;
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
