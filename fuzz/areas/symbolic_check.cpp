#include "touchstone/fuzz/areas/symbolic_check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/codegen/index_lowering.h"
#include "touchstone/fuzz/areas/claim_check.h"
#include "touchstone/fuzz/areas/expression_form.h"
#include "touchstone/fuzz/areas/relation.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/node/compiled_node.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Context;
using symbolic::Expr;
using symbolic::Exprs;
using symbolic::Int;
using symbolic::Node;
using symbolic::Path;

constexpr std::size_t kMostNodes = 2000;  // of a simplified form that is checked
constexpr std::size_t kLong = 200;        // text length of operators with many operands
using Names = std::map<std::string, Node>;

/// The expression in a case's text, unparsed.
std::string expression_in(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ', text.find('|') + 1);
  if (from == std::string::npos) return {};
  return text.substr(from, text.find('|', from) - from);
}

/// A variable's range, lower by a number.
symbolic::Interval range_of(const ExpressionCase::Variable& v, const Int& by = Int(0)) {
  symbolic::Interval range;
  if (v.low) range.lo = *v.low - by;
  if (v.high) range.hi = *v.high - by;
  return range;
}

/// The text of a node with at most kMostNodes parts.
std::optional<std::string> short_text(Node node) {
  return size(node) > kMostNodes ? std::nullopt : std::optional(render(node));
}

/// One case being checked.
class Check {
 public:
  Check(const std::string& text, Effort effort, ExpressionMemory& memory, const Refute& refute)
      : text_(text),
        parts_(ExpressionCase::split(text)),
        written_(expression_in(text)),
        hash_(hash_bytes(text)),
        full_(effort == Effort::Full),
        context_(memory.context),
        read_(memory.trees),
        values_(memory.values),
        shifted_(memory.shifted),
        right_(memory.right),
        holds_(memory.holds),
        refute_(refute) {
    take_points(values_, parts_.variables, hash_, full_ ? 64 : 16);
    right_ = values_.evaluate(parts_.root);
    holds_.assign(values_.points(), 1);
    for (const std::string_view a : parts_.assumptions) {
      const Column& true_where = values_.evaluate(a);
      for (std::size_t p = 0; p < values_.points(); ++p)
        if (!true_where.defined(p) || true_where.is_zero(p)) holds_[p] = 0;
    }
    if (!values_.unknown().empty()) ExpressionCase::refuse_unknown(values_.unknown());
    names_ = declared(context_);
  }

  Checked run() {
    Checked checked = all();
    checked.passed_over = std::move(passed_over_);
    return checked;
  }

 private:
  Checked all() {
    try {
      node_ = parse(written_, names_, context_);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      if (divides_by_zero()) return {Ending::Skipped, {}};
      return Checked::fail("refused", e.what());
    }
    const std::optional<std::string> shown = short_text(node_);
    if (!shown) return {Ending::Skipped, {}};
    std::optional<std::string> under;
    if (!parts_.assumptions.empty()) under = simplify_given();
    if (refusal_)
      return Checked::fail("given", "the assumptions hold somewhere, and are " + *refusal_);
    if (std::optional<Checked> wrong = first_wrong(*shown, under)) return *wrong;
    shown_ = *shown;
    if (std::optional<Checked> wrong = rest()) return *wrong;
    return {has_value() ? Ending::Pass : Ending::Skipped, {}};
  }

  // The question did not apply, so nothing is wrong.
  std::nullopt_t nothing(std::string_view relation) {
    passed_over_.push_back(relation);
    return std::nullopt;
  }

  // Whether the expression has a value at some point; with `given`, where the assumptions hold.
  bool has_value(bool given = false) const {
    for (std::size_t p = 0; p < values_.points(); ++p)
      if (right_.defined(p) && (!given || holds_[p] != 0)) return true;
    return false;
  }

  bool unlike(const Column& column, std::size_t p) const {
    return !column.defined(p) || column.at(p) != right_.at(p);
  }

