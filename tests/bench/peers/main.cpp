// CLANG beside competing libraries (OpenBLAS, oneDNN, SLEEF, and one pass over memory). Medians of
// alternating runs.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include "dnnl_peer.h"
#ifdef TOUCHSTONE_HAS_PEAK
#include "peak.h"
#endif
#ifdef TOUCHSTONE_HAS_SLEEF
#include "sleef_peer.h"
#endif
#include "touchstone/clang/clang_device.h"
#include "touchstone/clang/worker_pool.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/tensor/conv.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"

namespace touchstone::peers {
namespace {

using Work = std::function<void()>;

double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<double>(i * 2654435761U % 65536) / 65536.0);
  return values;
}

// A graph's kernels with their own buffers.
class Prepared {
 public:
  Prepared(const Tensor& output, const std::string& device) : device_(Device::get(device)) {
    const LazyBufferPtr lazy = output.lazy();
    fuzz::RandomChooser chooser(1, 1);
    for (const ScheduleItem& item : schedule(std::span(&lazy, 1))) {
      if (item.kind != Op::Store) continue;
      fuzz::KernelCase c{item.ast, fuzz::draw_inputs(chooser, fuzz::ValueFamily::Random, item.ast)};
      runs_.push_back({item.ast, fuzz::make_buffers(c, device_), {}});
      for (const BufferPtr& b : runs_.back().buffers) {
        runs_.back().raw.push_back(b.get());
        if (b != nullptr) bytes_ += b->bytes();
      }
      // No subnormal numbers, so that peers get none.
      for (std::size_t i = 1; i < runs_.back().raw.size(); ++i)
        if (Buffer& b = *runs_.back().raw[i]; b.dtype() == DType::Float32)
          b.write(std::span<const float>(numbers(static_cast<std::size_t>(b.size()))));
      flops_ += get_lazyop_info(item.ast).flops.as_int();
    }
    run();
  }
  void run() {
    for (const Run& r : runs_) run_kernel(device_, r.kernel, r.raw);
  }
  double flops() const { return static_cast<double>(flops_); }
  /// Bytes read and written.
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  struct Run {
    LazyOpPtr kernel;
    std::vector<BufferPtr> buffers;
    std::vector<Buffer*> raw;
  };
  Device& device_;
  std::vector<Run> runs_;
  std::int64_t flops_ = 0;
  std::size_t bytes_ = 0;
};

struct Peer {
  std::string name;
  std::function<Work(int threads)> work;
};

struct Row {
  std::string name;
  std::function<Tensor(const std::string& device)> graph;
  std::vector<Peer> peers;  // the fastest counts; empty: one pass over memory
  std::size_t reads = 0;    // arrays that must move, including the one written
  bool writes = false;
  std::int64_t floats = 0;  // elements of each
};

Tensor input(const Shape& shape, const std::string& device) {
  static Generator generator(1);
  Tensor t = generator.uniform(shape, 0.0, 1.0, {.device = device});
  t.realize();
  return t;
}

constexpr std::int64_t kMany = 1 << 24;

// The threads of peers that bring none.
clang::WorkerPool& pool_of(int threads) {
  static std::map<int, clang::WorkerPool> pools;
  return pools.try_emplace(threads, threads).first->second;
}

// Of m x k by k x n, or by the transpose of n x k.
Row product(std::int64_t m, std::int64_t k, std::int64_t n, bool transposes) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  using Gemm = std::function<void(const float* a, const float* b, float* c, int threads)>;
  const auto peer = [=](const char* name, const Gemm& gemm) {
    return Peer{name, [=](int threads) -> Work {
                  return [=, a = numbers(at(m * k)), b = numbers(at(k * n)),
                          c = std::vector<float>(at(m * n))]() mutable {
                    gemm(a.data(), b.data(), c.data(), threads);
                  };
                }};
  };
  const Gemm openblas = [=](const float* a, const float* b, float* c, int threads) {
    openblas_set_num_threads(threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transposes ? CblasTrans : CblasNoTrans,
                static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, a,
                static_cast<int>(k), b, static_cast<int>(transposes ? k : n), 0, c,
                static_cast<int>(n));
  };
  const Gemm onednn = [=](const float* a, const float* b, float* c, int threads) {
    dnnl_product({m, k, n}, transposes, a, b, c, threads);
  };
  return {m == k && k == n ? fmt::format("matmul {}", m) : fmt::format("matmul {}x{}x{}", m, k, n),
          [=](const std::string& d) {
            return input({m, k}, d).matmul(input({k, n}, d));
          },
          {peer("OpenBLAS", openblas), peer("oneDNN", onednn)}};
}

