#include "touchstone/maps/map.h"

#include <algorithm>

#include "touchstone/maps/axes.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/symbolic/expr/rebuild.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone {

using symbolic::Context;
using symbolic::Id;
using symbolic::Int;
using symbolic::Node;
using symbolic::NodeData;
using symbolic::NodeKind;

namespace {

using Replacements = std::map<std::string, Node>;

NodeData data(const Node& n) { return (*n.context())[n.id()]; }

std::optional<std::int64_t> small(const symbolic::End& end, const std::string& name) {
  if (!end) return std::nullopt;
  if (const auto value = end->small()) return value;
  throw ParseError(fmt::format("the range of {} is beyond 64 bits", name));
}

// coefficient * x + constant of a sum with one term.
struct OneTerm {
  Int coefficient, constant;
  Node x;
};
std::optional<OneTerm> one_term(const Node& n) {
  const NodeData d = data(n);
  if (d.kind == NodeKind::Constant) return std::nullopt;
  if (d.kind != NodeKind::Sum) return OneTerm{1, 0, n};
  if (d.terms.size() != 1) return std::nullopt;
  return OneTerm{d.terms[0].coef, d.first, n.context()->handle(d.terms[0].atom)};
}

std::string range_text(const Map::Input& i) {
  return fmt::format("{} in [{}, {}]", i.name, i.lo ? std::to_string(*i.lo) : "-inf",
                     i.hi ? std::to_string(*i.hi) : "inf");
}

}  // namespace

maps::Test maps::test_of(const Node& c) {
  Context& context = *c.context();
  const auto of = [&](const NodeData& d) { return context.handle(d.args[0]); };
  const NodeData d = data(c);
  if (d.kind == NodeKind::Negative) return {Test::Less, of(d)};
  if (d.kind == NodeKind::Zero) return {Test::Equal, of(d)};
  const auto t = one_term(c);
  if (!t || t->coefficient != Int(-1) || !t->constant.is_one()) return {};
  const NodeData n = data(t->x);  // not one of these
  if (n.kind == NodeKind::Negative) return {Test::Less, Node(-1) - of(n)};
  if (n.kind == NodeKind::Zero) return {Test::Unequal, of(n)};
  return {};
}

namespace {

using maps::Test;
using maps::test_of;

// A condition that is no comparison as one: y%2 == 0.
std::string condition_text(const Node& c) {
  symbolic::Exprs e;
  const std::string text = symbolic::render(c);
  const symbolic::ExprOp op = e.op(symbolic::parse_expr(e, text));
  if (op >= symbolic::ExprOp::Or && op <= symbolic::ExprOp::Ne) return text;
  const auto t = one_term(c);
  const bool opposite = t && t->coefficient == Int(-1) && t->constant.is_one();
  return opposite ? symbolic::render(t->x) + " == 0" : text + " == 1";
}

bool occurs(const Node& n, std::span<const Map::Input> inputs) {
  return std::ranges::any_of(symbolic::variables(n), [&](const Node& v) {
    return std::ranges::any_of(inputs, [&](const Map::Input& i) { return i.node == v; });
  });
}

}  // namespace

std::string maps::text_with(const std::string& text, const std::map<std::string, std::string>& by) {
  symbolic::Exprs e;
  std::map<std::string, symbolic::Expr> parts;
  for (const auto& [name, other] : by) parts.emplace(name, symbolic::parse_expr(e, other));
  const symbolic::Expr whole = symbolic::parse_expr(e, text);
  return symbolic::render(
      e, symbolic::replaced(e, whole, [&](symbolic::Expr p) -> std::optional<symbolic::Expr> {
        if (e.op(p) != symbolic::ExprOp::Variable) return std::nullopt;
        const auto at = parts.find(e.name(p));
        return at == parts.end() ? std::nullopt : std::optional(at->second);
      }));
}

Map::Input maps::input(const std::string& name, std::optional<std::int64_t> lo,
                       std::optional<std::int64_t> hi) {
  return {name, lo, hi, symbolic::variable(name, lo, hi)};
}

std::optional<sint> Map::Input::extent() const {
  if (lo != 0 || !hi || *hi == INT64_MAX) return std::nullopt;
  return sint(*hi + 1);
}

