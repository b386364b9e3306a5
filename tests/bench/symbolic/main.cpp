// R1 to R5, the sample cases, and series that grow: from the text to the smallest form in a context
// without nodes ("cold"), and again in the same context ("again").
#include <benchmark/benchmark.h>

#include "touchstone/symbolic/context.h"
#include "touchstone/symbolic/extract.h"
#include "touchstone/symbolic/simplifier.h"
#include "workloads.h"

#ifdef TOUCHSTONE_HAS_ISL
#include "isl_peer.h"
#endif

namespace touchstone::symbolic {
namespace {

/// The size of the smallest form.
std::size_t simplify(const Question& q, Context& c) {
  std::map<std::string, Node> names;
  for (const auto& [name, range] : q.variables) names.emplace(name, c.variable(name, range));
  Ids conditions;
  for (const std::string& a : q.assumptions)
    conditions.push_back(Simplifier(c).truth(parse(a, names, c).id()));
  Id id = parse(q.text, names, c).id();
  if (!conditions.empty()) id = Simplifier(c).under(id, conditions).value_or(id);
  Extractor e(c, Extractor::For::Text);
  const int form = e.extract(id);
  return e.forms()[static_cast<std::size_t>(form)].size;
}

void cold(benchmark::State& state, const std::vector<Question>& all) {
  Context c;
  std::size_t size = 0;
  for (auto _ : state)
    for (const Question& q : all) {
      c.clear();
      benchmark::DoNotOptimize(size = simplify(q, c));
    }
  state.counters["each"] = static_cast<double>(all.size());
  if (all.size() == 1) state.counters["size"] = static_cast<double>(size);
}

void again(benchmark::State& state, const Question& q) {
  Context c;
  std::size_t size = simplify(q, c);
  for (auto _ : state) benchmark::DoNotOptimize(size = simplify(q, c));
  state.counters["size"] = static_cast<double>(size);
}

/// A root that is a node already, asked for once more: (i*10)%100//10 on handles.
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
  benchmark::RegisterBenchmark((name + "/cold").c_str(),
                               [q](benchmark::State& s) { cold(s, {q}); });
  benchmark::RegisterBenchmark((name + "/again").c_str(),
                               [q](benchmark::State& s) { again(s, q); });
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
  for (const Workload& w : reference_workloads()) add(w.name, w.question, true);
  for (const int n : {12, 24, 64}) add("tied terms " + std::to_string(n), tied_terms(n), true);
  for (const int n : {50, 500, 5'000, 100'000}) add("nest " + std::to_string(n), nest(n), n == 50);
  const auto cases = sample_cases();
  benchmark::RegisterBenchmark("sample cases/cold", [&](benchmark::State& s) { cold(s, cases); });
  benchmark::RegisterBenchmark("one operation on handles/again", on_handles);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
