// Drawn maps: every answer against the definition, by enumeration of small boxes. The maps are
// evaluated here from their texts, by an evaluator of its own.
#include "drawn.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "touchstone/maps/ask.h"

namespace touchstone::maps {
namespace {

using namespace drawn;  // NOLINT(google-build-using-namespace)

/// A drawn map, and its results at each point by enumeration.
struct Case {
  std::optional<Map> map;
  Point sizes;
  std::string text;
  std::map<Point, Point> values;  // of each point of the domain
};

Case draw_case(Draw& d, const Point& sizes, std::size_t results) {
  Case c;
  c.sizes = sizes;
  symbolic::Question q = question(sizes, "");
  symbolic::Translation t;
  std::vector<Drawn> all, conditions;
  if (d.below(4) == 0) conditions.push_back(d.condition(sizes.size()));
  for (const Drawn& a : conditions) q.assumptions.push_back(a.text);
  for (std::size_t r = 0; r < results; ++r) {
    all.push_back(d.sum(sizes.size()));
    q.text = all.back().text;
    t.questions.push_back(q);
    c.text += all.back().text + "; ";
  }
  for (const std::string& a : q.assumptions) c.text += " where " + a;
  c.map = Map::of(t);
  Point p(sizes.size(), 0);
  for (;;) {
    if (conditions.empty() || conditions[0].value(p) != 0) {
      Point v;
      for (const Drawn& a : all) v.push_back(a.value(p));
      c.values.emplace(p, v);
    }
    std::size_t i = p.size();
    while (i > 0 && p[i - 1] == sizes[i - 1] - 1) p[--i] = 0;
    if (i == 0) break;
    ++p[i - 1];
  }
  return c;
}

Point point_of(const Map& m, const symbolic::Values& at) {
  Point p;
  for (const Map::Input& i : m.inputs()) p.push_back(at.at(i.name));
  return p;
}

std::set<Point> image_of(const Case& c) {
  std::set<Point> r;
  for (const auto& [p, v] : c.values) r.insert(v);
  return r;
}

struct Count {
  std::int64_t asked = 0, open = 0, inverses = 0, no_form = 0;
  void add(Verdict v) { ++asked, open += v == Verdict::Open; }
};

void check_one(const Case& c, Count& count) {
  const std::set<Point> image_points = image_of(c);
  const Reply one = injective(*c.map);
  count.add(one.verdict);
  const bool is_injective = image_points.size() == c.values.size();
  if (one.verdict != Verdict::Open) {
    EXPECT_EQ(one.verdict == Verdict::Yes, is_injective) << c.text;
  }
  if (one.verdict == Verdict::No) {
    ASSERT_EQ(one.points.size(), 2U);
    const Point p = point_of(*c.map, one.points[0]), q = point_of(*c.map, one.points[1]);
    EXPECT_NE(p, q) << c.text;
    EXPECT_EQ(c.values.at(p), c.values.at(q)) << c.text;
  }
  const auto seen = image(*c.map);
  if (seen) {
    { EXPECT_EQ(seen->points, std::ssize(c.values)) << c.text; }
    EXPECT_EQ(seen->distinct, std::ssize(image_points)) << c.text;
    for (std::size_t r = 0; r < seen->ranges.size(); ++r) {
      std::int64_t lo = INT64_MAX, hi = INT64_MIN;
      for (const Point& v : image_points) lo = std::min(lo, v[r]), hi = std::max(hi, v[r]);
      EXPECT_EQ(seen->ranges[r], std::pair(lo, hi)) << c.text;
    }
  } else {
    EXPECT_TRUE(c.values.empty()) << c.text;
  }
  if (c.values.empty()) return;
  const Inverse back = inverse(*c.map);
  ++count.inverses, count.no_form += !back.map;
  if (!back.map) return;
  EXPECT_EQ(back.injective, is_injective) << c.text << back.map->str();
  Values at(*back.map);
  const auto try_value = [&](const Point& y) {
    bool inside = true;
    for (std::size_t k = 0; k < y.size(); ++k) {
      const Map::Input& i = back.map->inputs()[k];
      inside = inside && (!i.lo || *i.lo <= y[k]) && (!i.hi || y[k] <= *i.hi);
    }
    const auto x = inside ? at.at(y) : std::nullopt;
    EXPECT_EQ(x.has_value(), image_points.contains(y)) << c.text << back.map->str();
    if (x && c.values.contains(*x)) {
      EXPECT_EQ(c.values.at(*x), y) << c.text << back.map->str();
    } else if (x) {
      ADD_FAILURE() << c.text << back.map->str();
    }
  };
  for (const Point& v : image_points) {
    try_value(v);
    for (std::size_t r = 0; r < v.size(); ++r)
      for (const int step : {-1, 1}) {
        Point w = v;
        w[r] += step;
        try_value(w);
      }
  }
}

void check_two(const Case& a, const Case& b, Count& count) {
  const Reply equal = same(*a.map, *b.map);
  count.add(equal.verdict);
  if (equal.verdict != Verdict::Open) {
    EXPECT_EQ(equal.verdict == Verdict::Yes, a.values == b.values) << a.text << " | " << b.text;
  }
  if (equal.verdict == Verdict::No) {
    const Point p = point_of(*a.map, equal.points.at(0));
    const auto u = a.values.find(p), v = b.values.find(p);
    EXPECT_TRUE((u == a.values.end()) != (v == b.values.end()) ||
                (u != a.values.end() && u->second != v->second))
        << a.text << " | " << b.text << equal.what;
  }
  const std::set<Point> left = image_of(a), right = image_of(b);
  std::set<Point> both;
  std::ranges::set_intersection(left, right, std::inserter(both, both.end()));
  const Reply meet = apart(*a.map, *b.map);
  count.add(meet.verdict);
  if (meet.verdict != Verdict::Open) {
    EXPECT_EQ(meet.verdict == Verdict::Yes, both.empty()) << a.text << " | " << b.text;
  }
  if (meet.verdict == Verdict::No) {
    EXPECT_EQ(a.values.at(point_of(*a.map, meet.points[0])),
              b.values.at(point_of(*b.map, meet.points[1])))
        << a.text << " | " << b.text;
  }
  const auto c = compare_images(*a.map, *b.map);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->both.count, std::ssize(both));
  EXPECT_EQ(c->only_a.count, std::ssize(left) - std::ssize(both));
}

void check_composition(const Case& inner, const Case& outer) {
  const Map m = inner.map->then(*outer.map);
  Values at(m);
  for (const auto& [p, v] : inner.values) {
    const auto want = outer.values.find(v);
    const auto& have = at.at(p);
    ASSERT_EQ(have.has_value(), want != outer.values.end())
        << inner.text << " | " << outer.text << m.str();
    if (have) {
      EXPECT_EQ(*have, want->second) << inner.text << " | " << outer.text << m.str();
    }
  }
}

// Strides and extents with symbols: a proof holds at each of their values that is tried, and so
// does the witness of a refusal.
TEST(Drawn, ProofsHoldForAllValuesOfSymbols) {
  Draw d(11);
  std::int64_t yes = 0, no = 0, open = 0;
  for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
    static constexpr const char* kStrides[] = {"1", "2", "n", "m", "n*m", "2*n", "(n + 1)", "4"};
    static constexpr const char* kExtents[] = {"n", "m", "4", "n + 1", "2*m"};
    symbolic::Question q{{}, {}, "0"};
    const std::int64_t rank = 1 + d.below(3);
    for (std::int64_t k = 0; k < rank; ++k) {
      const std::string x = "x" + std::to_string(k);
      q.variables.push_back({x, {symbolic::Int(0), {}}});
      q.text += " + " + x + "*" + kStrides[d.below(8)];
      q.assumptions.push_back(x + " < " + kExtents[d.below(5)]);
    }
    const bool closed = d.below(2) == 0;
    for (const char* s : {"n", "m"})
      q.variables.push_back(
          {s, {symbolic::Int(1), closed ? symbolic::End(symbolic::Int(3)) : symbolic::End()}});
    const Map m = read_map(q, "touchstone", {"n", "m"});
    const Reply one = injective(m), all = surjective(m);
    (one.verdict == Verdict::Yes ? yes : one.verdict == Verdict::No ? no : open) += 1;
    for (std::int64_t n = 1; n <= 3; ++n)
      for (std::int64_t k = 1; k <= 3; ++k) {
        const auto t = table_of(m.bind({{"n", n}, {"m", k}}));
        ASSERT_TRUE(t) << m.str();
        const auto distinct = t->sorted(true);
        if (one.verdict == Verdict::Yes) {
          EXPECT_EQ(distinct.size(), t->size()) << m.str() << n << k;
        }
        if (all.verdict == Verdict::Yes) {
          EXPECT_EQ(t->value(distinct.back())[0] + 1, std::ssize(distinct)) << m.str() << n << k;
        }
      }
    if (one.verdict == Verdict::No) {
      const Map at = m.bind({{"n", one.points[0].at("n")}, {"m", one.points[0].at("m")}});
      Values values(at);
      EXPECT_EQ(values.at(point_of(at, one.points[0])), values.at(point_of(at, one.points[1])));
      EXPECT_TRUE(values.at(point_of(at, one.points[0]))) << m.str();
      EXPECT_NE(point_of(at, one.points[0]), point_of(at, one.points[1])) << m.str();
    }
  }
  EXPECT_GT(yes, 3);
  EXPECT_GT(no, 3);
  EXPECT_LT(open, 20);
}

