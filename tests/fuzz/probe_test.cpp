// Probes against candidates of plain loops: correct ones pass on every family, and some family
// shows each planted fault.
#include "touchstone/fuzz/judge/probe.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "touchstone/define/text.h"
#include "touchstone/fuzz/judge/probe_power.h"
#include "touchstone/fuzz/suites/suite.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::fuzz {
namespace {

using Rows = std::vector<std::vector<float>>;
using RowLoops = std::function<std::vector<float>(const Rows&)>;

float moved(float x, int ulp) {
  return std::isfinite(x) && x != 0 ? std::bit_cast<float>(std::bit_cast<std::int32_t>(x) + ulp)
                                    : x;
}
float exp2_of(float x, int ulp = 0) {
  return moved(static_cast<float>(std::exp2(static_cast<double>(x))), ulp);
}
float larger(float a, float b) {  // NaN wins, and +0 over -0
  if (std::isnan(a) || std::isnan(b)) return NAN;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
float sum_of(const std::vector<float>& row) {
  float s = 0;
  for (const float x : row) s += x;
  return s;
}

std::vector<float> exponentials(const Rows& rows, int ulp) {
  std::vector<float> out;
  for (const auto& row : rows) {
    std::vector<float> e;
    for (const float x : row) e.push_back(exp2_of(x, ulp));
    out.push_back(sum_of(e));
  }
  return out;
}

std::vector<float> normalised(const Rows& rows, int rsqrt_ulp, bool one_pass) {
  std::vector<float> out;
  for (const auto& row : rows) {
    const auto n = static_cast<float>(row.size());
    const float mean = sum_of(row) / n;
    std::vector<float> squares;
    for (const float x : row) squares.push_back(one_pass ? x * x : (x - mean) * (x - mean));
    const float var = sum_of(squares) / n - (one_pass ? mean * mean : 0.0F);
    const float r = moved(1 / std::sqrt(var + 1e-5F), rsqrt_ulp);
    for (const float x : row) out.push_back((x - mean) * r);
  }
  return out;
}

std::vector<float> softmax_of(const Rows& rows, bool by_reciprocal) {
  std::vector<float> out;
  for (const auto& row : rows) {
    float most = -INFINITY;
    for (const float x : row) most = larger(most, x);
    std::vector<float> e;
    for (const float x : row)  // correctly rounded
      e.push_back(static_cast<float>(std::exp(static_cast<double>(x - most))));
    const float s = sum_of(e), r = 1 / s;
    for (const float x : e) out.push_back(by_reciprocal ? x * r : x / s);
  }
  return out;
}

std::vector<float> sums(const Rows& rows, std::size_t bad_row, int ulp) {
  std::vector<float> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back(moved(sum_of(rows[i]), i == bad_row ? ulp : 0));
  return out;
}

Rows rows_of(const HostArray& array, std::size_t size) {
  std::vector<float> flat(static_cast<std::size_t>(array.size()));
  std::memcpy(flat.data(), array.bytes.data(), array.bytes.size());
  Rows rows;
  for (std::size_t i = 0; i < flat.size(); i += size)
    rows.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i),
                      flat.begin() + static_cast<std::ptrdiff_t>(i + size));
  return rows;
}

// The verdict on each probe of a one-input kernel.
std::vector<Verdict> judged(const std::string& text, std::size_t row_size, const Profile& profile,
                            const RowLoops& candidate) {
  register_interpreted_device();
  Device& host = Device::get("CPU");
  const LazyOpPtr kernel = define::parse(text).kernel();
  std::vector<Verdict> verdicts;
  for (const Probe& probe : draw_probes(kernel)) {
    const std::vector<float> out = candidate(rows_of(probe.inputs[0], row_size));
    auto output =
        std::make_shared<Buffer>(host, DType::Float32, static_cast<std::int64_t>(out.size()));
    output->write(std::span<const float>(out));
    auto input = std::make_shared<Buffer>(host, DType::Float32, probe.inputs[0].size());
    input->copy_in(std::as_bytes(std::span(probe.inputs[0].bytes)));
    Buffer* raw[] = {output.get(), input.get()};
    verdicts.push_back(judge(kernel, raw, *output, profile));
  }
  return verdicts;
}

Outcome outcome(const std::string& text, std::size_t row_size, const std::string& profile,
                const RowLoops& candidate) {
  return combine(judged(text, row_size, Profile::named(profile), candidate)).outcome;
}

