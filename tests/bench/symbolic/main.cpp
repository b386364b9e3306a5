// R1 to R5, the sample cases, and growing series: from the tape to the smallest form in an empty
// context ("cold"), and the same question again ("again"). `symbolic_bench histogram [RUNS]` shows
// the distribution of the sample cases' times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ranges>

#include <benchmark/benchmark.h>

#include "touchstone/symbolic/ask/session.h"
#include "workloads.h"

#ifdef TOUCHSTONE_HAS_ISL
#include "isl_peer.h"
#endif

namespace touchstone::symbolic {
namespace {

using Clock = std::chrono::steady_clock;

/// Nanoseconds from the tape to the smallest form, in a context that holds only the variables and
/// conditions.
double cold_ns(const Question& q, Context& c, std::size_t& size) {
  const Reading reading(q, c);
  const auto start = Clock::now();
  const Solution solution(reading, q, c);
  size = solution.size();
  return static_cast<double>((Clock::now() - start).count());
}

/// The median time of some runs in nanoseconds; robust against other load.
template <class Run>
double median(int runs, const Run& run) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(run());
  const auto middle = times.begin() + runs / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}
constexpr int kRuns = 21;

void cold(benchmark::State& state, const Question& q) {
  Context c;
  std::size_t size = 0;
  for (auto _ : state)
    state.SetIterationTime(1e-9 * median(kRuns, [&] { return cold_ns(q, c, size); }));
  state.counters["size"] = static_cast<double>(size);
}

/// The same question again, answered from the context's cache.
void again(benchmark::State& state, const Question& q) {
  Session session;
  const std::size_t size = session.answer(q).size;
  const auto run = [&] { return static_cast<double>(session.answer(q).ns); };
  for (auto _ : state) state.SetIterationTime(1e-9 * median(kRuns, run));
  state.counters["size"] = static_cast<double>(size);
}

struct Measured {
  const Question* question;
  double ns;
  std::size_t nodes;
};
std::vector<Measured> measured(const std::vector<Question>& all, int runs) {
  std::vector<Measured> list;
  Context c;
  std::size_t size = 0;
  for (const Question& q : all)
    list.push_back({&q, median(runs, [&] { return cold_ns(q, c, size); }), c.size()});
  return list;
}

void cold_sample(benchmark::State& state, const std::vector<Question>& all) {
  for (auto _ : state) {
    double total = 0;
    for (const Measured& m : measured(all, kRuns)) total += m.ns;
    state.SetIterationTime(1e-9 * total);
  }
  state.counters["each"] = static_cast<double>(all.size());
}

/// The distribution of the sample's times: percentiles, and the slowest.
void print_histogram(const std::vector<Question>& all, int runs) {
  std::vector<Measured> list = measured(all, runs);
  std::ranges::sort(list, {}, &Measured::ns);
  double total = 0;
  for (const Measured& m : list) total += m.ns;
  std::printf("mean %.0f ns\n", total / static_cast<double>(list.size()));
  double below = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    below += list[i].ns;
    if ((i + 1) * 10 % list.size() < 10)
      std::printf("%3zu %%: %7.0f ns, %5.1f %% of the time\n", (i + 1) * 100 / list.size(),
                  list[i].ns, 100 * below / total);
  }
  for (const Measured& m : list | std::views::reverse | std::views::take(50))
    std::printf("%8.0f ns %4zu nodes  %s%s\n", m.ns, m.nodes, m.question->text.c_str(),
                m.question->assumptions.empty() ? "" : "  under assumptions");
}

/// Requests an existing root node again: (i*10)%100//10 on handles.
void on_handles(benchmark::State& state) {
  Context c;
  const Node i = c.variable("i", 0, 99), a = i * 10;
  for (auto _ : state) benchmark::DoNotOptimize(floor_mod(a, 100));
}

#ifdef TOUCHSTONE_HAS_ISL
void isl(benchmark::State& state, const Question& q) {
  IslPeer peer(q);
  for (auto _ : state)
    if (!peer.run()) {
      state.SkipWithError("gave up after 20 million operations");
      break;
    }
  state.counters["size"] = static_cast<double>(peer.size());
}
#endif

void add(const std::string& name, const Question& q, bool with_isl) {
  benchmark::RegisterBenchmark((name + "/cold").c_str(), [q](benchmark::State& s) {
    cold(s, q);
  })->UseManualTime();
  benchmark::RegisterBenchmark((name + "/again").c_str(), [q](benchmark::State& s) {
    again(s, q);
  })->UseManualTime();
#ifdef TOUCHSTONE_HAS_ISL
  if (with_isl)
    benchmark::RegisterBenchmark((name + "/isl").c_str(), [q](benchmark::State& s) { isl(s, q); });
#else
  static_cast<void>(with_isl);
#endif
}

}  // namespace
}  // namespace touchstone::symbolic

int main(int argc, char** argv) {
  using namespace touchstone::symbolic;
  const auto cases = sample_cases();
  if (argc > 1 && std::string_view(argv[1]) == "histogram") {
    print_histogram(cases, argc > 2 ? std::atoi(argv[2]) : kRuns);
    return 0;
  }
  for (const Workload& w : reference_workloads()) add(w.name, w.question, true);
  for (const int n : {12, 24, 64}) add("tied terms " + std::to_string(n), tied_terms(n), true);
  for (const int n : {50, 500, 5'000, 100'000}) add("nest " + std::to_string(n), nest(n), n == 50);
  benchmark::RegisterBenchmark("sample cases/cold", [&](benchmark::State& s) {
    cold_sample(s, cases);
  })->UseManualTime();
  benchmark::RegisterBenchmark("one operation on handles/again", on_handles);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
