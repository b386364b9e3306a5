// Answers in other languages.
#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/notation/bits.h"
#include "touchstone/symbolic/notation/notation.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

// How a language writes an operator: 0, 1 and 2 after $ are the operands, level is how tightly the
// text binds; an empty text: the language has no word.
struct Form {
  std::string_view text;
  int level;
};
constexpr int kCallLevel = 20, kProduct = 11, kPrefix = 13, kOfComparison = 7, kChoice = 1;
struct Row {
  ExprOp op;
  Form form;
};
// clang-format off
constexpr Row kAll[] = {
    {ExprOp::Or, {"$0 or $1", 2}}, {ExprOp::And, {"$0 and $1", 3}}, {ExprOp::Not, {"not $0", 4}}, {ExprOp::Lt, {"$0 < $1", kOfComparison}},
    {ExprOp::Gt, {"$0 > $1", kOfComparison}}, {ExprOp::Le, {"$0 <= $1", kOfComparison}}, {ExprOp::Ge, {"$0 >= $1", kOfComparison}},
    {ExprOp::Eq, {"$0 == $1", kOfComparison}}, {ExprOp::Ne, {"$0 != $1", kOfComparison}}, {ExprOp::Add, {"$0 + $1", 10}},
    {ExprOp::Sub, {"$0 - $1", 10}}, {ExprOp::Mul, {"$0*$1", kProduct}}, {ExprOp::Div, {"$0//$1", kProduct}},
    {ExprOp::Mod, {"$0%$1", kProduct}}, {ExprOp::Neg, {"-$0", kPrefix}}, {ExprOp::Min, {"min($0, $1)", kCallLevel}},
    {ExprOp::Max, {"max($0, $1)", kCallLevel}}, {ExprOp::Where, {"$1 if $0 else $2", kChoice}},
};
struct Own {
  Language language;
  ExprOp op;
  Form form;
};
constexpr Own kOwn[] = {
    {Language::C, ExprOp::Or, {"$0 || $1", 2}}, {Language::C, ExprOp::And, {"$0 && $1", 3}}, {Language::C, ExprOp::Not, {"!$0", kPrefix}},
    {Language::C, ExprOp::Div, {"$0 / $1", kProduct}}, {Language::C, ExprOp::Mod, {"$0 % $1", kProduct}},
    {Language::C, ExprOp::Mul, {"$0 * $1", kProduct}}, {Language::C, ExprOp::TruncDiv, {"$0 / $1", kProduct}},
    {Language::C, ExprOp::TruncMod, {"$0 % $1", kProduct}}, {Language::C, ExprOp::Where, {"$0 ? $1 : $2", kChoice}},
    {Language::Sympy, ExprOp::Or, {"Or($0, $1)", kCallLevel}}, {Language::Sympy, ExprOp::And, {"And($0, $1)", kCallLevel}},
    {Language::Sympy, ExprOp::Not, {"Not($0)", kCallLevel}}, {Language::Sympy, ExprOp::Eq, {"Eq($0, $1)", kCallLevel}},
    {Language::Sympy, ExprOp::Ne, {"Ne($0, $1)", kCallLevel}}, {Language::Sympy, ExprOp::Div, {"floor($0/$1)", kCallLevel}},
    {Language::Sympy, ExprOp::Mod, {"Mod($0, $1)", kCallLevel}}, {Language::Sympy, ExprOp::Min, {"Min($0, $1)", kCallLevel}},
    {Language::Sympy, ExprOp::Max, {"Max($0, $1)", kCallLevel}},
    {Language::Sympy, ExprOp::Where, {"Piecewise(($1, $0), ($2, True))", kCallLevel}},
    {Language::Jax, ExprOp::Div, {"floordiv($0, $1)", kCallLevel}}, {Language::Jax, ExprOp::Mod, {"mod($0, $1)", kCallLevel}},
    {Language::Jax, ExprOp::Where, {"", 0}}, {Language::Jax, ExprOp::Or, {"", 0}}, {Language::Jax, ExprOp::And, {"", 0}},
    {Language::Jax, ExprOp::Not, {"", 0}},
    {Language::Tvm, ExprOp::Div, {"T.floordiv($0, $1)", kCallLevel}}, {Language::Tvm, ExprOp::Mod, {"T.floormod($0, $1)", kCallLevel}},
    {Language::Tvm, ExprOp::TruncDiv, {"T.truncdiv($0, $1)", kCallLevel}}, {Language::Tvm, ExprOp::TruncMod, {"T.truncmod($0, $1)", kCallLevel}},
    {Language::Tvm, ExprOp::Min, {"T.min($0, $1)", kCallLevel}}, {Language::Tvm, ExprOp::Max, {"T.max($0, $1)", kCallLevel}},
    {Language::Tvm, ExprOp::Where, {"T.if_then_else($0, $1, $2)", kCallLevel}},
    {Language::Halide, ExprOp::Or, {"$0 || $1", 2}}, {Language::Halide, ExprOp::And, {"$0 && $1", 3}}, {Language::Halide, ExprOp::Not, {"!$0", kPrefix}},
    {Language::Halide, ExprOp::Div, {"$0 / $1", kProduct}}, {Language::Halide, ExprOp::Mod, {"$0 % $1", kProduct}},
    {Language::Halide, ExprOp::Where, {"select($0, $1, $2)", kCallLevel}},
    {Language::Mlir, ExprOp::Div, {"$0 floordiv $1", kProduct}}, {Language::Mlir, ExprOp::Mod, {"$0 mod $1", kProduct}},
    {Language::Mlir, ExprOp::Mul, {"$0 * $1", kProduct}},
    {Language::Isl, ExprOp::Div, {"floor($0/$1)", kCallLevel}}, {Language::Isl, ExprOp::Mod, {"($0 mod $1)", kCallLevel}},
    {Language::Isl, ExprOp::Eq, {"$0 = $1", kOfComparison}}, {Language::Isl, ExprOp::Where, {"", 0}},
    {Language::Isl, ExprOp::Min, {"", 0}}, {Language::Isl, ExprOp::Max, {"", 0}},
};
// clang-format on

