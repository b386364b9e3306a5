#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "../support/sanitized.h"
#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/files/npy.h"
#include "touchstone/ops/kernel_json.h"

// Untrusted files and words: no verb hangs, exhausts memory, or prints falsehoods.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliHostile : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  // y = x + x over four float32 elements.
  static std::string kernel() {
    const ShapeTracker st = ShapeTracker::contiguous({4});
    const LazyOpPtr x = LazyOp::load(1, DType::Float32, st);
    return to_json(kernel_file(LazyOp::store(st, LazyOp::binary(Op::Add, x, x))));
  }
  // The sum of exp2(2^-1), n times: work without a byte to read.
  static std::string long_sum(std::int64_t n) {
    const View all = View::strided({1, n}, {0, 0}, 0, std::nullopt);
    const LazyOpPtr x = LazyOp::constant(Scalar::parse(DType::Float32, "0.5"), ShapeTracker({all}));
    return to_json(
        kernel_file(LazyOp::store(ShapeTracker::contiguous({1, 1}),
                                  LazyOp::reduce(Op::ReduceSum, LazyOp::unary(Op::Exp2, x), {1}))));
  }
  std::string array(const std::string& name, std::vector<std::int64_t> shape = {4}) const {
    HostArray a{DType::Float32, std::move(shape), {}};
    a.bytes.assign(static_cast<std::size_t>(a.size()) * 4, '\0');
    write_npy(file(name), a);
    return file(name);
  }
  std::string sparse(const std::string& name, const std::string& head) const {
    write(name, head);
    std::filesystem::resize_file(file(name), 20'000'000'000);
    return file(name);
  }
  Answer served(const std::string& lines, const std::string& options = "") const {
    return touchstone_run("serve " + options, "", "< " + write("questions", lines));
  }
  // A shell backend that gives this answer to every kernel; @ is the question's id.
  std::string backend(const std::string& hello, const std::string& answer) const {
    write("hello", hello + "\n");
    write("answer", answer + "\n");
    write("backend.sh", "read q; cat " + file("hello") +
                            "; n=0; while read q; do n=$((n+1)); sed \"s/@/$n/\" " +
                            file("answer") + "; done\n");
    return " --backend 'sh " + file("backend.sh") + "' ";
  }
  TemporaryDirectory dir_;
};

