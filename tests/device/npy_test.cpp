#include "touchstone/files/npy.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

using testing::HasSubstr;

HostArray array_of(DType dtype, std::vector<std::int64_t> shape) {
  HostArray a{dtype, std::move(shape), {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()) * itemsize(dtype); ++i)
    a.bytes.push_back(static_cast<char>(i % 2));
  return a;
}

std::string npy_error(const std::string& bytes) {
  try {
    parse_npy(bytes, "x.npy");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Npy, EveryTypeAndRankComesBack) {
  const TemporaryDirectory dir;
  for (int d = 0; d < kDTypeCount; ++d)
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {3}, {2, 3}, {2, 0, 4}}) {
      const HostArray a = array_of(static_cast<DType>(d), shape);
      write_npy(dir.path() / "a.npy", a);
      EXPECT_EQ(std::filesystem::file_size(dir.path() / "a.npy") % 64, a.bytes.size() % 64);
      const HostArray b = read_npy(dir.path() / "a.npy");
      EXPECT_EQ(b.dtype, a.dtype);
      EXPECT_EQ(b.shape, a.shape);
      EXPECT_EQ(b.bytes, a.bytes);
    }
}

// 8-bit floats are bytes in a field with their name, however NumPy spaces it.
TEST(Npy, BytesAreToldApartByTheirField) {
  const TemporaryDirectory dir;
  write_npy(dir.path() / "a.npy", array_of(DType::Float8E5M2, {3}));
  const std::string text = read_file(dir.path() / "a.npy");
  EXPECT_THAT(text, HasSubstr("'descr': [('float8_e5m2', '|u1')], "));
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  EXPECT_EQ(parse_npy(edited("float8_e5m2", "float8_e4m3"), "x").dtype, DType::Float8E4M3);
  EXPECT_THAT(npy_error(edited("float8_e5m2", "float8_e5m3")), HasSubstr("not supported"));
  EXPECT_THAT(npy_error(edited("')], ", "'], ")), HasSubstr("lacks an expected ')'"));
}

TEST(Npy, DamageIsNamed) {
  const TemporaryDirectory dir;
  write_npy(dir.path() / "a.npy", array_of(DType::Float32, {2, 3}));
  const std::string good = read_file(dir.path() / "a.npy");
  EXPECT_THAT(npy_error(good.substr(0, good.size() - 1)),
              HasSubstr("has 23 bytes of elements, but its shape and type need 24"));
  EXPECT_THAT(npy_error(good.substr(0, 30)), HasSubstr("ends inside the header"));
  EXPECT_THAT(npy_error("PK"), HasSubstr("magic"));
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(npy_error(edited("<f4", ">f4")), HasSubstr("'>f4' is not supported"));
  EXPECT_THAT(npy_error(edited("False", "True ")), HasSubstr("Fortran"));
  EXPECT_THAT(npy_error(edited("(2, 3)", "(2,-3)")), HasSubstr("invalid size"));
  EXPECT_THAT(npy_error(edited("'descr'", "'dexcr'")), HasSubstr("unknown entry"));
  EXPECT_THAT(npy_error(edited("(2, 3)", "(999999999999, 99999999999)").substr(0, 200)),
              testing::Not(testing::Eq("no error")));
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_NE(npy_error(good.substr(0, n)), "no error");
}

}  // namespace
}  // namespace touchstone
