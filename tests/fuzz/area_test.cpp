#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "../support/sanitized.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/draw/rapidcheck_chooser.h"
#include "touchstone/fuzz/engine/corpus.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::fuzz {
namespace {

std::uint64_t budget(std::uint64_t usual) {
  const char* asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  return asked != nullptr ? static_cast<std::uint64_t>(std::max(1LL, std::atoll(asked))) : usual;
}

std::unique_ptr<Area> make_kernels() {
  KernelBackends backends;
  backends.candidate =
      make_device_backend(has_tcc() ? make_tcc_device() : make_interpreted_device("CANDIDATE"));
  return make_kernel_area(std::move(backends));
}

std::unique_ptr<Area> make_area(const std::string& name) {
  return name == "kernel"      ? make_kernels()
         : name == "view"      ? make_view_area()
         : name == "lazy"      ? make_lazy_area()
         : name == "kernelize" ? make_kernelize_area()
         : name == "rewrite"   ? make_rewrite_area()
         : name == "tensor"    ? make_tensor_area()
         : name == "files"     ? make_file_area()
         : name == "random"    ? make_random_area()
                               : make_symbolic_area();
}

class EachArea : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Area> area_ = make_area(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Of, EachArea,
                         testing::Values("symbolic", "view", "lazy", "kernelize", "rewrite",
                                         "tensor", "files", "random"),
                         [](const auto& i) { return i.param; });

TEST_P(EachArea, DrawsTheSameCaseFromTheSameChoices) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    RandomChooser a(3, i), b(3, i);
    EXPECT_EQ(area_->draw(a), area_->draw(b));
  }
}

TEST_P(EachArea, HoldsOverManyCases) {
  const bool slow = GetParam() == "lazy" || GetParam() == "tensor";
  const std::uint64_t usual = (slow                        ? 300
                               : GetParam() == "kernelize" ? 1500
                                                           : 4000) /
                              (test::kSanitized ? 4 : 1);
  for (std::uint64_t i = 0, cases = budget(usual); i < cases; ++i) {
    RandomChooser chooser(20, i);
    const std::string text = area_->draw(chooser);
    const Checked c = area_->check(text, Effort::Sampled);
    EXPECT_NE(c.ending, Ending::Fail) << text << "\n"
                                      << c.failure.relation << "\n"
                                      << c.failure.detail;
  }
}

TEST_P(EachArea, TakesAnyBytesAndDrawsTheSimplestOfNone) {
  BytesChooser none({});
  EXPECT_LE(area_->draw(none).size(), 40U);
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < (test::kSanitized ? 60 : 150); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i * 37 + i / 7));
    BytesChooser chooser(bytes);
    const std::string text = area_->draw(chooser);
    EXPECT_NE(area_->check(text, Effort::Full).ending, Ending::Fail) << text;
  }
}

TEST_P(EachArea, EverySmallerCaseIsACaseAndShrinkingIsTheSameEachTime) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    RandomChooser chooser(8, i);
    const std::string text = area_->draw(chooser);
    // An artificial fault: the case contains a 3.
    const auto fails = [](const std::string& t) { return t.find('3') != t.npos; };
    if (!fails(text)) continue;
    const ShrunkCase once = shrink_case(*area_, text, fails),
                     again = shrink_case(*area_, text, fails);
    EXPECT_EQ(once.text, again.text);
    EXPECT_EQ(once.runs, again.runs);
    EXPECT_TRUE(fails(once.text));
    EXPECT_LE(area_->measure(once.text), area_->measure(text));
    EXPECT_LE(once.text.size(), 220U) << text;  // attention takes nine tensors
    EXPECT_NO_THROW(area_->check(once.text, Effort::Full));
  }
}

// The smallest case that shrinking reaches for a fault.
std::string smallest(Area& area, const std::string& text, const StillFails& fails) {
  EXPECT_TRUE(fails(text));
  return shrink_case(area, text, fails).text;
}