  // The first point with a mistake, and the mistake.
  std::optional<Checked> first_wrong(const std::string& shown,
                                     const std::optional<std::string>& under) const {
    const symbolic::Interval& bounds = context_[node_.id()].bounds;
    const Column again = values_.evaluate(shown);
    const Column assumed = under && *under != shown ? values_.evaluate(*under) : again;
    for (std::size_t p = 0; p < values_.points(); ++p) {
      if (!right_.defined(p)) continue;
      const Int right = right_.at(p);
      if (unlike(again, p)) return differs(again.defined(p) ? "value" : "defined", shown, p, again);
      if (bounds.lo && *bounds.lo > right)
        return differs("bounds", fmt::format("at least {}", bounds.lo->str()), p, std::nullopt);
      if (bounds.hi && *bounds.hi < right)
        return differs("bounds", fmt::format("at most {}", bounds.hi->str()), p, std::nullopt);
      if (under && holds_[p] != 0 && unlike(assumed, p))
        return differs(assumed.defined(p) ? "given" : "defined", *under, p, assumed);
    }
    return std::nullopt;
  }

  // The trees; only some relations need them.
  const ExpressionCase& trees() const { return read_.of(text_); }

  std::string at(std::size_t point) const {
    std::string text;
    for (std::size_t i = 0; i < parts_.variables.size(); ++i)
      text += fmt::format("{}{}={}", i == 0 ? "at " : ", ", parts_.variables[i].name,
                          values_.variable(i).at(point).str());
    return text;
  }

  /// The variables of the case, in a context.
  Names declared(Context& context) const {
    Names names;
    for (const ExpressionCase::Variable& v : parts_.variables)
      names.emplace(v.name, context.variable(v.name, range_of(v)));
    return names;
  }

  // True if no point has a value, or some divisor is 0 at every point: then the whole expression
  // may be refused.
  bool divides_by_zero() const {
    if (!has_value()) return true;
    const Exprs& exprs = trees().exprs;
    for (const Expr e : exprs.parts(trees().root)) {
      if (!divides(exprs.op(e))) continue;
      const Column& divisor = values_.evaluate(render(exprs, exprs.arg(e, 1)));
      bool everywhere = true;
      for (std::size_t p = 0; p < values_.points(); ++p)
        everywhere = everywhere && (!divisor.defined(p) || divisor.is_zero(p));
      if (everywhere) return true;
    }
    return false;
  }

  bool often(std::uint64_t every, std::uint64_t salt) const {
    return full_ || hash_mix(hash_, salt) % every == 0;
  }

  // `wrong`: the other value at the point, if any.
  Checked differs(std::string relation, const std::string& as, std::size_t point,
                  const std::optional<Int>& wrong) const {
    return Checked::fail(std::move(relation),
                         fmt::format("{} simplified: {}; {} it is {}{}", written_, as, at(point),
                                     right_.at(point).str(), wrong ? ", not " + wrong->str() : ""));
  }
  Checked differs(std::string relation, const std::string& as, std::size_t point,
                  const Column& wrong) const {
    const bool defined = wrong.defined(point);
    return differs(std::move(relation), as, point,
                   defined ? std::optional(wrong.at(point)) : std::nullopt);
  }

  std::optional<std::string> simplify_given() {
    std::vector<Node> conditions;
    const bool possible = has_value(true);
    try {
      for (const std::string_view a : parts_.assumptions)
        conditions.push_back(parse(std::string(a), names_, context_));
      if (possible && excluded(conditions)) refusal_ = "seen as a contradiction";
      return short_text(simplify_under(node_, conditions));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      if (possible) refusal_ = e.what();
      return nothing("given");  // an assumption that is undefined everywhere
    }
  }

