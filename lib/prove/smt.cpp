#include "touchstone/prove/smt.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace touchstone::prove {

namespace {

bool is_condition(ExprOp op) { return (op >= ExprOp::Or && op <= ExprOp::Ne); }

/// Writes each part once: leaves and small parts inline, reused parts as definitions. Operands come
/// first, so nothing recurses.
class Writer {
 public:
  Writer(const Exprs& exprs, const std::vector<Expr>& roots) : exprs_(exprs) {
    std::set<Expr> all;
    for (const Expr root : roots) {
      ++uses_[root];
      for (const Expr e : exprs.parts(root)) all.insert(e);
    }
    for (const Expr e : all)
      for (const Expr a : exprs.args(e)) ++uses_[a];
    for (const Expr e : all) write(e);
  }

  std::string head() const { return declarations_ + definitions_; }
  std::string number(Expr e) const {
    return is_condition(exprs_.op(e)) ? "(ite " + text_.at(e) + " 1 0)" : text_.at(e);
  }
  std::string condition(Expr e) const {
    if (exprs_.is_constant(e)) return exprs_.value(e).is_zero() ? "false" : "true";
    return is_condition(exprs_.op(e)) ? text_.at(e) : "(not (= " + text_.at(e) + " 0))";
  }

 private:
  static constexpr std::size_t kShort = 24;

  void write(Expr e) {
    std::string text = plain(e);
    const ExprOp op = exprs_.op(e);
    if (op == ExprOp::Variable) {
      declarations_ += fmt::format("(declare-const {} Int)\n", text);
    } else if (uses_[e] > 1 && text.size() > kShort) {
      const std::string name = fmt::format("part.{}", ++defined_);
      definitions_ +=
          fmt::format("(define-fun {} () {} {})\n", name, is_condition(op) ? "Bool" : "Int", text);
      text = name;
    }
    text_.emplace(e, std::move(text));
  }

  std::string plain(Expr e) {
    const auto number_of = [&](std::size_t i) { return number(exprs_.arg(e, i)); };
    const auto condition_of = [&](std::size_t i) { return condition(exprs_.arg(e, i)); };
    const auto numbers = [&](const char* op) {
      return fmt::format("({} {} {})", op, number_of(0), number_of(1));
    };
    switch (exprs_.op(e)) {
      case ExprOp::Constant: {
        const Int& v = exprs_.value(e);
        return v.sign() < 0 ? "(- " + (-v).str() + ")" : v.str();
      }
      case ExprOp::Variable: return smt_name(exprs_.name(e));
      case ExprOp::Or: return fmt::format("(or {} {})", condition_of(0), condition_of(1));
      case ExprOp::And: return fmt::format("(and {} {})", condition_of(0), condition_of(1));
      case ExprOp::Not: return fmt::format("(not {})", condition_of(0));
      case ExprOp::Lt: return numbers("<");
      case ExprOp::Gt: return numbers(">");
      case ExprOp::Le: return numbers("<=");
      case ExprOp::Ge: return numbers(">=");
      case ExprOp::Eq: return numbers("=");
      case ExprOp::Ne: return fmt::format("(not {})", numbers("="));
      case ExprOp::Add: return numbers("+");
      case ExprOp::Sub: return numbers("-");
      case ExprOp::Mul: return numbers("*");
      case ExprOp::Neg: return fmt::format("(- {})", number_of(0));
      case ExprOp::Div:
      case ExprOp::Mod: return division(e);
      case ExprOp::Where:
        return fmt::format("(ite {} {} {})", condition_of(0), number_of(1), number_of(2));
      case ExprOp::TruncDiv:
      case ExprOp::TruncMod: return truncation(e);
      default: return extreme(e);
    }
  }

  std::string division(Expr e) {
    const bool mod = exprs_.op(e) == ExprOp::Mod;
    const std::string a = number(exprs_.arg(e, 0)), b = number(exprs_.arg(e, 1));
    const Expr divisor = exprs_.arg(e, 1);
    if (exprs_.is_constant(divisor) && exprs_.value(divisor).sign() > 0)
      return fmt::format("({} {} {})", mod ? "mod" : "div", a, b);
    define(mod ? "floor_mod" : "floor_div", mod ? "(ite (> b 0) (mod a b) (- (mod (- a) (- b))))"
                                                : "(ite (> b 0) (div a b) (div (- a) (- b)))");
    return fmt::format("({} {} {})", mod ? "floor_mod" : "floor_div", a, b);
  }

  std::string truncation(Expr e) {
    const bool mod = exprs_.op(e) == ExprOp::TruncMod;
    define("trunc_div",
           "(ite (= (< a 0) (< b 0)) (div (abs a) (abs b)) (- (div (abs a) (abs b))))");
    if (mod) define("trunc_mod", "(- a (* b (trunc_div a b)))");
    return fmt::format("({} {} {})", mod ? "trunc_mod" : "trunc_div", number(exprs_.arg(e, 0)),
                       number(exprs_.arg(e, 1)));
  }

  std::string extreme(Expr e) {
    const bool max = exprs_.op(e) == ExprOp::Max;
    std::string r = number(exprs_.arg(e, 0));
    for (std::size_t i = 1; i < exprs_.args(e).size(); ++i) {
      define(max ? "max" : "min", max ? "(ite (< a b) b a)" : "(ite (< b a) b a)");
      r = fmt::format("({} {} {})", max ? "max" : "min", r, number(exprs_.arg(e, i)));
    }
    return r;
  }

  void define(const char* name, const char* body) {
    if (!functions_.insert(name).second) return;
    definitions_ += fmt::format("(define-fun {} ((a Int) (b Int)) Int {})\n", name, body);
  }

  const Exprs& exprs_;
  std::map<Expr, int> uses_;
  std::map<Expr, std::string> text_;
  std::set<std::string> functions_;
  std::string declarations_, definitions_;
  int defined_ = 0;
};

}  // namespace

std::string smt_name(const std::string& name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool plain = name[0] != '_' && std::all_of(name.begin() + 1, name.end(), digit);
  return plain ? name : "v." + name;
}

std::string smt_script(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal,
                       const std::vector<std::string>& comments) {
  std::vector<Expr> roots = facts;
  roots.push_back(goal);
  const Writer writer(exprs, roots);
  std::string script;
  for (const std::string& line : comments) script += "; " + line + "\n";
  script += writer.head();
  for (const Expr f : facts) script += fmt::format("(assert {})\n", writer.condition(f));
  script += fmt::format("(assert (not {}))\n", writer.condition(goal));
  return script;
}

}  // namespace touchstone::prove
