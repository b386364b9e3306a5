#include "touchstone/uop/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "graphs.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

RewriteRule to_op(const char* name, const UPat& pattern, GraphOp op) {
  return {name, pattern, [op](const Match& m) { return m[0].alu(op); }};
}
UPat sin_of(const UPat& x) { return UPat(GraphOp::Sin).over({x}); }

TEST(GraphRewrite, TopDownTakesSourcesFirstBottomUpTheOuterOne) {
  const UOp a = buffer();
  const PatternMatcher m({to_op("sin sin", sin_of(sin_of(UPat::var("x"))), GraphOp::Exp2),
                          to_op("sin", sin_of(UPat::var("x")), GraphOp::Sqrt)});
  const UOp two = a.alu(GraphOp::Sin).alu(GraphOp::Sin), three = two.alu(GraphOp::Sin);
  EXPECT_EQ(graph_rewrite(two, m), a.alu(GraphOp::Sqrt).alu(GraphOp::Sqrt));
  const RewriteOptions up{.order = RewriteOrder::BottomUp};
  EXPECT_EQ(graph_rewrite(two, m, {}, up), a.alu(GraphOp::Exp2));
  // The sources of a rule's result are rewritten too.
  EXPECT_EQ(graph_rewrite(three, m, {}, up), a.alu(GraphOp::Sqrt).alu(GraphOp::Exp2));
}

TEST(GraphRewrite, WhatARuleMakesIsRewrittenToo) {
  const UOp a = buffer();
  const PatternMatcher m({to_op("sin", sin_of(UPat::var("x")), GraphOp::Sqrt),
                          to_op("sqrt", UPat(GraphOp::Sqrt).over({UPat::var("x")}), GraphOp::Neg)});
  EXPECT_EQ(graph_rewrite(a.alu(GraphOp::Sin), m), a.alu(GraphOp::Neg));
}

TEST(GraphRewrite, ARebuiltNodeKeepsItsTag) {
  const UOp a = buffer();
  const UOp tagged = a.alu(GraphOp::Sin).alu(GraphOp::Neg).with_tag(7);
  const PatternMatcher m({to_op("sin", sin_of(UPat::var("x")), GraphOp::Sqrt)});
  EXPECT_EQ(graph_rewrite(tagged, m), a.alu(GraphOp::Sqrt).alu(GraphOp::Neg).with_tag(7));
}

std::string failure(const PatternMatcher& m, const UOp& node, RewriteOrder order) {
  try {
    graph_rewrite(node, m, {}, {.order = order, .pass = "test"});
  } catch (const AstError& e) {
    return e.what();
  }
  return "ended";
}

TEST(GraphRewrite, ARewriteThatDoesNotEndNamesTheRuleAndTheNode) {
  const UOp a = buffer();
  const PatternMatcher circle(
      {to_op("there", sin_of(UPat::var("x")), GraphOp::Sqrt),
       to_op("back", UPat(GraphOp::Sqrt).over({UPat::var("x")}), GraphOp::Sin)});
  const PatternMatcher grows({{"grows", sin_of(UPat::var("x")),
                               [](const Match& m) { return m.root().alu(GraphOp::Neg); }}});
  const PatternMatcher tags({{"tags", sin_of(UPat::var("x")), [](const Match& m) {
                                return m.root().with_tag(m.root().tag().value_or(0) + 1);
                              }}});
  const PatternMatcher deeper(
      {{"deeper", sin_of(UPat::var("x")), [](const Match& m) {
          return m[0].alu(GraphOp::Exp2).alu(GraphOp::Sin).alu(GraphOp::Neg);
        }}});
  for (const RewriteOrder order : {RewriteOrder::TopDown, RewriteOrder::BottomUp}) {
    const std::string round = failure(circle, a.alu(GraphOp::Sin), order);
    EXPECT_THAT(round, HasSubstr("does not end"));
    EXPECT_THAT(round, ::testing::AnyOf(HasSubstr("'there'"), HasSubstr("'back'")));
    EXPECT_THAT(failure(grows, a.alu(GraphOp::Sin), order), HasSubstr("'grows'"));
    EXPECT_THAT(failure(grows, a.alu(GraphOp::Sin), order), HasSubstr("SIN f32"));
    EXPECT_THAT(failure(tags, a.alu(GraphOp::Sin), order), HasSubstr("'tags'"));
    EXPECT_THAT(failure(deeper, a.alu(GraphOp::Sin), order), HasSubstr("'deeper'"));
  }
}

