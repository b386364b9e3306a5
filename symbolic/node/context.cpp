#include "touchstone/symbolic/node/context.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

constexpr Id kEmpty = 0xffffffff;
constexpr std::size_t kFirstTable = 256;  // slots; always a power of two

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::uint64_t hash_list(std::uint64_t seed, std::uint64_t value) {
  const std::uint64_t x = (seed ^ value) * 0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 29);
}

std::uint64_t hash_end(std::uint64_t seed, const End& end) {
  return hash_list(seed, end ? end->hash() : 0x6f70656eU);
}

}  // namespace

void Context::FreeNodes::operator()(Stored* nodes) const {
  ::operator delete(static_cast<void*>(nodes));
}

Context::Context() : table_(kFirstTable, {kEmpty, 0}) { make_constant(0); }

Context::~Context() { drop_numbers(); }

void Context::drop_numbers() {
  if (!big_) return;
  for (Id id = 0; id < count_; ++id) {
    Stored& n = const_cast<Stored&>(at(id));
    if (n.kind == NodeKind::Sum) std::destroy_n(const_cast<Term*>(n.parts.terms), n.count);
    n.~Stored();
  }
  big_ = false;
}

void Context::clear() {
  const std::lock_guard lock(mutex_);
  drop_numbers();
  count_ = 0;
  variables_ = 0;
  lists_.clear();
  if (++use_ == 1U << 24) {
    std::ranges::fill(results_, Result{});
    names_.clear();
    use_ = 1;
  }
  sizes_.clear();
  strides_.clear();
  if (tapes_kept_ > 0) std::ranges::fill(tapes_, Known{});
  tapes_kept_ = tape_words_ = 0;
  if (table_.size() > kFirstTable) table_.resize(kFirstTable);
  std::ranges::fill(table_, Slot{kEmpty, 0});
  if (names_.size() > kLimits.names) names_.clear();
  make_constant(0);
}

std::size_t Context::size() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::size_t Context::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t total = table_.capacity() * sizeof(Slot) + lists_.bytes() +
                      results_.capacity() * sizeof(Result) + tapes_.capacity() * sizeof(Known) +
                      sizes_.capacity() * sizeof(sizes_[0]) +
                      strides_.capacity() * sizeof(strides_[0]);
  for (std::size_t k = 0; k < chunks_.size(); ++k)
    if (chunks_[k]) total += sizeof(Stored) << k;
  return total;
}

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
  Interval bounds;
  if (min) bounds.lo = Int(*min);
  if (max) bounds.hi = Int(*max);
  return variable(name, bounds);
}

Node Context::variable(const std::string& name, const Interval& bounds) {
  if (!is_identifier(name))
    throw Error(fmt::format(
        "variable: \"{}\" is not a name; use letters, digits and _, and do not begin with a digit",
        name));
  if (is_reserved(name))
    throw Error(
        fmt::format("variable: \"{}\" is reserved by the notation; choose another name", name));
  if (bounds.lo && bounds.hi && *bounds.hi < *bounds.lo)
    throw Error(
        fmt::format("variable: {} has no values, its bounds are [{}, {}]; min must not "
                    "exceed max",
                    name, bounds.lo->str(), bounds.hi->str()));
  const std::lock_guard lock(mutex_);
  return handle(make_variable(name, bounds));
}

template <class Same>
std::size_t Context::find(std::uint64_t hash, const Same& same) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = table_[at];
    if (slot.id == kEmpty) return at;
    if (slot.hash != static_cast<std::uint32_t>(hash)) continue;
    const Stored& n = this->at(slot.id);
    if (n.hash == hash && same(n)) return at;
  }
}