TEST(Shrinking, MakesOneOfTwoPermutes) {
  const std::unique_ptr<Area> area = make_view_area();
  // The last axis moves first, which no swap of two axes does.
  const auto fails = [](const std::string& text) {
    ShapeTracker tracker = ShapeTracker::contiguous(ViewCase::parse(text).base);
    for (const MovementOp& op : ViewCase::parse(text).ops) tracker = apply(tracker, op);
    const View& v = tracker.views().back();
    return tracker.views().size() == 1 && v.rank() == 3 &&
           v.strides() == Strides{1, v.shape()[0] * v.shape()[2], v.shape()[0]};
  };
  EXPECT_EQ(smallest(*area, "5,2,7 permute 0,2,1 pad 0:0,0:0,0:0 permute 1,0,2", fails),
            "2,2,2 permute 2,0,1");
}

TEST(Shrinking, LowersEqualSizesTogether) {
  const std::unique_ptr<Area> area = make_view_area();
  const auto fails = [](const std::string& text) {
    const ViewCase c = ViewCase::parse(text);
    return c.ops.size() == 2 && c.base.size() == 2 && c.base[0] == c.base[1] &&
           c.ops[1].shape == c.base && sint(1) != c.base[0] && sint(0) != c.base[0];
  };
  EXPECT_EQ(smallest(*area, "7,7 permute 1,0 reshape 7,7", fails), "2,2 permute 0,1 reshape 2,2");
}

TEST(Shrinking, TakesElementsOffBothEndsOfAStep) {
  const std::unique_ptr<Area> area = make_view_area();
  const auto fails = [](const std::string& text) {
    const ViewCase c = ViewCase::parse(text);
    return c.ops.size() == 1 && c.base.size() == 1 && c.ops[0].steps.size() == 1 &&
           floor_div(c.base[0] - 1, c.ops[0].steps[0]) == sint(3);
  };
  EXPECT_EQ(smallest(*area, "19 stride 5", fails), "4 stride 1");
}

TEST(Shrinking, LowersEqualConstantsTogether) {
  const std::unique_ptr<Area> area = make_symbolic_area();
  const auto fails = [](const std::string& text) {
    const ExpressionCase c = ExpressionCase::parse(text);
    const symbolic::Expr e = c.root;
    if (c.exprs.op(e) != symbolic::ExprOp::Div || !c.exprs.is_constant(c.exprs.arg(e, 1)))
      return false;
    const std::vector<symbolic::Expr> parts = c.exprs.parts(c.exprs.arg(e, 0));
    const symbolic::Expr by = c.exprs.arg(e, 1);
    return !c.exprs.is_constant(by, 1) && std::ranges::find(parts, by) != parts.end() &&
           parts.size() > 2;
  };
  EXPECT_EQ(smallest(*area, "x=0..59 | x*60//60", fails), "x=0..0 | x*2//2");
}

TEST(Shrinking, AddsUpTermsThatAreAlike) {
  const std::unique_ptr<Area> area = make_symbolic_area();
  const auto fails = [](const std::string& text) {  // three times x, with several values
    const ExpressionCase c = ExpressionCase::parse(text);
    if (c.variables.empty() || c.variables[0].name != "x") return false;
    if (!c.variables[0].high || *c.variables[0].high < symbolic::Int(1)) return false;
    PointValues values;
    take_points(values, c.variables, 0, 64);
    const Column sum = values.evaluate(render(c.exprs, c.root)), x = values.evaluate("x");
    for (std::size_t p = 0; p < values.points(); ++p)
      if (sum.at(p) != x.at(p) * symbolic::Int(3)) return false;
    return true;
  };
  EXPECT_EQ(smallest(*area, "x=0..7 | x + 1 - (1 - x*2)", fails), "x=0..1 | x*3");
}

TEST(Shrinking, MakesAVariableOfAPart) {
  const std::unique_ptr<Area> area = make_symbolic_area();
  // A sum whose left side ranges from -3 to 3.
  const auto fails = [](const std::string& text) {
    const ExpressionCase c = ExpressionCase::parse(text);
    if (c.exprs.op(c.root) != symbolic::ExprOp::Add) return false;
    PointValues values;
    take_points(values, c.variables, 0, 64);
    const Column& left = values.evaluate(render(c.exprs, c.exprs.arg(c.root, 0)));
    symbolic::Int low(0), high(0);
    for (std::size_t p = 0; p < values.points(); ++p) {
      low = std::min(low, left.at(p));
      high = std::max(high, left.at(p));
    }
    return low == symbolic::Int(-3) && high == symbolic::Int(3);
  };
  EXPECT_EQ(smallest(*area, "a=0..3 b=0..3 | a - b + a", fails), "a=0..0 x=-3..3 | x + a");
}