TEST(Probe, AnExponentialThatIsOffInsideASumShows) {
  const auto with = [](int ulp) {
    return outcome("sum(exp2(x[24,32]), axis=1)", 32, "glibc",
                   [ulp](const Rows& rows) { return exponentials(rows, ulp); });
  };
  EXPECT_EQ(with(0), Outcome::Pass);
  for (const int ulp : {2, -2, 4, -4}) EXPECT_EQ(with(ulp), Outcome::Fail) << ulp;
}

TEST(Probe, AReciprocalRootThatIsOffAfterAVarianceShows) {
  for (const std::size_t n : {16U, 17U}) {
    const auto with = [n](int ulp) {
      return outcome("layer_norm(x[12," + std::to_string(n) + "])", n, "glibc",
                     [ulp](const Rows& rows) { return normalised(rows, ulp, false); });
    };
    EXPECT_EQ(with(0), Outcome::Pass);
    for (const int ulp : {8, -8}) EXPECT_EQ(with(ulp), Outcome::Fail) << n << " " << ulp;
  }
}

TEST(Probe, AVarianceAsADifferenceOfMeansShows) {
  EXPECT_EQ(outcome("layer_norm(x[8,16])", 16, "glibc",
                    [](const Rows& rows) { return normalised(rows, 0, true); }),
            Outcome::Fail);
}

TEST(Probe, AProductWithTheReciprocalShowsWhereTheProfileForbidsIt) {
  const auto with = [](const std::string& profile, bool by_reciprocal) {
    return outcome("softmax(x[24,17])", 17, profile,
                   [by_reciprocal](const Rows& rows) { return softmax_of(rows, by_reciprocal); });
  };
  EXPECT_EQ(with("ieee", false), Outcome::Pass);
  EXPECT_EQ(with("ieee", true), Outcome::Fail);
  EXPECT_EQ(with("glibc", false), Outcome::Pass);
}

TEST(Probe, OneRowOfASumShows) {
  EXPECT_EQ(outcome("sum(x[1000,1000], axis=1)", 1000, "glibc",
                    [](const Rows& rows) { return sums(rows, 617, 64); }),
            Outcome::Fail);
  const auto with = [](int ulp) {
    return outcome("sum(x[20,1000], axis=1)", 1000, "glibc",
                   [ulp](const Rows& rows) { return sums(rows, 17, ulp); });
  };
  EXPECT_EQ(with(0), Outcome::Pass);
  EXPECT_EQ(with(-64), Outcome::Fail);
}

// The predicted detection matches the verdicts on a faulty candidate.
TEST(Probe, ThePredictionSaysWhatIsShownAndWhatIsNot) {
  register_interpreted_device();
  const LazyOpPtr kernel = define::parse("softmax(x[24,9])").kernel();
  const std::vector<Probe> probes = draw_probes(kernel);
  const auto find = [&](const std::string& profile, const std::string& what) {
    for (FaultPower& power : probe_power(kernel, probes, Profile::named(profile)))
      if (power.fault.where == what) return power;
    throw std::runtime_error("no fault " + what);
  };
  const FaultPower strict = find("ieee", "x / y as x * (1 / y)");
  ASSERT_TRUE(strict.best());
  EXPECT_EQ(probes[*strict.best()].family, ProbeFamily::Deep);
  const FaultPower loose = find("glibc", "x / y as x * (1 / y)");
  EXPECT_FALSE(loose.best());
  EXPECT_TRUE(loose.differs);
  for (const auto& least : loose.least) EXPECT_EQ(least, 0);
  const std::vector<Verdict> verdicts =
      judged("softmax(x[24,9])", 9, Profile::named("glibc"),
             [](const Rows& rows) { return softmax_of(rows, true); });
  for (const Verdict& v : verdicts) EXPECT_NE(v.outcome, Outcome::Fail);
  // No time: no prediction.
  for (const FaultPower& power : probe_power(kernel, probes, {}, [] { return false; }))
    for (const auto& least : power.least) EXPECT_FALSE(least);
}

