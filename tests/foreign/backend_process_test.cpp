#include "touchstone/foreign/backend_process.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "no_room.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/foreign/base64.h"

// Backends in a few lines of shell, most of them faulty.

namespace touchstone::foreign {
namespace {

using testing::HasSubstr;
using Kind = Answer::Kind;

const std::string kHello = R"(read q; echo '{"touchstone_backend":1,"name":"shell"}';)";
const std::string kFiles =
    R"(read q; echo '{"touchstone_backend":1,"name":"shell","arrays":"files"}';)";

Limits quick(int milliseconds) {
  Limits limits;
  limits.answer = std::chrono::milliseconds(milliseconds);
  return limits;
}

// y = x over four float32 elements: the right answer is the input.
KernelFile kernel() {
  const ShapeTracker st = ShapeTracker::contiguous({4});
  return kernel_file(LazyOp::store(st, LazyOp::load(1, DType::Float32, st)));
}

HostArray input() {
  const float values[] = {1, 2, 3, 4};
  return {DType::Float32, {4}, std::string(reinterpret_cast<const char*>(values), sizeof values)};
}

Answer ask(BackendProcess& backend) {
  const HostArray inputs[] = {input()};
  return backend.run(kernel(), inputs);
}

// The answer of a backend that greets, reads the question and then runs `script`.
Answer answer_of(const std::string& script, const std::string& hello = kHello,
                 Limits limits = quick(60'000)) {
  BackendProcess backend(BackendProcess::shell(hello + " read question; " + script), limits);
  return ask(backend);
}

std::string right_answer(int id = 1) {
  return R"({"id":)" + std::to_string(id) + R"(,"output":")" + to_base64(input().bytes) + "\"}";
}

std::string say(const std::string& line) { return "echo '" + line + "'; read more"; }

TEST(Base64, IsThatOfTheRfc) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* text : {"Z", "Zg=", "Zg==Zg==", "Zh==", "Zm9=", "Zm 9", "====", "Zm9v\n"})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(BackendProcess, GivesTheOutputOfAGoodAnswer) {
  const Answer answer = answer_of(say(right_answer()));
  ASSERT_EQ(answer.kind, Kind::Output) << answer.why;
  EXPECT_EQ(answer.output.bytes, input().bytes);
  EXPECT_EQ(answer.output.shape, input().shape);
}

TEST(BackendProcess, AsksOneKernelAfterTheOther) {
  const std::string script =
      kHello + "read q; " + say(right_answer(1)) + "; " + "echo '" + right_answer(2) + "'; read q";
  BackendProcess backend(BackendProcess::shell(script));
  EXPECT_EQ(backend.capabilities().name, "shell");
  EXPECT_EQ(ask(backend).kind, Kind::Output);
  EXPECT_EQ(ask(backend).kind, Kind::Output);
}

TEST(BackendProcess, PutsTheKernelAndItsInputsOnOneLine) {
  const NoRoom none;
  TemporaryDirectory dir;
  const std::string file = (dir.path() / "question").string();
  answer_of("printf '%s' \"$question\" > " + file + "; " + say(right_answer()));
  const std::string question = read_file(file);
  EXPECT_THAT(question, HasSubstr(R"("id":1,"kernel":{"touchstone_kernel":1)"));
  EXPECT_THAT(question, HasSubstr(R"("inputs":[{"base64":"AACAPwAAAEAAAEBAAACAQA==",)"
                                  R"("dtype":"float32","shape":[4]}])"));
  EXPECT_THAT(question, HasSubstr(R"("output":{"dtype":"float32","shape":[4]})"));
}

TEST(BackendProcess, TellsWhatABackendDoesNotDoFromWhatItDoesWrong) {
  const Answer no = answer_of(say(R"({"id":1,"unsupported":"no float32 here"})"));
  EXPECT_EQ(no.kind, Kind::Unsupported);
  EXPECT_EQ(no.why, "no float32 here");
  const Answer error = answer_of(say(R"({"id":1,"error":"out of paper"})"));
  EXPECT_EQ(error.kind, Kind::Unusable);
  EXPECT_THAT(error.why, HasSubstr("out of paper"));
  const Answer broken = answer_of(say(R"({"id":1,"broken":"wrote past its end"})"));
  EXPECT_EQ(broken.kind, Kind::Broken);
  EXPECT_EQ(broken.why, "wrote past its end");
}

TEST(BackendProcess, CallsWhatIsNoAnswerUnusable) {
  const std::pair<std::string, const char*> cases[] = {
      {"garbage", "not a JSON object: garbage"},
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {R"({"id":1)", "not a JSON object"},
      {std::string(5000, '['), "deep"},
      {"{}", "id none, expected 1"},
      {right_answer(2), "id 2, expected 1"},
      {R"({"id":"1","output":""})", R"(id "1", expected 1)"},
      {R"({"id":1})", "none of"},
      {R"({"id":1,"error":7})", R"("error" is not a string)"},
      {R"({"id":1,"output":7})", "not a base64 string"},
      {R"({"id":1,"output":"AAAA!AAA"})", "not a base64 string"},
      {R"({"id":1,"output":"AAAA"})", "its output has 3 bytes, but 4 elements of float32 have 16"},
      {R"({"id":1,"output":")" + to_base64(std::string(32, 'x')) + "\"}", "32 bytes"}};
  for (const auto& [line, why] : cases) {
    const Answer answer = answer_of(say(line));
    EXPECT_EQ(answer.kind, Kind::Unusable) << line;
    EXPECT_THAT(answer.why, HasSubstr(why));
  }
}