void Context::rank(Stored& node) {
  constexpr int kBits = 4;  // bits of a kind
  static_assert(static_cast<int>(NodeKind::TruncMod) < 1 << kBits);
  constexpr std::uint8_t kDeep = 8;                           // higher nodes are ordered by hash
  constexpr std::uint64_t kHashed = ~std::uint64_t{0} >> 24;  // after six kinds
  node.key = static_cast<std::uint64_t>(node.kind) << (64 - kBits);
  if (node.kind == NodeKind::Constant) return;
  if (node.kind == NodeKind::Variable) {
    std::uint64_t letters = 0;
    const std::string& name = *node.parts.name;
    for (std::size_t i = 0; i < 7; ++i)
      letters = letters << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
    node.key |= letters << kBits;
    return;
  }
  const std::span<const Id> args =
      node.kind == NodeKind::Sum ? std::span<const Id>() : args_of(node);
  std::uint8_t height = 0;
  const auto below = [&](Id id) {
    const Stored& part = at(id);
    height = std::max(height, part.height);
    node.variables |= part.variables;
    node.partial |= part.partial;
  };
  for (const Id id : args) below(id);
  if (node.kind == NodeKind::Sum)
    for (std::uint32_t i = 0; i < node.count; ++i) below(node.parts.terms[i].atom);
  if (has_divisor(node.kind)) {
    const Interval& divisor = at(args[1]).bounds;
    node.partial |= !divisor.at_least(1) && !divisor.at_most(-1);
  }
  node.height = height == 255 ? height : static_cast<std::uint8_t>(height + 1);
  node.key |= at(args.empty() ? node.parts.terms[0].atom : args[0]).key >> kBits;
  if (node.height > kDeep) node.key = (node.key & ~kHashed) | (node.hash & kHashed);
}

Context::Stored& Context::fresh(std::uint64_t hash, NodeKind kind) {
  Interrupt::poll();
  const std::uint32_t n = static_cast<std::uint32_t>(count_) + kFirstChunk;
  if (n >= (1U << 31)) throw Error("symbolic: a context holds at most 2^31 nodes");
  const auto chunk = static_cast<std::size_t>(31 - __builtin_clz(n));
  if (!chunks_[chunk]) {
    chunks_[chunk].reset(static_cast<Stored*>(::operator new(sizeof(Stored) << chunk)));
    if (!first_) first_ = chunks_[chunk].get();
  }
  Stored* const node = std::construct_at(chunks_[chunk].get() + (n - (1U << chunk)));
  node->hash = hash;
  node->kind = kind;
  return *node;
}

Id Context::kept(Stored& node, std::size_t slot) {
  rank(node);
  const auto id = static_cast<Id>(count_);
  table_[slot] = {id, static_cast<std::uint32_t>(node.hash)};
  node.boolean = node.bounds.within(0, 1);
  big_ |= (*node.bounds.lo).on_heap() || (*node.bounds.hi).on_heap() || node.first.on_heap() ||
          node.second.on_heap();
  if (++count_ * 2 > table_.size()) grow_table();
  return id;
}

void Context::grow_table() {
  std::vector<Slot> old(table_.size() * 2, {kEmpty, 0});
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kEmpty) continue;
    std::size_t at = slot.hash & mask;
    while (table_[at].id != kEmpty) at = (at + 1) & mask;
    table_[at] = slot;
  }
}

std::size_t Context::place_of(ExprOp op, const std::array<Id, 3>& args) const {
  std::uint64_t hash = static_cast<std::uint64_t>(op);
  for (const Id id : args) hash = hash_list(hash, id);
  return hash & (results_.size() - 1);
}

namespace {

/// The arguments, padded with kEmpty.
std::array<Id, 3> three(std::span<const Id> args) {
  std::array<Id, 3> r = {kEmpty, kEmpty, kEmpty};
  std::ranges::copy(args, r.begin());
  return r;
}

}  // namespace

namespace {

// Operations on more than three nodes are memoized like tapes. No tape starts with these words: its
// first part has no operands.
std::pair<List<Id>, std::uint64_t> words_of(ExprOp op, std::span<const Id> args) {
  List<Id> words(args.begin(), args.end());
  words.push_back(static_cast<Id>(op));
  std::swap(words.front(), words.back());
  const std::uint64_t hash =
      hash_bytes({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Id)});
  return {std::move(words), hash};
}

}  // namespace

