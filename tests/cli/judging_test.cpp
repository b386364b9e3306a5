#include <gtest/gtest.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "../support/judged_outputs.h"
#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/files/npy.h"

// A formula's outputs get one verdict on every road.

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class CliJudging : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  static void write(const fs::path& path, const std::vector<float>& values) {
    write_npy(path,
              {DType::Float32,
               {static_cast<std::int64_t>(values.size())},
               {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}});
  }
  // The output of the mean keeps its shape.
  static void write(const fs::path& path, const test::JudgedOutput& of,
                    const std::vector<float>& values) {
    HostArray array{DType::Float32,
                    {static_cast<std::int64_t>(values.size())},
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}};
    if (of.formula.starts_with("mean")) array.shape = {2, 1};
    write_npy(path, array);
  }
  // A folder that `verb` wrote, with one case: the inputs and this output.
  std::string folder(const std::string& verb, const test::JudgedOutput& of,
                     const std::vector<float>& output) const {
    const fs::path all = file(verb.substr(0, verb.find(' ')));
    fs::remove_all(all);
    const Answer written = touchstone_run(verb + " " + (verb.starts_with("emit") ? "" : "--out ") +
                                          all.string() + " --op '" + of.formula + "'");
    EXPECT_EQ(written.code, 0) << written.text;
    const fs::path one = all / "random";
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
      write(one / ("in" + std::to_string(i + 1) + ".npy"), of.inputs[i]);
    write(one / "out.npy", of, output);
    return one.string();
  }
  // The --in and --out of these arrays.
  std::string arrays(const test::JudgedOutput& of, const std::vector<float>& output) const {
    std::string words = " --in";
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      const std::string name = file("x" + std::to_string(i) + ".npy");
      write(name, of.inputs[i]);
      words += " " + name;
    }
    write(file("y.npy"), of, output);
    return words + " --out " + file("y.npy");
  }
  TemporaryDirectory dir_;
};

