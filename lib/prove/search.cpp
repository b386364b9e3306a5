#include "touchstone/prove/search.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/interrupt.h"

namespace touchstone::prove {

using symbolic::Interval;

std::vector<Expr> roots_of(const Claim& claim) {
  std::vector<Expr> roots = claim.when;
  roots.push_back(claim.lhs);
  roots.push_back(claim.rhs);
  return roots;
}

namespace {

bool true_at(const std::optional<Int>& value) { return value && !value->is_zero(); }

/// Draws a deterministic sequence of points.
class Drawer {
 public:
  Drawer(const Claim& claim, const std::vector<std::string>& names)
      : dimensions_(names.size()), random_(1) {
    const Box box = box_of(claim);
    for (const std::string& name : names) {
      const auto range = box.ranges.find(name);
      ranges_.push_back(range == box.ranges.end() ? Interval() : range->second);
    }
    std::set<Int> near;
    for (const Expr root : roots_of(claim))
      for (const Expr e : claim.exprs.parts(root))
        if (claim.exprs.is_constant(e))
          for (const int step : {-1, 0, 1}) {
            near.insert(claim.exprs.value(e) + step);
            near.insert(-claim.exprs.value(e) + step);
          }
    near_.assign(near.begin(), near.end());
    cube_ = 1;
    for (std::size_t i = 0; i < dimensions_; ++i) cube_ = std::min(cube_ * kSide, kLargestCube + 1);
  }

  /// First all points of a small cube, if few, then random ones.
  std::vector<Int> next() {
    const std::size_t n = count_++;
    std::vector<Int> point;
    point.reserve(dimensions_);
    if (cube_ <= kLargestCube && n < cube_) {
      std::size_t rest = n;
      for (std::size_t i = 0; i < dimensions_; ++i) {
        point.push_back(within(ranges_[i], from_middle(static_cast<int>(rest % kSide))));
        rest /= kSide;
      }
      return point;
    }
    for (std::size_t i = 0; i < dimensions_; ++i)
      point.push_back(within(ranges_[i], coordinate(point)));
    return point;
  }

 private:
  static constexpr std::size_t kSide = 7, kLargestCube = 2500;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  Int within(int radius) {
    return static_cast<int>(below(2 * static_cast<std::uint64_t>(radius) + 1)) - radius;
  }
  /// The number, moved into the range.
  static Int within(const Interval& range, const Int& x) {
    const auto& [lo, hi] = range;
    if (lo && hi) return *hi < *lo ? *lo : *lo + floor_mod(x - *lo, *hi - *lo + 1);
    if (lo && x < *lo) return *lo + abs(x);
    return hi && x > *hi ? *hi - abs(x) : x;
  }
  // 0, 1, -1, 2, -2, ...
  static int from_middle(int i) { return i % 2 == 1 ? i / 2 + 1 : -(i / 2); }

  Int coordinate(const std::vector<Int>& before) {
    const std::uint64_t kind = below(20);
    if (kind < 10) return within(4);
    if (kind < 14) return within(12);
    if (kind < 16 && !before.empty()) return before[below(before.size())] + within(1);
    if (kind < 18 && !near_.empty()) return near_[below(near_.size())];
    if (kind < 19) return within(100);
    return within(1'000'000) * within(1'000'000);
  }

  std::size_t dimensions_, count_ = 0, cube_ = 1;
  std::vector<Interval> ranges_;
  std::mt19937_64 random_;
  std::vector<Int> near_;
};

/// Moves the coordinates of a failing point towards 0 while it still fails.
std::vector<Int> shrunk(Points& points, std::vector<Int> point) {
  constexpr int kMostMoves = 500;
  int moves = 0;
  for (bool again = true; again && moves < kMostMoves;) {
    again = false;
    for (Int& x : point) {
      const Int was = x;
      const Int toward = x.sign() < 0 ? 1 : -1;
      for (const Int& to : {Int(0), -was, was + toward * (floor_div(abs(was), 2)), was + toward}) {
        if (abs(to) > abs(was) || (abs(to) == abs(was) && to.sign() <= was.sign())) continue;
        x = to;
        if (points.at(point) == Points::At::Fails) {
          again = true;
          ++moves;
          break;
        }
        x = was;
      }
    }
  }
  return point;
}

Counterexample shrunk_counterexample(Points& points, std::vector<Int> point) {
  point = shrunk(points, std::move(point));
  points.at(point);
  return points.counterexample(point);
}

}  // namespace

Box box_of(const Claim& claim) {
  Box box;
  const Exprs& e = claim.exprs;
  const auto bound = [&](Expr variable, ExprOp op, const Int& value) {
    Interval& r = box.ranges[e.name(variable)];
    const auto raise = [&](const Int& v) { r.lo = r.lo ? larger(*r.lo, v) : v; };
    const auto lower = [&](const Int& v) { r.hi = r.hi ? smaller(*r.hi, v) : v; };
    if (op == ExprOp::Lt) lower(value - 1);
    if (op == ExprOp::Le || op == ExprOp::Eq) lower(value);
    if (op == ExprOp::Gt) raise(value + 1);
    if (op == ExprOp::Ge || op == ExprOp::Eq) raise(value);
  };
  const auto mirrored = [](ExprOp op) {
    switch (op) {
      case ExprOp::Lt: return ExprOp::Gt;
      case ExprOp::Le: return ExprOp::Ge;
      case ExprOp::Gt: return ExprOp::Lt;
      case ExprOp::Ge: return ExprOp::Le;
      default: return op;
    }
  };
  for (const Expr c : claim.when) {
    const bool compares = e.op(c) >= ExprOp::Lt && e.op(c) <= ExprOp::Eq;
    const Expr a = compares ? e.arg(c, 0) : c, b = compares ? e.arg(c, 1) : c;
    if (e.op(a) == ExprOp::Variable && e.is_constant(b))
      bound(a, e.op(c), e.value(b));
    else if (e.op(b) == ExprOp::Variable && e.is_constant(a))
      bound(b, mirrored(e.op(c)), e.value(a));
    else
      box.others.push_back(c);
  }
  return box;
}

std::string text_of(const Counterexample& found) {
  std::string text;
  for (const auto& [name, value] : found.point)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value.str());
  return fmt::format("{}{}lhs is {}, rhs {}", text, text.empty() ? "" : ": ", found.lhs.str(),
                     found.rhs ? "is " + found.rhs->str() : "divides by zero");
}

