// Kernels of the CUDA device from formulas, and the cost of a launch and a copy, as JSON lines.
// usage: cuda_bench [formula[|opts[|grid opts]]...]
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "touchstone/cuda/cuda_device.h"
#include "touchstone/cuda/driver.h"
#include "touchstone/cuda/engine.h"
#include "touchstone/cuda/grid.h"
#include "touchstone/cuda/render_cuda.h"
#include "touchstone/define/text.h"

namespace touchstone {
namespace {

using Clock = std::chrono::steady_clock;

template <class Way>
double median_seconds(const Way& way, int turns = 21) {
  for (int i = 0; i < 3; ++i) way();
  std::vector<double> times;
  for (int i = 0; i < turns; ++i) {
    const auto begin = Clock::now();
    way();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + turns / 2);
  return times[static_cast<std::size_t>(turns / 2)];
}

// Numbers from -1 to 1, a different sequence per buffer.
void fill(Buffer& buffer, std::uint32_t seed) {
  std::vector<std::byte> bytes(buffer.bytes());
  std::uint32_t state = seed * 2654435761U + 1;
  const auto draw = [&] {
    return static_cast<float>((state = state * 1664525U + 1013904223U) >> 8);
  };
  if (buffer.dtype() == DType::Float32) {
    auto* const to = reinterpret_cast<float*>(bytes.data());
    for (std::int64_t i = 0; i < buffer.size(); ++i) to[i] = draw() * 0x1p-23F - 1;
  }
  buffer.copy_in(bytes);
}

// "matmul(a[64,64], b[64,64]) | lanes(8) | threads(64)": with this layout.
void time_formula(Device& usual, const std::string& text, CudaOptions options) {
  const std::size_t bar = text.find('|'), second = text.find('|', bar + 1);
  const std::string formula = text.substr(0, bar);
  std::unique_ptr<Device> other;
  if (bar != std::string::npos) {
    options.codegen.opts = parse_opts(text.substr(bar + 1, second - bar - 1));
    if (second != std::string::npos) options.grid = cuda::parse_grid_opts(text.substr(second + 1));
    other = make_cuda_device("CUDA", options);
  }
  Device& device = other ? *other : usual;
  const LazyOpPtr kernel = define::parse(formula).kernel();
  std::vector<std::unique_ptr<Buffer>> memory;
  std::vector<Buffer*> buffers;
  std::size_t bytes = 0;
  for (const BufferSpec& spec : buffers_of(kernel)) {
    memory.push_back(std::make_unique<Buffer>(device, spec.dtype, spec.size));
    buffers.push_back(memory.back().get());
    if (spec.idx > 0) fill(*memory.back(), static_cast<std::uint32_t>(spec.idx));
    bytes += memory.back()->bytes();
  }
  const RunnerPtr runner = device.runner(kernel);
  const double seconds = median_seconds([&] { runner->run(buffers, {}); });
  const std::string source = runner->source();
  fmt::print(
      "{{\"kernel\": \"{}\", \"layout\": \"{}\", \"ms\": {:.4f}, \"GB/s\": {:.1f}, "
      "\"GFLOPS\": {:.1f}}}\n",
      text, source.substr(3, source.find('\n') - 3), seconds * 1e3,
      static_cast<double>(bytes) / seconds * 1e-9,
      static_cast<double>(device.prepared(kernel).ops) / seconds * 1e-9);
  std::fflush(stdout);
}

// Copies by the driver; small ones show the launch and wait cost of kernels of that size.
void time_copy(std::size_t mebibytes) {
  const cuda::Driver& driver = cuda::Driver::get();
  const std::size_t bytes = mebibytes << 20;
  cuda::Driver::Address from = 0, to = 0;
  driver.check(driver.allocate(&from, bytes), "cuMemAlloc");
  driver.check(driver.allocate(&to, bytes), "cuMemAlloc");
  const double seconds = median_seconds([&] {
    driver.check(driver.copy(to, from, bytes), "cuMemcpyDtoD");
    driver.check(driver.wait(nullptr), "cuStreamSynchronize");
  });
  driver.check(driver.release(from), "cuMemFree");
  driver.check(driver.release(to), "cuMemFree");
  fmt::print("{{\"copy\": \"{} MiB\", \"ms\": {:.4f}, \"GB/s\": {:.1f}}}\n", mebibytes,
             seconds * 1e3, 2 * static_cast<double>(bytes) / seconds * 1e-9);
}

// A launch and the wait for it, of a thousand in sequence.
void time_launches(const CudaOptions& options) {
  constexpr int kLaunches = 1000;
  const auto engine = cuda::make_driver_engine(options);
  const std::string function = "KERNEL(1) nothing(i64 n) { (void)n; }\n";
  const auto program =
      engine->build(cuda::target_preamble(cuda::Target::Nvptx, function) + function);
  const std::int64_t n = 1;
  cuda::Launch launch;
  launch.function = program->function("nothing");
  launch.variables = std::span(&n, 1);
  const double seconds = median_seconds([&] {
    for (int i = 0; i < kLaunches; ++i) engine->launch(*program, launch);
  });
  fmt::print(
      "{{\"launch of an empty kernel and the wait for it, of {}\": {:.2f}, \"unit\": \"us\"}}\n",
      kLaunches, seconds * 1e6 / kLaunches);
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  try {
    std::vector<std::string> formulas(argv + 1, argv + argc);
    if (formulas.empty())
      formulas = {"x[1] + 1",
                  "x[268435456] + 1",
                  "x[268435456] * y[268435456]",
                  "exp(x[268435456])",
                  "softmax(x[16384,4096])",
                  "layer_norm(x[16384,4096])",
                  "sum(x[16384,16384], axis=1)",
                  "sum(x[16384,16384], axis=0)",
                  "sum(x[268435456])",
                  "sum(x[1000])",
                  "sum(x[10000])",
                  "sum(x[100000])",
                  "sum(x[1000000])",
                  "sum(x[10000000])",
                  "sum(x[100000000])",
                  "max(x[16384,16384], axis=1)",
                  "matmul(a[1024,1024], b[1024,1024])",
                  "matmul(a[4096,4096], b[4096,4096])"};
    const CudaOptions options = CudaOptions::from_environment();
    fmt::print("{{\"device\": \"{}\", \"contract\": {}}}\n", cuda_text(options.device),
               options.codegen.contract);
    const auto device = make_cuda_device("CUDA", options);
    Buffer first(*device, DType::Float32, 1);  // opens the GPU
    for (const std::size_t mebibytes : {std::size_t{2048}, std::size_t{256}}) time_copy(mebibytes);
    time_launches(options);
    for (const std::string& formula : formulas) {
      try {
        time_formula(*device, formula, options);
      } catch (const Error& e) {
        fmt::print("{{\"kernel\": \"{}\", \"error\": \"{}\"}}\n", formula, e.what());
      }
    }
    return 0;
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return 2;
  }
}
