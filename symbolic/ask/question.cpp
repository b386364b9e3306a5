#include "touchstone/symbolic/ask/question.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <variant>

#include <fmt/format.h>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/expr/evaluate.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/node/compiled_node.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/read/canonical_builder.h"
#include "touchstone/symbolic/simplify/contradiction.h"
#include "touchstone/symbolic/simplify/simplifier.h"
#include "touchstone/symbolic/write/stable_form.h"

namespace touchstone::symbolic {

namespace {

using Clock = std::chrono::steady_clock;
using Names = std::map<std::string, Node>;

Names names_of(const Question& q, Context& context) {
  Names names;
  for (const auto& [name, range] : q.variables) {
    try {
      if (!names.emplace(name, context.variable(name, range)).second)
        throw ParseError(fmt::format("{} is given twice", name));
    } catch (const Error& e) {
      throw ParseError(fmt::format("vars: {}", e.what()));
    }
  }
  return names;
}

/// Runs `work`; prefixes its parse errors with the part of the question.
template <class Work>
auto in_part(const std::string& part, const Work& work) {
  try {
    return work();
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("{}: {}", part, e.what()));
  }
}

[[noreturn]] void refuse_contradiction() {
  throw ParseError("assume: the conditions contradict each other");
}

/// The conditions of the question, without those that always hold.
Ids conditions_of(const Question& q, const Names& names, Context& context) {
  Ids conditions;
  for (std::size_t i = 0; i < q.assumptions.size(); ++i) {
    const std::string part = fmt::format("assume[{}]", i);
    const Node written = in_part(part, [&] { return parse(q.assumptions[i], names, context); });
    const auto now = Simplifier(context).given(written.id(), conditions);
    if (!now) refuse_contradiction();
    const Node a = context.handle(*now);
    if (!a.is_constant())
      conditions.push_back(Simplifier(context).truth(a.id()));
    else if (a.id() == context.constant(0).id())
      throw ParseError(fmt::format("{}: \"{}\" never holds", part, q.assumptions[i]));
  }
  if (conditions.size() > 1 && contradict(context, conditions)) refuse_contradiction();
  return conditions;
}

/// Enumerates the values of an expression at the points of a box where conditions hold.
class Search {
 public:
  explicit Search(const Context& context) : context_(context) {}

  /// The expression first, then the conditions, as nodes or as tapes.
  void add(Id id) {
    if (!many_) add(CompiledNode(context_, id));
  }
  void add(const Tape& tape) {
    std::size_t variables = 0;
    for (Tape::Part i = 0; i < tape.parts(); ++i)
      variables += tape.step(i).op == ExprOp::Variable ? 1 : 0;
    many_ = many_ || variables > kLimits.answer_variables;
    if (!many_) add(Written(tape, context_));
  }

  /// Nodes to evaluate for all points; nullopt if a variable is unbounded or there are too many.
  std::optional<Int> work() const {
    if (many_) return std::nullopt;
    Int nodes = 0;
    for (const Part& p : parts_)
      nodes +=
          std::visit([](const auto& x) { return static_cast<std::int64_t>(x.size()); }, p.program);
    for (const Interval& range : box_) {
      if (!range.lo || !range.hi) return std::nullopt;
      nodes = nodes * (*range.hi - *range.lo + 1);
    }
    return nodes;
  }

  /// Visits all points, the corners of the box first, until the values span `known`.
  Interval run(const Interval& known) {
    if (!corners(known)) all(known);
    return found_.lo ? found_ : known;
  }
  /// True if the conditions hold at a visited point.
  bool met() const { return met_; }

 private:
  /// An expression as written, with the interface of CompiledNode.
  class Written {
   public:
    Written(const Tape& tape, const Context& context) : size_(tape.parts()) {
      Exprs exprs;
      root_ = tape.tree(exprs, context);
      std::vector<std::string> names;
      for (Tape::Part i = 0; i < tape.parts(); ++i)
        if (const Tape::Step s = tape.step(i); s.op == ExprOp::Variable) {
          variables_.push_back(s.operands[0]);
          names.push_back(context.name(s.operands[0]));
        }
      values_.emplace(exprs, std::vector<Expr>{root_}, names);
    }
    std::span<const Id> variables() const { return variables_; }
    std::size_t size() const { return size_; }
    std::optional<Int> run(std::span<const Int> point) {
      values_->at(point);
      return values_->value(root_);
    }

   private:
    std::size_t size_;
    Expr root_ = 0;
    std::vector<Id> variables_;
    std::optional<Evaluator> values_;
  };
  struct Part {
    std::variant<CompiledNode, Written> program;
    std::vector<std::size_t> slots;  // of its variables
    std::vector<Int> values;
  };

  template <class Laid>
  void add(Laid program) {
    Part part{std::move(program), {}, {}};
    const auto variables = std::get<Laid>(part.program).variables();
    many_ = many_ || std::max(variables.size(), variables_.size()) > kLimits.answer_variables;
    if (many_) return;
    for (const Id v : variables) {
      const auto at = std::ranges::find(variables_, v);
      part.slots.push_back(static_cast<std::size_t>(at - variables_.begin()));
      if (at != variables_.end()) continue;
      variables_.push_back(v);
      box_.push_back(context_[v].bounds);
    }
    part.values.resize(part.slots.size());
    parts_.push_back(std::move(part));
  }