Points::Points(const Claim& claim)
    : claim_(claim),
      names_(variables_of(claim.exprs, roots_of(claim))),
      values_(claim.exprs, roots_of(claim), names_) {}

Points::At Points::at(std::span<const Int> point) {
  Interrupt::poll();
  values_.at(point);
  for (const Expr c : claim_.when)
    if (!true_at(values_.value(c))) return At::Outside;
  const std::optional<Int>&l = values_.value(claim_.lhs), &r = values_.value(claim_.rhs);
  if (!l) return At::Outside;
  return r && *l == *r ? At::Holds : At::Fails;
}

Counterexample Points::counterexample(std::span<const Int> point) const {
  Counterexample found;
  for (std::size_t i = 0; i < names_.size(); ++i) found.point.emplace_back(names_[i], point[i]);
  found.lhs = *values_.value(claim_.lhs);
  found.rhs = values_.value(claim_.rhs);
  return found;
}

std::optional<Counterexample> search(const Claim& claim, std::size_t count) {
  Points points(claim);
  Drawer drawer(claim, points.names());
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Int> point = drawer.next();
    if (points.at(point) == Points::At::Fails) return shrunk_counterexample(points, point);
  }
  return std::nullopt;
}

std::optional<Counterexample> counterexample_at(const Claim& claim,
                                                const std::map<std::string, Int>& at) {
  Points points(claim);
  std::vector<Int> point;
  for (const std::string& name : points.names()) {
    const auto found = at.find(name);
    point.push_back(found == at.end() ? Int(0) : found->second);
  }
  if (points.at(point) != Points::At::Fails) return std::nullopt;
  return shrunk_counterexample(points, std::move(point));
}

std::optional<Enumeration> enumerate(const Claim& claim, std::size_t most) {
  Points points(claim);
  const auto ranges = box_of(claim).ranges;
  std::vector<Int> low, high;
  Int count = 1;
  for (const std::string& name : points.names()) {
    const auto found = ranges.find(name);
    if (found == ranges.end() || !found->second.lo || !found->second.hi) return std::nullopt;
    low.push_back(*found->second.lo);
    high.push_back(*found->second.hi);
    if (high.back() < low.back()) return Enumeration{};
    count = count * (high.back() - low.back() + 1);
    if (count > Int(static_cast<std::int64_t>(most))) return std::nullopt;
  }
  const auto total = static_cast<std::size_t>(*count.small());
  std::vector<Int> point = low;
  std::size_t inside = 0;
  for (;;) {
    const Points::At at = points.at(point);
    inside += at != Points::At::Outside;
    if (at == Points::At::Fails)
      return Enumeration{total, inside, shrunk_counterexample(points, point)};
    std::size_t i = 0;
    while (i < point.size() && point[i] == high[i]) {
      point[i] = low[i];
      ++i;
    }
    if (i == point.size()) return Enumeration{total, inside, std::nullopt};
    point[i] += 1;
  }
}

std::vector<std::vector<Int>> samples(const Claim& claim, std::size_t most) {
  constexpr std::size_t kDraws = 4000;
  Points points(claim);
  Drawer drawer(claim, points.names());
  std::vector<std::vector<Int>> found;
  for (std::size_t i = 0; i < kDraws && found.size() < most; ++i) {
    std::vector<Int> point = drawer.next();
    if (points.at(point) != Points::At::Outside) found.push_back(std::move(point));
  }
  return found;
}

}  // namespace touchstone::prove
