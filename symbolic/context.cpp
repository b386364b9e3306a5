#include "touchstone/symbolic/context.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "touchstone/base/hash.h"

namespace touchstone::symbolic {

namespace {

constexpr Id kEmpty = 0xffffffff;
constexpr std::size_t kArenaChunk = 512;

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::uint64_t hash_end(std::uint64_t seed, const End& end) {
  return hash_mix(seed, end ? end->hash() : 0x6f70656eU);
}

std::uint64_t structural_hash(const Context& context, const NodeData& n) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(n.kind), n.first.hash());
  h = hash_mix(h, n.second.hash());
  for (const Term& t : n.terms) h = hash_mix(hash_mix(h, t.coef.hash()), context[t.atom].hash);
  for (const Id id : n.args) h = hash_mix(h, context[id].hash);
  if (n.name) h = hash_end(hash_end(hash_mix(h, hash_bytes(*n.name)), n.bounds.lo), n.bounds.hi);
  return h;
}

bool same(const NodeData& a, const NodeData& b) {
  return a.hash == b.hash && a.kind == b.kind && a.first == b.first && a.second == b.second &&
         a.name == b.name && std::ranges::equal(a.terms, b.terms) &&
         std::ranges::equal(a.args, b.args) && (a.kind != Kind::Variable || a.bounds == b.bounds);
}

template <class T>
std::span<const T> store(std::span<const T> items, std::vector<std::unique_ptr<T[]>>& chunks,
                         T*& next, std::size_t& left) {
  if (items.empty()) return {};
  if (left < items.size()) {
    left = std::max(kArenaChunk, items.size());
    chunks.push_back(std::make_unique<T[]>(left));
    next = chunks.back().get();
  }
  T* const begin = next;
  std::ranges::copy(items, begin);
  next += items.size();
  left -= items.size();
  return {begin, items.size()};
}

}  // namespace

Context::Context() : table_(1024, kEmpty) { make_constant(0); }

Context& Context::shared() {
  static Context* const context = new Context;  // never destroyed: handles may outlive main
  return *context;
}

Node Context::constant(std::int64_t value) {
  const std::lock_guard lock(mutex_);
  return handle(make_constant(value));
}

Node Context::variable(const std::string& name, std::optional<std::int64_t> min,
                       std::optional<std::int64_t> max) {
  if (!is_identifier(name))
    throw Error(
        fmt::format("variable: \"{}\" is not a name; use letters, digits and _, and begin "
                    "with no digit",
                    name));
  if (min && max && *min > *max)
    throw Error(
        fmt::format("variable: {} has no values, its bounds are [{}, {}]; min must not "
                    "exceed max",
                    name, *min, *max));
  Interval bounds;
  if (min) bounds.lo = Int(*min);
  if (max) bounds.hi = Int(*max);
  const std::lock_guard lock(mutex_);
  return handle(make_variable(name, bounds));
}

std::span<const Term> Context::keep(std::span<const Term> terms) {
  return store(terms, term_chunks_, next_term_, terms_left_);
}

std::span<const Id> Context::keep(std::span<const Id> args) {
  return store(args, id_chunks_, next_id_, ids_left_);
}

Id Context::append(NodeData&& data) {
  const std::uint32_t n = static_cast<std::uint32_t>(count_) + kFirstChunk;
  if (n >= (1U << 31)) throw Error("symbolic: a context holds at most 2^31 nodes");
  const auto chunk = static_cast<std::size_t>(31 - __builtin_clz(n));
  if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<NodeData[]>(std::size_t{1} << chunk);
  chunks_[chunk][n - (1U << chunk)] = std::move(data);
  return static_cast<Id>(count_++);
}

void Context::grow_table() {
  std::vector<Id> old(table_.size() * 2, kEmpty);
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Id id : old) {
    if (id == kEmpty) continue;
    std::size_t at = (*this)[id].hash & mask;
    while (table_[at] != kEmpty) at = (at + 1) & mask;
    table_[at] = id;
  }
}

Id Context::intern(NodeData& probe) {
  probe.hash = structural_hash(*this, probe);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = probe.hash & mask;
  for (; table_[at] != kEmpty; at = (at + 1) & mask)
    if (same((*this)[table_[at]], probe)) return table_[at];
  probe.terms = keep(probe.terms);
  probe.args = keep(probe.args);
  probe.boolean = probe.bounds.within(0, 1);
  const Id id = append(std::move(probe));
  table_[at] = id;
  if (2 * count_ > table_.size()) grow_table();
  return id;
}

Id Context::make_constant(const Int& value) {
  NodeData probe;
  probe.kind = Kind::Constant;
  probe.first = value;
  probe.bounds = Interval::point(value);
  return intern(probe);
}

Id Context::make_variable(const std::string& name, const Interval& bounds) {
  if (bounds.is_point()) return make_constant(*bounds.lo);
  auto& owned = names_[name];
  if (!owned) owned = std::make_unique<std::string>(name);
  NodeData probe;
  probe.kind = Kind::Variable;
  probe.name = owned.get();
  probe.bounds = bounds;
  return intern(probe);
}

Id Context::make_sum(const Int& constant, std::span<const Term> terms, const Interval& bounds) {
  NodeData probe;
  probe.kind = Kind::Sum;
  probe.first = constant;
  probe.terms = terms;
  probe.bounds = bounds;
  return intern(probe);
}

std::optional<Id> Context::find_sum(const Int& constant, std::span<const Term> terms) const {
  NodeData probe;
  probe.kind = Kind::Sum;
  probe.first = constant;
  probe.terms = terms;
  probe.hash = structural_hash(*this, probe);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = probe.hash & mask; table_[at] != kEmpty; at = (at + 1) & mask)
    if (same((*this)[table_[at]], probe)) return table_[at];
  return std::nullopt;
}

Id Context::make(Kind kind, std::span<const Id> args, const Interval& bounds, const Int& lo,
                 const Int& hi) {
  NodeData probe;
  probe.kind = kind;
  probe.args = args;
  probe.first = lo;
  probe.second = hi;
  probe.bounds = bounds;
  return intern(probe);
}

std::vector<Id> reachable(const Context& context, Id root, std::size_t most) {
  std::vector<Id> found{root};
  std::unordered_set<Id> seen{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found.size() > most) return {};
    const NodeData& n = context[found[i]];
    for (const Term& t : n.terms)
      if (seen.insert(t.atom).second) found.push_back(t.atom);
    for (const Id id : n.args)
      if (seen.insert(id).second) found.push_back(id);
  }
  std::ranges::sort(found);  // a node's id is above those of its parts
  return found;
}

}  // namespace touchstone::symbolic