RC_GTEST_PROP(Areas, HoldForWhatRapidCheckDraws, ()) {
  static const std::unique_ptr<Area> areas[] = {make_view_area(), make_lazy_area()};
  const std::vector<std::uint32_t> choices = *any_choices(120);
  for (const std::unique_ptr<Area>& area : areas) {
    ListChooser chooser(choices);
    const std::string text = area->draw(chooser);
    RC_LOG() << text;
    RC_ASSERT(area->check(text, Effort::Sampled).ending != Ending::Fail);
  }
}

TEST(Corpus, EveryCaseStillHolds) {
  const std::vector<CorpusCase> cases = read_corpus(TOUCHSTONE_SOURCE_DIR "/tests/corpus");
  std::map<std::string, int> count;
  std::map<std::string, std::unique_ptr<Area>> areas;
  for (const CorpusCase& c : cases) {
    ++count[c.area];
    std::unique_ptr<Area>& area = areas[c.area];
    if (area == nullptr) area = make_area(c.area);
    const Checked checked = area->check(c.text, Effort::Full);
    EXPECT_NE(checked.ending, Ending::Fail) << c.where << "\n" << checked.failure.detail;
  }
  EXPECT_GE(count["symbolic"], 4);
  EXPECT_GE(count["view"], 5);
  EXPECT_GE(count["lazy"], 4);
  EXPECT_GE(count["tensor"], 2);
  EXPECT_GE(count["kernel"], 3);
}

TEST(Corpus, IsGrownOnceACase) {
  const TemporaryDirectory folder;
  add_to_corpus(folder.path() / "new", "view", "2,3", "why");
  add_to_corpus(folder.path() / "new", "view", "2,3", "again");
  add_to_corpus(folder.path() / "new", "view", "4", "why");
  const std::vector<CorpusCase> cases = read_corpus(folder.path() / "new");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[1].text, "4");
  EXPECT_NE(cases[1].where.find("view.txt:4"), std::string::npos);
  EXPECT_THROW(read_corpus(folder.path() / "none"), SystemError);
}

TEST(ExpressionCases, ReadBackAndNameWhatIsWrong) {
  EXPECT_EQ(ExpressionCase::parse("y=0..1 x=-3..7 |  (x+1)//2 |x<5").str(),
            "x=-3..7 | (x + 1)//2 | x < 5");
  for (const std::string bad :
       {"", "x", "x=0..7", "x=7..0 | x", "x=0 | x", "x=a..7 | x", "x=0..7 x=0..8 | x", "| x",
        "1=0..7 | 1", "x=0..7 | (x", "x=0..7 | x | (", "x=0..7 | x//0"})
    EXPECT_THROW(ExpressionCase::parse(bad), ParseError) << bad;
}

// By the definitions, independent of the simplifier.
TEST(PointValues, AreThoseOfTheExpressionAsWritten) {
  PointValues values;
  values.begin(1);
  values.add_variable("x").set(0, -7);
  const auto value = [&](const std::string& text) -> std::string {
    const Column& column = values.evaluate(text);
    return column.defined(0) ? column.at(0).str() : "undefined";
  };
  EXPECT_EQ(value("x//2"), "-4");
  EXPECT_EQ(value("x//-2"), "3");
  EXPECT_EQ(value("x%-4"), "-3");
  EXPECT_EQ(value("tdiv(x, 2)"), "-3");
  EXPECT_EQ(value("tmod(x, 2)"), "-1");
  EXPECT_EQ(value("1//(x + 7)"), "undefined");
  EXPECT_EQ(value("0*(1//(x + 7))"), "undefined");
  EXPECT_EQ(value("where(x < 0, x, 1//(x + 7))"), "-7");
  EXPECT_EQ(value("x < 0 or 1//(x + 7) == 0"), "1");
  EXPECT_EQ(value("min(x, 3, -9) + max(x, 2)*1000000000000000000000"), "1999999999999999999991");
  EXPECT_EQ(value("- -7 - x - (1 - x)"), "6");
  EXPECT_EQ(value("not (x == -7) or not 0"), "1");
  EXPECT_EQ(value("y < 0 and x > 0"), "0");
  EXPECT_EQ(values.unknown(), "y");
  EXPECT_EQ(value("y < 0 and x < 0"), "undefined");
  EXPECT_THROW(values.evaluate("x//-0"), ParseError);
  EXPECT_EQ(value("where(y, 1, 2)"), "undefined");  // no state remains after an error
}

