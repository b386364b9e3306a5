#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/rewrite_case.h"
#include "touchstone/fuzz/definitions/rewriting.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::fuzz {
namespace {

using Case = RewriteCase;
using CaseRules = std::vector<Case::Rule>;

UPat upat(const Case::Pattern& p) {
  using Kind = Case::Pattern::Kind;
  using Sources = Case::Pattern::Sources;
  if (p.kind == Kind::Casted)
    return p.name.empty() ? upat(p.of[0]).or_casted() : upat(p.of[0]).or_casted(p.name);
  std::vector<UPat> of;
  for (const Case::Pattern& s : p.of) of.push_back(upat(s));
  if (p.kind == Kind::OneOf) {
    const UPat any = UPat::any(std::move(of));
    return p.name.empty() ? any : any.named(p.name);
  }
  OpSet ops;
  for (const GraphOp op : p.ops) ops.add(op);
  UPat made = p.kind == Kind::Number ? UPat::number(p.number) : p.ops.empty() ? UPat() : UPat(ops);
  if (!p.types.empty()) made = made.of_type(p.types);
  if (p.arg) made = made.with_arg(*p.arg);
  if (p.sources == Sources::Ordered)
    made = made.over(std::move(of));
  else if (p.sources == Sources::Shuffled)
    made = made.over_any_order(std::move(of));
  else if (p.sources == Sources::Each)
    made = made.over_each(of[0]);
  if (p.or_more) made = made.or_more();
  return p.name.empty() ? made : made.named(p.name);
}

// A matcher rule named by its number; its function logs each call.
RewriteRule rule_of(const Case::Rule& rule, std::size_t number) {
  const std::vector<std::string> names = names_of(rule);
  const auto apply = [rule, names, number](const Match& m) {
    std::vector<UOp> named(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      if (m.has(i)) named[i] = m[i];
    m.context<std::vector<RuleCall>>().push_back({number, named});
    return made_by(rule, m.root(), names, named);
  };
  return {.name = fmt::format("rule {}", number), .pattern = upat(rule.pattern), .apply = apply};
}

// Two matchers, concatenated: rules are tried in the order of both.
PatternMatcher matcher_of(const CaseRules& rules) {
  std::vector<RewriteRule> first, second;
  for (std::size_t i = 0; i < rules.size(); ++i)
    (2 * i < rules.size() ? first : second).push_back(rule_of(rules[i], i));
  return PatternMatcher(std::move(first)) + PatternMatcher(std::move(second));
}

class HeardUses final : public RewriteRecorder {
 public:
  void rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) override {
    uses.push_back({static_cast<std::size_t>(std::stoul(rule.name.substr(5))), before, after});
  }
  std::vector<RuleUse> uses;
};

std::string shown(const UOp& u) {
  if (!u) return "null";
  std::string text = u.line();
  if (!u.src().empty()) text += " over";
  for (const UOp& s : u.src()) {
    text += " (" + s.line() + ")";
    if (text.size() > 300) return text + " ...";
  }
  return text;
}
std::string shown(const RuleUse& use) {
  return fmt::format("rule {}: {} -> {}", use.rule, shown(use.before), shown(use.after));
}
std::string shown(const RuleCall& call) {
  std::string text = fmt::format("rule {} of", call.rule);
  for (const UOp& u : call.named) text += " [" + shown(u) + "]";
  return text;
}

// The first difference of two lists.
template <class T>
std::string parting(const std::vector<T>& is, const std::vector<T>& must) {
  for (std::size_t i = 0; i < std::max(is.size(), must.size()); ++i)
    if (i >= is.size() || i >= must.size() || !(is[i] == must[i]))
      return fmt::format("number {}: {}, must be {}", i, i < is.size() ? shown(is[i]) : "none",
                         i < must.size() ? shown(must[i]) : "none");
  return "";
}

// What `work` throws, if it does.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const AstError& e) {
    return e.what();
  }
  return "";
}
template <class Work>
std::optional<Endless> endless_of(const Work& work) {
  try {
    work();
  } catch (const Endless& e) {
    return e;
  }
  return std::nullopt;
}

using Origins = std::unordered_map<UOp, UOpMetadata>;
using PlainMap = std::unordered_map<UOp, UOp>;

