#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "../support/sanitized.h"
#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/codegen/fault.h"
#include "touchstone/files/npy.h"
#include "touchstone/ops/kernel_json.h"

// The command from a user's view: output, exit code and bad input.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

class Cli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.path() / name) << text;
    return file(name);
  }
  // y = x + x over four float32 elements.
  std::string kernel() const {
    const ShapeTracker st = ShapeTracker::contiguous({4});
    const LazyOpPtr x = LazyOp::load(1, DType::Float32, st);
    return write("kernel.json",
                 to_json(kernel_file(LazyOp::store(st, LazyOp::binary(Op::Add, x, x)))));
  }
  std::string array(const std::string& name, const std::vector<float>& values) const {
    HostArray a{DType::Float32, {static_cast<std::int64_t>(values.size())}, {}};
    a.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    write_npy(file(name), a);
    return file(name);
  }
  TemporaryDirectory dir_;
};

TEST_F(Cli, HelpIsThereForEveryVerbWithAnExampleAndExitCodes) {
  EXPECT_EQ(touchstone_run("--help").code, 0);
  EXPECT_THAT(touchstone_run("--version").text, HasSubstr("touchstone 0."));
  for (const std::string verb : {"demo", "eval", "check", "kernels", "fuzz", "simplify", "prove",
                                 "repl", "view", "emit", "judge", "league", "serve", "mutants"}) {
    const Answer run = touchstone_run(verb + " --help");
    EXPECT_EQ(run.code, 0) << verb;
    EXPECT_THAT(run.text, HasSubstr("Example: touchstone " + verb));
    EXPECT_THAT(run.text, HasSubstr("Exit codes"));
  }
}

TEST_F(Cli, AnOrdinaryBuildHoldsNoMutants) {
  const Answer run = touchstone_run("mutants");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("./dev mutants"));
}

TEST_F(Cli, BadUsageExitsWithTwo) {
  EXPECT_EQ(touchstone_run("").code, 2);
  EXPECT_EQ(touchstone_run("no-such-verb").code, 2);
  EXPECT_EQ(touchstone_run("check").code, 2);
  EXPECT_EQ(touchstone_run("demo --epochs nine").code, 2);
  const Answer plant = touchstone_run("demo --plant max-without-nna");
  EXPECT_EQ(plant.code, 2);
  EXPECT_THAT(plant.text, HasSubstr("max-without-nan"));
}

TEST_F(Cli, EvalRunsOnBothDevicesAndCheckJudges) {
  const std::string k = kernel(), x = array("x.npy", {1, 2, 3, 4});
  for (const std::string device : {"CPU", "CLANG"}) {
    const Answer run = touchstone_run("eval " + k + " --in " + x + " --device " + device +
                                      " --out " + file("y.npy"));
    ASSERT_EQ(run.code, 0) << run.text;
    EXPECT_EQ(touchstone_run("check " + k + " --in " + x + " --out " + file("y.npy")).code, 0);
  }
  const std::string wrong = array("wrong.npy", {2, 4, 7, 8});
  const Answer fail = touchstone_run("check " + k + " --in " + x + " --out " + wrong + " --json");
  EXPECT_EQ(fail.code, 1);
  EXPECT_THAT(fail.text, HasSubstr("\"verdict\":\"FAIL\""));
  EXPECT_THAT(fail.text, HasSubstr("\"at\":[2]"));
  EXPECT_THAT(fail.text,
              HasSubstr("\"candidate\":\"40e00000\",\"legal\":[\"40c00000\",\"40c00000\"]"));
}

