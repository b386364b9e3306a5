#include "touchstone/fuzz/definitions/file_formats.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"

namespace touchstone::fuzz::definition {
namespace {

bool bit(unsigned layout, int i) { return (layout >> i & 1) != 0; }

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, int width) {
  if (at > bytes.size() || bytes.size() - at < static_cast<std::size_t>(width))
    throw ParseError("a file that ends too early");
  std::uint64_t value = 0;
  for (int i = width; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

struct Name {
  DType dtype;
  std::string_view numpy, safetensors;
};
constexpr Name kNames[] = {{DType::Bool, "'|b1'", "BOOL"},
                           {DType::Int8, "'|i1'", "I8"},
                           {DType::UInt8, "'|u1'", "U8"},
                           {DType::Int16, "'<i2'", "I16"},
                           {DType::UInt16, "'<u2'", "U16"},
                           {DType::Int32, "'<i4'", "I32"},
                           {DType::UInt32, "'<u4'", "U32"},
                           {DType::Int64, "'<i8'", "I64"},
                           {DType::UInt64, "'<u8'", "U64"},
                           {DType::Float8E4M3, "[('float8_e4m3', '|u1')]", "F8_E4M3"},
                           {DType::Float8E5M2, "[('float8_e5m2', '|u1')]", "F8_E5M2"},
                           {DType::Float16, "'<f2'", "F16"},
                           {DType::BFloat16, "'|V2'", "BF16"},
                           {DType::Float32, "'<f4'", "F32"},
                           {DType::Float64, "'<f8'", "F64"}};

const Name& name_of(DType dtype) { return *std::ranges::find(kNames, dtype, &Name::dtype); }

std::uint64_t bytes_in(DType dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t n = itemsize(dtype);
  for (const std::int64_t size : shape) n *= static_cast<std::uint64_t>(size);
  return n;
}

// The polynomial of ISO 3309, bit by bit.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (0xedb88320U & (0U - (crc & 1)));
  }
  return ~crc;
}

NamedArray array_of_npy(std::string_view bytes) {
  if (bytes.substr(0, 6) != "\x93NUMPY") throw ParseError("no .npy");
  const int width = number_at(bytes, 6, 1) == 1 ? 2 : 4;
  const std::size_t begin = 8 + static_cast<std::size_t>(width);
  const std::size_t length = number_at(bytes, 8, width);
  const std::string header(bytes.substr(begin, length));
  if ((begin + length) % 64 != 0)
    throw ParseError("elements that do not begin at a multiple of 64");
  if (!header.ends_with('\n')) throw ParseError("a header that does not end with its line");
  NamedArray out;
  const auto value = [&](const std::string& key) {
    const std::size_t at = header.find("'" + key + "': ");
    if (at == header.npos) throw ParseError("no " + key);
    return header.substr(at + key.size() + 4);
  };
  const std::string descr = value("descr");
  const auto type =
      std::ranges::find_if(kNames, [&](const Name& n) { return descr.starts_with(n.numpy); });
  if (type == std::end(kNames)) throw ParseError("no type that is ours");
  out.array.dtype = type->dtype;
  if (!value("fortran_order").starts_with("False")) throw ParseError("columns first");
  const std::string shape = value("shape");
  for (std::size_t at = 1; at < shape.size() && shape[at] != ')';) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(&shape[at], shape.data() + shape.size(), size);
    if (error == std::errc()) out.array.shape.push_back(size);
    at = error == std::errc() ? static_cast<std::size_t>(end - shape.data()) : at + 1;
  }
  out.array.bytes = bytes.substr(begin + length);
  return out;
}

std::vector<NamedArray> arrays_of_npz(std::string_view bytes) {
  constexpr std::size_t kEnd = 22;
  const std::size_t end = bytes.rfind("PK\5\6");
  if (end == bytes.npos || bytes.size() - end != kEnd) throw ParseError("no end of a directory");
  std::vector<NamedArray> out;
  std::size_t at = number_at(bytes, end + 16, 4);
  for (std::uint64_t i = number_at(bytes, end + 10, 2); i > 0; --i) {
    if (bytes.substr(at, 4) != "PK\1\2") throw ParseError("no member where one should be");
    if (number_at(bytes, at + 10, 2) != 0) throw ParseError("a member that is packed");
    const std::size_t size = number_at(bytes, at + 24, 4), length = number_at(bytes, at + 28, 2);
    const std::size_t more = number_at(bytes, at + 30, 2) + number_at(bytes, at + 32, 2);
    const std::size_t local = number_at(bytes, at + 42, 4);
    const std::size_t data =
        local + 30 + number_at(bytes, local + 26, 2) + number_at(bytes, local + 28, 2);
    const std::string_view member = bytes.substr(data, size);
    if (checksum(member) != number_at(bytes, at + 16, 4)) throw ParseError("a wrong checksum");
    NamedArray array = array_of_npy(member);
    array.name = bytes.substr(at + 46, length);
    if (!array.name.ends_with(".npy")) throw ParseError("a member that is no .npy");
    array.name.resize(array.name.size() - 4);
    out.push_back(std::move(array));
    at += 46 + length + more;
  }
  return out;
}

std::vector<NamedArray> arrays_of_safetensors(std::string_view bytes) {
  const std::size_t length = number_at(bytes, 0, 8), begin = 8 + length;
  std::vector<NamedArray> out;
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    NamedArray array{name, {}};
    const auto type =
        std::ranges::find(kNames, entry.at("dtype").get<std::string>(), &Name::safetensors);
    if (type == std::end(kNames)) throw ParseError("no type that is ours");
    array.array.dtype = type->dtype;
    array.array.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const std::size_t from = entry.at("data_offsets")[0], to = entry.at("data_offsets")[1];
    array.array.bytes = bytes.substr(begin + from, to - from);
    out.push_back(std::move(array));
  }
  return out;
}

}  // namespace

