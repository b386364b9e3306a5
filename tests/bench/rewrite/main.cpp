// Matching, rewriting and kernelize, per node; matching by definition beside it.
#include <benchmark/benchmark.h>

#include "touchstone/fuzz/cases/rewrite_case.h"
#include "touchstone/fuzz/definitions/rewriting.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"

namespace {

using namespace touchstone;

const UOp kHost = UOp::device("HOST");

// x * 1 -> x, x + 0 -> x, - -x -> x, max(x, x) -> x: in the case's notation and the matcher's.
constexpr const char* kRules =
    " | top | MUL{x, #1} -> x | ADD{x, #0} -> x | NEG(NEG(x)) -> x | MAX(x, x) -> x";
PatternMatcher few_rules() {
  const UPat x = UPat::var("x");
  const auto first = [](const Match& m) { return m[0]; };
  return PatternMatcher(
      {{"times 1", x * UPat::number(1), first},
       {"plus 0", x + UPat::number(0), first},
       {"neg neg", UPat(GraphOp::Neg).over({UPat(GraphOp::Neg).over({x})}), first},
       {"max of one", UPat(GraphOp::Max).over({x, x}), first}});
}

// A thousand nodes that all disappear, or none.
constexpr const char* kAll = "DEFINE_VAR:f32; CONST:f32=f32/1.0; 1000*MUL:f32 ^1 %1";
constexpr const char* kNone = "DEFINE_VAR:f32; CONST:f32=f32/2.0; 1000*MUL:f32 ^1 %1";

void rewritten(benchmark::State& state, const char* graph) {
  const std::vector<UOp> nodes = fuzz::RewriteCase::parse(graph).build();
  const PatternMatcher rules = few_rules();
  for (auto _ : state) benchmark::DoNotOptimize(graph_rewrite(nodes.back(), rules));
  state.SetItemsProcessed(1000 * state.iterations());
}
void rewritten_as_defined(benchmark::State& state, const char* graph) {
  const fuzz::RewriteCase c = fuzz::RewriteCase::parse(std::string(graph) + kRules);
  const std::vector<UOp> nodes = c.build();
  for (auto _ : state) {
    fuzz::PlainRewriting plain(c.passes[0].rules);
    benchmark::DoNotOptimize(plain.rewritten(nodes.back(), false, 10'000));
  }
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK_CAPTURE(rewritten, every node goes, kAll);
BENCHMARK_CAPTURE(rewritten_as_defined, every node goes, kAll);
BENCHMARK_CAPTURE(rewritten, no rule fits, kNone);
BENCHMARK_CAPTURE(rewritten_as_defined, no rule fits, kNone);

UOp chain(std::int64_t length) {
  UOp at = UOp::new_buffer(kHost, 16, DType::Float32);
  const UOp by = UOp::constant(Scalar::from_double(DType::Float32, 3), {16}, kHost);
  for (std::int64_t i = 0; i < length; ++i)
    at = at.alu(i % 2 == 0 ? GraphOp::Mul : GraphOp::Add, {by});
  return UOp::sink({at.contiguous()});
}

// All rules of the first pass, on nodes that they do not change.
void matched_by_the_simplifier(benchmark::State& state) {
  const std::vector<UOp> nodes = chain(1000).toposort();
  const PatternMatcher rules = kernelize::simplification();
  kernelize::Simplifying shared{Config::current()};
  for (auto _ : state)
    for (const UOp& u : nodes) benchmark::DoNotOptimize(rules.rewrite(u, RewriteContext(shared)));
  state.SetItemsProcessed(static_cast<std::int64_t>(nodes.size()) * state.iterations());
}
BENCHMARK(matched_by_the_simplifier);

void kernelized(benchmark::State& state) {
  const UOp sink = chain(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(kernelize_graph(sink));
  state.SetItemsProcessed(state.range(0) * state.iterations());
}
BENCHMARK(kernelized)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