// The reference passes every probe of every kind of kernel, and probes have their stated
// properties.
TEST(Probe, TheReferenceIsLegalOnAllOfThem) {
  register_interpreted_device();
  Device& host = Device::get("CPU");
  for (const char* text :
       {"softmax(x[4,1])", "softmax(x[0,5])", "sum(x[3,0], axis=1)", "x[7]:i32 + y[7]:i32",
        "attention(q[3,2], k[3,2], v[3,2], causal=1)", "gather(table[4,3], index[5]:i32)",
        "matmul(a[3,5]:f16, b[5,2]:f16)", "layer_norm(x[3,5]:bf16, w[5]:bf16, b[5]:bf16)",
        "conv2d(x[1,2,5,5], w[2,2,3,3], padding=1)", "max(x[3,4]:bool, axis=1)",
        "sum(x[3,4]:f8e4m3, axis=0)", "exp(x[2,2]:f64)",
        "sum(as_strided(x[9], [4,3], [2,1]), 1)"}) {
    const LazyOpPtr kernel = define::parse(text).kernel();
    for (const Probe& probe : draw_probes(kernel)) {
      const KernelCase c{kernel, probe.inputs};
      const Verdict verdict = run_case(c, host);
      EXPECT_TRUE(verdict.outcome == Outcome::Pass || verdict.outcome == Outcome::Weak)
          << text << " " << name(probe.family) << ": " << verdict.str();
    }
    EXPECT_EQ(draw_probes(kernel, 3)[0].inputs[0].bytes, draw_probes(kernel, 3)[0].inputs[0].bytes);
  }
}

TEST(Probe, APartOfAKernelGivesTheFirstOfItsOutputs) {
  register_interpreted_device();
  Device& host = Device::get("CPU");
  const LazyOpPtr whole = define::parse("sum(x[600,40], axis=1) + y[700,1] * 2").kernel();
  const LazyOpPtr part = part_of(whole);
  const std::vector<std::int64_t> all = concrete(whole->shape()), some = concrete(part->shape());
  ASSERT_EQ(all, (std::vector<std::int64_t>{700, 600, 1}));
  ASSERT_LT(some[0] * some[1], all[0] * all[1]);
  ASSERT_GE(std::min(some[0], some[1]), 12);
  for (const Probe& probe : draw_probes(whole)) {
    if (probe.family != ProbeFamily::Random) continue;
    const auto answer = [&](const LazyOpPtr& kernel) {
      const HostArray out = answer_of({kernel, probe.inputs}, host);
      std::vector<float> values(static_cast<std::size_t>(out.size()));
      std::memcpy(values.data(), out.bytes.data(), out.bytes.size());
      return values;
    };
    const std::vector<float> expected = answer(whole), got = answer(part);
    for (std::int64_t i = 0; i < some[0]; ++i)
      for (std::int64_t j = 0; j < some[1]; ++j)
        ASSERT_EQ(got[static_cast<std::size_t>(i * some[1] + j)],
                  expected[static_cast<std::size_t>(i * all[1] + j)]);
  }
  EXPECT_TRUE(same(part_of(define::parse("softmax(x[4,5])").kernel()),
                   define::parse("softmax(x[4,5])").kernel()));
}

// Integers that select rows include the last row and missing ones.
TEST(Probe, PlacesAreWithinWhatTheyChooseFrom) {
  for (const char* text : {"gather(table[7,5], index[12]:i32)", "one_hot(index[12]:i16, classes=7)",
                           "cross_entropy(x[12,7], target[12]:i32)"}) {
    const LazyOpPtr kernel = define::parse(text).kernel();
    for (const Probe& probe : draw_probes(kernel)) {
      if (probe.family == ProbeFamily::Edges || probe.family == ProbeFamily::Zeros) continue;
      bool last = false, beyond = false;
      const HostArray& index = probe.inputs.back();
      for (std::int64_t i = 0; i < index.size(); ++i) {
        const std::size_t width = itemsize(index.dtype);
        std::int16_t place = 0;
        std::memcpy(&place, index.bytes.data() + static_cast<std::size_t>(i) * width, 2);
        EXPECT_GE(place, 0) << text << " " << name(probe.family);
        EXPECT_LE(place, 7);
        last = last || place == 6;
        beyond = beyond || place == 7;
      }
      EXPECT_TRUE(last && beyond) << text << " " << name(probe.family);
    }
  }
}

TEST(Probe, RowsFollowTheReduceAndNotTheMemory) {
  // For a column sum the rows are columns: balanced ones sum to their size times the centre, an
  // integer.
  const LazyOpPtr kernel = define::parse("sum(x[6,4], axis=0)").kernel();
  bool found = false;
  for (const Probe& probe : draw_probes(kernel)) {
    if (probe.family != ProbeFamily::OneHot) continue;
    found = true;
    const Rows rows = rows_of(probe.inputs[0], 4);
    for (std::size_t column = 0; column < 4; ++column) {
      int hot = 0;
      for (const auto& row : rows) hot += row[column] != 0 ? 1 : 0;
      EXPECT_GE(hot, 1);
      EXPECT_LE(hot, 2);
    }
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace touchstone::fuzz
