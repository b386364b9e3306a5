// Calls of the tensor library against their definitions as loops (fuzz/definitions).
#include <set>
#include <utility>

#include "../support/sanitized.h"
#include "tensor_check.h"
#include "touchstone/fuzz/areas/call_check.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone {
namespace {

using Texts = std::vector<std::string>;

class Definitions : public OnDevice {
 protected:
  void expect_defined(const Texts& calls) const {
    for (const std::string& differing : fuzz::differing_calls(calls, device()))
      ADD_FAILURE() << differing;
  }
};
TOUCHSTONE_ON_DEVICES(Definitions);

// Replaces each "~" by values, different ones for each tensor of a call.
std::string with_values(std::string_view text) {
  constexpr std::string_view kValues[] = {"0.7", "-1.3", "0.2",  "1.9",  "-0.4", "0.9", "-1.7",
                                          "0.1", "1.1",  "-0.8", "0.35", "-0.6", "1.6"};
  std::string out;
  std::size_t next = 0;
  for (const char c : text) {
    if (c != '~') {
      out += c;
      continue;
    }
    for (std::size_t i = 0; i < std::size(kValues); ++i)
      out += fmt::format("{}{}", i > 0 ? " " : "", kValues[(next + i) % std::size(kValues)]);
    next += 5;
  }
  return out;
}
Texts calls_of(const Texts& rows) {
  Texts calls;
  for (const std::string& row : rows) calls.push_back("call " + with_values(row));
  return calls;
}

// Values where a piece of a function ends, and where exponentials overflow or vanish.
constexpr std::string_view kEdges =
    "-30 -9 -7 -3.1 -3 -2.9 -2.5 -1.5 -1 -0.5 -0.3 -0.25 -1e-9 -0.0 0 0.1 0.4 0.5 1 1.5 2.5 2.9 "
    "3.2 6 6.5 9 40 inf -inf nan";

constexpr std::string_view kOfOneNumber =
    "neg,exp,exp2,log,log2,sin,cos,tan,sqrt,rsqrt,reciprocal,relu,sigmoid,tanh,expm1,log1p,"
    "erfc,log10,asin,acos,atan,cbrt,lgamma,digamma,erfinv,sinh,cosh,asinh,acosh,atanh,erf,gelu,"
    "gelu "
    "form=erf,quick_gelu,silu,mish,softplus,"
    "log_sigmoid,softsign,elu,elu alpha=0.5,celu,celu alpha=0.7,selu,leaky_relu,relu6,"
    "hardtanh,hardsigmoid,hardswish,abs,square,pow_int exponent=5,pow_int exponent=-2,"
    "pow_int exponent=0,floor,ceil,trunc,round,sign,isnan,isinf,isfinite,logical_not";

TEST_P(Definitions, OfFunctionsOfOneNumber) {
  Texts calls;
  for (const std::string_view function : fuzz::split(kOfOneNumber, ','))
    for (const std::string_view type : {"float32", "float64"})
      calls.push_back(fmt::format("call {} | {} 5,6: {}", function, type, kEdges));
  for (const std::string_view function : {"floor", "ceil", "trunc", "round"})
    for (const std::string_view type : {"float16", "bfloat16", "float32", "float64"})
      calls.push_back(
          fmt::format("call {} | {} 33: {} 1023.5 60000 -60000", function, type, kEdges));
  expect_defined(calls);
}

TEST_P(Definitions, OfFunctionsOfTwoNumbers) {
  Texts calls;
  for (const std::string_view function :
       {"operator+", "operator-", "operator*", "operator/", "operator<", "operator<=", "operator>",
        "operator>=", "operator==", "operator!=", "maximum", "minimum", "mod"}) {
    calls.push_back(
        fmt::format("call {} | float64 9: 1 2 -3 4.5 0 nan 1 nan -2 | float64 9: 2 2 7 "
                    "-4.5 -0.0 1 nan nan -2",
                    function));
    calls.push_back(fmt::format("call {} | float64 3,1: 1 2 3 | float32 2: 10 2", function));
    calls.push_back(fmt::format("call {} number=2 | float64 4: 1 5 -2 nan", function));
    calls.push_back(fmt::format("call {} | int32 4: 7 -7 7 -7 | int32 4: 2 2 -2 -2", function));
  }
  const Texts rows = calls_of({"minimum | int32 2: -2147483648 3 | int32 2: 5 -1",
                               "where | float64 2,1: 0 1 | float64 2: 1 2 | float64 1: 7",
                               "where | bool 2,3: 1 0 0 1 | float32 3: 1 nan 3 | int32 2,1: 4 5",
                               "clamp low=-1.25 high=1.5 | float64 3,5: ~"});
  calls.insert(calls.end(), rows.begin(), rows.end());
  expect_defined(calls);
}

TEST_P(Definitions, OfReductions) {
  expect_defined(calls_of(
      {"var axes=0 correction=0 | float32 2,3,1,4: ~",
       "var axes=3 correction=0 | float32 2,3,1,4: ~",
       "var axes=0,3 correction=0 keep=1 | float32 2,3,1,4: ~",
       "var axes=1,2,3 correction=0 | float32 2,3,1,4: ~",
       "var axes=2,3 correction=0 keep=1 | float32 2,3,1,4: ~",
       "std axes=0,1,2,3 correction=0 | float32 2,3,1,4: ~",
       "var axes=0 correction=2 | float64 2: 1 2", "matmul | float64 2,1,2,3: ~ | float64 3,3,2: ~",
       "softmax | float64 3: 1000 1001 1002", "log_softmax | float64 3: 1000 1001 1002",
       "softmax axis=0 | float64 3,4: ~", "layernorm eps=0.125 | float64 3,4: ~",
       "cumsum axis=1 | float64 2,700: ~", "cumprod axis=0 | float64 300: 1.01 0.99 1.02"}));
}

TEST_P(Definitions, OfConvolutionsAndPools) {
  expect_defined(calls_of(
      {"conv2d | float64 2,3,6,5: ~ | float64 4,3,3,3: ~",
       "conv2d padding=1,1 | float64 1,2,6,6: ~ | float64 2,2,3,3: ~",
       "conv2d stride=2,3 | float64 1,1,7,8: ~ | float64 1,1,3,2: ~",
       "conv2d stride=2,2 | float64 1,1,5,5: ~ | float64 2,1,1,1: ~ | float64 2: 10 20",
       "conv2d stride=2,2 padding=1,2 dilation=2,1 | float64 1,2,9,9: ~ | float64 1,2,3,3: ~",
       "conv2d stride=2,2 | float64 1,1,6,6: ~ | float64 1,1,2,2: ~",
       "conv2d | float64 1,1,4,4: ~ | float64 1,1,4,4: ~",
       "conv2d | float64 1,1,3,3: 1 | float64 2,1,2,2: 1 | float64 2: 10 20",
       "Conv1d stride=2 padding=1 groups=2 | float64 2,4,7: ~ | float64 6,2,3: ~ | float64 6: ~",
       "conv before=2 after=0 | float64 1,1,7: ~ | float64 1,1,3: ~",
       "conv before=0 after=3 | float64 1,1,7: ~ | float64 1,1,3: ~",
       "conv before=-1 after=1 | float64 1,1,7: ~ | float64 1,1,3: ~",
       "conv before=-2 after=-1 | float64 1,1,7: ~ | float64 1,1,3: ~",
       "conv padding=-1 | float64 1,1,7: ~ | float64 1,1,3: ~",
       "conv_transpose stride=2,1 padding=1,0 dilation=1,2 output_padding=1,0 | float64 1,3,3,3: ~ "
       "| float64 3,2,3,2: ~",
       "ConvTranspose1d stride=2 padding=1 | float64 1,2,4: ~ | float64 2,3,3: ~ | float64 3: ~",
       "ConvTranspose2d stride=2 groups=2 | float64 1,2,2,2: ~ | float64 2,1,2,2: ~",
       "max_pool2d kernel=2,2 stride=1,1 | float64 1,2,7,6: ~",
       "max_pool2d kernel=2,2 stride=2,2 | float64 1,2,7,6: ~",
       "max_pool2d kernel=2,2 stride=3,3 | float64 1,2,7,6: ~",
       "avg_pool2d kernel=2,2 stride=1,1 | float64 1,2,7,6: ~",
       "avg_pool2d kernel=2,2 stride=2,2 | float64 1,2,7,6: ~",
       "avg_pool2d kernel=2,2 stride=3,3 | float64 1,2,7,6: ~"}));
}

TEST_P(Definitions, OfSlices) {
  Texts calls;
  for (const std::string_view slice : {"::", "2::", ":-1:", "-3:6:", "1:7:3", "::-1", "-2:1:-2",
                                       "5:2:", "::9", ":100:2", "9::-2", "-9:3:"}) {
    calls.push_back(fmt::format("call slice parts={} | float64 7: 0 1 2 3 4 5 6", slice));
    calls.push_back(fmt::format("call set parts={} value=9 | float64 7: -0.0 1 2 3 4 5 6", slice));
  }
  calls.emplace_back("call slice parts=::-2,1::2 | float64 3,4: 0 1 2 3 4 5 6 7 8 9 10 11");
  expect_defined(calls);
}

TEST(Triangles, AreAsDefinedForEachDiagonal) {
  register_devices();
  Texts calls;
  for (const char* shape : {"1,1", "1,3", "2,3", "3,2", "3,3"})
    for (const int k : {-5, -3, -2, -1, 0, 1, 2, 3, 5})
      for (const char* side : {"triu", "tril"})
        calls.push_back(
            fmt::format("call {} k={} | float32 {}: 1 2 3 4 5 6 7 8 9", side, k, shape));
  EXPECT_EQ(fuzz::differing_calls(calls, "CPU"), Texts());
}

TEST_P(Definitions, OfIndexing) {
  Texts calls;
  for (const DTypeInfo& type : dtype_table)
    if (is_integer(type.dtype))
      calls.push_back(with_values(
          fmt::format("call take axis=0 | float64 4,3: ~ | {}@computed 8: {}", type.name,
                      is_unsigned(type.dtype) ? "0 3 3 0 2 2 2 1" : "0 3 -1 -4 2 2 2 1")));
  // What index() reads, set_index() writes, from a tensor and from a number.
  const std::string mask = " | bool 2,3: 1 0 1 0 1 1", rows = " | bool 2: 0 1";
  const std::vector<std::tuple<std::string, std::string, std::string>> ways = {
      {"1", "", "3,4"},
      {"-1,2", "", "4"},
      {"::,-2", "", "2,4"},
      {"...,0", "", "2,3"},
      {"new,1,::-1", "", "1,3,4"},
      {"tensor", " | int64 2: 1 0", "2,3,4"},
      {"::,tensor", " | int64 2: 2 -3", "2,2,4"},
      {"tensor,tensor", " | int64 2: 1 -2 | int64 2: 0 2", "2,4"},
      {"tensor,tensor", " | int64 2,1: 0 1 | int64 2: 2 0", "2,2,4"},
      {"tensor,1::,tensor", " | int64@computed 1: 1 | int64@computed 2: 3 0", "2,2"},
      {"tensor", mask, "4,4"},
      {"tensor", rows, "1,3,4"},
      {"tensor,...,tensor", rows + " | int64 2: 1 3", "2,3"},
      {"tensor,:2:", mask, "4,2"},
      {"tensor", " | int64 0: 0", "0,3,4"},
      {"tensor", " | int64 (): 1", "3,4"}};
  for (const auto& [parts, tensors, shape] : ways) {
    const std::string x = " | float64 2,3,4: ~";
    calls.push_back(with_values("call index parts=" + parts + x + tensors));
    calls.push_back(
        with_values("call set_index parts=" + parts + x + tensors + " | float64 " + shape + ": ~"));
    calls.push_back(with_values("call set_index parts=" + parts + " value=-7" + x + tensors));
  }
  const Texts others = calls_of(
      {"scatter axis=0 | float64 2,3,4: ~ | int64@computed 5,2,3: 0 1 0 0 1 1 0 | float64 5,2,3: ~",
       "scatter axis=1 | float64 2,3,4: ~ | int64@computed 2,5,3: 0 1 2 0 2 1 1 | float64 2,5,3: ~",
       "scatter axis=2 | float64 2,3,4: ~ | int64@computed 2,2,5: 0 3 1 2 0 3 2 | float64 2,2,5: "
       "~"});
  calls.insert(calls.end(), others.begin(), others.end());
  expect_defined(calls);
}

TEST_P(Definitions, OfLayersAndLosses) {
  const std::string lstm = " | float64 8,3: ~ | float64 8,2: ~ | float64 8: ~ | float64 8: ~",
                    gru = " | float64 6,3: ~ | float64 6,2: ~ | float64 6: ~ | float64 6: ~",
                    losses = " | float64 3,4: ~ | int32 3: 2 -100 3";
  Texts calls =
      calls_of({"LSTM | float64 2,4,3: ~" + lstm,
                "LSTM | float64 2,4,3: ~" + lstm + " | float64 2,2: ~ | float64 2,2: ~",
                "GRU | float64 2,4,3: ~" + gru, "cross_entropy | float64 3,4: ~ | int32 3: 2 0 3",
                "cross_entropy smoothing=0.0 | float64 3,4: ~ | int32 3: 2 0 3",
                "cross_entropy | float64 1,2: 0 -inf | int32 1: 0",
                "cross_entropy smoothing=0.1 ignore=-100 reduction=none" + losses,
                "cross_entropy smoothing=0.1 ignore=-100 reduction=sum" + losses,
                "cross_entropy smoothing=0.1 ignore=-100 reduction=mean" + losses,
                "InstanceNorm eps=0.1 | float64 2,3,2,2: ~ | float64 3: 1 1 1 | float64 3: 0 5 0",
                "LayerNorm2d eps=0.1 | float64 2,3,2,2: ~ | float64 3: 1 2 3 | float64 3: 0 0 0"});
  expect_defined(calls);
}

TEST_P(Definitions, OfOptimizers) {
  const std::string steps =
      " | float64 2: 1 -2 | float64 2: 1 -6 | float64 2: 0.9 -4.2 | float64 "
      "2: 0.7 -1.8";
  expect_defined(calls_of({"SGD lr=0.1 momentum=0.9 decay=0.5" + steps,
                           "SGD lr=0.1 momentum=0.9 decay=0.5 nesterov=1" + steps,
                           "Adam lr=0.01" + steps + " | float64 2: 0.3 0.4",
                           "AdamW lr=0.01 decay=0.1" + steps, "LAMB lr=0.01 decay=0.1" + steps}));
}

// Draws calls of one function: the first choice selects it.
class OneFunction final : public fuzz::Chooser {
 public:
  OneFunction(std::uint64_t function, std::uint64_t index)
      : function_(function), rest_(function, index) {}
  std::uint64_t below(std::uint64_t n) override {
    return std::exchange(first_, false) ? function_ : rest_.below(n);
  }

 private:
  std::uint64_t function_;
  fuzz::RandomChooser rest_;
  bool first_ = true;
};

// Values, refusals and first derivatives.
TEST(DrawnCalls, OfEveryFunctionAreAsDefined) {
  register_devices();
  const std::set<std::string> many = {"conv", "conv2d", "sum", "slice", "set"};
  const char* asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  const std::vector<std::string> functions = fuzz::drawn_calls();
  for (std::uint64_t f = 0; f < functions.size(); ++f) {
    const int cases = asked != nullptr              ? std::max(1, std::atoi(asked))
                      : test::kSanitized            ? 3
                      : many.contains(functions[f]) ? 100
                                                    : 10;
    for (int i = 0; i < cases; ++i) {
      OneFunction chooser(f, static_cast<std::uint64_t>(i));
      const std::string text = fuzz::draw_call(chooser).str();
      const fuzz::Checked checked =
          fuzz::check_call(fuzz::Call::parse(text), text, fuzz::Effort::Sampled, "CPU");
      EXPECT_NE(checked.ending, fuzz::Ending::Fail)
          << text << "\n"
          << checked.failure.relation << ": " << checked.failure.detail;
    }
  }
}

}  // namespace
}  // namespace touchstone