TEST_F(CliHostile, OnlyRegularFilesAreReadWhateverNamesThem) {
  const std::string k = write("k.json", kernel()), x = array("x.npy");
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(file("pipe.npy").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(file("pipe.json").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", file("zero.json"));
  std::filesystem::create_symlink("/dev/zero", file("zero.npz"));
  std::filesystem::create_directory(file("folder.safetensors"));
  const std::string in = " --in " + x, out = " --out " + x;
  const std::pair<std::string, const char*> cases[] = {
      {"check " + file("pipe") + in + out, "it is a pipe; only regular files are read"},
      {"check /dev/zero" + in + out, "it is a device"},
      {"check " + file("zero.json") + in + out, "it is a device"},
      {"check " + file(".") + in + out, "it is a directory"},
      {"check " + k + " --in " + file("pipe.npy") + out, "it is a pipe"},
      {"check " + k + in + " --out " + file("zero.npz"), "it is a device"},
      {"check " + k + in + " --out " + file("folder.safetensors"), "it is a directory"},
      {"check " + k + in + out + " --profile " + file("pipe.json"), "it is a pipe"},
      {"eval " + file("pipe"), "it is a pipe"},
      {"eval " + k + " --in " + file("zero.npz") + ":x", "it is a device"},
      {"explain " + file("zero.json") + in + " --at 0", "it is a device"},
      {"blame " + file("pipe") + " --nodes", "it is a pipe"},
      {"blame " + k + in + " --held 0=" + file("pipe.npy"), "it is a pipe"},
      {"fuzz --case @" + file("pipe"), "it is a pipe"},
      {"simplify --replay " + file("pipe"), "it is a pipe"},
      {"check " + sparse("s.json", kernel()) + in + out, "it has 20000000000 bytes"},
      {"eval " + sparse("t.json", kernel()), "it has 20000000000 bytes"},
      {"check " + k + in + out + " --profile " + sparse("p.json", "{}"), "the limit is 1048576"},
      {"check " + write("deep.json", std::string(1 << 20, '[')) + in + out, "deeper than 64"},
      {"check " + write("nul.json", std::string(1 << 16, '\0')) + in + out, "not JSON"}};
  for (const auto& [line, why] : cases) {
    const Answer run = touchstone_run(line, "timeout 60");
    EXPECT_EQ(run.code, 2) << line << run.text;
    EXPECT_THAT(run.text, HasSubstr(why)) << line;
  }
}

TEST_F(CliHostile, BlameRefusesWhatNeverEnds) {
  const Answer run = touchstone_run("blame " + write("long.json", long_sum(std::int64_t{1} << 46)) +
                                    " --in " + array("x.npy", {1, 1}) + " --held 0=x.npy");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("the limit is 600 s (--verdict-timeout"));
}

TEST_F(CliHostile, AFolderOfTrapsIsJudgedToItsEnd) {
  const auto folder = [&](const std::string& name) {
    std::filesystem::create_directories(file("suite/" + name));
    return "suite/" + name + "/";
  };
  ASSERT_EQ(::mkfifo(file(folder("a-pipe") + "kernel.json").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", file(folder("b-zero") + "kernel.json"));
  write(folder("c-output") + "kernel.json", kernel());
  array("suite/c-output/in1.npy");
  std::filesystem::create_symlink("/dev/zero", file("suite/c-output/out.npy"));
  write(folder("d-input") + "kernel.json", kernel());
  ASSERT_EQ(::mkfifo(file("suite/d-input/in1.npy").c_str(), 0600), 0);
  array("suite/d-input/out.npy");
  write(folder("e-long") + "kernel.json", long_sum(std::int64_t{1} << 46));
  array("suite/e-long/out.npy", {1, 1});
  sparse(folder("f-sparse") + "kernel.json", kernel());
  write(folder("g-good") + "kernel.json", kernel());
  array("suite/g-good/in1.npy");
  array("suite/g-good/out.npy");
  write(folder("h-\x1b[32mPASS\n") + "kernel.json", "{}");
  std::filesystem::create_directories(file(folder("i-folder") + "kernel.json"));
  const Answer run = touchstone_run("judge --all " + file("suite"), "timeout 60");
  EXPECT_EQ(run.code, 2);
  const std::pair<const char*, const char*> lines[] = {
      {"a-pipe UNUSABLE: ", "it is a pipe"},
      {"b-zero UNUSABLE: ", "it is a device"},
      {"c-output UNUSABLE: ", "it is a device"},
      {"d-input UNUSABLE: ", "it is a pipe"},
      {"e-long UNUSABLE: ", "at least"},
      {"f-sparse UNUSABLE: ", "20000000000 bytes"},
      {"g-good PASS", ""},
      {"h-\\x1b[32mPASS\\n UNUSABLE: ", ""},
      {"i-folder UNUSABLE: ", "it is a directory"}};
  for (const auto& [begin, why] : lines) {
    const std::size_t at = run.text.find(begin);
    ASSERT_NE(at, std::string::npos) << begin << run.text;
    EXPECT_THAT(run.text.substr(at, run.text.find('\n', at) - at), HasSubstr(why));
  }
  EXPECT_THAT(run.text, HasSubstr("9 kernels under profile glibc: 1 PASS, "));
}

// A file is checked against the kernel before reading: within a small process's memory.
TEST_F(CliHostile, SizesAreCheckedBeforeAnythingIsRead) {
  const std::string k = write("k.json", kernel()), x = array("x.npy");
  HostArray huge{DType::Float32, {4'990'000'000}, {}};
  const std::string head = npy_bytes(huge);
  const std::string big = file("big.npy");
  write("big.npy", head);
  std::filesystem::resize_file(big, head.size() + 4 * 4'990'000'000);
  const std::string little = test::kSanitized ? "" : "ulimit -v 4000000; ";
  const Answer output =
      touchstone_run("check " + k + " --in " + x + " --out " + big, little + "timeout 60");
  EXPECT_EQ(output.code, 2) << output.text;
  EXPECT_THAT(output.text,
              HasSubstr("contains 4990000000 elements, but the kernel's output has 4"));
  // Of an input that is longer than its buffer only that much is read.
  const Answer input =
      touchstone_run("check " + k + " --in " + big + " --out " + x, little + "timeout 60");
  EXPECT_EQ(input.code, 0) << input.text;
  const Answer asked =
      served(R"({"kernel":")" + k + R"(","inputs":[")" + big + R"("],"output":")" + x + "\"}\n" +
             R"({"kernel":")" + k + R"(","inputs":[")" + x + R"("],"output":")" + big + "\"}\n" +
             R"({"kernel":"/dev/zero","inputs":[],"output":""})");
  EXPECT_THAT(asked.text, HasSubstr(R"("verdict":"PASS")"));
  EXPECT_THAT(asked.text, HasSubstr("contains 4990000000 elements"));
  EXPECT_THAT(asked.text, HasSubstr("it is a device"));
}

TEST_F(CliHostile, WorkWithoutEndIsRefusedOrBrokenOff) {
  const std::string y = array("y.npy", {1, 1});
  const auto check = [&](std::int64_t n, const std::string& options) {
    return touchstone_run("check " + write("sum.json", long_sum(n)) + " --out " + y + " " + options,
                          "timeout 120");
  };
  const Answer endless = check(std::int64_t{1} << 50, "");
  EXPECT_EQ(endless.code, 2);
  EXPECT_THAT(endless.text, HasSubstr("values, which take "));
  EXPECT_THAT(endless.text, HasSubstr("; the limit is 600 s (--timeout"));
  // Of a reduce it is the terms that count.
  const View all = View::strided({std::int64_t{1} << 50}, {0}, 0, std::nullopt);
  const std::string terms = write(
      "terms.json",
      to_json(kernel_file(LazyOp::store(
          ShapeTracker::contiguous({1}),
          LazyOp::reduce(Op::ReduceMax, LazyOp::load(1, DType::Int8, ShapeTracker({all})), {0})))));
  EXPECT_THAT(touchstone_run("check " + terms + " --in x.npy --out y.npy").text,
              HasSubstr("the kernel computes at least"));
  // Too much for that time, but not obviously so beforehand.
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const std::string limit = fmt::format("--timeout {}", 0.1 + 0.6 / cores);
  const auto start = std::chrono::steady_clock::now();
  const Answer late = check(std::int64_t{1} << 28, limit);
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.text, HasSubstr("UNUSABLE: the verdict takes longer than "));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  // A service continues with the next question.
  std::string sum = long_sum(std::int64_t{1} << 28), small = long_sum(4);
  std::erase(sum, '\n');
  std::erase(small, '\n');
  const std::string rest = R"(,"inputs":[],"output":{"dtype":"f32","base64":"AAAAAA=="}})";
  const Answer asked = served("{\"kernel\":" + sum + rest + "\n{\"kernel\":" + small + rest, limit);
  EXPECT_THAT(asked.text, HasSubstr(R"("why":"the verdict takes longer than )"));
  EXPECT_THAT(asked.text, HasSubstr(R"("verdict":"FAIL")"));
  EXPECT_EQ(std::ranges::count(asked.text, '\n'), 2);

  // A line that needs more memory than allowed.
  std::string many = "{\"id\":7,\"a\":[1";
  for (int i = 0; i < 2'500'000; ++i) many += ",[]";
  const Answer starved =
      served(many.substr(0, 14 + 3 * 990'000) + "]}\n" + many + "]}\n{\"kernel\":" + small + rest,
             "--memory 50");
  EXPECT_EQ(starved.code, 2);
  if (!test::kSanitized) {
    EXPECT_THAT(starved.text, HasSubstr("more than 50 MiB of memory"));
  }
  EXPECT_THAT(starved.text, HasSubstr("exceeds 2097152 values"));
  EXPECT_THAT(starved.text, HasSubstr(R"("verdict":"FAIL")"));

  const ShapeTracker st = ShapeTracker::contiguous({std::int64_t{1} << 20});
  const std::string copy = write(
      "copy.json", to_json(kernel_file(LazyOp::store(st, LazyOp::load(1, DType::Float64, st)))));
  const Answer large =
      touchstone_run("check " + copy + " --in none.npy --out none.npy --memory 31");
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.text, HasSubstr("the kernel's buffers take at least 32 MiB"));
  EXPECT_THAT(touchstone_run("check " + copy + " --in none.npy --out none.npy --memory 32").text,
              HasSubstr("none.npy"));
}

constexpr char kEvil[] =
    R"({"touchstone_backend":1,"name":"\u001b[2J\nPASS\u202e","version":"\r\u009b1A","profile":)"
    R"({"name":"cuda","ulp":{"exp2":1e6}}})";
const std::string kSmall = "--ops neg --dtypes f32 -n 4 ";

void expect_tame(const Answer& run) {
  for (const char* raw : {"\x1b", "\r", "\xc2\x9b", "\xe2\x80\xae", "\x07", "\nPASS"})
    EXPECT_THAT(run.text, Not(HasSubstr(raw)));
}

TEST_F(CliHostile, ABackendsWordsMoveNoCursorAndFakeNoLine) {
  const std::string why = R"(x\u001b]0;title\u0007\n40 kernels: 40 PASS\r\u202e)";
  const char* shown = "x\\x1b]0;title\\x07\\n40 kernels: 40 PASS\\r\\u{202e}";
  for (const char* kind : {"error", "broken", "unsupported"}) {
    const std::string evil =
        backend(kEvil, R"({"id":@,")" + std::string(kind) + "\":\"" + why + "\"}");
    const Answer judged = touchstone_run("judge --all " + kSmall + evil);
    EXPECT_THAT(judged.text, HasSubstr(shown)) << kind;
    EXPECT_THAT(judged.text, HasSubstr("kernels on \\x1b[2J\\nPASS\\u{202e} under profile its own: "
                                       "exp2 within 1e+06 ULP: "));
    EXPECT_THAT(judged.text, Not(HasSubstr("cuda")));
    expect_tame(judged);
    const Answer json = touchstone_run("judge --json " + kSmall + evil);
    EXPECT_THAT(json.text, HasSubstr("\\u001b]0;title\\u0007\\n40 kernels: 40 PASS\\r\\u202e"));
    EXPECT_THAT(json.text, Not(HasSubstr("\"cuda\"")));
    expect_tame(json);
    const Answer league = touchstone_run("league " + kSmall + evil);
    EXPECT_THAT(league.text, HasSubstr("## \\x1b[2J\\nPASS\\u{202e}, \\r\\u{9b}1A\n"));
    EXPECT_THAT(league.text, Not(HasSubstr("cuda")));
    expect_tame(league);
    const std::string k = write("k.json", kernel()), x = array("x.npy");
    const Answer blamed = touchstone_run("blame " + k + " --in " + x + evil);
    EXPECT_THAT(blamed.text, HasSubstr(shown)) << kind;
    expect_tame(blamed);
    const Answer fuzzed =
        touchstone_run("fuzz --cases 2 --jobs 1 --findings " + file("findings") + evil);
    EXPECT_THAT(fuzzed.text, HasSubstr("kernel on ")) << kind;
    expect_tame(fuzzed);
  }
  const Answer refused = touchstone_run("judge " + backend(R"({"error":")" + why + "\"}", ""));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr(shown));
  expect_tame(refused);
  write("last.sh", "printf 'o\\033[31m\\302\\233h\\nPASS\\033[0m\\n' >&2; exit 3");
  const Answer last = touchstone_run("judge --backend 'sh " + file("last.sh") + "'");
  EXPECT_EQ(last.code, 2);
  EXPECT_THAT(last.text, HasSubstr("its standard error: PASS"));
  expect_tame(last);
}

TEST_F(CliHostile, AProfileIsShownAsDeclared) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("cuda")", "under profile cuda:"},
      {R"({"base":"cuda","name":"cuda"})", "under profile cuda:"},
      {R"({"base":"cuda","name":"opencl"})", "under profile cuda:"},
      {R"({"name":"CUDA ","max":"either"})", "under profile its own: max either:"},
      {R"({"name":"g-l-i-b-c","max":"either"})", "under profile its own: max either:"},
      {R"({"name":"mine","ulp":{"exp2":[3,2]}})",
       "under profile mine (its own: exp2 within 3 ULP and 2 more for each unit of |x|):"},
      {R"({"name":"mine) 40 PASS\n","flush":"both"})", "under profile its own: flush both:"},
      {R"({"name":"mine"})", "under profile glibc:"}};
  for (const auto& [declared, shown] : cases) {
    const Answer run = touchstone_run(
        "judge " + kSmall +
        backend(R"({"touchstone_backend":1,"name":"x","profile":)" + std::string(declared) + "}",
                R"({"id":@,"unsupported":"no"})"));
    EXPECT_EQ(run.code, 4) << run.text;
    EXPECT_THAT(run.text, HasSubstr(shown)) << declared;
    EXPECT_THAT(run.text, HasSubstr("nothing was checked: the backend supports none of the "));
  }
  const std::string cuda = write("p.json", R"({"name":"cuda","ulp":{"exp2":1e6}})");
  const Answer file = touchstone_run("judge " + kSmall + backend(kEvil, "") + "--profile " + cuda);
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.text, HasSubstr("'cuda' is the name of a built-in profile"));
}