TEST(GraphRewrite, ChainsAreRewrittenInLinearTimeAndWithoutRecursion) {
  const UOp a = buffer();
  UOp x = a, y = a;
  for (int i = 0; i < 100'000; ++i) {
    x = x.alu(GraphOp::Sin);
    y = y.alu(GraphOp::Sqrt);
  }
  const PatternMatcher m({to_op("sin", sin_of(UPat::var("x")), GraphOp::Sqrt)});
  EXPECT_EQ(graph_rewrite(x, m), y);
  EXPECT_EQ(graph_rewrite(x, m, {}, {.order = RewriteOrder::BottomUp}), y);
}

PatternMatcher adds_nothing() {
  return PatternMatcher(
      {{"x + 0", UPat::var("x") + UPat::number(0), [](const Match& m) { return m[0]; }},
       {"a + b", UPat::cvar("a") + UPat::cvar("b"), [](const Match& m) {
          return number(m[0].value().to_double() + m[1].value().to_double());
        }}});
}

TEST(GraphRewriteMap, EverySubExpressionMaps) {
  const UOp zero = number(0), inner = add(zero, number(5)), outer = add(zero, inner);
  const RewriteMap map = graph_rewrite_map(outer, adds_nothing());
  EXPECT_EQ(result_of(map, outer), number(5));
  EXPECT_EQ(result_of(map, inner), number(5));
  EXPECT_EQ(result_of(map, zero), zero);
}

TEST(GraphRewriteMap, PassesCompose) {
  const UOp a = buffer(), first = add(number(0), a.alu(GraphOp::Sin));
  const RewriteMap one = graph_rewrite_map(first, adds_nothing());
  const PatternMatcher next({to_op("sin", sin_of(UPat::var("x")), GraphOp::Sqrt)});
  const RewriteMap two = graph_rewrite_map(result_of(one, first), next, {}, {}, &one);
  EXPECT_EQ(result_of(two, first), a.alu(GraphOp::Sqrt));
  EXPECT_EQ(result_of(two, a.alu(GraphOp::Sin)), a.alu(GraphOp::Sqrt));
}

TEST(GraphRewriteMap, MetadataGoesToTheResultOnce) {
  const UOp a = buffer(), inner = add(number(0), a.alu(GraphOp::Exp2)),
            outer = add(number(0), inner);
  inner.set_metadata({{"add", "1"}});
  outer.set_metadata({{"add", "1"}, {"add", "2"}});
  const RewriteMap map = graph_rewrite_map(outer, adds_nothing());
  const UOp result = result_of(map, outer);
  EXPECT_EQ(result, a.alu(GraphOp::Exp2));
  EXPECT_EQ(*result.metadata(), (UOpMetadata{{"add", "1"}, {"add", "2"}}));
}

TEST(Substitute, ReplacesNodesAlsoInsideReplacements) {
  const UOp a = buffer(), b = buffer(), c = buffer();
  RewriteMap map;
  map.set(a, b.alu(GraphOp::Sin));
  map.set(b, c);
  EXPECT_EQ(substitute(add(a, b).alu(GraphOp::Neg), map),
            add(c.alu(GraphOp::Sin), c).alu(GraphOp::Neg));
  RewriteMap endless;
  endless.set(a, a.alu(GraphOp::Sin));
  EXPECT_THROW(substitute(a, endless), AstError);
}