TEST_F(Cli, ExplainTakesOneElementApart) {
  const std::string folder = file("explained");
  ASSERT_EQ(touchstone_run("emit " + folder + " --ops reduce_sum --dtypes f32 -n 60").code, 0);
  const std::string at = folder + "/reduce-sum-float32-random";
  const std::string ask = "explain " + at + "/kernel.json --in " + at + "/in1.npy --at ";
  const Answer sum = touchstone_run(ask + "0,0");
  EXPECT_EQ(sum.code, 0) << sum.text;
  EXPECT_THAT(sum.text, HasSubstr("REDUCE_SUM(60 terms) float32"));
  EXPECT_THAT(sum.text, HasSubstr("orders of 60 terms"));
  const Answer json = touchstone_run(ask + "0,0 --json --out " + at + "/in1.npy");
  EXPECT_EQ(json.code, 2);  // an input is no output: it has 60 elements
  EXPECT_THAT(
      touchstone_run(ask + "0,0 --json").text,
      AllOf(
          HasSubstr(
              R"({"at":[0,0],"profile":"glibc","profile_from":"the default","nodes":[{"text":"%)"),
          HasSubstr(R"("terms":[{"what":"orders of 60 terms)")));
  const Answer beyond = touchstone_run(ask + "7,0");
  EXPECT_EQ(beyond.code, 2);
  EXPECT_THAT(beyond.text, HasSubstr("axis 0 of the output has 1 elements"));
  EXPECT_EQ(touchstone_run(ask + "0,").code, 2);
}

TEST_F(Cli, EmitWritesWhatJudgeJudges) {
  const std::string folder = file("suite");
  const Answer emitted =
      touchstone_run("emit " + folder + " --ops exp2,add --dtypes f32 -n 20 --seed 3");
  ASSERT_EQ(emitted.code, 0) << emitted.text;
  EXPECT_THAT(emitted.text, HasSubstr("10 kernels"));
  const Answer early = touchstone_run("judge " + folder);
  EXPECT_EQ(early.code, 2);
  EXPECT_THAT(early.text, HasSubstr("add-float32-edges/out.npy"));
  EXPECT_THAT(early.text, HasSubstr("10 UNUSABLE"));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string at = entry.path().string();
    const bool two = entry.path().filename().string().starts_with("add");
    ASSERT_EQ(touchstone_run("eval " + at + "/kernel.json --in " + at + "/in1.npy " +
                             (two ? at + "/in2.npy " : "") + "--out " + at + "/out.npy")
                  .code,
              0);
  }
  const Answer good = touchstone_run("judge " + folder + " --profile ieee");
  EXPECT_EQ(good.code, 0) << good.text;
  EXPECT_THAT(good.text, HasSubstr("10 kernels under profile ieee: 10 PASS"));
  std::filesystem::copy_file(folder + "/exp2-float32-random/in1.npy",
                             folder + "/exp2-float32-random/out.npy",
                             std::filesystem::copy_options::overwrite_existing);
  const Answer bad = touchstone_run("judge " + folder + " --json");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.text, HasSubstr(R"("case":"exp2-float32-random","verdict":"FAIL")"));
  EXPECT_THAT(bad.text, HasSubstr(R"("case":"add-float32-edges","verdict":"PASS")"));
  EXPECT_EQ(touchstone_run("emit " + folder).code, 2);
  EXPECT_EQ(touchstone_run("judge " + file("nothing")).code, 2);
  EXPECT_EQ(touchstone_run("emit " + file("none") + " --ops exp2 --dtypes i8").code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("none")));
}

TEST_F(Cli, CheckTakesAProfile) {
  const std::string k = kernel(), x = array("x.npy", {1, 2, 3, 4}),
                    y = array("y.npy", {2, 4, 6, 8});
  const std::string command = "check " + k + " --in " + x + " --out " + y + " --json --profile ";
  EXPECT_THAT(touchstone_run(command + "cuda").text, HasSubstr(R"("profile":"cuda")"));
  const std::string mine = write("mine.json", R"({"name":"mine","base":"opencl","flush":"never"})");
  EXPECT_THAT(touchstone_run(command + mine).text, HasSubstr(R"("profile":"mine")"));
  const std::pair<std::string, std::string> bad[] = {
      {"cude", "did you mean 'cuda'?"},
      {write("bad.json", R"({"ulp":{"tanx":1}})"), "bad.json: profile: \"ulp\" has no 'tanx'"},
      {file("none.json"), "none.json"}};
  for (const auto& [profile, says] : bad) {
    const Answer run = touchstone_run(command + profile);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.text, HasSubstr(says));
  }
}