TEST(BackendProcess, ABoolIsZeroOrOne) {
  const ShapeTracker st = ShapeTracker::contiguous({2});
  const KernelFile k = kernel_file(LazyOp::store(st, LazyOp::load(1, DType::Bool, st)));
  const HostArray inputs[] = {{DType::Bool, {2}, std::string("\0\1", 2)}};
  BackendProcess backend(BackendProcess::shell(
      kHello + "read q; " + say(R"({"id":1,"output":")" + to_base64("\1\2") + "\"}")));
  EXPECT_THAT(backend.run(k, inputs).why, HasSubstr("neither 0 nor 1"));
}

TEST(BackendProcess, SaysHowOneCrashed) {
  const Answer crashed = answer_of("kill -SEGV $$");
  EXPECT_EQ(crashed.kind, Kind::Broken);
  EXPECT_THAT(crashed.why, HasSubstr("signal 11"));
  const Answer left = answer_of("echo first >&2; echo 'no such tensor' >&2; exit 3");
  EXPECT_EQ(left.kind, Kind::Broken);
  EXPECT_THAT(left.why, HasSubstr("status 3; its standard error: no such tensor"));
  EXPECT_THAT(answer_of("sh -c 'kill -ABRT $$'; exit $?").why, HasSubstr("signal 6"));
}

