#include <gtest/gtest.h>

#include "harness.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"

// Products whose second operand is packed per tile of lanes, before the rows that share it.

namespace touchstone {
namespace {

using Ints = std::vector<std::int32_t>;
using Sizes = std::vector<std::int64_t>;

struct Product {
  std::int64_t batch, rows, columns, terms;
  Sizes strides;  // of the second operand: batch, column, term
  std::int64_t offset = 0;
  bool doubled = false;  // an op between the load and the product

  std::int64_t elements() const {
    std::int64_t last = offset, first = offset;
    const Sizes sizes{batch, columns, terms};
    for (std::size_t i = 0; i < 3; ++i)
      (strides[i] < 0 ? first : last) += (sizes[i] - 1) * strides[i];
    EXPECT_GE(first, 0);
    return last + 1;
  }

  LazyOpPtr kernel() const {
    const Shape shape{batch, rows, columns, terms};
    const auto view = [&](const Sizes& at, std::int64_t from) {
      return ShapeTracker({View::strided(shape, {at[0], at[1], at[2], at[3]}, from)});
    };
    const auto x = LazyOp::load(1, DType::Int32, view({rows * terms, terms, 0, 1}, 0));
    auto y = LazyOp::load(2, DType::Int32, view({strides[0], 0, strides[1], strides[2]}, offset));
    if (doubled) y = LazyOp::binary(Op::Add, y, y);
    return stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {3}));
  }

  Ints by_loops(const Ints& x, const Ints& y) const {
    Ints out;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          std::uint32_t sum = 0;
          for (std::int64_t k = 0; k < terms; ++k)
            sum += static_cast<std::uint32_t>(
                       x[static_cast<std::size_t>((b * rows + i) * terms + k)]) *
                   static_cast<std::uint32_t>(y[static_cast<std::size_t>(
                       offset + b * strides[0] + j * strides[1] + k * strides[2])]) *
                   (doubled ? 2 : 1);
          out.push_back(static_cast<std::int32_t>(sum));
        }
    return out;
  }
};

// Second operands of columns x terms: transposed, upright, transposed and reversed, every other
// element.
std::vector<Product> products(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                              std::int64_t terms) {
  const std::int64_t size = columns * terms;
  return {{batch, rows, columns, terms, {size, terms, 1}},
          {batch, rows, columns, terms, {0, terms, 1}},
          {batch, rows, columns, terms, {size, 1, columns}},
          {batch, rows, columns, terms, {size, -terms, -1}, size - 1},
          {batch, rows, columns, terms, {2 * size, 2 * terms, 2}, 5, true},
          {batch, rows, columns, terms, {0, 1, 1000}, 0, true}};
}

// Single rows, or blocks of them.
LayoutSizes in_blocks_of(std::int64_t rows, LayoutSizes sizes = {}) {
  sizes.block_rows = rows;
  return sizes;
}

void expect_products(Device& device, const std::vector<Product>& all) {
  for (const Product& p : all) {
    const Ints x = counting<std::int32_t>(p.batch * p.rows * p.terms, -70);
    const Ints y = counting<std::int32_t>(p.elements(), 3);
    EXPECT_EQ(run<std::int32_t>(device, p.kernel(), {x, y}), p.by_loops(x, y)) << str(p.kernel());
  }
}

std::string code(const Product& p, CodegenOptions options) {
  options.sizes.block_rows = 4;
  const LinearKernel linear = linearize(p.kernel(), options);
  verify(linear);
  return render_c_function(linear, "f");
}

/// True if a tile is packed inside the loop over tiles, before the loop over rows.
bool packs(const Product& p, const CodegenOptions& options = {}) {
  const std::string text = code(p, options);
  const std::size_t stage = text.find(" stage");
  return stage != std::string::npos && text.rfind("for (i64 i", stage) < stage &&
         text.find("for (i64 i", stage) != std::string::npos;
}

/// True if threads take tiles and pack their own.
bool shares_tiles(const Product& p) {
  const std::string text = code(p, {});
  return text.find("split_at(") < text.find(" stage");
}

