#include <algorithm>
#include <utility>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/symbolic_check.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Int;

class SymbolicArea final : public Area {
 public:
  explicit SymbolicArea(Refute refute) : refute_(std::move(refute)) {}

  std::string_view name() const override { return "symbolic"; }
  std::string draw(Chooser& chooser) override { return draw_expression(chooser); }

  Checked check(const std::string& text, Effort effort) override {
    return check_expression(text, effort, memory_, refute_);
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_expressions(memory_.trees.of(text));
  }

  Measure measure(const std::string& text) override {
    return measure_of(memory_.trees.of(text), text.size());
  }

  Extent extent(const std::string& text) override {
    const ExpressionCase& c = memory_.trees.of(text);
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
  ExpressionMemory memory_;
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
  const ExpressionCase& c = memory_.trees.of(text);
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
