#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"

// Foreign backends through the command, and its reports on them.

namespace touchstone {
namespace {

using testing::HasSubstr;

class CliBackend : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.path() / name) << text;
    return file(name);
  }
  TemporaryDirectory dir_;
};

// The count of kernels in the category `what`, in judge's last line; -1 if missing.
int count(const Answer& run, const std::string& what) {
  const std::size_t end = run.text.rfind(" " + what);
  if (end == std::string::npos) return -1;
  const std::size_t begin = run.text.find_last_not_of("0123456789", end - 1) + 1;
  return begin == end ? -1 : std::stoi(run.text.substr(begin, end - begin));
}

// A Python with a library; empty if there is none.
std::string python(const std::string& library = "numpy") {
  for (const char* name : {"/usr/bin/python3", "python3"})
    if (std::system((std::string(name) + " -c 'import " + library + "' 2>/dev/null").c_str()) == 0)
      return name;
  return {};
}

// The example program of docs/backends.md.
std::string example() {
  const std::string page = read_file(TOUCHSTONE_SOURCE_DIR "/docs/backends.md");
  const std::size_t begin = page.find("```python adder.py\n") + 19;
  return page.substr(begin, page.find("```", begin) - begin);
}

constexpr char kShell[] = R"sh(read q; echo '{"touchstone_backend":1,"name":"shell"}'; )sh";

TEST_F(CliBackend, BreaksAreVerdictsAndTheRunGoesOn) {
  const std::string crash = write("crash.sh", std::string(kShell) + "read q; kill -SEGV $$\n");
  const Answer crashed =
      touchstone_run("judge --backend 'sh " + crash + "' --ops neg --dtypes f32 -n 4");
  EXPECT_EQ(crashed.code, 1);
  EXPECT_THAT(crashed.text, HasSubstr("neg-float32-edges FAIL: it crashed"));
  EXPECT_THAT(crashed.text, HasSubstr("kernels on shell under profile glibc: 0 PASS, 0 WEAK, "));
  EXPECT_GE(count(crashed, "FAIL"), 3);
  EXPECT_EQ(count(crashed, "UNUSABLE"), 0);
  const std::string garbage =
      write("garbage.sh", std::string(kShell) + "while read q; do echo 7; done");
  const Answer bad =
      touchstone_run("judge --json --backend 'sh " + garbage + "' --ops neg --dtypes f32 -n 4");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.text, HasSubstr(R"("case":"neg-float32-edges","verdict":"UNUSABLE")"));
  EXPECT_THAT(bad.text, HasSubstr(R"("why":"its answer is unusable: it is not a JSON object: 7)"));
}

TEST_F(CliBackend, APluginIsJudgedToo) {
  const std::string suite =
      " --plugin " TOUCHSTONE_TEST_PLUGIN " --ops cast --dtypes i8 -n 20 --timeout 120";
  const Answer good = touchstone_run("judge --all" + suite);
  EXPECT_THAT(good.text, HasSubstr("bitcast-int8-uint8-edges PASS"));
  EXPECT_THAT(good.text, HasSubstr("kernels on copier under profile glibc"));
  const Answer evil = touchstone_run("judge" + suite, "TOUCHSTONE_EVIL=past-end");
  EXPECT_EQ(evil.code, 1);
  EXPECT_THAT(evil.text,
              HasSubstr("bitcast-int8-uint8-edges FAIL: it wrote to buffer 0 past its "));
  const Answer other = touchstone_run("judge" + suite, "TOUCHSTONE_EVIL=version");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.text, HasSubstr("ABI version 99"));
  EXPECT_EQ(touchstone_run("judge --backend x --plugin y").code, 2);
}

