#include "touchstone/files/array_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <zlib.h>

#include "../support/sanitized.h"
#include "../support/traced_draws.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"

// Files of several arrays: written ones read back, damaged ones are refused.

namespace touchstone {
namespace {

using testing::HasSubstr;

std::vector<NamedArray> some_arrays() {
  std::vector<NamedArray> arrays;
  test::TracedDraws random(3);
  for (const DTypeInfo& row : dtype_table) {
    HostArray a{row.dtype, {3, 5}, {}};
    for (std::size_t i = 0; i < 15 * itemsize(row.dtype); ++i)
      a.bytes += static_cast<char>(is_bool(row.dtype) ? i % 2 : random.below(256));
    arrays.push_back({std::string(row.name), a});
  }
  arrays.push_back({"empty", {DType::Float32, {4, 0}, {}}});
  arrays.push_back({"scalar", {DType::Int64, {}, std::string(8, 'x')}});
  return arrays;
}

bool same(std::span<const NamedArray> a, std::span<const NamedArray> b) {
  return std::ranges::equal(a, b, [](const NamedArray& x, const NamedArray& y) {
    return x.name == y.name && x.array.dtype == y.array.dtype && x.array.shape == y.array.shape &&
           x.array.bytes == y.array.bytes;
  });
}

using Parse = std::vector<NamedArray> (*)(std::string_view, const std::string&);

std::string error_of(Parse parse, const std::string& bytes) {
  try {
    parse(bytes, "here");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ArrayFile, WhatIsWrittenIsRead) {
  const std::vector<NamedArray> arrays = some_arrays();
  TemporaryDirectory dir;
  for (const char* name : {"a.npz", "a.safetensors"}) {
    write_array_file(dir.path() / name, arrays);
    EXPECT_TRUE(same(read_array_file(dir.path() / name), arrays)) << name;
    write_array_file(dir.path() / name, {});
    EXPECT_TRUE(read_array_file(dir.path() / name).empty());
  }
  write_array_file(dir.path() / "a.npy", std::span(arrays).first(1));
  EXPECT_EQ(read_array_file(dir.path() / "a.npy")[0].array.bytes, arrays[0].array.bytes);
}

TEST(ArrayFile, OneArrayIsNamedAfterAColon) {
  const std::vector<NamedArray> arrays = some_arrays();
  TemporaryDirectory dir;
  const std::string all = (dir.path() / "a.npz").string();
  const std::string one = (dir.path() / "b.safetensors").string();
  write_array_file(all, arrays);
  write_array_file(one, std::span(arrays).first(1));
  EXPECT_EQ(read_array(all + ":int16").bytes, arrays[3].array.bytes);
  EXPECT_EQ(read_array(one).dtype, DType::Bool);
  const auto why = [](const std::string& what) -> std::string {
    try {
      read_array(what);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(why(all), HasSubstr("name one, as " + all + ":bool (there are: bool, int8"));
  EXPECT_THAT(why(all + ":nothing"), HasSubstr("no array named 'nothing'"));
  EXPECT_THAT(why((dir.path() / "c.npz").string()), HasSubstr("c.npz"));
  EXPECT_THAT(why("c.txt"), HasSubstr(".npy, .npz and .safetensors"));
}

TEST(ArrayFile, OnlyWhatAFormatHoldsIsWritten) {
  const std::vector<NamedArray> arrays = some_arrays();
  TemporaryDirectory dir;
  EXPECT_THROW(write_array_file(dir.path() / "a.npy", arrays), ParseError);
  const std::vector<NamedArray> twice{arrays[0], arrays[0]};
  for (const char* name : {"a.npz", "a.safetensors"}) {
    EXPECT_THROW(write_array_file(dir.path() / name, twice), ParseError);
    EXPECT_FALSE(std::filesystem::exists(dir.path() / name));
  }
}

// A safetensors file with this header and `bytes` bytes.
std::string safetensors(const std::string& header, std::size_t bytes) {
  std::string out(8, '\0');
  out[0] = static_cast<char>(header.size() & 255);
  out[1] = static_cast<char>(header.size() >> 8);
  return out + header + std::string(bytes, '\1');
}

TEST(Safetensors, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "ends inside the header"},
      {std::string(8, '\xff'), "ends inside the header, or is of another format"},
      {safetensors("[]", 0), "not a JSON object"},
      {safetensors("{", 0), "not JSON"},
      {safetensors(std::string(300, '['), 0), "deep"},
      {safetensors(R"({"a":7})", 0), "'a' has no dtype"},
      {safetensors(R"({"a":{"dtype":"F99","shape":[],"data_offsets":[0,4]}})", 4), "type 'F99'"},
      {safetensors(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "lacks its shape"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
       "invalid size"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4), "outside"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), "outside"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "need 8"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
                   4),
       "too large"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8), "no array"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "no array"},
      {safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                   6),
       "overlap"},
      {safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                   4),
       "two arrays 'a'"}};
  for (const auto& [bytes, why] : cases)
    EXPECT_THAT(error_of(parse_safetensors, bytes), HasSubstr(why)) << bytes;
  const auto good =
      parse_safetensors(safetensors(R"({"__metadata__":{"by":"x"},)"
                                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                                    R"("a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}})",
                                    3),
                        "here");
  ASSERT_EQ(good.size(), 2U);
  EXPECT_EQ(good[0].name, "a");
  EXPECT_EQ(good[1].array.shape, std::vector<std::int64_t>{2});
}