TEST_F(Cli, BadFilesAreNamedAndNothingIsWritten) {
  const std::string k = kernel(), x = array("x.npy", {1, 2, 3, 4});
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const Answer run = touchstone_run(arguments);
    EXPECT_EQ(run.code, 2) << arguments << "\n" << run.text;
    EXPECT_THAT(run.text, HasSubstr(says));
    EXPECT_THAT(run.text, Not(HasSubstr("internal error")));
  };
  const Answer bad = touchstone_run("eval " + k, "TOUCHSTONE_DEBUG=7");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.text, HasSubstr("DEBUG is '7'; give a number from 0 to 6"));
  EXPECT_THAT(touchstone_run("eval " + k + " --device CPU", "TOUCHSTONE_DEBUG=2").text,
              HasSubstr("*** CPU"));
  refused("eval " + file("missing.json"), "missing.json");
  refused("eval " + write("text.json", "hello"), "not JSON");
  refused("eval " + write("other.json", "{\"touchstone_kernel\":7}"), "version 7");
  refused("eval " + k + " --device GPU", "there is no device 'GPU'");
  refused("eval " + k + " --in " + write("bad.npy", "hello"), "bad.npy");
  refused("eval " + k + " --in " + array("short.npy", {1}) + " --out " + file("never.npy"),
          "contains 1 element,");
  refused("eval " + k + " --in " + x + " --out /dev/full/y.npy", "/dev/full/y.npy");
  refused("check " + k, "--out");
  refused("kernels nosuchmodel", "known: ");
  EXPECT_FALSE(std::filesystem::exists(file("never.npy")));
}

TEST_F(Cli, ValuesOfSizesAreCheckedAndUsed) {
  const sint n = symbolic::variable("n", 1, 8);
  const ShapeTracker st = ShapeTracker::contiguous({n});
  const std::string k =
      write("n.json", to_json(kernel_file(LazyOp::store(
                          st, LazyOp::unary(Op::Neg, LazyOp::load(1, DType::Float32, st))))));
  const std::string x = array("x.npy", {1, 2, 3}), y = array("y.npy", {-1, -2, -3});
  EXPECT_THAT(touchstone_run("eval " + k + " --var n=3 --in " + x).text,
              HasSubstr("-1.0 -2.0 -3.0"));
  EXPECT_EQ(touchstone_run("check " + k + " --var n=3 --in " + x + " --out " + y).code, 0);
  for (const std::string& verb : {"eval " + k, "check " + k + " --in " + x + " --out " + y})
    for (const auto& [values, says] : {std::pair{"", "has no value"},
                                       {"--var n=9", "outside [1, 8]"},
                                       {"--var n=99999999999999999999", "64 bits"},
                                       {"--var n=3 --var n=4", "is given twice"},
                                       {"--var n=3 m=4", "no variable 'm'; it has n"},
                                       {"--var n=3x", "is not NAME=VALUE, as n=3"}}) {
      const Answer run = touchstone_run(verb + " " + values);
      EXPECT_EQ(run.code, 2) << verb << " " << values << "\n" << run.text;
      EXPECT_THAT(run.text, HasSubstr(says));
    }
}

TEST_F(Cli, ArraysTheKernelHasNoPlaceForAreRefused) {
  const std::string k = kernel(), x = array("x.npy", {1, 2, 3, 4});
  EXPECT_THAT(touchstone_run("eval " + k + " --in " + x + " " + x).text,
              HasSubstr("this would be buffer 2, the kernel's last is buffer 1"));
  const Answer longer = touchstone_run("check " + k + " --in " + x + " --out " +
                                       array("longer.npy", {2, 4, 6, 8, 10}));
  EXPECT_EQ(longer.code, 2);
  EXPECT_THAT(longer.text, HasSubstr("contains 5 elements, but the kernel's output has 4"));
}

TEST_F(Cli, ErrorsInAKernelNameItsFile) {
  const Answer run = touchstone_run("eval " + write("mine.json", "{\"touchstone_kernel\":1}"));
  EXPECT_THAT(run.text, HasSubstr("mine.json: the kernel: \"buffers\" is missing"));
}