TEST_F(CliBackend, OneThatDoesNotStartIsAnError) {
  const Answer none = touchstone_run("judge --backend /no/such/program");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("the backend failed to start"));
  EXPECT_THAT(touchstone_run("judge").text,
              HasSubstr("give a folder that emit wrote, or a --backend or a --plugin"));
  const std::string script =
      write("profile.sh",
            R"sh(read q; echo '{"touchstone_backend":1,"name":"x","profile":"exact"}'; read q)sh");
  const Answer profile = touchstone_run("judge --backend 'sh " + script + "'");
  EXPECT_EQ(profile.code, 2);
  EXPECT_THAT(profile.text, HasSubstr("exact"));
}

TEST_F(CliBackend, TheExampleOfTheDocsWorks) {
  if (python().empty()) GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  const std::string script = write("example.py", example());
  const Answer run = touchstone_run("judge --backend '" + python() + " " + script +
                                    "' --ops add,sub --dtypes f32,i16 -n 50 --timeout 120");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("kernels on adder under profile glibc"));
  EXPECT_GE(count(run, "PASS"), 6);
  EXPECT_EQ(count(run, "unsupported"), count(run, "PASS"));
  EXPECT_EQ(count(run, "UNUSABLE"), 0);
}

// The quick start as documented: all types, operations and kernels.
TEST_F(CliBackend, TheQuickStartOfTheDocsWorksAsTyped) {
  if (python().empty()) GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  const std::string page = read_file(TOUCHSTONE_SOURCE_DIR "/docs/backends.md");
  write("adder.py", example());
  const std::string command = "judge --backend '" + python() + " adder.py' --ops add";
  EXPECT_THAT(page,
              HasSubstr("touchstone judge --backend '/usr/bin/python3 adder.py' --ops add\n"));
  const std::string there = "cd " + dir_.path().string() + " &&";
  const Answer run = touchstone_run(command + " -n 100 --timeout 120", there);
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(count(run, "FAIL"), 0) << run.text;
  EXPECT_EQ(count(run, "UNUSABLE"), 0) << run.text;
  EXPECT_EQ(count(run, "unsupported"), 15) << run.text;  // three types that NumPy lacks
  EXPECT_THAT(run.text, HasSubstr("touchstone fuzz --area kernel --backend '"));
  // The last line's command starts a campaign.
  const std::size_t begin = run.text.find("touchstone fuzz --area kernel");
  const std::string next =
      run.text.substr(begin + 11, run.text.find(" --time", begin) - begin - 11);
  const Answer fuzz = touchstone_run(next + " --cases 20 --jobs 1 --timeout 120", there);
  EXPECT_THAT(fuzz.code, testing::AnyOf(0, 4)) << fuzz.text;  // 4: it takes none of them
  const Answer kernels = touchstone_run(
      "judge --backend '" + python() + " adder.py' --kernels conv2d,concat --timeout 120", there);
  EXPECT_EQ(kernels.code, 4) << kernels.text;
}

