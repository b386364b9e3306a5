#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

#include "../support/sanitized.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/engine/runner.h"
#include "touchstone/fuzz/judge/shrink.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/fuzz/shrink/finding_folder.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::fuzz {
namespace {

// A clang device whose kernels are compiled at -O1.
class Candidate {
 public:
  explicit Candidate(Fault fault = Fault::None) {
    ClangOptions options = ClangOptions::from_environment();
    options.opt_level = 1;
    options.fault = fault;
    device_ = make_clang_device("CANDIDATE", options);
  }
  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

std::int64_t kernel_budget(std::int64_t usual) {
  const char* asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  return asked != nullptr ? std::max<std::int64_t>(1, std::atoll(asked)) : usual;
}

// The choices of one case, drawn and shrunk by RapidCheck: a list of numbers.
rc::Gen<std::vector<std::uint32_t>> any_choices() {
  return rc::gen::resize(400, rc::gen::container<std::vector<std::uint32_t>>(
                                  rc::gen::inRange<std::uint32_t>(0, 5040)));
}

TEST(KernelFuzz, KernelsOfNetworksAreLegalOnLibtcc) {
  if (!has_tcc()) GTEST_SKIP() << "built without libtcc";
  const std::unique_ptr<Device> device = make_tcc_device();
  ASSERT_GT(network_kernels().size(), 60U);
  RandomChooser chooser(1, 1);
  for (const LazyOpPtr& kernel : network_kernels()) {
    const KernelCase c{kernel, draw_inputs(chooser, ValueFamily::Full, kernel)};
    const Verdict verdict = run_case(c, *device);
    EXPECT_NE(verdict.outcome, Outcome::Fail) << str(c) << verdict.str();
    EXPECT_NE(verdict.outcome, Outcome::Unusable) << str(c) << verdict.str();
  }
}

// On libtcc, which compiles in a tenth of a millisecond, clang in a hundred; a campaign below
// covers clang.
RC_GTEST_PROP(KernelFuzz, OurCAgreesWithTheReferenceByVerdict, ()) {
  static const std::unique_ptr<Device> candidate =
      has_tcc() ? make_tcc_device() : make_interpreted_device("CANDIDATE");
  const std::vector<std::uint32_t> choices = *any_choices();
  ListChooser chooser(choices);
  const KernelCase c = draw_kernel_case(chooser);
  RC_LOG() << str(c);
  const Verdict verdict = run_case(c, *candidate);
  RC_LOG() << verdict.str();
  RC_ASSERT(verdict.outcome != Outcome::Fail);
  RC_ASSERT(verdict.outcome != Outcome::Unusable);
}

// Runs the campaign engine on a device that each worker makes.
AreaResult campaign(const std::function<std::unique_ptr<Device>()>& make, std::uint64_t seed,
                    std::int64_t cases) {
  AreaPlan plan;
  plan.name = "kernel";
  plan.make = [make](int) {
    KernelBackends backends;
    backends.candidate = make_device_backend(make());
    backends.judge_all = true;
    return make_kernel_area(std::move(backends));
  };
  plan.most_shrunk = 1;
  RunOptions run;
  run.seed = seed;
  run.cases = cases;
  RunResult result = run_areas({plan}, run, std::atomic<bool>(false), {});
  EXPECT_EQ(result.trouble, "");
  return std::move(result.areas.at(0));
}

AreaResult campaign_on_clang(Fault fault, std::uint64_t seed, std::int64_t cases) {
  ClangOptions options = ClangOptions::from_environment();
  options.opt_level = 1;
  options.fault = fault;
  return campaign([options] { return make_clang_device("CANDIDATE", options); }, seed, cases);
}

void expect_no_findings(const AreaResult& result) {
  EXPECT_EQ(result.tally.failed, 0);
  EXPECT_LT(result.tally.skipped, result.tally.cases / 20);
  for (const AreaFinding& f : result.findings)
    ADD_FAILURE() << f.failure.relation << ", case " << f.index << ": " << f.failure.detail << "\n"
                  << f.shrunk;
}

TEST(KernelFuzz, ACampaignHasNoFalseAlarm) {
  const std::int64_t cases = kernel_budget(400);
  const AreaResult result = campaign_on_clang(Fault::None, 20'26, cases);
  expect_no_findings(result);
  EXPECT_EQ(result.tally.cases, cases);
  RecordProperty("weak", static_cast<int>(result.tally.weak));
  EXPECT_LT(result.tally.weak, cases / 4) << "most kernels must be able to fail";
}

constexpr std::int64_t kManyCases = test::kSanitized ? 500 : 2000;

TEST(KernelFuzz, ACampaignOnTccHasNoFalseAlarm) {
  if (!has_tcc()) GTEST_SKIP() << "built without libtcc";
  expect_no_findings(campaign([] { return make_tcc_device(); }, 17, kernel_budget(kManyCases)));
}

TEST(KernelFuzz, TheReferenceAgreesWithItself) {
  expect_no_findings(
      campaign([] { return make_interpreted_device(); }, 7, kernel_budget(kManyCases)));
}

// Wrong for its first forty runs, then right.
class Wavering final : public Device {
 public:
  Wavering() : Device("WAVERING", std::make_unique<HostAllocator>()) {}

 private:
  struct Answer final : Runner {
    Answer(RunnerPtr right, int& runs) : right_(std::move(right)), runs_(runs) {}
    double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
      if (++runs_ > 40) return right_->run(buffers, values);
      const std::vector<std::byte> wrong(buffers[0]->bytes(), std::byte{1});
      buffers[0]->copy_in(wrong);
      return 0;
    }
    RunnerPtr right_;
    int& runs_;
  };
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    return std::make_shared<Answer>(reference_->runner(kernel), runs_);
  }
  std::unique_ptr<Device> reference_ = make_interpreted_device();
  int runs_ = 0;
};

TEST(KernelFuzz, AFindingKeepsTheAnswerThatFailed) {
  Wavering candidate;
  Reproducer failing;
  for (std::uint64_t i = 0; i < 8; ++i) {
    RandomChooser chooser(1, i);
    failing = record(draw_kernel_case(chooser), candidate);
    if (judge(failing).outcome == Outcome::Fail) break;
  }
  ASSERT_TRUE(judge(failing).outcome == Outcome::Fail);
  EXPECT_EQ(judge(shrink_failure(failing, candidate).smallest).outcome, Outcome::Fail);
}

class PlantedFault : public testing::TestWithParam<FaultInfo> {};

TEST_P(PlantedFault, IsFoundAndShrinksToAFewNodes) {
  AreaResult result;
  for (std::int64_t cases = 64; result.findings.empty() && cases <= 2048; cases *= 4)
    result = campaign_on_clang(GetParam().fault, 1, cases);
  ASSERT_FALSE(result.findings.empty());
  const AreaFinding& f = result.findings[0];
  EXPECT_EQ(f.failure.relation, "verdict");
  const KernelCase shrunk = case_from_json(f.shrunk);
  EXPECT_TRUE(holds_fault(shrunk.kernel, GetParam().fault)) << str(shrunk);
  EXPECT_LE(toposort(shrunk.kernel).size(), 5U) << str(shrunk);
  for (const HostArray& input : shrunk.inputs) EXPECT_LE(input.size(), 9) << str(shrunk);
  EXPECT_LE(f.runs, 300);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFault,
                         testing::ValuesIn(fault_table.begin() + 1, fault_table.end()),
                         [](const auto& i) {
                           std::string name(i.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(Generator, EqualSeedsDrawEqualCases) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    RandomChooser a(3, i), b(3, i);
    const KernelCase x = draw_kernel_case(a), y = draw_kernel_case(b);
    EXPECT_TRUE(same(x.kernel, y.kernel));
    EXPECT_EQ(str(x), str(y));
  }
}

TEST(Generator, ReachesEveryOpTypeAndKindOfView) {
  std::set<Op> ops;
  std::set<DType> dtypes;
  bool masked = false, stacked = false, negative = false, empty = false, shared = false;
  bool above = false, beside = false, bitcast = false;
  int with_variable = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    RandomChooser chooser(11, i);
    const KernelCase c = draw_kernel_case(chooser);
    std::set<int> buffers;
    with_variable += c.values.empty() ? 0 : 1;
    for (const LazyOpPtr& node : toposort(c.concrete())) {
      ops.insert(node->op());
      bitcast = bitcast || (node->op() == Op::Cast && node->cast_arg().bitcast);
      int reduces = 0;
      for (const LazyOpPtr& s : node->src()) {
        int below = 0;
        for (const LazyOpPtr& n : toposort(s)) below += is_reduce(n->op()) ? 1 : 0;
        above = above || (is_reduce(node->op()) && below > 0);
        reduces += below > 0 ? 1 : 0;
      }
      beside = beside || reduces > 1;
      dtypes.insert(node->dtype());
      if (node->op() != Op::Load) continue;
      shared = shared || !buffers.insert(node->buffer().idx).second;
      stacked = stacked || node->buffer().st.views().size() > 1;
      for (const View& v : node->buffer().st.views()) {
        masked = masked || v.mask().has_value();
        empty = empty || v.size() == sint(0);
        for (const sint& s : v.strides()) negative = negative || s.as_int() < 0;
      }
    }
  }
  for (const OpInfo& row : op_table) {
    if (!is_elementwise(row.op) && !is_reduce(row.op) && row.op != Op::Gather) continue;
    EXPECT_TRUE(ops.contains(row.op)) << row.name;
  }
  EXPECT_EQ(dtypes.size(), static_cast<std::size_t>(kDTypeCount));
  EXPECT_TRUE(masked && stacked && negative && empty && shared);
  EXPECT_TRUE(above && beside && bitcast);
  EXPECT_GT(with_variable, 100);
}

TEST(Generator, DrawsPositionsInsideAtTheEndsAndOutside) {
  const std::unique_ptr<Device> reference = make_interpreted_device();
  int first = 0, last = 0, one_before = 0, one_behind = 0, far = 0, without_rows = 0;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    RandomChooser chooser(5, i);
    const KernelCase c = draw_kernel_case(chooser);
    if (!c.values.empty()) continue;
    for (const LazyOpPtr& node : toposort(c.kernel)) {
      if (node->op() != Op::Gather) continue;
      const std::int64_t rows = node->buffer().st.shape()[0].as_int();
      without_rows += rows == 0 ? 1 : 0;
      const LazyOpPtr& at = node->src()[0];
      KernelCase part{LazyOp::store(ShapeTracker::contiguous(at->shape()), at), c.inputs};
      const HostArray places = answer_of(part, *reference);
      for (std::int64_t k = 0; k < places.size(); ++k) {
        std::int64_t p = 0;
        std::memcpy(&p, places.bytes.data() + k * 8, 8);
        first += p == 0 && rows > 0 ? 1 : 0;
        last += p == rows - 1 && rows > 1 ? 1 : 0;
        one_before += p == -1 ? 1 : 0;
        one_behind += p == rows ? 1 : 0;
        far += p > (1LL << 40) || p < -(1LL << 40) ? 1 : 0;
      }
    }
  }
  for (const int count : {first, last, one_before, one_behind, far, without_rows})
    EXPECT_GT(count, 5);
}