void Map::add_condition(Node condition) {
  if (condition.constant() == 1) return;
  if (data(condition).kind == NodeKind::And) {
    Context& c = *condition.context();
    for (const Id id : data(condition).args) add_condition(c.handle(id));
    return;
  }
  if (std::ranges::find(conditions_, condition) == conditions_.end())
    conditions_.push_back(condition);
}

// Results are simplified where the conditions hold.
void Map::simplify() {
  if (conditions_.empty()) return;
  for (Node& r : results_) r = symbolic::simplify_under(r, conditions_);
}

Map Map::of(const symbolic::Translation& text, const std::vector<std::string>& symbols) {
  Map m;
  Replacements names;
  const symbolic::Question& first = text.questions.at(0);
  for (const auto& [name, range] : first.variables) {
    Input i = maps::input(name, small(range.lo, name), small(range.hi, name));
    names.emplace(name, i.node);
    const auto spelled = text.spelled.find(name);
    const auto named = [&](const std::vector<std::string>& all) {
      return std::ranges::find(all, name) != all.end() ||
             (spelled != text.spelled.end() &&
              std::ranges::find(all, spelled->second) != all.end());
    };
    const bool is_symbol = named(symbols) || named(text.symbols);
    (is_symbol ? m.symbols_ : m.inputs_).push_back(std::move(i));
  }
  for (const std::string& s : symbols)
    if (!std::ranges::any_of(m.symbols_, [&](const Input& i) {
          const auto at = text.spelled.find(i.name);
          return i.name == s || (at != text.spelled.end() && at->second == s);
        }))
      throw ParseError(fmt::format("--symbol {}: the map has no such variable", s));
  for (const symbolic::Question& q : text.questions) {
    m.results_.push_back(symbolic::parse(q.text, names));
    m.texts_.push_back(q.text);
  }
  for (const std::string& a : first.assumptions) m.add_condition(symbolic::parse(a, names));
  m.simplify();
  m.first_fastest_ = text.language == symbolic::Language::Triton;
  if (text.modes.empty()) return m;
  // A layout is a text about one flat index, i; its modes become the inputs.
  m.first_fastest_ = true;
  if (text.modes.size() < 2 || m.inputs_.size() != 1) return m;
  const std::string flat = m.inputs_[0].name;
  m.inputs_.clear();
  for (std::size_t k = 0; k < text.modes.size(); ++k) {
    const auto size = text.modes[k].small();
    if (!size) throw ParseError("the size of a mode is beyond 64 bits");
    m.inputs_.push_back(maps::input(fmt::format("i{}", k), 0, *size - 1));
  }
  const Node index = m.flat_index();
  Map r = m.substituted({{flat, index}});
  for (const std::string& t : m.texts_)
    r.texts_.push_back(maps::text_with(t, {{flat, symbolic::render(index)}}));
  return r;
}

Map Map::read(const symbolic::Question& text, symbolic::Language from,
              const std::vector<std::string>& symbols) {
  return of(symbolic::translate(text, from), symbols);
}

Map Map::of(const ShapeTracker& tracker) {
  Map m;
  const std::vector<Node> indices = axis_indices(tracker);
  for (const Node& v : tracker.vars())
    m.symbols_.push_back({symbolic::variable_name(v), v.min(), v.max(), v});
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const sint& size = tracker.shape()[k];
    const std::string name = fmt::format("{}{}", index_prefix(tracker), k);
    if (indices[k].is_constant())
      m.inputs_.push_back({name, 0, 0, Node(0)});
    else
      m.inputs_.push_back({name, indices[k].min(), indices[k].max(), indices[k]});
    if (size.is_int() && size.as_int() == 0)
      m.conditions_ = {Node(0)};
    else if (!size.is_int())
      m.add_condition(symbolic::lt(indices[k], size.node()));
  }
  const IndexExpr e = expr_idxs(tracker);
  m.add_condition(e.valid);
  m.results_ = {e.index};
  m.simplify();
  return m;
}

Map Map::made(std::vector<Input> inputs, std::vector<Input> symbols,
              const std::vector<Node>& conditions, std::vector<Node> results) {
  Map m;
  m.inputs_ = std::move(inputs);
  m.symbols_ = std::move(symbols);
  m.results_ = std::move(results);
  for (const Node& c : conditions) m.add_condition(c);
  m.simplify();
  return m;
}