// Masks, strides and sizes that fail only in whole kernels: three planted faults that no single
// operation shows.
TEST_F(CliBackend, FaultsOfWholeKernelsAreFoundByTheSuite) {
  if (python().empty()) GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  const std::string folder = TOUCHSTONE_SOURCE_DIR "/fuzz/backends/";
  const std::string sound_views = read_file(folder + "line_protocol.py");
  const std::string sound = read_file(folder + "numpy_backend.py");
  const auto replaced = [](std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
  };
  const auto judge = [&](const std::string& views, const std::string& program,
                         const std::string& suite) {
    write("line_protocol.py", views);
    const std::string script = write("backend.py", program);
    return touchstone_run("judge --dtypes f32 --timeout 120 --backend '" + python() + " " + script +
                          "' " + suite);
  };
  const std::string ops = "--ops add,max,where,reduce_sum,reduce_max -n 60";
  const std::string kernels = "--kernels pad,conv2d,flip,sum,matmul";
  const Answer good = judge(sound_views, sound, kernels);
  EXPECT_EQ(count(good, "FAIL"), 0) << good.text;
  EXPECT_GE(count(good, "PASS"), 40) << good.text;
  struct Fault {
    std::string views, program, shown;
  };
  const Fault faults[] = {
      // A mask with an offset above 0 begins one element late.
      {replaced(sound_views, "(i >= begin)", "(i >= begin + (begin > 1))"), sound,
       "pad-7x5-float32"},
      // Negative strides are treated as positive ones.
      {replaced(sound_views, "at = at + i * stride",
                "at = at + (i * stride if stride >= 0 else stride * (view['shape'][0] // 2))"),
       sound, "flip-stride-9x14-float32"},
      // A reduce over several axes truncates the last one to a multiple of four.
      {sound_views,
       replaced(sound, "return np.sum(src[0],",
                "cut = src[0].shape[-1] // 4 * 4 if len(arg['axes']) > 1 else src[0].shape[-1]\n"
                "        return np.sum(src[0][..., :cut],"),
       "sum-5x6x7-float32"}};
  for (const Fault& fault : faults) {
    const Answer single = judge(fault.views, fault.program, ops);
    EXPECT_EQ(count(single, "FAIL"), 0) << single.text;
    const Answer whole = judge(fault.views, fault.program, kernels);
    EXPECT_EQ(whole.code, 1) << whole.text;
    EXPECT_GE(count(whole, "FAIL"), 1) << whole.text;
    EXPECT_THAT(whole.text, HasSubstr(fault.shown));
  }
}

// Probes of one kernel, judged together from their folders.
TEST_F(CliBackend, ProbesAreJudgedTogether) {
  const std::string folder = file("probes");
  const Answer drawn = touchstone_run("probe --op 'softmax(x[6,9])' --seconds 0 --out " + folder);
  EXPECT_EQ(drawn.code, 0) << drawn.text;
  EXPECT_THAT(drawn.text, HasSubstr("touchstone judge " + folder));
  for (const char* family : {"integers", "deep", "one-hot", "edges", "zeros"}) {
    const std::string at = folder + "/" + family;
    const Answer run = touchstone_run("eval " + at + "/kernel.json --in " + at + "/in1.npy --out " +
                                      at + "/out.npy");
    EXPECT_EQ(run.code, 0) << run.text;
  }
  for (const char* family : {"powers", "balanced", "offset", "full", "random"})
    std::filesystem::remove_all(folder + "/" + family);
  const Answer judged = touchstone_run("judge --all " + folder);
  EXPECT_EQ(judged.code, 0) << judged.text;
  EXPECT_EQ(count(judged, "FAIL"), 0);
  EXPECT_GE(count(judged, "PASS"), 4) << judged.text;
  const Answer words = touchstone_run("probe --profile glibc --op 'sum(exp2(x[6,9]), axis=1)'");
  EXPECT_EQ(words.code, 0) << words.text;
  EXPECT_THAT(words.text, HasSubstr("%1 EXP2: off by 2 ULP or more: shown by deep"));
  const Answer json = touchstone_run("probe --json --op 'sum(x[3,4], axis=1)'");
  EXPECT_THAT(json.text, HasSubstr(R"("fault":"%1 REDUCE_SUM")"));
  EXPECT_EQ(touchstone_run("probe").code, 2);
  EXPECT_EQ(touchstone_run("emit " + folder + " --op 'x[3]'").code, 2);  // not empty
  EXPECT_EQ(touchstone_run("emit " + file("one") + " --op 'softmax(x[2,3])'").code, 0);
}

