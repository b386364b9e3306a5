#include <algorithm>
#include <map>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/expression_case.h"
#include "touchstone/symbolic/context.h"
#include "touchstone/symbolic/derivation_check.h"
#include "touchstone/symbolic/derive.h"
#include "touchstone/symbolic/program.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Context;
using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using symbolic::Int;
using symbolic::Node;
using symbolic::Path;

constexpr std::size_t kMostNodes = 2000;  // of a simplified form that is looked at
using Names = std::map<std::string, Node>;

/// The tree with its operands exchanged wherever that changes nothing.
Expr swapped(Exprs& exprs, Expr root) {
  std::map<Expr, Expr> now;
  for (const Expr e : exprs.parts(root)) {
    std::vector<Expr> args;
    for (const Expr a : exprs.args(e)) args.push_back(now.at(a));
    const ExprOp op = exprs.op(e);
    const bool commutes = op == ExprOp::Add || op == ExprOp::Mul || op == ExprOp::Eq ||
                          op == ExprOp::Ne || op == ExprOp::And || op == ExprOp::Or ||
                          op == ExprOp::Min || op == ExprOp::Max;
    if (commutes) std::ranges::reverse(args);
    now[e] = args.empty() ? e : exprs.apply(op, args);
  }
  return now.at(root);
}

std::string at(const ExpressionCase& c, const std::vector<Int>& point) {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "at " : ", ", c.variables[i].name, point[i].str());
  return text;
}

/// The expression as it stands in the text of a case.
std::string expression_in(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ', text.find('|') + 1);
  return text.substr(from, text.find('|', from) - from);
}

/// One case being checked.
class Check {
 public:
  Check(const std::string& text, Effort effort, Context& context, const Refute& refute)
      : case_(ExpressionCase::parse(text)),
        written_(expression_in(text)),
        hash_(hash_bytes(text)),
        full_(effort == Effort::Full),
        context_(context),
        refute_(refute),
        points_(points_of(case_, hash_, full_ ? 64 : 16)) {
    names_ = declared(context_);
  }

