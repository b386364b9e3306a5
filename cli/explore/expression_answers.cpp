#include <nlohmann/json.hpp>

#include "touchstone/base/suggest.h"
#include "touchstone/cli/explore/answers.h"
#include "touchstone/decide/decide.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/certificate/step_words.h"
#include "touchstone/symbolic/notation/jsonl.h"
#include "touchstone/symbolic/notation/notation.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::explore {

using symbolic::Derivation;
using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Int;

namespace {

// A number if a double holds it, else text.
Json json_of(const Int& value) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  const auto small = value.small();
  if (small && *small >= -kMost && *small <= kMost) return *small;
  return value.str();
}

}  // namespace

Json translate_answer(const Json& question) {
  const symbolic::Translation t =
      symbolic::translate({{}, texts_in(question, "assume"), text_in(question, "in")},
                          symbolic::parse_language(text_in(question, "from")));
  Json results = Json::array(), variables = Json::object();
  const auto end = [](const symbolic::End& e) { return e ? json_of(*e) : Json(); };
  for (const symbolic::Question& q : t.questions) results.push_back(q.text);
  for (const auto& [name, range] : t.questions.at(0).variables)
    variables[name] = {end(range.lo), end(range.hi)};
  return {{"results", std::move(results)},
          {"vars", std::move(variables)},
          {"assume", t.questions[0].assumptions},
          {"notes", t.notes}};
}

Json steps_answer(std::string_view line) {
  const symbolic::Question q = symbolic::read_question(line);
  Derivation d = symbolic::derive(q);
  const auto flaw = symbolic::find_flaw(d);
  Json assumptions = Json::array();
  for (const symbolic::Chain& a : d.assumptions) assumptions.push_back(json_of(d, a));
  Json out = json_of(d, d.main);
  out["given"] = bounds_words(d);
  out["assumptions"] = std::move(assumptions);
  out["verdict"] = derivation_verdict(d, flaw);
  out["good"] = !flaw;
  return out;
}

namespace {

/// The variables of a table, and all points.
struct Table {
  struct Axis {
    std::string name;
    std::int64_t lo = 0, hi = 0;
  };
  std::vector<Axis> axes;
  std::vector<std::string> names;  // of the axes, then of the others
  std::vector<Int> others;
  std::size_t points = 1;
};

std::int64_t whole(const Json& value, const std::string& what) {
  if (!value.is_number_integer()) throw ParseError(what + ": expected a 64-bit integer");
  return value.get<std::int64_t>();
}

Table read_table(const Json& question) {
  Table t;
  const Json over = question.value("over", Json::array());
  if (!over.is_array()) throw ParseError("\"over\": expected a list as [[\"x\",0,9]]");
  for (const Json& axis : over) {
    if (!axis.is_array() || axis.size() != 3 || !axis[0].is_string())
      throw ParseError("\"over\": expected a list as [[\"x\",0,9]]");
    Table::Axis a{axis[0].get<std::string>(), whole(axis[1], "over"), whole(axis[2], "over")};
    if (a.hi < a.lo) throw ParseError(fmt::format("over: the range of {} is empty", a.name));
    const auto size = static_cast<std::uint64_t>(a.hi) - static_cast<std::uint64_t>(a.lo);
    if (size >= kMostPoints || t.points * (size + 1) > kMostPoints)
      throw ParseError(fmt::format("over: more than {} points", kMostPoints));
    t.points *= size + 1;
    t.names.push_back(a.name);
    t.axes.push_back(std::move(a));
  }
  const Json at = question.value("at", Json::object());
  for (const auto& [name, value] : at.items()) {
    t.names.push_back(name);
    t.others.emplace_back(whole(value, "at"));
  }
  return t;
}

}  // namespace

Json values_answer(const Json& question) {
  symbolic::Exprs exprs;
  const Expr written = parse_expr(exprs, text_in(question, "written"));
  const Expr shorter = parse_expr(exprs, text_in(question, "short"));
  std::vector<Expr> roots{written, shorter};
  for (const std::string& text : texts_in(question, "assume"))
    roots.push_back(parse_expr(exprs, text));
  const Table table = read_table(question);
  for (const std::string& name : prove::variables_of(exprs, roots))
    if (std::ranges::find(table.names, name) == table.names.end())
      throw ParseError(fmt::format("\"{}\" has no value; give it in \"at\" or \"over\"", name));
  symbolic::Evaluator values(exprs, roots, table.names);
  std::vector<Int> point;
  for (const Table::Axis& a : table.axes) point.emplace_back(a.lo);
  point.insert(point.end(), table.others.begin(), table.others.end());
  Json first = Json::array(), second = Json::array(), asked = Json::array();
  bool agree = true;
  const auto json = [](const std::optional<Int>& v) { return v ? json_of(*v) : Json(nullptr); };
  for (std::size_t i = 0; i < table.points; ++i) {
    values.at(point);
    const bool holds = std::all_of(roots.begin() + 2, roots.end(), [&](Expr e) {
      const std::optional<Int>& v = values.value(e);
      return v && *v != 0;
    });
    const std::optional<Int>&a = values.value(written), &b = values.value(shorter);
    agree = agree && (!holds || !a || (b && *a == *b));
    first.push_back(json(a));
    second.push_back(json(b));
    asked.push_back(holds ? 1 : 0);
    for (std::size_t k = table.axes.size(); k-- > 0;) {
      if (point[k] != table.axes[k].hi) {
        point[k] += 1;
        break;
      }
      point[k] = table.axes[k].lo;
    }
  }
  return {{"written", std::move(first)},
          {"short", std::move(second)},
          {"asked", std::move(asked)},
          {"agree", agree}};
}