std::optional<Id> Context::recall(ExprOp op, std::span<const Id> args) const {
  if (args.size() > 3) {
    const auto [words, hash] = words_of(op, args);
    return recall(words, hash);
  }
  if (results_.empty()) return std::nullopt;
  const auto key = three(args);
  const Result& r = results_[place_of(op, key)];
  const bool same = r.use == (use_ << 8 | static_cast<std::uint32_t>(op)) && r.args == key;
  return same ? std::optional<Id>(r.result) : std::nullopt;
}

void Context::remember(ExprOp op, std::span<const Id> args, Id result) {
  if (args.size() > 3) {
    const auto [words, hash] = words_of(op, args);
    return remember(words, hash, result);
  }
  if (results_.size() < kLimits.results && results_.size() < 2 * count_)
    results_.assign(std::bit_ceil(2 * std::max(count_, kFirstTable)), Result{});
  const auto key = three(args);
  results_[place_of(op, key)] = {key, use_ << 8 | static_cast<std::uint32_t>(op), result};
}

std::optional<Id> Context::recall(std::span<const std::uint32_t> words, std::uint64_t hash) const {
  if (tapes_.empty()) return std::nullopt;
  const Known& k = tapes_[hash & (tapes_.size() - 1)];
  const bool same = k.words && k.hash == hash && k.count == words.size() &&
                    std::memcmp(k.words, words.data(), words.size_bytes()) == 0;
  return same ? std::optional(k.result) : std::nullopt;
}

void Context::remember(std::span<const std::uint32_t> words, std::uint64_t hash, Id result) {
  if (tape_words_ + words.size() > kLimits.tape_words) return;
  if (2 * tapes_kept_ >= tapes_.size()) {
    std::vector<Known> old(std::max(kFirstTable, 4 * tapes_.size()), Known{});
    old.swap(tapes_);
    for (const Known& k : old)
      if (k.words) tapes_[k.hash & (tapes_.size() - 1)] = k;
  }
  tapes_[hash & (tapes_.size() - 1)] = {hash, lists_.keep(words).data(),
                                        static_cast<std::uint32_t>(words.size()), result};
  ++tapes_kept_;
  tape_words_ += words.size();
}

void Context::keep_size(Id id, std::size_t size) {
  if (id >= sizes_.size()) sizes_.resize(std::max<std::size_t>(count_, 2 * sizes_.size()), 0);
  sizes_[id] = static_cast<std::uint32_t>(std::min<std::size_t>(size, 0xffffffff));
}

Id Context::make_constant(const Int& value) {
  const std::uint64_t hash =
      hash_list(static_cast<std::uint64_t>(NodeKind::Constant), value.hash());
  const std::size_t slot =
      find(hash, [&](const Stored& n) { return n.kind == NodeKind::Constant && n.first == value; });
  if (table_[slot].id != kEmpty) return table_[slot].id;
  Stored& n = fresh(hash, NodeKind::Constant);
  n.first = value;
  n.bounds = Interval::point(value);
  return kept(n, slot);
}

Congruence Context::congruence(Id id) const {
  const Stored& n = at(id);
  if (n.kind == NodeKind::Constant) return Congruence::point(n.first);
  if (n.kind == NodeKind::Sum) {
    Congruence r = Congruence::point(n.first);
    for (std::uint32_t i = 0; i < n.count && !r.is_trivial(); ++i)
      r = r + congruence(n.parts.terms[i].atom) * n.parts.terms[i].coef;
    return r;
  }
  if (!n.strided) return {};
  return std::ranges::lower_bound(strides_, id, {}, &std::pair<Id, Congruence>::first)->second;
}

