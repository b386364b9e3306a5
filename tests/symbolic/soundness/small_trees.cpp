#include "small_trees.h"

namespace touchstone::symbolic {

namespace {

constexpr std::int64_t kLow[] = {0, -2};
constexpr std::int64_t kSide = 5;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// If op divides, b is not 0.
std::int64_t value_of(const std::string& op, std::int64_t a, std::int64_t b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "//") return floor_quotient(a, b);
  if (op == "%") return a - b * floor_quotient(a, b);
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == "==") return a == b;
  if (op == "and") return a != 0 && b != 0;
  if (op == "or") return a != 0 || b != 0;
  if (op == "min") return a < b ? a : b;
  return a < b ? b : a;  // max
}

}  // namespace

SmallTrees::SmallTrees(int set)
    : operators_(set == 0
                     ? std::vector<std::string>{"+", "-", "*", "//", "%", "<", "min", "and"}
                     : std::vector<std::string>{"+", "*", "//", "%", "==", "<=", "max", "or"}) {
  const std::vector<int> constants =
      set == 0 ? std::vector<int>{-2, -1, 0, 1, 2, 4} : std::vector<int>{-3, 0, 1, 2, 3, 6};
  Tree x, y;
  x.text = x.swapped = "x";
  y.text = y.swapped = "y";
  for (std::size_t p = 0; p < kPoints; ++p) {
    const auto n = static_cast<std::int64_t>(p);
    x.value[p] = kLow[0] + n % kSide;
    y.value[p] = kLow[1] + n / kSide;
    points_.push_back({x.value[p], y.value[p]});
  }
  known_[1] = {x, y};
  for (const int c : constants) {
    Tree t;
    t.text = t.swapped = std::to_string(c);
    t.value.fill(c);
    known_[1].push_back(t);
  }
  many_[1] = first_[1] = known_[1].size();
  for (std::size_t leaves = 2; leaves <= kLeaves; ++leaves) {
    for (std::size_t left = 1; left < leaves; ++left)
      many_[leaves] += operators_.size() * many_[left] * many_[leaves - left];
    first_[leaves] = first_[leaves - 1] + many_[leaves];
    if (leaves == kLeaves) break;
    std::vector<Tree> all;
    for (std::uint64_t i = 0; i < many_[leaves]; ++i) all.push_back(tree(leaves, i));
    known_[leaves] = std::move(all);
  }
}

Variables SmallTrees::variables() {
  return {{"x", {Int(kLow[0]), Int(kLow[0] + kSide - 1)}},
          {"y", {Int(kLow[1]), Int(kLow[1] + kSide - 1)}}};
}

SmallTrees::Tree SmallTrees::combine(const std::string& op, const Tree& a, const Tree& b) {
  Tree t;
  const auto written = [&](const std::string& left, const std::string& right) {
    return op == "min" || op == "max" ? op + "(" + left + ", " + right + ")"
                                      : "(" + left + " " + op + " " + right + ")";
  };
  const bool ordered = op == "-" || op == "//" || op == "%" || op == "<" || op == "<=";
  t.text = written(a.text, b.text);
  t.swapped = ordered ? written(a.swapped, b.swapped) : written(b.swapped, a.swapped);
  t.size = a.size + b.size + 1;
  t.undefined = a.undefined | b.undefined;
  const bool divides = op == "//" || op == "%";
  for (std::size_t p = 0; p < kPoints; ++p)
    if (divides && b.value[p] == 0)
      t.undefined |= 1U << p;
    else if (!(t.undefined >> p & 1U))
      t.value[p] = value_of(op, a.value[p], b.value[p]);
  return t;
}

SmallTrees::Tree SmallTrees::tree(std::size_t leaves, std::uint64_t number) const {
  if (leaves < kLeaves && !known_[leaves].empty()) return known_[leaves][number];
  std::size_t left = 1;
  for (;; ++left) {
    const std::uint64_t these = operators_.size() * many_[left] * many_[leaves - left];
    if (number < these) break;
    number -= these;
  }
  const std::uint64_t rights = many_[leaves - left];
  const std::string& op = operators_[number / rights / many_[left]];
  return combine(op, known_[left][number / rights % many_[left]],
                 known_[leaves - left][number % rights]);
}

Sample SmallTrees::at(std::uint64_t index) const {
  std::size_t leaves = 1;
  while (index >= first_[leaves]) ++leaves;
  const Tree t = tree(leaves, index - first_[leaves - 1]);
  Sample s{t.text, t.swapped, t.size, points_, {}, true};
  for (std::size_t p = 0; p < kPoints; ++p)
    s.values.push_back(t.undefined >> p & 1U ? std::nullopt : std::optional<Int>(t.value[p]));
  return s;
}

}  // namespace touchstone::symbolic
