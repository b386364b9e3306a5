// The CUDA device's code, run on the host one thread at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "touchstone/cuda/cuda_device.h"
#include "touchstone/cuda/engine.h"
#include "touchstone/cuda/layout.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/engine/runner.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone {
namespace {

CudaOptions few_threads() {
  CudaOptions options = CudaOptions::from_environment();
  options.threads = 8;
  options.opt_level = 0;
  return options;
}

template <class T>
std::vector<T> answer(Device& device, const LazyOpPtr& kernel,
                      const std::vector<std::vector<T>>& inputs) {
  std::vector<std::unique_ptr<Buffer>> memory;
  std::vector<Buffer*> buffers;
  for (const BufferSpec& spec : buffers_of(kernel)) {
    memory.push_back(std::make_unique<Buffer>(device, spec.dtype, spec.size));
    buffers.push_back(memory.back().get());
    if (spec.idx > 0)
      memory.back()->write(std::span<const T>(inputs[static_cast<std::size_t>(spec.idx) - 1]));
  }
  run_kernel(device, kernel, buffers);
  return memory[0]->read<T>();
}

TEST(CudaOnHost, ACampaignHasNoFinding) {
  for (const std::uint64_t layout : {std::uint64_t{0}, std::uint64_t{1}}) {
    CudaOptions options = few_threads();
    options.layout_seed = layout;
    fuzz::AreaPlan plan;
    plan.name = "kernel";
    plan.make = [options](int) {
      fuzz::KernelBackends backends;
      backends.candidate =
          fuzz::make_device_backend(make_cuda_on_host("CUDA on the host", options));
      backends.judge_all = true;
      return fuzz::make_kernel_area(std::move(backends));
    };
    fuzz::RunOptions run;
    run.seed = 28;
    run.cases = 60;
    const fuzz::RunResult result = fuzz::run_areas({plan}, run, std::atomic<bool>(false), {});
    EXPECT_EQ(result.trouble, "");
    for (const fuzz::AreaFinding& f : result.areas.at(0).findings)
      ADD_FAILURE() << f.failure.relation << ", case " << f.index << ": " << f.failure.detail
                    << "\n"
                    << f.shrunk;
  }
}

// The bits follow the order that the profile declares.
TEST(CudaOnHost, EveryWayOfSummingHasTheBitsOfItsDeclaredOrder) {
  const auto kernel = define::parse("sum(x[24,160], axis=1)").kernel();
  const auto columns = define::parse("sum(x[160,24], axis=0)").kernel();
  const auto whole = define::parse("sum(x[3840])").kernel();
  std::vector<float> x(3840);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(1.0F + float(i % 97), int(i % 23));
  struct Case {
    LazyOpPtr kernel;
    Opts opts;
    const char* grid;
  };
  const Case cases[] = {
      {kernel, {}, "threads(16)"},
      {kernel, {{OptKind::Sums, {16}}}, "threads(16) team(1)"},
      {kernel, {{OptKind::Sums, {16}}}, "threads(4) team(1)"},
      {kernel, {{OptKind::Sums, {32}}}, "threads(8) team(1)"},
      {columns, {{OptKind::Sums, {4, 1}}}, "threads(32) team(1) columns(8)"},
      {whole, {{OptKind::Sums, {64}}}, "threads(16) team(1) blocks(4)"},
      {whole, {{OptKind::Sums, {128}}}, "threads(16) team(1) blocks(8)"},
      // Blocks that fold part of it themselves.
      {whole, {{OptKind::Sums, {128}}}, "threads(64) team(1) blocks(2) run(16)"},
      {whole, {{OptKind::Sums, {256}}}, "threads(32) team(1) blocks(2) run(32)"},
      {whole, {{OptKind::Sums, {512}}}, "threads(128) team(1) blocks(4) run(32)"}};
  for (const Case& c : cases) {
    CudaOptions options = few_threads();
    options.codegen.opts = c.opts;
    options.grid = cuda::parse_grid_opts(c.grid);
    const auto device = make_cuda_on_host("CUDA on the host", options);
    const auto bits = answer<float>(*device, c.kernel, {x});
    // The reference allows any order; this one is requested by name.
    const std::string profile = device->runner(c.kernel)->profile();
    const std::string order =
        c.opts.empty() ? "sequential" : fmt::format(R"("folded": {})", c.opts[0].args[0]);
    EXPECT_THAT(profile, testing::HasSubstr(order)) << c.grid;
    const std::size_t rows = bits.size(), terms = x.size() / rows;
    const std::size_t sums = c.opts.empty() ? 1 : static_cast<std::size_t>(c.opts[0].args[0]);
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> lanes(sums, 0.0F);
      for (std::size_t t = 0; t < terms; ++t)
        lanes[t % sums] += c.kernel == columns ? x[t * rows + row] : x[row * terms + t];
      for (std::size_t half = sums / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      EXPECT_EQ(bits[row], lanes[0]) << c.grid << " row " << row;
    }
  }
}

// More running sums than a block's shared memory holds: the last block keeps them in registers, or
// in device memory if a thread had too many. A runner's second run finds its block counter as the
// first did.
TEST(CudaOnHost, ManyRunningSumsFoldInOrder) {
  constexpr std::size_t kSums = 16384;
  std::vector<float> x(2 * kSums), lanes(kSums);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::ldexp(1.0F + float(i % 97), int(i % 23));
    lanes[i % kSums] += x[i];
  }
  for (std::size_t half = kSums / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  for (const auto& [grid, text] :
       {std::pair{"threads(256) team(1) blocks(64)", "f32 acc1[64];"},
        std::pair{"threads(64) team(1) blocks(256)", "f32* const acc1"}}) {
    CudaOptions options = few_threads();
    options.codegen.opts = Opts{{OptKind::Sums, {kSums}}};
    options.grid = cuda::parse_grid_opts(grid);
    const auto device = make_cuda_on_host("CUDA on the host", options);
    const auto kernel = define::parse("sum(x[32768])").kernel();
    EXPECT_THAT(device->runner(kernel)->source(), testing::HasSubstr(text)) << grid;
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(answer<float>(*device, kernel, {x}), std::vector{lanes[0]}) << grid;
  }
}

TEST(CudaOnHost, WithoutItsBarriersATeamGivesAnotherAnswer) {
  CudaOptions options = few_threads();
  options.codegen.opts = Opts{{OptKind::Sums, {8}}};
  options.grid = cuda::GridOpts{.threads = 8, .team = true, .warp = 2};
  const cuda::GridKernel grid = cuda::lay_out(define::parse("sum(x[64])").kernel(), options);
  const std::string function = cuda::render_cuda_function(grid, "k");
  const auto without = [&](std::string_view barrier) {
    std::string text = function;
    for (std::size_t at = text.find(barrier); at != std::string::npos; at = text.find(barrier))
      text.erase(at, barrier.size());
    return text;
  };
  EXPECT_THAT(function, testing::HasSubstr("MEET_WARP(8);"));
  const auto engine = cuda::make_host_engine(options);
  const auto sum_by = [&](const std::string& text, bool waits) {
    const auto program = engine->build(cuda::target_preamble(cuda::Target::Host, text) + text +
                                       cuda::host_entry(grid, "k"));
    std::vector<float> x(64), y(1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    alignas(64) std::array<float, 64> in{}, out{};
    std::ranges::copy(x, in.begin());
    void* const arguments[] = {out.data(), in.data()};
    engine->launch(*program, {.function = program->function("k"),
                              .arguments = arguments,
                              .buffers = 2,
                              .variables = {},
                              .blocks = 1,
                              .threads = 8,
                              .waits = waits,
                              .warp = 2});
    return out[0];
  };
  EXPECT_EQ(sum_by(function, true), 2016.0F);
  EXPECT_NE(sum_by(without("MEET();"), true), 2016.0F);
  EXPECT_NE(sum_by(without("MEET_WARP(8);"), true), 2016.0F);
}

TEST(CudaOnHost, RemaindersAreThoseOfTheCLibrary) {
  const auto device = make_cuda_on_host("CUDA on the host", few_threads());
  std::vector<double> a, b;
  const double odd[] = {0.0,         -0.0,      1.0,   -1.5,   3.0,     0x1p-1074,  -0x1p-1073,
                        0x1.8p-1022, 1e308,     -7e22, 0x1p53, 0x1p970, 5e-324,     0.1,
                        INFINITY,    -INFINITY, NAN,   2.5,    1e-300,  123456789.0};
  for (const double x : odd)
    for (const double y : odd) {
      a.push_back(x);
      b.push_back(y);
    }
  const std::string size = std::to_string(a.size());
  const auto wide = answer<double>(
      *device, define::parse("mod(x[" + size + "]:f64, y[" + size + "]:f64)").kernel(), {a, b});
  std::vector<float> af(a.begin(), a.end()), bf(b.begin(), b.end());
  const auto narrow = answer<float>(
      *device, define::parse("mod(x[" + size + "], y[" + size + "])").kernel(), {af, bf});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double right = std::fmod(a[i], b[i]);
    EXPECT_TRUE(std::isnan(right)
                    ? std::isnan(wide[i])
                    : wide[i] == right && std::signbit(wide[i]) == std::signbit(right))
        << a[i] << " % " << b[i] << " gave " << wide[i];
    const float near = std::fmod(af[i], bf[i]);
    EXPECT_TRUE(std::isnan(near)
                    ? std::isnan(narrow[i])
                    : narrow[i] == near && std::signbit(narrow[i]) == std::signbit(near))
        << af[i] << " % " << bf[i] << " gave " << narrow[i];
  }
}

TEST(CudaOnHost, SineOfDoublesIsWithinOneUlp) {
  const auto device = make_cuda_on_host("CUDA on the host", few_threads());
  std::vector<double> x = {0.0,
                           -0.0,
                           5e-324,
                           0.5,
                           0x1.921fb54442d18p-1,
                           0x1.921fb54442d19p-1,
                           0x1.921fb54442d18p+1,
                           0x1.6ac5b262ca1ffp+849,
                           1e22,
                           -1e300,
                           0x1p1023,
                           1.7976931348623157e308};
  for (int i = 1; i < 2000; ++i)
    x.push_back((i % 2 == 0 ? -1 : 1) * std::ldexp(1.0 + i * 0.000497, i % 2046 - 1020));
  const auto y = answer<double>(
      *device, define::parse("sin(x[" + std::to_string(x.size()) + "]:f64)").kernel(), {x});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = std::sin(x[i]);  // itself within 0.55 ULP
    const double ulp = std::nextafter(std::fabs(right), INFINITY) - std::fabs(right);
    EXPECT_LE(std::fabs(y[i] - right), ulp) << x[i];
    EXPECT_EQ(std::signbit(y[i]), std::signbit(right)) << x[i];
  }
}

