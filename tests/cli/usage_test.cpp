#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "touchstone/base/counted.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/files/npy.h"

// The words of the command line, and the messages about them.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliUsage : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return file(name);
  }
  std::string array(const std::string& name, const std::vector<std::int64_t>& shape,
                    const std::vector<float>& values) const {
    HostArray a{DType::Float32, shape, {}};
    a.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    write_npy(folder_.path() / name, a);
    return file(name);
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  TemporaryDirectory folder_;
};

TEST_F(CliUsage, WordsThatAreUnknownAreNamedWithTheNearest) {
  const std::pair<std::string, std::string> cases[] = {
      {"chekc", "touchstone: there is no verb 'chekc'; did you mean 'check'?"},
      {"plugin-hots", "there is no verb 'plugin-hots'; "},  // hidden ones are not offered
      {"", "no verb given, as in `touchstone demo`"},
      {"--colour always view 2,3", "no option '--colour'; did you mean '--color'?"},
      {"check --profil x", "no option '--profil'; did you mean '--profile'?; `touchstone check"},
      {"blame --op 'exp(x[2])' --out y.npy", "no option '--out'"},
      {"simplify x --vra=x=0..3", "no option '--vra'; did you mean '--var'?"},
      {"view 2,3 --zzzzzzzzzz", "no option '--zzzzzzzzzz'; `touchstone view --help`"},
      {"check a b", "unexpected argument 'b'"},
      {"eval --seed abc", "--seed: 'abc' is not a number"},
      {"explain --op 'exp2(x[4])'", "--at is required; `touchstone explain --help`"},
      {"emit x --ops foo", "no operation 'foo'"},
      {"ops load", "nothing is computed by the op 'load'"},
      {"emit - --ops add", "not standard output"},
      {"kernel --json", "--json needs --list"}};
  for (const auto& [words, says] : cases) {
    const Answer run = touchstone_run(words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_THAT(run.text, HasSubstr(says)) << words;
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << run.text;
  }
  EXPECT_THAT(touchstone_run("plugin-hots").text, Not(HasSubstr("did you mean 'plugin-host'")));
  EXPECT_THAT(touchstone_run("emit x --ops foo").text, HasSubstr("known: noop exp2 log2 cast "));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(CliUsage, HelpHasTheVerbsOwnExitCodes) {
  EXPECT_THAT(touchstone_run("check --help").text,
              HasSubstr("Exit codes: 0 PASS, 1 FAIL, 2 UNUSABLE, bad usage or input, 3 WEAK, 5 "
                        "SUSPECT.\n"));
  EXPECT_THAT(touchstone_run("judge --help").text, HasSubstr("4 nothing was checked"));
  EXPECT_THAT(touchstone_run("schedule --help").text,
              HasSubstr("Exit codes: 0 done, 2 bad usage or input.\n"));
}

TEST_F(CliUsage, HelpIsAlsoAWord) {
  EXPECT_EQ(touchstone_run("help").text, touchstone_run("--help").text);
  for (const std::string verb : {"kernel", "check"}) {
    const Answer help = touchstone_run("help " + verb);
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.text, touchstone_run(verb + " --help").text);
  }
}

TEST_F(CliUsage, HelpNamesTheFoldersOfDocumentationAndAdapters) {
  const std::string help = touchstone_run("--help").text;
  for (const auto& [name, inside] :
       {std::pair("Documentation: ", "tour.md"), {"Adapters of backends: ", "numpy_backend.py"}}) {
    const std::size_t at = help.find(name);
    ASSERT_NE(at, std::string::npos) << help;
    const std::size_t begin = at + std::string_view(name).size();
    const std::filesystem::path folder = help.substr(begin, help.find('\n', begin) - begin);
    EXPECT_TRUE(std::filesystem::exists(folder / inside)) << folder;
  }
}

TEST_F(CliUsage, OpsIsATableOfOperandsTypesAndResults) {
  const std::string table = touchstone_run("ops").text;
  EXPECT_THAT(table, StartsWith("op          operands  types"));
  EXPECT_THAT(table, HasSubstr("\nsqrt               1  floats                IEEE 754: rounded"));
  EXPECT_THAT(table, HasSubstr("\nwhere              3  floats "));
  EXPECT_THAT(table, HasSubstr("\nreduce_sum         1  floats "));
  EXPECT_THAT(table, HasSubstr("                      integers              wraps modulo 2^n\n"));
  const Answer one = touchstone_run("ops DIV max");
  EXPECT_THAT(one.text, StartsWith("div, 2 operands\n  floats: IEEE 754"));
  EXPECT_THAT(one.text, HasSubstr("\nmax, 2 operands, commutes\n"));
  const Answer json = touchstone_run("ops --json");
  EXPECT_EQ(std::count(json.text.begin(), json.text.end(), '\n'), 21);
  EXPECT_THAT(json.text, HasSubstr(R"({"op":"mulacc","operands":3,"commutes":false,"results":[)"));
}

TEST_F(CliUsage, OpsAndTheListOfKernelsHaveEveryDefinitionWithItsForms) {
  const std::string table = touchstone_run("ops").text, list = touchstone_run("kernel --list").text;
  std::istringstream lines(touchstone_run("kernel --list --json").text);
  std::size_t forms = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto d = nlohmann::json::parse(line);
    const std::string name = d["name"];
    EXPECT_THAT(table, testing::ContainsRegex(" " + name + "[ \n]"));
    EXPECT_THAT(list, HasSubstr("  " + d["signature"].get<std::string>() + "\n"));
    forms += d["forms"].size();
  }
  EXPECT_GT(forms, 60U);
  const std::string softmax = touchstone_run("ops softmax").text;
  EXPECT_THAT(softmax, HasSubstr("\n      form 'reciprocal': e * (1 / sum(e))\n"));
  EXPECT_THAT(softmax, HasSubstr("\n      to declare, form 'own type': "));
  EXPECT_THAT(list, HasSubstr(softmax));
  EXPECT_THAT(touchstone_run("ops clip").text, StartsWith("  clamp(x, low?, high?)\n"));
  EXPECT_THAT(touchstone_run("ops max").text, HasSubstr("\n  max(x, axis=all, keep=0)\n"));
  EXPECT_THAT(touchstone_run("ops softmx").text, HasSubstr("did you mean 'softmax'?"));
}