// Operations that NumPy does not approximate.
TEST_F(CliBackend, NumPyGivesWhatItMust) {
  if (python().empty()) GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  const std::string backend = "--timeout 120 --backend '" + python() +
                              " " TOUCHSTONE_SOURCE_DIR "/fuzz/backends/numpy_backend.py'";
  const Answer run = touchstone_run("judge " + backend +
                                    " --ops add,mul,sqrt,cmplt,where,xor,reduce_sum -n 60 "
                                    "--dtypes bool,i8,u64,f16,f32,f64");
  EXPECT_THAT(run.text, HasSubstr("on numpy under profile numpy"));
  EXPECT_GE(count(run, "PASS"), 100) << run.text;
  EXPECT_EQ(count(run, "FAIL"), 0) << run.text;
  EXPECT_EQ(count(run, "UNUSABLE"), 0) << run.text;
  EXPECT_EQ(count(run, "unsupported"), 0);
  const std::string folder = file("suite");
  ASSERT_EQ(touchstone_run("emit " + folder + " --ops mulacc --dtypes f64,bf16 -n 30").code, 0);
  const Answer emitted = touchstone_run("judge " + folder + " " + backend);
  EXPECT_EQ(count(emitted, "FAIL"), 0) << emitted.text;
  EXPECT_GE(count(emitted, "PASS"), 3);
  EXPECT_GE(count(emitted, "unsupported"), 3);
}

// Devices may be off within the OpenCL profile; these may not.
TEST_F(CliBackend, BlameNamesTheNodeThatIsWrong) {
  const std::string kernel = write("kernel.json", R"({"touchstone_kernel":1,"variables":{},
"buffers":[{"dtype":"float32","idx":0,"size":4},{"dtype":"float32","idx":1,"size":4},
{"dtype":"float32","idx":2,"size":4}],
"nodes":[
{"arg":{"buffer":1,"views":[{"mask":null,"offset":0,"shape":[4],"strides":[1]}]},"dtype":"float32","id":0,"op":"LOAD","src":[]},
{"arg":null,"dtype":"float32","id":1,"op":"EXP2","src":[0]},
{"arg":{"buffer":2,"views":[{"mask":null,"offset":0,"shape":[4],"strides":[1]}]},"dtype":"float32","id":2,"op":"LOAD","src":[]},
{"arg":null,"dtype":"float32","id":3,"op":"SQRT","src":[2]},
{"arg":null,"dtype":"float32","id":4,"op":"MUL","src":[1,3]},
{"arg":null,"dtype":"float32","id":5,"op":"NEG","src":[4]},
{"arg":{"buffer":0,"views":[{"mask":null,"offset":0,"shape":[4],"strides":[1]}]},"dtype":"float32","id":6,"op":"STORE","src":[5]}]})");
  const Answer listed = touchstone_run("blame --nodes " + kernel);
  EXPECT_EQ(listed.code, 0) << listed.text;
  EXPECT_THAT(listed.text, HasSubstr("%4 = MUL(%1, %3) float32 (4)\n%5 = NEG(%4) float32 (4)\n"));
  EXPECT_EQ(touchstone_run("blame " + kernel).code, 2);  // no backend given

  // Values held by a candidate, with inputs from eval: loads alone are never at fault.
  const std::string suite = file("suite");
  ASSERT_EQ(touchstone_run("emit " + suite + " --ops mul --dtypes f32 -n 4").code, 0);
  const std::string at = suite + "/mul-float32-random/";
  const std::string in = " --in " + at + "in1.npy " + at + "in2.npy ";
  const Answer held = touchstone_run("blame " + kernel + in + "--held 1=" + at +
                                     "in1.npy --held 3=" + at + "in1.npy");
  EXPECT_EQ(held.code, 1) << held.text;
  EXPECT_THAT(held.text, HasSubstr("%1 = EXP2(%0) float32 (4)\nFAIL: "));
  for (const char* wrong : {"9=x.npy", "x", "1=", "%1"}) {
    const Answer bad = touchstone_run("blame " + kernel + in + "--held " + wrong);
    EXPECT_EQ(bad.code, 2) << bad.text;
  }

  if (python().empty()) GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  const std::string folder = TOUCHSTONE_SOURCE_DIR "/fuzz/backends/";
  write("line_protocol.py", read_file(folder + "line_protocol.py"));
  std::string source = read_file(folder + "numpy_backend.py");
  const std::size_t sound = source.find("\"SQRT\": np.sqrt");
  ASSERT_NE(sound, std::string::npos);
  source.replace(sound, 15, "\"SQRT\": np.cbrt");
  const std::string backend =
      " --timeout 120 --backend '" + python() + " " + write("wrong.py", source) + "'";
  const Answer found = touchstone_run("blame " + kernel + in + backend);
  EXPECT_EQ(found.code, 1) << found.text;
  EXPECT_THAT(found.text, HasSubstr("%3 = SQRT(%2) float32 (4)\nFAIL: "));
  EXPECT_THAT(found.text, HasSubstr("runs of the backend"));
  const Answer json = touchstone_run("blame --json " + kernel + in + backend);
  EXPECT_THAT(json.text, HasSubstr(R"({"node":3,"runs":)"));
  const Answer none = touchstone_run("blame " + kernel + in + " --timeout 120 --backend '" +
                                     python() + " " + folder + "numpy_backend.py'");
  EXPECT_EQ(none.code, 0) << none.text;
  EXPECT_THAT(none.text, AllOf(HasSubstr("no node is wrong under numpy (its own: "),
                               HasSubstr("(declared by the backend)")));
}