Row matmul(std::int64_t m, std::int64_t k, std::int64_t n) { return product(m, k, n, false); }

Row transposed(std::int64_t m, std::int64_t k, std::int64_t n) {
  Row row = product(m, k, n, true);
  row.name = fmt::format("{}x{} by the transpose of {}x{}", m, k, n, k);
  row.graph = [=](const std::string& d) { return linear(input({m, k}, d), input({n, k}, d)); };
  return row;
}

Row convolution(const std::string& name, const ConvSizes& s) {
  return {name,
          [=](const std::string& d) {
            return conv2d(input({1, s.in, s.size, s.size}, d),
                          input({s.out, s.in / s.groups, s.kernel, s.kernel}, d), std::nullopt,
                          {.stride = {s.stride, s.stride},
                           .padding = {s.padding, s.padding},
                           .groups = s.groups});
          },
          {{"oneDNN", [=](int threads) { return dnnl_convolution(s, threads); }}}};
}

// Reads `reads` arrays, and writes one if `writes`, beside a plain pass over as many.
Row moving(const std::string& name, std::size_t reads, bool writes,
           const std::function<Tensor(const std::string&)>& graph) {
  return {name, graph, {}, reads, writes, kMany};
}

std::vector<Row> rows() {
  std::vector<Row> all{matmul(256, 256, 256),     matmul(512, 512, 512),
                       matmul(1024, 1024, 1024),  matmul(2048, 2048, 2048),
                       matmul(4096, 64, 4096),    transposed(512, 512, 512),
                       transposed(1, 1024, 1024), transposed(64, 512, 2048)};
  all.push_back(convolution("conv 3x3 64 of 56x56", {64, 64, 56, 3, 1, 1, 1}));
  all.push_back(convolution("conv 1x1 64 to 256 of 56x56", {64, 256, 56, 1, 1, 0, 1}));
  all.push_back(convolution("conv 7x7 stride 2, 3 to 64 of 224x224", {3, 64, 224, 7, 2, 3, 1}));
  all.push_back(convolution("conv 3x3 depthwise 64 of 56x56", {64, 64, 56, 3, 1, 1, 64}));
  all.push_back(moving("chain of 5 ops on 2^24", 3, true, [=](const std::string& d) {
    const Tensor a = input({kMany}, d), b = input({kMany}, d), c = input({kMany}, d);
    return ((a * b + c).relu() - a) * 0.5;
  }));
  all.push_back(moving("transpose + add 4096^2", 2, true, [](const std::string& d) {
    return input({4096, 4096}, d).transpose(0, 1) + input({4096, 4096}, d);
  }));
  all.push_back(
      moving("sum 2^24", 1, false, [=](const std::string& d) { return input({kMany}, d).sum(); }));
  all.push_back(
      moving("max 2^24", 1, false, [=](const std::string& d) { return input({kMany}, d).max(); }));
  all.push_back(moving("variance 2^24", 1, false,
                       [=](const std::string& d) { return input({kMany}, d).var(); }));
  all.push_back(moving("row sums 4096^2", 1, false, [](const std::string& d) {
    return input({4096, 4096}, d).sum({1});
  }));
  Row soft = moving("softmax 4096^2", 1, true, [](const std::string& d) {
    return softmax(input({4096, 4096}, d));
  });
  soft.peers = {{"oneDNN", [](int threads) { return dnnl_softmax(4096, 4096, threads); }}};
  all.push_back(soft);
  soft.name = "softmax 1024^2";
  soft.floats = 1 << 20;
  soft.graph = [](const std::string& d) { return softmax(input({1024, 1024}, d)); };
  soft.peers = {{"oneDNN", [](int threads) { return dnnl_softmax(1024, 1024, threads); }}};
  all.push_back(soft);
  for (const auto& [name, f] :
       std::initializer_list<std::pair<const char*, Tensor (*)(const Tensor&)>>{
           {"exp2 2^24", [](const Tensor& x) { return x.exp2(); }},
           {"log2 2^24", [](const Tensor& x) { return x.log2(); }},
           {"sin 2^24", [](const Tensor& x) { return x.sin(); }}}) {
    Row row =
        moving(name, 1, true, [=, f = f](const std::string& d) { return f(input({kMany}, d)); });
#ifdef TOUCHSTONE_HAS_SLEEF
    row.peers = {{"SLEEF", [function = row.name.substr(0, row.name.find(' '))](int threads) {
                    return [run = sleef_function(function, kMany), &pool = pool_of(threads)] {
                      pool.run([&](int part) { run(part, pool.threads()); });
                    };
                  }}};
#endif
    all.push_back(std::move(row));
  }
  return all;
}

