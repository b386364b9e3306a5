#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "touchstone/base/file.h"

// `touchstone certify` from a user's view; tests/interp tests the checks themselves.

namespace touchstone {
namespace {

using testing::HasSubstr;

class CertifyVerb : public testing::Test {
 protected:
  struct Answer {
    int code;
    std::string text;
  };
  Answer shell(const std::string& script) const {
    FILE* pipe =
        ::popen(("cd " + dir_.path().string() + " && { " + script + " ; } 2>&1").c_str(), "r");
    if (pipe == nullptr) return {-1, "popen failed"};
    std::string text;
    char chunk[4096];
    for (std::size_t n = 1; n > 0; text.append(chunk, n))
      n = std::fread(chunk, 1, sizeof chunk, pipe);
    const int status = ::pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
  }
  Answer certify(const std::string& arguments) const {
    return shell(TOUCHSTONE_COMMAND " certify " + arguments);
  }

 private:
  TemporaryDirectory dir_;
};

// A device of ours against the reference, within its declared limit or another.
TEST_F(CertifyVerb, HoldsADeviceToWhatItDeclares) {
  const Answer a = certify("exp2 f32 --device clang --from 3f800000 --to 3f900000 --out r.json");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("1048576 of 4294967296 inputs checked, "));
  EXPECT_THAT(a.text, HasSubstr(" 0 farther, 0 without a claim; largest error 0."));
  EXPECT_THAT(a.text, HasSubstr("; 0 beyond 1 ULP\n"));
  EXPECT_THAT(shell("cat r.json").text, HasSubstr("\"limit_ulp\": 1.0"));
  const Answer half =
      certify("exp2 f32 --device CLANG --from 3f800000 --to 3f900000 --ulp 0.5 --out r.json");
  EXPECT_EQ(half.code, 1) << half.text;
  EXPECT_THAT(half.text, HasSubstr(" beyond 0.5 ULP, the first at 3f8"));
  const Answer nearest = shell("TOUCHSTONE_MATH=correctly-rounded " TOUCHSTONE_COMMAND
                               " certify log2 f32 --device CLANG --from 3f800000 --to 3f900000");
  EXPECT_EQ(nearest.code, 0) << nearest.text;
  EXPECT_THAT(nearest.text, HasSubstr("1048576 correctly rounded, 0 next to it"));
  EXPECT_EQ(certify("sqrt bf16 --device CPU").code, 0);
  const Answer named = certify("Tanh f32 --device CLANG --from 3f000000 --to 3f100000 --ulp 0.5");
  EXPECT_EQ(named.code, 1) << named.text;
  EXPECT_THAT(named.text, HasSubstr("tanh of float32 on CLANG: 1048576 of"));
  EXPECT_THAT(certify("gelu bf16 --device CPU --ulp 0").text,
              HasSubstr("65536 correctly rounded, 0 next to it"));
  EXPECT_THAT(certify("tanh f32").text, HasSubstr("add --device CLANG"));
  const Answer none = certify("exp2 f32 --device NONE");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("there is no device 'NONE' (known: CLANG, CPU, CUDA)"));
  EXPECT_EQ(certify("exp2 f32 --ulp 1").code, 2);  // of what?
  EXPECT_EQ(
      shell("TOUCHSTONE_MATH=exact " TOUCHSTONE_COMMAND " certify exp2 bf16 --device CLANG").code,
      2);
}