// Every triple of -3 to 3; on a GPU, too, if there is one: its assembler loses signs (ptx.cpp).
TEST(CudaOnHost, MaximaOfNegatedIntegersAreRight) {
  struct Row {
    const char* formula;
    int (*value)(int, int, int);
  };
  const Row rows[] = {
      {"maximum(maximum(-x, -y), z)",
       [](int a, int b, int c) {
         return std::max({-a, -b, c});
       }},
      {"maximum(maximum(x, -y), z)",
       [](int a, int b, int c) {
         return std::max({a, -b, c});
       }},
      {"maximum(maximum(-x, y), z)",
       [](int a, int b, int c) {
         return std::max({-a, b, c});
       }},
      {"maximum(maximum(-x, -y), -z)",
       [](int a, int b, int c) {
         return std::max({-a, -b, -c});
       }},
      {"maximum(maximum(-x, -y), 5 - z)",
       [](int a, int b, int c) {
         return std::max({-a, -b, 5 - c});
       }},
      {"maximum(-z, maximum(0 - x, y * -1))",
       [](int a, int b, int c) {
         return std::max({-a, -b, -c});
       }},
      {"minimum(minimum(-x, -y), z)",
       [](int a, int b, int c) {
         return std::min({-a, -b, c});
       }},
      {"minimum(minimum(x, -y), z)",
       [](int a, int b, int c) {
         return std::min({a, -b, c});
       }},
      {"minimum(minimum(-x, y), -z)",
       [](int a, int b, int c) {
         return std::min({-a, b, -c});
       }},
      {"minimum(minimum(-x, -y), 2 - z)",
       [](int a, int b, int c) {
         return std::min({-a, -b, 2 - c});
       }},
      {"maximum(minimum(-x, -y), minimum(-z, x))",
       [](int a, int b, int c) { return std::max(std::min(-a, -b), std::min(-c, a)); }},
      {"cast(maximum(maximum(cast(-x, i64), cast(-y, i64)), cast(z, i64)), i32)",
       [](int a, int b, int c) {
         return std::max({-a, -b, c});
       }},
      {"cast(maximum(maximum(-cast(x, i16), -cast(y, i16)), cast(z, i16)), i32)",
       [](int a, int b, int c) {
         return std::max({-a, -b, c});
       }},
      {"where(-x < -y, where(-y < z, z, -y), where(-x < z, z, -x))", [](int a, int b, int c) {
         return std::max({-a, -b, c});
       }}};
  std::vector<std::vector<int>> inputs(3);
  for (int i = 0; i < 343; ++i)
    for (const auto& [k, digit] : {std::pair{0, i / 49}, {1, i / 7 % 7}, {2, i % 7}})
      inputs[static_cast<std::size_t>(k)].push_back(digit - 3);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(make_cuda_on_host("CUDA on the host", few_threads()));
  if (no_cuda_reason().empty()) devices.push_back(make_cuda_device("CUDA"));
  const define::InputShape shape{{343}, DType::Int32};
  std::vector<LazyOpPtr> kernels;
  for (const Row& row : rows)
    kernels.push_back(define::parse(row.formula, std::vector(3, shape)).kernel());
  for (const auto& device : devices) {
    device->prepare(kernels);
    for (std::size_t r = 0; r < kernels.size(); ++r) {
      std::vector<std::vector<int>> given = inputs;
      if (std::string_view(rows[r].formula).starts_with("maximum(-z"))
        given = {inputs[2], inputs[0], inputs[1]};
      const std::vector<int> got = answer<int>(*device, kernels[r], given);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], rows[r].value(inputs[0][i], inputs[1][i], inputs[2][i]))
            << rows[r].formula << " of " << inputs[0][i] << ", " << inputs[1][i] << ", "
            << inputs[2][i] << " on " << device->name();
    }
  }
}