symbolic::Int definition(char op, const symbolic::Int& a, const symbolic::Int& b) {
  return op == '+'   ? a + b
         : op == '-' ? a - b
         : op == '*' ? a * b
         : op == '/' ? floor_div(a, b)
                     : floor_mod(a, b);
}

// In machine words if they hold the result, else unbounded: the same numbers.
TEST(PointValues, AreTheSameAtBothEndsOfAMachineWord) {
  std::vector<symbolic::Int> numbers;
  for (const int bits : {0, 1, 30, 31, 32, 61, 62, 63, 64})
    for (const int by : {-1, 0, 1})
      for (const int sign : {1, -1}) {
        symbolic::Int n(sign);
        for (int i = 0; i < bits; ++i) n = n * 2;
        numbers.push_back(n + by);
      }
  PointValues values;
  for (const symbolic::Int& y : numbers) {
    values.begin(numbers.size());
    Column& x = values.add_variable("x");
    for (std::size_t p = 0; p < numbers.size(); ++p) x.set(p, numbers[p]);
    for (const auto& [text, op] : {std::pair("x + ({})", '+'),
                                   {"x - ({})", '-'},
                                   {"x*({})", '*'},
                                   {"x//({})", '/'},
                                   {"x%({})", '%'}}) {
      if (y.is_zero() && (op == '/' || op == '%')) continue;
      const Column& column = values.evaluate(fmt::format(fmt::runtime(text), y.str()));
      for (std::size_t p = 0; p < numbers.size(); ++p)
        EXPECT_EQ(column.at(p), definition(op, numbers[p], y))
            << numbers[p].str() << text << y.str();
    }
  }
}

TEST(ViewCases, ReadBackAndNameWhatIsWrong) {
  for (const std::string good :
       {"4,6 permute 1,0 reshape 8,3 pad 0:1,2:0 stride -1,2", "() reshape 1,1",
        "n=2..5 | 4,n reshape n*4 shrink 0:n", "7 as_strided 2,3:2,-1:2", "0,3 expand 0,3",
        "n=2..5 m=0..2 k=1..1 j=0..3 | 4,n pad m:0,0:j reshape 1,n*4"})
    EXPECT_EQ(ViewCase::parse(good).str(), good);
  for (const std::string bad : {"", "a", "4 permute", "4 turn 0", "4 pad 1", "4,5 permute 0,x",
                                "n=5..2 | n", "n | 4", "n=0..9999 | n", "| 4", "n=0..1 n=0..1 | n",
                                "n=0..20 m=0..20 | n", "a=0..1 b=0..1 c=0..1 d=0..1 e=0..1 | 4",
                                "2 as_strided 2:1", "9999999999999999999", "n=1..2 | 4 stride n"})
    EXPECT_THROW(ViewCase::parse(bad), ParseError) << bad;
  const std::unique_ptr<Area> area = make_view_area();
  for (const std::string unfit : {"4 reshape 5", "4 permute 1", "2,2 permute 0,0", "3 expand 4",
                                  "4 shrink 3:2", "4 stride 0", "4 pad -1:0", "4 as_strided 2:4:0",
                                  "2,2 stride 1", "100000", "1000,1000", "-1", "4 shrink 0:5"})
    EXPECT_THROW(area->check(unfit, Effort::Full), ParseError) << unfit;
}

TEST(ViewCases, OfSeveralVariablesAreDrawnAndBound) {
  std::size_t most = 0, longest = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser chooser(7, seed);
    const ViewCase c = ViewCase::parse(draw_symbolic_chain(chooser));
    most = std::max(most, c.variables.size());
    longest = std::max(longest, c.ops.size());
    EXPECT_EQ(ViewCase::parse(c.str()).str(), c.str());
    for (const symbolic::Values& values : c.all_values()) {
      const ViewCase bound = c.bind(values);
      EXPECT_TRUE(bound.variables.empty());
      Addresses array = addresses_of(bound.base);
      for (const MovementOp& op : bound.ops) move(array, op);
      // Binding one variable after the other is the same.
      ViewCase steps = c;
      for (const auto& [name, value] : values) steps = steps.bind({{name, value}});
      EXPECT_EQ(steps.str(), bound.str()) << c.str();
    }
  }
  EXPECT_EQ(most, 4U);
  EXPECT_GE(longest, 5U);
}