class RewriteChecking {
 public:
  explicit RewriteChecking(const Case& c) : case_(c), nodes_(case_.build()) {
    for (const Case::Pass& p : case_.passes) {
      if (p.kind == Case::Pass::Kind::Substitute) {
        std::set<std::int64_t> keys;
        for (const auto& pair : p.substitutes)
          if (!keys.insert(pair.first).second) throw ParseError("a node is substituted twice");
      }
      for (const Case::Rule& r : p.rules) {
        if (std::ssize(names_of(r)) > PatternMatcher::kMostNames)
          throw ParseError("a rule has too many names");
        if (names_of(r).size() != names_of(r.pattern).size())
          throw ParseError("a rule uses a name that its pattern lacks");
      }
    }
  }

  Checked all() {
    try {
      if (auto wrong = table()) return *wrong;
      if (auto wrong = refused()) return *wrong;
      if (auto wrong = toposorted()) return *wrong;
      if (auto wrong = matching()) return *wrong;
      UOp sink = nodes_.back();
      std::optional<RewriteMap> known;
      for (const Case::Pass& pass : case_.passes) {
        if (pass.kind != Case::Pass::Kind::Map) known.reset();
        const auto wrong = pass.kind == Case::Pass::Kind::Map       ? map(pass, sink, known)
                           : pass.kind == Case::Pass::Kind::Rewrite ? rewrite(pass, sink)
                                                                    : substituted(pass, sink);
        if (wrong) return *wrong;
        if (ended_) break;
      }
    } catch (const TooMuch&) {
      return {Ending::Skipped, {}};
    }
    return {};
  }

 private:
  using Wrong = std::optional<Checked>;

  // Nodes are identical exactly if their parts, as the case states them, are equal.
  Wrong table() {
    std::map<std::string, std::size_t> known;  // parts -> the first node of them
    std::unordered_map<UOp, std::size_t> by_node;
    std::vector<std::size_t> first;
    for (const Case::Node& n : case_.nodes)
      for (std::int64_t i = 0; i < n.times; ++i) {
        const std::size_t here = first.size();
        UOpArg value = n.arg;
        if (n.counts) value = i;
        if (n.counts && n.op == GraphOp::Const) value = Scalar::from_int(n.type.base, i);
        std::string parts = fmt::format("{} {} {} {}", touchstone::name(n.op), n.type.str(),
                                        value.index(), touchstone::text_of(value));
        if (const auto* c = std::get_if<Scalar>(&value)) parts += info(c->dtype()).short_name;
        parts += n.tag ? fmt::format(" tag {} over", *n.tag) : " over";
        for (const std::size_t s : sources_of(n, here)) parts += fmt::format(" {}", first[s]);
        first.push_back(known.emplace(parts, here).first->second);
        if (nodes_[here] != nodes_[first.back()])
          return Checked::fail("table", "two nodes are " + parts);
        if (by_node.emplace(nodes_[here], first.back()).first->second != first.back())
          return Checked::fail("table", "one node is " + parts + " and something else");
      }
    return std::nullopt;
  }

  static std::vector<std::size_t> sources_of(const Case::Node& n, std::size_t here) {
    std::vector<std::size_t> all;
    for (const Case::Node::Source& s : n.src) {
      const std::int64_t step = s.from <= s.to ? 1 : -1;
      for (std::int64_t k = s.from; k != s.to + step; k += step)
        all.push_back(static_cast<std::size_t>(s.back ? static_cast<std::int64_t>(here) - k : k));
    }
    return all;
  }

  // Exactly the rules that can never match are refused. Refused rules are dropped.
  Wrong refused() {
    for (Case::Pass& pass : case_.passes) {
      CaseRules good;
      for (const Case::Rule& rule : pass.rules) {
        const std::string must = refusal_of(rule);
        const std::string is = error_of([&] { (void)PatternMatcher({rule_of(rule, 0)}); });
        if (must.empty() != is.empty())
          return Checked::fail(
              "refused", fmt::format("{}: {}, must be: {}", rule.str(), is.empty() ? "taken" : is,
                                     must.empty() ? "taken" : must));
        if (!is.empty() && is.find("rule 'rule 0'") == is.npos)
          return Checked::fail("refused", "the rule is not named: " + is);
        if (is.empty()) good.push_back(rule);
      }
      pass.rules = std::move(good);
    }
    return std::nullopt;
  }

