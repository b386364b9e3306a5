#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/symbolic/certificate/step_words.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

namespace {

std::string escaped(std::string_view name) {
  std::string s;
  for (const char c : name) s += c == '_' ? std::string("\\_") : std::string(1, c);
  return s;
}

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
    const ExprOp op = e_.op(x);
    if (op == ExprOp::Neg || (op == ExprOp::Constant && e_.value(x).sign() < 0))
      return info(ExprOp::Sub).level;
    return op == ExprOp::Div ? kTightest : info(op).level;
  }

  static std::string sign(ExprOp op) {
    switch (op) {
      case ExprOp::Or: return " \\lor ";
      case ExprOp::And: return " \\land ";
      case ExprOp::Not: return "\\lnot ";
      case ExprOp::Le: return " \\le ";
      case ExprOp::Ge: return " \\ge ";
      case ExprOp::Eq: return " = ";
      case ExprOp::Ne: return " \\ne ";
      case ExprOp::Mul: return " \\cdot ";
      case ExprOp::Mod: return " \\bmod ";
      case ExprOp::Min: return "\\min";
      case ExprOp::Max: return "\\max";
      case ExprOp::Where:
      case ExprOp::TruncDiv:
      case ExprOp::TruncMod: return fmt::format("\\operatorname{{{}}}", info(op).text);
      default: return std::string(info(op).text);
    }
  }

  std::string part(Expr x, std::uint32_t i, int context, std::size_t along) {
    const bool on = path_ && along < path_->size() && (*path_)[along] == i;
    return form(e_.arg(x, i), context, on ? along + 1 : kOff);
  }

  std::string plain(Expr x, std::size_t along) {
    const ExprOp op = e_.op(x);
    const int own = level(x);
    switch (info(op).notation) {
      case Notation::Leaf: break;
      case Notation::Prefix: return sign(op) + part(x, 0, own + 1, along);
      case Notation::Infix:
        if (op == ExprOp::Div)
          return fmt::format("\\left\\lfloor\\frac{{{}}}{{{}}}\\right\\rfloor",
                             part(x, 0, 0, along), part(x, 1, 0, along));
        return part(x, 0, own == info(ExprOp::Lt).level ? own + 1 : own, along) + sign(op) +
               part(x, 1, own + 1, along);
      case Notation::Call: {
        std::vector<std::string> args;
        for (std::uint32_t i = 0; i < e_.args(x).size(); ++i) args.push_back(part(x, i, 0, along));
        return fmt::format("{}\\left({}\\right)", sign(op), fmt::join(args, ",\\,"));
      }
    }
    if (op == ExprOp::Constant) return e_.value(x).str();
    const std::string s = escaped(e_.name(x));
    return s.size() == 1 ? s : "\\mathit{" + s + "}";
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
    out += " \\\\\n  &= " + Latex(d.exprs, next).write(s.whole) + " && \\text{\\texttt{" +
           escaped(s.rule) + "}";
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
