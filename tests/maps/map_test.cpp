#include <gtest/gtest.h>

#include <set>

#include "touchstone/maps/check.h"
#include "touchstone/maps/draw.h"
#include "touchstone/maps/points.h"
#include "touchstone/symbolic/derive/derive.h"

namespace touchstone::maps {
namespace {

using symbolic::Question;

Map cute(const std::string& text) { return read_map({{}, {}, text}, "cute", {}); }
Map expression(const std::string& text,
               std::vector<std::pair<std::string, symbolic::Interval>> vars,
               std::vector<std::string> assume = {}, std::vector<std::string> symbols = {},
               const std::string& from = "touchstone") {
  return read_map({std::move(vars), std::move(assume), text}, from, symbols);
}
symbolic::Interval range(std::int64_t lo, std::int64_t hi) {
  return {symbolic::Int(lo), symbolic::Int(hi)};
}

std::string composed(const std::string& a, const std::string& b) {
  return written(cute(b).then(cute(a)), "cute");
}

// Compositions as in the issue tracker of layouts: axes of the inner layout may have to be split.
TEST(Layout, CompositionsSplitAxes) {
  EXPECT_EQ(composed("(10,2):(16,4)", "(3,4):(1,5)"), "(3,(2,2)):(16,(80,4))");
  EXPECT_EQ(composed("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
  EXPECT_EQ(composed("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(composed("(4,8):(8,1)", "(8,4):(4,1)"), "(8,4):(1,8)");
  EXPECT_EQ(composed("(8,8):(8,1)", "64:1"), "(8,8):(8,1)");
  EXPECT_EQ(composed("1:0", "1:0"), "1:0");
}

TEST(Layout, IsEqualByTheFlatIndex) {
  EXPECT_EQ(same(cute("(4,8):(8,1)"), cute("(4,(2,4)):(8,(1,2))")).verdict, Verdict::Yes);
  EXPECT_EQ(same(cute("(4,8):(1,4)"), cute("32:1")).verdict, Verdict::Yes);
  const Reply r = same(cute("(4,(2,8)):(1,(64,4))"), cute("(4,16):(1,4)"));
  EXPECT_EQ(r.verdict, Verdict::No);
  EXPECT_EQ(r.what, "64 and 4 at i0 = 0, i1 = 1");
  EXPECT_THROW(same(cute("4:1"), cute("5:1")), ShapeError);
}

TEST(Layout, ComplementDivideProduct) {
  const auto complement_text = [](const std::string& a, std::int64_t size) {
    return written(complement(cute(a), size), "cute");
  };
  EXPECT_EQ(complement_text("4:1", 24), "6:4");
  EXPECT_EQ(complement_text("6:4", 24), "4:1");
  EXPECT_EQ(complement_text("(4,6):(1,4)", 24), "1:0");
  EXPECT_EQ(complement_text("4:2", 24), "(2,3):(1,8)");
  EXPECT_EQ(complement_text("(2,4):(1,6)", 24), "3:2");
  EXPECT_EQ(complement_text("(2,2):(1,6)", 24), "(3,2):(2,12)");
  EXPECT_EQ(written(divided(cute("(4,2,3):(2,1,8)"), cute("4:2")), "cute"),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(written(product(cute("(2,2):(4,1)"), cute("6:1")), "cute"),
            "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_THROW(complement(cute("(2,2):(2,3)"), 24), ShapeError);
}

TEST(Layout, InjectiveOrTwoPointsMeet) {
  EXPECT_EQ(injective(cute("(4,8):(8,1)")).verdict, Verdict::Yes);
  EXPECT_EQ(injective(cute("(2,3):(3,2)")).verdict, Verdict::Yes);
  const Reply r = injective(cute("(4,3):(1,3)"));
  EXPECT_EQ(r.verdict, Verdict::No);
  ASSERT_EQ(r.points.size(), 2U);
  EXPECT_NE(r.points[0], r.points[1]);
  EXPECT_EQ(bijective(cute("Swizzle<3,0,3> o (8,8):(8,1)")).verdict, Verdict::Yes);
  // Alone, of the numbers that have its bits.
  for (const auto& [alone, whole] : {std::pair("Swizzle<2,1,3>", "Swizzle<2,1,3> o 64:1"),
                                     std::pair("Swizzle<2,0,-2>", "Swizzle<2,0,-2> o 16:1")})
    EXPECT_EQ(same(cute(alone), cute(whole)).verdict, Verdict::Yes) << alone;
  EXPECT_EQ(surjective(cute("(4,8):(16,1)")).what, "no point has 8, of [0, 55]");
}

TEST(Symbolic, RowMajorIsInjectiveForEverySize) {
  const Map m = expression(
      "i*n + j", {{"i", {}}, {"j", {symbolic::Int(0), {}}}, {"n", {symbolic::Int(1), {}}}},
      {"j < n"}, {"n"});
  EXPECT_EQ(injective(m).verdict, Verdict::Yes);
  const Map open = expression(
      "i*n + j",
      {{"i", {symbolic::Int(0), {}}}, {"j", {symbolic::Int(0), {}}}, {"n", {symbolic::Int(1), {}}}},
      {"j <= n"}, {"n"});
  const Reply r = injective(open);
  EXPECT_EQ(r.verdict, Verdict::No) << r.what;
  EXPECT_TRUE(r.points.at(0).contains("n"));
}

TEST(Inverse, HasItsValidityCondition) {
  const Inverse dense = inverse(cute("(4,8):(8,1)"));
  EXPECT_EQ(dense.map->str(), "[y] -> [y//8, y%8] for y in [0, 31]");
  EXPECT_TRUE(dense.injective);
  const Inverse gaps = inverse(cute("(4,3):(2,8)"));
  EXPECT_TRUE(gaps.gaps);
  EXPECT_EQ(gaps.map->str(), "[y] -> [y//2%4, y//8] for y in [0, 22], y%2 == 0");
  const Inverse swizzle = inverse(cute("Swizzle<2,0,2> o (4,4):(4,1)"));
  ASSERT_TRUE(swizzle.map);
  EXPECT_EQ(same(swizzle.map->then(cute("Swizzle<2,0,2> o (4,4):(4,1)")),
                 expression("y", {{"y", range(0, 15)}}))
                .verdict,
            Verdict::Yes);
  EXPECT_FALSE(inverse(cute("(4,2):(1,0)")).injective);
}

TEST(Map, ReadsAViewAndWritesItBack) {
  const Map m = read_map({{}, {}, "4,8 permute 1,0 reshape 32"}, "", {});
  EXPECT_EQ(written(m, "cute"), "(4,8):(8,1)");
  EXPECT_EQ(image(m)->distinct, 32);
  const Map padded = read_map({{}, {}, "4 pad 1:2"}, "", {});
  EXPECT_EQ(image(padded)->points, 4);
  EXPECT_EQ(written(padded, "view"),
            "ShapeTracker(View((7,), strides (1,), offset -1, mask ((1, 5),)))");
}

TEST(Map, OverlapOfTwoAccesses) {
  const Map even = expression("2*i", {{"i", range(0, 1 << 30)}}),
            odd = expression("2*i + 1", {{"i", range(0, 1 << 30)}});
  EXPECT_EQ(apart(even, odd).verdict, Verdict::Yes);
  const Reply r = apart(even, expression("3*i + 1", {{"i", range(0, 100)}}));
  EXPECT_EQ(r.verdict, Verdict::No);
}

TEST(Map, FootprintOfATile) {
  const auto f = footprint(expression("i + j", {{"i", range(0, 15)}, {"j", range(0, 2)}}), {4, 3});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->most, 6);
  EXPECT_EQ(f->runs, 1);
}

TEST(Map, SeveralResults) {
  const Map m = expression("affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>", {{"d0", range(0, 63)}},
                           {}, {}, "mlir");
  EXPECT_EQ(bijective(m).verdict, Verdict::Yes);
  EXPECT_EQ(inverse(m).map->str(), "[y0, y1] -> [y0*8 + y1] for y0 in [0, 7], y1 in [0, 7]");
  EXPECT_EQ(written(m, "mlir"), "affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>");
  EXPECT_EQ(written(m, "triton"),
            "d0=1 -> (0, 1), d0=2 -> (0, 2), d0=4 -> (0, 4), d0=8 -> (1, 0), d0=16 -> (2, 0), "
            "d0=32 -> (4, 0)");
}

TEST(Readers, ArraysAndPatterns) {
  const auto text = [](const std::string& t, const std::string& from = "") {
    return read_map({{}, {}, t}, from, {}).str();
  };
  EXPECT_EQ(text("shape=(4, 8), strides=(32, 4), offset=2, itemsize=4"),
            "[i0, i1] -> [i0*8 + i1 + 2] for i0 in [0, 3], i1 in [0, 7]");
  EXPECT_EQ(text("torch.empty_strided((4, 8), (8, 1))"),
            "[i0, i1] -> [i0*8 + i1] for i0 in [0, 3], i1 in [0, 7]");
  EXPECT_EQ(text("to offset: [2], sizes: [4, n], strides: [n, 1]", "strides"),
            "[i0, i1] -> [i1 + i0*n + 2] for i0 in [0, 3], i1 in [0, inf], n in [1, inf], i1 < n");
  EXPECT_EQ(text("rearrange(x, 'b (h w) -> (b h) w', b=2, h=3, w=4)"),
            "[b_h, w] -> [b_h*4 + w] for b_h in [0, 5], w in [0, 3]");
  EXPECT_EQ(text("h w -> w, h=3, w=4"), "[w, h] -> [h*4 + w] for w in [0, 3], h in [0, 2]");
  EXPECT_EQ(text("c -> 1 c, c=3"), "[one0, c] -> [c] for one0 in [0, 0], c in [0, 2]");
  for (const char* wrong : {"shape=(4, 8), strides=(8,)", "shape=(4", "strides=(1,)",
                            "shape=(4,), strides=(6,), itemsize=4", "shape=(0,)",
                            "shape=(4,) shape=(5,)", "shape=(4,), strides=(x y,)"})
    EXPECT_THROW(text(wrong, "strides"), ParseError) << wrong;
  for (const char* wrong : {"a b", "a (b -> a b", "a a -> a", "... a -> a", "a -> a, a=0",
                            "a -> a, a", "a -> ((a))", "a -> a, a=1, a=2", ") -> a", "'a -> a"})
    EXPECT_THROW(text(wrong, "einops"), ParseError) << wrong;
}

// The semantics of C's types.
TEST(Readers, UnsignedWrapsAround) {
  const auto value = [](const std::string& text,
                        std::vector<std::pair<std::string, symbolic::Interval>> vars,
                        std::vector<std::int64_t> at) {
    return Values(expression(text, std::move(vars), {}, {}, "c")).at(at)->at(0);
  };
  EXPECT_EQ(value("unsigned i; i - 1", {}, {0}), 4294967295);
  EXPECT_EQ(value("uint64_t i; (unsigned)i * 8u", {{"i", range(0, 4294967295)}}, {4294967295}),
            4294967288);
  EXPECT_EQ(value("uint8_t a, b; a + b", {}, {255, 255}), 510);  // promoted to int
  EXPECT_EQ(value("unsigned n; int i; i / n", {{"i", range(-4, 4)}, {"n", range(1, 8)}}, {-1, 2}),
            2147483647);
  EXPECT_EQ(value("int i; i - 1", {}, {0}), -1);
  EXPECT_EQ(value("x - 1", {{"x", range(0, 4)}}, {0}), -1);
}

TEST(Map, WhyNotNamesTheFact) {
  const Map a = expression("(n + 3)//4*4", {{"n", {symbolic::Int(0), {}}}}),
            b = expression("n", {{"n", {symbolic::Int(0), {}}}});
  EXPECT_EQ(missing_facts(a, b), (std::vector<std::string>{"n%4 == 0"}));
  EXPECT_EQ(same(a, b).verdict, Verdict::No);
}

// What C computes, with int and unsigned of 32 bits, at each point.
TEST(Readers, LiteralsOfUnsignedTypesGiveUnsignedResults) {
  const auto at = [](const std::string& text, std::int64_t i) {
    const Map m = expression(text, {{"i", range(-4, 4)}}, {}, {}, "c");
    return Values(m).at(std::vector{i}).value()[0];
  };
  for (std::int64_t i = -4; i <= 4; ++i) {
    const auto s = static_cast<std::int32_t>(i);
    const auto u = static_cast<std::uint32_t>(s);
    EXPECT_EQ(at("i - 1u", i), std::int64_t{u - 1U}) << i;
    EXPECT_EQ(at("(i + 0u) / 2", i), std::int64_t{u / 2U}) << i;
    EXPECT_EQ(at("~(unsigned)i", i), std::int64_t{~u}) << i;
    EXPECT_EQ(at("~i", i), std::int64_t{~s}) << i;
    EXPECT_EQ(at("i + 0x80000000", i), std::int64_t{u + 0x80000000U}) << i;
    EXPECT_EQ(at("i + 0x7fffffff - 0x7fffffff", i), i);
    EXPECT_EQ(at("(i > 0 ? i - 3 : 2u) / 2", i), std::int64_t{(s > 0 ? u - 3U : 2U) / 2U}) << i;
    EXPECT_EQ(at("i < 1u", i), u < 1U) << i;
    EXPECT_EQ(at("-1 < i + 0u", i), 0) << i;
    EXPECT_EQ(at("(i - 1ul) / 2", i),
              static_cast<std::int64_t>((static_cast<std::uint64_t>(i) - 1) / 2));
  }
}

TEST(Readers, TheUnknownsOfTwoArraysAreDifferentNumbers) {
  const std::string array = "memref<4x4xf32, strided<[?, 1]>>";
  const auto both = read_maps({array, array}, {}, {{}, {}, ""}, {});
  ASSERT_EQ(both[0].symbols().size(), 1U);
  EXPECT_NE(both[0].symbols()[0].name, both[1].symbols()[0].name);
  EXPECT_NE(same(both[0], both[1]).verdict, Verdict::Yes);
  EXPECT_EQ(same(both[0], both[0]).verdict, Verdict::Yes);
}

TEST(Readers, InputsOfLinearLayoutsAreFlattenedFirstFastest) {
  const auto triton = [](const std::string& text) {
    return read_map({{}, {}, text}, "triton", {});
  };
  const Map two = triton("a=1 -> (1), a=2 -> (4), a=4 -> (8), b=1 -> (2)");
  EXPECT_EQ(same(two, triton("i=1 -> (1), i=2 -> (4), i=4 -> (8), i=8 -> (2)")).verdict,
            Verdict::Yes);
  EXPECT_EQ(same(two, triton("a=1 -> (1), b=1 -> (4), b=2 -> (8), b=4 -> (2)")).verdict,
            Verdict::Yes);
  EXPECT_EQ(same(two, triton("i=1 -> (2), i=2 -> (1), i=4 -> (4), i=8 -> (8)")).verdict,
            Verdict::No);
}

// The strides of the inner layout permute bits, so all its addresses are within the outer one.
TEST(Layout, CompositionsOfPermutedBits) {
  const std::string inner = "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))";
  for (const std::string outer : {"(8,8):(1,8)", "(8,8):(8,1)"}) {
    const Map a = cute(outer), b = cute(inner), c = cute(composed(outer, inner));
    Values values(c), of_b(b), of_a(a);
    for (std::int64_t i = 0; i < 8; ++i)
      for (std::int64_t j = 0; j < 8; ++j) {
        const std::int64_t middle = of_b.at(std::vector{i, j}).value()[0];
        EXPECT_EQ(values.at(std::vector{i, j}), of_a.at(std::vector{middle % 8, middle / 8}));
      }
  }
}

// Row-major numbers of the points, divided: a view of the flat index, then a reshape.
TEST(Map, DigitsOfTheFlatIndexAreAStackOfViews) {
  for (const std::string text :
       {"(i*3 + j)//2", "(i*3 + j)%4*5 + (i*3 + j)//4", "(i*3 + j)//2%3 + 7"}) {
    const Map m = expression(text, {{"i", range(0, 7)}, {"j", range(0, 2)}});
    const auto views = views_of(m);
    ASSERT_TRUE(views) << text;
    Values values(m);
    for (std::int64_t i = 0; i < 8; ++i)
      for (std::int64_t j = 0; j < 3; ++j)
        EXPECT_EQ(views->at(std::vector{i, j}), values.at(std::vector{i, j}).value()[0]) << text;
  }
}

TEST(Preimage, AnEmptyRangeIsAnError) {
  EXPECT_THROW(ranges_of("7..3"), ParseError);
  EXPECT_THROW(ranges_of("0..3,5..4"), ParseError);
  EXPECT_EQ(ranges_of("3..3"), (Ranges{{3, 3}}));
}

TEST(Map, PointsDecideWhereOtherResultsAreBeyond64Bits) {
  const auto of = [](const std::string& text) {
    return expression(text, {{"i", range(0, 63)}, {"j", range(0, 3)}});
  };
  const std::string huge = "i*i*i*i*i*i*i*i*i*i*i*i*i";  // 63^13 > 2^63
  const Reply differ = same(of(huge + " + j"), of(huge + " + j*j"));
  EXPECT_EQ(differ.verdict, Verdict::No) << differ.what;
  EXPECT_EQ(injective(of(huge + "*(j//2)")).verdict, Verdict::No);
  EXPECT_NE(injective(of("(i*4 + j)*(i*4 + j + 1)*" + huge + " + i*4 + j")).verdict, Verdict::No);
  EXPECT_EQ(apart(of(huge + " + j"), of("i + j")).verdict, Verdict::No);
  EXPECT_EQ(surjective(of(huge), Ranges{{0, 1}}).verdict, Verdict::Yes);
  EXPECT_EQ(surjective(of(huge), Ranges{{0, 2}}).verdict, Verdict::No);
  // The box around three wide results has more points than 128 bits count.
  const std::string far = " * " + std::to_string(std::int64_t{1} << 57);
  const Map wide =
      expression("affine_map<(i, j) -> (i" + far + ", j" + far + ", i" + far + ", j" + far + ")>",
                 {{"i", range(0, 31)}, {"j", range(0, 31)}}, {}, {}, "mlir");
  EXPECT_THROW(bijective(wide), Error);
}

TEST(Solve, TheEndsAreTheSmallestAndLargestSolution) {
  const auto ends = [](const std::string& text) {
    const Map m = expression(text, {{"x", range(0, 40)}, {"n", range(1, 6)}, {"m", range(0, 50)}},
                             {}, {"n", "m"});
    return std::pair(m, solved(m));
  };
  for (const std::string text : {"n*x + 3 < m", "n*x >= m", "x*(n + 1) == m", "2*x < m and x > n",
                                 "m - n*x > 5 and x < 20"}) {
    const auto [map, s] = ends(text);
    ASSERT_TRUE(s.exact && s.least && s.largest) << text;
    for (std::int64_t n = 1; n <= 6; ++n)
      for (std::int64_t m = 0; m <= 50; ++m) {
        const symbolic::Values at{{"n", n}, {"m", m}};
        Values values(map.bind(at));
        std::int64_t least = -1, largest = -1;
        for (std::int64_t x = 0; x <= 40; ++x)
          if (values.at(std::vector{x}).value()[0] != 0) largest = x, least = least < 0 ? x : least;
        bool any = true;
        for (const symbolic::Node& c : s.rest) any = any && symbolic::evaluate(c, at) != 0;
        ASSERT_EQ(any, least >= 0) << text << " n = " << n << " m = " << m;
        if (!any) continue;
        EXPECT_EQ(symbolic::evaluate(*s.least, at), least) << text;
        EXPECT_EQ(symbolic::evaluate(*s.largest, at), largest) << text;
      }
  }
  const auto [map, even] = ends("x%2 == 0 and x < m");
  EXPECT_FALSE(even.exact);
  const Solved three = solved(expression("x*x == 9 or x == 5", {{"x", range(-9, 9)}}));
  EXPECT_EQ(three.least->constant(), -3);
  EXPECT_EQ(three.largest->constant(), 5);
  EXPECT_FALSE(three.exact);
  EXPECT_THROW(solved(expression("x < 0", {{"x", range(0, 9)}})), ShapeError);
  EXPECT_THROW(solved(expression("x < y", {{"x", range(0, 9)}, {"y", range(0, 9)}})), ShapeError);
  // Conditions that divide by 0 for some x are no linear ones; one that never holds has no
  // solution.
  for (const std::string text : {"n//x < 3", "n%x == 0", "n//(x - 1) == 2"}) {
    const Solved left =
        solved(expression(text, {{"x", range(2, 10)}, {"n", range(0, 100)}}, {}, {"n"}));
    EXPECT_TRUE(!left.exact && left.rest.size() == 1) << text;
  }
  EXPECT_THROW(
      solved(expression("x*2 == n*2 + 1", {{"x", range(0, 40)}, {"n", range(0, 5)}}, {}, {"n"})),
      ShapeError);
}

// The words in one bank, counted for a remedy as it is written.
TEST(CheckIndex, TheRemedyOfBankConflictsIsOne) {
  const auto asked = [](const std::string& index, const std::string& vars) {
    const std::string answer =
        answer_question(R"({"operation":"check-index","maps":[")" + index + R"("],"vars":)" + vars +
                        R"(,"lane":"t","remedy":true})");
    return answer;
  };
  const std::string columns = asked("t*32 + k", R"({"t":[0,31],"k":[0,31]})");
  EXPECT_NE(columns.find("Swizzle<5,0,5> of the index: at most 1 words in one bank instead of 32"),
            columns.npos)
      << columns;
  EXPECT_NE(columns.find("1 element after every 32: at most 1 words"), columns.npos) << columns;
  std::set<std::int64_t> banks, padded;
  for (std::int64_t t = 0; t < 32; ++t) {
    const std::int64_t index = t * 32 + 7;
    banks.insert((index ^ (index >> 5 & 31)) % 32);
    padded.insert((index + index / 32) % 32);
  }
  EXPECT_EQ(banks.size(), 32U);
  EXPECT_EQ(padded.size(), 32U);
  EXPECT_NE(asked("t", R"({"t":[0,31]})").find("none is needed"), std::string::npos);
  // Not all of 6,000 warps are kept: the worst ones come last.
  const std::string late = asked("where(k < 5000, t, t*32)", R"({"t":[0,31],"k":[0,5999]})");
  EXPECT_NE(late.find("in a sample of points"), late.npos) << late;
  const std::string below = asked("t*32 - 1000", R"({"t":[0,31]})");
  EXPECT_NE(below.find("negative indices stay where they are"), below.npos) << below;
}

// Each step of a derivation is replayed by a checker that knows nothing of maps; here its ends are
// held against the values.
TEST(Why, EqualMapsAreDerivedStepByStep) {
  const auto why = [](const std::vector<Map>& maps) {
    const Answer a = ask("equal", maps, {{}, {}, {}, "", "", true});
    EXPECT_EQ(a.verdict, Verdict::Yes);
    for (const Why::Part& p : a.why->parts) {
      EXPECT_FALSE(p.flaw) << p.title;
      EXPECT_EQ(unexplained(p.derivation.main), 0U) << p.title;
    }
    return *a.why;
  };
  const auto read = [](const char* text, std::vector<std::pair<std::string, symbolic::Interval>> v,
                       symbolic::Language l = symbolic::Language::Touchstone) {
    return Map::read({std::move(v), {}, text}, l);
  };
  const Why digits =
      why({read("x//4*4 + x%4", {{"x", range(0, 63)}}), read("x", {{"x", range(0, 63)}})});
  ASSERT_EQ(digits.parts.size(), 2U);
  EXPECT_EQ(digits.parts[0].derivation.main.steps.at(0).rule, "digit.merge");
  // Over the flat index: i of the second is i0 + i1*4.
  const Why flat = why({cute("(4,8):(8,1)"), read("i%4*8 + i//4", {{"i", range(0, 31)}})});
  EXPECT_EQ(flat.notes.at(0), "i of the second map is i0 + i1*4");
  const Why nested = why({cute("(4,8):(8,1)"), cute("(4,(2,4)):(8,(1,2))")});
  ASSERT_EQ(nested.parts.size(), 2U);
  for (const Why::Part& p : nested.parts)
    EXPECT_EQ(symbolic::render(p.derivation.exprs, p.derivation.main.result), "i0*8 + i1");
  // Compared at all points only.
  const Why tried = why({read("x*x*x%6", {{"x", range(0, 9)}}), read("x%6", {{"x", range(0, 9)}})});
  EXPECT_TRUE(!tried.parts.empty() || tried.notes.back().find("all points") != std::string::npos);
  EXPECT_FALSE(ask("equal", {cute("4:1"), cute("4:2")}, {{}, {}, {}, "", "", true}).why);
}

TEST(Map, AccessesOfSymbolicPitchAreApart) {
  const auto of = [](const std::string& text) {
    return expression(text, {{"i", range(0, 7)}, {"n", range(2, 100)}}, {}, {"n"});
  };
  EXPECT_EQ(apart(of("i*n"), of("i*n + 1")).verdict, Verdict::Yes);  // other remainders of n
  EXPECT_EQ(apart(of("i"), of("i + n + 6")).verdict, Verdict::Yes);
  EXPECT_EQ(apart(of("i*n"), of("i*n + 2")).verdict, Verdict::No);  // n = 2
  EXPECT_EQ(apart(of("i"), of("i + n")).verdict, Verdict::No);
}

// Cells of a drawing, in order: their classes and texts.
std::vector<std::pair<std::string, std::string>> cells_of(const std::string& html) {
  std::vector<std::pair<std::string, std::string>> r;
  for (std::size_t at = 0; (at = html.find("<td class=\"", at)) != html.npos; ++at) {
    const std::size_t name = at + 11, end = html.find('>', at) + 1;
    r.emplace_back(html.substr(name, html.find('"', name) - name),
                   html.substr(end, html.find('<', end) - end));
  }
  return r;
}

TEST(Draw, CellsHaveResultsAndFramesWhereTheyDiffer) {
  const auto cells =
      cells_of(html_of({cute("(2,4):(4,1)"), cute("(2,(2,2)):(4,(1,3))")}, {"a<", "b"}, {}));
  ASSERT_EQ(cells.size(), 16U);
  for (std::size_t k = 0; k < 8; ++k) {
    const std::size_t i = k / 4, j = k % 4, first = i * 4 + j, second = i * 4 + j % 2 + j / 2 * 3;
    EXPECT_EQ(cells[k], std::pair(std::string("at"), std::to_string(first)));
    EXPECT_EQ(cells[8 + k],
              std::pair(std::string(first == second ? "at" : "at other"), std::to_string(second)));
  }
  const std::string lanes = html_of({cute("(4,2):(1,0)")}, {"x"}, {"lane"});
  const auto shared = cells_of(lanes);
  ASSERT_EQ(shared.size(), 4U);
  EXPECT_EQ(shared[3], std::pair(std::string("at many"), std::string("3 3")));
  // Points outside a domain are empty cells, framed where only one map has them.
  const Map part = cute("8:1").restricted("i < 6");
  const auto holes = cells_of(html_of({cute("8:1"), part}, {"a", "b"}, {}));
  EXPECT_EQ(holes[15].first, "none other");
  EXPECT_NE(html_of({cute("(2,2):(1,2)")}, {"<b>"}, {}).find("&lt;b&gt;"), std::string::npos);
  EXPECT_THROW(html_of({cute("8192:1")}, {"x"}, {}), ShapeError);
  EXPECT_THROW(html_of({cute("8:1")}, {"x"}, {"colour"}), ParseError);
  EXPECT_THROW(html_of({cute("8:1")}, {"x"}, {"bank", 0}), ParseError);
  EXPECT_THROW(html_of({cute("2:1000000000"), cute("2:9000000000000000000")}, {"x", "y"}, {"lane"}),
               ShapeError);
}

}  // namespace
}  // namespace touchstone::maps