TEST_F(CliUsage, AnInputWithoutSizesHasThoseOfItsArray) {
  const std::string x = array("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6}),
                    row = array("row.npy", {3}, {1, 0, 1}),
                    sum = array("sum.npy", {2, 3}, {2, 2, 4, 5, 5, 7});
  EXPECT_EQ(touchstone_run("check --op 'x + row' --in " + x + " " + row + " --out " + sum).code, 0);
  EXPECT_EQ(touchstone_run("check --op 'y[2,3] + x' --in " + x + " " + row + " --out " + sum).code,
            0);
  EXPECT_EQ(touchstone_run("check --op 'x * row' --in " + x + " " + row + " --out " + sum).code, 1);
  EXPECT_THAT(touchstone_run("eval --op 'sum(x, axis=1)' --in " + x).text,
              HasSubstr("\n6.0 15.0\n"));
  EXPECT_THAT(touchstone_run("explain --op 'x + x' --at 1,2 --in " + x).text, HasSubstr("ADD"));
  EXPECT_EQ(touchstone_run("emit " + file("drawn") + " --op 'x * row' --in " + x + " " + row).code,
            0);
  EXPECT_EQ(touchstone_run("probe --op 'x * row' --seconds 0 --out " + file("probes") + " --in " +
                           x + " " + row)
                .code,
            0);
  const std::string kernel = touchstone_run("kernel 'x[2,3] * row[3]'").text;
  for (const char* folder : {"drawn", "probes"}) {
    int kernels = 0;
    for (const auto& entry : std::filesystem::directory_iterator(file(folder))) {
      EXPECT_EQ(read_file(entry.path() / "kernel.json"), kernel);
      ++kernels;
    }
    EXPECT_GE(kernels, 2) << folder;
  }
  EXPECT_EQ(touchstone_run("emit " + file("no") + " --in " + x).code, 2);
  EXPECT_EQ(touchstone_run("probe --in " + x).code, 2);
  write_npy(file("wide.npy"), {DType::Float64, {3}, std::string(24, '\0')});
  EXPECT_THAT(
      touchstone_run("check --op 'b - x' --in " + file("wide.npy") + " " + x + " --out " + sum)
          .text,
      HasSubstr("contains float32, but the kernel's output is float64; arrays without names "
                "are taken in the order of first use: b is [3] of float64, x is [2,3] of "
                "float32; or give them names (b=...)"));
  const Answer lacks = touchstone_run("check --op 'x + y' --in " + x + " --out " + sum);
  EXPECT_EQ(lacks.code, 2);
  EXPECT_THAT(lacks.text, HasSubstr("'y' is input 2, but there are only 1 arrays"));
}

TEST_F(CliUsage, AFileNamedMinusIsStandardOutput) {
  EXPECT_THAT(touchstone_run("view 2,3 --html -").text, StartsWith("<!doctype html>"));
  EXPECT_THAT(touchstone_run("kernel 'exp2(x[2])' --out -").text, HasSubstr("EXP2"));
  const Answer bytes = touchstone_run("eval --op 'exp2(x[2])' --out - 2>/dev/null | wc -c #");
  EXPECT_EQ(bytes.text, "136\n");
  const std::string with_source = "eval --device CLANG --source --op 'exp2(x[2])' --out - ";
  EXPECT_EQ(touchstone_run(with_source + "2>/dev/null | wc -c #").text, "136\n");
  EXPECT_THAT(touchstone_run(with_source + "2>&1 >/dev/null #").text, HasSubstr("void "));
  // Text for people then goes to standard error.
  const std::string fuzz = "fuzz --area view --cases 64 --jobs 1 ";
  const Answer log = touchstone_run(fuzz + "--log - 2>/dev/null #");
  EXPECT_THAT(log.text, StartsWith(R"({"campaign":{"areas":[{"batch")"));
  EXPECT_THAT(log.text, HasSubstr(R"("passed":64)"));
  EXPECT_THAT(log.text, Not(HasSubstr("64 PASS")));
  EXPECT_THAT(touchstone_run(fuzz + "--log - 2>&1 >/dev/null #").text, HasSubstr("64 PASS"));
  EXPECT_THAT(touchstone_run(fuzz + "--coverage - 2>/dev/null #").text,
              StartsWith("<!doctype html>"));
  EXPECT_THAT(touchstone_run(fuzz + "--coverage - --json").text,
              HasSubstr("a file name for one of them"));
  const Answer certificate =
      touchstone_run("certify sqrt f16 --from 0 --to 0 --out - 2>/dev/null #");
  EXPECT_EQ(certificate.code, 0);
  EXPECT_THAT(certificate.text, StartsWith("{"));
  EXPECT_THAT(certificate.text, HasSubstr("\"sqrt\""));
  EXPECT_THAT(certificate.text, Not(HasSubstr("inputs checked")));
  const std::string judge = "judge --plugin " TOUCHSTONE_TEST_PLUGIN " --ops neg --dtypes i8 -n 4 ";
  const Answer lines = touchstone_run(judge + "--log - 2>/dev/null #");
  EXPECT_THAT(lines.text, StartsWith(R"({"touchstone_judge":)"));
  EXPECT_THAT(lines.text, HasSubstr("\n{\"case\":\"neg-int8-"));
  EXPECT_THAT(lines.text, Not(HasSubstr("under profile")));
  const Answer league = touchstone_run("league" + judge.substr(5) + "--log - 2>/dev/null #");
  EXPECT_THAT(league.text, StartsWith(R"({"touchstone_league":)"));
  EXPECT_THAT(league.text, Not(HasSubstr("## ")));
  for (const std::string& refused :
       {judge + "--json --log -", judge + "--resume --log -", fuzz + "--resume --log -",
        fuzz + "--findings -", fuzz + "--corpus -", std::string("demo --json --reproducer -"),
        std::string("probe --op 'exp2(x[2])' --out -")})
    EXPECT_EQ(touchstone_run(refused).code, 2) << refused;
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(CliUsage, AModelsKernelsAreASuite) {
  const Answer run = touchstone_run("emit " + file("suite") + " --model softmax");
  EXPECT_EQ(run.code, 0);
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file("suite"))) {
    EXPECT_THAT(entry.path().filename().string(), StartsWith("softmax-00"));
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "kernel.json"));
    ++folders;
  }
  EXPECT_THAT(run.text, StartsWith(counted(folders, "kernel") + " in "));
  EXPECT_GE(folders, 9);
  EXPECT_EQ(touchstone_run("emit " + file("no") + " --model vgg").code, 2);
  EXPECT_EQ(touchstone_run("emit " + file("no") + " --model lenet --ops add").code, 2);
  EXPECT_EQ(touchstone_run("emit " + file("no") + " --backward").code, 2);
}

