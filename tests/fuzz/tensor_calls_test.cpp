// The calls of the area `tensor`, and the values of its definitions.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "../support/public_names.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/call.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz {
namespace {

std::string source_of(const std::string& path) {
  std::ifstream file(std::string(TOUCHSTONE_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> declared_names() {
  std::set<std::string> names;
  for (const char* header :
       {"tensor.h", "functional.h", "conv.h", "einsum.h", "indexing.h", "nn.h", "optim.h"})
    names.merge(test::public_names(source_of(std::string("lib/tensor/") + header)));
  for (const char* no_function : {"operator=", "operator"}) names.erase(no_function);
  return names;
}

// Functions without calls of their own: the call that uses each, or "" if every call does.
const std::map<std::string, std::string> kWithin = {{"shape", ""},
                                                    {"rank", ""},
                                                    {"size", ""},
                                                    {"elements", ""},
                                                    {"nbytes", ""},
                                                    {"defined", ""},
                                                    {"dtype", ""},
                                                    {"device", ""},
                                                    {"devices", "shard"},
                                                    {"shard_axis", "shard"},
                                                    {"normal_axis", ""},
                                                    {"realize", ""},
                                                    {"read", ""},
                                                    {"from", ""},
                                                    {"set_requires_grad", ""},
                                                    {"requires_grad", ""},
                                                    {"grad", ""},
                                                    {"item", ""},
                                                    {"zero_grad", "SGD"},
                                                    {"step", "SGD"},
                                                    {"set_lr", "SGD"},
                                                    {"set_grad", "clip_grad_norm"},
                                                    {"retain_grad", "backward"},
                                                    {"none", "Linear"},
                                                    {"given", "Linear"},
                                                    {"groups", "SGD"},
                                                    {"lazy", ""},
                                                    {"lr", "SGD"},
                                                    {"node", ""},
                                                    {"normal_axes", ""},
                                                    {"parameters", "SGD"},
                                                    {"part", "index"},
                                                    {"realize_at_next_step", "SGD"},
                                                    {"state", "SGD"}};

TEST(TensorCalls, EveryPublicFunctionIsDrawn) {
  const std::map<std::string, std::string> spelled = {
      {"neg", "operator-"}, {"bit_or", "operator|"}, {"pow_int", "pow"}, {"pow_real", "pow"}};
  const std::unique_ptr<Area> area = make_tensor_area();
  std::set<std::string> drawn;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    RandomChooser chooser(5, i);
    const std::string text = area->draw(chooser);
    if (is_call(text)) drawn.insert(Call::parse(text).name);
  }
  for (const std::string& name : drawn_calls())
    EXPECT_TRUE(drawn.contains(name)) << name << " is never drawn as a case that fits";
  const std::string sources = source_of("fuzz/areas/tensor_calls.cpp") +
                              source_of("fuzz/areas/network_calls.cpp") +
                              source_of("fuzz/areas/call_check.cpp");
  std::set<std::string> called = drawn;
  for (const auto& [call, name] : spelled) called.insert(name);
  for (const auto& [name, call] : kWithin) {
    EXPECT_TRUE(call.empty() || drawn.contains(call)) << call;
    const bool used = sources.find(name + "(") != std::string::npos ||
                      sources.find(name + "<") != std::string::npos;
    EXPECT_TRUE(used) << name << " is called nowhere";
    called.insert(name);
  }
  const std::set<std::string> declared = declared_names();
  EXPECT_GT(declared.size(), 200U);
  for (const std::string& name : declared)
    EXPECT_TRUE(called.contains(name)) << name << " has no call: a new function gets a definition";
}

TEST(TensorCalls, DrawnTextsReadBackAndFit) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    RandomChooser chooser(6, i);
    const Call call = draw_call(chooser);
    EXPECT_EQ(Call::parse(call.str()).str(), call.str());
    EXPECT_NO_THROW(defined::define(call, defined::inputs_of(call))) << call.str();
  }
}

TEST(TensorCalls, TextsThatAreNoCallAreRefused) {
  const std::unique_ptr<Area> area = make_tensor_area();
  for (const std::string bad :
       {"call ", "call nothing | float64 1: 1", "call neg", "call neg | float64 2",
        "call neg | f 1: 1", "call neg | float64@upside 1: 1", "call neg | float64 1: x",
        "call neg a | float64 1: 1", "call sum axes=3 | float64 2: 1",
        "call sum axes=0,0 | float64 2: 1", "call cast | float64 2: 1",
        "call matmul | float64 2: 1 | float64 3: 1", "call reshape shape=5 | float64 2,3: 1",
        "call argmax axis=0 | float64 0: 1", "call clamp low=1 low=2 high=3 | float64 1: 1",
        "call neg | float64 99999: 1"})
    EXPECT_THROW(area->check(bad, Effort::Full), ParseError) << bad;
}

// A definition's result for known values.
std::vector<double> defined_values(const std::string& text, std::size_t result = 0) {
  const Call call = Call::parse(text);
  std::vector<double> values;
  const defined::Arrays arrays = defined::define(call, defined::inputs_of(call));
  for (const defined::Near& cell : arrays[result].cells)
    values.push_back(static_cast<double>(cell.v));
  return values;
}
using Values = std::vector<double>;

TEST(TensorCalls, DefinitionsGiveKnownValues) {
  EXPECT_EQ(defined_values(
                "call conv1d stride=2 padding=1 | float64 1,1,4: 1 2 3 4 | float64 1,1,2: 1 10"),
            (Values{10, 32, 4}));
  EXPECT_EQ(
      defined_values("call conv_transpose stride=2 | float64 1,1,2: 1 2 | float64 1,1,2: 1 10"),
      (Values{1, 10, 2, 20}));
  EXPECT_EQ(defined_values("call avg_pool kernel=2 stride=1 padding=1 | float64 1,2: 2 4"),
            (Values{1, 3, 2}));
  EXPECT_EQ(defined_values("call argmax | int8 4: -128 127 127 0"), (Values{1}));
  EXPECT_EQ(defined_values("call argmin | float64 3: 2 nan 1"), (Values{1}));
  EXPECT_EQ(defined_values("call sort | float64 4: nan 2 -1 2", 1), (Values{2, 1, 3, 0}));
  EXPECT_EQ(defined_values("call mean axes=0,2 | float64 2,1,2: 1 2 3 6"), (Values{3}));
  EXPECT_EQ(defined_values("call sum | uint8 2: 255 255"), (Values{510}));
  EXPECT_EQ(defined_values("call operator+ | int8 1: 127 | int8 1: 1"), (Values{-128}));
  EXPECT_EQ(defined_values("call pad before=2 after=1 mode=reflect | float64 3: 1 2 3"),
            (Values{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(defined_values("call index parts=tensor,::-1 | float64 2,2: 1 2 3 4 | int64 1: -1"),
            (Values{4, 3}));
  EXPECT_EQ(defined_values("call einsum notation=ij->ji | float64 1,2: 5 6"), (Values{5, 6}));
  EXPECT_EQ(defined_values("call scatter axis=0 | float64 2: 0 0 | int64 2: 1 1 | float64 2: 7 8"),
            (Values{0, 8}));
  EXPECT_EQ(
      defined_values("call SGD lr=0.5 momentum=0.5 | float64 1: 1 | float64 1: 1 | float64 1: 1"),
      (Values{-0.25}));
  EXPECT_EQ(defined_values("call interpolate sizes=4 mode=linear | float64 2: 0 4"),
            (Values{0, 1, 3, 4}));
}

std::string number_text(defined::Real value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.17g}", static_cast<double>(value));
}

// {"name", "args", "in", "out"}, as read by numpy_calls.py.
std::string as_json(const Call& call, const defined::Arrays& inputs,
                    const defined::Arrays& results) {
  const auto arrays = [](const defined::Arrays& all) {
    std::vector<std::string> texts;
    for (const defined::Array& x : all) {
      std::vector<std::string> values, off;
      for (const defined::Near& cell : x.cells) {
        values.push_back(is_float(x.dtype) ? number_text(cell.v)
                                           : fmt::format("{}", static_cast<defined::Wide>(cell.v)));
        off.push_back(number_text(cell.e));
      }
      texts.push_back(fmt::format(R"({{"dtype":"{}","shape":[{}],"values":["{}"],"off":["{}"]}})",
                                  name(x.dtype), fmt::join(x.shape, ","),
                                  fmt::join(values, R"(",")"), fmt::join(off, R"(",")")));
      if (values.empty())
        texts.back() = fmt::format(R"({{"dtype":"{}","shape":[{}],"values":[],"off":[]}})",
                                   name(x.dtype), fmt::join(x.shape, ","));
    }
    return fmt::format("{}", fmt::join(texts, ","));
  };
  std::vector<std::string> args;
  for (const auto& [key, value] : call.args)
    args.push_back(fmt::format(R"("{}":"{}")", key, value));
  return fmt::format(R"({{"name":"{}","args":{{{}}},"in":[{}],"out":[{}]}})", call.name,
                     fmt::join(args, ","), arrays(inputs), arrays(results));
}

TEST(TensorCalls, NumpyGivesWhatIsDefined) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "no NumPy for /usr/bin/python3";
  const TemporaryDirectory folder;
  const std::string lines = (folder.path() / "calls.jsonl").string();
  std::ofstream file(lines);
  const auto known = [](DType dtype) {  // with NumPy's rules for types
    return dtype == DType::Float64 || dtype == DType::Float32 || dtype == DType::Int32 ||
           dtype == DType::Int64 || dtype == DType::UInt8 || dtype == DType::Bool;
  };
  const std::set<std::string> mixed = {"take", "gather", "scatter", "index", "where"};
  for (std::uint64_t i = 0; i < 6000; ++i) {
    RandomChooser chooser(8, i);
    const Call call = draw_call(chooser);
    if (!std::ranges::all_of(call.inputs, [&](const CallInput& x) {
          return known(x.dtype) && (x.dtype == call.inputs[0].dtype || mixed.contains(call.name));
        }))
      continue;
    if (!is_float(call.inputs[0].dtype) && call.has("number")) continue;
    const defined::Arrays inputs = defined::inputs_of(call);
    file << as_json(call, inputs, defined::define(call, inputs)) << "\n";
  }
  file.close();
  ASSERT_TRUE(file.good()) << lines;
  const std::string command =
      "/usr/bin/python3 " TOUCHSTONE_SOURCE_DIR "/tests/fuzz/numpy_calls.py < " + lines;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  for (char part[512]; std::fgets(part, sizeof part, pipe) != nullptr;) said += part;
  EXPECT_EQ(::pclose(pipe), 0) << said;
  int checked = 0, functions = 0;
  const std::size_t last = said.rfind("checked ");
  ASSERT_NE(last, said.npos) << said;
  ASSERT_EQ(
      std::sscanf(said.c_str() + last, "checked %d calls of %d functions", &checked, &functions),
      2);
  EXPECT_GT(checked, 1500) << said;
  EXPECT_GT(functions, 100) << said;
}

}  // namespace
}  // namespace touchstone::fuzz
