#include "touchstone/lazy/jit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "../support/error_of.h"
#include "lazy_device.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;
using Tensors = TinyJit::Tensors;

class Jit : public LazyTest {
 protected:
  static LazyBufferPtr filled(float value, const Shape& shape = {4}) {
    return buffer(std::vector<float>(static_cast<std::size_t>(max_elements(shape)), value), shape);
  }
};

TEST_F(Jit, RunsOnceNotesOnceThenOnlyReplays) {
  int built = 0;
  const auto weight = filled(10);
  TinyJit f([&](std::span<const LazyBufferPtr> in) {
    ++built;
    return Tensors{add(mul(in[0], in[1])->contiguous(), weight), sum(in[0], {0})};
  });
  for (int i = 1; i <= 5; ++i) {
    const auto a = filled(static_cast<float>(i)), b = filled(2);
    counters().reset();
    const auto out = f(std::vector{a, b});
    EXPECT_EQ(counters().kernels, 3);
    EXPECT_EQ(values(out[0]), Floats(4, static_cast<float>(2 * i + 10)));
    EXPECT_EQ(values(out[1]), (Floats{static_cast<float>(4 * i)}));
  }
  EXPECT_EQ(built, 2);
  EXPECT_EQ(f.captured(), 3u);
  f.reset();
  f(std::vector{filled(1), filled(1)});
  EXPECT_EQ(built, 3);
}

TEST_F(Jit, ResultsThatAreStillHeldKeepTheirValues) {
  TinyJit f(
      [](std::span<const LazyBufferPtr> in) { return Tensors{exp2(exp2(in[0])->contiguous())}; });
  std::vector<LazyBufferPtr> all;
  for (int i = 0; i < 5; ++i) all.push_back(f(std::vector{filled(static_cast<float>(i) - 2)})[0]);
  const Floats wanted{1.1892071F, 1.4142135F, 2, 4, 16};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(values(all[i]), Floats(4, wanted[i])) << i;
}

TEST_F(Jit, ResultsHaveTheShapeOfTheFunctions) {
  TinyJit f([](std::span<const LazyBufferPtr> in) {
    return Tensors{sum(in[0], {1})->reshape({2}), exp2(in[0])->reshape({3, 1, 2})};
  });
  for (int i = 0; i < 4; ++i) {
    const auto out = f(std::vector{filled(1, {2, 3})});
    EXPECT_EQ(out[0]->shape(), (Shape{2})) << i;
    EXPECT_EQ(out[1]->shape(), (Shape{3, 1, 2})) << i;
    EXPECT_EQ(values(out[0]), (Floats{3, 3})) << i;
  }
}

TEST_F(Jit, WhatIsAssignedIsAssignedEachTime) {
  LazyBufferPtr state = filled(1);
  TinyJit f([&](std::span<const LazyBufferPtr> in) {
    state = state->assign(add(state, in[0]));
    return Tensors{mul(state, in[0]), state};
  });
  float expected = 1;
  for (int i = 1; i <= 6; ++i) {
    const auto step = static_cast<float>(i);
    const auto out = f(std::vector{filled(step)});
    expected += step;
    EXPECT_EQ(values(out[0]), Floats(4, expected * step)) << i;
    EXPECT_EQ(values(state), Floats(4, expected)) << i;
  }
}

TEST_F(Jit, VariablesHaveTheirValueOfEachCall) {
  const sint n(symbolic::variable("n", 1, 4));
  TinyJit f([&](std::span<const LazyBufferPtr> in) {
    return Tensors{sum(in[0]->shrink({{0, n}}), {0})};
  });
  const auto x = counting({4});
  const float wanted[] = {1, 3, 6, 10, 3};
  const std::int64_t sizes[] = {1, 2, 3, 4, 2};
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(f(std::vector{x}, {{"n", sizes[i]}})[0]->realized()->read<float>(),
              Floats{wanted[i]});
  EXPECT_THAT(error_of([&] {
                f(std::vector{x}, {{"m", 2}});
              }),
              HasSubstr("variables m given, but captured with n"));
  EXPECT_THAT(error_of([&] { f(std::vector{x}, {{"n", 5}}); }), HasSubstr("outside [1, 4]"));
}

TEST_F(Jit, ViewsOfInputsAndUnrealizedInputsWork) {
  TinyJit f([](std::span<const LazyBufferPtr> in) { return Tensors{add(in[0], in[1])}; });
  for (int i = 0; i < 4; ++i) {
    const auto a = mul(counting({2, 3}), number(i, {2, 3}))->permute(std::vector{1, 0});
    const auto out = f(std::vector{a, filled(1, {3, 2})});
    const auto k = static_cast<float>(i);
    EXPECT_EQ(values(out[0]),
              (Floats{1 + k, 1 + 4 * k, 1 + 2 * k, 1 + 5 * k, 1 + 3 * k, 1 + 6 * k}));
  }
}

