// Certificates by the million: every answer to a drawn question has one, and near-miss claims are
// accepted only if they hold at drawn points (docs/measured/symbolic.md).
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/forge.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {
namespace {

using fuzz::ExpressionCase;
using fuzz::RandomChooser;
using Point = std::map<std::string, Int>;
using Value = std::optional<Int>;  // nullopt: it divides by zero

struct Options {
  std::uint64_t seed = 1, count = 100'000;
  std::size_t most = 60;
  int claims = 2;
  bool show = false;
};

struct Tally {
  std::uint64_t answers = 0, refused = 0, open = 0, steps = 0, unnamed = 0;
  std::uint64_t claims = 0, accepted = 0, points = 0, wrong = 0;
};

/// By the operators' definitions; recurses to the depth of the expression.
Value value_at(const Exprs& e, Expr x, const Point& point) {
  const ExprOp op = e.op(x);
  const auto arg = [&](std::size_t i) { return value_at(e, e.arg(x, i), point); };
  if (op == ExprOp::Constant) return e.value(x);
  if (op == ExprOp::Variable) return point.at(e.name(x));
  const Value first = arg(0);
  if (op == ExprOp::And || op == ExprOp::Or) {
    const bool stops = op == ExprOp::Or;
    const Value second = arg(1);
    for (const Value& v : {first, second})
      if (v && v->is_zero() != stops) return Int(stops);
    return first && second ? Value(Int(!stops)) : std::nullopt;
  }
  if (!first) return std::nullopt;
  if (op == ExprOp::Where) return arg(first->is_zero() ? 2 : 1);
  if (op == ExprOp::Not) return Int(first->is_zero());
  if (op == ExprOp::Neg) return -*first;
  Int value = *first;
  for (std::size_t i = 1; i < e.args(x).size(); ++i) {
    const Value next = arg(i);
    if (!next || (divides(op) && next->is_zero())) return std::nullopt;
    value = value_of(op, value, *next);
  }
  return value;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  void look_at(std::uint64_t number) {
    RandomChooser chooser(hash_mix(options_.seed, 0), number);  // else close seeds draw alike
    const std::string text = fuzz::draw_expression(chooser);
    const ExpressionCase c = ExpressionCase::parse(text);
    if (c.exprs.size(c.root) > options_.most) return;
    std::vector<Derivation::Variable> variables;
    for (const auto& v : c.variables) variables.push_back({v.name, {v.low, v.high}});
    std::vector<std::string> assumptions;
    for (const Expr a : c.assumptions) assumptions.push_back(render(c.exprs, a));
    try {
      Derivation d = derive(render(c.exprs, c.root), variables, assumptions);
      ++tally.answers;
      for (const DerivationStep& s : d.main.steps) {
        ++tally.steps;
        tally.unnamed += s.rule == kArithmetic;
      }
      if (find_flaw(d)) {
        ++tally.open;
        if (options_.show) fmt::print("open: {}\n", text);
      } else {
        compare(d, d.main.start, d.main.result, text, chooser);
      }
      for (int i = 0; i < options_.claims; ++i) claim(d, text, chooser);
    } catch (const Error&) {
      ++tally.refused;
    }
  }

  Tally tally;

 private:
  /// Claims, by cases, that the answer or the question with one part changed equals the question.
  void claim(Derivation& d, const std::string& text, RandomChooser& chooser) {
    Exprs& e = d.exprs;
    const Expr base = chooser.chance(1, 2) ? d.main.result : d.main.start;
    DerivationStep step;
    step.rule = kCases;
    step.before = d.main.start;
    step.after = step.whole = fuzz::nearly(e, base, chooser);
    step.context = e.variable("_");
    step.facts = facts_at(d, d.assumptions.size(), step.before, {});
    if (step.after == step.before) return;
    ++tally.claims;
    Ring ring(e);
    if (step_flaw(d, ring, step, step.before, d.assumptions.size(), Words::None)) return;
    ++tally.accepted;
    compare(d, step.before, step.after, text, chooser);
  }

  void compare(const Derivation& d, Expr before, Expr after, const std::string& text,
               RandomChooser& chooser) {
    for (int i = 0; i < 60; ++i) {
      Point point;
      for (const auto& [name, v] : d.variables) {
        const Int lo = v.lo ? *v.lo : v.hi ? *v.hi - Int(300) : Int(-150);
        const Int hi = v.hi ? *v.hi : lo + Int(300);
        const auto far = static_cast<std::int64_t>(chooser.below(std::uint64_t{1} << 40));
        const auto near = static_cast<std::int64_t>(chooser.below(5));
        point[name] = chooser.chance(1, 2)   ? lo + floor_mod(Int(far), hi - lo + 1)
                      : chooser.chance(1, 2) ? smaller(hi, lo + Int(near))
                                             : larger(lo, hi - Int(near));
      }
      bool holds = true;
      for (const Chain& a : d.assumptions) {
        const Value truth = value_at(d.exprs, a.start, point);
        holds = holds && truth && !truth->is_zero();
      }
      const Value mine = value_at(d.exprs, before, point);
      if (!holds || !mine) continue;
      const Value other = value_at(d.exprs, after, point);
      ++tally.points;
      if (!other || *other == *mine) continue;
      ++tally.wrong;
      fmt::print("wrong: {} = {} of {}\n", render(d.exprs, before), render(d.exprs, after), text);
      return;
    }
  }

  Options options_;
};

int run(const Options& o) {
  Run all(o);
  for (std::uint64_t i = 0; i < o.count; ++i) all.look_at(i);
  const Tally& t = all.tally;
  fmt::print("{} answers, {} without a certificate; {} questions refused\n", t.answers, t.open,
             t.refused);
  fmt::print("{} steps, {} by several laws of arithmetic at once\n", t.steps, t.unnamed);
  fmt::print("{} claims nearly right, {} accepted; {} values compared, {} wrong\n", t.claims,
             t.accepted, t.points, t.wrong);
  const bool certified = t.open * 1000 <= t.answers;
  return t.wrong == 0 && certified && t.answers > 0 ? 0 : 1;
}

}  // namespace
}  // namespace touchstone::symbolic

int main(int argc, char** argv) {
  touchstone::symbolic::Options o;
  CLI::App app("Asks for certificates of drawn questions, and for ones of claims nearly right");
  app.add_option("--seed", o.seed, "Of all questions");
  app.add_option("--count", o.count, "Questions to draw");
  app.add_option("--most", o.most, "Parts of a question, larger ones are left out");
  app.add_option("--claims", o.claims, "Claims a question");
  app.add_flag("--show", o.show, "Print the questions whose answer has no certificate");
  CLI11_PARSE(app, argc, argv);
  return touchstone::symbolic::run(o);
}