  Checked run() {
    Node node;
    const Expr root = case_.root;
    try {
      node = parse(written_, names_, context_);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      if (divides_by_zero()) return {Ending::Skipped, {}};
      return Checked::fail("refused", e.what());
    }
    if (size(node) > kMostNodes) return {Ending::Skipped, {}};
    const std::string shown = render(node);
    const Expr again = parse_expr(case_.exprs, shown);
    std::string under;
    std::optional<Expr> assumed;
    if (!case_.assumptions.empty() && simplify_given(node, under))
      assumed = parse_expr(case_.exprs, under);
    const ExpressionValues values(case_.exprs, case_.variables, points_);
    const symbolic::Interval& bounds = context_[node.id()].bounds;
    std::size_t defined = 0;
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const Int* const right = values.at(root, p);
      if (right == nullptr) continue;
      ++defined;
      if (const Int* v = values.at(again, p); v == nullptr || *v != *right)
        return differs(v == nullptr ? "defined" : "value", shown, p, right, v);
      if (bounds.lo && *bounds.lo > *right)
        return differs("bounds", fmt::format("at least {}", bounds.lo->str()), p, right, nullptr);
      if (bounds.hi && *bounds.hi < *right)
        return differs("bounds", fmt::format("at most {}", bounds.hi->str()), p, right, nullptr);
      if (assumed && holds(values, p))
        if (const Int* v = values.at(*assumed, p); v == nullptr || *v != *right)
          return differs(v == nullptr ? "defined" : "given", under, p, right, v);
    }
    if (std::optional<Checked> wrong = rest(node, shown, values)) return *wrong;
    return {defined == 0 ? Ending::Skipped : Ending::Pass, {}};
  }

 private:
  /// The variables of the case, in a context.
  Names declared(Context& context) const {
    Names names;
    for (const ExpressionCase::Variable& v : case_.variables) {
      symbolic::Interval range;
      if (v.low) range.lo = *v.low;
      if (v.high) range.hi = *v.high;
      names.emplace(v.name, context.variable(v.name, range));
    }
    return names;
  }

  // Whether some divisor is 0 at every point: then the expression may be refused as a whole.
  bool divides_by_zero() const {
    const ExpressionValues values(case_.exprs, case_.variables, points_);
    for (const Expr e : case_.exprs.parts(case_.root)) {
      const ExprOp op = case_.exprs.op(e);
      if (op != ExprOp::Div && op != ExprOp::Mod && op != ExprOp::TruncDiv &&
          op != ExprOp::TruncMod)
        continue;
      bool everywhere = true;
      for (std::size_t p = 0; p < points_.size(); ++p) {
        const Int* const divisor = values.at(case_.exprs.arg(e, 1), p);
        everywhere = everywhere && (divisor == nullptr || divisor->is_zero());
      }
      if (everywhere) return true;
    }
    return false;
  }

  bool often(std::uint64_t every, std::uint64_t salt) const {
    return full_ || hash_mix(hash_, salt) % every == 0;
  }

  Checked differs(std::string relation, const std::string& as, std::size_t point, const Int* right,
                  const Int* wrong) const {
    const std::string wrongly = wrong != nullptr ? ", not " + wrong->str() : std::string();
    return Checked::fail(std::move(relation),
                         fmt::format("{} simplified: {}; {} it is {}{}", written_, as,
                                     at(case_, points_[point]), right->str(), wrongly));
  }

  bool holds(const ExpressionValues& values, std::size_t p) const {
    return std::ranges::all_of(case_.assumptions, [&](Expr a) {
      const Int* v = values.at(a, p);
      return v != nullptr && !v->is_zero();
    });
  }

  bool simplify_given(Node node, std::string& out) {
    std::vector<Node> conditions;
    try {
      for (const Expr a : case_.assumptions)
        conditions.push_back(parse(render(case_.exprs, a), names_, context_));
      const Node result = given(node, conditions);
      if (size(result) > kMostNodes) return false;
      out = render(result);
      return true;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return false;  // an assumption that is undefined everywhere
    }
  }

  // What is costly: of a sample.
  std::optional<Checked> rest(Node node, const std::string& shown, const ExpressionValues& values) {
    if (often(8, 1) && parse(shown, names_, context_) != node)
      return Checked::fail("reads back",
                           fmt::format("{} simplified: {}; that reads back as {}", written_, shown,
                                       render(parse(shown, names_, context_))));
    if (often(16, 2)) {
      const std::string other = render(case_.exprs, swapped(case_.exprs, case_.root));
      if (parse(other, names_, context_) != node)
        return Checked::fail("swapped",
                             fmt::format("{} simplified: {}; but {}: {}", written_, shown, other,
                                         render(parse(other, names_, context_))));
    }
    if (often(32, 10))
      if (auto wrong = afterwards(shown)) return wrong;
    if (often(16, 3))
      if (auto wrong = programs(node, values)) return wrong;
    if (often(16, 4))
      if (auto wrong = put_back()) return wrong;
    if (often(16, 7))
      if (auto wrong = shifted(node, values)) return wrong;
    if (often(4, 8))
      if (auto wrong = tight(context_[node.id()].bounds, values)) return wrong;
    if (const std::size_t nodes = case_.exprs.size(case_.root);
        often(nodes <= 8 ? 256 : 2048, 9) && nodes < 30)
      if (auto wrong = steps()) return wrong;
    if (refute_ && hash_mix(hash_, 5) % 8192 == 0)
      if (auto point = refute_(written_, shown, box()))
        return Checked::fail(
            "proof", fmt::format("{} simplified: {}; not equal {}", written_, shown, *point));
    return std::nullopt;
  }

  // The variables' ranges as a condition.
  std::string box() const {
    std::string text = "0 == 0";
    for (const ExpressionCase::Variable& v : case_.variables) {
      if (v.low) text += fmt::format(" and {} <= {}", v.low->str(), v.name);
      if (v.high) text += fmt::format(" and {} <= {}", v.name, v.high->str());
    }
    return text;
  }

  std::optional<Checked> programs(Node node, const ExpressionValues& values) {
    symbolic::Program program(context_, node.id());
    std::vector<std::size_t> slots;
    for (const symbolic::Id id : program.variables()) {
      const auto v =
          std::ranges::find(case_.variables, *context_[id].name, &ExpressionCase::Variable::name);
      slots.push_back(static_cast<std::size_t>(v - case_.variables.begin()));
    }
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const Int* const right = values.at(case_.root, p);
      if (right == nullptr) continue;
      std::vector<Int> point;
      for (const std::size_t s : slots) point.push_back(points_[p][s]);
      const std::optional<Int> v = program.run(point);
      if (!v || *v != *right) return differs("program", "a program", p, right, v ? &*v : nullptr);
    }
    return std::nullopt;
  }

  // The same in a context that was asked for much the same before.
  std::optional<Checked> afterwards(const std::string& shown) {
    Context context;
    const Names names = declared(context);
    const std::string other = render(case_.exprs, swapped(case_.exprs, case_.root));
    for (const auto& [name, variable] : names)
      parse(fmt::format("({})*{}", other, name), names, context);
    const std::string now = render(parse(written_, names, context));
    if (now == shown) return std::nullopt;
    return Checked::fail("history", fmt::format("{} simplified: {}; after {} times a variable: {}",
                                                written_, shown, other, now));
  }

  // A part of the tree becomes a variable of its own, which is then replaced by the part.
  std::optional<Checked> put_back() {
    Exprs exprs = case_.exprs;
    Path path;
    Expr part = case_.root;
    for (std::uint64_t step = hash_mix(hash_, 6); !exprs.args(part).empty(); step /= 7) {
      if (!path.empty() && step % 3 == 0) break;
      path.push_back(static_cast<std::uint32_t>(step % exprs.args(part).size()));
      part = exprs.arg(part, path.back());
    }
    if (path.empty() || exprs.args(part).empty()) return std::nullopt;
    const std::string inner = render(exprs, part);
    const std::string outer =
        render(exprs, exprs.replace(case_.root, path, exprs.variable("part_")));
    std::string result;
    try {
      const Node by = parse(inner, names_, context_);
      Names names = names_;
      names.emplace("part_", context_.variable("part_", context_[by.id()].bounds));
      const Node whole = substitute(parse(outer, names, context_), {{"part_", by}});
      if (size(whole) > kMostNodes) return std::nullopt;
      result = render(whole);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;  // divides by zero wherever it is looked at
    }
    const Expr again = parse_expr(exprs, result);
    const ExpressionValues values(exprs, case_.variables, points_);
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const Int* const right = values.at(case_.root, p);
      if (right == nullptr || values.at(part, p) == nullptr) continue;
      if (const Int* v = values.at(again, p); v == nullptr || *v != *right)
        return differs("substitute", fmt::format("{} with part_ = {}: {}", outer, inner, result), p,
                       right, v);
    }
    return std::nullopt;
  }

  // What is asked of a part: that its bounds are attained, that it has no division, or that its
  // values are all those within its bounds.
  enum class Asked { Attained, Plain, Whole };

  // Whether bounds are attained where all parts are read once: sums, multiples, quotients of such
  // by positive constants, minima and maxima, and a remainder of a sum of variables.
  bool read_once(Expr e, Asked asked, std::vector<bool>& seen) const {
    const Exprs& x = case_.exprs;
    const auto arg = [&](std::size_t i) { return x.arg(e, i); };
    const auto both = [&](Asked of_each) {
      return read_once(arg(0), of_each, seen) && read_once(arg(1), of_each, seen);
    };
    const auto divisor = [&](int least) {
      return x.is_constant(arg(1)) && !x.value(arg(1)).is_zero() && x.value(arg(1)).sign() >= least;
    };
    if (x.is_constant(e)) return true;
    switch (x.op(e)) {
      case ExprOp::Variable: {
        const auto v =
            std::ranges::find(case_.variables, x.name(e), &ExpressionCase::Variable::name);
        const auto place = static_cast<std::size_t>(v - case_.variables.begin());
        if (!v->low || !v->high || seen[place]) return false;
        seen[place] = true;
        return true;
      }
      case ExprOp::Add:
      case ExprOp::Sub:
        return both(asked);
      case ExprOp::Neg:
        return read_once(arg(0), asked, seen);
      case ExprOp::Mul:
        return asked != Asked::Whole && (x.is_constant(arg(0)) || x.is_constant(arg(1))) &&
               both(Asked::Plain);
      case ExprOp::Div:
        return asked == Asked::Attained && divisor(1) && read_once(arg(0), Asked::Plain, seen);
      case ExprOp::Mod:
        return asked == Asked::Attained && divisor(-1) && read_once(arg(0), Asked::Whole, seen);
      case ExprOp::Min:
      case ExprOp::Max:
        return asked != Asked::Whole && both(asked);
      default:
        return false;
    }
  }

  std::optional<Checked> tight(const symbolic::Interval& bounds, const ExpressionValues& values) {
    Int points(1);
    for (const ExpressionCase::Variable& v : case_.variables) {
      if (!v.low || !v.high) return std::nullopt;
      points = points * (*v.high - *v.low + Int(1));
    }
    std::vector<bool> seen(case_.variables.size(), false);
    if (points != Int(static_cast<std::int64_t>(points_.size())) ||
        !read_once(case_.root, Asked::Attained, seen))
      return std::nullopt;
    std::optional<Int> low, high;
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const Int* const v = values.at(case_.root, p);
      if (v == nullptr) return std::nullopt;
      low = low && *low < *v ? *low : *v;
      high = high && *v < *high ? *high : *v;
    }
    if (bounds.lo && bounds.hi && *bounds.lo == *low && *bounds.hi == *high) return std::nullopt;
    return Checked::fail(
        "tight", fmt::format("{} is from {} to {}, and said to be from {} to {}", written_,
                             low->str(), high->str(), bounds.lo ? bounds.lo->str() : "below",
                             bounds.hi ? bounds.hi->str() : "above"));
  }

  // Steps that are all explained pass the checker, which is another program.
  std::optional<Checked> steps() const {
    std::vector<symbolic::Derivation::Variable> variables;
    for (const ExpressionCase::Variable& v : case_.variables)
      variables.push_back({v.name, v.low, v.high});
    std::vector<std::string> assumptions;
    for (const Expr a : case_.assumptions) assumptions.push_back(render(case_.exprs, a));
    try {
      symbolic::Derivation d = symbolic::derive(written_, variables, assumptions);
      for (const symbolic::Chain& chain : d.assumptions)
        if (unexplained(chain) > 0) return std::nullopt;
      if (unexplained(d.main) > 0) return std::nullopt;
      if (const auto flaw = find_flaw(d))
        return Checked::fail("steps", fmt::format("{}: {}", written_, flaw->what));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;  // divides by zero wherever it is looked at
    }
    return std::nullopt;
  }

  // Variable number k becomes, all at once, a new one that is less by k, plus k.
  std::optional<Checked> shifted(Node node, const ExpressionValues& values) {
    std::map<std::string, Node> replacements;
    std::vector<ExpressionCase::Variable> variables = case_.variables;
    std::vector<std::vector<Int>> points = points_;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const Int by(static_cast<std::int64_t>(k) + 1);
      ExpressionCase::Variable& v = variables[k];
      const std::string old = std::exchange(v.name, v.name + "_");
      symbolic::Interval range;
      if (v.low) range.lo = *v.low - by;
      if (v.high) range.hi = *v.high - by;
      replacements.emplace(old, context_.variable(v.name, range) +
                                    context_.constant(static_cast<std::int64_t>(k) + 1));
      for (std::vector<Int>& p : points) p[k] -= by;
    }
    std::string result;
    try {
      const Node whole = substitute(node, replacements);
      if (size(whole) > kMostNodes) return std::nullopt;
      result = render(whole);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;  // divides by zero wherever it is looked at
    }
    Exprs exprs;
    const Expr again = parse_expr(exprs, result);
    const ExpressionValues now(exprs, variables, points);
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const Int* const right = values.at(case_.root, p);
      if (right == nullptr) continue;
      if (const Int* v = now.at(again, p); v == nullptr || *v != *right)
        return differs("substitute",
                       fmt::format("{} with variables shifted: {}", render(node), result), p, right,
                       v);
    }
    return std::nullopt;
  }

  ExpressionCase case_;
  std::string written_;
  std::uint64_t hash_;
  bool full_;
  Context& context_;
  const Refute& refute_;
  Names names_;
  std::vector<std::vector<Int>> points_;
};