TEST(BackendProcess, HangsEndInTimeAndLeaveNoProcess) {
  const NoRoom none;
  TemporaryDirectory dir;
  const std::string file = (dir.path() / "pid").string();
  const Answer hung =
      answer_of("wait", "sleep 1000 & echo $! > " + file + "; " + kHello, quick(250));
  EXPECT_EQ(hung.kind, Kind::Broken);
  EXPECT_THAT(hung.why, HasSubstr("hung: no answer within 0.25 s"));
  // The orphan is gone or a zombie; killing takes a moment.
  std::string pid = read_file(file);
  ASSERT_FALSE(pid.empty());
  pid.pop_back();
  const auto lives = [&] {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string text;
    return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
  };
  for (int i = 0; i < 6000 && lives(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(lives());
}

TEST(BackendProcess, OneThatNeverReadsHangsToo) {
  const ShapeTracker st = ShapeTracker::contiguous({1 << 20});
  const KernelFile k = kernel_file(LazyOp::store(st, LazyOp::load(1, DType::Float32, st)));
  const HostArray inputs[] = {{DType::Float32, {1 << 20}, std::string(4 << 20, '\0')}};
  BackendProcess backend(BackendProcess::shell(kHello + "sleep 1000"), quick(50));
  EXPECT_THAT(backend.run(k, inputs).why, HasSubstr("hung"));
}

TEST(BackendProcess, IsNotRunAnyMoreAfterManyHangs) {
  BackendProcess backend(BackendProcess::shell(kHello + "sleep 1000"), quick(5));
  for (int i = 0; i < BackendProcess::kMostHangs; ++i) EXPECT_EQ(ask(backend).kind, Kind::Broken);
  const Answer answer = ask(backend);
  EXPECT_EQ(answer.kind, Kind::Unusable);
  EXPECT_THAT(answer.why, HasSubstr("not run again after 10 hangs"));
}

TEST(BackendProcess, SaysHowOftenItWasStartedAndWhy) {
  const std::string count = "$TMPDIR/n";  // answers so far; the folder stays
  BackendProcess backend(
      BackendProcess::shell(kHello + "read q; n=$(cat " + count + " 2>/dev/null || echo 0); echo " +
                            "$((n + 1)) > " + count +
                            "; case $n in 0) kill -SEGV $$;; 1) sleep 1000;; 2) echo no;; 3) echo "
                            "'{\"id\":4,\"broken\":\"it is\"}';; esac; " +
                            say(right_answer(5)) + " read q"),
      quick(500));
  EXPECT_EQ(backend.starts().times, 0);
  for (const Kind kind : {Kind::Broken, Kind::Broken, Kind::Unusable, Kind::Broken, Kind::Output})
    EXPECT_EQ(ask(backend).kind, kind);
  EXPECT_EQ(backend.starts().times, 5);
  EXPECT_GT(backend.starts().seconds, backend.starts().first_seconds);
  const std::map<std::string, int> why = {{"it crashed", 1},
                                          {"it hung", 1},
                                          {"its answer was unusable", 1},
                                          {"it reported that it is broken", 1}};
  EXPECT_EQ(backend.starts().why, why);
  const Starts once{1, 10.25, 10.25, {}};
  EXPECT_EQ(once.str(), "it started in 10.2 s");
  const Starts thrice{3, 10, 31, {{"it crashed", 1}, {"it hung", 1}}};
  EXPECT_EQ(thrice.str(),
            "it started in 10.0 s; restarted 2 times, which took 21.0 s: it crashed 1, it hung 1");
}

TEST(BackendProcess, FloodsEnd) {
  const Answer flooded = answer_of("yes | tr -d '\\n'");
  EXPECT_EQ(flooded.kind, Kind::Unusable);
  EXPECT_THAT(flooded.why, HasSubstr("its answer exceeds"));
  EXPECT_EQ(answer_of("yes").kind, Kind::Unusable);
  // Standard error does not interfere.
  const Answer noisy =
      answer_of("head -c 3000000 /dev/zero | tr '\\0' x >&2; " + say(right_answer()));
  EXPECT_EQ(noisy.kind, Kind::Output) << noisy.why;
}

TEST(BackendProcess, GoesOnAfterACrash) {
  const std::string mark = "$TMPDIR/mark";
  BackendProcess backend(BackendProcess::shell(kHello + "read q; if [ -e " + mark + " ]; then " +
                                               say(right_answer(2)) + "; fi; touch " + mark));
  EXPECT_EQ(ask(backend).kind, Kind::Broken);
  const Answer second = ask(backend);
  EXPECT_EQ(second.kind, Kind::Output) << second.why;
}

TEST(BackendProcess, SaysWhyOneDoesNotStart) {
  const auto why = [](const std::string& script) -> std::string {
    try {
      BackendProcess(BackendProcess::shell(script)).capabilities();
    } catch (const Error& e) {
      return e.what();
    }
    return "it started";
  };
  EXPECT_THAT(why("/no/such/program"), HasSubstr("status 127; its standard error: "));
  EXPECT_THAT(why("exit 4"), HasSubstr("failed to start: it exited with status 4"));
  EXPECT_THAT(why("read q; echo hello; read q"), HasSubstr("not a JSON object: hello"));
  EXPECT_THAT(why(R"(read q; echo '{"touchstone_backend":2,"name":"x"}'; read q)"),
              HasSubstr("it speaks protocol 2, but this touchstone speaks 1"));
  EXPECT_THAT(why(R"(read q; echo '{"name":"x"}'; read q)"), HasSubstr("protocol unknown"));
  EXPECT_THAT(why(R"(read q; echo '{"touchstone_backend":1}'; read q)"), HasSubstr("\"name\""));
  EXPECT_THAT(why(R"(read q; echo '{"touchstone_backend":1,"name":"x","arrays":"x"}'; read q)"),
              HasSubstr("\"arrays\""));
  EXPECT_THROW(BackendProcess({"/no/such/program"}).capabilities(), SystemError);
  Limits limits;
  limits.start = std::chrono::milliseconds(5);
  EXPECT_THROW(BackendProcess(BackendProcess::shell("sleep 1000"), limits).capabilities(),
               SystemError);
}

TEST(BackendProcess, LimitsMemory) {
  Limits limits;
  limits.memory = std::uint64_t{1} << 30;
  BackendProcess backend(
      BackendProcess::shell(
          R"(read q; echo "{\"touchstone_backend\":1,\"name\":\"$(ulimit -v)\"}"; read q)"),
      limits);
  EXPECT_EQ(backend.capabilities().name, "1048576");  // KiB
}

// The paths that a question names for its output and its input.
const std::string kOut =
    R"sh(out=$(printf '%s' "$question" | sed 's/.*"npy":"\([^"]*out.npy\)".*/\1/');)sh";
const std::string kIn = "in=${out%out.npy}in1.npy;";
const std::string kDone = say(R"({"id":1,"output":true})");

TEST(BackendProcess, ArraysTravelInFilesWhereAskedFor) {
  const Answer good = answer_of(kOut + kIn + "cp $in $out; " + kDone, kFiles);
  ASSERT_EQ(good.kind, Kind::Output) << good.why;
  EXPECT_EQ(good.output.bytes, input().bytes);
  const std::pair<const char*, const char*> cases[] = {
      {"", "wrote no output file"},
      {"mkfifo $out;", "wrote no output file"},
      {"mkdir $out;", "wrote no output file"},
      {"ln -s $in $out;", "wrote no output file"},
      {"echo hello > $out;", "not a usable .npy file"},
      {"head -c 100 $in > $out;", "ends inside the header"},
      {"head -c 140 $in > $out;", "has 12 bytes"},
      {"(cat $in; echo x) > $out;", "has 18 bytes"},
      {"head -c 5000000 /dev/zero > $out;", "output file is too large"},
      {"sed 's/<f4/<i4/' $in > $out;", "4 elements of int32, expected 4 of float32"}};
  for (const auto& [script, why] : cases) {
    const Answer answer = answer_of(kOut + kIn + script + kDone, kFiles);
    EXPECT_EQ(answer.kind, Kind::Unusable) << script;
    EXPECT_THAT(answer.why, HasSubstr(why)) << script;
  }
  EXPECT_THAT(answer_of(say(right_answer()), kFiles).why, HasSubstr("must be true"));
}

// Damaged answers: none counts as an output of another size, none stops the run.
TEST(BackendProcess, DamagedAnswersAreVerdictsToo) {
  TemporaryDirectory dir;
  const std::string file = (dir.path() / "answer").string();
  test::TracedDraws random(7);
  for (int round = 0; round < 40; ++round) {
    std::string line = right_answer() + "\n";
    for (int k = 0; k < 1 + round % 4; ++k) {
      const auto at = random.below(line.size());
      if (random.chance(1, 3))
        line.erase(at, 1 + random.below(8));
      else
        line[at] = static_cast<char>(random.below(256));
    }
    line += '\n';
    std::ofstream(file, std::ios::binary) << line;
    const Answer answer = answer_of("cat " + file + "; read more");
    EXPECT_NE(answer.kind, Kind::Broken) << line;
    if (answer.kind == Kind::Output) {
      EXPECT_EQ(answer.output.bytes.size(), 16U);
    } else {
      EXPECT_FALSE(answer.why.empty());
    }
  }
}

}  // namespace
}  // namespace touchstone::foreign