  // The costly relations. Their order is part of the check: each adds nodes to the context.
  std::optional<Checked> rest() {
    using C = const Check;
    static constexpr Relation<Check> kRelations[] = {
        {"reads back", 8, 1, [](Check& c) { return c.reads_back(); },
         [](C& c) { return size(c.node_) <= symbolic::kLimits.reread_size && c.has_form(); }},
        {"swapped", 16, 2, [](Check& c) { return c.exchanged(); },
         [](C& c) { return c.has_form(); }},
        {"history", 32, 10, [](Check& c) { return c.afterwards(); },
         [](C& c) { return c.has_form(); }},
        {"program", 16, 3, [](Check& c) { return c.programs(); }},
        {"code", 16, 11, [](Check& c) { return c.code(); }, nullptr,
         [](C& c) { return c.written_.size() > kLong; }, 1},
        {"answer", 64, 14, [](Check& c) { return c.answer(); }, nullptr,
         [](C& c) { return c.has("tdiv(") || c.has("tmod("); }, 8},
        {"substitute", 16, 4, [](Check& c) { return c.put_back(); }},
        {"substitute", 16, 7, [](Check& c) { return c.shifted(); }},
        {"tight", 4, 8, [](Check& c) { return c.tight(); }},
        {"steps", 256, 9, [](Check& c) { return c.steps(); },
         [](C& c) {  // 1 in 2048 with more than 8 nodes
           const std::size_t nodes = c.nodes();
           return nodes < 30 && (nodes <= 8 || c.often(2048, 9));
         }},
        // The checker has the most rules for powers.
        {"claim", 64, 13, [](Check& c) { return c.claims(); }, [](C& c) { return c.nodes() <= 16; },
         [](C& c) { return c.has_powers(); }, 2},
        {"proof", 1, 5, [](Check& c) { return c.proof(); },
         [](C& c) { return c.refute_ && hash_mix(c.hash_, 5) % 8192 == 0; }},
    };
    return first_broken(kRelations, *this, [&](auto, std::uint64_t every, std::uint64_t salt) {
      return often(every, salt);
    });
  }