  // Sources come first, left to right; with a gate, nodes reachable only through it are left out.
  Wrong toposorted() {
    const UOp& root = nodes_.back();
    const GraphOp closed = nodes_[nodes_.size() / 2].op();
    for (const bool gated : {false, true}) {
      std::vector<UOp> must;
      std::set<const UOpNode*> seen;
      const auto visit = [&](const auto& self, const UOp& u) -> void {
        if ((gated && u.op() == closed) || !seen.insert(u.address()).second) return;
        for (const UOp& s : u.src()) self(self, s);
        must.push_back(u);
      };
      visit(visit, root);
      const std::vector<UOp> is =
          gated ? root.toposort([&](const UOp& u) { return u.op() != closed; }) : root.toposort();
      if (is != must)
        return Checked::fail("toposort",
                             fmt::format("{} nodes{}: {}", is.size(), gated ? " with a gate" : "",
                                         parting(is, must)));
    }
    return std::nullopt;
  }

  Wrong matching() {
    CaseRules rules;
    for (const Case::Pass& p : case_.passes)
      rules.insert(rules.end(), p.rules.begin(), p.rules.end());
    if (rules.empty()) return std::nullopt;
    const PatternMatcher fast = matcher_of(rules);
    PlainRewriting plain(rules);
    for (const UOp& u : nodes_.back().toposort()) {
      std::vector<RuleCall> calls;
      const RewriteRule* by = nullptr;
      plain.calls.clear();
      plain.uses.clear();
      const UOp must = plain.matched(u), is = fast.rewrite(u, RewriteContext(calls), &by);
      if (calls != plain.calls)
        return Checked::fail("match", fmt::format("{}\nthe functions called differ: {}", shown(u),
                                                  parting(calls, plain.calls)));
      if (is != must)
        return Checked::fail(
            "match", fmt::format("{}\ngives {}, must give {}", shown(u), shown(is), shown(must)));
      if (must && (by == nullptr || by->name != fmt::format("rule {}", plain.uses[0].rule)))
        return Checked::fail("match",
                             fmt::format("{}\nby {}, must be by rule {}", shown(u),
                                         by == nullptr ? "no rule" : by->name, plain.uses[0].rule));
    }
    return std::nullopt;
  }

  std::int64_t budget() const { return 200 + 10 * std::ssize(nodes_); }

  // Compares the error of an endless rewrite with its cause.
  Wrong endless(const std::optional<Endless>& must, const std::string& is, bool by_rules) {
    ended_ = ended_ || must.has_value();
    if (must.has_value() == is.empty())
      return Checked::fail("endless", must ? "it ends, and must not" : "must end: " + is);
    if (!must) return std::nullopt;
    bool rule = !by_rules, node = must->lines.empty();
    for (const std::size_t r : must->rules)
      rule = rule || is.find(fmt::format("'rule {}'", r)) != is.npos;
    for (const std::string& line : must->lines) node = node || is.find(line) != is.npos;
    if (!rule) return Checked::fail("endless", "no rule that is to blame is named: " + is);
    if (!node) return Checked::fail("endless", "no node that comes back is named: " + is);
    return std::nullopt;
  }

  static Wrong agree(const UOp& is, const UOp& must, const std::string& what) {
    if (is == must) return std::nullopt;
    return Checked::fail("rewrite", fmt::format("{}:\n{}must be\n{}", what, is.str(), must.str()));
  }

  Wrong rewrite(const Case::Pass& pass, UOp& sink) {
    PlainRewriting plain(pass.rules);
    UOp must, is;
    const auto stuck = endless_of([&] { must = plain.rewritten(sink, pass.bottom_up, budget()); });
    HeardUses told;
    std::vector<RuleCall> calls;
    const std::string error = error_of([&] {
      const RecorderScope scope(told);
      is = graph_rewrite(sink, matcher_of(pass.rules), RewriteContext(calls), options(pass));
    });
    if (auto wrong = endless(stuck, error, true)) return wrong;
    if (stuck) return std::nullopt;
    if (auto wrong = agree(is, must, "the graph")) return wrong;
    if (told.uses != plain.uses)
      return Checked::fail("told", "the recorder hears " + parting(told.uses, plain.uses));
    sink = must;
    return std::nullopt;
  }

  RewriteOptions options(const Case::Pass& pass) const {
    return {.order = pass.bottom_up ? RewriteOrder::BottomUp : RewriteOrder::TopDown,
            .budget = budget()};
  }

  static UOpMetadata now_of(const UOp& u) {
    const auto of = u.metadata();
    return of == nullptr ? UOpMetadata() : *of;
  }

