#include <gtest/gtest.h>

#include <fstream>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"

// Arrays in .npz and .safetensors through the command.

namespace touchstone {
namespace {

using testing::HasSubstr;

class CliFormats : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  TemporaryDirectory dir_;
};

TEST_F(CliFormats, EmitJudgeEvalAndCheckTakeEveryFormat) {
  for (const std::string format : {"npz", "safetensors"}) {
    const std::string folder = file(format);
    const Answer emitted =
        touchstone_run("emit " + folder + " --ops add --dtypes f32 -n 20 --format " + format);
    ASSERT_EQ(emitted.code, 0) << emitted.text;
    EXPECT_THAT(emitted.text, HasSubstr("in." + format));
    EXPECT_THAT(emitted.text, HasSubstr("--out out." + format));
    const std::string at = folder + "/add-float32-edges/";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string in = entry.path().string() + "/";
      const Answer run = touchstone_run("eval " + in + "kernel.json --in " + in + "in." + format +
                                        " --out " + in + "out." + format);
      ASSERT_EQ(run.code, 0) << run.text;
    }
    const Answer judged = touchstone_run("judge " + folder + " --out out." + format);
    EXPECT_EQ(judged.code, 0) << judged.text;
    EXPECT_THAT(judged.text, HasSubstr("0 FAIL, 0 UNUSABLE"));
    const std::string check = "check " + at + "kernel.json --out " + at + "out." + format;
    EXPECT_EQ(touchstone_run(check + " --in " + at + "in." + format).code, 0);
    const std::string one = at + "in." + format + ":in1 ", two = at + "in." + format + ":in2 ";
    EXPECT_EQ(touchstone_run(check + ":out --in " + one + two).code, 0);
    EXPECT_EQ(touchstone_run(check + " --in " + one + one).code, 1);
    const Answer missing = touchstone_run(check + " --in " + at + "in." + format + ":in3");
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.text, HasSubstr("no array named 'in3'; there are: in1, in2"));
  }
}

TEST_F(CliFormats, NamesThatSayNoOrderAreNotGuessed) {
  const HostArray x{DType::Float32, {4}, std::string(16, '\0')};
  const std::vector<NamedArray> arrays{{"b", x}, {"a", x}};
  write_array_file(file("ab.npz"), arrays);
  ASSERT_EQ(touchstone_run("emit " + file("s") + " --ops add --dtypes f32 -n 4").code, 0);
  const Answer run =
      touchstone_run("eval " + file("s") + "/add-float32-edges/kernel.json --in " + file("ab.npz"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("contains 2 arrays; name one, as"));
}

TEST_F(CliFormats, DamagedFilesAreNamed) {
  ASSERT_EQ(touchstone_run("emit " + file("s") + " --ops neg --dtypes f32 -n 4").code, 0);
  const std::string kernel = file("s") + "/neg-float32-edges/kernel.json";
  for (const char* name : {"x.npy", "x.npz", "x.safetensors"}) {
    std::ofstream(dir_.path() / name) << "mislabelled";
    const Answer run = touchstone_run("eval " + kernel + " --in " + file(name));
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.text, HasSubstr(std::string(name) + "' is not a usable"));
  }
  EXPECT_THAT(touchstone_run("eval " + kernel + " --out y.txt").text,
              HasSubstr("from .npy, .npz and .safetensors"));
}

}  // namespace
}  // namespace touchstone
