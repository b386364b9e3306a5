// Drawn kernels leave as ONNX and StableHLO, are read back by our readers, and judge the same.
#include "touchstone/emit/emit.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/model/run.h"

namespace touchstone::emit {
namespace {

using fuzz::KernelCase;

std::string emitted_case(const KernelCase& c, Language language) {
  std::vector<EmitInput> inputs;
  for (const HostArray& in : c.inputs) inputs.push_back({in.dtype, {in.size()}});
  return emitted(c.concrete(), inputs, language, "a drawn kernel");
}

// What our reader makes of the program on the reference.
HostArray read_back(const KernelCase& c, const std::string& text, Language language) {
  const model::ModelProgram program = language == Language::Onnx
                                          ? model::parse_onnx(text, "kernel.onnx", "")
                                          : model::parse_stablehlo(text, "kernel.mlir");
  model::Values inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = program.graph.inputs.at(i).name;
    inputs[name] = c.inputs[i];
    inputs[name].shape = {c.inputs[i].size()};
  }
  const std::unique_ptr<Device> device = make_interpreted_device("READER", 1);
  const model::Computed made = model::run(program, inputs, *device);
  const std::string& out = program.graph.outputs.at(0);
  if (const auto it = made.values.find(out); it != made.values.end()) return it->second;
  std::string why = "no output";
  for (const auto& [name, reason] : made.missing) why += "\n" + name + ": " + reason;
  throw ParseError(why);
}

struct Counts {
  int same = 0, refused = 0;
  std::map<std::string, int> why;
};

Counts round_trip(Language language, int wanted, std::uint64_t seed) {
  Counts counts;
  const std::unique_ptr<Device> host = make_interpreted_device("ORACLE", 1);
  for (std::uint64_t i = 0; counts.same < wanted && i < static_cast<std::uint64_t>(wanted) * 5;
       ++i) {
    fuzz::RandomChooser chooser(seed, i);
    const KernelCase c = fuzz::draw_kernel_case(chooser);
    std::string text;
    try {
      text = emitted_case(c, language);
    } catch (const ParseError& e) {
      ++counts.refused;
      ++counts.why[e.what()];
      continue;
    }
    try {
      const HostArray answer = read_back(c, text, language), own = fuzz::answer_of(c, *host);
      HostArray flat = answer;
      flat.shape = {answer.size()};
      const Verdict theirs = fuzz::judge(fuzz::Reproducer{c, flat, {}}),
                    ours = fuzz::judge(fuzz::Reproducer{c, own, {}});
      EXPECT_EQ(theirs.word(), ours.word()) << "case " << i << "\n"
                                            << theirs.str() << "\n"
                                            << str(c);
      ++counts.same;
    } catch (const Error& e) {
      ADD_FAILURE() << "case " << i << ": " << e.what() << "\n"
                    << (language == Language::StableHlo ? text : "") << str(c);
    }
    if (testing::Test::HasFailure()) break;
  }
  for (const auto& [why, n] : counts.why) printf("%5d refused: %s\n", n, why.c_str());
  return counts;
}

TEST(Emit, OnnxReadBackJudgesTheSame) {
  const Counts counts = round_trip(Language::Onnx, 1000, 11);
  EXPECT_GE(counts.same, 1000);
}
TEST(Emit, StableHloReadBackJudgesTheSame) {
  const Counts counts = round_trip(Language::StableHlo, 1000, 12);
  EXPECT_GE(counts.same, 1000);
}

// Positions from 0 past the last row.
TEST(Emit, PositionsOutOfRangeReadZero) {
  const ShapeTracker view = ShapeTracker::contiguous({3, 2}).reshape({3, 1, 2}).expand({3, 4, 2});
  const ShapeTracker positions = ShapeTracker::contiguous({4, 1}).expand({4, 2});
  const LazyOpPtr kernel = LazyOp::store(
      ShapeTracker::contiguous({4, 2}),
      LazyOp::gather(1, DType::Float32, view, LazyOp::load(2, DType::Int64, positions)));
  const std::vector<float> table{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> rows{2, -1, 0, 3};
  const auto bytes = [](const auto& v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(v[0]));
  };
  const KernelCase c{kernel,
                     {{DType::Float32, {6}, bytes(table)}, {DType::Int64, {4}, bytes(rows)}}};
  for (const Language l : {Language::Onnx, Language::StableHlo})
    EXPECT_EQ(read_back(c, emitted_case(c, l), l).bytes,
              bytes(std::vector<float>{5, 6, 0, 0, 1, 2, 0, 0}));
}

std::string why_not(const LazyOpPtr& kernel, Language language) {
  try {
    (void)emitted(kernel, flat_inputs(kernel), language);
  } catch (const ParseError& e) {
    return e.what();
  }
  return {};
}

TEST(Emit, NamesWhatALanguageCannotSay) {
  const ShapeTracker view = ShapeTracker::contiguous({4});
  const auto kernel = [&](DType dtype, const std::function<LazyOpPtr(LazyOpPtr)>& f) {
    return LazyOp::store(view, f(LazyOp::load(1, dtype, view)));
  };
  EXPECT_EQ(
      why_not(kernel(DType::Float64, [](const LazyOpPtr& x) { return LazyOp::unary(Op::Log2, x); }),
              Language::Onnx),
      "ONNX cannot say 'log2' of float64");
  EXPECT_EQ(why_not(kernel(DType::Float32,
                           [](const LazyOpPtr& x) { return LazyOp::cast(x, DType::Int32, true); }),
                    Language::Onnx),
            "ONNX cannot say a bitcast");
  EXPECT_EQ(
      why_not(kernel(DType::BFloat16, [](const LazyOpPtr& x) { return LazyOp::unary(Op::Neg, x); }),
              Language::NumPy),
      "NumPy has no bfloat16");
  EXPECT_THROW((void)parse_language("onx"), ParseError);
}

TEST(Emit, WritesPythonAsAPersonWould) {
  const ShapeTracker rows = ShapeTracker::contiguous({2, 3});
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, rows);
  const LazyOpPtr kernel =
      LazyOp::store(ShapeTracker::contiguous({2, 1}),
                    LazyOp::reduce(Op::ReduceMax, LazyOp::unary(Op::Sqrt, x), {1}));
  const std::vector<EmitInput> inputs{{DType::Float32, {2, 3}}};
  EXPECT_EQ(emitted(kernel, inputs, Language::Torch, "rows"),
            "\"\"\"rows\"\"\"\nimport torch\n\n\ndef kernel(in1):\n    v1 = torch.sqrt(in1)\n"
            "    v2 = torch.amax(v1, dim=(1,), keepdim=True)\n    return v2\n");
}

}  // namespace
}  // namespace touchstone::emit