Form form_of(Language language, ExprOp op) {
  for (const Own& row : kOwn)
    if (row.language == language && row.op == op) return row.form;
  // Affine maps have sums, products, quotients and remainders only.
  if (language == Language::Mlir && op != ExprOp::Add && op != ExprOp::Sub && op != ExprOp::Neg)
    return {"", 0};
  for (const Row& row : kAll)
    if (row.op == op) return row.form;
  return {"", 0};
}

class LanguageWriter {
 public:
  LanguageWriter(Exprs& exprs, const Question& question, Language language,
                 const std::map<std::string, std::string>& spelled)
      : e_(exprs), bits_(exprs, question), language_(language), spelled_(spelled) {}

  /// `truth`: where a truth value stands, for languages that keep numbers and truth values apart.
  std::string text(Expr x, int level, bool truth = false) {
    constexpr int kDeepest = 500;
    constexpr std::size_t kLongest = 200'000;
    if (++depth_ > kDeepest) throw Error(fmt::format("nested deeper than {} operators", kDeepest));
    std::string r;
    int own = kCallLevel;
    if (e_.is_constant(x)) {
      r = constant(e_.value(x));
      if (e_.value(x).sign() < 0) own = kPrefix;
    } else if (e_.op(x) == ExprOp::Variable) {
      const auto known = spelled_.find(e_.name(x));
      r = known == spelled_.end() ? e_.name(x) : known->second;
    } else {
      x = with_positive_divisor(x);
      const Form form = form_for(x);
      own = form.level;
      r = filled(form, x);
    }
    --depth_;
    if (r.size() > kLongest) throw Error("the text would be very long");
    const bool is_truth = e_.op(x) >= ExprOp::Or && e_.op(x) <= ExprOp::Ne;
    if (language_ == Language::Sympy && is_truth != truth && depth_ > 0)
      return is_truth ? "Piecewise((1, " + r + "), (0, True))" : "Ne(" + r + ", 0)";
    return own < level ? "(" + r + ")" : r;
  }