TEST(Programs, ReadBackAndNameWhatIsWrong) {
  for (const std::string good :
       {"float32 2,3: 1 -2.5 nan; exp2 %0; pad %1 0:1,0:0; reduce_sum %2 0", "int8 (): 7",
        "bool 2: 1 0; uint8 2: 3; where %0 %1 %1; bitcast %2 int8; copy %3"})
    EXPECT_EQ(TensorProgram::parse(good).str(), good);
  for (const std::string bad : {"",
                                "exp2",
                                "exp2 %0",
                                "float32 2: 1; exp2 %1",
                                "float32 2: ",
                                "float32 2: x",
                                "f 2: 1",
                                "float32 2: 1; add %0",
                                "float32 2: 1; float32 3: 1; add %0 %1",
                                "int8 2: 1; sin %0",
                                "float32 2: 1; pad %0",
                                "float32 2: 1; pad %0 1:1 2",
                                "float32 2: 1; reduce_sum %0 1",
                                "float32 2: 1; reduce_sum %0 0,0",
                                "float32 2: 1; bitcast %0 int8",
                                "float32 2: 1; turn %0",
                                "float32 2: 1; cast %0 float31",
                                "float32 99999: 1",
                                "float32 64,65: 1",
                                "float32 2: 1; reshape %0 3",
                                "float32 2: 1; as_strided %0 1:1:0",
                                "float32 -1: 1",
                                "float32 2: 1;"})
    EXPECT_THROW(TensorProgram::parse(bad), ParseError) << bad;
  EXPECT_THROW(make_tensor_area()->check("float32 2: 1", Effort::Full), ParseError);
  EXPECT_THROW(make_tensor_area()->check("float64 2: 1; xor %0 %0", Effort::Full), ParseError);
  EXPECT_THROW(make_lazy_area()->check("float64 2: 1; swish %0", Effort::Full), ParseError);
}

// Any bits are right for results made of a NaN's bits.
TEST(LazyArea, BitsOfANanAreNotCompared) {
  EXPECT_EQ(make_lazy_area()
                ->check("float64 1,1,1: 0; log2 %0; sqrt %1; reduce_max %2 0,2; bitcast %3 int64",
                        Effort::Full)
                .ending,
            Ending::Skipped);
}

// Ignores the checks of positions.
class Unchecked final : public Device {
 public:
  Unchecked() : Device("UNCHECKED", std::make_unique<HostAllocator>()) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    return reference_->runner(
        rebuild(kernel, [](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
          OpArg arg = node->arg();
          if (auto* b = std::get_if<MemBuffer>(&arg)) b->checked.reset();
          return LazyOp::make(node->op(), src, std::move(arg));
        }));
  }
  std::unique_ptr<Device> reference_ = make_interpreted_device();
};

TEST(KernelArea, CheckedPositionsAreFaultsOfBoth) {
  const std::unique_ptr<Area> right = make_kernels();
  KernelBackends backends;
  backends.candidate = make_device_backend(std::make_unique<Unchecked>());
  const std::unique_ptr<Area> wrong = make_kernel_area(std::move(backends));
  int checked = 0, missed = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    RandomChooser chooser(17, i);
    const std::string text = right->draw(chooser);
    if (text.find("\"checked\"") == text.npos) continue;
    ++checked;
    EXPECT_NE(right->check(text, Effort::Sampled).ending, Ending::Fail) << text;
    const Checked answer = wrong->check(text, Effort::Sampled);
    if (answer.ending == Ending::Fail) {
      EXPECT_EQ(answer.failure.relation, "checked");
    }
    missed += answer.ending == Ending::Fail ? 1 : 0;
  }
  EXPECT_GT(checked, 40);
  EXPECT_GT(missed, 10);
}

// If its output shares an input's memory, the last byte stays the input's.
class LeavesTheEnd final : public Device {
 public:
  LeavesTheEnd() : Device("LEAVES", std::make_unique<HostAllocator>()) {}

