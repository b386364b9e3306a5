#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "../support/sanitized.h"
#include "command.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliFuzz : public testing::Test {
 protected:
  std::string file(const std::string& name) { return dir_.path() / name; }
  std::string write(const std::string& name, const std::string& text) {
    write_file_atomically(file(name), text);
    return file(name);
  }
  std::string script(const std::string& body) {
    constexpr const char* kHello = R"sh(read q; echo '{"touchstone_backend":1,"name":"x"}'
)sh";
    return "'sh " + write("backend.sh", kHello + body + "\n") + "'";
  }
  Answer kernels(const std::string& backend) {
    return touchstone_run("fuzz --cases 3 --jobs 1 --findings " + file("findings") + " --backend " +
                          backend);
  }
  TemporaryDirectory dir_;
};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST_F(CliFuzz, AreasRunAndLogTheSameForAnyNumberOfJobs) {
  const std::string what = "fuzz --area symbolic,view,lazy,tensor --cases 120 --seed 3 ";
  const Answer one = touchstone_run(what + "--jobs 1 --log " + file("1.jsonl"));
  EXPECT_EQ(one.code, 0) << one.text;
  EXPECT_THAT(one.text, HasSubstr("lazy: 120 cases, 120 PASS"));
  EXPECT_EQ(touchstone_run(what + "--jobs 3 --log " + file("3.jsonl")).code, 0);
  EXPECT_EQ(sorted_lines(read_file(file("1.jsonl"))), sorted_lines(read_file(file("3.jsonl"))));
  EXPECT_EQ(touchstone_run(what + "--log " + file("1.jsonl")).code, 2) << "already exists";
  EXPECT_EQ(touchstone_run(what + "--resume --log " + file("1.jsonl")).code, 0);
}

TEST_F(CliFuzz, TheSummaryIsJsonToo) {
  const std::string err = file("err");
  const Answer run = touchstone_run(
      "fuzz --area view,symbolic --cases 64 --seed 3 --jobs 1 --json 2>" + err + " #");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(read_file(err), HasSubstr("view: 64 cases, 64 PASS"));
  const auto json = nlohmann::json::parse(run.text);
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["ended_early"], false);
  ASSERT_EQ(json["areas"].size(), 2);
  for (const auto& area : json["areas"]) {
    EXPECT_EQ(area["cases"], 64);
    EXPECT_EQ(area["pass"].get<int>() + area["weak"].get<int>() + area["skipped"].get<int>(), 64);
    EXPECT_TRUE(area["findings"].empty());
  }
  EXPECT_FALSE(json.contains("corpus"));
  // A backend with wrong answers, and a log on the same output: the summary is the last line.
  const Answer bad = touchstone_run(
      "fuzz --cases 3 --jobs 1 --json --log - --findings " + file("findings") + " --backend " +
      script("while read q; do echo nonsense; done") + " 2>" + err + " #");
  EXPECT_EQ(bad.code, 1) << bad.text;
  EXPECT_THAT(bad.text, StartsWith(R"({"campaign":)"));
  const std::size_t last = bad.text.rfind('\n', bad.text.size() - 2);
  const auto summary = nlohmann::json::parse(bad.text.substr(last));
  EXPECT_EQ(summary["areas"][0]["fail"], 3);
  ASSERT_FALSE(summary["areas"][0]["findings"].empty());
  EXPECT_NE(summary["areas"][0]["findings"][0]["relation"], "");
  EXPECT_THAT(read_file(err), HasSubstr("again: touchstone fuzz"));
  EXPECT_EQ(touchstone_run("fuzz --area view --json --case '3'").code, 2);
}

TEST_F(CliFuzz, OneCaseIsCheckedAndBadTextIsNamed) {
  EXPECT_EQ(touchstone_run("fuzz --area view --case '4,6 permute 1,0 reshape 24'").code, 0);
  const Answer bad = touchstone_run("fuzz --area view --case '4,6 permute 1,0,2'");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.text, HasSubstr("does not fit the shape (4, 6)"));
  const std::string named = write("a.case", "x=0..7 | x//2*2 + x%2\n");
  EXPECT_EQ(touchstone_run("fuzz --area symbolic --case @" + named).code, 0);
  EXPECT_EQ(touchstone_run("fuzz --area symbolic --case @/no/such/file").code, 2);
  EXPECT_EQ(touchstone_run("fuzz --area symbolic,view --case '4'").code, 2);
  EXPECT_THAT(touchstone_run("fuzz --area views").text, HasSubstr("did you mean 'view'"));
  EXPECT_THAT(touchstone_run("fuzz --shard 3/3").text, HasSubstr("0 <= W < N"));
  const Answer mutant = touchstone_run("fuzz --area view --mutant flip-mask-unturned");
  EXPECT_EQ(mutant.code, 2);
  EXPECT_THAT(mutant.text, HasSubstr("this build contains none; the preset mutants does"));
  EXPECT_THAT(touchstone_run("fuzz --time 5d").text,
              HasSubstr("write a duration as 60s, 5m or 2h"));
}