class SymbolicArea final : public Area {
 public:
  explicit SymbolicArea(Refute refute) : refute_(std::move(refute)) {}

  std::string_view name() const override { return "symbolic"; }
  std::string draw(Chooser& chooser) override { return draw_expression(chooser); }

  Checked check(const std::string& text, Effort effort) override {
    context_.clear();
    return Check(text, effort, context_, refute_).run();
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_expressions(ExpressionCase::parse(text));
  }

  Measure measure(const std::string& text) override {
    return measure_of(ExpressionCase::parse(text), text.size());
  }

  Extent extent(const std::string& text) override {
    const ExpressionCase c = ExpressionCase::parse(text);
    Extent extent;
    std::vector<Expr> roots{c.root};
    roots.insert(roots.end(), c.assumptions.begin(), c.assumptions.end());
    for (const Expr root : roots)
      for (const Expr e : c.exprs.parts(root)) extent.ops += c.exprs.args(e).empty() ? 0 : 1;
    return extent;
  }

  std::vector<Dimension> dimensions() const override;
  std::vector<CoverageRow> coverage(const std::string& text, Ending ending) override;

 private:
  Context context_;
  Refute refute_;
};

constexpr std::string_view kOpNames[] = {"const", "var", "or",  "and",   "not",  "<",   ">",  "<=",
                                         ">=",    "==",  "!=",  "+",     "-",    "*",   "//", "%",
                                         "neg",   "min", "max", "where", "tdiv", "tmod"};