TEST_F(CliUsage, ListsAreJsonToo) {
  EXPECT_THAT(touchstone_run("kernels --json").text,
              HasSubstr(R"({"model":"matmul","what":"64 x 64 x 64","forward":1,)"));
  EXPECT_THAT(touchstone_run("kernel --list --json").text, HasSubstr(R"({"name":"softmax",)"));
  EXPECT_EQ(touchstone_run("blame --op 'exp2(x[4])' --nodes --json").text,
            "{\"node\":0,\"text\":\"%0 = LOAD(buffer 1) float32 (4)\"}\n"
            "{\"node\":1,\"text\":\"%1 = EXP2(%0) float32 (4)\"}\n");
}

TEST_F(CliUsage, ErrorsNameFilesAndNoLibrary) {
  const std::string cut = write("cut.json", "{\"a\":1");
  for (const std::string& words : {"eval " + cut, "check " + cut, "simplify --replay " + cut,
                                   "check --op 'exp2(x[4])' --out y.npy --profile " + cut,
                                   "certify exp2 float16 --out " + cut}) {
    const Answer run = touchstone_run(words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_THAT(run.text, HasSubstr(cut)) << words;
    EXPECT_THAT(run.text, HasSubstr("line 1, column 7: the text ends; expected '}'")) << words;
    EXPECT_THAT(run.text, Not(HasSubstr("json.exception"))) << words;
  }
  const std::string empty = write("empty.json", "{\"touchstone_reproducer\":1}");
  for (const char* verb : {"check ", "blame --nodes ", "explain --at 0 "})
    EXPECT_THAT(touchstone_run(verb + empty).text,
                HasSubstr("empty.json: reproducer: the file: \"inputs\" is missing"));
}

TEST(JsonFault, IsInOurWords) {
  EXPECT_EQ(json_fault("[json.exception.parse_error.101] parse error at line 2, column 1: syntax "
                       "error while parsing value - invalid literal; last read: 'h'"),
            "line 2, column 1: invalid literal at 'h'");
  EXPECT_EQ(json_fault("[json.exception.out_of_range.403] key 'steps' not found"),
            "\"steps\" is missing");
  EXPECT_EQ(json_fault("[json.exception.type_error.302] type must be string, but is number"),
            "a member must be string, not number");
  EXPECT_EQ(json_fault("too deep"), "too deep");
  EXPECT_EQ(json_fault("[json.exception."), "[json.exception.");
}

TEST(Counted, MakesPlurals) {
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(2, "match"), "2 matches");
  EXPECT_EQ(counted(2, "family"), "2 families");
  EXPECT_EQ(counted(2, "axis"), "2 axes");
  EXPECT_EQ(counted(2, "array"), "2 arrays");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
}

}  // namespace
}  // namespace touchstone