TEST_F(CliFuzz, ADamagedCorpusIsNamedAndTheRestIsChecked) {
  const std::string corpus = file("corpus");
  std::filesystem::create_directory(corpus);
  write("corpus/view.txt", "# a comment\n4,6 permute 1,0\nnonsense\n3 stride -1\n");
  const Answer run = touchstone_run("fuzz --area view --cases 10 --jobs 1 --corpus " + corpus);
  EXPECT_EQ(run.code, 2) << run.text;
  EXPECT_THAT(run.text, HasSubstr("view.txt:3: not a case of area 'view'"));
  EXPECT_THAT(run.text, HasSubstr("3 cases, 0 FAIL, 1 damaged"));
  EXPECT_THAT(run.text, HasSubstr("view: 10 cases, 10 PASS"));
}

TEST_F(CliFuzz, KernelsRunOnTccOrItIsSaidToBeMissing) {
  const Answer run = touchstone_run("fuzz --backend tcc --cases 60 --jobs 1 --seed 2");
  if (run.code == 2)
    EXPECT_THAT(run.text, HasSubstr("install libtcc-dev"));
  else
    EXPECT_THAT(run.text, HasSubstr("kernel on tcc: 60 cases"));
  EXPECT_EQ(touchstone_run("fuzz --cases 60 --jobs 1 --seed 2").code, 0);
}

TEST_F(CliFuzz, KernelsRunOnClangAtBothLevels) {
  const Answer plain = touchstone_run("fuzz --backend clang --cases 100 --jobs 1 --seed 2");
  EXPECT_EQ(plain.code, 0) << plain.text;
  EXPECT_THAT(plain.text, HasSubstr("kernel on clang: 100 cases"));
  EXPECT_EQ(touchstone_run("fuzz --backend clang-O2 --cases 20 --jobs 1 --seed 2").code, 0);
}

TEST_F(CliFuzz, AFindingGoesToTheCorpusOnceAndIsFoundThereAgain) {
  const std::string where =
      " --findings " + file("f") + " --plant drop-last-reduce --corpus " + file("corpus");
  const Answer first = touchstone_run("fuzz --cases 200 --jobs 1 --seed 5" + where);
  EXPECT_EQ(first.code, 1) << first.text;
  const std::string grown = read_file(file("corpus/kernel.txt"));
  EXPECT_THAT(grown, HasSubstr("# verdict, seed 5"));
  EXPECT_THAT(touchstone_run("fuzz --cases 1 --jobs 1" + where).text, HasSubstr("kernel.txt:2: "));
  EXPECT_EQ(read_file(file("corpus/kernel.txt")).find(grown), 0U);
}

TEST_F(CliFuzz, AFullDiskIsTold) {
  const Answer log = touchstone_run("fuzz --area view --cases 10 --log /dev/full");
  EXPECT_EQ(log.code, 2);
  EXPECT_THAT(log.text, HasSubstr("cannot write the log /dev/full: No space left on device"));
  const Answer page = touchstone_run("fuzz --area view --cases 10 --jobs 1 --coverage /dev/full");
  EXPECT_EQ(page.code, 2);
  EXPECT_THAT(page.text, HasSubstr("view: 10 cases, 10 PASS"));
  EXPECT_THAT(page.text, HasSubstr("No space left on device"));
}

TEST_F(CliFuzz, WhatIsFoundIsPrintedWhereNoFileTakesIt) {
  const std::string log = file("log.jsonl");
  std::filesystem::create_directory(file("corpus"));
  write_file_atomically(file("corpus/kernel.txt"), "# " + std::string(4000, '.') + "\n");
  const Answer run =
      touchstone_run("fuzz --cases 400 --jobs 1 --seed 5 --plant drop-last-reduce --log " + log +
                         " --findings " + file("f") + " --corpus " + file("corpus"),
                     "bash -c 'ulimit -f 4; exec \"$@\"' bash");
  EXPECT_EQ(run.code, 2) << run.text;
  EXPECT_THAT(run.text, HasSubstr("FAIL kernel: verdict"));
  EXPECT_THAT(run.text, HasSubstr("not added to the corpus: cannot write"));
  EXPECT_THAT(run.text, HasSubstr("cannot write the log"));
  const std::string lines = read_file(log);
  EXPECT_TRUE(lines.ends_with('\n')) << "the last line is whole";
}

