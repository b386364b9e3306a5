// Readers that accept invalid files or lose content are detected.
#include <gtest/gtest.h>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/definitions/file_formats.h"

namespace touchstone::fuzz {
namespace {

using definition::Damage;

NamedArray array(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                 std::string bytes) {
  return {name, {dtype, std::move(shape), std::move(bytes)}};
}

TEST(FileFormats, TheirReaderAndWriterAgreeWhereNothingIsUnusual) {
  const std::vector<NamedArray> arrays = {array("a", DType::UInt8, {2, 3}, "abcdef"),
                                          array("b", DType::Float16, {}, "xy"),
                                          array("c", DType::Int32, {0, 4}, "")};
  const auto same = [&](const std::vector<NamedArray>& got) {
    ASSERT_EQ(got.size(), arrays.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].name, arrays[i].name);
      EXPECT_EQ(got[i].array.shape, arrays[i].array.shape);
      EXPECT_EQ(got[i].array.bytes, arrays[i].array.bytes);
    }
  };
  same(definition::arrays_of_file("npz", definition::npz_file(arrays, 0, Damage::None)));
  same(definition::arrays_of_file("safetensors",
                                  definition::safetensors_file(arrays, 0, Damage::None)));
  const std::string npy = definition::npy_file(arrays[0].array, 0, Damage::None);
  EXPECT_EQ(npy.size() % 64, 6U);  // elements begin at a multiple of 64
  EXPECT_EQ(definition::arrays_of_file("npy", npy)[0].array.bytes, "abcdef");
}

TEST(FileFormats, EveryDamageIsOne) {
  const std::vector<NamedArray> arrays = {array("a", DType::Int16, {2}, "abcd"),
                                          array("b", DType::Int16, {2, 2}, "efghijkl")};
  for (const Damage d : {Damage::Fortran, Damage::BigEndian, Damage::Version, Damage::Checksum})
    EXPECT_ANY_THROW(parse_npz(definition::npz_file(arrays, 0, d), "x")) << static_cast<int>(d);
  for (const Damage d : {Damage::Short, Damage::Long, Damage::Hole, Damage::Overlap})
    EXPECT_ANY_THROW(parse_safetensors(definition::safetensors_file(arrays, 0, d), "x"))
        << static_cast<int>(d);
  EXPECT_NO_THROW(parse_npz(definition::npz_file(arrays, 0, Damage::None), "x"));
}

TEST(FileArea, RefusesWhatIsNoCase) {
  const auto area = make_file_area();
  for (const char* const bad :
       {"", "npy layout 0 none", "npy layout 0 none | w int8 2 00",
        "npy layout 0 hole | w int8 . 00", "npy layout 0 fortran | w int8 2 0000",
        "npz layout 0 none | w int8 . 0g", "npy layout 0 none | w int8 . 00 | v int8 . 00",
        "zip layout 0 none | w int8 . 00", "npz layout 0 none | w int8 . 00 | w int8 . 00",
        "npy layout 0 none | w bool . 02"})
    EXPECT_THROW(area->check(bad, Effort::Full), ParseError) << bad;
}

TEST(RandomArea, RefusesWhatIsNoCase) {
  const auto area = make_random_area();
  for (const char* const bad :
       {"", "bits", "bits seed 1 first 2 count 9999", "bits seed -1 first 2 count 3",
        "integers seed 1 first 2 count 3", "integers seed 1 first 2 count 3 in 4..3",
        "uniform seed 1 first 99999999999999999999999 count 3"})
    EXPECT_THROW(area->check(bad, Effort::Full), ParseError) << bad;
  EXPECT_EQ(area->check("integers seed 1 first 2 count 3 in 4..4", Effort::Full).ending,
            Ending::Pass);
}

}  // namespace
}  // namespace touchstone::fuzz