// No quadratic name comparison, no repeated walk over all of them.
TEST(ArrayFile, TensOfThousandsOfArraysAreQuick) {
  std::vector<NamedArray> arrays;
  for (int i = 0; i < (test::kSanitized ? 12'000 : 60'000); ++i)
    arrays.push_back({"in" + std::to_string(i), {DType::UInt8, {1}, std::string(1, 'x')}});
  const TemporaryDirectory dir;
  for (const char* name : {"a.npz", "a.safetensors"}) {
    const auto begin = std::chrono::steady_clock::now();
    write_array_file(dir.path() / name, arrays);
    const ArrayFile file(dir.path() / name);
    ASSERT_EQ(file.names().size(), arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) ASSERT_EQ(file.read(i).bytes, "x");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << name;
  }
}

std::string number(std::uint64_t n, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>(n >> (8 * i) & 255);
  return out;
}

// The end of a directory at `at` (APPNOTE 4.3.16).
std::string end_of(std::uint64_t members, std::uint64_t size, std::uint64_t at) {
  return "PK\5\6" + number(0, 4) + number(members, 2) + number(members, 2) + number(size, 4) +
         number(at, 4) + number(0, 2);
}

TEST(Npz, SaysWhatIsWrong) {
  const std::vector<NamedArray> arrays = some_arrays();
  const std::string whole = npz_bytes(std::span(arrays).subspan(1, 1));
  EXPECT_THAT(error_of(parse_npz, ""), HasSubstr("not a zip archive"));
  EXPECT_THAT(error_of(parse_npz, std::string(1000, 'x')), HasSubstr("not a zip archive"));
  const std::size_t directory = whole.find("PK\1\2");
  const auto changed = [&](std::size_t at, const std::string& to) {
    std::string bytes = whole;
    bytes.replace(at, to.size(), to);
    return error_of(parse_npz, bytes);
  };
  // In the member's header, and in the directory, two bytes later.
  const auto changed_twice = [&](std::size_t at, const std::string& to, std::size_t later = 2) {
    std::string bytes = whole;
    bytes.replace(at, to.size(), to);
    bytes.replace(directory + at + later, to.size(), to);
    return error_of(parse_npz, bytes);
  };
  EXPECT_THAT(changed(directory - 1, "!"), HasSubstr("'int8.npy': the checksum is wrong"));
  EXPECT_THAT(changed(directory, "x"), HasSubstr("directory is damaged"));
  EXPECT_THAT(changed(directory + 10, "\14"), HasSubstr("does not agree with its members"));
  EXPECT_THAT(changed(directory + 42, "\5"), HasSubstr("directory is damaged"));
  EXPECT_THAT(changed_twice(6, "\1"), HasSubstr("encrypted"));
  EXPECT_THAT(changed_twice(8, "\14"), HasSubstr("method 12"));
  EXPECT_THAT(changed_twice(8, "\10"), HasSubstr("'int8.npy': "));
  EXPECT_THAT(changed_twice(22, "\1"), HasSubstr("sizes of 'int8.npy' disagree"));
  EXPECT_THAT(changed_twice(18, "\xfe\xff\xff\x7f\xfe\xff\xff\x7f"), HasSubstr("here"));
  EXPECT_THAT(changed_twice(30 + 5, "npx", 16), HasSubstr("not a .npy"));
}