Map Map::of_modes(const std::vector<std::vector<Mode>>& modes) {
  Map m;
  m.first_fastest_ = true;
  Node address = 0;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    std::int64_t size = 1;
    for (const Mode& mode : modes[k]) size = checked_mul(size, mode.size);
    m.inputs_.push_back(maps::input(fmt::format("i{}", k), 0, size - 1));
    Node left = m.inputs_.back().node;
    for (const Mode& mode : modes[k]) {
      address = address + symbolic::floor_mod(left, mode.size) * Node(mode.stride);
      left = symbolic::floor_div(left, mode.size);
    }
  }
  m.results_ = {address};
  return m;
}

Map Map::substituted(const Replacements& replacements) const {
  Map m = *this;
  m.conditions_.clear();
  m.texts_.clear();
  for (const Node& c : conditions_) m.add_condition(symbolic::substitute(c, replacements));
  for (Node& r : m.results_) r = symbolic::substitute(r, replacements);
  m.simplify();
  return m;
}

Map Map::bind(const symbolic::Values& values) const {
  Replacements numbers;
  for (const auto& [name, value] : values) numbers.emplace(name, Node(value));
  Map m = substituted(numbers);
  std::erase_if(m.symbols_, [&](const Input& s) { return values.contains(s.name); });
  return m;
}

Map Map::renamed(const std::string& symbol, const std::string& name) const {
  const auto at = std::ranges::find(symbols_, symbol, &Input::name);
  Input other = maps::input(name, at->lo, at->hi);
  Map m = substituted({{symbol, other.node}});
  m.symbols_[static_cast<std::size_t>(at - symbols_.begin())] = std::move(other);
  return m;
}

std::vector<Map::Place> Map::places() const {
  if (inputs_.size() == 1) return {{1, 0}};
  std::vector<Place> r(inputs_.size());
  std::int64_t below = 1;
  for (std::size_t n = 0; n < r.size(); ++n) {
    const std::size_t k = first_fastest_ ? n : r.size() - 1 - n;
    const auto extent = inputs_[k].extent();
    if (!extent)
      throw ShapeError(
          fmt::format("a flat index needs ranges from 0 to a number; {}", range_text(inputs_[k])));
    r[k] = {below, extent->as_int()};
    below = checked_mul(below, r[k].size);
  }
  return r;
}

Node Map::flat_index() const {
  Node sum = 0;
  const std::vector<Place> all = places();
  for (std::size_t k = 0; k < all.size(); ++k) sum = sum + inputs_[k].node * Node(all[k].weight);
  return sum;
}

Map Map::flat() const {
  if (inputs_.size() == 1) return *this;
  const std::vector<Place> all = places();
  std::int64_t size = 1;
  for (const Place& p : all) size *= p.size;
  Input index = maps::input("i", 0, size - 1);
  while (std::ranges::find(symbols_, index.name, &Input::name) != symbols_.end())
    index = maps::input(index.name + "_", 0, size - 1);
  Replacements digits;
  for (std::size_t k = 0; k < all.size(); ++k)
    digits.emplace(
        inputs_[k].name,
        symbolic::floor_mod(symbolic::floor_div(index.node, all[k].weight), all[k].size));
  Map m = *this;
  m.inputs_ = {index};
  return m.substituted(digits);
}

Map Map::restricted(const std::string& condition) const {
  Replacements names;
  for (const Input& i : inputs_) names.emplace(i.name, i.node);
  for (const Input& s : symbols_) names.emplace(s.name, s.node);
  std::string text = condition;
  const std::size_t equals = text.find('='), dots = text.find("..");
  if (dots != text.npos && equals < dots && equals > 0) {  // i=0..7
    const std::string name = text.substr(0, equals),
                      lo = text.substr(equals + 1, dots - equals - 1), hi = text.substr(dots + 2);
    text = lo.empty() ? "" : lo + " <= " + name;
    if (!hi.empty()) text += (text.empty() ? "" : " and ") + name + " <= " + hi;
  }
  Map m = *this;
  m.add_condition(symbolic::parse(text, names));
  m.simplify();
  return m;
}

