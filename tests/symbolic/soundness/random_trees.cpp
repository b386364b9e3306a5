#include "random_trees.h"

#include <algorithm>
#include <random>

#include "../raw_tree.h"

namespace touchstone::symbolic {

namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 62;
constexpr int kPoints = 8;

Int power(int exponent) {
  Int r = 1;
  for (int i = 0; i < exponent; ++i) r = r * 2;
  return r;
}

class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    const auto first = static_cast<std::uint64_t>(lo);  // the distance may not fit in 63 bits
    return static_cast<std::int64_t>(first + below(static_cast<std::uint64_t>(hi) - first + 1));
  }

  RawTree tree(int depth) {
    static const char* const ops[] = {
        "+", "+", "+",  "-",  "-",  "*",   "*",  "//",  "//",  "//",  "%",    "%",
        "%", "<", "<=", "==", "!=", "and", "or", "not", "min", "max", "where"};
    if (depth == 0 || below(10) == 0) return leaf();
    if (below(400) == 0) return wide();
    const std::string op = ops[below(std::size(ops))];
    if (op == "not") return {op, {tree(depth - 1)}};
    if (op == "where") return {op, {tree(depth - 1), tree(depth - 1), tree(depth - 1)}};
    const bool scales = op == "*" || op == "//" || op == "%";
    return {op, {tree(depth - 1), scales && below(4) > 0 ? number() : tree(depth - 1)}};
  }

 private:
  /// One operator of 2 to 200 operands, of which some are alike.
  RawTree wide() {
    static const char* const ops[] = {"+", "and", "or", "min", "max"};
    RawTree t{ops[below(5)], {}};
    for (std::uint64_t left = 2 + below(below(4) ? 12 : 199); left > 0; --left)
      t.args.push_back({"+", {{"*", {leaf(), number()}}, leaf()}});
    return t;
  }
  RawTree leaf() { return below(3) > 0 ? RawTree{std::string(1, "xyz"[below(3)]), {}} : number(); }
  /// Small, or near a place where 32 or 64 bits end, or near 10^30; of either sign.
  RawTree number() {
    static const Int large[] = {power(31), power(32), power(62),
                                power(63), power(64), Int::from_digits("1" + std::string(30, '0'))};
    Int n = between(0, below(2) ? 5 : 40);
    if (below(3) == 0) n = large[below(std::size(large))] + between(-2, 2);
    return {(below(4) == 0 ? -n : n).str(), {}};
  }

  std::mt19937_64 random_;
};

std::size_t size_of(const RawTree& t) {
  std::size_t n = 1;
  for (const RawTree& a : t.args) n += size_of(a);
  return n;
}

bool is_wide(const RawTree& t) { return t.args.size() > 3 || std::ranges::any_of(t.args, is_wide); }

/// With the operands exchanged wherever that changes nothing.
RawTree swapped(RawTree t) {
  for (RawTree& a : t.args) a = swapped(std::move(a));
  for (const char* op : {"+", "*", "==", "!=", "and", "or", "min", "max"})
    if (t.op == op) std::ranges::reverse(t.args);
  return t;
}

}  // namespace

RandomTree::RandomTree(std::uint64_t seed, std::uint64_t number, int depth) {
  Grower g(seed * 0x9e3779b97f4a7c15ULL + number);
  const RawTree tree = g.tree(depth);
  text_ = text_of(tree);
  swapped_ = text_of(swapped(tree));
  size_ = size_of(tree);
  wide_ = is_wide(tree);
  std::vector<std::pair<std::int64_t, std::int64_t>> box;
  for (const char* name : {"x", "y", "z"}) {
    std::int64_t lo = g.below(2) ? 0 : g.between(-9, 9), hi = lo + g.between(1, 12);
    if (g.below(4) == 0) hi = kFar - g.between(0, 9);
    if (g.below(8) == 0) lo = -kFar + g.between(0, 9);
    box.emplace_back(lo, hi);
    variables_.emplace_back(
        name, Interval{g.below(8) == 0 ? End() : End(lo), g.below(8) == 0 ? End() : End(hi)});
  }
  for (int p = 0; p < kPoints; ++p) {
    Values at;
    std::vector<Int> point;
    for (std::size_t v = 0; v < box.size(); ++v) {
      const auto [lo, hi] = box[v];
      const std::uint64_t how = g.below(4);
      const std::int64_t x = how == 0   ? lo
                             : how == 1 ? hi
                             : how == 2 ? g.between(lo, hi)
                                        : lo + g.between(0, lo + 9 < hi ? 9 : hi - lo);
      at.emplace(variables_[v].first, x);
      point.emplace_back(x);
    }
    points_.push_back(std::move(point));
    values_.push_back(value_of(tree, at));
  }
}

}  // namespace touchstone::symbolic
