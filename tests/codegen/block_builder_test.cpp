#include "touchstone/codegen/block_builder.h"

#include <gtest/gtest.h>

#include <limits>

namespace touchstone::codegen {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
const std::vector<std::int64_t> kNumbers{kLeast, kLeast + 1, -7, -2, -1,        0,
                                         1,      2,          3,  7,  kMost - 1, kMost};

// The definition in wider integers; nothing where undefined.
std::optional<Wide> defined(IndexOp op, Wide a, Wide b) {
  const auto floor_div = [&] {
    const Wide q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  };
  switch (op) {
    case IndexOp::Add: return a + b;
    case IndexOp::Sub: return a - b;
    case IndexOp::Mul: return a * b;
    case IndexOp::FloorDiv:
    case IndexOp::Div: return b == 0 ? std::nullopt : std::optional<Wide>(floor_div());
    case IndexOp::FloorMod:
    case IndexOp::Mod: return b == 0 ? std::nullopt : std::optional<Wide>(a - floor_div() * b);
    case IndexOp::Lt: return a < b;
    case IndexOp::Le: return a <= b;
    case IndexOp::Eq: return a == b;
    case IndexOp::Ne: return a != b;
    case IndexOp::And: return a != 0 && b != 0;
    case IndexOp::Or: return a != 0 || b != 0;
    case IndexOp::Min: return a < b ? a : b;
    case IndexOp::Max: return a < b ? b : a;
    case IndexOp::Not:
    case IndexOp::Where: break;
  }
  return std::nullopt;
}

TEST(BlockBuilder, ConstantsDecideWhatTheyCan) {
  for (const IndexOp op :
       {IndexOp::Add, IndexOp::Sub, IndexOp::Mul, IndexOp::FloorDiv, IndexOp::FloorMod,
        IndexOp::Div, IndexOp::Mod, IndexOp::Lt, IndexOp::Le, IndexOp::Eq, IndexOp::Ne,
        IndexOp::And, IndexOp::Or, IndexOp::Min, IndexOp::Max})
    for (const std::int64_t a : kNumbers)
      for (const std::int64_t b : kNumbers) {
        BlockBuilder builder;
        const int made = builder.index(op, {builder.int_const(a), builder.int_const(b)});
        const std::optional<Wide> right = defined(op, a, b);
        if (const auto known = builder.known(made)) {
          ASSERT_TRUE(right.has_value());
          EXPECT_TRUE(Wide(*known) == *right)
              << static_cast<int>(op) << " of " << a << " and " << b;
        } else {  // left to the code: a quotient, or beyond 64 bits
          const bool quotient = op == IndexOp::FloorDiv || op == IndexOp::FloorMod ||
                                op == IndexOp::Div || op == IndexOp::Mod;
          EXPECT_TRUE(quotient || *right < Wide(kLeast) || *right > Wide(kMost));
        }
      }
}

TEST(BlockBuilder, OneConstantDecidesAndOrAndWhere) {
  BlockBuilder builder;
  const int zero = builder.int_const(0), one = builder.int_const(1), five = builder.int_const(5);
  const int loop = builder.open_loop({zero, five, true}, "i0");
  EXPECT_EQ(builder.index(IndexOp::And, {loop, zero}), zero);
  EXPECT_EQ(builder.index(IndexOp::And, {zero, loop}), zero);
  EXPECT_EQ(builder.index(IndexOp::Or, {loop, five}), one);
  EXPECT_EQ(builder.index(IndexOp::Not, {five}), zero);
  EXPECT_EQ(builder.index(IndexOp::Not, {zero}), one);
  EXPECT_EQ(builder.index(IndexOp::Where, {loop, five, five}), five);
  EXPECT_EQ(builder.index(IndexOp::Where, {zero, five, loop}), loop);
  EXPECT_EQ(builder.index(IndexOp::Where, {five, five, loop}), five);
  // Undecided: the counter may be 0 to 4.
  EXPECT_FALSE(builder.known(builder.index(IndexOp::And, {loop, one})).has_value());
  EXPECT_FALSE(builder.known(builder.index(IndexOp::Or, {loop, zero})).has_value());
  EXPECT_FALSE(builder.known(builder.index(IndexOp::Where, {loop, five, one})).has_value());
  builder.close_loop();
}

}  // namespace
}  // namespace touchstone::codegen