TEST(Generator, NoChoicesDrawTheSimplestCase) {
  ListChooser none({});
  const KernelCase c = draw_kernel_case(none);
  EXPECT_EQ(toposort(c.kernel).size(), 2U) << str(c);
}

TEST(Shrink, VariablesBecomeNumbersTypesPlainAndBuffersOne) {
  const symbolic::Node n = symbolic::variable("n", 2, 5);
  const auto st = ShapeTracker::contiguous({sint(n), sint(3)});
  const auto load = [&](int b) { return LazyOp::load(b, DType::Float16, st); };
  const LazyOpPtr product = LazyOp::binary(Op::Mul, LazyOp::unary(Op::Exp2, load(1)), load(2));
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, product, {0});
  KernelCase c{LazyOp::store(ShapeTracker::contiguous({1, 3}), sum), {}, {{"n", 4}}};
  RandomChooser chooser(1, 1);
  c.inputs = draw_inputs(chooser, ValueFamily::Full, c.concrete());
  const auto has = [](const KernelCase& k, Op op) {
    return std::ranges::any_of(toposort(k.kernel), [&](const auto& x) { return x->op() == op; });
  };
  EXPECT_EQ(case_to_json(case_from_json(case_to_json(c))), case_to_json(c));
  const Shrunk s = shrink(c, [&](const KernelCase& k) {
    return has(k, Op::Exp2) && has(k, Op::Mul) && has(k, Op::ReduceSum);
  });
  EXPECT_TRUE(s.smallest.values.empty());
  EXPECT_LE(s.smallest.inputs.size(), 1U) << str(s.smallest);
  EXPECT_LE(toposort(s.smallest.kernel).size(), 5U) << str(s.smallest);
  for (const LazyOpPtr& node : toposort(s.smallest.kernel))
    EXPECT_EQ(node->dtype(), DType::Float32);
}