bool pass_over(std::span<const char* const> from, char* to, std::size_t bytes) {
#ifdef TOUCHSTONE_HAS_PEAK
  return pass(from, to, bytes);
#else
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i == 0 && to != nullptr)
      std::memcpy(to, from[i], bytes);
    else if (std::memchr(from[i], 1, bytes) != nullptr)
      return true;
  }
  return false;
#endif
}

std::string device_name(int threads) { return fmt::format("OF_{}", threads); }

void add_device(int threads) {
  Device::add(device_name(threads), [=] {
    ClangOptions options = ClangOptions::from_environment();
    options.threads = threads;
    return make_clang_device(device_name(threads), options);
  });
}

// The time of memory alone: one pass that reads each of `sources` and writes as many floats, if
// any. Uses our own buffers, whose pages may be larger than others'.
Work pass_of(std::size_t sources, bool writes, std::int64_t floats, int threads) {
  const auto memory = [=] {
    return std::make_shared<Buffer>(Device::get(device_name(threads)), DType::Float32, floats);
  };
  std::vector<std::shared_ptr<Buffer>> from;
  for (std::size_t i = 0; i < sources; ++i) from.push_back(memory());
  return [=, to = writes ? memory() : nullptr] {
    constexpr std::int64_t kLine = 16;
    const auto part = [&](int t) {
      const std::int64_t begin = floats / kLine * t / threads * kLine,
                         end = floats / kLine * (t + 1) / threads * kLine;
      const auto at = [&](const std::shared_ptr<Buffer>& b) {
        return b == nullptr ? nullptr : static_cast<char*>(b->memory()) + 4 * begin;
      };
      std::vector<const char*> starts;
      for (const auto& b : from) starts.push_back(at(b));
      if (pass_over(starts, at(to), static_cast<std::size_t>(4 * (end - begin)))) std::abort();
    };
    pool_of(threads).run(part);
  };
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Measures one row and returns its member of the file.
std::string measure(const Row& row, int threads) {
  const std::string device = device_name(threads);
  Prepared ours(row.graph(device), device);
  std::vector<Peer> peers = row.peers;
  if (peers.empty())
    peers.push_back(
        {"memory", [&](int n) { return pass_of(row.reads, row.writes, row.floats, n); }});
  std::vector<Work> works;
  for (const Peer& peer : peers) works.push_back(peer.work(threads));
  for (const Work& work : works) work();
  std::vector<double> mine;
  std::vector<std::vector<double>> theirs(works.size());
  double spent = 0;
  while ((spent < 0.6 || mine.size() < 5) && mine.size() < 2000) {
    mine.push_back(seconds([&] { ours.run(); }));
    spent += mine.back();
    for (std::size_t i = 0; i < works.size(); ++i) {
      theirs[i].push_back(seconds(works[i]));
      spent += theirs[i].back();
    }
  }
  const double m = median(mine);
  std::vector<double> medians;
  for (const std::vector<double>& times : theirs) medians.push_back(median(times));
  const auto best = std::ranges::min_element(medians);
  const std::string& peer = peers[static_cast<std::size_t>(best - medians.begin())].name;
  const double t = *best, bytes = 4.0 * static_cast<double>(row.floats) *
                                  static_cast<double>(row.reads + (row.writes ? 1 : 0));
  fmt::print("| {} | {} | {:.3f} | {} {:.3f} | {:.2f} | {} |\n", row.name, threads, 1e3 * m, peer,
             1e3 * t, t / m,
             bytes > 0 ? fmt::format("{:.1f} GB/s", bytes / m * 1e-9)
                       : fmt::format("{:.1f} GFLOP/s", ours.flops() / m * 1e-9));
  std::fflush(stdout);
  return fmt::format(
      R"({{"name": "{}", "threads": {}, "ms": {:.6f}, "peer": "{}", "peer_ms": {:.6f}, "flops": {}, "bytes": {}}})",
      row.name, threads, 1e3 * m, peer, 1e3 * t, ours.flops(), bytes > 0 ? bytes : ours.bytes());
}

// Measures the machine's limits: arithmetic in registers, and a copy larger than the caches.
std::string roof(int threads) {
  constexpr std::int64_t kFloats = 1 << 25;
  constexpr double kBytes = 8.0 * kFloats;
  const Work copy = pass_of(1, true, kFloats, threads);
  double best = seconds(copy);
  for (int turn = 0; turn < 9; ++turn) best = std::min(best, seconds(copy));
  double flops = 0;
#ifdef TOUCHSTONE_HAS_PEAK
  flops = peak_flops(threads, ClangOptions::from_environment().codegen.contract);
#endif
  return fmt::format(R"({{"threads": {}, "gflops": {:.2f}, "gbytes": {:.2f}}})", threads,
                     flops * 1e-9, kBytes / best * 1e-9);
}

std::vector<int> thread_counts(std::string_view text) {
  std::vector<int> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int count = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, count);
    if (error != std::errc() || stop != text.data() + end || count < 1 || count > 1024)
      throw Error(fmt::format("--threads {}: give counts of 1 to 1024, as 1,2", text));
    counts.push_back(count);
    at = end + 1;
  }
  return counts;
}

