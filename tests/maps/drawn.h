#pragma once

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "touchstone/maps/map.h"

// Drawn quasi-affine maps, each as text and as a function that is evaluated by its own definition.

namespace touchstone::maps::drawn {

using Point = std::vector<std::int64_t>;
using Function = std::function<std::int64_t(const Point&)>;

inline std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}
inline std::int64_t remainder(std::int64_t a, std::int64_t b) { return a - quotient(a, b) * b; }

/// A quasi-affine expression as text, and the same as a function.
struct Drawn {
  std::string text;
  Function value;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  Point box() {
    Point sizes;
    const std::int64_t rank = 1 + below(3);
    for (std::int64_t k = 0; k < rank; ++k) sizes.push_back(1 + below(rank == 1 ? 24 : 6));
    return sizes;
  }
  Drawn sum(std::size_t rank) {
    Drawn r{std::to_string(below(8) == 0 ? below(9) - 4 : 0), {}};
    std::vector<std::pair<std::int64_t, Function>> terms;
    const std::int64_t base = std::atoll(r.text.c_str());
    const std::int64_t count = 1 + below(3);
    for (std::int64_t k = 0; k < count; ++k) {
      const Drawn a = atom(rank);
      const std::int64_t factor = below(4) == 0 ? below(13) - 6 : std::int64_t{1} << below(5);
      r.text += " + " + std::to_string(factor) + "*" + a.text;
      terms.emplace_back(factor, a.value);
    }
    r.value = [base, terms](const Point& p) {
      std::int64_t s = base;
      for (const auto& [f, v] : terms) s += f * v(p);
      return s;
    };
    return r;
  }
  Drawn condition(std::size_t rank) {
    const Drawn a = sum(rank);
    const std::int64_t bound = below(24) - 4, kind = below(3), by = 2 + below(3);
    if (kind == 0)
      return {"(" + a.text + ") < " + std::to_string(bound),
              [a, bound](const Point& p) { return std::int64_t{a.value(p) < bound}; }};
    if (kind == 1)
      return {"(" + a.text + ") >= " + std::to_string(bound),
              [a, bound](const Point& p) { return std::int64_t{a.value(p) >= bound}; }};
    return {"(" + a.text + ") % " + std::to_string(by) + " == 0",
            [a, by](const Point& p) { return std::int64_t{remainder(a.value(p), by) == 0}; }};
  }

 private:
  Drawn atom(std::size_t rank) {
    const auto k = static_cast<std::size_t>(below(static_cast<std::int64_t>(rank)));
    Drawn x{"x" + std::to_string(k), [k](const Point& p) { return p[k]; }};
    const std::int64_t kind = below(8),
                       by = below(3) == 0 ? 3 + below(4) : std::int64_t{1} << (1 + below(3)),
                       more = 2 + below(3);
    if (kind < 3) return x;
    if (kind == 7 && rank > 1) {  // of a sum
      const std::size_t j = (k + 1) % rank;
      const std::int64_t factor = 1 + below(5);
      x = {"(" + x.text + "*" + std::to_string(factor) + " + x" + std::to_string(j) + ")",
           [k, j, factor](const Point& p) { return p[k] * factor + p[j]; }};
    }
    const Function v = x.value;
    const std::string divisor = std::to_string(by);
    if (kind == 3 || kind == 7)
      return {"(" + x.text + "//" + divisor + ")",
              [v, by](const Point& p) { return quotient(v(p), by); }};
    if (kind == 4)
      return {"(" + x.text + "%" + divisor + ")",
              [v, by](const Point& p) { return remainder(v(p), by); }};
    if (kind == 5)
      return {"(" + x.text + "//" + divisor + "%" + std::to_string(more) + ")",
              [v, by, more](const Point& p) { return remainder(quotient(v(p), by), more); }};
    return {"(" + std::to_string(more) + " - " + x.text + ")",
            [v, more](const Point& p) { return more - v(p); }};
  }
  std::mt19937_64 random_;
};

/// The question of a result over the inputs x0, x1, .. of a box.
inline symbolic::Question question(const Point& sizes, const std::string& text) {
  symbolic::Question q{{}, {}, text};
  for (std::size_t k = 0; k < sizes.size(); ++k)
    q.variables.push_back(
        {"x" + std::to_string(k), {symbolic::Int(0), symbolic::Int(sizes[k] - 1)}});
  return q;
}

}  // namespace touchstone::maps::drawn