TEST(Shrink, AGatherKeepsItsTable) {
  const std::unique_ptr<Device> reference = make_interpreted_device();
  const auto at = LazyOp::load(2, DType::Int64, ShapeTracker::contiguous({4, 3}));
  const ShapeTracker table = ShapeTracker::contiguous({4, 5, 3})
                                 .permute(std::vector<int>{1, 0, 2})
                                 .stride(std::vector<std::int64_t>{1, -1, 1});
  const LazyOpPtr rows = LazyOp::gather(1, DType::Float16, table, LazyOp::unary(Op::Neg, at));
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Add, rows, rows), {1});
  KernelCase c{LazyOp::store(ShapeTracker::contiguous({4, 1}), sum), {}};
  RandomChooser chooser(1, 1);
  c.inputs = draw_inputs(chooser, ValueFamily::Integers, c.kernel);
  EXPECT_EQ(case_to_json(case_from_json(case_to_json(c))), case_to_json(c));
  // A device that reads row 0 instead of the last: a case fails if both are read and differ.
  const auto fails = [&](const KernelCase& k) {
    const LazyOpPtr wrong = rebuild(k.kernel, [](const LazyOpPtr& node, const auto& src) {
      if (node->op() != Op::Gather) return with_src(node, src);
      std::vector<std::int64_t> turned(node->shape().size() + 1, 1);
      turned[0] = -1;
      return LazyOp::gather(node->buffer().idx, node->dtype(), node->buffer().st.stride(turned),
                            src[0]);
    });
    KernelCase other = k;
    other.kernel = wrong;
    return answer_of(k, *reference).bytes != answer_of(other, *reference).bytes;
  };
  ASSERT_TRUE(fails(c));
  const Shrunk s = shrink(c, fails);
  EXPECT_EQ(toposort(s.smallest.kernel).size(), 3U) << str(s.smallest);
  EXPECT_EQ(s.smallest.kernel->src()[0]->op(), Op::Gather);
  EXPECT_EQ(s.smallest.kernel->shape(), Shape{}) << str(s.smallest);
}

