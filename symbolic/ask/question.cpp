#include "touchstone/symbolic/question.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/canonical_builder.h"
#include "touchstone/symbolic/expr.h"
#include "touchstone/symbolic/limits.h"
#include "touchstone/symbolic/program.h"
#include "touchstone/symbolic/simplifier.h"
#include "touchstone/symbolic/stable_form.h"

namespace touchstone::symbolic {

namespace {

using Clock = std::chrono::steady_clock;
using Names = std::map<std::string, Node>;

Names names_of(const Question& q, Context& context) {
  Names names;
  for (const auto& [name, range] : q.variables) {
    if (name == "and" || name == "or" || name == "not")
      throw ParseError(fmt::format("vars: \"{}\" is an operator; choose another name", name));
    try {
      if (!names.emplace(name, context.variable(name, range)).second)
        throw ParseError(fmt::format("{} is there twice; give each variable once", name));
    } catch (const Error& e) {
      throw ParseError(fmt::format("vars: {}", e.what()));
    }
  }
  return names;
}

/// Runs `work`; its errors say which part of the question they are of.
template <class Work>
auto in_part(const std::string& part, const Work& work) {
  try {
    return work();
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("{}: {}", part, e.what()));
  }
}

/// The conditions of the question; those that always hold are left out.
Ids conditions_of(const Question& q, const Names& names, Context& context) {
  Ids conditions;
  for (std::size_t i = 0; i < q.assumptions.size(); ++i) {
    const std::string part = fmt::format("assume[{}]", i);
    const Node a = in_part(part, [&] { return parse(q.assumptions[i], names, context); });
    if (!a.is_constant())
      conditions.push_back(Simplifier(context).truth(a.id()));
    else if (a.id() == context.constant(0).id())
      throw ParseError(fmt::format("{}: \"{}\" never holds", part, q.assumptions[i]));
  }
  return conditions;
}

/// The values that a node takes at the points of a box where some conditions hold.
class Search {
 public:
  Search(const Context& context, Id root, std::span<const Id> conditions) {
    add(context, root);
    for (const Id id : conditions) add(context, id);
    for (const Id id : variables_) box_.push_back(context[id].bounds);
  }

  /// Nodes to evaluate for all points; nullopt where a variable is open.
  std::optional<Int> work() const {
    Int nodes = 0;
    for (const Part& p : parts_) nodes += static_cast<std::int64_t>(p.program.size());
    for (const Interval& range : box_) {
      if (!range.lo || !range.hi) return std::nullopt;
      nodes = nodes * (*range.hi - *range.lo + 1);
    }
    return nodes;
  }

  /// Looks at all points, the corners of the box first, until no value can widen what was found.
  Interval run(const Interval& known) {
    if (!corners(known)) all(known);
    return found_.lo ? found_ : known;
  }

 private:
  struct Part {
    Program program;
    std::vector<std::size_t> slots;  // of its variables
    std::vector<Int> values;
  };

  void add(const Context& context, Id id) {
    Part part{Program(context, id), {}, {}};
    for (const Id v : part.program.variables()) {
      const auto at = std::ranges::find(variables_, v);
      part.slots.push_back(static_cast<std::size_t>(at - variables_.begin()));
      if (at == variables_.end()) variables_.push_back(v);
    }
    part.values.resize(part.slots.size());
    parts_.push_back(std::move(part));
  }

  std::optional<Int> value(Part& part) {
    for (std::size_t i = 0; i < part.slots.size(); ++i) part.values[i] = point_[part.slots[i]];
    return part.program.run(part.values);
  }

  /// True where the values found reach both ends of `known`.
  bool look(const Interval& known) {
    Interrupt::poll();
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      const auto truth = value(parts_[i]);
      if (!truth || truth->is_zero()) return false;
    }
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

  std::vector<Part> parts_;  // the root, then the conditions
  std::vector<Id> variables_;
  std::vector<Interval> box_;
  std::vector<Int> point_;
  Interval found_;
};

/// Names and numbers; no expression has fewer parts than words.
std::size_t words_of(std::string_view text) {
  std::size_t words = 0;
  bool within = false;
  for (const char c : text) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    words += part && !within;
    within = part;
  }
  return words;
}

}  // namespace

std::string shorter(const std::string& written, std::size_t& size,
                    const std::function<std::string()>& rendered) {
  if (size > words_of(written)) {
    Exprs exprs;
    const Expr root = parse_expr(exprs, written);
    if (const std::size_t before = exprs.size(root); before < size) {
      size = before;
      return render(exprs, root);
    }
  }
  return rendered();
}

std::string range_and_size(const Answer& a) {
  return fmt::format("in [{}, {}], size {}", a.bounds.lo ? a.bounds.lo->str() : "-inf",
                     a.bounds.hi ? a.bounds.hi->str() : "inf", a.size);
}

Interval exact_bounds(const Context& context, Id root, std::span<const Id> conditions,
                      const Interval& known) {
  if (context[root].kind == Kind::Constant) return known;
  Search search(context, root, conditions);
  const auto work = search.work();
  return work && *work <= kLimits.answer_work ? search.run(known) : known;
}

Reading::Reading(const Question& q, Context& context) {
  context.clear();
  names = names_of(q, context);
  conditions = conditions_of(q, names, context);
  in_part("in", [&] { tape.read(q.text, names); });
}

Solution::Solution(const Reading& reading, std::string_view text, Context& context) {
  in_part("in", [&] { id_ = CanonicalBuilder(reading.names, context).build(reading.tape, text); });
  extractor_.emplace(context, Extractor::For::Text);
  const Id built = id_;
  id_ = stable_form(context, built, reading.names, reading.tape, &*extractor_);
  bounds_ = context[id_].bounds;
  if (!reading.conditions.empty()) {
    const auto under = Simplifier(context).under(id_, reading.conditions, &bounds_);
    if (!under) throw ParseError("assume: no values of the variables meet all of these");
    id_ = *under;
  }
  // A layout depends on those that the same extractor has made before.
  if (id_ != built) extractor_.emplace(context, Extractor::For::Text);
  form_ = extractor_->extract(id_);
  size_ = extractor_->forms()[static_cast<std::size_t>(form_)].size;
  as_written_ = reading.tape.size() < size_;
  if (as_written_) size_ = reading.tape.size();
}

std::string Solution::text(const std::string& written) const {
  if (!as_written_) return render(extractor_->forms(), form_);
  Exprs exprs;
  const Expr root = parse_expr(exprs, written);
  return render(exprs, root);
}

Answer answer(const Question& question, Context& context) {
  const Reading reading(question, context);
  const auto start = Clock::now();
  const Solution solution(reading, question.text, context);
  Answer a;
  a.ns = std::chrono::nanoseconds(Clock::now() - start).count();
  a.size = solution.size();
  a.text = solution.text(question.text);
  a.bounds = exact_bounds(context, solution.id(), reading.conditions, solution.bounds());
  return a;
}

}  // namespace touchstone::symbolic