TEST_F(CliJudging, AllRoadsGiveAFormulasOutputTheSameVerdict) {
  for (const test::JudgedOutput& of : test::judged_outputs())
    for (const bool right : {true, false}) {
      SCOPED_TRACE(of.formula + (right ? " right" : " wrong"));
      const std::vector<float>& output = right ? of.right : of.wrong;
      const std::string words = arrays(of, output), op = " --op '" + of.formula + "'";
      const int code = right ? 0 : 1;
      const Answer checked = touchstone_run("check" + op + words);
      EXPECT_EQ(checked.code, code) << checked.text;
      EXPECT_THAT(checked.text, HasSubstr(right ? "PASS" : test::kUnderLibrary));
      const std::string at = of.formula.starts_with("mean") ? " --at 1,0" : " --at 3";
      EXPECT_EQ(touchstone_run("explain" + op + words + at).code, code);
      for (const char* verb : {"emit", "probe --seconds 0"}) {
        const std::string one = folder(verb, of, output);
        const Answer judged = touchstone_run("judge --all " + one);
        EXPECT_EQ(judged.code, code) << verb << judged.text;
        EXPECT_THAT(judged.text, HasSubstr("1 kernel under profile library: "));
        EXPECT_THAT(judged.text,
                    HasSubstr(right ? "PASS" : "under library (stored in " + one + ")"));
        const std::string kernel = one + "/kernel.json";
        EXPECT_EQ(touchstone_run("check " + kernel + words).code, code);
        EXPECT_EQ(touchstone_run("explain " + kernel + words + at).code, code);
      }
      const std::string one = folder("emit", of, output);
      std::string inputs;
      for (std::size_t i = 0; i < of.inputs.size(); ++i)
        inputs += (i == 0 ? "\"" : ",\"") + one + "/in" + std::to_string(i + 1) + ".npy\"";
      const std::string question = R"({"kernel":")" + one + R"(/kernel.json","inputs":[)" + inputs +
                                   R"(],"output":")" + one + R"(/out.npy"})";
      write_file_atomically(file("question"), question + "\n");
      EXPECT_THAT(touchstone_run("serve", "", "< " + file("question")).text,
                  AllOf(HasSubstr(right ? R"("verdict":"PASS")" : R"("verdict":"FAIL")"),
                        HasSubstr(R"("profile":"library","profile_from":"stored in )")));
      fs::remove(one + "/judging.json");
      EXPECT_EQ(touchstone_run("judge " + one).code, 1) << "an old folder";
    }
}

TEST_F(CliJudging, AKernelWrittenFromATextIsJudgedAsTheText) {
  const std::string kernel = file("k.json");
  const Answer written = touchstone_run("kernel 'maximum(x[2], y[2])' --out " + kernel);
  EXPECT_THAT(written.text, HasSubstr(file("k.judging.json") + ": the text, judged under library"));
  write(file("x.npy"), {-0.0F, 1});
  write(file("y.npy"), {0.0F, 2});
  write(file("right.npy"), {-0.0F, 2});
  write(file("wrong.npy"), {0, 3});
  const std::string in = " --in x=" + file("x.npy") + " y=" + file("y.npy") + " --out ";
  EXPECT_EQ(touchstone_run("check " + kernel + in + file("right.npy")).code, 0);
  EXPECT_THAT(touchstone_run("check " + kernel + in + file("wrong.npy")).text,
              AllOf(HasSubstr("first at (1): maximum(x[2], y[2]) gave"),
                    HasSubstr("x = 1.0, y = 2.0"), HasSubstr("under library (stored in ")));
  EXPECT_EQ(touchstone_run("explain " + kernel + " --at 0" + in + file("right.npy")).code, 0);
  fs::remove(file("k.judging.json"));
  EXPECT_EQ(touchstone_run("check " + kernel + " --in " + file("x.npy") + " " + file("y.npy") +
                           " --out " + file("right.npy"))
                .code,
            1)
      << "a kernel alone";
}

TEST_F(CliJudging, AnElementHasTheAxesOfTheFormula) {
  write_npy(file("x.npy"), {DType::Float32, {2, 3}, std::string(24, '\0')});
  const std::string ask = "explain --op 'softmax(x, axis=1)' --in " + file("x.npy") + " --at ";
  EXPECT_EQ(touchstone_run(ask + "1,2").code, 0);
  EXPECT_THAT(touchstone_run(ask + "1,2 --json").text, HasSubstr(R"({"at":[1,2],)"));
  EXPECT_THAT(touchstone_run(ask + "1").text,
              HasSubstr("element (1): the output has shape [2,3]; give an index for each axis"));
  EXPECT_THAT(touchstone_run(ask + "1,99").text,
              HasSubstr("element (1, 99): axis 1 of the output has 3 elements"));
  EXPECT_THAT(touchstone_run(ask + "1,2,3").text,
              HasSubstr("element (1, 2, 3): the output has shape [2,3]"));
}

TEST_F(CliJudging, AStoredProfileIsNotForAnotherKernel) {
  const test::JudgedOutput of = test::judged_outputs()[1];
  const std::string one = folder("emit", of, of.right);
  write_file_atomically(one + "/kernel.json", touchstone_run("kernel 'x[4] + y[4]'").text);
  EXPECT_THAT(touchstone_run("judge --json " + one).text,
              HasSubstr(R"("profile":"glibc","profile_from":"the default")"));
}

// The maximum is the last node, so its prefix is the whole kernel.
TEST_F(CliJudging, BlameJudgesAFormulasNodesAsCheckDoes) {
  const test::JudgedOutput of = test::judged_outputs()[1];
  const std::string one = folder("emit", of, of.right);
  const Answer nodes = touchstone_run("blame --nodes --op '" + of.formula + "'");
  const std::string number = nodes.text.substr(nodes.text.find(" = MAX") - 1, 1);
  const std::string inputs = " --in " + one + "/in1.npy " + one + "/in2.npy --held " + number + "=";
  for (const std::string& kernel : {"--op '" + of.formula + "'", one + "/kernel.json",
                                    one + "/kernel.json --profile library"}) {
    const Answer good = touchstone_run("blame " + kernel + inputs + one + "/out.npy");
    EXPECT_EQ(good.code, 0) << good.text;
    EXPECT_THAT(good.text, HasSubstr("no node is wrong under library ("));
  }
  write(one + "/wrong.npy", of.wrong);
  const Answer bad =
      touchstone_run("blame --op '" + of.formula + "'" + inputs + one + "/wrong.npy");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.text, HasSubstr(test::kUnderLibrary));
}

TEST_F(CliJudging, ANamedProfileIsStoredAndCanBeReplaced) {
  const test::JudgedOutput of = test::judged_outputs()[0];
  std::string one;
  for (const char* verb : {"emit --profile ieee", "probe --seconds 0 --profile ieee"}) {
    one = folder(verb, of, of.right);
    const Answer stored = touchstone_run("judge --json " + one);
    EXPECT_EQ(stored.code, 1);
    EXPECT_THAT(stored.text, HasSubstr(R"("profile":"ieee","profile_from":"stored in )"));
  }
  const Answer named = touchstone_run("judge --json --profile library " + one);
  EXPECT_EQ(named.code, 0);
  EXPECT_THAT(named.text, HasSubstr(R"("profile":"library","profile_from":"named by --profile")"));
}

}  // namespace
}  // namespace touchstone