  Wrong map(const Case::Pass& pass, UOp& sink, std::optional<RewriteMap>& known) {
    PlainRewriting plain(pass.rules);
    std::vector<UOp> order;
    PlainMap must;
    Origins origins;
    const auto origins_of = [&](const UOp& u) -> UOpMetadata& {
      return origins.try_emplace(u, now_of(u)).first->second;
    };
    const auto stuck = endless_of([&] {
      const auto visit = [&](const auto& self, const UOp& u) -> void {
        if (must.contains(u)) return;
        for (const UOp& s : u.src()) self(self, s);
        if (!must.emplace(u, u).second) return;
        order.push_back(u);
      };
      visit(visit, sink);
      for (const UOp& u : order) {
        const UOp result = plain.rewritten(u, pass.bottom_up, budget());
        must[u] = result;
        if (result == u) continue;
        const UOpMetadata& from = origins_of(u);
        UOpMetadata& to = origins_of(result);
        for (const UOpOrigin& o : from)
          if (std::ranges::find(to, o) == to.end()) to.push_back(o);
      }
    });
    HeardUses told;
    std::vector<RuleCall> calls;
    RewriteMap is;
    const std::string error = error_of([&] {
      const RecorderScope scope(told);
      is = graph_rewrite_map(sink, matcher_of(pass.rules), RewriteContext(calls), options(pass),
                             known ? &*known : nullptr);
    });
    if (auto wrong = endless(stuck, error, true)) return wrong;
    if (stuck) return std::nullopt;
    for (const UOp& u : order)
      if (!known || !known->has(u))  // else the results of earlier passes apply
        if (auto wrong = agree(result_of(is, u), must.at(u), "the map of " + shown(u)))
          return wrong;
    if (known)
      for (const auto& [node, result] : *known) {
        const auto at = must.find(result);
        if (auto wrong = agree(result_of(is, node), at == must.end() ? result : at->second,
                               "the map, composed, of " + shown(node)))
          return wrong;
      }
    if (told.uses != plain.uses)
      return Checked::fail("told", "the recorder hears " + parting(told.uses, plain.uses));
    for (const auto& [node, of] : origins) {
      const UOpMetadata has = now_of(node);
      if (has != of)
        return Checked::fail("metadata", fmt::format("{} has {} origins, must have {}", shown(node),
                                                     has.size(), of.size()));
    }
    known = is;
    sink = must.at(sink);
    return std::nullopt;
  }

  Wrong substituted(const Case::Pass& pass, UOp& sink) {
    PlainMap pairs;
    RewriteMap fast;
    for (const auto& [from, to] : pass.substitutes) {
      const UOp &a = nodes_[static_cast<std::size_t>(from)],
                &b = nodes_[static_cast<std::size_t>(to)];
      if (pairs.emplace(a, b).second) fast.set(a, b);
    }
    PlainRewriting plain({});
    UOp must, is;
    const auto stuck = endless_of([&] { must = plain.rewritten(sink, true, 1 << 30, &pairs); });
    const std::string error = error_of([&] { is = substitute(sink, fast); });
    if (auto wrong = endless(stuck, error, false)) return wrong;
    if (stuck) return std::nullopt;
    if (auto wrong = agree(is, must, "substituted")) return wrong;
    sink = must;
    return std::nullopt;
  }

  Case case_;
  std::vector<UOp> nodes_;
  bool ended_ = false;  // an endless pass: nothing follows
};

class RewriteArea final : public Area {
 public:
  std::string_view name() const override { return "rewrite"; }
  std::string draw(Chooser& chooser) override { return draw_rewrite(chooser); }

  Checked check(const std::string& text, Effort /*effort*/) override {
    const Case& c = cases_.of(text);
    const std::int64_t before = living_uops();
    const Checked checked = RewriteChecking(c).all();
    if (checked.ending != Ending::Fail && living_uops() != before)
      return Checked::fail("table", fmt::format("{} nodes live on", living_uops() - before));
    return checked;
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_rewrites(cases_.of(text));
  }
  Measure measure(const std::string& text) override {
    const Case& c = cases_.of(text);
    (void)c.build();
    return measure_of(c);
  }
  Extent extent(const std::string& text) override { return extent_of(cases_.of(text)); }

 private:
  LastParsed<Case> cases_;
};

}  // namespace

std::unique_ptr<Area> make_rewrite_area() { return std::make_unique<RewriteArea>(); }

}  // namespace touchstone::fuzz
