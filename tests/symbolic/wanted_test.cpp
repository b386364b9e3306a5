// Forms and bounds that people want, data/wanted_forms.jsonl: which of them are reached.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "drawn.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/ask/session.h"
#include "touchstone/symbolic/notation/jsonl.h"

namespace touchstone::symbolic {
namespace {

using Json = nlohmann::json;

/// Values near 0 within the bounds; `round` draws them.
Point point_of(const Question& q, std::uint64_t round) {
  fuzz::RandomChooser chooser(3, round);
  Point point;
  for (const auto& [name, range] : q.variables) {
    const Int low = range.lo ? *range.lo : Int(-30);
    Int value = low + static_cast<std::int64_t>(chooser.below(60));
    if (range.hi && *range.hi < value) value = *range.hi;
    point.emplace(name, value);
  }
  return point;
}

/// True if the texts have the same value at points where the assumptions hold.
bool equal(const Question& q, const std::string& one, const std::string& other) {
  Exprs exprs;
  const Expr a = parse_expr(exprs, one), b = parse_expr(exprs, other);
  std::vector<Expr> given;
  for (const std::string& text : q.assumptions) given.push_back(parse_expr(exprs, text));
  int met = 0;
  for (std::uint64_t round = 0; round < 4'000 && met < 60; ++round) {
    const Point point = point_of(q, round);
    const auto holds = [&](Expr e) {
      const auto value = Definition(exprs, e).at(point);
      return value && !value->is_zero();
    };
    const auto value = Definition(exprs, a).at(point);
    if (!value || !std::ranges::all_of(given, holds)) continue;
    ++met;
    if (Definition(exprs, b).at(point) != value) return false;
  }
  return met > 0;
}

std::size_t size_of(const std::string& text) {
  Exprs exprs;
  const Expr e = parse_expr(exprs, text);
  return exprs.size(e);
}

}  // namespace

TEST(WantedForms, AreReachedWhereTheTableSaysSo) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "data" / "wanted_forms.jsonl";
  std::istringstream in(read_file(path));
  Session session;
  int reached = 0, rows = 0;
  for (std::string line; std::getline(in, line); ++rows) {
    const Json row = Json::parse(line);
    const Question q = read_question(line);
    const Answer answer = session.answer(q);
    EXPECT_TRUE(equal(q, q.text, answer.text)) << line << "\n  " << answer.text;
    bool met = true;
    if (row.contains("want")) {
      const std::string want = row["want"];
      EXPECT_TRUE(equal(q, q.text, want)) << line;
      met = answer.size <= size_of(want);
    }
    if (row.contains("bounds")) {
      const auto end = [&](std::size_t i) {
        const Json& e = row["bounds"][i];
        return e.is_null() ? End() : End(Int(e.get<std::int64_t>()));
      };
      met = met && answer.bounds == Interval{end(0), end(1)};
    }
    reached += met ? 1 : 0;
    EXPECT_EQ(met, row["reached"].get<bool>())
        << line << "\n  " << answer.text << " " << range_and_size(answer);
  }
  std::cout << reached << " of " << rows << " wanted forms are reached\n";
}

}  // namespace touchstone::symbolic
