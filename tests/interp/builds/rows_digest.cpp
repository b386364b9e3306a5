// Prints a digest of the results of every row of the Interpreted device's table, on arrays of many
// lengths: one line per row and type. Builds for different processors must print equal lines.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../../support/draws.h"
#include "touchstone/interp/device/fxn_for_op.h"

namespace touchstone::interp {
namespace {

// Random bits mixed with the edges of the format.
Block filled(DType d, std::int64_t n, test::Draws& draw) {
  Block block;
  block.resize(d, n);
  const std::size_t width = itemsize(d);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    std::uint64_t bits = draw.bits();
    if (draw.chance(1, 3)) bits = (std::uint64_t{1} << draw.below(8 * width)) - draw.below(2);
    if (draw.chance(1, 5)) bits = ~bits;
    if (d == DType::Bool) bits &= 1;
    std::memcpy(block.data() + i * width, &bits, width);
  }
  return block;
}

bool is_nan(DType d, std::uint64_t bits) { return Scalar::from_bits(d, bits).is_nan(); }

std::uint64_t digest(ElementwiseFxn fxn, const std::vector<DType>& in, DType result) {
  test::Draws draw(1);
  std::uint64_t value = 0x243f6a8885a308d3ULL;
  for (const std::int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 1000, 1500}) {
    std::vector<Block> blocks;
    for (const DType d : in) blocks.push_back(filled(d, n, draw));
    std::vector<const Block*> operands;
    for (const Block& b : blocks) operands.push_back(&b);
    Block out;
    out.resize(result, n);
    fxn(operands, out);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, out.data() + i * itemsize(result), itemsize(result));
      value = (value ^ (is_nan(result, bits) ? ~std::uint64_t{0} : bits)) * 0x9e3779b97f4a7c15ULL;
      value ^= value >> 29;
    }
  }
  return value;
}

void print(const std::string& what, DType from, DType to, std::uint64_t value) {
  const std::string source(info(from).name), target(info(to).name);
  std::printf("%s%s to %s %016llx\n", what.c_str(), source.c_str(), target.c_str(),
              static_cast<unsigned long long>(value));
}

}  // namespace
}  // namespace touchstone::interp

int main() {
  using namespace touchstone;
  using namespace touchstone::interp;
  for (const DTypeInfo& type : dtype_table) {
    for (const OpInfo& row : op_table) {
      if (!is_elementwise(row.op) || row.op == Op::Cast || !takes(row.op, type.dtype)) continue;
      std::vector<DType> in(static_cast<std::size_t>(row.arity), type.dtype);
      if (row.op == Op::Where) in[0] = DType::Bool;
      const bool compares = row.op == Op::CmpLt || row.op == Op::CmpEq;
      const DType result = compares ? DType::Bool : type.dtype;
      print(std::string(row.name) + " ", type.dtype, result,
            digest(fxn_for_op(row.op, type.dtype), in, result));
    }
    for (const DTypeInfo& to : dtype_table)
      print("", type.dtype, to.dtype,
            digest(fxn_for_cast(type.dtype, to.dtype, false), {type.dtype}, to.dtype));
  }
}