 private:
  struct Part final : Runner {
    explicit Part(RunnerPtr right) : right_(std::move(right)) {}
    double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
      Buffer& out = *buffers[0];
      const bool shared = std::ranges::any_of(
          buffers.subspan(1), [&](const Buffer* b) { return b->memory() == out.memory(); });
      auto* const end = static_cast<std::byte*>(out.memory()) + out.bytes();
      const std::byte last = out.bytes() > 0 ? end[-1] : std::byte{};
      right_->run(buffers, values);
      if (shared && out.bytes() > 0) end[-1] = last;
      return 0;
    }
    RunnerPtr right_;
  };
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    return std::make_shared<Part>(reference_->runner(kernel));
  }
  std::unique_ptr<Device> reference_ = make_interpreted_device();
};

TEST(KernelArea, ByteAtTheEndOfWhatIsInPlaceCounts) {
  KernelBackends backends;
  backends.candidate = make_device_backend(std::make_unique<LeavesTheEnd>());
  const std::unique_ptr<Area> area = make_kernel_area(std::move(backends));
  int found = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    RandomChooser chooser(19, i);
    const Checked answer = area->check(area->draw(chooser), Effort::Sampled);
    if (answer.ending != Ending::Fail) continue;
    EXPECT_EQ(answer.failure.relation, "in place");
    ++found;
  }
  EXPECT_GT(found, 5);
}

TEST(Programs, ReadRowsOfTables) {
  std::map<std::string, int> found;
  for (std::uint64_t i = 0; i < 400; ++i)
    for (const bool gradients : {false, true}) {
      RandomChooser chooser(5, i);
      const std::string text = draw_program(chooser, {.gradients = gradients});
      for (const char* what : {"gather %", "rows %"})
        found[what] += text.find(what) != text.npos ? 1 : 0;
    }
  for (const auto& [what, count] : found) EXPECT_GT(count, 30) << what;
  const auto bytes = [](const std::string& text) {
    static const std::unique_ptr<Device> device = make_interpreted_device();
    std::vector<int> out;
    for (const char c : by_definition(TensorProgram::parse(text), *device)) out.push_back(c);
    return out;
  };
  EXPECT_EQ(bytes("int8 3,4: 1 2 3 4 5 6 7 8 9 10 11 12; int64 4: 2 0 -1 3; gather %0 %1"),
            (std::vector{9, 2, 0, 0}));
  EXPECT_EQ(bytes("int8 0,2: 1; int64 2: 0 1; gather %0 %1"), (std::vector{0, 0}));
  EXPECT_EQ(bytes("int8 1: 7; int64 (): 0; gather %0 %1"), (std::vector{7}));
  for (const char* wrong : {"int8 3: 1; int32 (): 0; gather %0 %1", "int8 3: 1; gather %0 %0",
                            "int8 (): 1; int64 (): 0; gather %0 %1", "float64 2: 1; rows %0 2",
                            "float64 2: 1; rows %0 0,-3", "float64 (): 1; rows %0 0"})
    EXPECT_THROW(TensorProgram::parse(wrong), ParseError) << wrong;
}

TEST(ViewCases, AreMovedAsDefined) {
  const auto cells = [](const std::string& text) {
    const ViewCase c = ViewCase::parse(text);
    Addresses array = addresses_of(c.base);
    for (const MovementOp& op : c.ops) move(array, op);
    return array.cells;
  };
  using Cells = std::vector<std::int64_t>;
  EXPECT_EQ(cells("2,3 permute 1,0"), (Cells{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(cells("4 stride -2"), (Cells{3, 1}));
  EXPECT_EQ(cells("2,2 pad 0:0,1:0 reshape 6"), (Cells{-1, 0, 1, -1, 2, 3}));
  EXPECT_EQ(cells("1,2 expand 2,2 shrink 0:2,1:2"), (Cells{1, 1}));
  EXPECT_EQ(cells("4 as_strided 2,2:1,2:0"), (Cells{0, 2, 1, 3}));
  EXPECT_EQ(addresses_of(std::vector<View>{View::strided({2, 2}, {1, -1}, 1, Mask{{0, 2}, {0, 1}})})
                .cells,
            (Cells{1, -1, 2, -1}));
}

}  // namespace
}  // namespace touchstone::fuzz
