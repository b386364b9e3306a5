// Every definition against loops over indices in long double (fuzz/definitions): in float64 to 12
// digits, of fractions and of integers, and in float32 by the oracle.
#include "touchstone/define/definitions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../interp/kernels.h"
#include "definition_cases.h"
#include "touchstone/define/forms.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/call.h"
#include "touchstone/fuzz/definitions/calls.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/index_fault.h"

namespace touchstone::define {
namespace {

std::string with_type(std::string text, const std::string& type) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto part_of_word = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0);
    };
    if (text[i] == 'T' && !part_of_word(i + 1) && (i == 0 || !part_of_word(i - 1)))
      text.replace(i, 1, type);
  }
  return text;
}

namespace defined = fuzz::defined;

defined::Array value_of(const Case& c, const defined::Arrays& values) {
  const defined::Array value = defined::chained(c.calls, values);
  for (const defined::Near& cell : value.cells) EXPECT_FALSE(std::isinf(cell.e)) << c.calls;
  return value;
}

// A formula's inputs: fractions exact in both float32 and float64, and integers.
struct Inputs {
  std::vector<BufferPtr> buffers;
  defined::Arrays values;
};

struct Shaped {
  Sizes shape;
  DType dtype;
};
void find_inputs(const ArrayNode& node, std::map<int, Shaped>& found) {
  if (node.op == Op::Load) found[node.buffer] = {node.shape, node.dtype};
  for (const auto& s : node.src) find_inputs(*s, found);
}

Inputs draw(const Formula& formula, bool integers, unsigned seed, int largest = 3) {
  std::map<int, Shaped> shapes;
  find_inputs(*formula.value.node(), shapes);
  Inputs drawn;
  unsigned state = seed;
  for (const auto& [number, shaped] : shapes) {
    // Computed in float64, also for narrower types.
    const DType dtype = is_float(shaped.dtype) ? DType::Float64 : shaped.dtype;
    defined::Array values = defined::made(dtype, shaped.shape, [&](const Sizes&) -> defined::Near {
      state = state * 1664525U + 1013904223U;
      const auto small = static_cast<int>(state >> 24) % 49 - 24;
      return is_float(shaped.dtype) && !integers ? static_cast<defined::Real>(small * largest) / 24
                                                 : static_cast<defined::Real>(small % 5);
    });
    auto buffer = test::buffer(shaped.dtype, values.size());
    std::string bytes;
    for (const defined::Near& x : values.cells) {
      const std::uint64_t bits = Scalar::from_double(shaped.dtype, static_cast<double>(x.v)).bits();
      bytes.append(reinterpret_cast<const char*>(&bits), itemsize(shaped.dtype));
    }
    buffer->copy_in(std::as_bytes(std::span(bytes)));
    drawn.buffers.push_back(std::move(buffer));
    drawn.values.push_back(std::move(values));
  }
  return drawn;
}

Sizes without_ones(const Sizes& shape) {
  Sizes out;
  for (const std::int64_t s : shape)
    if (s != 1) out.push_back(s);
  return out;
}

// The reference's elements as doubles.
std::vector<double> by_reference(const LazyOpPtr& ast, Inputs& in, BufferPtr& out) {
  std::int64_t size = 1;
  for (const sint& s : ast->shape()) size *= s.as_int();
  out = test::buffer(ast->dtype(), size);
  std::vector<Buffer*> raw{out.get()};
  for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
  run_kernel(test::reference(), ast, raw);
  std::string bytes(static_cast<std::size_t>(size) * itemsize(ast->dtype()), '\0');
  out->copy_out(std::as_writable_bytes(std::span(bytes)));
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(i) * itemsize(ast->dtype()),
                itemsize(ast->dtype()));
    values.push_back(Scalar::from_bits(ast->dtype(), bits).to_double());
  }
  return values;
}

bool close(double got, defined::Real wanted, double digits) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(wanted)) return got == static_cast<double>(wanted);
  return std::abs(static_cast<defined::Real>(got) - wanted) <=
         digits * std::max<defined::Real>(1, std::abs(wanted));
}