TEST_F(CliFuzz, FindingsBeyondThoseThatAreShrunkAreKeptAndFoundAgain) {
  const std::string where = " --plant drop-last-reduce --findings " + file("f");
  const Answer run = touchstone_run("fuzz --cases 400 --jobs 1 --seed 5" + where);
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("more, not shrunk: " + file("f/kernel-unshrunk.txt")));
  const std::string kept = read_file(file("f/kernel-unshrunk.txt"));
  EXPECT_THAT(kept, StartsWith("# verdict, seed 5, case "));
  const Answer again = touchstone_run("fuzz --cases 1 --jobs 1 --corpus " + file("f") + where);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr("kernel-unshrunk.txt:2: "));
}

TEST_F(CliFuzz, ACaseIsNamedByWhatDrewItToo) {
  EXPECT_EQ(touchstone_run("fuzz --area view --case '#3:5'").code, 0);
  const Answer none = touchstone_run("fuzz --area view --case '#3'");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("a drawn case is written #SEED:INDEX, as #7:123, not '#3'"));
}

TEST_F(CliFuzz, ACaseThatEndsItsProcessIsAFinding) {
  const std::string compiler = write("cc", R"sh(#!/bin/sh
[ "$1" != --version ] || exec clang-19 --version
{ echo 'static float ends(float x) { *(volatile int*)0 = 0; return x; }'
  sed 's/sinf(/ends(/g'; } | clang-19 "$@"
)sh");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const std::string sine = write(
      "case.txt",
      R"({"inputs":[],"kernel":{"touchstone_kernel":1,"variables":{},"buffers":[{"dtype":"float32","idx":0,"size":1}],"nodes":[{"arg":{"value":"0.0","views":[{"mask":null,"offset":0,"shape":[],"strides":[]}]},"dtype":"float32","id":0,"op":"CONST","src":[]},{"dtype":"float32","id":1,"op":"SIN","src":[0]},{"arg":{"buffer":0,"views":[{"mask":null,"offset":0,"shape":[],"strides":[]}]},"dtype":"float32","id":2,"op":"STORE","src":[1]}],"hash":"cd618a8e6f8ea6050e1eaf7f9e03aa2e"}})");
  const Answer run = touchstone_run("fuzz --area kernel --backend clang --case @" + sine,
                                    "TOUCHSTONE_MATH=library TOUCHSTONE_CC=" + compiler);
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("FAIL kernel: crash"));
  EXPECT_THAT(run.text,
              HasSubstr("again: touchstone fuzz --area kernel --backend 'clang' --case @"));
}

TEST_F(CliFuzz, AreasShareTheTime) {
  const Answer run =
      touchstone_run("fuzz --area view,symbolic --time 6s --jobs 1 --json 2>" + file("err") + " #");
  const auto summary = nlohmann::json::parse(run.text);
  double all = 0;
  for (const auto& area : summary["areas"]) all += area["seconds"].get<double>();
  EXPECT_EQ(summary["areas"].size(), 2U);
  EXPECT_GT(all, 3);
  EXPECT_LT(all, 11);  // 12 if each area took them; a batch ends before the clock is read
}

TEST_F(CliFuzz, ShardsOfAJobAreGatheredAsOneRun) {
  const std::string what = "fuzz --area view,symbolic --cases 3000 --jobs 1 --seed 4 ";
  const std::string log = file("night.jsonl");
  for (const char* const rank : {"0", "2"}) {  // the second rank never ran, the last log is cut
    const std::string job = std::string("OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=") + rank;
    EXPECT_EQ(touchstone_run(what + "--shard job --log " + log, job).code, 0);
  }
  const std::string last = file("night-2-of-3.jsonl");
  const std::string whole = read_file(last);
  write_file_atomically(last, whole.substr(0, whole.find('\n') + 20));
  const Answer all =
      touchstone_run(what + "--gather 3 --log " + log + " --json 2>" + file("e") + " #");
  const Answer one = touchstone_run(what + "--json 2>" + file("e") + " #");
  auto gathered = nlohmann::json::parse(all.text), right = nlohmann::json::parse(one.text);
  for (auto* const summary : {&gathered, &right})
    for (auto& area : (*summary)["areas"]) area.erase("seconds");
  EXPECT_EQ(gathered, right);
  EXPECT_EQ(touchstone_run(what + "--gather 3").code, 2);
  EXPECT_EQ(touchstone_run(what + "--shard job --log " + log, "env -i").code, 2);
}