// The directory of `whole`, an archive of one member, with that member repeated.
std::string repeated_member(const std::string& whole, int times, bool renamed) {
  const std::size_t directory = whole.find("PK\1\2"), end = whole.find("PK\5\6");
  std::string entries;
  for (int i = 0; i < times; ++i) {
    std::string entry = whole.substr(directory, end - directory);
    if (renamed) entry[46] = static_cast<char>('a' + i);
    entries += entry;
  }
  return whole.substr(0, directory) + entries +
         end_of(static_cast<std::uint64_t>(times), entries.size(), directory);
}

TEST(Npz, MembersHaveNamesAndBytesOfTheirOwn) {
  const NamedArray array{"x", {DType::UInt8, {1000}, std::string(1000, '\7')}};
  const std::string whole = npz_bytes({&array, 1});
  EXPECT_EQ(parse_npz(repeated_member(whole, 1, false), "here").size(), 1U);
  EXPECT_THAT(error_of(parse_npz, repeated_member(whole, 2, false)), HasSubstr("here"));
  EXPECT_THAT(error_of(parse_npz, repeated_member(whole, 2, true)), HasSubstr("here"));
  // The second one's bytes are part of the first's.
  const std::size_t inner = whole.find("PK\1\2");
  std::string common = whole.substr(4, 26), entries;
  common.replace(14, 8, number(inner, 4) + number(inner, 4));
  const std::string outer = "PK\3\4" + common + "y.npy";
  for (const bool second : {false, true}) {
    std::string entry = whole.substr(inner, 46 + 5);
    if (!second) entry.replace(6, 26, common).replace(46, 1, "y");
    entries += entry.replace(42, 4, number(second ? outer.size() : 0, 4));
  }
  EXPECT_THAT(error_of(parse_npz, outer + whole.substr(0, inner) + entries +
                                      end_of(2, entries.size(), outer.size() + inner)),
              HasSubstr("share bytes"));
  // A name is no path and leads nowhere.
  const NamedArray far{"../../etc/x", array.array};
  EXPECT_EQ(parse_npz(npz_bytes({&far, 1}), "here")[0].name, "../../etc/x");
  for (const std::string& name : {std::string("a\0b", 3), std::string("\xff\xfe")}) {
    const NamedArray odd{name, array.array};
    EXPECT_THROW(npz_bytes({&odd, 1}), ParseError);
  }
}

// The directory is read first, and bounded.
TEST(Npz, ADirectoryOfMoreThanSixteenMebibytesIsRefused) {
  const std::string entry = "PK\1\2" + number(20, 2) + number(20, 2) + std::string(20, '\0') +
                            number(5, 2) + number(0xffff, 2) + std::string(14, '\0') + "a.npy" +
                            number(0x7878, 2) + number(0xffff - 4, 2) + std::string(0xfffb, '\0');
  std::string all;
  for (int i = 0; i < 300; ++i) all += entry;
  EXPECT_THAT(error_of(parse_npz, all + end_of(300, all.size(), 0)),
              HasSubstr("more than the limit of 16777216 bytes"));
}