  std::optional<Int> value(Part& part) {
    for (std::size_t i = 0; i < part.slots.size(); ++i) part.values[i] = point_[part.slots[i]];
    return std::visit([&](auto& x) { return x.run(part.values); }, part.program);
  }

  /// True once the values reach both ends of `known`.
  bool look(const Interval& known) {
    Interrupt::poll();
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      const auto truth = value(parts_[i]);
      if (!truth || truth->is_zero()) return false;
    }
    met_ = true;
    const auto v = value(parts_[0]);
    if (!v) return false;
    if (!found_.lo || *v < *found_.lo) found_.lo = *v;
    if (!found_.hi || *v > *found_.hi) found_.hi = *v;
    return known == found_;
  }

  bool corners(const Interval& known) {
    if (box_.size() > kLimits.answer_corners) return false;
    point_.resize(box_.size());
    for (std::size_t corner = 0; corner < std::size_t{1} << box_.size(); ++corner) {
      for (std::size_t i = 0; i < box_.size(); ++i)
        point_[i] = corner >> i & 1U ? *box_[i].hi : *box_[i].lo;
      if (look(known)) return true;
    }
    return false;
  }

  void all(const Interval& known) {
    point_.clear();
    for (const Interval& range : box_) point_.push_back(*range.lo);
    std::size_t i = 0;
    while (i < box_.size() && !(i == 0 && look(known))) {
      if (point_[i] < *box_[i].hi) {
        point_[i] += 1;
        i = 0;
      } else {
        point_[i] = *box_[i].lo;
        ++i;
      }
    }
  }

  const Context& context_;
  std::vector<Part> parts_;  // the root, then the conditions
  std::vector<Id> variables_;
  std::vector<Interval> box_;
  std::vector<Int> point_;
  Interval found_;
  bool met_ = false;
  bool many_ = false;  // too many variables
};

/// Interval arithmetic on the expression as written. The canonical form may have wider bounds where
/// terms have joined.
Interval written_bounds(const Tape& tape, const Context& context) {
  std::vector<Interval> values;
  values.reserve(tape.parts());
  for (Tape::Part part = 0; part < tape.parts(); ++part) {
    const Tape::Step step = tape.step(part);
    const auto arg = [&](std::size_t i) -> const Interval& {
      return values[step.operands[i] >> 1];
    };
    Interval r;
    if (step.op == ExprOp::Variable) {
      r = context.bounds(step.operands[0]);
    } else if (step.op == ExprOp::Constant) {
      r = Interval::point(tape.value(step));
    } else if (step.op == ExprOp::Add) {
      r = Interval::point(0);
      for (std::size_t i = 0; i < step.operands.size(); ++i)
        r.add_product(arg(i), (step.operands[i] & 1) != 0 ? -1 : 1);
    } else {
      r = bounds_of(step.op, step.operands.size(), arg);
    }
    values.push_back(std::move(r));
  }
  return values[tape.root()];
}

/// The smallest interval that contains the expression's value at every point where all conditions
/// hold, found by enumeration; the solution's bounds if there are too many points or a variable is
/// unbounded. Ignores points where a division by zero affects the value. Throws ParseError if the
/// conditions hold nowhere.
Interval exact_bounds(const Question& question, const Reading& reading, const Context& context,
                      const Solution& solution) {
  Interval known = meet(solution.bounds(), written_bounds(reading.tape, context));
  if (context[solution.id()].kind == NodeKind::Constant && reading.conditions.empty()) return known;
  const auto within_limit = [](const Search& search) {
    const auto work = search.work();
    return work && *work <= kLimits.answer_work;
  };
  const auto run = [&](Search& search) {
    const Interval found = search.run(known);
    if (!search.met()) refuse_contradiction();
    return found;
  };
  List<Tape> assumed(question.assumptions.size());
  bool partial = reading.tape.may_divide_by_zero();
  for (std::size_t i = 0; i < assumed.size(); ++i) {
    if (question.assumptions[i].find_first_of("/%t") == std::string::npos) continue;
    assumed[i].read(question.assumptions[i], reading.names);
    partial = partial || assumed[i].may_divide_by_zero();
  }
  if (partial) {  // the simplified form may be defined at more points
    for (std::size_t i = 0; i < assumed.size(); ++i)
      if (assumed[i].parts() == 0) assumed[i].read(question.assumptions[i], reading.names);
    Tape shorter;  // it may have fewer variables
    for (const bool as_asked : {true, false}) {
      if (!as_asked) shorter.read(solution.text(), reading.names);
      Search search(context);
      search.add(as_asked ? reading.tape : shorter);
      for (const Tape& condition : assumed) search.add(condition);
      if (within_limit(search)) return run(search);
    }
  }
  Search search(context);
  search.add(solution.id());
  for (const Id condition : reading.conditions) search.add(condition);
  if (within_limit(search)) return run(search);
  Tape answer;
  answer.read(solution.text(), reading.names);
  return meet(known, written_bounds(answer, context));
}