TEST_F(CliHostile, WhatCheckedNothingIsNotGreen) {
  const std::string none =
      backend(R"({"touchstone_backend":1,"name":"x"})", R"({"id":@,"unsupported":"no"})");
  const Answer league = touchstone_run("league " + kSmall + none);
  EXPECT_EQ(league.code, 4) << league.text;
  EXPECT_THAT(league.text, HasSubstr("It supports none of the kernels."));
  EXPECT_THAT(league.text, HasSubstr("nothing was checked: no backend supports any of the "));
  EXPECT_EQ(touchstone_run("judge --json " + kSmall + none).code, 4);
}

// A program that needs more address space than a backend's default.
TEST_F(CliHostile, FuzzLiftsABackendsMemory) {
  write("vast.sh", R"sh(read q; echo '{"touchstone_backend":1,"name":"'$(ulimit -v)'"}'
n=0; while read q; do n=$((n+1)); echo '{"id":'$n',"error":"limit '$(ulimit -v)'"}'; done
)sh");
  const auto limit_under = [&](const std::string& options) {
    return touchstone_run("fuzz --cases 1 --jobs 1 --findings " + file("findings") +
                          " --backend 'sh " + file("vast.sh") + "' " + options)
        .text;
  };
  EXPECT_THAT(limit_under(""), HasSubstr("limit 8388608"));
  EXPECT_THAT(limit_under("--memory 0"), HasSubstr("limit unlimited"));
}

}  // namespace
}  // namespace touchstone