Map Map::with_results(std::vector<Node> results) const {
  Map m = *this;
  m.results_ = std::move(results);
  m.texts_.clear();
  return m;
}

Map Map::without_conditions() const {
  Map m = *this;
  m.conditions_.clear();
  return m;
}

Map Map::then(const Map& after) const {
  const Map next = results_.size() == 1 && after.inputs_.size() > 1 ? after.flat() : after;
  if (next.inputs_.size() != results_.size())
    throw ShapeError(fmt::format(
        "compose: the inner map has {} results, the outer map {} inputs; they must agree",
        results_.size(), next.inputs_.size()));
  Map m = *this;
  for (const Input& s : next.symbols_) {
    if (std::ranges::find(m.inputs_, s.name, &Input::name) != m.inputs_.end())
      throw ShapeError(fmt::format(
          "{} is an input of the inner map and a symbol of the outer one; rename one", s.name));
    const auto own = std::ranges::find(m.symbols_, s.name, &Input::name);
    if (own == m.symbols_.end())
      m.symbols_.push_back(s);
    else if (own->node != s.node)
      throw ShapeError(fmt::format("{} has different ranges in the two maps", s.name));
  }
  Replacements values;
  const auto axes = maps::axes_of(*this);
  for (std::size_t k = 0; k < results_.size(); ++k) {
    const Input& i = next.inputs_[k];
    values.emplace(i.name, results_[k]);
    const auto reach = axes ? axes->reach(k) : std::nullopt;  // exact: digits are independent
    if (i.lo && !(reach && reach->first >= *i.lo))
      m.add_condition(symbolic::ge(results_[k], *i.lo));
    if (i.hi && !(reach && reach->second <= *i.hi))
      m.add_condition(symbolic::le(results_[k], *i.hi));
  }
  for (const Node& c : next.conditions_) m.add_condition(symbolic::substitute(c, values));
  m.results_.clear();
  m.texts_.clear();
  for (const Node& r : next.results_) m.results_.push_back(symbolic::substitute(r, values));
  m.simplify();
  return m;
}

Map Map::over_inputs_of(const Map& other) const {
  const auto same_range = [](const Input& a, const Input& b) {
    return a.lo == b.lo && a.hi == b.hi;
  };
  if (inputs_.size() == other.inputs_.size() &&
      std::equal(inputs_.begin(), inputs_.end(), other.inputs_.begin(), same_range)) {
    Replacements names;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      names.emplace(inputs_[k].name, other.inputs_[k].node);
    Map m = *this;
    m.inputs_ = other.inputs_;
    return m.substituted(names);
  }
  const Map own = flat(), its = other.flat();
  if (!same_range(own.inputs_[0], its.inputs_[0]))
    throw ShapeError(fmt::format("the maps have different inputs: {}, and {}",
                                 range_text(own.inputs_[0]), range_text(its.inputs_[0])));
  Map m = own;
  m.inputs_ = other.inputs_;
  return m.substituted({{own.inputs_[0].name, other.flat_index()}});
}

std::optional<std::int64_t> Map::Box::count() const {
  if (empty) return 0;
  std::int64_t count = 1;
  for (const Side& s : sides) {
    std::int64_t width = 0;
    if (!s.lo || !s.hi || __builtin_sub_overflow(*s.hi, *s.lo, &width) ||
        __builtin_add_overflow(width, 1, &width) || __builtin_mul_overflow(count, width, &count) ||
        count > std::int64_t{1} << 62)
      return std::nullopt;
  }
  return count;
}

