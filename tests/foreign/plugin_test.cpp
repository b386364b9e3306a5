#include <gtest/gtest.h>

#include <fstream>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/foreign/backend.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/foreign/guarded_memory.h"
#include "touchstone/foreign/plugin_host.h"

// A misbehaving C plugin in its host process.

namespace touchstone::foreign {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Kind = Answer::Kind;

std::vector<std::string> hosted(const std::string& environment,
                                const std::string& plugin = TOUCHSTONE_TEST_PLUGIN) {
  return BackendProcess::shell(environment + " exec " TOUCHSTONE_COMMAND " plugin-host " + plugin);
}

Limits patient() {
  Limits limits;
  limits.answer = std::chrono::milliseconds(60'000);
  return plugin_limits(limits);
}

// y = x over `bytes` elements of uint8.
Answer plugin_answer(const std::string& environment, std::int64_t bytes = 16,
                     Limits limits = patient()) {
  const ShapeTracker st = ShapeTracker::contiguous({bytes});
  const KernelFile kernel = kernel_file(LazyOp::store(st, LazyOp::load(1, DType::UInt8, st)));
  HostArray input{DType::UInt8, {bytes}, {}};
  for (std::int64_t i = 0; i < bytes; ++i) input.bytes += static_cast<char>('a' + i % 26);
  const HostArray inputs[] = {input};
  BackendProcess backend(hosted(environment), limits);
  const Answer answer = backend.run(kernel, inputs);
  if (answer.kind == Kind::Output) {
    EXPECT_EQ(answer.output.bytes, input.bytes);
  }
  return answer;
}

constexpr std::ptrdiff_t kGuard = std::ptrdiff_t{4} << 20;

TEST(GuardedMemory, EndsAtTheGuardAsFarAsAlignmentAllows) {
  for (const std::size_t alignment : {1U, 16U, 64U, 4096U})
    for (const std::size_t bytes : {0U, 1U, 15U, 16U, 4095U, 4096U, 4097U, 100'000U}) {
      GuardedMemory memory(bytes, alignment, GuardedMemory::Place::AtEnd);
      EXPECT_EQ(memory.data().size(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data().data()) % alignment, 0U);
      EXPECT_EQ(memory.damage(), "");
      char text[100];
      std::byte* const end = memory.data().data() + (bytes + alignment - 1) / alignment * alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end) % 4096, 0U);
      EXPECT_TRUE(memory.describe(end + kGuard - 1, 3, text, sizeof text));
      EXPECT_THAT(text, HasSubstr("of buffer 3"));
      EXPECT_FALSE(memory.describe(end + kGuard, 3, text, sizeof text));
      if (bytes % alignment == 0) continue;
      end[-1] = std::byte{0};
      EXPECT_EQ(memory.damage(), "past its end");
    }
  GuardedMemory memory(8, 8, GuardedMemory::Place::AtEnd);
  memory.data().data()[-1] = std::byte{0};
  EXPECT_EQ(memory.damage(), "before its beginning");
}

TEST(GuardedMemory, BeginsAtTheGuard) {
  GuardedMemory memory(21, 16, GuardedMemory::Place::AtStart);
  std::byte* const begin = memory.data().data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 4096, 0U);
  char text[100];
  EXPECT_TRUE(memory.describe(begin - kGuard, 0, text, sizeof text));
  EXPECT_STREQ(text, "at byte -4194304 of buffer 0, which has 21 bytes");
  EXPECT_FALSE(memory.describe(begin - kGuard - 1, 0, text, sizeof text));
  begin[21] = std::byte{0};
  EXPECT_EQ(memory.damage(), "past its end");
}

TEST(Plugin, RunsOnHostMemoryAndOnItsOwn) {
  for (const char* memory : {"", "DEVICE=1"})
    for (const std::int64_t bytes : {1, 16, 21, 5000}) {
      const Answer answer = plugin_answer(memory, bytes);
      EXPECT_EQ(answer.kind, Kind::Output) << answer.why;
    }
  EXPECT_EQ(plugin_answer("TOUCHSTONE_EVIL=print").kind, Kind::Output);
}

TEST(Plugin, BreaksAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"TOUCHSTONE_EVIL=null", "crashed: it was killed by signal 11"},
      {"TOUCHSTONE_EVIL=stack", "crashed: it was killed by signal 11"},
      {"TOUCHSTONE_EVIL=abort", "crashed: it was killed by signal 6"},
      {"TOUCHSTONE_EVIL=exit", "crashed: it exited with status 0"},
      {"TOUCHSTONE_EVIL=past-end", "at byte 16 of buffer 0, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=far-past-end", "at byte 3016 of buffer 0, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=far-before", "at byte -5000 of buffer 0, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=read-past-end", "at byte 16 of buffer 1, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=read-before", "at byte -1 of buffer 1, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=write-4096-past-end", "at byte 4112 of buffer 0, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=write-65536-before", "at byte -65536 of buffer 0, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=read-4096-past-end", "at byte 4112 of buffer 1, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=read-65536-before", "at byte -65536 of buffer 1, which has 16 bytes"},
      {"TOUCHSTONE_EVIL=into-input", "at byte 2 of buffer 1, which is an input"},
      {"TOUCHSTONE_EVIL=before", "it wrote to buffer 0 before its beginning"},
      {"TOUCHSTONE_EVIL=half", "left 8 of 16 elements of its output unwritten, the first is 8"},
      {"DEVICE=1 TOUCHSTONE_EVIL=little", "copy_out returned 12 of 16 bytes"},
      {"DEVICE=1 TOUCHSTONE_EVIL=copied WITH=17", "copy_out returned 17 of 16 bytes"},
      {"DEVICE=1 TOUCHSTONE_EVIL=no-memory", "crashed: it was killed by signal 11"},
      {"TOUCHSTONE_EVIL=wild-reason", "crashed: it was killed by signal 11"}};
  for (const auto& [environment, why] : cases) {
    const Answer answer = plugin_answer(environment);
    EXPECT_EQ(answer.kind, Kind::Broken) << environment;
    EXPECT_THAT(answer.why, HasSubstr(why)) << environment;
  }