Congruence Context::congruence(NodeKind kind, std::span<const Id> args, const Int& lo,
                               const Int& hi) const {
  // Common coefficients are outside of kinds without their own congruence, except these.
  if (kind != NodeKind::Mod && kind != NodeKind::TruncMod && kind != NodeKind::Product &&
      std::ranges::none_of(args, [&](Id id) { return strided(id); }))
    return {};
  Congruence r;
  switch (kind) {
    case NodeKind::Product:
      r = Congruence::point(1);
      for (const Id id : args) r = r * congruence(id);
      break;
    case NodeKind::Digit:
      r = floor_div(congruence(args[0]), lo);
      if (!hi.is_zero() && !r.is_trivial()) r = floor_mod(r, floor_div(hi, lo));
      break;
    case NodeKind::Mod:
      r = congruence(args[0]);
      if (!r.is_trivial()) r = floor_mod(r, congruence(args[1]));
      break;
    case NodeKind::TruncMod: {
      const Congruence x = congruence(args[0]), y = congruence(args[1]);
      r = Congruence::of(gcd(gcd(x.modulus, y.modulus), y.residue), x.residue);
      break;
    }
    case NodeKind::Select:
    case NodeKind::Max:
      r = Congruence::point(0);
      for (const Id id : kind == NodeKind::Max ? args : args.subspan(1)) {
        if (r.is_trivial()) break;
        r = hull(r, congruence(id));
      }
      break;
    default: break;
  }
  return r;
}

Id Context::make_variable(const std::string& name, const Interval& bounds,
                          const Congruence& congruence) {
  if (bounds.is_point()) return make_constant(*bounds.lo);
  auto& owned = names_[name];
  if (!owned) owned = std::make_unique<Name>(Name{name});
  if (owned->use != use_) {
    owned->use = use_;
    owned->bit = static_cast<std::uint8_t>(1U << (variables_++ & 7U));
  }
  std::uint64_t hash = hash_list(static_cast<std::uint64_t>(NodeKind::Variable), hash_bytes(name));
  hash = hash_end(hash_end(hash, bounds.lo), bounds.hi);
  const bool strided = !congruence.is_trivial();
  if (strided)
    hash = hash_list(hash_list(hash, congruence.modulus.hash()), congruence.residue.hash());
  const std::size_t slot = find(hash, [&](const Stored& n) {
    return n.kind == NodeKind::Variable && n.parts.name == &owned->text && n.bounds == bounds &&
           n.first == congruence.modulus && n.second == congruence.residue;
  });
  if (table_[slot].id != kEmpty) return table_[slot].id;
  Stored& n = fresh(hash, NodeKind::Variable);
  if (strided) strides_.emplace_back(static_cast<Id>(count_), congruence);
  n.first = congruence.modulus;
  n.second = congruence.residue;
  n.strided = strided;
  n.parts.name = &owned->text;
  n.variables = owned->bit;
  n.bounds = bounds;
  return kept(n, slot);
}

std::uint64_t Context::hash_sum(const Int& constant, std::span<const Term> terms) const {
  std::uint64_t hash = hash_list(static_cast<std::uint64_t>(NodeKind::Sum), constant.hash());
  for (const Term& t : terms) hash = hash_list(hash_list(hash, t.coef.hash()), at(t.atom).hash);
  return hash;
}

std::size_t Context::find_sum_slot(std::uint64_t hash, const Int& constant,
                                   std::span<const Term> terms) const {
  return find(hash, [&](const Stored& n) {
    return n.kind == NodeKind::Sum && n.count == terms.size() && n.first == constant &&
           std::equal(terms.begin(), terms.end(), n.parts.terms);
  });
}

Id Context::make_sum(const Int& constant, std::span<const Term> terms, const Interval& bounds,
                     std::uint64_t hash, Place place) {
  std::size_t slot = place.slot;
  if (place.nodes != count_) {
    slot = find_sum_slot(hash, constant, terms);
    if (table_[slot].id != kEmpty) return table_[slot].id;
  }
  Stored& n = fresh(hash, NodeKind::Sum);
  n.first = constant;
  n.bounds = bounds;
  n.parts.terms = lists_.keep(terms).data();
  n.count = static_cast<std::uint32_t>(terms.size());
  for (const Term& t : terms) {
    big_ |= t.coef.on_heap();
    n.strided |= strided(t.atom);
  }
  return kept(n, slot);
}