void check(const Case& c) {
  for (const bool integers : {false, true}) {
    SCOPED_TRACE(c.text + (integers ? " of integers" : ""));
    const Formula formula = parse(with_type(c.text, "f64"));
    Inputs in = draw(formula, integers, 7);
    const defined::Array wanted = value_of(c, in.values);
    ASSERT_EQ(formula.value.shape(), wanted.shape);
    const LazyOpPtr ast = formula.kernel();
    ASSERT_EQ(without_ones(concrete(ast->shape())), without_ones(wanted.shape));
    BufferPtr out;
    const std::vector<double> got = by_reference(ast, in, out);
    const auto expect_close = [&](const std::vector<double>& values, double digits) {
      ASSERT_EQ(values.size(), wanted.cells.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_TRUE(close(values[i], wanted.cells[i].v, digits))
            << "element " << i << ": " << values[i] << ", not "
            << static_cast<double>(wanted.cells[i].v);
    };
    expect_close(got, 1e-12);
    for (const auto& named : {std::vector<std::string>(), {"moments", "subtracts"}})
      for (const FormulaForm& form : forms_of(with_type(c.text, "f64"), {}, named)) {
        SCOPED_TRACE(form.name);
        expect_close(by_reference(form.kernel, in, out), 1e-11);
      }
  }
  // float32: long double loops, rounded once, are close to any legal order.
  const Formula formula = parse(with_type(c.text, "f32"));
  Inputs in = draw(formula, false, 11);
  const defined::Array wanted = value_of(c, in.values);
  const LazyOpPtr ast = formula.kernel();
  BufferPtr out;
  const std::vector<double> got = by_reference(ast, in, out);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(close(got[i], wanted.cells[i].v, 1e-5)) << c.text << " element " << i;
  std::vector<Buffer*> raw{out.get()};
  for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
  const Verdict verdict = judge(ast, raw, *out);
  EXPECT_NE(verdict.outcome, Outcome::Fail) << c.text << ": " << verdict.str();
}

TEST(Definitions, ElementwiseOnesAreWhatLoopsGive) {
  for (const Case& c : elementwise_cases()) check(c);
}
TEST(Definitions, ReducesAndRowsAreWhatLoopsGive) {
  for (const Case& c : row_cases()) check(c);
}
TEST(Definitions, ProductsAreWhatLoopsGive) {
  for (const Case& c : product_cases()) check(c);
}
TEST(Definitions, LayersAreWhatLoopsGive) {
  for (const Case& c : layer_cases()) check(c);
}
TEST(Definitions, WindowsAreWhatLoopsGive) {
  for (const Case& c : window_cases()) check(c);
}
TEST(Definitions, ReadsAreWhatLoopsGive) {
  for (const Case& c : read_cases()) check(c);
}

TEST(Definitions, ScattersAreWhatLoopsGive) {
  for (const Case& c : scatter_cases()) check(c);
}

// Long double loops, rounded once, are the best result of a function.
void check_best(const Case& c, const std::string& type, int largest) {
  SCOPED_TRACE(c.text + " " + type + " up to " + std::to_string(largest));
  const Formula formula = parse(with_type(c.text, type));
  if (!formula.is_loose) return;
  Inputs in = draw(formula, false, 17, largest);
  const defined::Array wanted = value_of(c, in.values);
  const LazyOpPtr ast = formula.kernel();
  const DType dtype = ast->dtype();
  std::string bytes;
  for (const defined::Near& x : wanted.cells) {
    const std::uint64_t bits = Scalar::from_double(dtype, static_cast<double>(x.v)).bits();
    bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
  }
  const BufferPtr out = test::buffer(dtype, wanted.size());
  out->copy_in(std::as_bytes(std::span(bytes)));
  std::vector<Buffer*> raw{out.get()};
  for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
  const Verdict verdict = judge(ast, raw, *out, Profile::named("library"));
  EXPECT_NE(verdict.outcome, Outcome::Fail) << verdict.str();
}

TEST(Definitions, TheBestAnswerIsLegal) {
  for (const auto& cases : {elementwise_cases(), row_cases(), product_cases(), layer_cases(),
                            window_cases(), scatter_cases()})
    for (const Case& c : cases)
      for (const char* type : {"f32", "f16", "bf16"})
        for (const int largest : {3, 30, 120}) check_best(c, type, largest);
}

TEST(Definitions, AWrongElementIsFound) {
  for (const Case& c : layer_cases()) {
    const Formula formula = parse(with_type(c.text, "f32"));
    Inputs in = draw(formula, false, 5);
    const LazyOpPtr ast = formula.kernel();
    BufferPtr out;
    const std::vector<double> got = by_reference(ast, in, out);
    std::vector<float> stored(got.begin(), got.end());
    float& moved = *std::ranges::max_element(
        stored, {}, [](float v) { return std::isfinite(v) ? std::abs(v) : 0; });
    moved += std::abs(moved) / 20 + 0.05F;
    out->copy_in(std::as_bytes(std::span(stored)));
    std::vector<Buffer*> raw{out.get()};
    for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
    const Verdict verdict = judge(ast, raw, *out, Profile::named("library"));
    EXPECT_EQ(verdict.outcome, Outcome::Fail) << c.text << ": " << verdict.str();
  }
}

// A wrong answer where an intermediate result overflows.
TEST(Definitions, WhatIsFarOffIsNot) {
  struct Far {
    const char* text;
    const char* type;
    double x, answer;
  };
  constexpr Far kFar[] = {
      {"gelu(x[1]:T)", "f16", 60, 45},           {"gelu_tanh(x[1]:T)", "f16", -60, -15},
      {"gelu_tanh(x[1]:T)", "f32", 1e13, 5e12},  {"gelu(x[1]:T)", "f32", -1e13, -5e12},
      {"sigmoid(x[1]:T)", "f32", -300, 2.5e-39}, {"sigmoid(x[1]:T)", "f16", -20, 1.5e-5},
      {"silu(x[1]:T)", "f32", -3e38, -0.9},      {"silu(x[1]:T)", "f16", -60000, -0.5},
  };
  for (const Far& far : kFar) {
    const Formula formula = parse(with_type(far.text, far.type));
    const LazyOpPtr ast = formula.kernel();
    const auto stored = [&](double value) {
      const std::uint64_t bits = Scalar::from_double(ast->dtype(), value).bits();
      const BufferPtr made = test::buffer(ast->dtype(), 1);
      made->copy_in(std::as_bytes(std::span(&bits, 1)).first(itemsize(ast->dtype())));
      return made;
    };
    const BufferPtr x = stored(far.x), y = stored(far.answer);
    std::vector<Buffer*> raw{y.get(), x.get()};
    const Verdict verdict = judge(ast, raw, *y, Profile::named("library"));
    EXPECT_EQ(verdict.outcome, Outcome::Fail)
        << far.text << " " << far.type << " of " << far.x << ": " << verdict.str();
  }
}

std::set<std::string_view> with_loops() {
  std::set<std::string_view> loops;
  for (const defined::KernelLoops& row : defined::kernel_loops()) loops.insert(row.name);
  return loops;
}

TEST(Definitions, EachHasLoops) {
  std::set<std::string_view> names;
  for (const Definition& d : definitions()) names.insert(d.name());
  EXPECT_EQ(names, with_loops());
}

// Each with its attributes, optional arrays given and left out, a right result and a wrong one.
TEST(Definitions, EachIsDrawnAndAWrongElementIsFound) {
  const std::unique_ptr<fuzz::Area> area = fuzz::make_tensor_area();
  std::map<std::string, std::set<std::string>> seen;
  std::map<std::string, int> refused;  // changed results
  for (std::uint64_t i = 0; i < 9000; ++i) {
    fuzz::RandomChooser chooser(3, i);
    const fuzz::Call call = fuzz::draw_kernel_call(chooser);
    const std::string name = call.name.substr(defined::kKernelCall.size());
    for (const auto& [key, value] : call.args) seen[name].insert(key);
    seen[name].insert(fmt::format("of {}", call.inputs.size()));
    if (refused[name] > 0) continue;
    const fuzz::Checked c = area->check(call.str(), fuzz::Effort::Sampled);
    ASSERT_NE(c.ending, fuzz::Ending::Fail) << call.str() << "\n" << c.failure.detail;
    refused[name] += c.passed_over.empty() ? 1 : 0;
  }
  const std::set<std::string> elsewhere = {"gather checked"};  // an error on a device
  for (const Definition& d : definitions()) {
    const std::string name(d.name());
    EXPECT_GT(refused[name], 0) << d.signature << " has no result whose change is found";
    std::size_t arrays = 0, required = 0;
    for (const Parameter& p : parameters(d)) {
      const bool may_be_number = p.name == "pos_weight" || p.name == "scale";
      arrays += p.is_array && !(may_be_number && !p.required) ? 1 : 0;
      required += p.is_array && p.required ? 1 : 0;
      if (p.is_array || elsewhere.contains(name + " " + p.name)) continue;
      EXPECT_TRUE(seen[name].contains(p.name)) << d.signature << ": " << p.name;
    }
    if (name.starts_with("dequantize")) arrays = required;
    EXPECT_TRUE(seen[name].contains(fmt::format("of {}", required))) << d.signature;
    EXPECT_TRUE(seen[name].contains(fmt::format("of {}", arrays))) << d.signature;
  }
}

TEST(Definitions, RowsOfAnInputAreLoadsAndMayBeChecked) {
  const auto gathers = [](const std::string& text) {
    int count = 0;
    for (const LazyOpPtr& node : toposort(parse(text).kernel()))
      count += node->op() == Op::Gather ? 1 : 0;
    return count;
  };
  EXPECT_EQ(gathers("gather(t[5,3], i[4]:i32)"), 1);
  EXPECT_EQ(gathers("gather(exp(t[5,3]), i[4]:i32)"), 0);
  const LazyOpPtr kernel = parse("transpose(gather(t[3,2], i[2,2]:i64, checked=1), 0, 1)").kernel();
  const auto run = [&](const std::vector<std::int64_t>& at) {
    return test::run<float>(kernel->src()[0], {test::buffer<float>({1, 2, 3, 4, 5, 6}),
                                               test::buffer<std::int64_t>(at)});
  };
  EXPECT_EQ(run({2, 0, 1, 2}), (std::vector<float>{5, 6, 3, 4, 1, 2, 5, 6}));
  try {
    run({2, 3, -1, 0});
    FAIL();
  } catch (const IndexError& e) {
    EXPECT_EQ(e.fault(), (IndexFault{1, 3, 3}));
  }
  EXPECT_THROW(parse("gather(exp(t[3,2]), i[2]:i64, checked=1)"), Error);
  EXPECT_THROW(parse("gather(t[3,2], i[2], checked=1)"), Error);
  EXPECT_THROW(parse("gather(t[3], i[2]:i64)"), Error);
}

template <class T>
std::vector<T> given(const std::string& text, const std::vector<T>& x) {
  return test::run<T>(parse(text).kernel()->src()[0], {test::buffer<T>(x)});
}

// The results of NumPy, SciPy and PyTorch, and IEEE 754-2019 for the smaller of two.
TEST(Definitions, InfinitiesAndNanAreWhatTheMathematicsGives) {
  constexpr float inf = INFINITY, nan = NAN;
  const std::vector<float> rows = {1,   inf,  2,   -inf, -inf, -inf, -inf,  0,     0,
                                   inf, -inf, inf, nan,  inf,  1,    3e38F, 3e38F, 3e38F};
  const std::vector<float> sums = given<float>("logsumexp(x[6,3])", rows);
  EXPECT_EQ(sums[0], inf);
  EXPECT_EQ(sums[1], -inf);
  EXPECT_FLOAT_EQ(sums[2], std::log(2.0F));
  EXPECT_EQ(sums[3], inf);
  EXPECT_TRUE(std::isnan(sums[4]));
  EXPECT_EQ(sums[5], 3e38F);
  const std::vector<float> parts = given<float>("softmax(x[6,3])", rows);
  for (const std::size_t i : {0U, 3U, 4U, 9U, 12U}) EXPECT_TRUE(std::isnan(parts[i])) << i;
  EXPECT_EQ(std::vector<float>(parts.begin() + 6, parts.begin() + 9),
            (std::vector<float>{0, 0.5F, 0.5F}));
  // One number against one of each kind, in both orders.
  for (const float other : {nan, inf, -inf, 1.0F}) {
    const std::vector<float> x = {other, 2};
    const std::vector<float> least = given<float>("minimum(x[2], flip(x))", x);
    for (const float m : least)
      EXPECT_TRUE(std::isnan(other) ? std::isnan(m) : m == std::min(other, 2.0F)) << other;
  }
  // float8_e4m3 has no infinity.
  const Formula narrow = parse("logsumexp(x[2,3]:f8e4m3)");
  EXPECT_NO_THROW(narrow.kernel());
}

TEST(Definitions, TheLeastIntegerIsTheLeastThoughItHasNoNegative) {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(given<std::int32_t>("min(x[2,2]:i32, axis=1)", {5, least, 3, -4}),
            (std::vector<std::int32_t>{least, -4}));
  EXPECT_EQ(given<std::int32_t>("minimum(x[2]:i32, flip(x))", {5, least}),
            (std::vector<std::int32_t>{least, least}));
  EXPECT_EQ(given<std::uint8_t>("min(x[2,2]:u8, axis=1)", {255, 3, 0, 7}),
            (std::vector<std::uint8_t>{3, 0}));
}

TEST(Definitions, ThoseThatFunctionsComputeAsTheyLikeAreLoose) {
  for (const char* text : {"softmax(x[4])", "attention(q[2,3], k[2,3], v[2,3])", "1 + exp(x[4])",
                           "avg_pool1d(x[1,1,4], size=2)", "sum(sigmoid(x[4]))", "relu(x[2])",
                           "max(x[4])", "min(x[4])", "maximum(x[2], y[2])",
                           "max_pool1d(x[1,1,4], size=2)", "max_pool2d(x[1,1,4,4], size=2)",
                           "exp2(x[4])", "log2(x[4])", "sin(x[4])", "remainder(x[4], y[4])"})
    EXPECT_EQ(usual_profile(parse(text).is_loose), "library") << text;
  for (const char* text : {"sum(x[4])", "sqrt(x[4])", "matmul(a[2,3], b[3,2])", "x[4] / 3",
                           "conv1d(x[1,1,4], w[1,1,2])", "recip(x[4])", "cumsum(x[4])"})
    EXPECT_EQ(usual_profile(parse(text).is_loose), "glibc") << text;
}

// The sums of a group are computed once for all its elements.
TEST(Definitions, GroupsAreSummedOnce) {
  const LazyOpPtr kernel = parse("group_norm(x[4,32,16,16], groups=8)").kernel();
  EXPECT_LT(get_lazyop_info(kernel).flops.as_int(), 50 * 4 * 32 * 16 * 16);
}

TEST(Definitions, ABitcastKeepsTheBits) {
  const Formula formula = parse("bitcast(x[3]:f32, to=i32)");
  const std::vector<std::int32_t> got = test::run<std::int32_t>(
      formula.kernel()->src()[0], {test::buffer<float>({1.0F, -0.0F, 0.5F})});
  EXPECT_EQ(got, (std::vector<std::int32_t>{0x3f800000, INT32_MIN, 0x3f000000}));
}

}  // namespace
}  // namespace touchstone::define
