// The cost of views: merge, simplify, expr_idxs and hash over families of stacks. Prints a table.
// usage: shapetracker_bench [STACKS per family, default 2000]
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "families.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/view/shapetracker.h"

namespace {
std::int64_t allocations = 0;
}

// Counts heap allocations of the operations below; one thread runs at a time.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace touchstone::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Mean per pair in tinygrad of 2025-07-31, the last with ShapeTrackers, on a mix of such pairs.
constexpr double kLineageNs = 644e3;

/// Per stack, in nanoseconds.
struct Timing {
  double mean = 0, p50 = 0, p99 = 0, most = 0, allocations = 0;
};

// Each stack's time is its best pass, because disturbances hit single passes. Memory::Fresh: every
// pass runs on a new thread, without caches of earlier ones.
enum class Memory : std::uint8_t { Kept, Fresh };
Timing measure(std::size_t count, int passes, const std::function<void(std::size_t)>& run,
               Memory memory = Memory::Kept) {
  std::vector<double> best(count, 1e18);
  const std::int64_t before = allocations;
  std::int64_t own = 0;
  const auto pass = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const auto start = Clock::now();
      run(i);
      const double ns = static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count());
      best[i] = std::min(best[i], ns);
    }
  };
  for (int i = 0; i < passes; ++i)
    if (memory == Memory::Fresh)
      std::thread(pass).join();
    else
      pass();
  own = allocations - before;
  Timing timing;
  for (const double ns : best) timing.mean += ns / static_cast<double>(count);
  timing.allocations = static_cast<double>(own) / static_cast<double>(count) / passes;
  std::ranges::sort(best);
  timing.p50 = best[count / 2];
  timing.p99 = best[count - 1 - count / 100];
  timing.most = best.back();
  return timing;
}

std::string time_str(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  return ns < 1e6 ? fmt::format("{:.2f} us", ns / 1e3) : fmt::format("{:.2f} ms", ns / 1e6);
}

std::string rate_str(double ns) {
  const double each_second = 1e9 / ns;
  return each_second < 1e6 ? fmt::format("{:.0f} k", each_second / 1e3)
                           : fmt::format("{:.1f} M", each_second / 1e6);
}

void print_row(const std::string& what, const std::string& family, const Timing& t,
               const std::string& answer, const std::string& lineage) {
  fmt::print("| {} | {} | {} | {} | {} | {} | {:.1f} | {} | {} |\n", what, family, rate_str(t.mean),
             time_str(t.p50), time_str(t.p99), time_str(t.most), t.allocations, answer, lineage);
}

void bench_merge(const Family& family) {
  const auto& stacks = family.stacks;
  std::size_t merged = 0;
  for (const auto& stack : stacks)
    merged += shapetracker::merge_stack(stack).answer == shapetracker::MergeAnswer::Merged;
  const Timing t = measure(stacks.size(), 7, [&](std::size_t i) {
    volatile auto answer = shapetracker::merge_stack(stacks[i]).answer;
    (void)answer;
  });
  const double share = static_cast<double>(merged) / static_cast<double>(stacks.size());
  print_row("merge", family.name, t, fmt::format("{:.1f} % are one view", 100 * share),
            fmt::format("{:.0f} x", kLineageNs / t.mean));
}

void bench_chains(const Family& family) {
  std::vector<ShapeTracker> composed, simple;
  double before = 0, after = 0;
  for (const auto& stack : family.stacks) {
    composed.emplace_back(stack);
  }
  print_row(
      "simplify, new", family.name,
      measure(
          composed.size(), 7, [&](std::size_t i) { (void)simplify(composed[i]); }, Memory::Fresh),
      "", "");
  for (const auto& stack : family.stacks) {
    simple.emplace_back(simplify(ShapeTracker(stack)));
    before += static_cast<double>(stack.size());
    after += static_cast<double>(simple.back().views().size());
  }
  const std::size_t count = composed.size();
  const auto n = static_cast<double>(count);
  print_row("simplify, again", family.name,
            measure(count, 7, [&](std::size_t i) { (void)simplify(composed[i]); }),
            fmt::format("{:.3f} views, {:.3f} left", before / n, after / n), "");
  print_row("expr_idxs, new", family.name,
            measure(count, 1, [&](std::size_t i) { (void)expr_idxs(simple[i]); }), "", "");
  print_row("expr_idxs, again", family.name,
            measure(count, 5, [&](std::size_t i) { (void)expr_idxs(simple[i]); }), "", "");
  volatile std::uint64_t sink = 0;
  print_row("hash", family.name,
            measure(count, 7, [&](std::size_t i) { sink = sink ^ simple[i].hash(); }), "", "");
}

int run(int argc, char** argv) {
  int count = 2000;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count < 1) {
      fmt::print(stderr, "shapetracker_bench: '{}' is not a number of stacks\n", text);
      return 2;
    }
  }
  fmt::print(
      "| what | family | a second | p50 | p99 | most | allocations | | July-25's mean pair, 644 "
      "us, "
      "against the mean |\n|---|---|---:|---:|---:|---:|---:|---|---:|\n");
  for (const Family& family : pair_families(count)) bench_merge(family);
  for (const Family& family : chain_families(count)) bench_chains(family);
  return 0;
}

}  // namespace
}  // namespace touchstone::bench

int main(int argc, char** argv) { return touchstone::bench::run(argc, argv); }
