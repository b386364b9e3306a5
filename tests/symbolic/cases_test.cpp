// The sample of test expectations of six compilers, tests/symbolic/data/.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "touchstone/base/file.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Json = nlohmann::json;

std::vector<Json> cases() {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "data" / "symbolic_cases.jsonl";
  std::istringstream in(read_file(path));
  std::vector<Json> all;
  for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
  return all;
}

struct Case {
  std::map<std::string, Node> names;
  std::vector<Node> assumptions;
  Node result;
};

Case read(const Json& j) {
  Case c;
  for (const auto& [name, range] : j["vars"].items()) {
    const auto end = [&ends = range](std::size_t i) {
      return ends[i].is_null() ? std::optional<std::int64_t>() : ends[i].get<std::int64_t>();
    };
    c.names.emplace(name, variable(name, end(0), end(1)));
  }
  if (j.contains("assume"))
    for (const std::string text : j["assume"]) c.assumptions.push_back(parse(text, c.names));
  c.result = simplify_under(parse(j["in"].get<std::string>(), c.names), c.assumptions);
  return c;
}

/// A few values of each variable: the ends, and numbers near them and near 0.
std::vector<Values> points(const Json& j) {
  std::vector<Values> all{{}};
  for (const auto& [name, ends] : j["vars"].items()) {
    const std::int64_t lo = ends[0].is_null() ? -11 : ends[0].get<std::int64_t>();
    const std::int64_t hi =
        ends[1].is_null() ? std::max<std::int64_t>(lo + 12, 13) : ends[1].get<std::int64_t>();
    std::vector<std::int64_t> some;
    for (const std::int64_t v : {lo, lo + 1, lo + 3, std::int64_t{-5}, std::int64_t{2}, hi - 2, hi})
      if (v >= lo && v <= hi && std::ranges::find(some, v) == some.end()) some.push_back(v);
    std::vector<Values> next;
    for (const Values& v : all)
      for (const std::int64_t x : some) {
        if (next.size() >= 2'000) break;
        next.push_back(v);
        next.back()[name] = x;
      }
    all = std::move(next);
  }
  return all;
}

/// The text with numbers for its names, which only folds constants; nullopt for a division by 0.
std::optional<Node> folded(const std::string& text, const Values& v) {
  std::map<std::string, Node> numbers;
  for (const auto& [name, x] : v) numbers.emplace(name, Node(x));
  try {
    return parse(text, numbers);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Cases, AreNeverWrong) {
  for (const Json& j : cases()) {
    const Case c = read(j);
    const std::string text = j["in"];
    for (const Values& v : points(j)) {
      const bool holds =
          std::ranges::all_of(c.assumptions, [&](const Node& a) { return evaluate(a, v) != 0; });
      const auto want = holds ? folded(text, v) : std::nullopt;
      if (!want || !want->constant()) continue;
      ASSERT_EQ(evaluate(c.result, v), *want->constant())
          << j["id"] << ": " << text << " -> " << render(c.result);
    }
  }
}

/// How many of a source's cases are at most as large as expected. May rise, not fall.
const std::map<std::string, int> kReached = {
    {"halide-simplify", 314},
    {"mlir-affine-map", 28},
    {"mlir-simplify-structures", 4},
    {"pytorch-inductor-indexing", 22},
    {"sympy-1.11-Mod", 12},
    {"tinygrad-0.10.0", 2},
    {"tinygrad-0.11.0", 110},
    {"tinygrad-0.12.0", 35},
    {"tinygrad-0.13.0", 6},
    {"tinygrad-0.8.0", 46},
    {"tinygrad-0.9.2", 7},
    {"tinygrad-2026-08", 152},
    {"tvm-canonical_simplify", 39},
    {"tvm-rewrite_simplify", 224},
    {"tvm-simplify", 3},
    {"tvm-z3", 15},
    {"xla-indexing_map", 25},
    {"xla-symbolic_expr", 15},
};
constexpr int kReachedBest = 1054;  // of all cases, at most as large as the smallest known form

TEST(Cases, AreAsShortAsExpected) {
  int all = 0, wanted = 0, best = 0;
  std::map<std::string, std::pair<int, int>> by_source;
  for (const Json& j : cases()) {
    const std::size_t reached = size(read(j).result);
    const bool short_enough = reached <= j["size_want"].get<std::size_t>();
    ++all;
    wanted += short_enough;
    best += reached <= j["size_best"].get<std::size_t>();
    const std::string id = j["id"];
    auto& [count, good] = by_source[id.substr(0, id.find('/'))];
    ++count;
    good += short_enough;
  }
  for (const auto& [source, share] : by_source) {
    std::cout << source << ": " << share.second << " of " << share.first << "\n";
    EXPECT_GE(share.second, kReached.at(source)) << source;
  }
  std::cout << "size <= wanted: " << wanted << " of " << all << ", size <= best: " << best << "\n";
  EXPECT_GE(best, kReachedBest);
}

}  // namespace
}  // namespace touchstone::symbolic