TEST_F(CliFuzz, ALimitOfTheProcessorIsNoCrash) {
  // Several seconds of work; under a sanitizer the watching process needs more of each.
  const std::string cases = test::kSanitized ? "2400" : "60000";
  const Answer run = touchstone_run("fuzz --area symbolic --cases " + cases + " --jobs 1 --seed 9",
                                    "bash -c 'ulimit -t 1; exec \"$@\"' bash");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr(" 0 FAIL"));
}

TEST_F(CliFuzz, RelationsThatSayNothingAreCounted) {
  const Answer run = touchstone_run("fuzz --area lazy --cases 100 --jobs 1 --seed 9");
  EXPECT_THAT(run.text, HasSubstr("checks that did not apply: "));
}

TEST_F(CliFuzz, CoverageIsATableAndAPage) {
  const Answer run = touchstone_run("fuzz --area view,symbolic --cases 200 --jobs 2 --coverage " +
                                    file("page.html"));
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("coverage of view"));
  EXPECT_THAT(run.text, HasSubstr("all triples"));
  const std::string page = read_file(file("page.html"));
  EXPECT_THAT(page, HasSubstr("<h2>symbolic</h2>"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

TEST_F(CliFuzz, ABackendThatDoesNotStartIsAnError) {
  const Answer run = kernels("'exit 3'");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("exit"));
  EXPECT_EQ(kernels("yes").code, 2) << "it floods";
  EXPECT_EQ(kernels("/no/such/plugin.so").code, 2);
}

TEST_F(CliFuzz, ABackendThatEndsOrSaysNoAnswerIsAFinding) {
  const Answer ends = kernels(script("read q; echo oh dear >&2; exit 7"));
  EXPECT_EQ(ends.code, 1) << ends.text;
  EXPECT_THAT(ends.text, HasSubstr("FAIL kernel: broken"));
  EXPECT_THAT(ends.text, HasSubstr("oh dear"));
  const Answer floods = kernels(script("yes"));
  EXPECT_EQ(floods.code, 1) << floods.text;
  EXPECT_THAT(floods.text, HasSubstr("FAIL kernel: unusable"));
  const Answer order = kernels(script("while read q; do echo '{\"id\":77,\"output\":\"\"}'; done"));
  EXPECT_EQ(order.code, 1) << order.text;
  EXPECT_THAT(order.text, HasSubstr("FAIL kernel: unusable"));
  const Answer none = kernels(script(
      "n=0; while read q; do n=$((n+1)); echo '{\"id\":'$n',\"unsupported\":\"no\"}'; done"));
  EXPECT_EQ(none.code, 4) << none.text;
  EXPECT_THAT(none.text, HasSubstr("nothing was checked of kernel: 3 cases drawn, all SKIPPED"));
  EXPECT_THAT(none.text, HasSubstr("3 SKIPPED"));
}

TEST_F(CliFuzz, ABackendThatHangsIsAFinding) {
  const Answer run = touchstone_run("fuzz --cases 1 --jobs 1 --timeout 1 --findings " +
                                    file("findings") + " --backend " + script("sleep 1000"));
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("FAIL kernel: "));
}

TEST_F(CliFuzz, AnInterruptEndsWithASummary) {
  const Answer run = touchstone_run("fuzz --area view --time 600s --log " + file("log.jsonl"),
                                    "timeout --preserve-status -s INT 2");
  EXPECT_EQ(run.code, 130) << run.text;
  EXPECT_THAT(run.text, HasSubstr("view: "));
  EXPECT_THAT(run.text, HasSubstr("ended early; --resume continues from the log"));
}

TEST_F(CliFuzz, AnInterruptOfTheCorpusIsNoFinding) {
  const std::string corpus = file("corpus");
  std::filesystem::create_directory(corpus);
  std::string lines;
  for (int i = 0; i < 40'000; ++i) lines += "float32 2: 1 2; exp2 %0\n";
  write("corpus/lazy.txt", lines);
  const Answer run = touchstone_run("fuzz --area lazy --cases 1 --jobs 1 --corpus " + corpus,
                                    "timeout --preserve-status -s INT 2");
  EXPECT_EQ(run.code, 130) << run.text;
  EXPECT_THAT(run.text, HasSubstr("lazy: 0 cases, 0 PASS"));
  EXPECT_THAT(run.text, HasSubstr("ended early"));
}

}  // namespace
}  // namespace touchstone
