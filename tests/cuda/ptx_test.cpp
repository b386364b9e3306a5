// PTX, generated without a GPU or CUDA toolkit.
#include "touchstone/cuda/ptx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cuda/cuda_device.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/process/run.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ptx_of(std::string_view formula, const CudaOptions& options = {}) {
  const LazyOpPtr kernel = define::parse(formula).kernel();
  return cuda_ptx(std::span(&kernel, 1), 70, options);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// The bytes that NVIDIA's assembler makes, if it is installed and takes the target.
std::string assembled(const std::string& ptx, const char* target, const char* level) {
  const auto program = process::find_program("ptxas");
  if (program.empty()) return {};
  const TemporaryDirectory folder("touchstone-ptxas");
  const auto object = folder.path() / "k.cubin";
  write_file_atomically(folder.path() / "k.ptx", ptx);
  const process::Finished result = process::run_program(
      {program, {target, level, "-o", object.string(), (folder.path() / "k.ptx").string()}, {}});
  return result.ending.exit_code() == 0 ? read_file(object) : std::string();
}

void assemble(const std::string& ptx) {
  if (process::find_program("ptxas").empty()) return;
  EXPECT_FALSE(assembled(ptx, "-arch=sm_70", "-O0").empty() &&
               assembled(ptx, "-arch=sm_90", "-O0").empty());
}

// The instructions VIMNMX3 for sm_90, each of 16 bytes, in the sections of code of an ELF file.
int three_way_maxima(const std::string& ptx) {
  const std::string object = assembled(ptx, "-arch=sm_90", "-O3");
  const auto number = [&](std::size_t place, std::size_t bytes) {
    std::size_t value = 0;
    std::memcpy(&value, object.data() + place, bytes);
    return value;
  };
  int found = 0;
  if (object.empty()) return found;
  for (std::size_t i = 0, section = number(0x28, 8); i < number(0x3c, 2); ++i, section += 64)
    if ((number(section + 8, 8) & 4) != 0)  // executable
      for (std::size_t at = number(section + 24, 8), end = at + number(section + 32, 8); at < end;
           at += 16)
        found += (number(at, 2) & 0x1ff) == 0x00f ? 1 : 0;
  return found;
}

TEST(Ptx, DrawnKernelsBecomeEntriesThatCallNothing) {
  std::vector<LazyOpPtr> kernels;
  for (std::uint64_t i = 0; kernels.size() < 24; ++i) {
    fuzz::RandomChooser chooser(29, i);
    kernels.push_back(fuzz::draw_kernel_case(chooser).kernel);
  }
  const std::string ptx = cuda_ptx(kernels, 70);
  EXPECT_GE(count(ptx, ".visible .entry kernel_"), 12U);
  EXPECT_THAT(ptx, Not(HasSubstr(".extern")));
  EXPECT_THAT(ptx, Not(HasSubstr(".ftz")));
  EXPECT_THAT(ptx, Not(HasSubstr(".approx")));
  EXPECT_THAT(ptx, Not(HasSubstr("fma.rn.f")));
  assemble(ptx);
  EXPECT_EQ(three_way_maxima(ptx), 0);
}

