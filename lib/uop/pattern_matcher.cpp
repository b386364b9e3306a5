#include "touchstone/uop/pattern_matcher.h"

#include <algorithm>
#include <utility>

namespace touchstone {
namespace {

// A compiled pattern, with names as array indices.
struct Compact {
  OpSet ops, needed;  // `needed` must occur among the sources
  std::uint32_t dtypes = 0;
  std::optional<UOpArg> arg;
  std::optional<double> number;
  int name = -1;
  UPat::Sources sources = UPat::Sources::Any;
  bool or_more = false, alternatives = false, anything = false;
  bool one_way = true, of_one_way = true;  // it, and each of `src`, matches in at most one way
  std::vector<Compact> src;
};

constexpr std::size_t kMostShuffled = 8;
using Named = std::array<const UOp*, PatternMatcher::kMostNames>;

// Calls a lambda, which outlives the call, without allocating.
class Next {
 public:
  template <class F>
  Next(const F& f)  // NOLINT(google-explicit-constructor)
      : object_(&f), call_([](const void* o) { return (*static_cast<const F*>(o))(); }) {}
  bool operator()() const { return call_(object_); }

 private:
  const void* object_;
  bool (*call_)(const void*);
};

struct Matching {
  Named named{};

  bool fits(const Compact& p, const UOp& u) const {
    if (!p.ops.has(u.op())) return false;
    if (p.dtypes != 0 &&
        (u.dtype().is_none() || (p.dtypes >> static_cast<unsigned>(u.dtype().base) & 1U) == 0))
      return false;
    if (p.number) {
      const auto* value = std::get_if<Scalar>(&u.arg());
      if (value == nullptr || !is_number(*value, *p.number)) return false;
    }
    if (p.arg && !same(*p.arg, u.arg())) return false;
    if (!u.src_ops().has_all(p.needed)) return false;
    if (p.sources == UPat::Sources::Any || p.sources == UPat::Sources::Each) return true;
    return p.or_more ? u.src().size() >= p.src.size() : u.src().size() == p.src.size();
  }

  // The recursion depth is that of the pattern.
  bool match(const Compact& p, const UOp& u, Next next) {
    if (p.alternatives) {
      if (!fits(p, u) || !bind(p, u)) return false;
      const bool mine = bound_here_;
      for (const Compact& choice : p.src)
        if (match(choice, u, next)) return true;
      if (mine) named[static_cast<std::size_t>(p.name)] = nullptr;
      return false;
    }
    if (!p.anything && !fits(p, u)) return false;
    if (!bind(p, u)) return false;
    const bool mine = bound_here_;
    const bool found = sources(p, u, next);
    if (!found && mine) named[static_cast<std::size_t>(p.name)] = nullptr;
    return found;
  }

 private:
  bool bind(const Compact& p, const UOp& u) {
    bound_here_ = false;
    if (p.name < 0) return true;
    const UOp*& slot = named[static_cast<std::size_t>(p.name)];
    if (slot != nullptr) return *slot == u;
    slot = &u;
    bound_here_ = true;
    return true;
  }

  bool sources(const Compact& p, const UOp& u, const Next& next) {
    switch (p.sources) {
      case UPat::Sources::Any: return next();
      case UPat::Sources::Ordered: return ordered(p, u, 0, next);
      case UPat::Sources::Shuffled:
        return p.of_one_way ? shuffled(p, u, 0, 0, next) : permuted(p, u, next);
      case UPat::Sources::Each: return each(p, u, 0, next);
    }
    return false;
  }
  bool ordered(const Compact& p, const UOp& u, std::size_t i, const Next& next) {
    if (i == p.src.size()) return next();
    const auto rest = [&] { return ordered(p, u, i + 1, next); };
    return match(p.src[i], u.src(i), rest);
  }
  // Tries every order, each with all its matches.
  bool permuted(const Compact& p, const UOp& u, const Next& next) {
    std::array<std::uint8_t, kMostShuffled> order{};
    for (std::size_t i = 0; i < p.src.size(); ++i) order[i] = static_cast<std::uint8_t>(i);
    const std::span<std::uint8_t> all = std::span(order).first(p.src.size());
    do {
      if (in_order(p, u, all, 0, next)) return true;
    } while (std::ranges::next_permutation(all).found);
    return false;
  }
  bool in_order(const Compact& p, const UOp& u, std::span<const std::uint8_t> order, std::size_t s,
                const Next& next) {
    if (s == order.size()) return next();
    const auto rest = [&] { return in_order(p, u, order, s + 1, next); };
    return match(p.src[order[s]], u.src(s), rest);
  }
  // The same orders with pruning: source s takes a pattern that no earlier source took.
  bool shuffled(const Compact& p, const UOp& u, std::size_t s, std::uint32_t taken,
                const Next& next) {
    if (s == p.src.size()) return next();
    for (std::size_t i = 0; i < p.src.size(); ++i) {
      if ((taken >> i & 1U) != 0) continue;
      const auto rest = [&] { return shuffled(p, u, s + 1, taken | 1U << i, next); };
      if (match(p.src[i], u.src(s), rest)) return true;
    }
    return false;
  }
  bool each(const Compact& p, const UOp& u, std::size_t i, const Next& next) {
    if (p.src[0].one_way) return each_in_turn(p, u, next);
    if (i > kMostWithChoice)
      throw AstError(
          fmt::format("{} has {} sources; patterns that fit in several ways take at most {} each",
                      u.line(), u.src().size(), kMostWithChoice));
    if (i == u.src().size()) return next();
    const auto rest = [&] { return each(p, u, i + 1, next); };
    return match(p.src[0], u.src(i), rest);
  }

