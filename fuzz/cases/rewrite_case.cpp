#include "touchstone/fuzz/cases/rewrite_case.h"

#include <algorithm>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using Case = RewriteCase;

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
}
void add_names(std::vector<std::string>& names, const Case::Pattern& p) {
  if (p.kind != Case::Pattern::Kind::Casted) add_name(names, p.name);
  for (const Case::Pattern& s : p.of) add_names(names, s);
  add_name(names, p.name);
}
void add_names(std::vector<std::string>& names, const Case::Result& r) {
  add_name(names, r.name);
  for (const Case::Result& s : r.of) add_names(names, s);
}

UOp made(const Case::Result& r, const UOp& root, const auto& node_of) {
  using Kind = Case::Result::Kind;
  switch (r.kind) {
    case Kind::Null: return {};
    case Kind::Name: return node_of(r.name);
    case Kind::Source: {
      const UOp of = node_of(r.name);
      return of && !of.src().empty() ? UOp(of.src(0)) : UOp();
    }
    case Kind::Make: break;
  }
  std::vector<UOp> src;
  for (const Case::Result& s : r.of) {
    src.push_back(made(s, root, node_of));
    if (!src.back()) return {};
  }
  return UOp::make(r.op, r.type.value_or(root.dtype()), std::move(src), r.arg, r.tag);
}

}  // namespace

std::vector<std::string> names_of(const Case::Pattern& pattern) {
  std::vector<std::string> names;
  add_names(names, pattern);
  return names;
}

std::vector<std::string> names_of(const Case::Rule& rule) {
  std::vector<std::string> names = names_of(rule.pattern);
  add_names(names, rule.result);
  add_name(names, rule.guard.a);
  add_name(names, rule.guard.b);
  return names;
}

UOp made_by(const Case::Rule& rule, const UOp& root, const std::vector<std::string>& names,
            const std::vector<UOp>& named) {
  const auto node_of = [&](const std::string& name) {
    const auto at = std::ranges::find(names, name);
    return at == names.end() ? UOp() : named[static_cast<std::size_t>(at - names.begin())];
  };
  const Case::Guard& g = rule.guard;
  if (g.kind != Case::Guard::Kind::None) {
    const UOp a = node_of(g.a), b = g.kind == Case::Guard::Kind::Differ ? node_of(g.b) : a;
    if (!a || !b) return {};
    if (g.kind == Case::Guard::Kind::Differ ? a == b : a.op() != g.op) return {};
  }
  return made(rule.result, root, node_of);
}

std::vector<UOp> Case::build() const {
  std::vector<UOp> all;
  std::int64_t sources = 0;
  for (const Node& n : nodes) {
    if (n.times < 1 || std::ssize(all) + n.times > kMostNodes)
      throw ParseError(fmt::format("a graph must have 1 to {} nodes", kMostNodes));
    for (std::int64_t i = 0; i < n.times; ++i) {
      std::vector<UOp> src;
      const auto add = [&](std::int64_t at) {
        if (at < 0 || at >= std::ssize(all))
          throw ParseError(
              fmt::format("node {} reads one that does not come before it", all.size()));
        if (++sources > kMostSources)
          throw ParseError(fmt::format("a graph can have at most {} sources", kMostSources));
        src.push_back(all[static_cast<std::size_t>(at)]);
      };
      for (const Node::Source& s : n.src) {
        const std::int64_t step = s.from <= s.to ? 1 : -1;
        for (std::int64_t k = s.from; k != s.to + step; k += step)
          add(s.back ? std::ssize(all) - k : k);
      }
      UOpArg value = n.arg;
      if (n.counts) value = i;
      if (n.counts && n.op == GraphOp::Const) value = Scalar::from_int(n.type.base, i);
      all.push_back(UOp::make(n.op, n.type, std::move(src), std::move(value), n.tag));
      // The node may exist from an earlier case: the last of equal nodes sets the metadata.
      all.back().set_metadata(n.origin.empty() ? UOpMetadata()
                                               : UOpMetadata{{n.origin, std::string()}});
    }
  }
  for (const Pass& p : passes)
    for (const auto& [from, to] : p.substitutes)
      for (const std::int64_t at : {from, to})
        if (at < 0 || at >= std::ssize(all))
          throw ParseError(fmt::format("there is no node %{}", at));
  return all;
}

}  // namespace touchstone::fuzz