TEST(Ptx, OperationsRoundCorrectly) {
  const std::string ptx = ptx_of("sqrt(x[64]) / (y[64] * y[64] + x[64])");
  EXPECT_THAT(ptx, HasSubstr("sqrt.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("div.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("add.rn.f32"));
}

TEST(Ptx, LoadsAreOfWholeVectors) {
  EXPECT_THAT(ptx_of("x[1024] + y[1024]"), HasSubstr("ld.global.v4.f32"));
  EXPECT_THAT(ptx_of("x[1024] + y[1024]"), HasSubstr("st.global.v4.f32"));
}

TEST(Ptx, ATeamFoldsInSharedMemory) {
  const std::string ptx = ptx_of("sum(x[64,4096], axis=1)");
  EXPECT_THAT(ptx, HasSubstr(".shared"));
  EXPECT_THAT(ptx, HasSubstr("bar.sync"));
}

// Values that a team rereads behind a barrier, and results computed from them, stay in registers.
TEST(Ptx, ATeamReadsARowOnce) {
  const std::string ptx = ptx_of("softmax(x[64,4096])");
  EXPECT_LE(count(ptx, "ld.global"), 18U);
  EXPECT_LE(count(ptx, "\tshl.b32"), 40U);  // two for each EXP2
  EXPECT_THAT(ptx_of("softmax(x[64,4096]:f16)"), HasSubstr("ld.global.nc.b16"));
  assemble(ptx);
}

// A sum shared by blocks: each thread of the last block folds its places in registers, then the
// block folds in shared memory; all in shared memory if blocks fold their own part first.
TEST(Ptx, TheLastBlockFoldsInRegistersAndSharedMemory) {
  const LazyOpPtr kernel = define::parse("sum(x[268435456])").kernel();
  EXPECT_THAT(cuda_source(kernel),
              AllOf(HasSubstr("SHARED f32 few1[512];"), HasSubstr("if (is_last == 0) return;")));
  const std::string ptx = ptx_of("sum(x[268435456])");
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
  EXPECT_THAT(ptx, HasSubstr("fence.acq_rel.gpu"));
  EXPECT_THAT(ptx, HasSubstr(")\n.maxntid 512, 1, 1\n{"));
  assemble(ptx);
  CudaOptions options;
  options.codegen.opts = Opts{{OptKind::Sums, {65536}}};
  options.grid = cuda::parse_grid_opts("threads(256) team(1) blocks(256) run(32)");
  const std::string source = cuda_source(kernel, options);
  EXPECT_THAT(source, HasSubstr("SHARED f32 acc1[256];"));
  EXPECT_THAT(source, HasSubstr("SHARED f32 acc1[8192];"));
  EXPECT_THROW(cuda_source(kernel,
                           [&] {
                             options.grid->run = 48;
                             return options;
                           }()),
               AstError);
}

// The assembler for sm_90 loses the sign of a negated operand in a chain of maxima (ptx.cpp),
// however the negation and the maximum came to be.
TEST(Ptx, OperandsOfIntegerMaximaAreHidden) {
  std::vector<LazyOpPtr> kernels;
  for (const char* const formula :
       {"maximum(maximum(-x[64]:i32, -y[64]:i32), z[64]:i32)",
        "minimum(minimum(x[64]:i32, -y[64]:i32), z[64]:i32)",
        "maximum(maximum(0 - x[64]:i32, y[64]:i32 * -1), 5 - z[64]:i32)",
        "maximum(maximum(cast(-x[64]:i32, i64), cast(-y[64]:i32, i64)), cast(z[64]:i32, i64))",
        "maximum(cast(-x[64]:i16, i32), maximum(cast(-y[64]:i16, i32), z[64]:i32))",
        "where(-x[64]:i32 < -y[64]:i32, -y[64]:i32, -x[64]:i32)",
        "maximum(maximum(-x[64]:i8, -y[64]:i8), z[64]:i8)",
        "minimum(minimum(-x[64]:i16, -y[64]:i16), z[64]:u16)", "maximum(x[64]:u16, 40000)",
        "minimum(x[64]:u16, 65400)", "max(-x[64,8]:i32, axis=1)", "max(-x[4,4096]:i32, axis=1)",
        "clip(-x[64]:i32, -3, 4)"})
    kernels.push_back(define::parse(formula).kernel());
  const std::string ptx = cuda_ptx(kernels, 90);
  std::istringstream lines(ptx);
  int hidden = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(".u32 r,") != line.npos) {
      EXPECT_THAT(line, Not(HasSubstr(", -")));
    }
    for (const char* const narrow : {"max.s16", "min.s16", "max.u16", "min.u16", "neg.s16"})
      EXPECT_THAT(line, Not(HasSubstr(narrow)));
    if (line.find("max.s32") == line.npos && line.find("min.s32") == line.npos) continue;
    EXPECT_THAT(line, HasSubstr("mov.u32 zero, %ctaid.z;"));
    EXPECT_THAT(line, Not(HasSubstr(".s32 r, %")));
    ++hidden;
  }
  EXPECT_GE(hidden, 20);
  if (process::find_program("ptxas").empty()) return;
  EXPECT_EQ(three_way_maxima(ptx), 0);
  EXPECT_EQ(three_way_maxima(".version 8.5\n.target sm_90\n.address_size 64\n"
                             ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<5>;\n"
                             ".reg .b64 %d;\nld.param.u64 %d, [p];\nld.global.u32 %r1, [%d];\n"
                             "ld.global.u32 %r2, [%d+4];\nld.global.u32 %r3, [%d+8];\n"
                             "max.s32 %r1, %r1, %r2;\nmax.s32 %r1, %r1, %r3;\n"
                             "st.global.u32 [%d], %r1;\nret;\n}\n"),
            1);
}