// 9 sums of n terms each, for n rows of 6, in the loop over n and 6.
LazyOpPtr sums_of_rows(const sint& n) {
  const auto load = [](Shape shape, Strides strides) {
    return LazyOp::load(1, DType::Int32,
                        ShapeTracker::from_shape(std::move(shape), std::move(strides)));
  };
  const auto sum = LazyOp::reduce(Op::ReduceSum, load({9, n, 6, n}, {n * sint(6), 0, 1, 0}), {3});
  const auto rest = LazyOp::binary(Op::Sub, load({9, n, 6, 1}, {n * sint(6), 6, 1, 0}), sum);
  return LazyOp::store(ShapeTracker::contiguous({1, n, 6, 1}),
                       LazyOp::reduce(Op::ReduceSum, rest, {0}));
}

TEST(CudaOnHost, SumsOfSizesThatMayBeZeroAreProved) {
  const LazyOpPtr kernel = sums_of_rows(symbolic::variable("n", 0, 70));
  for (const CudaOptions& options : {CudaOptions{}, few_threads()})
    EXPECT_THAT(cuda_source(kernel, options), testing::HasSubstr("const i64 x8 = 6 * v_n;"));
}

// Loops whose sizes are variables that may be 0 are merged, too, and their stores proved in bounds.
TEST(CudaOnHost, SizesMayBeZero) {
  const auto size = [](const char* name, int low, int high) {
    return sint(symbolic::variable(name, low, high));
  };
  const std::vector<std::vector<sint>> shapes = {
      {3, 5, size("k", 0, 4), size("m", 0, 7)},
      {size("j", 1, 7), size("n", 0, 2), size("k", 0, 4), 3},
      {size("m", 0, 5), size("k", 4, 8), 3, size("j", 0, 4)},
      {size("m", 1, 8), 3, size("j", 2, 4), size("n", 0, 4)},
      {2, size("n", 0, 9), 5}};
  const auto device = make_cuda_on_host("CUDA on the host", few_threads());
  for (const std::vector<sint>& sizes : shapes) {
    const ShapeTracker st = ShapeTracker::contiguous(sizes);
    const LazyOpPtr x = LazyOp::load(1, DType::Int32, st);
    const LazyOpPtr kernel = LazyOp::store(st, LazyOp::binary(Op::Add, x, x));
    EXPECT_THAT(cuda_source(kernel), testing::HasSubstr("\n  for (i64 g = (u32)(BLOCK * 256u"));
    EXPECT_THAT(cuda_source(kernel), testing::Not(testing::HasSubstr("\n    for (")));
    for (const int which : {0, 1, 2}) {
      symbolic::Values values;
      std::int64_t elements = 1;
      for (const sint& s : sizes) {
        std::int64_t now = s.max().value();
        if (!s.is_int()) {
          if (which > 0) now = which == 1 ? s.min().value() : (s.min().value() + now + 1) / 2;
          values[symbolic::variable_name(s.node())] = now;
        }
        elements *= now;
      }
      const auto specs = buffers_of(kernel);
      Buffer out(*device, DType::Int32, specs[0].size), in(*device, DType::Int32, specs[1].size);
      std::vector<int> numbers(static_cast<std::size_t>(specs[1].size)), twice(numbers.size(), 0);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<int>(i) + 1;
        if (static_cast<std::int64_t>(i) < elements) twice[i] = 2 * numbers[i];
      }
      in.write(std::span<const int>(numbers));
      Buffer* const buffers[] = {&out, &in};
      run_kernel(*device, kernel, buffers, values);
      EXPECT_EQ(out.read<int>(), twice) << cuda_source(kernel);
    }
  }
}

}  // namespace
}  // namespace touchstone