 private:
  std::string constant(const Int& value) const {
    std::string r = value.str();
    if (language_ == Language::C && abs(value) > Int(INT32_MAX)) {
      if (abs(value) > Int(INT64_MAX)) throw Error(fmt::format("{} does not fit a long long", r));
      r += "LL";
    }
    return r;
  }

  // x // -3 is -x // 3, and x % -3 is -(-x % 3): most languages have words for the latter only.
  Expr with_positive_divisor(Expr x) {
    const bool quotient = e_.op(x) == ExprOp::Div;
    if (!quotient && e_.op(x) != ExprOp::Mod) return x;
    const Expr divisor = e_.arg(x, 1);
    if (!e_.is_constant(divisor) || e_.value(divisor).sign() > 0) return x;
    const Expr a = e_.apply(ExprOp::Neg, {e_.arg(x, 0)}), d = e_.constant(-e_.value(divisor));
    if (quotient) return e_.apply(ExprOp::Div, {a, d});
    return e_.apply(ExprOp::Neg, {e_.apply(ExprOp::Mod, {a, d})});
  }

  // The form of this use: by the signs of its operands, in languages whose quotient truncates.
  Form form_for(Expr x) {
    const ExprOp op = e_.op(x);
    const bool floors = op == ExprOp::Div || op == ExprOp::Mod;
    const bool truncates = op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
    const bool affine = language_ == Language::Mlir || language_ == Language::Isl;
    if (affine && op == ExprOp::Mul && !e_.is_constant(e_.arg(x, 0)) &&
        !e_.is_constant(e_.arg(x, 1)))
      throw Error(
          fmt::format("{} is not affine, as {} needs it", render(e_, x), info(language_).name));
    if (!floors && !truncates) return known(form_of(language_, op), op);
    const Interval a = bits_.bounds(e_.arg(x, 0)), d = bits_.bounds(e_.arg(x, 1));
    const bool plain = a.at_least(0) && d.at_least(1);
    if (affine && !(e_.is_constant(e_.arg(x, 1)) && d.at_least(1)))
      throw Error(fmt::format("the divisor of {} is not a positive number", render(e_, x)));
    if (truncates && plain)
      return known(form_of(language_, op == ExprOp::TruncDiv ? ExprOp::Div : ExprOp::Mod), op);
    if (language_ == Language::Halide && floors && !d.at_least(1))
      throw Error(fmt::format(
          "the divisor of {} may be negative, where Halide rounds otherwise; give a range from 1",
          render(e_, x)));
    if (truncates || language_ != Language::C || plain) return known(form_of(language_, op), op);
    const bool quotient = op == ExprOp::Div;
    if (!d.at_least(1))
      throw Error(
          fmt::format("the divisor of {} may be negative: C's {} would differ; give a range from 1",
                      render(e_, x), quotient ? "/" : "%"));
    constexpr int kMostShift = 62;
    int shift = 0;
    while (d.is_point() && shift < kMostShift && power_of_two(shift) < *d.lo) ++shift;
    if (d.is_point() && power_of_two(shift) == *d.lo) {
      by_ = quotient ? std::to_string(shift) : constant(*d.lo - 1);
      return quotient ? Form{"$0 >> $B", 9} : Form{"$0 & $B", 6};
    }
    return quotient ? Form{"($0 - ($0 % $1 + $1) % $1) / $1", kProduct}
                    : Form{"($0 % $1 + $1) % $1", kProduct};
  }

  Form known(const Form& form, ExprOp op) const {
    if (form.text.empty())
      throw Error(fmt::format("{} has no word for {}", info(language_).name, info(op).name()));
    return form;
  }