#if defined(__x86_64__)
  EXPECT_THAT(plugin_answer("TOUCHSTONE_EVIL=past-end").why, HasSubstr("it wrote at byte 16"));
  EXPECT_THAT(plugin_answer("TOUCHSTONE_EVIL=read-past-end").why, HasSubstr("it read at byte 16"));
#endif
  const Answer odd = plugin_answer("TOUCHSTONE_EVIL=past-end", 21);  // within the last page
  EXPECT_EQ(odd.kind, Kind::Broken);
  EXPECT_EQ(odd.why, "it wrote to buffer 0 past its end");
}

TEST(Plugin, HangsEnd) {
  Limits limits = patient();
  limits.answer = std::chrono::milliseconds(300);
  const Answer answer = plugin_answer("TOUCHSTONE_EVIL=hang", 16, limits);
  EXPECT_EQ(answer.kind, Kind::Broken);
  EXPECT_THAT(answer.why, HasSubstr("hung"));
}

TEST(Plugin, FailuresAndLimitsAreTold) {
  const Answer refused = plugin_answer("TOUCHSTONE_EVIL=refuse");
  EXPECT_EQ(refused.kind, Kind::Unusable);
  EXPECT_THAT(refused.why, HasSubstr("compile: line 1: no such thing"));
  const Answer unsupported = plugin_answer("TOUCHSTONE_EVIL=unsupported");
  EXPECT_EQ(unsupported.kind, Kind::Unsupported);
  EXPECT_EQ(unsupported.why, "only kernels with a beard");
  const std::pair<const char*, const char*> odd[] = {
      {"TOUCHSTONE_EVIL=odd-reason", "compile: "},
      {"TOUCHSTONE_EVIL=endless-reason", "its answer exceeds"},
      {"TOUCHSTONE_EVIL=status WITH=-1", "run: it gives no reason"},
      {"TOUCHSTONE_EVIL=status WITH=2", "run: it gives no reason"},
      {"DEVICE=1 TOUCHSTONE_EVIL=copied WITH=0x8000000000000000", "copy_out: it gives no reason"}};
  for (const auto& [environment, why] : odd) {
    const Answer answer = plugin_answer(environment);
    EXPECT_EQ(answer.kind, Kind::Unusable) << environment;
    EXPECT_THAT(answer.why, HasSubstr(why)) << environment;
    EXPECT_LT(answer.why.size(), 2000U) << environment;
  }
  Limits limits = patient();
  if (limits.memory != 0) {
    limits.memory = std::uint64_t{1} << 30;
    EXPECT_THAT(plugin_answer("TOUCHSTONE_EVIL=memory", 16, limits).why,
                HasSubstr("run: no memory"));
  }
}

// Each word of a plugin's table of functions changed: refused, or crashed and told so.
TEST(Plugin, AChangedTableEndsInAReason) {
  for (const char* const memory : {"", "DEVICE=1 "})
    for (std::size_t word = 0; word < sizeof(touchstone_backend) / 8; ++word)
      for (const char* const value : {"0", "1", "ffffffffffffffff"}) {
        const std::string environment =
            fmt::format("{}TOUCHSTONE_EVIL=word WITH={},{}", memory, word, value);
        const Answer answer = plugin_answer(environment);
        if (answer.kind == Kind::Output) continue;  // it was not called
        EXPECT_THAT(answer.kind, AnyOf(Kind::Unusable, Kind::Broken)) << environment;
        EXPECT_THAT(answer.why, AnyOf(HasSubstr("it has ABI version"), HasSubstr("has 0 bytes"),
                                      HasSubstr("it lacks"), HasSubstr("all or none"),
                                      HasSubstr("killed by signal")))
            << environment;
      }
}

TEST(Plugin, OneThatIsNoneDoesNotStart) {
  const auto why = [](const std::string& environment,
                      const std::string& plugin = TOUCHSTONE_TEST_PLUGIN) -> std::string {
    try {
      BackendProcess(hosted(environment, plugin), patient()).capabilities();
    } catch (const Error& e) {
      return e.what();
    }
    return "it started";
  };
  EXPECT_THAT(why("TOUCHSTONE_EVIL=version"),
              HasSubstr("it has ABI version 99, but this touchstone has 1"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=size"), HasSubstr("its touchstone_backend has 24 bytes"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=no-run"), HasSubstr("it lacks capabilities, compile or run"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=half-memory"), HasSubstr("all or none"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=capabilities"),
              HasSubstr("its capabilities are not a JSON object"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=deep"), HasSubstr("nest deeper than"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=alignment"), HasSubstr("must be a power of two"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=nothing"), HasSubstr("returned NULL"));
  EXPECT_THAT(why("TOUCHSTONE_EVIL=load"), HasSubstr("signal 6"));
  EXPECT_THAT(why("", "/no/such/plugin.so"), HasSubstr("cannot load it"));
  EXPECT_THAT(why("", TOUCHSTONE_NO_PLUGIN), HasSubstr("has no touchstone_backend_get()"));
  TemporaryDirectory dir;
  std::ofstream(dir.path() / "text.so") << "not a shared object\n";
  EXPECT_THAT(why("", (dir.path() / "text.so").string()), HasSubstr("cannot load it"));
}

}  // namespace
}  // namespace touchstone::foreign