// Where lanes are far apart and terms contiguous.
TEST(PackedTiles, ReadLinesOfTheirSourceWhole) {
  const TestDevice device(laid_out(in_blocks_of(4), 3));
  const CodegenOptions options{.sizes = in_blocks_of(4)};
  for (const auto& [columns, terms] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {130, 15}, {130, 16}, {44, 17}, {130, 31}, {44, 32}, {61, 100}}) {
    const std::vector<Product> all = products(2, 8, columns, terms);
    for (const Product& p : all) {
      const bool across = std::abs(p.strides[2]) == 1 && terms >= 16;
      const auto has = [](const std::string& text, std::string_view what) {
        return text.find(what) != std::string::npos;
      };
      EXPECT_EQ(has(code(p, {}), "unroll_count(16)"), across) << str(p.kernel());
      // Plain forward loads.
      EXPECT_EQ(has(render_vector_function(linearize(p.kernel(), options), "f"), "transpose_16("),
                across && p.strides[2] == 1)
          << str(p.kernel());
    }
    expect_products(*device, all);
  }
}

TEST(PackedTiles, HoldTheRightElementsAtTheSizesOfUse) {
  const TestDevice device(laid_out({}, 3));
  for (const Product& p : products(1, 8, 130, 300))
    EXPECT_EQ(packs(p), p.strides[2] != 130)
        << str(p.kernel());                            // columns of upright ones are near
  expect_products(*device, products(1, 8, 130, 300));  // the last tile overlaps the previous one
#ifdef __x86_64__
  ClangOptions held = laid_out({}, 3);
  held.march = "x86-64-v3";
  if (fuses_products_at_once()) expect_products(*TestDevice(held), products(1, 8, 130, 300));
#endif
  expect_products(*device, products(3, 9, 128, 65));
  for (const std::int64_t rows : {1, 2, 7}) expect_products(*device, products(2, rows, 130, 49));
}

TEST(PackedTiles, HoldTheRightElementsAtTinySizes) {
  const TestDevice device(laid_out(kTinySizes, 4));
  expect_products(*device, products(1, 6, 11, 7));
  expect_products(*device, products(2, 2, 4, 3));
  const TestDevice without_blocks(laid_out(in_blocks_of(1, kTinySizes), 4));
  expect_products(*without_blocks, products(1, 5, 11, 7));
}

TEST(PackedTiles, StandWhereRowsShareThem) {
  const auto turned = [](std::int64_t rows) { return Product{1, rows, 128, 512, {0, 512, 1}}; };
  const auto apart = [](std::int64_t rows) { return Product{1, rows, 128, 512, {0, 1024, 2}}; };
  EXPECT_TRUE(packs(apart(8)));
  EXPECT_FALSE(packs(apart(7)));
  for (const std::int64_t rows : {1, 2, 7, 8})
    EXPECT_NE(code(turned(rows), {}).find(" stage"), std::string::npos) << rows;
  EXPECT_TRUE(packs({1, 64, 512, 512, {0, 1, 512}}));     // terms half a page apart
  EXPECT_FALSE(packs({1, 64, 256, 512, {0, 1, 256}}));    // read in place
  EXPECT_TRUE(packs({1, 64, 64, 16384, {0, 16384, 1}}));  // in fewer lanes
  EXPECT_FALSE(packs({1, 64, 64, 32768, {0, 32768, 1}}));
  CodegenOptions without;
  without.stages = false;
  EXPECT_FALSE(packs(turned(8), without));
}

TEST(PackedTiles, AreSharedOutWhereTheyAreMany) {
  const auto turned = [](std::int64_t tiles) {
    return Product{1, 64, 32 * tiles, 512, {0, 512, 1}};
  };
  EXPECT_FALSE(shares_tiles(turned(4)));
  EXPECT_FALSE(shares_tiles(turned(15)));
  EXPECT_TRUE(shares_tiles(turned(16)));
  for (const std::int64_t tiles : {4, 16}) EXPECT_TRUE(packs(turned(tiles)));
}

}  // namespace
}  // namespace touchstone