// TOUCHSTONE_MAPS asks for more than the budget of CI.
TEST(Drawn, AnswersAreThoseOfTheDefinition) {
  const char* const more = std::getenv("TOUCHSTONE_MAPS");
  const std::int64_t maps = more ? std::atoll(more) : 300;
  Draw d(more ? std::random_device()() : 7);
  Count count;
  for (std::int64_t n = 0; n < maps && !testing::Test::HasFailure(); ++n) {
    const Point sizes = d.box();
    const std::size_t results = d.below(4) == 0 ? 2 : 1;
    const Case a = draw_case(d, sizes, results), b = draw_case(d, sizes, results);
    check_one(a, count);
    check_two(a, b, count);
    check_two(a, a, count);
    if (results == 1) check_composition(a, draw_case(d, {12 + d.below(20)}, 1));
    const auto views = views_of(*a.map);
    if (views && a.values.size() > 0) {
      for (const auto& [q, v] : a.values) EXPECT_EQ(views->at(q), v[0]) << a.text;
      EXPECT_EQ(image(Map::of(*views))->points, std::ssize(a.values)) << a.text;
    }
    if (const auto l = layout_of(*a.map))
      for (const auto& [q, v] : a.values) {
        std::int64_t sum = l->offset;
        for (std::size_t k = 0; k < q.size(); ++k) {
          std::int64_t left = q[k];
          for (const Map::Mode& mode : l->modes[k])
            sum += left % mode.size * mode.stride, left /= mode.size;
        }
        EXPECT_EQ(sum, v[0]) << a.text;
      }
  }
  if (more)
    fmt::print("{} maps, {} questions, {} undecided; {} inverses, {} without a form\n", maps,
               count.asked, count.open, count.inverses, count.no_form);
  EXPECT_GT(count.asked, 3 * maps);
}

}  // namespace
}  // namespace touchstone::maps