TEST(KernelCases, NeedAValueInRangeForEachVariable) {
  const symbolic::Node n = symbolic::variable("n", 2, 5);
  const auto x = LazyOp::load(1, DType::Int8, ShapeTracker::contiguous({sint(n)}));
  const KernelCase c{LazyOp::store(ShapeTracker::contiguous({sint(n)}), x),
                     {{DType::Int8, {3}, std::string(3, '\1')}},
                     {{"n", 3}}};
  const std::string text = case_to_json(c);
  const auto with = [&](const std::string& values) {
    std::string copy = text;
    return copy.replace(copy.find("{\"n\":3}"), 7, values);
  };
  EXPECT_EQ(case_from_json(text).values, c.values);
  EXPECT_THROW(case_from_json(with("{}")), Error);
  EXPECT_THROW(case_from_json(with("[3]")), Error);
  EXPECT_THROW(case_from_json(with("{\"n\":9}")), Error) << "outside its range";
  EXPECT_THROW(case_from_json(with("{\"n\":4}")), Error) << "the input is too short";
  EXPECT_THROW(case_from_json(with("{\"n\":3,\"m\":1}")), Error);
}

TEST(FindingFolder, HoldsAllThatBelongsToAFinding) {
  // Elements 1 and 2 of a buffer, reversed, after a masked one; the candidate drops a term.
  const ShapeTracker st = ShapeTracker::contiguous({3})
                              .shrink({{sint(1), sint(3)}})
                              .stride(std::vector<std::int64_t>{-1})
                              .pad({{sint(1), sint(0)}});
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, st), {0});
  KernelCase c{LazyOp::store(ShapeTracker::contiguous({1}), sum), {{DType::Float32, {3}, {}}}};
  const float values[] = {7, 8, 9};
  c.inputs[0].bytes.assign(reinterpret_cast<const char*>(values), sizeof values);
  ClangOptions options = ClangOptions::from_environment();
  const TemporaryDirectory folder;
  options.cache_dir = folder.path() / "cache";
  options.fault = Fault::DropLastReduce;
  const auto backend = make_device_backend(make_clang_device("CANDIDATE", options));
  const std::filesystem::path out = folder.path() / "new" / "kernel-1";
  write_finding_folder(out, c, {"verdict", "it is wrong"}, "true", backend.get());
  EXPECT_EQ(read_npy(out / "input-1.npy").bytes, c.inputs[0].bytes);
  EXPECT_EQ(case_to_json(case_from_json(read_file(out / "case.txt"))), case_to_json(c));
  EXPECT_EQ(judge(reproducer_from_json(read_file(out / "reproducer.json"))).outcome, Outcome::Fail);
  EXPECT_NE(read_file(out / "kernel.c").find("for ("), std::string::npos);
  EXPECT_NE(read_file(out / "verdict.txt").find("it is wrong"), std::string::npos);
  const std::string trace = read_file(out / "trace.txt");
  EXPECT_NE(trace.find("(0) is masked: 0"), std::string::npos) << trace;
  EXPECT_NE(trace.find("(1) -> 2: 0x41100000 (9.0)"), std::string::npos) << trace;
  EXPECT_NE(trace.find("(2) -> 1: 0x41000000 (8.0)"), std::string::npos) << trace;
  EXPECT_THROW(write_finding_folder("/dev/null/x", c, {"verdict", ""}, "true", nullptr),
               SystemError);
}