TEST_F(Jit, WhatDoesNotFitTheCaptureIsNamed) {
  TinyJit f([](std::span<const LazyBufferPtr> in) { return Tensors{add(in[0], in[1])}; });
  for (int i = 0; i < 2; ++i) f(std::vector{filled(1), filled(2)});
  const auto error = [&](Tensors in) { return error_of([&] { f(in); }); };
  EXPECT_THAT(
      error({filled(1), filled(2, {5})}),
      HasSubstr("input 1 is float32 (5,) on CPU, but was captured with float32 (4,) on CPU"));
  EXPECT_THAT(error({filled(1)}), HasSubstr("1 inputs given, but captured with 2"));
  const auto x = filled(1);
  EXPECT_THAT(error({x, x}), HasSubstr("input 1 is the same memory as input 0"));
  EXPECT_THAT(error({filled(1)->cast(DType::Int8)->contiguous(), x}), HasSubstr("int8"));
  EXPECT_THAT(error({counting({4})->stride(std::vector<std::int64_t>{-1}), x}),
              HasSubstr("a different view"));
  EXPECT_THAT(error({number(1, {4}), x}), HasSubstr("a different view"));
  EXPECT_THAT(error({nullptr, x}), HasSubstr("an input is null"));
  EXPECT_EQ(values(f(std::vector{filled(1), filled(5)})[0]), Floats(4, 6));  // and it still works
}

TEST_F(Jit, WhatCannotBeCapturedIsNamed) {
  const auto twice = [](TinyJit f, Tensors in) {
    return error_of([&] {
      f(in);
      f(in);
    });
  };
  const auto x = filled(1);
  EXPECT_THAT(twice(TinyJit([&](auto) { return Tensors{x}; }), {}), HasSubstr("ran no kernel"));
  EXPECT_THAT(twice(TinyJit([&](auto in) {
                      return Tensors{add(in[0], LazyBuffer::random({1, 0}, {4}, "CPU"))};
                    }),
                    {x}),
              HasSubstr("random numbers"));
  EXPECT_THAT(twice(TinyJit([&](auto in) { return Tensors{exp2(in[0])}; }), {number(1, {4})}),
              HasSubstr("input 0 is a constant"));
  TinyJit inner([](auto in) { return Tensors{exp2(in[0])}; });
  for (int i = 0; i < 2; ++i) inner(std::vector{x});
  EXPECT_THAT(twice(TinyJit([&](auto in) { return inner(in); }), {filled(2)}),
              HasSubstr("jit only the outer one"));
}

TEST_F(Jit, ReplayedKernelsAreLoggedLikeOthers) {
  const TemporaryDirectory folder;
  Config config;
  config.trace = folder.path() / "trace.json";
  config.debug = 2;
  TinyJit f([](std::span<const LazyBufferPtr> in) {
    return Tensors{add(exp2(in[0])->contiguous(), in[0]), sum(in[0], {0})};
  });
  ::testing::internal::CaptureStderr();
  {
    const ConfigScope scope(config);
    for (int i = 0; i < 5; ++i) f(std::vector{filled(static_cast<float>(i))});
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  std::ifstream file(config.trace);
  const nlohmann::json trace = nlohmann::json::parse(file);
  EXPECT_EQ(trace.size(), 15u);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    EXPECT_EQ(trace[i]["args"].value("replayed", false), i >= 6) << i;
    EXPECT_EQ(trace[i]["name"], trace[i % 3]["name"]) << i;
    EXPECT_EQ(trace[i]["args"]["buffers"], trace[i % 3]["args"]["buffers"]) << i;
  }
  const auto lines = [&](const std::string& mark) {
    std::size_t n = 0;
    std::istringstream text(said);
    for (std::string line; std::getline(text, line);) n += line.starts_with(mark) ? 1 : 0;
    return n;
  };
  EXPECT_EQ(lines("*** CPU"), 6u) << said;
  EXPECT_EQ(lines("jit CPU"), 9u) << said;
}

TEST_F(Jit, SwitchedOffItIsTheFunction) {
  Config config;
  config.jit = false;
  const ConfigScope scope(config);
  int built = 0;
  TinyJit f([&](std::span<const LazyBufferPtr> in) {
    ++built;
    return Tensors{exp2(in[0])};
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values(f(std::vector{filled(3)})[0]), Floats(4, 8));
  EXPECT_EQ(built, 4);
  EXPECT_EQ(f.captured(), 0u);
}

}  // namespace
}  // namespace touchstone