TEST_F(CliBackend, OpenClRunsWhatOurCodeGeneratorWrites) {
#ifdef TOUCHSTONE_OPENCL_PLUGIN
  const Answer run =
      touchstone_run("judge --plugin " TOUCHSTONE_OPENCL_PLUGIN
                     " --ops neg,where,reduce_max --dtypes bool,bf16,f32,i16 -n 60 --timeout 300");
  if (run.text.find("-1001") != std::string::npos || run.text.find("-32") != std::string::npos)
    GTEST_SKIP() << "no OpenCL platform; install pocl-opencl-icd";
  EXPECT_GE(count(run, "PASS"), 20) << run.text;
  EXPECT_EQ(count(run, "FAIL"), 0) << run.text;
  EXPECT_EQ(count(run, "UNUSABLE"), 0) << run.text;
  // Buffer numbers may have gaps.
  const std::string views = R"("views":[{"mask":null,"offset":0,"shape":[],"strides":[]}]})";
  const std::string gap =
      write("gap.case", R"({"inputs":[{"bytes":"","dtype":"bool","shape":[0]},)"
                        R"({"bytes":"01","dtype":"bool","shape":[1]}],)"
                        R"("kernel":{"touchstone_kernel":1,"variables":{},"buffers":[)"
                        R"({"dtype":"bool","idx":0,"size":1},{"dtype":"bool","idx":2,"size":1}],)"
                        R"("nodes":[{"arg":{"buffer":2,)" +
                            views +
                            R"(,"dtype":"bool","id":0,"op":"LOAD","src":[]},)"
                            R"({"arg":{"buffer":0,)" +
                            views + R"(,"dtype":"bool","id":1,"op":"STORE","src":[0]}]}})");
  const Answer one = touchstone_run(
      "fuzz --area kernel --timeout 300 --backend " TOUCHSTONE_OPENCL_PLUGIN " --case @" + gap);
  EXPECT_EQ(one.code, 0) << one.text;
#else
  GTEST_SKIP() << "built without OpenCL; install ocl-icd-opencl-dev and opencl-clhpp-headers";
#endif
}

TEST_F(CliBackend, PyTorchIsABackendToo) {
  const std::string python3 = python("torch");
  if (python3.empty()) GTEST_SKIP() << "no Python with PyTorch; install python3-torch";
  const Answer run =
      touchstone_run("judge --backend '" + python3 +
                     " " TOUCHSTONE_SOURCE_DIR
                     "/fuzz/backends/emitted_backend.py torch' --timeout 120 --memory 0 "
                     "--ops add,where,mulacc,reduce_sum --dtypes bool,i8,bf16,f32 -n 60");
  EXPECT_GE(count(run, "PASS"), 40) << run.text;
  EXPECT_EQ(count(run, "FAIL"), 0) << run.text;
  EXPECT_EQ(count(run, "UNUSABLE"), 0) << run.text;
}

}  // namespace
}  // namespace touchstone