// Kernels with a sine end the process; a batch is compiled as one object.
TEST(KernelCampaign, ACrashAmongKernelsCompiledTogetherIsItsCase) {
  const TemporaryDirectory folder;
  const std::string compiler = folder.path() / "cc";
  write_file_atomically(compiler, R"sh(#!/bin/sh
[ "$1" != --version ] || exec clang-19 --version
{ echo 'static float ends(float x) { *(volatile int*)0 = 0; return x; }'
  sed 's/sinf(/ends(/g'; } | clang-19 "$@"
)sh");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  ClangOptions options;
  options.compiler = compiler;
  options.keep = false;
  options.opt_level = 0;
  options.codegen.math = MathLevel::Library;
  const AreaPlan plan{"kernel",
                      [&](int) {
                        KernelBackends backends;
                        backends.candidate =
                            make_device_backend(make_clang_device("CANDIDATE", options));
                        return make_kernel_area(std::move(backends));
                      },
                      24};
  RunOptions run;
  run.cases = 144;
  run.seed = 3;
  run.most_shrunk = 0;
  const RunResult result = run_areas({plan}, run, std::atomic<bool>(false), {});
  EXPECT_EQ(result.trouble, "");
  const AreaResult& r = result.areas.at(0);
  EXPECT_EQ(r.tally.cases, 144);
  EXPECT_EQ(static_cast<std::size_t>(r.tally.failed), r.findings.size());
  EXPECT_FALSE(r.findings.empty());
  for (const AreaFinding& f : r.findings) {
    EXPECT_EQ(f.failure.relation, "crash") << f.failure.detail;
    EXPECT_NE(f.text.find("\"SIN\""), std::string::npos) << f.text;
  }
}