/// The expression, tidied, with each part in its smallest form where that is smaller.
Expr simplified_inside(Exprs& exprs, Expr root, CanonicalBuilder& builder) {
  Extractor extractor(builder.context(), Extractor::For::Text);
  std::map<Expr, std::optional<Id>> nodes;  // nullopt: divides by 0
  std::map<Expr, Expr> forms;
  return tidied(exprs, root, [&](Expr part, Expr now) {
    const auto known = [&](Expr form) { return forms[part] = form; };
    std::optional<Id>& node = nodes[part];
    if (exprs.is_constant(part)) {
      node = builder.constant(exprs.value(part));
    } else if (exprs.op(part) == ExprOp::Variable) {
      node = builder.name(exprs.name(part));
    } else {
      Ids args;
      for (const Expr a : exprs.args(part)) {
        if (!nodes.at(a)) return known(now);
        args.push_back(*nodes.at(a));
      }
      if (divides(exprs.op(part)) && builder.is_zero(args[1])) return known(now);
      node = builder.apply(exprs.op(part), args);
      const auto same = std::ranges::find(args, *node);
      if (same != args.end())
        if (const Expr own =
                forms.at(exprs.arg(part, static_cast<std::size_t>(same - args.begin())));
            exprs.size(own) < exprs.size(now))
          now = own;
    }
    const int form = extractor.extract(*node);
    if (extractor.forms()[static_cast<std::size_t>(form)].size >= exprs.size(now))
      return known(now);
    return known(parse_expr(exprs, render(extractor.forms(), form)));
  });
}

}  // namespace

std::string range_and_size(const Answer& a) {
  return fmt::format("in [{}, {}], size {}", a.bounds.lo ? a.bounds.lo->str() : "-inf",
                     a.bounds.hi ? a.bounds.hi->str() : "inf", a.size);
}

Reading::Reading(const Question& q, Context& context) {
  context.clear();
  names = names_of(q, context);
  conditions = conditions_of(q, names, context);
  in_part("in", [&] { tape.read(q.text, names); });
}

Solution::Solution(const Reading& reading, const Question& question, Context& context) {
  CanonicalBuilder builder(reading.names, context);
  in_part("in", [&] { id_ = builder.build(reading.tape, question.text); });
  extractor_.emplace(context, Extractor::For::Text);
  const Id built = id_;
  id_ = stable_form(builder, built, &reading.tape, &*extractor_);
  bounds_ = context[id_].bounds;
  if (!reading.conditions.empty()) {
    const auto under = builder.simplifier().under(id_, reading.conditions, &bounds_);
    if (!under) refuse_contradiction();
    id_ = *under;
  }
  // Layouts depend on the extractor's earlier ones.
  if (id_ != built) extractor_.emplace(context, Extractor::For::Text);
  form_ = extractor_->extract(id_);
  size_ = extractor_->forms()[static_cast<std::size_t>(form_)].size;
  try {
    if (reading.tape.size() < size_ || reading.tape.divides_by_zero())
      write(question.text, reading.names, builder);
  } catch (const ParseError&) {  // a literal divisor 0 in a part that is never evaluated
  }
}

void Solution::write(std::string_view text, const Names& names, CanonicalBuilder& builder) {
  Exprs exprs;
  Expr root = parse_expr(exprs, text);
  std::map<std::string, Expr, std::less<>> numbers;  // one-valued names, counted as numbers
  for (const auto& [name, node] : names)
    if (node.is_constant())
      numbers.emplace(name, exprs.constant((*node.context())[node.id()].first));
  if (!numbers.empty()) root = exprs.substitute(root, numbers);
  root = exprs.size(root) <= kLimits.tidied_parts ? simplified_inside(exprs, root, builder)
                                                  : tidied(exprs, root);
  const bool divides_by_zero = std::ranges::any_of(exprs.parts(root), [&](Expr e) {
    return divides(exprs.op(e)) && exprs.is_constant(exprs.arg(e, 1), 0);
  });
  if (divides_by_zero || exprs.size(root) >= size_) return;
  size_ = exprs.size(root);
  written_ = render(exprs, root);
}

std::string Solution::text() const {
  return written_.empty() ? render(extractor_->forms(), form_) : written_;
}

Answer answer(const Question& question, Context& context) {
  const Reading reading(question, context);
  const auto start = Clock::now();
  const Solution solution(reading, question, context);
  Answer a;
  a.ns = std::chrono::nanoseconds(Clock::now() - start).count();
  a.bounds = exact_bounds(question, reading, context, solution);
  if (a.bounds.is_point()) {  // a single value, though no rule shows it
    a.size = 1;
    a.text = a.bounds.lo->str();
    return a;
  }
  a.size = solution.size();
  a.text = solution.text();
  return a;
}

}  // namespace touchstone::symbolic