// The definition, without an index, memo, early rejection or explicit stack.
namespace plain {

using Binding = std::map<std::string, UOp>;
using Continue = std::function<bool(const Binding&)>;

bool match(const UPat& pattern, const UOp& u, const Binding& known, const Continue& next);

bool match_all(const std::vector<UPat>& of, const std::vector<UOp>& src, std::size_t i,
               const Binding& known, const Continue& next) {
  if (i == of.size()) return next(known);
  return match(of[i], src[i], known,
               [&](const Binding& b) { return match_all(of, src, i + 1, b, next); });
}

bool match(const UPat& pattern, const UOp& u, const Binding& known, const Continue& next) {
  const UPat::Parts& p = pattern.parts();
  Binding b = known;
  if (!p.name.empty()) {
    if (b.contains(p.name) && b.at(p.name) != u) return false;
    b[p.name] = u;
  }
  if (p.alternatives)
    return std::ranges::any_of(p.src, [&](const UPat& q) { return match(q, u, b, next); });
  if (!p.ops.has(u.op())) return false;
  if (p.number && !is_number(u.value(), *p.number)) return false;
  if (p.sources == UPat::Sources::Any) return next(b);
  std::vector<UPat> of = p.src;
  if (p.sources == UPat::Sources::Each) of.assign(u.src().size(), p.src[0]);
  if (of.size() != u.src().size() && !(p.or_more && of.size() < u.src().size())) return false;
  if (p.sources != UPat::Sources::Shuffled) return match_all(of, u.src(), 0, b, next);
  std::vector<std::size_t> order(of.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<UOp> src;
    for (const std::size_t i : order) src.push_back(u.src(i));
    if (match_all(of, src, 0, b, next)) return true;
  } while (std::ranges::next_permutation(order).found);
  return false;
}

// The names of a pattern, each once, in reading order.
void add_names(const UPat& pattern, std::vector<std::string>& names) {
  const UPat::Parts& p = pattern.parts();
  if (!p.name.empty() && std::ranges::find(names, p.name) == names.end()) names.push_back(p.name);
  for (const UPat& s : p.src) add_names(s, names);
}
std::vector<std::string> names_of(const UPat& pattern) {
  std::vector<std::string> names;
  add_names(pattern, names);
  return names;
}

UOp first_result(const std::vector<RewriteRule>& rules, const UOp& u) {
  for (const RewriteRule& rule : rules) {
    UOp result;
    match(rule.pattern, u, {}, [&](const Binding& b) {
      std::vector<const UOp*> named;
      for (const std::string& n : names_of(rule.pattern))
        named.push_back(b.contains(n) ? &b.at(n) : nullptr);
      result = rule.apply(Match(u, named, {}));
      return static_cast<bool>(result) && result != u;
    });
    if (result && result != u) return result;
  }
  return {};
}

UOp rewrite(const std::vector<RewriteRule>& rules, UOp u, bool bottom_up) {
  if (bottom_up)
    while (const UOp made = first_result(rules, u)) u = made;
  std::vector<UOp> src;
  for (const UOp& s : u.src()) src.push_back(rewrite(rules, s, bottom_up));
  if (src != u.src()) return rewrite(rules, u.with_src(src), bottom_up);
  if (bottom_up) return u;
  const UOp made = first_result(rules, u);
  return made ? rewrite(rules, made, bottom_up) : u;
}

}  // namespace plain

class Draw : public test::TracedDraws {
 public:
  using TracedDraws::TracedDraws;

  UOp graph() {
    std::vector<UOp> known = leaves();
    const int n = 3 + index(8);
    for (int i = 0; i < n; ++i) {
      const GraphOp op = any_op();
      std::vector<UOp> of;
      for (int s = 1; s < info(op).least; ++s) of.push_back(pick(known));
      known.push_back(UOp::make(op, DType::Float32, with(pick(known), of)));
    }
    return known.back();
  }