  // Not recursive, for any number of sources.
  bool each_in_turn(const Compact& p, const UOp& u, const Next& next) {
    const Named before = named;
    const auto yes = [] { return true; };
    bool fit = true;
    for (std::size_t i = 0; fit && i < u.src().size(); ++i) fit = match(p.src[0], u.src(i), yes);
    if (fit && next()) return true;
    named = before;
    return false;
  }

  static constexpr std::size_t kMostWithChoice = 2000;  // of nested calls
  bool bound_here_ = false;
};

[[noreturn]] void refuse(const RewriteRule& rule, const std::string& why) {
  throw AstError(fmt::format("rule '{}': {}", rule.name, why));
}

// Rejects a pattern if none of its ops can have that many sources.
void check_arity(const RewriteRule& rule, const UPat::Parts& p) {
  if (p.alternatives || p.sources == UPat::Sources::Any || p.ops == OpSet::all()) return;
  const auto given = static_cast<int>(p.src.size());
  for (const GraphOpInfo& row : graph_op_table) {
    if (!p.ops.has(row.op)) continue;
    if (p.sources == UPat::Sources::Each) return;
    if (given <= row.most && (p.or_more || given >= row.least)) return;
  }
  refuse(rule, fmt::format("no op that the pattern {} allows has {} source{}", UPat(p.ops).str(),
                           given, given == 1 ? "" : "s"));
}

Compact compact(const RewriteRule& rule, const UPat& pattern, std::vector<std::string>& names) {
  const UPat::Parts& p = pattern.parts();
  check_arity(rule, p);
  if (p.sources == UPat::Sources::Shuffled && p.src.size() > kMostShuffled)
    refuse(rule, fmt::format("more than {} sources in any order", kMostShuffled));
  Compact c;
  c.ops = p.ops;
  c.dtypes = p.dtypes;
  c.arg = p.arg;
  c.number = p.number;
  c.sources = p.sources;
  c.or_more = p.or_more;
  c.alternatives = p.alternatives;
  if (!p.name.empty()) {
    const auto at = std::ranges::find(names, p.name);
    c.name = static_cast<int>(at - names.begin());
    if (at == names.end()) names.push_back(p.name);
    if (names.size() > PatternMatcher::kMostNames)
      refuse(rule, fmt::format("more than {} names", PatternMatcher::kMostNames));
  }
  for (const UPat& s : p.src) {
    c.src.push_back(compact(rule, s, names));
    const UPat::Parts& q = s.parts();
    const bool must = p.sources == UPat::Sources::Ordered || p.sources == UPat::Sources::Shuffled;
    if (must && !p.alternatives && q.ops.size() == 1) c.needed.add(q.ops.front());
  }
  for (const Compact& s : c.src) c.of_one_way = c.of_one_way && s.one_way;
  c.one_way =
      c.of_one_way && !p.alternatives && (p.sources != UPat::Sources::Shuffled || c.src.size() < 2);
  c.anything = p.ops == OpSet::all() && p.dtypes == 0 && !p.arg && !p.number &&
               p.sources == UPat::Sources::Any;
  return c;
}

thread_local RewriteRecorder* current_recorder = nullptr;

}  // namespace

struct PatternMatcher::Compiled {
  Compact pattern;
  std::size_t names = 0;
};

PatternMatcher::PatternMatcher(std::vector<RewriteRule> rules) {
  for (RewriteRule& r : rules) {
    auto rule = std::make_shared<const RewriteRule>(std::move(r));
    if (!rule->apply) refuse(*rule, "it has no function");
    std::vector<std::string> names;
    auto made = std::make_shared<Compiled>();
    made->pattern = compact(*rule, rule->pattern, names);
    if (made->pattern.ops == OpSet::all() || made->pattern.ops.empty())
      refuse(*rule,
             "the top of its pattern does not restrict its op, so it would be tried everywhere");
    made->names = names.size();
    add(std::move(rule), std::move(made));
  }
}

void PatternMatcher::add(std::shared_ptr<const RewriteRule> rule,
                         std::shared_ptr<const Compiled> compiled) {
  const auto number = static_cast<std::uint32_t>(rules_.size());
  for (const GraphOpInfo& row : graph_op_table)
    if (compiled->pattern.ops.has(row.op))
      by_op_[static_cast<std::size_t>(row.op)].push_back(number);
  rules_.push_back(std::move(rule));
  compiled_.push_back(std::move(compiled));
}

PatternMatcher operator+(const PatternMatcher& a, const PatternMatcher& b) {
  PatternMatcher sum = a;
  for (std::size_t i = 0; i < b.rules_.size(); ++i) sum.add(b.rules_[i], b.compiled_[i]);
  return sum;
}

UOp PatternMatcher::rewrite(const UOp& node, const RewriteContext& context,
                            const RewriteRule** applied) const {
  for (const std::uint32_t i : by_op_[static_cast<std::size_t>(node.op())]) {
    const Compiled& compiled = *compiled_[i];
    const RewriteRule& rule = *rules_[i];
    Matching matching;
    UOp result;
    const auto apply = [&] {
      result = rule.apply(Match(node, std::span(matching.named).first(compiled.names), context));
      return result && result != node;  // returning the node is no change
    };
    if (!matching.match(compiled.pattern, node, apply)) continue;
    if (applied != nullptr) *applied = &rule;
    if (current_recorder != nullptr) current_recorder->rewrote(rule, node, result);
    return result;
  }
  return {};
}

RecorderScope::RecorderScope(RewriteRecorder& recorder)
    : previous_(std::exchange(current_recorder, &recorder)) {}
RecorderScope::~RecorderScope() { current_recorder = previous_; }
RewriteRecorder* RecorderScope::current() { return current_recorder; }

}  // namespace touchstone
