// Polynomial inequalities over integer boxes, against testing every point.
#include "touchstone/shapetracker/view/box_prover.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "errors.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/shapetracker/view/variable_table.h"

namespace touchstone {
namespace {

using shapetracker::BoxProver;
using shapetracker::Grid;
using shapetracker::interpolate;
using shapetracker::Polynomial;
using shapetracker::Proof;
using shapetracker::VariableBox;
using shapetracker::VariableTable;
using shapetracker::Wide;
using Point = std::vector<std::int64_t>;
using Answer = Proof::Answer;

const Polynomial x = Polynomial::variable(0), y = Polynomial::variable(1);

Answer decide(const Polynomial& value, VariableBox box, int boxes = 1000) {
  return BoxProver(std::move(box), boxes).nonnegative(value).answer;
}

TEST(Polynomial, ArithmeticIsExact) {
  EXPECT_EQ((x + y) * (x - y), x * x - y * y);
  EXPECT_TRUE((x - x).is_zero());
  EXPECT_EQ((x * x * y + 3).degree(0), 2);
  EXPECT_EQ((x * x * y + 3).at(Point{5, -2}), -47);
  Polynomial power = x;
  expect_error<OverflowError>(
      [&] { (power * (std::int64_t{1} << 62) * (Wide{1} << 62) * 8).at(Point{2}); }, {"127 bits"});
  for (int i = 0; i < 7; ++i) power = power * power;  // x^128
  expect_error<OverflowError>([&] { power* power; }, {"127 bits"});
}

TEST(Polynomial, IsFoundFromItsValues) {
  const Grid grid{{{3, 4, 9}, {-1, 2, 5}}};
  const Polynomial p = x * x * y * y * 7 - x * y * 2 + y * y - 11;
  std::vector<Wide> values;
  for (std::size_t i = 0; i < grid.size(); ++i) values.push_back(p.at(grid.point(i)));
  EXPECT_EQ(interpolate(grid, values), p);
  EXPECT_EQ(interpolate(Grid{{{1, 2, 3}}}, {1, 3, 6}), std::nullopt);  // x(x + 1)/2
  EXPECT_EQ(interpolate(Grid{}, {5}), Polynomial(5));
}

TEST(Polynomial, IsFoundFromThePartOfAGridThatIsThere) {
  const Grid grid{{{1, 2, 3}, {0, 5}}};  // (1, 0), (1, 5), (2, 0), ...
  const auto part = shapetracker::present_part(grid, {true, true, false, true, true, true});
  EXPECT_EQ(part.grid.values, (std::vector<Point>{{1, 3}, {0, 5}}));
  EXPECT_EQ(part.points, (std::vector<std::size_t>{0, 1, 4, 5}));
  const std::vector<bool> none(6, false), all(6, true);
  EXPECT_TRUE(shapetracker::present_part(grid, none).points.empty());
  EXPECT_EQ(shapetracker::present_part(grid, all).points.size(), 6U);
  EXPECT_TRUE(shapetracker::present_part(Grid{}, {false}).points.empty());
  EXPECT_EQ(shapetracker::present_part(Grid{}, {true}).points.size(), 1U);
}

TEST(BoxProver, BernsteinCoefficientsAreTheCornersOfLinearPolynomials) {
  const auto corners = shapetracker::bernstein_coefficients(x * y - x, {{2, 3}, {5, 7}});
  EXPECT_EQ(corners, (std::vector<Wide>{4, 12, 10, 30}));
  // x^2 on [-1, 1]: 1, -1, 1 times a positive number.
  const auto square = shapetracker::bernstein_coefficients(x * x, {{-1}, {1}});
  ASSERT_EQ(square.size(), 3U);
  EXPECT_EQ(square[0], square[2]);
  EXPECT_EQ(square[0], -square[1]);
  EXPECT_GT(square[0], 0);
}

TEST(BoxProver, CutsTheBoxOnlyWhereItMust) {
  EXPECT_EQ(decide(x * y - x - y, {{2, 2}, {9, 7}}, 1), Answer::Proved);
  EXPECT_EQ(decide(x * x - x * 6 + 9, {{0}, {100}}), Answer::Proved);
  EXPECT_EQ(decide(x * x - x * 6 + 9, {{0}, {100}}, 2), Answer::Unknown);
  // Negative only between the integers 2 and 3, which does not matter.
  EXPECT_EQ(decide(x * x - x * 5 + 6, {{0}, {100}}), Answer::Proved);
  EXPECT_EQ(decide(x * x - x * 5 + 5, {{0}, {100}}), Answer::Refuted);
  EXPECT_EQ(decide(0, {{}, {}}), Answer::Proved);
  EXPECT_EQ(decide(-1, {{}, {}}), Answer::Refuted);
}

TEST(BoxProver, WideBoxesAreExactOrAnError) {
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(decide(x - y, {{big, 0}, {INT64_MAX, big}}), Answer::Proved);
  EXPECT_EQ(decide(x - y - 1, {{big, 0}, {INT64_MAX, big}}), Answer::Refuted);
  EXPECT_EQ(decide(y - x, {{INT64_MIN, 0}, {0, INT64_MAX}}), Answer::Proved);
  expect_error<OverflowError>([&] { decide(x * x * x, {{0}, {big}}); }, {"127 bits"});
}

Polynomial any_polynomial(fuzz::Chooser& draws) {
  Polynomial p = draws.between(-9, 9);
  for (std::int64_t n = draws.between(0, 4); n > 0; --n) {
    Polynomial term = draws.between(-4, 4);
    for (std::int64_t k = draws.between(0, 2); k > 0; --k) term = term * x;
    for (std::int64_t k = draws.between(0, 2); k > 0; --k) term = term * y;
    p = p + term;
  }
  return p;
}

RC_GTEST_PROP(BoxProver, AgreesWithTryingEveryPoint, ()) {
  fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Polynomial value = any_polynomial(draws);
  std::vector<Polynomial> given;
  if (draws.chance(1, 2)) given.push_back(any_polynomial(draws));
  VariableBox box;
  for (int i = 0; i < 2; ++i) {
    box.low.push_back(draws.between(-6, 6));
    box.high.push_back(box.low.back() + draws.between(0, 8));
  }
  bool holds = true;
  for (std::int64_t a = box.low[0]; a <= box.high[0]; ++a)
    for (std::int64_t b = box.low[1]; b <= box.high[1]; ++b)
      holds =
          holds && (value.at(Point{a, b}) >= 0 || (!given.empty() && given[0].at(Point{a, b}) < 0));
  const Proof proof = BoxProver(box, 1000).nonnegative(value, given);
  RC_ASSERT(proof.answer == (holds ? Answer::Proved : Answer::Refuted));
  if (holds) return;
  for (std::size_t i = 0; i < 2; ++i) {
    RC_ASSERT(box.low[i] <= proof.point[i]);
    RC_ASSERT(proof.point[i] <= box.high[i]);
  }
  RC_ASSERT(value.at(proof.point) < 0);
  if (!given.empty()) RC_ASSERT(given[0].at(proof.point) >= 0);
}

TEST(VariableTable, ReadsPolynomialsAndWritesThemBack) {
  const symbolic::Node n = symbolic::variable("n", 1, 10), m = symbolic::variable("m", 2, 5);
  VariableTable table;
  for (const sint& entry :
       {sint(7), sint(n), sint(n * m * 3 - m * m + 1), sint((n + 1) * (n - m))}) {
    const std::optional<Polynomial> p = table.read(entry);
    ASSERT_TRUE(p) << entry.str();
    EXPECT_EQ(table.write(*p), entry);
  }
  EXPECT_EQ(table.names(), (std::vector<std::string>{"n", "m"}));
  EXPECT_EQ(table.box().low, (Point{1, 2}));
  EXPECT_EQ(table.box().high, (Point{10, 5}));
  EXPECT_EQ(table.read(symbolic::floor_div(n, 2)), std::nullopt);
  EXPECT_EQ(table.read(symbolic::min(n, m)), std::nullopt);
  EXPECT_EQ(table.read(symbolic::variable("open", 0, std::nullopt)), std::nullopt);
}

TEST(VariableTable, OneNameIsOneVariableWithinAllItsBounds) {
  VariableTable table;
  (void)table.read(symbolic::variable("n", 1, 10));
  (void)table.read(symbolic::variable("n", 4, 20));
  EXPECT_EQ(table.box().low, (Point{4}));
  EXPECT_EQ(table.box().high, (Point{10}));
  EXPECT_FALSE(table.has_empty_range());
  (void)table.read(symbolic::variable("n", 12, 20));
  EXPECT_TRUE(table.has_empty_range());
}

}  // namespace
}  // namespace touchstone