std::vector<Dimension> SymbolicArea::dimensions() const {
  const std::vector<std::string> ops(std::begin(kOpNames), std::end(kOpNames));
  return {{"op", {ops.begin() + 2, ops.end()}},
          {"operand", ops},
          {"second", {"none", "0 or 1", "positive", "negative", "huge", "variable", "expression"}},
          {"ranges", {"closed", "half open", "open", "huge", "one value"}},
          {"assumptions", {"0", "1", "2"}},
          {"verdict", {"PASS", "SKIPPED"}}};
}

std::vector<CoverageRow> SymbolicArea::coverage(const std::string& text, Ending ending) {
  const ExpressionCase c = ExpressionCase::parse(text);
  int range = 0;
  for (const ExpressionCase::Variable& v : c.variables) {
    const bool closed = v.low && v.high;
    const int here = !v.low && !v.high                               ? 2
                     : !closed                                       ? 1
                     : *v.low == *v.high                             ? 4
                     : *v.high - *v.low > Int(std::int64_t{1} << 40) ? 3
                                                                     : 0;
    range = std::max(range, here);
  }
  const auto second = [&](Expr e) {
    if (c.exprs.args(e).size() < 2) return 0;
    const Expr b = c.exprs.arg(e, 1);
    if (c.exprs.op(b) == ExprOp::Variable) return 5;
    if (!c.exprs.is_constant(b)) return 6;
    const Int& k = c.exprs.value(b);
    if (abs(k) > Int(std::int64_t{1} << 30)) return 4;
    return k.sign() < 0 ? 3 : k < Int(2) ? 1 : 2;
  };
  std::vector<CoverageRow> rows;
  for (const Expr e : c.exprs.parts(c.root))
    for (const Expr a : c.exprs.args(e))
      rows.push_back({static_cast<int>(c.exprs.op(e)) - 2, static_cast<int>(c.exprs.op(a)),
                      second(e), range, std::min(static_cast<int>(c.assumptions.size()), 2),
                      ending == Ending::Skipped ? 1 : 0});
  return rows;
}

}  // namespace

std::unique_ptr<Area> make_symbolic_area(Refute refute) {
  return std::make_unique<SymbolicArea>(std::move(refute));
}

}  // namespace touchstone::fuzz
