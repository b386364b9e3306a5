// Kernels compiled to trap on undefined behaviour.
#include <gtest/gtest.h>

#include <csignal>

#include "harness.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/clang/shared_object.h"
#include "touchstone/codegen/layout.h"

namespace touchstone {
namespace {

ClangOptions sanitizing() {
  ClangOptions options = ClangOptions::from_environment();
  options.sanitize = true;
  options.opt_level = 1;
  return options;
}

bool runs_under_asan() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer);
#else
  return false;
#endif
}

using Function = std::int64_t(const std::int64_t*, std::int64_t);

// Calls `f` of C code compiled that way.
std::int64_t call(const std::string& body, const std::int64_t* data, std::int64_t n) {
  const TemporaryDirectory folder("sanitized");
  clang::Compiler(sanitizing())
      .compile("long f(const long* data, long n) { " + body + " }", folder.path() / "f.so");
  const clang::SharedObject object(folder.path() / "f.so");
  // NOLINTNEXTLINE(bugprone-casting-through-void): a function of another type has the name
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(object.function("f")))(data, n);
}

TEST(SanitizedKernels, UndefinedBehaviourEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<std::int64_t> data(8, 5);
  EXPECT_EQ(call("return data[n] + n;", data.data(), 7), 12);
  EXPECT_DEATH(call("return n + data[0];", data.data(), std::numeric_limits<std::int64_t>::max()),
               "");
  EXPECT_DEATH(call("long a[4]; a[0] = a[3] = n; return a[n];", data.data(), 9), "");
  if (runs_under_asan()) {
    EXPECT_DEATH(call("return data[n];", data.data(), 8), "heap-buffer-overflow");
  }
}

// Every layout: overlapping lanes, blocks, packed tiles, staged rows, running sums, masks.
TEST(SanitizedKernels, OurKernelsHaveNone) {
  const TestDevice device(sanitizing());
  ClangOptions tiny = sanitizing();
  tiny.codegen.sizes = kTinySizes;
  const TestDevice other(tiny);
  const auto strided = [](const Shape& shape, const Strides& strides) {
    return ShapeTracker({View::strided(shape, strides, 0, std::nullopt)});
  };
  for (const std::int64_t n : {21}) {
    const LazyOpPtr a = LazyOp::load(1, DType::Float32, strided({n, n, n}, {n, 1, 0}));
    const LazyOpPtr b = LazyOp::load(2, DType::Float32, strided({n, n, n}, {0, n, 1}));
    const LazyOpPtr c = LazyOp::load(2, DType::Float32, strided({n, n, n}, {0, 1, n}));
    const LazyOpPtr padded =
        LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({n, n}).pad({{1, 1}, {2, 0}}));
    const std::vector<LazyOpPtr> kernels = {
        stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, b), {1})),
        stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, c), {1})),
        stored(LazyOp::reduce(Op::ReduceMax, a, {1})), stored(LazyOp::unary(Op::Exp2, padded)),
        stored(LazyOp::unary(Op::Sin, LazyOp::load(1, DType::Float32, strided({n, n}, {1, n}))))};
    for (const LazyOpPtr& kernel : kernels) {
      std::vector<std::vector<float>> inputs;
      for (const BufferSpec& spec : buffers_of(kernel))
        if (spec.idx > 0) inputs.push_back(counting<float>(spec.size));
      EXPECT_EQ(run(*device, kernel, inputs), run(*other, kernel, inputs)) << str(kernel);
    }
  }
}

}  // namespace
}  // namespace touchstone