// The assembler loses the borrow of a 64-bit difference that begins with the high half of a product
// of 32-bit integers, as a division by a constant does (ptx.cpp).
TEST(Ptx, SixtyFourBitDifferencesBeginWithSomethingUnknown) {
  std::vector<LazyOpPtr> kernels;
  for (const char* const formula :
       {"cast(floor_div(x[64]:u32, 5), i64) - y[64]:i64",
        "y[64]:i64 - cast(floor_div(x[64]:u16, 7), i64)", "-y[64]:i64 * 3",
        "where(x[64]:i64 < y[64]:i64, 5 - x[64]:i64, -y[64]:i64)"})
    kernels.push_back(define::parse(formula).kernel());
  std::istringstream lines(cuda_ptx(kernels, 90));
  int differences = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("sub.s64") == line.npos && line.find("neg.s64") == line.npos) continue;
    ++differences;
    EXPECT_THAT(line, HasSubstr("mov.u32 z, %ctaid.z;"));
  }
  EXPECT_GE(differences, 4);
}

// Loops around unrolled loops are not unrolled, too: copies of copies are slow to compile, and the
// driver's assembler made wrong code of 35,000 lines.
TEST(Ptx, OnlyInnerLoopsAreUnrolled) {
  const Shape shape{3, 40, 40};
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker({View::strided(shape, {0, 1, 40})}));
  const auto inner = LazyOp::reduce(Op::ReduceSum, LazyOp::unary(Op::Sin, x), {2});
  const auto kernel =
      LazyOp::store(ShapeTracker::contiguous({3, 1, 1}),
                    LazyOp::reduce(Op::ReduceSum, LazyOp::unary(Op::Exp2, inner), {1}));
  CudaOptions options;
  options.codegen.opts = Opts{{OptKind::Unroll, {8}}};
  options.grid = cuda::parse_grid_opts("threads(32)");
  const std::string source = cuda_source(kernel, options);
  std::size_t pragmas = 0;
  for (std::size_t at = 0; (at = source.find("unroll_count(8)", at)) != source.npos; ++at)
    ++pragmas;
  EXPECT_EQ(pragmas, 1U) << source;
}

// An array whose sum is unused must keep its place: the assembler in the driver dropped it, but not
// its reads.
TEST(Ptx, ArraysInSharedMemoryAreUsedToTheEnd) {
  const auto x = LazyOp::load(1, DType::UInt16, ShapeTracker::contiguous({1, 70000}));
  const auto sum = LazyOp::reduce(Op::ReduceSum, x, {1});
  const auto kernel =
      LazyOp::store(ShapeTracker::contiguous({1, 1}), LazyOp::binary(Op::CmpLt, sum, sum));
  const std::string ptx = cuda_ptx(std::span(&kernel, 1), 90);
  std::size_t arrays = 0;
  for (std::size_t at = 0; (at = ptx.find(".shared .align", at)) != ptx.npos; ++at, ++arrays) {
    const std::size_t name = ptx.find("kernel_0", at);
    const auto use = ptx.find("ld.volatile.shared.u8 x, [" +
                              ptx.substr(name, ptx.find_first_of("[;", name) - name) + "]; }");
    EXPECT_TRUE(use < ptx.find("\tret;") && use > ptx.rfind("st.shared")) << ptx;
  }
  EXPECT_GE(arrays, 2U);
  assemble(ptx);
}

// neg.s16 is widened without its wrap, like max.s32 above.
TEST(Ptx, NegativesOf16BitsAreComputedIn32) {
  const std::string ptx = ptx_of("cast(-x[64]:i16, i32)");
  EXPECT_THAT(ptx, Not(HasSubstr("neg.s16")));
  EXPECT_THAT(ptx, Not(HasSubstr("sub.s16")));
  EXPECT_THAT(ptx, HasSubstr("cvt.s32.s16"));
}