int run(std::vector<std::string_view> wanted) {
  std::string file;
  std::vector<int> counts{1, 2};
  for (; wanted.size() > 1 && wanted[0].starts_with("--");
       wanted.erase(wanted.begin(), wanted.begin() + 2))
    if (wanted[0] == "--json")
      file = wanted[1];
    else if (wanted[0] == "--threads")
      counts = thread_counts(wanted[1]);
    else
      throw Error(
          fmt::format("unknown option {}: there are --json FILE, --threads 1,2", wanted[0]));
  std::vector<std::string> said, roofs;
  register_interpreted_device();
  for (const int threads : counts) add_device(threads);
  fmt::print("OpenBLAS: {}, {}\noneDNN: {}\n", openblas_get_config(), openblas_get_corename(),
             dnnl_name());
  fmt::print(
      "| work | threads | ms | peer, ms | peer / ours | rate |\n|---|---|---|---|---|---|\n");
  for (const Row& row : rows()) {
    if (!wanted.empty() && std::ranges::none_of(wanted, [&](std::string_view w) {
          return row.name.find(w) != std::string::npos;
        }))
      continue;
    for (const int threads : counts) said.push_back(measure(row, threads));
  }
  if (file.empty()) return 0;
  for (const int threads : counts) roofs.push_back(roof(threads));
  std::ofstream(file) << fmt::format("{{\"roofs\": [{}],\n\"rows\": [\n{}]}}\n",
                                     fmt::join(roofs, ", "), fmt::join(said, ",\n"));
  return 0;
}

}  // namespace
}  // namespace touchstone::peers

// --json FILE: the results, for roofline.py. --threads 1,2,16. Words: only rows whose name contains
// one of them. TOUCHSTONE_MARCH=x86-64-v3 holds all sides to AVX2.
// The peers' threads would spin after their work on the cores that ours need; OpenMP and OpenBLAS
// read these variables when loaded.
int main(int argc, char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    ::setenv("OMP_WAIT_POLICY", "passive", 1);
    ::setenv("GOMP_SPINCOUNT", "0", 1);
    ::setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);
    const char* const march = std::getenv("TOUCHSTONE_MARCH");
    if (march != nullptr && std::string_view(march) == "x86-64-v3") {
      ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
      ::setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    }
    ::execv("/proc/self/exe", argv);
  }
  try {
    return touchstone::peers::run({argv + 1, argv + argc});
  } catch (const touchstone::Error& e) {
    fmt::print(stderr, "peers_bench: {}\n", e.what());
    return 2;
  }
}