TEST_F(Cli, OutputThatCannotBeWrittenIsAnError) {
  const Answer run = touchstone_run("view 2,3 3>&1 >/dev/full 2>&3 #");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("No space left on device"));
  EXPECT_EQ(touchstone_run("view 2,3 >/dev/full 2>/dev/full #").code, 2);  // no way to report it
}

TEST_F(Cli, AMissingCompilerSaysHowToGetOne) {
  const Answer run =
      touchstone_run("eval " + kernel() + " --device CLANG",
                     "TOUCHSTONE_CC=/nonexistent/cc TOUCHSTONE_CACHE=" + file("cache"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("/nonexistent/cc"));
  EXPECT_THAT(run.text, HasSubstr("TOUCHSTONE_CC"));
}

TEST_F(Cli, ASignalLeavesNoTemporaryDirectory) {
  const Answer run = touchstone_run("fuzz --cases 100000 --seed 1 & sleep 1; ls " + file("") +
                                        "; kill -TERM $!; wait $!; echo code $? #",
                                    "export TMPDIR=" + file("") + ";");
  EXPECT_THAT(run.text, HasSubstr("touchstone-fuzz")) << "it had one";
  EXPECT_THAT(run.text, HasSubstr("code 143"));
  // A running compiler ends by itself and removes its own files.
  for (int i = 0; i < 100 && !std::filesystem::is_empty(dir_.path()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(Cli, NoColourReachesAPipeUnlessForced) {
  const Answer plain = touchstone_run("view 2,3");
  EXPECT_THAT(plain.text, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(touchstone_run("--color always view 2,3").text, HasSubstr("\x1b["));
  EXPECT_THAT(touchstone_run("simplify a --var a=0..1 --color always").text, HasSubstr("\x1b["));
  EXPECT_THAT(touchstone_run("view 2,3", "CLICOLOR_FORCE=1").text, HasSubstr("\x1b["));
  EXPECT_THAT(touchstone_run("view 2,3", "CLICOLOR_FORCE=1 NO_COLOR=1").text,
              Not(HasSubstr("\x1b[")));
}

TEST_F(Cli, KernelsListsAModel) {
  const Answer run = touchstone_run("kernels matmul --json");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.text, HasSubstr("\"model\":\"matmul\""));
  EXPECT_THAT(touchstone_run("kernels lenet --backward").text, HasSubstr("kernels,"));
}

TEST_F(Cli, FuzzFindsAPlantedFaultAndCheckConfirmsIt) {
  const std::string out = file("findings");
  const Answer clean = touchstone_run("fuzz --cases 40 --seed 5 --findings " + out);
  EXPECT_EQ(clean.code, 0) << clean.text;
  EXPECT_FALSE(std::filesystem::exists(out));
  const Answer found =
      touchstone_run("fuzz --cases 200 --seed 5 --plant drop-last-reduce --findings " + out);
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.text, HasSubstr("judge it again: touchstone check '" + out));
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    if (!entry.is_directory()) continue;  // a list of unshrunk findings
    const std::string folder = entry.path();
    EXPECT_EQ(touchstone_run("check " + folder + "/reproducer.json").code, 1);
    EXPECT_THAT(read_file(folder + "/trace.txt"), HasSubstr("What it reads:"));
    const int status = std::system(
        ("TOUCHSTONE=" TOUCHSTONE_COMMAND " " + folder + "/again.sh >/dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
  }
}

class DemoPlants : public Cli, public testing::WithParamInterface<FaultInfo> {};

TEST_P(DemoPlants, EndsInFailAndAReproducerWithTheSameVerdict) {
  const std::string out = file("repro.json");
  const std::string plant = "demo --plant " + std::string(GetParam().name) + " --reproducer ";
  const bool to_output = GetParam().name == fault_table[1].name;
  const Answer run =
      touchstone_run(to_output ? plant + "- 3>&1 1>" + out + " 2>&3 #" : plant + out);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("FAIL kernel "));
  const Answer check = touchstone_run("check " + out);
  EXPECT_EQ(check.code, 1);
  // Without the profile, which the demo states once.
  const std::string verdict = check.text.substr(
      check.text.find("FAIL:"), check.text.find(" under ") - check.text.find("FAIL:"));
  EXPECT_THAT(run.text, HasSubstr(verdict));
}

INSTANTIATE_TEST_SUITE_P(Each, DemoPlants,
                         testing::ValuesIn(fault_table.begin() + 1, test::kSanitized
                                                                        ? fault_table.begin() + 3
                                                                        : fault_table.end()),
                         [](const auto& i) {
                           std::string name(i.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(Cli, DemoRejectsDataThatIsNotDigits) {
  EXPECT_EQ(touchstone_run("demo --data " + file("missing.csv")).code, 2);
  const Answer bad = touchstone_run("demo --data " + write("bad.csv", "1,2,3\n"));
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.text, HasSubstr("line 1"));
  const Answer cut = touchstone_run("demo --data " + write("cut.gz", "\x1f\x8b\x08"));
  EXPECT_THAT(cut.text, HasSubstr("damaged or cut short"));
}

TEST_F(Cli, DemoReachesItsGoal) {
  const Answer run = touchstone_run(test::kSanitized ? "demo --epochs 20" : "demo");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("0 FAIL, 0 UNUSABLE"));
  EXPECT_THAT(run.text, HasSubstr("reached"));
}

TEST_F(Cli, DemoJudgesAStepOfModels) {
  const Answer run = touchstone_run("demo --model softmax,abc --json 2>" + file("err") + " #");
  EXPECT_EQ(run.code, 0) << run.text;
  const auto json = nlohmann::json::parse(run.text);
  EXPECT_EQ(json["fail"], 0);
  EXPECT_GE(json["pass"], 10);
  EXPECT_EQ(json["models"], (std::vector<std::string>{"softmax", "abc"}));
  EXPECT_THAT(read_file(file("err")), HasSubstr("abc: output, gradients of "));
  EXPECT_EQ(touchstone_run("demo --model softmax --device CPU").code, 0);
  for (const std::string refused :
       {"--model nosuch", "--device NOWHERE", "--device CPU --plant mask-off-by-one"})
    EXPECT_EQ(touchstone_run("demo " + refused).code, 2) << refused;
}

TEST_F(Cli, DemoJudgesTheKernelsOfAnotherScheduler) {
  const std::string err = file("err");
  const Answer run = touchstone_run("demo --epochs 1 --scheduler kernelize --json 2>" + err + " #");
  EXPECT_EQ(run.code, 1) << run.text;  // the goal is missed
  EXPECT_THAT(read_file(err), HasSubstr("0 FAIL, 0 UNUSABLE"));
  const auto json = nlohmann::json::parse(run.text);
  EXPECT_EQ(json["epochs"], 1);
  EXPECT_LT(json["accuracy"], json["goal"]);
  EXPECT_EQ(json["fail"], 0);
  EXPECT_TRUE(json["reproducer"].is_null());
  const std::int64_t judged = json["pass"].get<std::int64_t>() + json["weak"].get<std::int64_t>() +
                              json["suspect"].get<std::int64_t>();
  EXPECT_EQ(std::ssize(json["kernels"]), judged);
  for (const auto& row : json["kernels"]) {
    EXPECT_THAT(row["verdict"], testing::AnyOf("PASS", "WEAK", "SUSPECT")) << row;
    EXPECT_GE(row["runs"], 1) << row;
    EXPECT_GE(row["checked"], row["determined"]) << row;
  }
  EXPECT_EQ(touchstone_run("demo --scheduler greedy").code, 2);
}

// The printed command must work in the folder.
TEST_F(Cli, ExportedProgramsGiveWhatIsExpected) {
  for (const std::string model : {"softmax", "layernorm", "lenet"}) {
    const Answer run = touchstone_run("export " + model + " " + file(model));
    ASSERT_EQ(run.code, 0) << run.text;
    const std::size_t commands = run.text.find("to try it there:\n");
    ASSERT_NE(commands, std::string::npos) << run.text;
    const std::string script =
        "set -e; cd '" + file(model) + "'\n" + run.text.substr(commands + 17);
    EXPECT_EQ(std::system(script.c_str()), 0) << script;
  }
}

}  // namespace
}  // namespace touchstone
