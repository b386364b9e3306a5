#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "../../support/draws.h"
#include "touchstone/interp/device/exact_dot.h"
#include "touchstone/interp/device/exact_sum.h"

// Exact sums and dot products, per element: the figures of docs/measured/performance.md.

namespace touchstone {
namespace {

constexpr std::size_t kTerms = 1 << 16;

template <class T>
std::vector<T> normal_values() {
  test::Draws random(1);
  std::vector<T> values(kTerms);
  for (T& x : values) x = convert<T>(random.normal<double>());
  return values;
}

template <class T>
void exact_sum(benchmark::State& state) {
  const std::vector<T> x = normal_values<T>();
  for (auto _ : state) {
    ExactSum<T> sum;
    for (const T v : x) sum.add(v);
    benchmark::DoNotOptimize(sum.result());
  }
  state.counters["per element"] = benchmark::Counter(
      static_cast<double>(kTerms),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class T>
void exact_dot(benchmark::State& state) {
  const std::vector<T> x = normal_values<T>();
  for (auto _ : state) {
    ExactDot<T> sum;
    for (std::size_t i = 0; i < kTerms; ++i) sum.add(x[i], x[kTerms - 1 - i]);
    benchmark::DoNotOptimize(sum.result());
  }
  state.counters["per element"] = benchmark::Counter(
      static_cast<double>(kTerms),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const bool registered = [] {
  for (const DTypeInfo& row : dtype_table)
    with_storage(row.dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float_storage<T>) {
        benchmark::RegisterBenchmark(("sum/" + std::string(row.name)).c_str(), exact_sum<T>);
        benchmark::RegisterBenchmark(("dot/" + std::string(row.name)).c_str(), exact_dot<T>);
      }
    });
  return true;
}();

}  // namespace
}  // namespace touchstone