  UPat pattern(int depth, bool top) {
    if (!top && (depth <= 0 || chance(1, 3))) {
      if (chance(1, 4)) return UPat::number(index(2));
      const std::string name(1, static_cast<char>('x' + index(3)));
      return chance(1, 5) ? UPat::cvar(name) : UPat::var(name);
    }
    const GraphOp op = any_op();
    std::vector<UPat> of;
    if (chance(1, 8)) return UPat(op).over_each(pattern(0, false));
    for (int s = 0; s < info(op).least; ++s) of.push_back(pattern(depth - 1, false));
    if (!top && depth > 0 && chance(1, 6))
      return UPat::any({UPat(op).over(of), pattern(depth - 1, true)});
    UPat made =
        info(op).commutes && !chance(1, 4) ? UPat(op).over_any_order(of) : UPat(op).over(of);
    return chance(1, 6) ? made.or_more() : made;
  }

  // Returns one of the named nodes, or the smallest node over it: smaller than the match.
  RewriteRule rule(int number) {
    UPat p = pattern(2, true);
    const std::size_t names = plain::names_of(p).size();
    if (names == 0)
      return {fmt::format("{}", number), p,
              [](const Match&) { return UOp::constant(Scalar::of(1.0F)); }};
    const std::size_t which = below(names);
    const GraphOp unless = any_op(), wrap = any_op();
    const bool wraps = chance(1, 3) && nodes(p) >= 3;
    return {fmt::format("{}", number), p, [=](const Match& m) {
              if (!m.has(which) || m[which].op() == unless) return UOp();
              return wraps && info(wrap).least == 1 ? m[which].alu(wrap) : m[which];
            }};
  }

 private:
  static std::vector<UOp> leaves() {
    return {UOp::constant(Scalar::of(0.0F)), UOp::constant(Scalar::of(1.0F)),
            UOp::constant(Scalar::of(2.0F)), UOp::variable("a", 0, 1), UOp::variable("b", 0, 1)};
  }
  GraphOp any_op() {
    static constexpr std::array kOps = {GraphOp::Sin, GraphOp::Neg, GraphOp::Sqrt, GraphOp::Add,
                                        GraphOp::Mul, GraphOp::Sub, GraphOp::Where};
    return kOps[below(kOps.size())];
  }
  UOp pick(const std::vector<UOp>& of) {
    const std::size_t n = of.size();
    return of[chance(1, 2) ? n - 1 - below(std::min<std::size_t>(3, n)) : below(n)];
  }
  static std::vector<UOp> with(const UOp& first, const std::vector<UOp>& rest) {
    std::vector<UOp> all{first};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  static int nodes(const UPat& p) {
    int n = 1;
    if (p.parts().alternatives || p.parts().sources == UPat::Sources::Each) return 1;
    for (const UPat& s : p.parts().src) n += nodes(s);
    return n;
  }
};

TEST(GraphRewrite, GivesWhatTryingEveryRuleAtEveryNodeGives) {
  int changed = 0;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    Draw draw(1, i);
    std::vector<RewriteRule> rules;
    const int n = 1 + draw.index(4);
    for (int r = 0; r < n; ++r) rules.push_back(draw.rule(r));
    const UOp graph = draw.graph();
    const PatternMatcher m(rules);
    for (const bool bottom_up : {false, true}) {
      const UOp right = plain::rewrite(rules, graph, bottom_up);
      const UOp got = graph_rewrite(
          graph, m, {}, {.order = bottom_up ? RewriteOrder::BottomUp : RewriteOrder::TopDown});
      ASSERT_EQ(got, right) << (bottom_up ? "bottom-up" : "top-down") << "\n"
                            << graph.str() << "gives\n"
                            << got.str() << "not\n"
                            << right.str();
      changed += right != graph ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 1400);
}

}  // namespace
}  // namespace touchstone