TEST(Reproducer, RoundTripGivesTheSameVerdict) {
  Candidate candidate(Fault::DropLastReduce);
  const ShapeTracker st = ShapeTracker::contiguous({4});
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, st), {0});
  RandomChooser chooser(1, 1);
  KernelCase c{LazyOp::store(ShapeTracker::contiguous({1}), sum), {{DType::Float32, {4}, {}}}};
  const std::vector<float> ones(4, 1.0F);
  c.inputs[0].bytes.assign(reinterpret_cast<const char*>(ones.data()), 16);
  const Reproducer r = record(c, candidate.device());
  const Verdict first = judge(r), second = judge(reproducer_from_json(to_json(r)));
  EXPECT_EQ(first.outcome, Outcome::Fail);
  EXPECT_EQ(first.str(), second.str());
}

// Allowed in an output, not in an input, whose bytes must be valid.
TEST(Reproducer, ByteThatIsNoBoolIsJudgedAgain) {
  const LazyOpPtr x = LazyOp::load(1, DType::Bool, ShapeTracker::contiguous({2}));
  const Reproducer r{{LazyOp::store(ShapeTracker::contiguous({2}), x),
                      {{DType::Bool, {2}, std::string("\0\1", 2)}}},
                     {DType::Bool, {2}, std::string("\0\3", 2)},
                     ""};
  const Verdict first = judge(r), second = judge(reproducer_from_json(to_json(r)));
  EXPECT_EQ(first.outcome, Outcome::Fail);
  EXPECT_EQ(first.str(), second.str());
}

TEST(Reproducer, DamageIsNamed) {
  EXPECT_THROW(reproducer_from_json("{"), ParseError);
  EXPECT_THROW(reproducer_from_json("{\"touchstone_reproducer\":9}"), ParseError);
  EXPECT_THROW(reproducer_from_json("{\"touchstone_reproducer\":1}"), ParseError);
  EXPECT_THROW(reproducer_from_json("[1]"), ParseError);
  const LazyOpPtr x = LazyOp::load(1, DType::Bool, ShapeTracker::contiguous({2}));
  const std::string text = to_json(Reproducer{{LazyOp::store(ShapeTracker::contiguous({2}), x),
                                               {{DType::Bool, {2}, std::string("\0\1", 2)}}},
                                              {DType::Bool, {2}, std::string("\0\1", 2)},
                                              "note"});
  EXPECT_NO_THROW(reproducer_from_json(text));
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    return copy.replace(copy.find(from), from.size(), to);
  };
  EXPECT_THROW(reproducer_from_json(damaged("\"note\":\"note\"", "\"note\":1")), ParseError);
  EXPECT_THROW(reproducer_from_json(damaged("0001", "0003")), ParseError);
  EXPECT_THROW(reproducer_from_json(damaged("\"shape\":[2]", "\"shape\":[2.0]")), ParseError);
  for (const char* shape : {"[-2]", "[18446744073709551614,18446744073709551615]",
                            "[4294967296,4294967296,4294967296]"})
    EXPECT_THROW(reproducer_from_json(damaged("\"shape\":[2]", std::string("\"shape\":") + shape)),
                 ParseError);
  EXPECT_THROW(
      reproducer_from_json(damaged("\"0001\",\"dtype\":\"bool\"", "\"0001\",\"dtype\":\"boal\"")),
      ParseError);
  EXPECT_THROW(
      reproducer_from_json(damaged("\"note\":\"note\"", "\"note\":" + std::string(300'000, '[') +
                                                            std::string(300'000, ']'))),
      ParseError);
  // In any key order.
  EXPECT_TRUE(
      is_reproducer("{\"inputs\":[" + std::string(100, ' ') + "],\"touchstone_reproducer\":1}"));
}

}  // namespace
}  // namespace touchstone::fuzz
