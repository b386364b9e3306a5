#include "touchstone/fuzz/definitions/rewriting.h"

#include <algorithm>
#include <cmath>

namespace touchstone::fuzz {
namespace {

using Pattern = RewriteCase::Pattern;
using Sources = Pattern::Sources;

constexpr std::size_t kMostWays = 5000, kDeepest = 2600, kMostWork = 150'000;

// Whether a constant equals this number: floats with the sign of zero, integers exactly.
bool is_this(const Scalar& value, double number) {
  if (is_float(value.dtype()))
    return value.to_double() == number && std::signbit(value.to_double()) == std::signbit(number);
  if (std::floor(number) != number) return false;
  if (is_bool(value.dtype())) return number == (value.str() == "true" ? 1 : 0);
  return value.str() == fmt::format("{:.0f}", number == 0 ? 0.0 : number);
}

// Matches the node itself, without its sources.
bool looks_right(const Pattern& p, const UOp& node) {
  if (!p.ops.empty() && std::ranges::find(p.ops, node.op()) == p.ops.end()) return false;
  if (!p.types.empty() &&
      (node.dtype().is_none() || std::ranges::find(p.types, node.dtype().base) == p.types.end()))
    return false;
  if (p.arg && !(*p.arg == node.arg())) return false;
  if (p.kind != Pattern::Kind::Number) return true;
  const auto* value = std::get_if<Scalar>(&node.arg());
  return node.op() == GraphOp::Const && value != nullptr && is_this(*value, p.number);
}

std::string refusal_of(const Pattern& p) {
  for (const Pattern& s : p.of)
    if (std::string why = refusal_of(s); !why.empty()) return why;
  const bool tells =
      p.kind == Pattern::Kind::Plain ? !p.ops.empty() : p.kind == Pattern::Kind::Number;
  if (!tells || p.sources == Sources::Any || p.sources == Sources::Each) return "";
  const auto has_op_of = [&](GraphOp op) {
    const GraphOpInfo& row = info(op);
    const int n = static_cast<int>(p.of.size());
    return p.or_more ? n <= row.most : n >= row.least && n <= row.most;
  };
  const std::vector<GraphOp> ops =
      p.kind == Pattern::Kind::Number ? std::vector{GraphOp::Const} : p.ops;
  return std::ranges::any_of(ops, has_op_of) ? "" : "no op has so many sources";
}

// True if a top-level pattern names its ops.
bool says_ops(const Pattern& p) {
  switch (p.kind) {
    case Pattern::Kind::Plain: return !p.ops.empty();
    case Pattern::Kind::Number: return true;
    case Pattern::Kind::Casted: return says_ops(p.of[0]);
    case Pattern::Kind::OneOf: return !p.of.empty() && std::ranges::all_of(p.of, says_ops);
  }
  return false;
}

}  // namespace

std::string refusal_of(const RewriteCase::Rule& rule) {
  if (std::string why = refusal_of(rule.pattern); !why.empty()) return why;
  if (!says_ops(rule.pattern)) return "its top says no op";
  return "";
}

PlainRewriting::PlainRewriting(const std::vector<RewriteCase::Rule>& rules) : rules_(rules) {
  for (const RewriteCase::Rule& r : rules_) names_.push_back(names_of(r.pattern));
}

std::vector<PlainRewriting::Names> PlainRewriting::ways(const Pattern& p, const UOp& node,
                                                        const Names& bound,
                                                        std::size_t rule) const {
  if (++work_ > kMostWork) throw TooMuch("patterns tried");
  Names names = bound;
  const auto bind = [&](Names& to) {
    if (p.name.empty()) return true;
    const auto& all = names_[rule];
    UOp& place = to[static_cast<std::size_t>(std::ranges::find(all, p.name) - all.begin())];
    if (!place) place = node;
    return place == node;
  };
  std::vector<Names> found;
  const auto add = [&](std::vector<Names> more) {
    found.insert(found.end(), more.begin(), more.end());
    if (found.size() > kMostWays) throw TooMuch("matches");
  };
  if (p.kind == Pattern::Kind::Casted) {
    // The pattern, or a CAST of it, which then takes the name.
    add(ways(p.of[0], node, names, rule));
    if (node.op() == GraphOp::Cast && node.src().size() == 1 && bind(names))
      add(ways(p.of[0], node.src(0), names, rule));
    return found;
  }
  if (p.kind != Pattern::Kind::OneOf && !looks_right(p, node)) return {};
  if (!bind(names)) return {};
  if (p.kind == Pattern::Kind::OneOf) {
    for (const Pattern& choice : p.of) add(ways(choice, node, names, rule));
    return found;
  }
  return ways_of_sources(p, node, names, rule);
}

std::vector<PlainRewriting::Names> PlainRewriting::ways_of_sources(const Pattern& p,
                                                                   const UOp& node,
                                                                   const Names& bound,
                                                                   std::size_t rule) const {
  if (p.sources == Sources::Any) return {bound};
  const std::size_t has = node.src().size();
  if (p.sources != Sources::Each && (p.or_more ? has < p.of.size() : has != p.of.size())) return {};
  std::vector<std::size_t> order(p.sources == Sources::Each ? has : p.of.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = p.sources == Sources::Each ? 0 : i;
  std::vector<Names> all;
  do {  // source i matches pattern order[i]
    std::vector<Names> now{bound};
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<Names> next;
      for (const Names& names : now)
        for (Names& more : ways(p.of[order[i]], node.src(i), names, rule)) {
          next.push_back(std::move(more));
          if (next.size() > kMostWays) throw TooMuch("matches");
        }
      now = std::move(next);
    }
    all.insert(all.end(), now.begin(), now.end());
    if (all.size() > kMostWays) throw TooMuch("matches");
  } while (p.sources == Sources::Shuffled && std::ranges::next_permutation(order).found);
  return all;
}

UOp PlainRewriting::matched(const UOp& node) {
  for (std::size_t i = 0; i < rules_.size(); ++i)
    for (const Names& named : ways(rules_[i].pattern, node, Names(names_[i].size()), i)) {
      calls.push_back({i, named});
      const UOp made = made_by(rules_[i], node, names_[i], named);
      if (!made || made == node) continue;
      uses.push_back({i, node, made});
      return made;
    }
  return {};
}

UOp PlainRewriting::step(const UOp& node) {
  UOp made;
  if (in_place_ != nullptr) {
    const auto at = in_place_->find(node);
    if (at != in_place_->end() && at->second != node) made = at->second;
    if (made) path_.back().rules.push_back(0);
  } else if (made = matched(node); made) {
    path_.back().rules.push_back(uses.back().rule);
  }
  if (made && --left_ < 0) {
    Endless endless;
    endless.rules.insert(path_.back().rules.back());
    throw endless;
  }
  return made;
}

void PlainRewriting::enter(const UOp& node) {
  if (const auto at = on_path_.find(node); at != on_path_.end()) {
    Endless endless;
    for (std::size_t i = at->second; i < path_.size(); ++i) {
      endless.lines.insert(path_[i].node.line());
      endless.rules.insert(path_[i].rules.begin(), path_[i].rules.end());
    }
    throw endless;
  }
  if (path_.size() > kDeepest) throw TooMuch("depth");
  on_path_.emplace(node, path_.size());
  path_.push_back({node, {}});
}

// The node over visited sources; the node itself if they are unchanged.
UOp PlainRewriting::with_sources(const UOp& node, UOp (PlainRewriting::*visit)(const UOp&)) {
  std::vector<UOp> src;
  for (const UOp& s : node.src()) src.push_back((this->*visit)(s));
  return src == node.src() ? node : UOp::make(node.op(), node.dtype(), src, node.arg(), node.tag());
}

UOp PlainRewriting::top_down(const UOp& node) {
  if (const auto at = done_.find(node); at != done_.end()) return at->second;
  enter(node);
  UOp result = node;
  if (const UOp rebuilt = with_sources(node, &PlainRewriting::top_down); rebuilt != node)
    result = top_down(rebuilt);
  else if (const UOp made = step(node))
    result = top_down(made);
  path_.pop_back();
  on_path_.erase(node);
  done_.emplace(node, result);
  return result;
}

UOp PlainRewriting::bottom_up(const UOp& node) {
  if (const auto at = done_.find(node); at != done_.end()) return at->second;
  enter(node);
  UOp fixed = node;
  std::vector<UOp> seen{node};
  while (UOp made = step(fixed)) {
    if (std::ranges::find(seen, made) != seen.end()) {
      Endless endless;
      endless.rules.insert(path_.back().rules.begin(), path_.back().rules.end());
      for (const UOp& s : seen) endless.lines.insert(s.line());
      throw endless;
    }
    seen.push_back(made);
    fixed = made;
  }
  const UOp rebuilt = with_sources(fixed, &PlainRewriting::bottom_up);
  const UOp result = rebuilt == fixed ? fixed : bottom_up(rebuilt);
  path_.pop_back();
  on_path_.erase(node);
  done_.emplace(node, result);
  return result;
}

UOp PlainRewriting::rewritten(const UOp& root, bool bottom, std::int64_t budget,
                              const std::unordered_map<UOp, UOp>* in_place) {
  in_place_ = in_place;
  left_ = budget - std::ssize(uses);
  return bottom ? bottom_up(root) : top_down(root);
}

}  // namespace touchstone::fuzz