  std::string filled(const Form& form, Expr x) {
    const std::string by = by_;
    std::vector<Expr> args(e_.args(x).begin(), e_.args(x).end());
    if (args.size() > 2 && e_.op(x) != ExprOp::Where) {  // of more: two at a time
      const Expr all = e_.folded(e_.op(x), args);
      args.assign(e_.args(all).begin(), e_.args(all).end());
    }
    if (args.size() == 1 && (e_.op(x) == ExprOp::Min || e_.op(x) == ExprOp::Max))
      return text(args[0], form.level);
    const bool infix = form.level < kPrefix && form.level > kChoice;
    std::string r;
    for (std::size_t i = 0; i < form.text.size(); ++i) {
      if (form.text[i] != '$') {
        r += form.text[i];
        continue;
      }
      const char place = form.text[++i];
      if (place == 'B') {
        r += by;
        continue;
      }
      const auto n = static_cast<std::size_t>(place - '0');
      // Inside a call's parentheses nothing needs more, except beside a fraction's or isl's signs.
      const bool fraction = form.text.find("/$1)") != form.text.npos;
      const bool of_isl =
          language_ == Language::Isl && (fraction || form.text.starts_with("($0 mod"));
      const bool correction = form.level == kProduct && form.text.find('(') != form.text.npos;
      const int level = of_isl       ? kCallLevel
                        : correction ? kProduct + 1
                        : infix      ? form.level + (n > 0 || form.level == kOfComparison)
                        : form.level == kChoice ? kChoice + 1
                        : form.level == kPrefix ? kPrefix + 1
                        : fraction              ? kProduct + (n > 0)
                                                : 0;
      const ExprOp op = e_.op(x);
      const bool wants_truth = op == ExprOp::And || op == ExprOp::Or || op == ExprOp::Not ||
                               (op == ExprOp::Where && n == 0);
      r += text(args[n], level, wants_truth);
    }
    return r;
  }

  Exprs& e_;
  Bits bits_;
  Language language_;
  const std::map<std::string, std::string>& spelled_;
  std::string by_;
  int depth_ = 0;
};

}  // namespace

std::string written(std::string_view text, const Question& question, Language to,
                    const std::map<std::string, std::string>& spelled) {
  Question q = question;
  if (to == Language::Isl) q.assumptions.clear();
  return written({std::string(text)}, q, to, spelled, {});
}

std::string written(const std::vector<std::string>& texts, const Question& question, Language to,
                    const std::map<std::string, std::string>& spelled,
                    const std::vector<std::string>& symbols) {
  if (!info(to).writes)
    throw Error(fmt::format(
        "{} is read, not written; write c, python, sympy, jax, tvm, halide, mlir or isl",
        info(to).name));
  Exprs exprs;
  const auto text_of = [&](const std::string& text) {
    const Expr root = parse_expr(exprs, text);
    if (to == Language::Touchstone) return spelled.empty() ? text : render(exprs, root);
    return LanguageWriter(exprs, question, to, spelled).text(root, 0);
  };
  std::string results, names, unknown, ranges;
  const auto add = [](std::string& to, const std::string& more, const char* between = ", ") {
    to += (to.empty() ? "" : between) + more;
  };
  for (const std::string& t : texts) add(results, text_of(t));
  if (to != Language::Mlir && to != Language::Isl) return results;
  for (const auto& [name, range] : question.variables) {
    const bool symbol = std::ranges::find(symbols, name) != symbols.end();
    add(symbol ? unknown : names, name);
    if (!range.lo && !range.hi) continue;
    add(ranges,
        fmt::format("{}{}{}", range.lo ? range.lo->str() + " <= " : "", name,
                    range.hi ? " <= " + range.hi->str() : ""),
        " and ");
  }
  if (to == Language::Mlir)
    return fmt::format("affine_map<({}){} -> ({})>", names,
                       unknown.empty() ? "" : "[" + unknown + "]", results);
  for (const std::string& a : question.assumptions) add(ranges, text_of(a), " and ");
  const std::string unknowns = unknown.empty() ? "" : fmt::format("[{}] -> ", unknown);
  const ExprOp op = exprs.op(parse_expr(exprs, texts.at(0)));
  if (texts.size() == 1 && op >= ExprOp::Or && op <= ExprOp::Ne)
    return fmt::format("{}{{ [{}] : {}({}) }}", unknowns, names,
                       ranges.empty() ? "" : ranges + " and ", results);
  return fmt::format("{}{{ [{}] -> [{}]{} }}", unknowns, names, results,
                     ranges.empty() ? "" : " : " + ranges);
}

}  // namespace touchstone::symbolic