// 64-bit sizes and offsets, as in archives of 4 GiB and more (APPNOTE 4.3.14 and 4.5.3), and an
// impossible member count.
TEST(Npz, ReadsSizesOf64Bits) {
  const NamedArray array{"x", {DType::UInt8, {4}, "\1\2\3\4"}};
  const std::string whole = npz_bytes({&array, 1});
  const std::size_t directory = whole.find("PK\1\2"), end = whole.find("PK\5\6");
  const std::string size = whole.substr(directory + 20, 4) + number(0, 4);
  std::string entry = whole.substr(directory, 46 + 5);
  entry.replace(20, 8, std::string(8, '\xff'));
  entry.replace(30, 2, number(28, 2));
  entry.replace(42, 4, std::string(4, '\xff'));
  entry += number(1, 2) + number(24, 2) + size + size + number(0, 8);
  const auto archive = [&](std::uint64_t members) {
    const std::string record = "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) +
                               number(0, 8) + number(members, 8) + number(members, 8) +
                               number(entry.size(), 8) + number(directory, 8);
    const std::string locator =
        "PK\6\7" + number(0, 4) + number(directory + entry.size(), 8) + number(1, 4);
    return whole.substr(0, directory) + entry + record + locator +
           end_of(0xffff, 0xffffffff, 0xffffffff);
  };
  EXPECT_EQ(end, directory + 46 + 5);
  EXPECT_EQ(parse_npz(archive(1), "here")[0].array.bytes, array.array.bytes);
  for (const std::uint64_t members : {std::uint64_t{2}, std::uint64_t{1} << 33})
    EXPECT_THAT(error_of(parse_npz, archive(members)), HasSubstr("here"));
}

// A zip archive of one deflated member: a head, then `times` chunks of 1 MiB of zeros.
std::string bomb(const std::string& head, std::uint64_t size, int times, std::string tail) {
  const auto deflated = [](const std::string& bytes) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string out(bytes.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FULL_FLUSH);  // later data is independent of earlier data
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
  };
  std::string packed = deflated(head);
  const std::string chunk = deflated(std::string(std::size_t{1} << 20, '\0'));
  for (int i = 0; i < times; ++i) packed += chunk;
  packed += tail;
  const std::string common = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) +
                             number(0, 4) + number(packed.size(), 4) + number(size, 4) +
                             number(5, 2) + number(0, 2);
  const std::string local = "PK\3\4" + common + "a.npy" + packed;
  const std::string entry = "PK\1\2" + number(20, 2) + common + std::string(14, '\0') + "a.npy";
  return local + entry + end_of(1, entry.size(), local.size());
}

std::string npy_head(std::int64_t elements) {
  HostArray shape{DType::UInt8, {elements}, {}};
  return npy_bytes(shape);
}

// Every field of every header at values that a reader may trip over, in archives with deflated
// members, too: refused, or the arrays are those that were written.
TEST(Npz, FieldsOfItsHeadersDoNotMislead) {
  const NamedArray array{"a", {DType::UInt8, {4}, "\1\2\3\4"}};
  const std::string head = npy_head(4), stored = npz_bytes({&array, 1});
  const std::string whole = bomb(head + array.array.bytes, head.size() + 4, 0, "\1\0\0\xff\xff");
  int kept = 0, refused = 0;
  for (const std::string& bytes : {stored, whole})
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const std::size_t of = bytes.find("PK\1\2");
      if (at == 30) at = of;  // over the member's own bytes
      for (const int width : {2, 4, 8})
        for (const std::uint64_t value :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{0xff},
              std::uint64_t{0x7fff}, std::uint64_t{0xffff}, std::uint64_t{0x7fffffff},
              std::uint64_t{0xfffffffe}, UINT64_MAX, std::uint64_t{1} << 63,
              static_cast<std::uint64_t>(of)}) {
          std::string changed = bytes;
          changed.replace(at, static_cast<std::size_t>(width), number(value, width));
          try {
            for (const NamedArray& a : parse_npz(changed, "here"))
              EXPECT_EQ(a.array.bytes, array.array.bytes) << at << " " << width << " " << value;
            ++kept;
          } catch (const Error& e) {
            EXPECT_THAT(e.what(), HasSubstr("here"));
            ++refused;
          }
        }
    }
  EXPECT_GT(kept, 100);
  EXPECT_GT(refused, 1000);
}

