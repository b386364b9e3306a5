#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/symbolic/certificate/step_words.h"

namespace touchstone::symbolic {

namespace {

/// Writes a tree as mathematics: quotients as floors, remainders with \bmod.
class Latex {
 public:
  Latex(const Exprs& e, const Path* path) : e_(e), path_(path) {}

  std::string write(Expr root) { return form(root, 0, 0); }

 private:
  static constexpr std::size_t kOff = static_cast<std::size_t>(-1);

  // Recurses: `derive` bounds the size of its input.
  std::string form(Expr x, int context, std::size_t along) {
    std::string s = plain(x, along);
    if (level(x) < context) s = "\\left(" + s + "\\right)";
    return path_ && along == path_->size() ? "\\underline{" + s + "}" : s;
  }

  int level(Expr x) const {
    switch (e_.op(x)) {
      case ExprOp::Or: return 1;
      case ExprOp::And: return 2;
      case ExprOp::Not: return 3;
      case ExprOp::Lt:
      case ExprOp::Gt:
      case ExprOp::Le:
      case ExprOp::Ge:
      case ExprOp::Eq:
      case ExprOp::Ne: return 4;
      case ExprOp::Add:
      case ExprOp::Sub:
      case ExprOp::Neg: return 5;
      case ExprOp::Mul:
      case ExprOp::Mod: return 6;
      case ExprOp::Constant: return e_.value(x).sign() < 0 ? 5 : 8;
      default: return 8;
    }
  }

  std::string part(Expr x, std::uint32_t i, int context, std::size_t along) {
    const bool on = path_ && along < path_->size() && (*path_)[along] == i;
    return form(e_.arg(x, i), context, on ? along + 1 : kOff);
  }

  std::string infix(Expr x, const char* symbol, std::size_t along) {
    const int own = level(x);
    return part(x, 0, own == 4 ? 5 : own, along) + symbol + part(x, 1, own + 1, along);
  }

  std::string called(Expr x, const std::string& name, std::size_t along) {
    std::vector<std::string> args;
    for (std::uint32_t i = 0; i < e_.args(x).size(); ++i) args.push_back(part(x, i, 0, along));
    return fmt::format("{}\\left({}\\right)", name, fmt::join(args, ",\\,"));
  }

  std::string plain(Expr x, std::size_t along) {
    switch (e_.op(x)) {
      case ExprOp::Constant: return e_.value(x).str();
      case ExprOp::Variable: {
        std::string s;
        for (const char c : e_.name(x)) s += c == '_' ? std::string("\\_") : std::string(1, c);
        return s.size() == 1 ? s : "\\mathit{" + s + "}";
      }
      case ExprOp::Or: return infix(x, " \\lor ", along);
      case ExprOp::And: return infix(x, " \\land ", along);
      case ExprOp::Not: return "\\lnot " + part(x, 0, 4, along);
      case ExprOp::Lt: return infix(x, " < ", along);
      case ExprOp::Gt: return infix(x, " > ", along);
      case ExprOp::Le: return infix(x, " \\le ", along);
      case ExprOp::Ge: return infix(x, " \\ge ", along);
      case ExprOp::Eq: return infix(x, " = ", along);
      case ExprOp::Ne: return infix(x, " \\ne ", along);
      case ExprOp::Add: return infix(x, " + ", along);
      case ExprOp::Sub: return infix(x, " - ", along);
      case ExprOp::Mul: return infix(x, " \\cdot ", along);
      case ExprOp::Mod: return infix(x, " \\bmod ", along);
      case ExprOp::Neg: return "-" + part(x, 0, 6, along);
      case ExprOp::Div:
        return fmt::format("\\left\\lfloor\\frac{{{}}}{{{}}}\\right\\rfloor", part(x, 0, 0, along),
                           part(x, 1, 0, along));
      case ExprOp::Min: return called(x, "\\min", along);
      case ExprOp::Max: return called(x, "\\max", along);
      case ExprOp::Where: return called(x, "\\operatorname{where}", along);
      case ExprOp::TruncDiv: return called(x, "\\operatorname{tdiv}", along);
      case ExprOp::TruncMod: return called(x, "\\operatorname{tmod}", along);
    }
    return "";
  }

  const Exprs& e_;
  const Path* path_;
};

std::string chain_latex(const Derivation& d, const Chain& chain) {
  std::string out = "\\begin{align*}\n";
  const Path* next = chain.steps.empty() ? nullptr : &chain.steps[0].path;
  out += "  & " + Latex(d.exprs, next).write(chain.start);
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const DerivationStep& s = chain.steps[i];
    next = i + 1 < chain.steps.size() ? &chain.steps[i + 1].path : nullptr;
    std::vector<std::string> facts;
    for (const Expr f : s.facts) facts.push_back(Latex(d.exprs, nullptr).write(f));
    std::string rule;
    for (const char c : s.rule) rule += c == '_' ? std::string("\\_") : std::string(1, c);
    out +=
        " \\\\\n  &= " + Latex(d.exprs, next).write(s.whole) + " && \\text{\\texttt{" + rule + "}";
    out += facts.empty() ? "}" : fmt::format(": ${}$}}", fmt::join(facts, ",\\ "));
  }
  return out + "\n\\end{align*}\n";
}

}  // namespace

std::string derivation_latex(const Derivation& d) {
  std::string out = "% needs amsmath; what changes next is underlined\n";
  for (const Chain& a : d.assumptions) out += "Assumed:\n" + chain_latex(d, a);
  return out + chain_latex(d, d.main);
}

}  // namespace touchstone::symbolic