std::string npy_file(const HostArray& array, unsigned layout, Damage damage) {
  const bool bare = bit(layout, 3);
  std::string shape = "(";
  for (const std::int64_t size : array.shape)
    shape += std::to_string(size) + (bare && array.shape.size() > 1 ? "," : ", ");
  if (array.shape.size() > 1) shape.resize(shape.size() - (bare ? 1 : 2));
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);  // "(3,"
  std::string descr(name_of(array.dtype).numpy);
  if (damage == Damage::BigEndian) descr[1] = '>';
  std::vector<std::string> entries = {
      "'descr': " + descr,
      std::string("'fortran_order': ") + (damage == Damage::Fortran ? "True" : "False"),
      "'shape': " + shape + ")"};
  if (bit(layout, 1)) std::ranges::reverse(entries);
  std::string header = "{";
  for (std::size_t i = 0; i < entries.size(); ++i)
    header += entries[i] + (!bare ? ", " : i + 1 < entries.size() ? "," : "");
  header += "}";
  const bool second = bit(layout, 0) || damage == Damage::Version;
  const std::size_t before = second ? 12 : 10;
  if (!bit(layout, 2))
    while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(damage == Damage::Version ? 3 : second ? 2 : 1);
  out += '\0';
  out += little(header.size(), second ? 4 : 2) + header + array.bytes;
  if (damage == Damage::Short) out.pop_back();
  if (damage == Damage::Long) out += '\0';
  return out;
}

std::string npz_file(const std::vector<NamedArray>& arrays, unsigned layout, Damage damage) {
  constexpr std::uint64_t kDate = 0x21;  // 1980-01-01
  std::string out, directory;
  for (const NamedArray& a : arrays) {
    const bool within = damage == Damage::Fortran || damage == Damage::BigEndian ||
                        damage == Damage::Version || damage == Damage::Short;
    std::string data = npy_file(a.array, layout, within ? damage : Damage::None);
    const std::string name = a.name + ".npy";
    const std::string extra = bit(layout, 4) ? little(0x7a7a, 2) + little(3, 2) + "abc" : "";
    const std::string sizes = little(checksum(data), 4) + little(data.size(), 4) +
                              little(data.size(), 4) + little(name.size(), 2) +
                              little(extra.size(), 2);
    const std::string common = little(20, 2) + little(0, 4) + little(0, 2) + little(kDate, 2);
    if (damage == Damage::Checksum) data.back() = static_cast<char>(data.back() ^ 1);
    directory += "PK\1\2" + little(20, 2) + common + sizes + little(0, 2) + little(0, 2) +
                 little(0, 2) + little(0, 4) + little(out.size(), 4) + name + extra;
    out += "PK\3\4" + common + sizes + name + extra + data;
  }
  const std::string comment = bit(layout, 5) ? "of arrays" : "";
  const std::size_t begin = out.size();
  return out + directory + "PK\5\6" + little(0, 4) + little(arrays.size(), 2) +
         little(arrays.size(), 2) + little(directory.size(), 4) + little(begin, 4) +
         little(comment.size(), 2) + comment;
}

std::string safetensors_file(const std::vector<NamedArray>& arrays, unsigned layout,
                             Damage damage) {
  const std::string blank = bit(layout, 3) ? "  " : "";
  std::vector<std::string> entries;
  std::string data;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NamedArray& a = arrays[i];
    const bool last = i + 1 == arrays.size();
    if (damage == Damage::Hole && last) data += '\0';
    std::uint64_t from = data.size(), to = from + a.array.bytes.size();
    data += a.array.bytes;
    if (damage == Damage::Overlap && last) --from, --to, data.pop_back();
    std::string shape;
    for (const std::int64_t size : a.array.shape)
      shape += (shape.empty() ? "" : "," + blank) + std::to_string(size);
    entries.push_back("\"" + a.name + "\":" + blank + "{\"dtype\":" + blank + "\"" +
                      std::string(name_of(a.array.dtype).safetensors) + "\",\"shape\":[" + shape +
                      "],\"data_offsets\":[" + std::to_string(from) + "," + blank +
                      std::to_string(to) + "]}");
  }
  if (bit(layout, 1)) std::ranges::reverse(entries);
  if (bit(layout, 2)) entries.insert(entries.begin(), "\"__metadata__\":{\"format\":\"pt\"}");
  std::string header = "{";
  for (const std::string& e : entries) header += (header.size() > 1 ? "," + blank : "") + e;
  header += "}";
  while (bit(layout, 0) && header.size() % 8 != 0) header += ' ';
  std::string out = little(header.size(), 8) + header + data;
  if (damage == Damage::Short) out.pop_back();
  if (damage == Damage::Long) out += '\0';
  return out;
}

std::vector<NamedArray> arrays_of_file(std::string_view format, std::string_view bytes) {
  std::vector<NamedArray> out;
  if (format == "npy")
    out.push_back(array_of_npy(bytes));
  else
    out = format == "npz" ? arrays_of_npz(bytes) : arrays_of_safetensors(bytes);
  for (const NamedArray& a : out)
    if (a.array.bytes.size() != bytes_in(a.array.dtype, a.array.shape))
      throw ParseError("elements that are not as many as the shape says");
  return out;
}

}  // namespace touchstone::fuzz::definition