// Every prefix is refused; changed bytes are refused or give arrays that fit their types.
TEST(ArrayFile, DamagedFilesAreRefused) {
  const std::vector<NamedArray> all = some_arrays();
  const auto arrays = std::span(all).last(4);
  const std::pair<Parse, std::string> files[] = {{parse_npz, npz_bytes(arrays)},
                                                 {parse_safetensors, safetensors_bytes(arrays)}};
  test::TracedDraws random(11);
  for (const auto& [parse, bytes] : files) {
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_THROW(parse(std::string_view(bytes).substr(0, n), "here"), ParseError) << n;
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = bytes;
      for (int k = 0; k <= round % 3; ++k)
        damaged[random.below(damaged.size())] ^= char(1 << random.below(8));
      try {
        for (const NamedArray& a : parse(damaged, "here"))
          EXPECT_EQ(static_cast<std::size_t>(a.array.size()) * itemsize(a.array.dtype),
                    a.array.bytes.size());
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), HasSubstr("here"));
      }
    }
  }
}

// Four billion elements in 4 MB; damage in the last bytes shows how much was unpacked.
TEST(ArrayFile, NothingIsUnpackedBeforeItIsWanted) {
  TemporaryDirectory dir;
  const auto path = dir.path() / "bomb.npz";
  constexpr int kTimes = 4000;
  const std::int64_t elements = std::int64_t{kTimes} << 20;
  const std::string head = npy_head(elements);
  std::ofstream(path) << bomb(head, head.size() + static_cast<std::uint64_t>(elements), kTimes,
                              "\xff\xff");
  EXPECT_LT(std::filesystem::file_size(path), 5'000'000U);
  std::vector<std::int64_t> seen;
  EXPECT_THROW(read_array(path.string(),
                          [&](const ArrayLayout& at) -> std::int64_t {
                            seen = at.shape;
                            throw BufferError("refused");
                          }),
               BufferError);
  EXPECT_EQ(seen, std::vector<std::int64_t>{elements});
  const HostArray few = read_array(path.string(), [](const ArrayLayout&) { return 300'000; });
  EXPECT_EQ(few.shape, std::vector<std::int64_t>{300'000});
  EXPECT_EQ(few.bytes, std::string(300'000, '\0'));
  // A shape that contradicts the member's size is refused before use.
  for (const std::uint64_t said : {std::uint64_t{200}, std::uint64_t{1} << 31}) {
    std::ofstream(path) << bomb(head, said, 4, "");
    EXPECT_THROW(read_array(path.string(),
                            [](const ArrayLayout&) -> std::int64_t { throw BufferError("asked"); }),
                 ParseError);
  }
}

// 20 GB that occupy no disk space.
TEST(ArrayFile, OfASparseFileOnlyWhatIsWantedIsRead) {
  TemporaryDirectory dir;
  constexpr std::int64_t kBytes = 20'000'000'000;
  const auto sparse = [&](const std::string& name, const std::string& head, std::int64_t size) {
    const auto path = dir.path() / name;
    std::ofstream(path) << head;
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size));
    return path.string();
  };
  const std::string npy = npy_head(kBytes);
  const std::string json =
      R"({"a":{"dtype":"U8","shape":[20000000000],"data_offsets":[0,20000000000]}})";
  std::string tensors = std::string(8, '\0') + json;
  tensors[0] = static_cast<char>(json.size());
  for (const std::string& path : {sparse("a.npy", npy, kBytes + std::ssize(npy)),
                                  sparse("a.safetensors", tensors, kBytes + std::ssize(tensors))}) {
    const HostArray few =
        read_array(path, [](const ArrayLayout& at) { return at.size() - 2 - (at.size() - 7); });
    EXPECT_EQ(few.shape, std::vector<std::int64_t>{5});
    EXPECT_EQ(few.bytes, std::string(5, '\0'));
    EXPECT_THROW(
        read_array(path, [](const ArrayLayout&) -> std::int64_t { throw BufferError("refused"); }),
        BufferError);
  }
  // Endless headers.
  const std::pair<std::string, const char*> cases[] = {
      {sparse("b.npy", std::string("\x93NUMPY\2\0\xff\xff\xff\x7f", 12), kBytes), "its header has"},
      {sparse("b.safetensors", std::string("\0\0\0\0\4\0\0\0", 8), kBytes), "its header has"},
      {sparse("b.npz", "PK", kBytes), "not a zip archive"},
      {sparse("c.npy", "", 0), "does not begin"}};
  for (const auto& [path, why] : cases) {
    try {
      read_array(path);
      ADD_FAILURE() << path;
    } catch (const ParseError& e) {
      EXPECT_THAT(e.what(), HasSubstr(why));
    }
  }
}

TEST(ArrayFile, AFileThatShrinksIsRefusedAndOneThatGrowsIsReadAsItWas) {
  TemporaryDirectory dir;
  const auto path = dir.path() / "a.npy";
  const HostArray array{DType::UInt8, {100'000}, std::string(100'000, '\7')};
  write_npy(path, array);
  {
    const ArrayFile file(path);
    std::ofstream(path, std::ios::app) << "more";
    EXPECT_EQ(file.read(0).bytes, array.bytes);
  }
  EXPECT_THROW(read_npy(path), ParseError);  // now too long
  write_npy(path, array);
  const ArrayFile file(path);
  std::filesystem::resize_file(path, 50'000);
  EXPECT_THROW(file.read(0), SystemError);
}

TEST(ArrayFile, OnlyRegularFilesAreRead) {
  TemporaryDirectory dir;
  for (const char* name : {"a.npy", "a.npz", "a.safetensors"}) {
    const auto path = dir.path() / name;
    for (const char* kind : {"pipe", "directory", "zero", "loop"}) {
      std::filesystem::remove_all(path);
      if (kind == std::string("pipe"))
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
      else if (kind == std::string("directory"))
        std::filesystem::create_directory(path);
      else
        std::filesystem::create_symlink(kind == std::string("zero") ? "/dev/zero" : name, path);
      EXPECT_THROW(read_array(path.string()), SystemError) << name << kind;
      EXPECT_THROW(read_array_file(path), SystemError) << name << kind;
    }
  }
}

// NumPy's own files, stored and deflated, and ours read by NumPy.
TEST(Npz, NumPyReadsOursAndWeReadItsOwn) {
  const std::string python = "/usr/bin/python3 -c ";
  if (std::system((python + "'import numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no Python with NumPy; install python3-numpy";
  TemporaryDirectory dir;
  const std::string at = dir.path().string() + "/";
  const std::string script =
      "import numpy as n; a = n.arange(5000, dtype=n.int32).reshape(50, 100); b = n.float16(2.5);"
      "n.savez(\"" +
      at + "s.npz\", a, b=b); n.savez_compressed(\"" + at + "c.npz\", a, b=b)";
  ASSERT_EQ(std::system((python + "'" + script + "'").c_str()), 0);
  for (const char* name : {"s.npz", "c.npz"}) {
    const HostArray b = read_array(at + name + ":b");
    EXPECT_EQ(b.bytes, std::string("\0\x41", 2));
    const HostArray a = read_array(at + name + ":arr_0");
    EXPECT_EQ(a.shape, (std::vector<std::int64_t>{50, 100}));
    EXPECT_EQ(a.bytes.substr(4 * 4999, 2), "\x87\x13");
  }
  // Truncated or changed deflated files are refused too.
  const std::string deflated = read_file(at + "c.npz");
  test::TracedDraws random(5);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = deflated;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
    try {
      parse_npz(damaged, "here");
    } catch (const Error&) {
    }
    EXPECT_THROW(parse_npz(deflated.substr(0, random.below(deflated.size())), "here"), ParseError);
  }
  write_array_file(at + "o.npz", some_arrays());
  const std::string check =
      "import numpy as n; z = n.load(\"" + at +
      "o.npz\"); assert len(z.files) >= 15;"
      "assert z[\"empty\"].shape == (4, 0) and z[\"uint16\"].dtype == n.uint16";
  EXPECT_EQ(std::system((python + "'" + check + "'").c_str()), 0);
}

}  // namespace
}  // namespace touchstone