std::optional<Id> Context::find_sum(const Int& constant, std::span<const Term> terms,
                                    std::uint64_t hash, Place& place) const {
  place = {find_sum_slot(hash, constant, terms), count_};
  const Id id = table_[place.slot].id;
  return id == kEmpty ? std::nullopt : std::optional<Id>(id);
}

std::uint64_t Context::hash_of(NodeKind kind, std::span<const Id> args, const Int& lo,
                               const Int& hi) const {
  std::uint64_t hash = static_cast<std::uint64_t>(kind);
  if (kind == NodeKind::Digit) hash = hash_list(hash_list(hash, lo.hash()), hi.hash());
  for (const Id id : args) hash = hash_list(hash, at(id).hash);
  return hash;
}

std::size_t Context::find_slot(std::uint64_t hash, NodeKind kind, std::span<const Id> args,
                               const Int& lo, const Int& hi) const {
  return find(hash, [&](const Stored& n) {
    return n.kind == kind && std::ranges::equal(args_of(n), args) && n.first == lo &&
           n.second == hi;
  });
}

bool Context::has(NodeKind kind, std::span<const Id> args) const {
  return table_[find_slot(hash_of(kind, args, 0, 0), kind, args, 0, 0)].id != kEmpty;
}

Id Context::make(NodeKind kind, std::span<const Id> args, const Interval& bounds, const Int& lo,
                 const Int& hi, const Congruence& congruence) {
  const std::uint64_t hash = hash_of(kind, args, lo, hi);
  const std::size_t slot = find_slot(hash, kind, args, lo, hi);
  if (table_[slot].id != kEmpty) return table_[slot].id;
  Stored& n = fresh(hash, kind);
  n.first = lo;
  n.second = hi;
  n.bounds = bounds;
  n.strided = !congruence.is_trivial();
  if (n.strided) strides_.emplace_back(static_cast<Id>(count_), congruence);
  n.count = static_cast<std::uint32_t>(args.size());
  if (args.size() > kInPlace)
    n.parts.args = lists_.keep(args).data();
  else
    std::ranges::copy(args, n.parts.in_place);
  return kept(n, slot);
}

namespace {

constexpr Id kFewNodes = 512;

/// `reachable` for a root among the first nodes of a context: a bit set, wholes before parts.
List<Id> reachable_of_few(const Context& context, Id root, std::size_t most) {
  constexpr Id kBits = 64;
  std::array<std::uint64_t, kFewNodes / kBits> found{};
  const auto mark = [&](Id id) { found[id / kBits] |= std::uint64_t{1} << id % kBits; };
  mark(root);
  std::size_t count = 0;
  for (Id word = root / kBits + 1; word-- > 0;)
    for (std::uint64_t left = found[word]; left != 0;) {
      const auto top = static_cast<Id>(63 - std::countl_zero(left));
      const NodeData& n = context[word * kBits + top];
      for (const Term& t : n.terms) mark(t.atom);
      for (const Id id : n.args) mark(id);
      ++count;
      left = found[word] & ((std::uint64_t{1} << top) - 1);
    }
  List<Id> list;
  if (count > most) return list;
  list.reserve(count);
  for (Id word = 0; word <= root / kBits; ++word)
    for (std::uint64_t left = found[word]; left != 0; left &= left - 1)
      list.push_back(word * kBits + static_cast<Id>(std::countr_zero(left)));
  return list;
}

}  // namespace

List<Id> reachable(const Context& context, Id root, std::size_t most) {
  if (root < kFewNodes) return reachable_of_few(context, root, most);
  List<Id> found;
  found.reserve(16);
  found.push_back(root);
  IdMap<bool> seen;
  seen.set(root, true);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found.size() > most) return {};
    const NodeData& n = context[found[i]];
    for (const Term& t : n.terms)
      if (seen.emplace(t.atom, true)) found.push_back(t.atom);
    for (const Id id : n.args)
      if (seen.emplace(id, true)) found.push_back(id);
  }
  std::ranges::sort(found);  // a node's id is above those of its parts
  return found;
}

}  // namespace touchstone::symbolic
