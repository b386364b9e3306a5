// Guarantees of time and memory: no heap use once warm, n log n for tied terms and nests, and
// caching that changes no results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <new>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "../support/sanitized.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/ask/question.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNT_ALLOCATIONS 0
#endif
#endif
#ifndef COUNT_ALLOCATIONS
#define COUNT_ALLOCATIONS 1
#endif

#if COUNT_ALLOCATIONS
namespace {
thread_local bool counting = false;
thread_local std::size_t allocations = 0;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (counting) ++allocations;
  if (void* const block = std::malloc(bytes ? bytes : 1)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif

namespace touchstone::symbolic {
namespace {

using Json = nlohmann::json;

struct TimedCase {
  std::string id, text;
  std::vector<std::tuple<std::string, std::optional<std::int64_t>, std::optional<std::int64_t>>>
      variables;
  std::vector<std::string> assumptions;
};

std::vector<TimedCase> timed_cases() {
  std::istringstream in(
      read_file(std::filesystem::path(__FILE__).parent_path() / "data" / "symbolic_cases.jsonl"));
  std::vector<TimedCase> all;
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line);
    TimedCase c{j["id"], j["in"], {}, {}};
    const auto end = [](const Json& e) {
      return e.is_null() ? std::optional<std::int64_t>() : e.get<std::int64_t>();
    };
    for (const auto& [name, ends] : j["vars"].items())
      c.variables.emplace_back(name, end(ends[0]), end(ends[1]));
    if (j.contains("assume")) c.assumptions = j["assume"].get<std::vector<std::string>>();
    all.push_back(std::move(c));
  }
  return all;
}

/// A case's names and assumptions in a context of its own.
struct Prepared {
  std::map<std::string, Node> names;
  std::vector<Node> assumptions;
};

Prepared prepare(const TimedCase& c, Context& context) {
  Prepared p;
  context.clear();
  for (const auto& [name, low, high] : c.variables)
    p.names.emplace(name, context.variable(name, low, high));
  if (p.names.empty()) p.names.emplace("none", context.variable("none", 0, 1));
  for (const std::string& text : c.assumptions) p.assumptions.push_back(parse(text, p.names));
  return p;
}

#if COUNT_ALLOCATIONS
TEST(Speed, AWarmContextNeverAsksTheHeap) {
  Context context;
  std::size_t expressions = 0;
  for (int round = 0; round < 3; ++round)
    for (const TimedCase& c : timed_cases()) {
      const Prepared p = prepare(c, context);
      allocations = 0;
      counting = true;
      const Node e = simplify_under(parse(c.text, p.names), p.assumptions);
      const std::size_t s = size(e);
      counting = false;
      EXPECT_GT(s, 0U);
      if (round == 0) continue;
      ++expressions;
      EXPECT_EQ(allocations, 0U) << c.id << ": " << c.text;
    }
  EXPECT_GT(expressions, 2'000U);
}
#endif

TEST(Speed, WhatIsRememberedChangesNoResult) {
  Context warm;
  std::map<std::string, std::string> texts;
  for (const TimedCase& c : timed_cases()) {
    const Prepared p = prepare(c, warm);  // alone
    texts[c.id] = render(simplify_under(parse(c.text, p.names), p.assumptions));
  }
  Context crowded;  // before, between and after all others, twice
  for (int round = 0; round < 2; ++round)
    for (const TimedCase& c : timed_cases()) {
      Prepared p;
      for (const auto& [name, low, high] : c.variables)
        p.names.emplace(name, crowded.variable(name, low, high));
      if (p.names.empty()) p.names.emplace("none", crowded.variable("none", 0, 1));
      for (const std::string& text : c.assumptions) p.assumptions.push_back(parse(text, p.names));
      const Node e = simplify_under(parse(c.text, p.names), p.assumptions);
      EXPECT_EQ(render(e), texts[c.id]) << c.id << ": " << c.text;
      EXPECT_EQ(size(e), size(e)) << c.id;
    }
}

/// Processor seconds of this thread, the best of three runs.
template <class Work>
double seconds(const Work& work) {
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    timespec from{}, to{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    work();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    least = std::min(least, static_cast<double>(to.tv_sec - from.tv_sec) +
                                1e-9 * static_cast<double>(to.tv_nsec - from.tv_nsec));
  }
  return least;
}

/// Tenfold input may take ten times the time, and as much again for n log n, caches and load; a
/// quadratic method would take a hundred times.
constexpr double kTenfold = 40;

Node nest(Context& context, int depth, int kind) {
  context.clear();
  const Node x = context.variable("x", 0, 1000), y = context.variable("y", 0, 9);
  Node e = x;
  for (int i = 0; i < depth; ++i) switch (kind) {
      case 0: e = floor_mod(e * 3 + y, 1009 + i % 7); break;
      case 1: e = floor_div(e + y * 5, 3); break;
      case 2: e = floor_mod(e * (y + x), 101); break;
      default:
        e = i % 2 ? min(e * 2 - y, x * 3 + i) : where(lt(e, y * 7 + i), x + i, floor_div(e, 2));
    }
  return e;
}

TEST(Speed, NestsTakeTimeInProportionToTheirDepth) {
  Context context;
  for (const int kind : {0, 1, 2, 3}) {
    if (kind == 3 && test::kSanitized) continue;  // half a minute there
    const int shallow = kind == 3 ? 10 : test::kSanitized ? 60 : 500;
    const auto work = [&](int depth) {
      return seconds([&] { EXPECT_GT(size(nest(context, depth, kind)), 0U); });
    };
    const double little = work(shallow), much = work(10 * shallow);
    EXPECT_LT(much, kTenfold * little) << "kind " << kind;
  }
}

TEST(Speed, TiedTermsAreNotTriedInAllWays) {
  Context context;
  const auto work = [&](int terms) {
    context.clear();
    std::vector<Node> list{context.variable("x", 0, 5)};
    for (int i = 0; i < terms; ++i)
      list.push_back(context.variable("t" + std::to_string(i), 0, 1 + i % 3) * 6);
    return seconds([&] { EXPECT_GT(size(floor_mod(sum(list), 12)), 0U); });
  };
  work(12);
  const double few = work(24), many = work(240);
  EXPECT_LT(many, kTenfold * few + 1e-3);
}

/// `between` joins n parts, each made from its number.
template <class Part>
std::string listed(int n, const char* between, const Part& part) {
  std::string text;
  for (int i = 0; i < n; ++i) text += (i == 0 ? "" : between) + part(i);
  return text;
}

TEST(Speed, WideExpressionsTakeTimeInProportionToTheirWidth) {
  const auto v = [](int i) { return "v" + std::to_string(i); };
  const auto repeated = [](int n, const std::string& part) {
    return listed(n, "", [&](int) { return part; });
  };
  using Text = std::function<std::string(int)>;
  const std::pair<const char*, Text> families[] = {
      {"max", [&](int n) { return "max(" + listed(n, ", ", v) + ")"; }},
      {"products with a factor in common",
       [&](int n) { return listed(n, " + ", [&](int i) { return v(i) + "*" + v(i + 1); }); }},
      {"choices",
       [&](int n) {
         return listed(n, " + ", [&](int i) {
           return "where(" + v(i) + " < " + v(i + 1) + ", " + v(i) + ", 3)";
         });
       }},
      {"nested choices",
       [&](int n) { return repeated(n, "where(") + "v0" + repeated(n, " < v1, 2*v0, v0 - v2)"); }},
      {"or", [&](int n) { return listed(n, " or ", [&](int i) { return v(i) + " < 5"; }); }},
      {"tmod", [&](int n) { return repeated(n, "tmod(") + "v0" + repeated(n, " + v1, 7)"); }},
      {"tdiv", [&](int n) { return repeated(n, "tdiv(") + "v0" + repeated(n, ", v1)"); }}};
  for (const auto& [name, text] : families) {
    const auto work = [&](int n) {
      Question q{{}, {}, text(n)};
      for (int i = 0; i <= n; ++i) q.variables.emplace_back(v(i), Interval{Int(-9), Int(9)});
      Context context;
      return seconds([&] { EXPECT_GT(answer(q, context).size, 0U); });
    };
    const int few = test::kSanitized ? 20 : 120;
    const double little = work(few), much = work(10 * few);
    EXPECT_LT(much, kTenfold * little + 1e-3) << name;
  }
}

TEST(Speed, ChainedAssumptionsTakeTimeInProportionToTheirNumber) {
  const auto work = [&](int n) {
    Question q{{}, {}, "v0 < v" + std::to_string(n)};
    for (int i = 0; i <= n; ++i)
      q.variables.emplace_back("v" + std::to_string(i), Interval{Int(0), Int(1'000'000)});
    for (int i = 0; i < n; ++i)
      q.assumptions.push_back("v" + std::to_string(i) + " < v" + std::to_string(i + 1));
    Context context;
    return seconds([&] { EXPECT_GT(answer(q, context).size, 0U); });
  };
  const double little = work(100), much = work(1'000);
  EXPECT_LT(much, kTenfold * little + 1e-3);
}

TEST(Speed, ThreadsShareWhatIsRemembered) {
  Context context;
  const Node x = context.variable("x", 0, 99), y = context.variable("y", 0, 3);
  std::vector<std::vector<std::size_t>> sizes(4);
  std::vector<std::thread> threads;
  for (auto& mine : sizes)
    threads.emplace_back([&] {
      for (int i = 1; i < 200; ++i) {
        const Node e = where(lt(x, y * i), floor_mod(x * i + y, 7 + i % 5), max(x, y));
        mine.push_back(size(e) + render(e).size());
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& mine : sizes) EXPECT_EQ(mine, sizes[0]);
}

}  // namespace
}  // namespace touchstone::symbolic