// A line-protocol backend, asked block by block, whose first root of each block may be off.
constexpr const char* kRoots = R"(import base64, json, math, struct, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "touchstone_backend" in ask:
        answer = {"touchstone_backend": 1, "name": "roots", "profile": "ieee"}
    elif ask["kernel"]["nodes"][1]["op"] != "SQRT":
        answer = {"id": ask["id"], "unsupported": "roots alone"}
    else:
        data = base64.b64decode(ask["inputs"][0]["base64"])
        floats = struct.unpack("<%df" % (len(data) // 4), data)
        out = [math.sqrt(x) for x in floats]
        out[0] += WRONG
        packed = struct.pack("<%df" % len(out), *out)
        answer = {"id": ask["id"], "output": base64.b64encode(packed).decode()}
    print(json.dumps(answer), flush=True)
)";

TEST_F(CertifyVerb, AsksABackendForEveryOutput) {
  const auto asked = [&](const std::string& wrong, const std::string& rest) {
    std::string script = kRoots;
    script.replace(script.find("WRONG"), 5, wrong);
    shell("cat > roots.py <<'END'\n" + script + "END\ntrue");
    return certify("sqrt f32 --backend 'python3 roots.py' --from 3f800000 --to 3fa00000 " + rest);
  };
  const Answer right = asked("0", "--out r.json");
  EXPECT_EQ(right.code, 0) << right.text;
  EXPECT_THAT(right.text, HasSubstr("sqrt of float32 on roots: 2097152 of 4294967296 inputs"));
  EXPECT_THAT(right.text, HasSubstr("2097152 correctly rounded, 0 next to it"));
  EXPECT_THAT(shell("cat r.json").text, HasSubstr("\"device\": \"roots\""));
  const Answer wrong = asked("2e-7", "");
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("2 beyond 0 ULP, the first at 3f800000"));
  const Answer documented = asked("2e-7", "--limit steps=2 --limit relative=2^-24");
  EXPECT_EQ(documented.code, 1) << documented.text;
  EXPECT_THAT(documented.text, HasSubstr("steps=2: holds; 0 of 2097152 beyond"));
  EXPECT_THAT(documented.text, HasSubstr("relative=2^-24: violated"));
  const Answer none = certify("exp2 f32 --backend 'python3 roots.py' --to 100000");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("no usable outputs of roots: roots alone"));
  EXPECT_EQ(certify("tanh f32 --backend 'python3 roots.py' --limit steps=1").code, 2);
  EXPECT_EQ(certify("sqrt f32 --backend true --device CLANG").code, 2);
  EXPECT_EQ(certify("sqrt f32 --limit steps=1").code, 2);
}

TEST_F(CertifyVerb, ChecksAllInputsOfANarrowType) {
  const Answer a = certify("SIN bf16");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("65536 of 65536 inputs checked, 0 left to MPFR"));
  EXPECT_THAT(a.text, HasSubstr("sin-bfloat16.json\nall outputs: "));
  EXPECT_EQ(certify("sin bf16").text, a.text);  // nothing left to do
  EXPECT_EQ(certify("sin bf16 --fresh").text, a.text);
}

TEST_F(CertifyVerb, JoinsWhatShardsDid) {
  const std::string range = " --from 3f800000 --to 3fc00000";
  EXPECT_EQ(certify("recip f32 --out a.json --shard 0/2" + range).code, 0);
  EXPECT_EQ(certify("recip f32 --out b.json --shard 1/2" + range).code, 0);
  const Answer joined = certify("recip f32 --out all.json --with a.json --with b.json" + range);
  EXPECT_EQ(joined.code, 0) << joined.text;
  EXPECT_THAT(joined.text, HasSubstr("4194304 of 4294967296 inputs checked"));
}

TEST_F(CertifyVerb, KeepsWhatIsDoneWhenItIsEnded) {
  const Answer a = shell(TOUCHSTONE_COMMAND
                         " certify sin f32 --threads 1 & p=$!; until [ -e sin-float32.json ]; do "
                         "sleep 0.02; done; kill -TERM $p; wait $p");
  EXPECT_EQ(a.code, 143) << a.text;
  EXPECT_THAT(a.text, HasSubstr("interrupted; the same command continues from here"));
  const Answer b = certify("sin f32 --from 0 --to 100000");
  EXPECT_EQ(b.code, 0) << b.text;
}

TEST_F(CertifyVerb, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"exq2 f32", "did you mean 'exp2'?"},
      {"exp2 float31", "float32"},
      {"exp2 f64", "float64 cannot be certified"},
      {"exp2 i32", "int32 cannot be certified"},
      {"exp2 f32 --shard 4/4", "--shard must be W/N"},
      {"exp2 f32 --shard 1", "--shard must be W/N"},
      {"exp2 f32 --from 3f8xyz", "hexadecimal"},
      {"exp2 f32 --from 3f800001", "is not at the start of a block"},
      {"exp2 f32 --to 100100000", "is not at the start of a block"},
      {"exp2 f32 --with none.json", "none.json"},
      {"exp2 f32 --out /none/x.json --to 0", "/none/x.json"},
  };
  for (const auto& [arguments, part] : kCases) {
    const Answer a = certify(arguments);
    EXPECT_EQ(a.code, 2) << arguments;
    EXPECT_THAT(a.text, HasSubstr(part)) << arguments;
  }
  EXPECT_EQ(certify("sin f16 --out other.json").code, 0);
  const Answer other = certify("exp2 f16 --out other.json");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.text, HasSubstr("both must be of the same"));
}

}  // namespace
}  // namespace touchstone
