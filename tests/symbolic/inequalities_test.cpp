// The checker's simplex method against Fourier-Motzkin elimination.
#include "touchstone/symbolic/check/inequalities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::symbolic {
namespace {

/// coefs * unknowns <= most.
struct Line {
  std::vector<Int> coefs;
  Int most;
};

/// Fourier-Motzkin: each pair of lines with opposite signs gives one without the unknown.
bool contradict(std::vector<Line> lines, std::size_t unknowns) {
  for (std::size_t x = 0; x < unknowns; ++x) {
    std::vector<Line> next;
    for (const Line& up : lines) {
      if (up.coefs[x].is_zero()) next.push_back(up);
      if (up.coefs[x].sign() <= 0) continue;
      for (const Line& down : lines) {
        if (down.coefs[x].sign() >= 0) continue;
        Line sum;
        for (std::size_t i = 0; i < unknowns; ++i)
          sum.coefs.push_back(up.coefs[i] * -down.coefs[x] + down.coefs[i] * up.coefs[x]);
        sum.most = up.most * -down.coefs[x] + down.most * up.coefs[x];
        next.push_back(std::move(sum));
      }
    }
    lines = std::move(next);
  }
  return std::ranges::any_of(lines, [](const Line& l) { return l.most.sign() < 0; });
}

struct DrawnFacts {
  std::vector<Interval> bounds;
  std::vector<Line> lines;

  DrawnFacts(fuzz::Chooser& chooser, const Int& scale) {
    const auto number = [&](std::uint64_t most) {
      return Int(static_cast<std::int64_t>(chooser.below(2 * most + 1))) -
             Int(static_cast<std::int64_t>(most));
    };
    const std::size_t unknowns = chooser.below(4);
    for (std::size_t i = 0; i < unknowns; ++i) {
      Interval range;
      if (chooser.chance(1, 2)) range.lo = number(9) * scale;
      if (chooser.chance(1, 2)) range.hi = (range.lo ? *range.lo : number(9) * scale) + number(4);
      bounds.push_back(range);
    }
    for (std::size_t n = chooser.below(7); n > 0; --n) {
      Line line{{}, number(20) * scale};
      for (std::size_t i = 0; i < unknowns; ++i)
        line.coefs.push_back(chooser.chance(1, 3) ? Int(0) : number(6));
      lines.push_back(std::move(line));
    }
  }

  std::vector<Line> all() const {
    std::vector<Line> found = lines;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      std::vector<Int> unit(bounds.size());
      unit[i] = 1;
      if (bounds[i].hi) found.push_back({unit, *bounds[i].hi});
      unit[i] = -1;
      if (bounds[i].lo) found.push_back({unit, -*bounds[i].lo});
    }
    return found;
  }

  Inequalities system() const {
    Inequalities made(bounds);
    for (const Line& line : lines) {
      Inequalities::Sum sum;
      for (std::size_t i = 0; i < line.coefs.size(); ++i)
        if (!line.coefs[i].is_zero()) sum.emplace_back(i, line.coefs[i]);
      made.at_most(sum, line.most);
    }
    return made;
  }
};

TEST(Inequalities, ContradictWhereNothingIsLeftOfThem) {
  int contradictory = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    fuzz::RandomChooser chooser(29, i);
    const Int far = Int(std::int64_t{1} << 61);
    const DrawnFacts drawn(chooser, i % 4 == 0 ? far : Int(1));
    const bool wanted = contradict(drawn.all(), drawn.bounds.size());
    int many = 1000, few = static_cast<int>(chooser.below(4));
    EXPECT_EQ(drawn.system().contradict(many), wanted) << i;
    EXPECT_GT(many, 900);
    EXPECT_LE(drawn.system().contradict(few), wanted) << i;
    EXPECT_GE(few, 0);
    contradictory += wanted;
  }
  EXPECT_GT(contradictory, 800);
  EXPECT_LT(contradictory, 3200);
}

}  // namespace
}  // namespace touchstone::symbolic