namespace {

prove::Claim claim_named(const std::string& text) {
  for (prove::Named& rule : prove::all_rules())
    if (rule.name == text) return std::move(rule.claim);
  return prove::read_claim(text);
}

prove::Claim within(prove::Claim claim, std::int64_t lo, std::int64_t hi) {
  for (const std::string& name : prove::variables_of(claim.exprs, prove::roots_of(claim))) {
    const Expr v = claim.exprs.variable(name);
    claim.when.push_back(claim.exprs.apply(ExprOp::Le, {claim.exprs.constant(lo), v}));
    claim.when.push_back(claim.exprs.apply(ExprOp::Le, {v, claim.exprs.constant(hi)}));
  }
  return claim;
}

Json refutation(const std::string& claim, const prove::Counterexample& found) {
  Json point = Json::object();
  for (const auto& [name, value] : found.point) point[name] = json_of(value);
  return {{"claim", claim},
          {"verdict", "refuted"},
          {"point", std::move(point)},
          {"lhs", json_of(found.lhs)},
          {"rhs", found.rhs ? json_of(*found.rhs) : Json(nullptr)},
          {"text", text_of(found)}};
}

}  // namespace

Json prove_answer(const Json& question) {
  constexpr std::size_t kEnumerated = 100'000, kFirst = 3'000, kSearched = 20'000;
  constexpr std::int64_t kWidest = 1'000;
  const prove::Claim claim = claim_named(text_in(question, "claim"));
  const std::string text = text_of(claim);
  if (const auto all = prove::enumerate(claim, kEnumerated)) {
    if (all->counterexample) return refutation(text, *all->counterexample);
    return {{"claim", text},
            {"verdict", "proved"},
            {"points", all->points},
            {"text", fmt::format("all {} points that satisfy the condition", all->points)}};
  }
  // Small points first, like the prover.
  if (const auto found = prove::search(claim, kFirst)) return refutation(text, *found);
  if (text_in(question, "claim").find("->") != std::string::npos) {  // no rule proves itself
    decide::Work work{{}, false};
    work.limits.last_points = kSearched;
    const prove::Proof proof = decide::Decider(work).decide(claim);
    if (proof.counterexample) return refutation(text, *proof.counterexample);
    if (proof.verdict == prove::Verdict::Proved)
      return {{"claim", text}, {"verdict", "proved"}, {"text", decide::words_of(proof)}};
  }
  const Json range = question.value("within", Json::array({-8, 8}));
  if (!range.is_array() || range.size() != 2)
    throw ParseError("\"within\": expected two bounds as [-8,8]");
  std::int64_t lo = std::max(whole(range[0], "within"), -kWidest);
  std::int64_t hi = std::min(whole(range[1], "within"), kWidest);
  if (hi < lo) throw ParseError("\"within\": the range is empty");
  std::optional<prove::Enumeration> some;
  while (!(some = prove::enumerate(within(claim, lo, hi), kEnumerated)) && lo < hi) {
    if (-lo > hi)
      ++lo;
    else
      --hi;
  }
  if (some && some->counterexample) return refutation(text, *some->counterexample);
  if (const auto found = prove::search(claim, kSearched)) return refutation(text, *found);
  return {{"claim", text},
          {"verdict", "open"},
          {"points", some ? some->points : 0},
          {"within", {lo, hi}},
          {"text",
           fmt::format(
               "no counterexample among all points with variables from {} to {} and {} larger ones",
               lo, hi, kSearched)}};
}

Json rules_answer() {
  Json all = Json::array();
  for (const prove::Named& r : prove::all_rules())
    all.push_back({{"name", r.name}, {"title", r.title}, {"claim", text_of(r.claim)}});
  return {{"rules", std::move(all)}};
}

}  // namespace touchstone::explore