  // The text of a node; nothing if it is long or divides by zero at every point tried.
  template <class Make>
  static std::optional<std::string> text_of(const Make& make) {
    try {
      return short_text(make());
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  bool has_form() const { return has_one_form(trees().exprs, trees().root); }
  bool has(std::string_view part) const { return text_.find(part) != std::string::npos; }
  bool has_powers() const { return has(")*("); }
  std::size_t nodes() const { return trees().exprs.size(trees().root); }

  std::optional<Checked> reads_back() {
    const std::string again = render(parse(shown_, names_, context_));
    if (again == shown_) return std::nullopt;
    return Checked::fail("reads back", fmt::format("{} simplified: {}; that reads back as {}",
                                                   written_, shown_, again));
  }

  std::optional<Checked> exchanged() {
    const std::string other = swapped_text();
    const std::string same = render(parse(other, names_, context_));
    if (same == shown_) return std::nullopt;
    return Checked::fail(
        "swapped", fmt::format("{} simplified: {}; but {}: {}", written_, shown_, other, same));
  }

  std::optional<Checked> proof() {
    const auto point = refute_(written_, shown_, box());
    if (!point) return std::nullopt;
    return Checked::fail("proof",
                         fmt::format("{} simplified: {}; not equal {}", written_, shown_, *point));
  }

  std::string swapped_text() const {
    Exprs exprs = trees().exprs;
    const Expr other = swapped(exprs, trees().root);
    return render(exprs, other);
  }

  // The variables' ranges as a condition.
  std::string box() const {
    std::string text = "0 == 0";
    for (const ExpressionCase::Variable& v : parts_.variables) {
      if (v.low) text += fmt::format(" and {} <= {}", v.low->str(), v.name);
      if (v.high) text += fmt::format(" and {} <= {}", v.name, v.high->str());
    }
    return text;
  }

  std::size_t place_of(const std::string& name) const {
    const auto v = std::ranges::find(parts_.variables, name, &ExpressionCase::Variable::name);
    return static_cast<std::size_t>(v - parts_.variables.begin());
  }

  std::optional<Checked> programs() {
    symbolic::CompiledNode program(context_, node_.id());
    std::vector<std::size_t> slots;
    for (const symbolic::Id id : program.variables()) slots.push_back(place_of(context_.name(id)));
    std::vector<Int> point(slots.size());
    for (std::size_t p = 0; p < values_.points(); ++p) {
      if (!right_.defined(p)) continue;
      for (std::size_t s = 0; s < slots.size(); ++s) point[s] = values_.variable(slots[s]).at(p);
      const std::optional<Int> v = program.run(point);
      if (v && *v == right_.at(p)) continue;
      return differs("program", "a program", p, v);
    }
    return std::nullopt;
  }

  static bool has_no_operand(const codegen::BlockBuilder& builder, int last) {
    for (int i = 0; i <= last; ++i)
      if (std::ranges::any_of(builder.uop(i).src, [](int s) { return s < 0; })) return true;
    return false;
  }

  // Kernel code with constants for the variables, if it folds to a constant.
  std::optional<Checked> code() {
    for (std::size_t p = 0; p < std::min<std::size_t>(values_.points(), 4); ++p) {
      codegen::BlockBuilder builder;
      std::map<std::string, int> constants;
      for (std::size_t v = 0; v < parts_.variables.size(); ++v)
        if (const auto value = values_.variable(v).at(p).small())
          constants.emplace(parts_.variables[v].name, builder.int_const(*value));
      if (!right_.defined(p) || constants.size() < parts_.variables.size()) continue;
      int value = 0;
      try {
        value = codegen::lower_index(builder, node_, constants);
      } catch (const OverflowError&) {
        return std::nullopt;
      }
      const std::optional<std::int64_t> found = builder.known(value);
      if (!found && has_no_operand(builder, value))
        return Checked::fail("code",
                             written_ + " simplified: its code has no value for an operand");
      if (!found || Int(*found) == right_.at(p)) continue;
      return differs("code", "code", p, Int(*found));
    }
    return std::nullopt;
  }

  // The same in a context that simplified similar expressions before.
  std::optional<Checked> afterwards() {
    Context context;
    const Names names = declared(context);
    const std::string other = swapped_text();
    for (const auto& [name, variable] : names)
      parse(fmt::format("({})*{}", other, name), names, context);
    const std::string now = render(parse(written_, names, context));
    if (now == shown_) return std::nullopt;
    return Checked::fail("history", fmt::format("{} simplified: {}; after {} times a variable: {}",
                                                written_, shown_, other, now));
  }

  // Replaces a part of the tree by a variable, then the variable by the part.
  std::optional<Checked> put_back() {
    Exprs exprs = trees().exprs;
    Path path;
    Expr part = trees().root;
    for (std::uint64_t step = hash_mix(hash_, 6); !exprs.args(part).empty(); step /= 7) {
      if (!path.empty() && step % 3 == 0) break;
      path.push_back(static_cast<std::uint32_t>(step % exprs.args(part).size()));
      part = exprs.arg(part, path.back());
    }
    if (path.empty() || exprs.args(part).empty()) return std::nullopt;
    const std::string inner = render(exprs, part);
    const std::string outer =
        render(exprs, exprs.replace(trees().root, path, exprs.variable("part_")));
    const auto result = text_of([&] {
      const Node by = parse(inner, names_, context_);
      Names names = names_;
      names.emplace("part_", context_.variable("part_", context_[by.id()].bounds));
      return substitute(parse(outer, names, context_), {{"part_", by}});
    });
    if (!result) return nothing("substitute");
    const Column of_part = values_.evaluate(inner);
    const Column& again = values_.evaluate(*result);
    for (std::size_t p = 0; p < values_.points(); ++p)
      if (right_.defined(p) && of_part.defined(p) && unlike(again, p))
        return differs("substitute", fmt::format("{} with part_ = {}: {}", outer, inner, *result),
                       p, again);
    return std::nullopt;
  }

  std::optional<Checked> tight() const {
    const symbolic::Interval& bounds = context_[node_.id()].bounds;
    if (!right_.defined_everywhere()) return std::nullopt;
    Int points(1);
    for (const ExpressionCase::Variable& v : parts_.variables) {
      if (!v.low || !v.high) return std::nullopt;
      points = points * (*v.high - *v.low + Int(1));
    }
    if (points != Int(static_cast<std::int64_t>(values_.points()))) return std::nullopt;
    Int low = right_.at(0), high = low;
    for (std::size_t p = 1; p < values_.points(); ++p) {
      const Int v = right_.at(p);
      if (v < low) low = v;
      if (high < v) high = v;
    }
    if (bounds.lo && bounds.hi && *bounds.lo == low && *bounds.hi == high) return std::nullopt;
    if (!attains_bounds(trees())) return std::nullopt;
    return Checked::fail("tight",
                         fmt::format("{} is from {} to {}, and said to be from {} to {}", written_,
                                     low.str(), high.str(), bounds.lo ? bounds.lo->str() : "below",
                                     bounds.hi ? bounds.hi->str() : "above"));
  }

  // The answer under the assumptions, in the smallest form found.
  std::optional<Checked> answer() {
    symbolic::Question question{{}, {}, written_};
    for (const ExpressionCase::Variable& v : parts_.variables)
      question.variables.emplace_back(v.name, context_[names_.at(v.name).id()].bounds);
    question.assumptions.assign(parts_.assumptions.begin(), parts_.assumptions.end());
    std::vector<std::size_t> points;
    for (std::size_t p = 0; p < values_.points(); ++p)
      if (holds_[p] != 0 && right_.defined(p)) points.push_back(p);
    const AnswerReply reply = wrong_answer(question, values_, right_, points);
    if (reply.refused && (points.empty() || divides_by_zero())) return nothing("answer");
    if (reply.at) return differs("answer", reply.what, *reply.at, std::nullopt);
    if (!reply.what.empty()) return Checked::fail("answer", written_ + reply.what);
    return std::nullopt;
  }

  // Claims that the certificate checker accepts must hold at every point with a value.
  std::optional<Checked> claims() {
    const std::uint64_t tries = has_powers() ? 6 : 1;
    const bool asked = has_value(true);
    for (std::uint64_t i = 0; asked && i < (full_ ? 40 : tries); ++i) {
      std::string wrong = ask_claim(trees(), shown_, hash_mix(hash_, 20 + i)).wrong;
      // A forgery takes as long as fifty cases.
      const std::uint64_t forged = hash_mix(hash_, 60 + i);
      if (wrong.empty() && (full_ || forged % 16 == 0)) wrong = ask_forged(trees(), forged).wrong;
      if (!wrong.empty()) return Checked::fail("claim", wrong);
    }
    return std::nullopt;
  }

  // A derivation whose steps are all explained must pass the checker, an independent program.
  std::optional<Checked> steps() {
    std::vector<symbolic::Derivation::Variable> variables;
    for (const ExpressionCase::Variable& v : parts_.variables)
      variables.push_back({v.name, {v.low, v.high}});
    std::vector<std::string> assumptions;
    for (const Expr a : trees().assumptions) assumptions.push_back(render(trees().exprs, a));
    try {
      symbolic::Derivation d = symbolic::derive(written_, variables, assumptions);
      for (const symbolic::Chain& chain : d.assumptions)
        if (unexplained(chain) > 0) return nothing("steps");
      if (unexplained(d.main) > 0) return nothing("steps");
      if (const auto flaw = find_flaw(d))
        return Checked::fail("steps", fmt::format("{}: {}", written_, flaw->what));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return nothing("steps");  // divides by zero at every point tried
    }
    return std::nullopt;
  }

  // Replaces all variables at once: variable number k becomes x_ + k, where x_ is smaller by k.
  std::optional<Checked> shifted() {
    std::map<std::string, Node> replacements;
    shifted_.begin(values_.points());
    for (std::size_t k = 0; k < parts_.variables.size(); ++k) {
      const ExpressionCase::Variable& v = parts_.variables[k];
      const Int by(static_cast<std::int64_t>(k) + 1);
      const std::string name = v.name + "_";
      replacements.emplace(v.name, context_.variable(name, range_of(v, by)) +
                                       context_.constant(static_cast<std::int64_t>(k) + 1));
      Column& column = shifted_.add_variable(name);
      for (std::size_t p = 0; p < values_.points(); ++p)
        column.set(p, values_.variable(k).at(p) - by);
    }
    const auto result = text_of([&] { return substitute(node_, replacements); });
    if (!result) return nothing("substitute");
    const Column& now = shifted_.evaluate(*result);
    for (std::size_t p = 0; p < values_.points(); ++p)
      if (right_.defined(p) && unlike(now, p))
        return differs("substitute",
                       fmt::format("{} with variables shifted: {}", render(node_), *result), p,
                       now);
    return std::nullopt;
  }

  const std::string& text_;
  ExpressionCase::Parts parts_;
  std::string written_;
  std::uint64_t hash_;
  bool full_;
  Context& context_;
  LastParsed<ExpressionCase>& read_;
  PointValues &values_, &shifted_;
  Column& right_;
  std::vector<unsigned char>& holds_;
  const Refute& refute_;
  Names names_;
  Node node_;          // the simplified expression
  std::string shown_;  // and its text
  std::vector<std::string_view> passed_over_;
  std::optional<std::string> refusal_;  // of assumptions that hold somewhere
};

}  // namespace

Checked check_expression(const std::string& text, Effort effort, ExpressionMemory& memory,
                         const Refute& refute) {
  memory.context.clear();
  return Check(text, effort, memory, refute).run();
}

}  // namespace touchstone::fuzz
