#include "touchstone/dtype/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

std::vector<DType> all_types() {
  std::vector<DType> r;
  for (const DTypeInfo& row : dtype_table) r.push_back(row.dtype);
  return r;
}

TEST(DType, IsFoundByBothNames) {
  for (const DTypeInfo& row : dtype_table) {
    EXPECT_EQ(dtype_from_name(row.name), row.dtype);
    EXPECT_EQ(dtype_from_name(row.short_name), row.dtype);
    EXPECT_EQ(parse_dtype(row.short_name), row.dtype);
  }
  EXPECT_EQ(dtype_from_name("half"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DType, ErrorNamesTheNearestFirst) {
  const auto message = [](std::string_view name) -> std::string {
    try {
      parse_dtype(name);
    } catch (const DTypeError& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message("flot32"), HasSubstr("nearest first: float32, "));
  EXPECT_THAT(message("bfloat"), HasSubstr("nearest first: bfloat16, "));
  EXPECT_THAT(message("uint7"), HasSubstr("nearest first: uint8, "));
  EXPECT_THAT(message("boolean"), HasSubstr("nearest first: bool, "));
  EXPECT_LT(message(std::string(1000000, 'x')).size(), 400u);
}

TEST(Promote, FollowsTheLattice) {
  using enum DType;
  EXPECT_EQ(promote(Bool, Int8), Int8);
  EXPECT_EQ(promote(Int8, UInt8), Int16);
  EXPECT_EQ(promote(Int16, UInt8), Int16);
  EXPECT_EQ(promote(Int8, UInt32), Int64);
  EXPECT_EQ(promote(Int64, UInt32), Int64);
  EXPECT_EQ(promote(Int8, UInt64), Float16);
  EXPECT_EQ(promote(Int64, UInt64), Float16);
  EXPECT_EQ(promote(Int64, BFloat16), BFloat16);
  EXPECT_EQ(promote(Float16, BFloat16), Float32);
  EXPECT_EQ(promote(Float8E4M3, Float8E5M2), Float16);
  EXPECT_EQ(promote(Float8E4M3, Float16), Float16);
  EXPECT_EQ(promote(Float8E5M2, BFloat16), BFloat16);
  EXPECT_EQ(promote(Float8E5M2, Float32), Float32);
  EXPECT_EQ(promote(Int8, Float8E4M3), Float16);
  EXPECT_EQ(promote(UInt64, Float32), Float32);
  EXPECT_EQ(promote(BFloat16, Float64), Float64);
}

TEST(Promote, IsIdempotentCommutativeAndMonotone) {
  for (const DType a : all_types()) {
    EXPECT_EQ(promote(a, a), a);
    EXPECT_EQ(promote(a, DType::Bool), a);
    EXPECT_EQ(promote(a, DType::Float64), DType::Float64);
    for (const DType b : all_types()) {
      const DType c = promote(a, b);
      EXPECT_EQ(c, promote(b, a));
      EXPECT_EQ(promote(a, c), c) << "the result is above both";
      EXPECT_EQ(is_float(c), is_float(a) || is_float(b) || promote(a, b) == DType::Float16);
    }
  }
}

TEST(SumAccumulator, HasAtLeast32Bits) {
  using enum DType;
  EXPECT_EQ(sum_accumulator(Bool), Int32);
  EXPECT_EQ(sum_accumulator(Int8), Int32);
  EXPECT_EQ(sum_accumulator(Int16), Int32);
  EXPECT_EQ(sum_accumulator(UInt8), UInt32);
  EXPECT_EQ(sum_accumulator(UInt16), UInt32);
  EXPECT_EQ(sum_accumulator(Float8E4M3), Float32);
  EXPECT_EQ(sum_accumulator(Float16), Float32);
  EXPECT_EQ(sum_accumulator(BFloat16), Float32);
  for (const DType d : {Int32, UInt32, Int64, UInt64, Float32, Float64})
    EXPECT_EQ(sum_accumulator(d), d);
}

}  // namespace
}  // namespace touchstone