// clang 19 converts an integer that it knows to be -1 or 0 as 1 or 0.
TEST(Ptx, ConditionsWithASignAreConvertedAsIntegers) {
  for (const char* const formula : {"cast(-cast(xor(x[64]:i32 > 0, y[64]:i32 < 7), i32), f32)",
                                    "cast(-cast((x[64]:i32 > 0) != (y[64]:i32 < 7), i64), f64)"}) {
    const std::string ptx = ptx_of(formula);
    const std::size_t at = ptx.find("cvt.rn.f");
    ASSERT_NE(at, ptx.npos) << ptx;
    const std::size_t from = ptx.find(", %r", at) + 2;
    const std::string number = ptx.substr(from, ptx.find(';', from) - from);
    EXPECT_THAT(ptx, HasSubstr(number + ", -1, 0")) << number;
  }
  EXPECT_THAT(cuda_source(define::parse("cast(x[8]:i16, bf16)").kernel()),
              HasSubstr("FROM_SIGNED(i32, "));
}

// clang 19 has no instructions for pairs of 16-bit integers.
TEST(Ptx, SmallIntegersAreTakenOneByOne) {
  const std::string ptx = ptx_of("cast(x[64]:i16, bool)");
  EXPECT_THAT(ptx, HasSubstr(".visible .entry"));
  assemble(ptx);
}

TEST(Ptx, AMatrixProductHasItsSumsInRegisters) {
  CudaOptions contracting;
  contracting.codegen.contract = true;
  const std::string ptx = ptx_of("matmul(a[512,512], b[512,512])", contracting);
  EXPECT_GE(count(ptx, "fma.rn.f32"), 64U);
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
}

TEST(Ptx, FunctionsAreOurOwnCode) {
  const std::string ptx = ptx_of("sin(x[8]:f64) + mod(exp2(x[8]:f64), log2(x[8]:f64))");
  EXPECT_THAT(ptx, Not(HasSubstr(".extern")));
  assemble(ptx);
}

TEST(Ptx, WhatTheCompilerSaysIsShown) {
  try {
    cuda::compile_to_ptx("no C", 90, {});
    ADD_FAILURE() << "taken";
  } catch (const SystemError& e) {
    EXPECT_THAT(e.what(), HasSubstr("error:"));
    EXPECT_THAT(e.what(), HasSubstr("no C"));
  }
  CudaOptions nowhere;
  nowhere.compiler = "no-such-compiler";
  EXPECT_THROW(cuda::compile_to_ptx("", 90, nowhere), SystemError);
  EXPECT_THROW(cuda::compile_to_ptx("", 20, {}), SystemError);
}

TEST(Cuda, WithoutAGpuItSaysSoInOneLine) {
  const std::string why = no_cuda_reason();
  if (why.empty()) GTEST_SKIP() << "there is a GPU here: " << cuda_text();
  EXPECT_THAT(why, Not(HasSubstr("\n")));
  const auto device = make_cuda_device("CUDA");
  EXPECT_THROW(Buffer(*device, DType::Float32, 4), SystemError);
  EXPECT_THROW(device->runner(define::parse("x[4] + 1").kernel()), SystemError);
  EXPECT_THAT(no_cuda_reason(63), Not(HasSubstr("\n")));
}

TEST(Cuda, TheGpuHasTheBitsOfItsGridOnTheHost) {
  if (const std::string why = no_cuda_reason(); !why.empty()) GTEST_SKIP() << why;
  const auto device = make_cuda_device("CUDA");
  const LazyOpPtr kernel = define::parse("softmax(x[8,512])").kernel();
  const auto host = make_cuda_on_host("CUDA on the host");
  std::vector<float> x(4096), answers[2];
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 61) - 30;
  int at = 0;
  for (Device* d : {device.get(), host.get()}) {
    Buffer out(*d, DType::Float32, 4096), in(*d, DType::Float32, 4096);
    in.write(std::span<const float>(x));
    Buffer* const buffers[] = {&out, &in};
    run_kernel(*d, kernel, buffers);
    answers[at++] = out.read<float>();
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST(Cuda, OptionsComeFromTheEnvironment) {
  setenv("TOUCHSTONE_CUDA_FMA", "1", 1);
  EXPECT_TRUE(CudaOptions::from_environment().codegen.contract);
  setenv("TOUCHSTONE_CUDA_FMA", "2", 1);
  EXPECT_THROW(CudaOptions::from_environment(), ParseError);
  setenv("TOUCHSTONE_CUDA_FMA", "0", 1);
  setenv("TOUCHSTONE_CUDA_DEVICE", "64", 1);
  EXPECT_THROW(CudaOptions::from_environment(), ParseError);
  unsetenv("TOUCHSTONE_CUDA_FMA");
  unsetenv("TOUCHSTONE_CUDA_DEVICE");
}

}  // namespace
}  // namespace touchstone
