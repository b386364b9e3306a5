#include "touchstone/uop/linear_kernel.h"

#include <gtest/gtest.h>

#include <functional>

namespace touchstone {
namespace {

constexpr DType kI64 = DType::Int64;
constexpr DType kF32 = DType::Float32;

// out[i] = in[i] + (the sum over r of in[r]), for four elements.
LinearKernel sample() {
  LinearKernel k;
  k.name = "sample";
  k.buffers = {{0, kF32, 4}, {1, kF32, 4}};
  k.steps = {
      {StepKind::DefineGlobal, kF32, {}, 0},                     // 0
      {StepKind::DefineGlobal, kF32, {}, 1},                     // 1
      {StepKind::Const, kI64, {}, Scalar::of<std::int64_t>(0)},  // 2
      {StepKind::Const, kI64, {}, Scalar::of<std::int64_t>(4)},  // 3
      {StepKind::Const, kF32, {}, Scalar::of<float>(0)},         // 4
      {StepKind::Loop, kI64, {2, 3}, std::string("i")},          // 5
      {StepKind::DefineAcc, kF32, {4}, {}},                      // 6
      {StepKind::Loop, kI64, {2, 3}, std::string("r")},          // 7
      {StepKind::Load, kF32, {1, 7}, {}},                        // 8
      {StepKind::Alu, kF32, {6, 8}, Op::Add},                    // 9
      {StepKind::Assign, kF32, {6, 9}, {}},                      // 10
      {StepKind::EndLoop, kI64, {7}, {}},                        // 11
      {StepKind::Index, kI64, {5, 3}, IndexOp::Lt},              // 12
      {StepKind::Load, kF32, {1, 5, 12}, {}},                    // 13
      {StepKind::Alu, kF32, {13, 6}, Op::Add},                   // 14
      {StepKind::Store, kF32, {0, 5, 14}, {}},                   // 15
      {StepKind::EndLoop, kI64, {5}, {}},                        // 16
  };
  k.split = 5;
  return k;
}

TEST(LinearKernel, PrintsAStepALine) {
  EXPECT_EQ(str(sample()),
            "sample\n"
            "  %0  DEFINE_GLOBAL f32 0\n"
            "  %1  DEFINE_GLOBAL f32 1\n"
            "  %2  CONST i64 0\n"
            "  %3  CONST i64 4\n"
            "  %4  CONST f32 0.0\n"
            "  %5  LOOP i64 %2 %3 i  (split)\n"
            "  %6    DEFINE_ACC f32 %4\n"
            "  %7    LOOP i64 %2 %3 r\n"
            "  %8      LOAD f32 %1 %7\n"
            "  %9      ADD f32 %6 %8\n"
            " %10      ASSIGN f32 %6 %9\n"
            " %11    ENDLOOP i64 %7\n"
            " %12    < i64 %5 %3\n"
            " %13    LOAD f32 %1 %5 %12\n"
            " %14    ADD f32 %13 %6\n"
            " %15    STORE f32 %0 %5 %14\n"
            " %16  ENDLOOP i64 %5\n");
}

TEST(LinearKernel, EqualStepsHashAlike) {
  const LinearKernel k = sample();
  for (const LinearStep& a : k.steps)
    for (const LinearStep& b : k.steps)
      EXPECT_EQ(a == b, hash_of(a) == hash_of(b)) << str(a) << str(b);
}

TEST(Verify, AcceptsTheSample) { EXPECT_NO_THROW(verify(sample())); }

struct Break {
  const char* says;
  std::function<void(LinearKernel&)> apply;
};

TEST(Verify, NamesWhatIsBroken) {
  const Break breaks[] = {
      {"does not precede", [](LinearKernel& k) { k.steps[9].src[1] = 14; }},
      {"does not precede", [](LinearKernel& k) { k.steps[9].src[1] = -1; }},
      {"has no value", [](LinearKernel& k) { k.steps[14].src[0] = 10; }},
      {"which has ended", [](LinearKernel& k) { k.steps[14].src[0] = 8; }},
      {"which has ended", [](LinearKernel& k) { k.steps[13].src[1] = 7; }},
      {"innermost open loop", [](LinearKernel& k) { k.steps[11].src[0] = 5; }},
      {"never ends", [](LinearKernel& k) { k.steps.pop_back(); }},
      {"different dtypes", [](LinearKernel& k) { k.steps[14].src[1] = 12; }},
      {"wrong dtype", [](LinearKernel& k) { k.steps[14].dtype = kI64; }},
      {"not take this dtype", [](LinearKernel& k) { k.steps[14].arg = Op::Xor; }},
      {"operands, expected", [](LinearKernel& k) { k.steps[14].src.pop_back(); }},
      {"argument is of the wrong type", [](LinearKernel& k) { k.steps[14].arg = 3; }},
      {"index operand must be int64", [](LinearKernel& k) { k.steps[13].src[1] = 4; }},
      {"first operand must be a buffer", [](LinearKernel& k) { k.steps[13].src[0] = 4; }},
      {"only elements of buffer 0 that were written may be read",
       [](LinearKernel& k) { k.steps[13].src[0] = 0; }},
      {"only buffer 0 may be written", [](LinearKernel& k) { k.steps[15].src[0] = 1; }},
      {"no such buffer", [](LinearKernel& k) { k.steps[1].arg = 2; }},
      {"buffer is of another dtype", [](LinearKernel& k) { k.buffers[1].dtype = kI64; }},
      {"constant is of another dtype", [](LinearKernel& k) { k.steps[4].dtype = kI64; }},
      {"must be an accumulator", [](LinearKernel& k) { k.steps[10].src[0] = 8; }},
      {"LOAD_ACC only", [](LinearKernel& k) { k.steps[6].arg = 4; }},
      {"no such variable",
       [](LinearKernel& k) {
         k.steps[3] = {StepKind::DefineVar, kI64, {}, std::string("n")};
       }},
      {"which is not a loop", [](LinearKernel& k) { k.split = 6; }},
  };
  for (const Break& b : breaks) {
    LinearKernel broken = sample();
    b.apply(broken);
    std::string message = "accepted";
    try {
      verify(broken);
    } catch (const AstError& e) {
      message = e.what();
    }
    EXPECT_NE(message.find(b.says), std::string::npos) << b.says << ": " << message;
  }
}

TEST(Verify, LanesAreReadAndWrittenOneByOne) {
  LinearKernel k = sample();
  k.steps[6].arg = 4;
  k.steps[8] = {StepKind::LoadAcc, kF32, {6, 7}, {}};
  k.steps[9].src = {8, 8};
  k.steps[10].src = {6, 9, 7};
  k.steps[14].src = {13, 13};
  EXPECT_NO_THROW(verify(k));
  k.steps[10].src = {6, 9};
  EXPECT_THROW(verify(k), AstError);
}

}  // namespace
}  // namespace touchstone