Map::Box Map::box() const {
  Box b;
  for (const Input& i : inputs_) b.sides.push_back({i.lo, i.hi, i.extent()});
  const auto side_of = [&](const Node& v) -> Box::Side* {
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].node == v) return &b.sides[k];
    return nullptr;
  };
  for (const Node& c : conditions_) {
    if (c.constant() == 0) {
      b.empty = true;
      continue;
    }
    const Test test = test_of(c);
    const auto t = test.kind != Test::Other ? one_term(test.of) : std::nullopt;
    if (Box::Side* const side = t ? side_of(t->x) : nullptr) {
      symbolic::Interval range{side->lo ? symbolic::End(*side->lo) : symbolic::End(),
                               side->hi ? symbolic::End(*side->hi) : symbolic::End()};
      const bool unequal = test.kind == Test::Unequal;
      const auto at = t->coefficient.is_one() ? (-t->constant).small() : std::nullopt;
      bool taken = !unequal;
      if (unequal && at && (at == side->lo || at == side->hi)) {  // only an end can go
        taken = true;
        if (at == side->lo) range.lo = Int(*at) + 1;
        if (at == side->hi) range.hi = Int(*at) - 1;
      } else if (!unequal) {
        const bool less = test.kind == Test::Less;
        range.narrow(t->coefficient, less ? -t->constant - 1 : -t->constant);
        if (!less) range.narrow(-t->coefficient, t->constant);
      }
      if (range.lo && range.hi && *range.hi < *range.lo) {
        b.empty = true;
        continue;
      }
      if (taken) {
        *side = {small(range.lo, "an input"), small(range.hi, "an input"), {}};
        side->extent = Input{"", side->lo, side->hi}.extent();
        continue;
      }
    }
    // i < n with a symbol n
    bool taken = false;
    if (test.kind == Test::Less && data(test.of).kind == NodeKind::Sum)
      for (const symbolic::Term& term : data(test.of).terms) {
        const Node x = c.context()->handle(term.atom);
        Box::Side* const side = term.coef.is_one() ? side_of(x) : nullptr;
        if (!side || side->lo != 0) continue;
        const Node extent = x - test.of;
        if (taken || occurs(extent, inputs_) || (side->extent && !side->extent->is_int())) continue;
        const bool within =
            extent.max() && side->hi != INT64_MAX && (!side->hi || *extent.max() <= *side->hi + 1);
        if (side->hi && !within) continue;
        side->extent = sint(extent);
        taken = true;
      }
    if (!taken) b.rest.push_back(c);
  }
  return b;
}

std::optional<Map::FromZero> Map::from_zero() const {
  const Box b = box();
  if (b.empty) return std::nullopt;
  FromZero r{*this, {}};
  Replacements moved;
  bool ranges = false;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const Box::Side& s = b.sides[k];
    Input& i = r.map.inputs_[k];
    r.lows.push_back(s.lo.value_or(0));
    if (s.lo == i.lo && s.hi == i.hi && s.lo.value_or(0) == 0) continue;
    ranges = true;
    if (!s.lo && s.hi) return std::nullopt;
    std::optional<std::int64_t> hi = s.hi;
    if (hi && __builtin_sub_overflow(*hi, s.lo.value_or(0), &*hi)) return std::nullopt;
    i = maps::input(i.name, s.lo ? std::optional<std::int64_t>(0) : std::nullopt, hi);
    moved.emplace(i.name, i.node + Node(r.lows[k]));
  }
  if (ranges) r.map = r.map.substituted(moved);
  return r;
}

std::vector<symbolic::Question> Map::questions() const {
  symbolic::Question q;
  const auto end = [](const std::optional<std::int64_t>& e) {
    return e ? symbolic::End(*e) : symbolic::End();
  };
  for (const auto* list : {&inputs_, &symbols_})
    for (const Input& i : *list) q.variables.push_back({i.name, {end(i.lo), end(i.hi)}});
  for (const Node& c : conditions_) q.assumptions.push_back(condition_text(c));
  std::vector<symbolic::Question> all(results_.size(), q);
  for (std::size_t k = 0; k < results_.size(); ++k) all[k].text = symbolic::render(results_[k]);
  return all;
}

std::string Map::str() const {
  std::string names, values, domain;
  for (const Input& i : inputs_) names += (names.empty() ? "" : ", ") + i.name;
  for (const Node& r : results_) values += (values.empty() ? "" : ", ") + symbolic::render(r);
  const auto add = [&](const std::string& text) {
    domain += (domain.empty() ? " for " : ", ") + text;
  };
  for (const auto* list : {&inputs_, &symbols_})
    for (const Input& i : *list)
      if (i.lo || i.hi) add(range_text(i));
  for (const Node& c : conditions_) add(condition_text(c));
  return fmt::format("[{}] -> [{}]{}", names, values, domain);
}

}  // namespace touchstone
