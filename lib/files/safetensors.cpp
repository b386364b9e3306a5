#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "touchstone/base/checked.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/json_members.h"
#include "touchstone/files/array_reader.h"

namespace touchstone {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "elements are written as they lie");

[[noreturn]] void bad_tensors(const std::string& where, const std::string& why) {
  throw ParseError(fmt::format("'{}' is not a usable .safetensors file: {}", where, why));
}

// "F32", "BF16", "F8_E4M3", "I8", "BOOL".
std::string tag_of(DType dtype) {
  const std::string_view name = touchstone::name(dtype);
  const auto upper = [](std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
  };
  switch (info(dtype).kind) {
    case DTypeKind::Bool: return "BOOL";
    case DTypeKind::Signed: return fmt::format("I{}", 8 * itemsize(dtype));
    case DTypeKind::Unsigned: return fmt::format("U{}", 8 * itemsize(dtype));
    case DTypeKind::Float: break;
  }
  if (name.starts_with("float8_")) return "F8_" + upper(name.substr(7));
  return name.starts_with("bfloat") ? "BF16" : fmt::format("F{}", 8 * itemsize(dtype));
}

std::optional<DType> dtype_of(const std::string& tag) {
  for (const DTypeInfo& row : dtype_table)
    if (tag_of(row.dtype) == tag) return row.dtype;
  return std::nullopt;
}

// A parser that keeps the last of two equal keys would lose an array.
json parse_header(std::string_view text, const std::string& where) {
  json header;
  try {
    require_shallow_json(text);
    header = json::parse(text);
  } catch (const json::exception&) {
    bad_tensors(where, "its header is not JSON");
  } catch (const Error& e) {
    bad_tensors(where, e.what());
  }
  if (const auto twice = member_twice(text, Objects::Outermost))
    bad_tensors(where, fmt::format("it has two arrays '{}'", *twice));
  if (!header.is_object()) bad_tensors(where, "its header is not a JSON object");
  return header;
}

// Parses an array of non-negative numbers.
std::vector<std::int64_t> numbers(const json& entry, const char* key, const std::string& where) {
  const auto at = entry.find(key);
  if (at == entry.end() || !at->is_array())
    bad_tensors(where, fmt::format("an array lacks its {}", key));
  std::vector<std::int64_t> out;
  for (const json& n : *at) {
    if (!n.is_number_unsigned() || n.get<std::uint64_t>() > INT64_MAX)
      bad_tensors(where, fmt::format("{} of an array contains an invalid size", key));
    out.push_back(n.get<std::int64_t>());
  }
  return out;
}

struct Part {
  ArrayLayout array;
  std::uint64_t begin = 0, end = 0;  // in the data
};

Part part_of(const std::string& name, const json& entry, std::uint64_t data_size,
             const std::string& where) {
  Part part;
  ArrayLayout& array = part.array;
  array.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
    bad_tensors(where, fmt::format("array '{}' has no dtype", name));
  const std::string tag = entry["dtype"].get<std::string>();
  const std::optional<DType> dtype = dtype_of(tag);
  if (!dtype)
    bad_tensors(where, fmt::format("array '{}' has the unsupported type '{}'", name, tag));
  array.dtype = *dtype;
  array.shape = numbers(entry, "shape", where);
  const std::vector<std::int64_t> offsets = numbers(entry, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      static_cast<std::uint64_t>(offsets[1]) > data_size)
    bad_tensors(where, fmt::format("array '{}' lies outside the file", name));
  part.begin = static_cast<std::uint64_t>(offsets[0]);
  part.end = static_cast<std::uint64_t>(offsets[1]);
  std::int64_t wanted = 0;
  try {
    wanted = checked_mul(array.size(), static_cast<std::int64_t>(itemsize(array.dtype)));
  } catch (const OverflowError&) {
    bad_tensors(where, fmt::format("the shape of array '{}' is too large", name));
  }
  if (wanted != offsets[1] - offsets[0])
    bad_tensors(where, fmt::format("array '{}' has {} bytes, but its shape and type need {}", name,
                                   offsets[1] - offsets[0], wanted));
  return part;
}

void require_bools_of(const std::string& name, DType dtype, std::string_view bytes,
                      const std::string& where) {
  if (!is_bool(dtype)) return;
  for (const char c : bytes)
    if (c != 0 && c != 1)
      bad_tensors(where, fmt::format("'{}' contains a bool that is neither 0 nor 1", name));
}

struct TensorsHeader {
  json fields;
  std::uint64_t length;
};
TensorsHeader header_of(const ByteSource& bytes, const std::string& where) {
  std::uint64_t length = 0;
  if (bytes.size() < 8) bad_tensors(where, "it ends inside the header");
  std::memcpy(&length, bytes.read(0, 8).data(), 8);
  if (length > bytes.size() - 8)
    bad_tensors(where, "it ends inside the header, or is of another format");
  if (length > kMostDirectory)
    bad_tensors(where,
                fmt::format("its header has {} bytes; the limit is {}", length, kMostDirectory));
  return {parse_header(bytes.read(8, static_cast<std::size_t>(length)), where), length};
}

// Layouts in file order; reads no elements.
std::vector<ArrayLayout> layout_of(const ByteSource& bytes, const std::string& where) {
  const auto [header, length] = header_of(bytes, where);
  const std::uint64_t data_size = bytes.size() - 8 - length;
  std::vector<Part> parts;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__") parts.push_back(part_of(name, entry, data_size, where));
  std::ranges::stable_sort(parts, [](const Part& a, const Part& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  std::vector<ArrayLayout> out;
  for (Part& part : parts) {
    if (part.begin != covered)
      bad_tensors(where, part.begin < covered ? "its arrays overlap"
                                              : "some of its bytes belong to no array");
    covered = part.end;
    part.array.offset = 8 + length + part.begin;
    out.push_back(std::move(part.array));
  }
  if (covered != data_size) bad_tensors(where, "some of its bytes belong to no array");
  return out;
}

class SafetensorsReader final : public ArrayFile::Reader {
 public:
  SafetensorsReader(std::unique_ptr<ByteSource> bytes, const std::string& where)
      : bytes_(std::move(bytes)), where_(where), at_(layout_of(*bytes_, where)) {
    for (const ArrayLayout& a : at_) names.push_back(a.name);
  }
  HostArray read(std::size_t i, const Wanted& wanted) const override {
    HostArray array = elements(*bytes_, at_[i], wanted);
    require_bools_of(at_[i].name, array.dtype, array.bytes, where_);
    return array;
  }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  std::vector<ArrayLayout> at_;
};

}  // namespace

std::vector<NamedArray> parse_safetensors(std::string_view bytes, const std::string& where) {
  std::vector<NamedArray> out;
  for (ArrayLayout& at : safetensors_layout(bytes, where)) {
    const std::size_t length = static_cast<std::size_t>(at.size()) * itemsize(at.dtype);
    out.push_back({std::move(at.name),
                   {at.dtype, std::move(at.shape), std::string(bytes.substr(at.offset, length))}});
  }
  return out;
}

std::vector<ArrayLayout> safetensors_layout(std::string_view bytes, const std::string& where) {
  std::vector<ArrayLayout> out = layout_of(MemoryBytes(bytes), where);
  for (const ArrayLayout& a : out)
    require_bools_of(a.name, a.dtype,
                     bytes.substr(a.offset, static_cast<std::size_t>(a.size()) * itemsize(a.dtype)),
                     where);
  return out;
}

std::unique_ptr<ArrayFile::Reader> safetensors_reader(std::unique_ptr<ByteSource> bytes,
                                                      const std::string& where) {
  return std::make_unique<SafetensorsReader>(std::move(bytes), where);
}

Metadata safetensors_metadata(std::string_view bytes, const std::string& where) {
  const json header = header_of(MemoryBytes(bytes), where).fields;
  const auto at = header.find("__metadata__");
  if (at == header.end()) return {};
  Metadata out;
  if (!at->is_object()) bad_tensors(where, "its metadata is not a JSON object");
  for (const auto& [name, text] : at->items()) {
    if (!text.is_string())
      bad_tensors(where, fmt::format("its metadata '{}' is not a string", name));
    out[name] = text.get<std::string>();
  }
  return out;
}

std::string safetensors_bytes(std::span<const NamedArray> arrays, const Metadata& metadata) {
  // The library's order-preserving object compares each new name with all earlier ones.
  std::string data, text = "{";
  const auto member = [&](const std::string& name, const nlohmann::ordered_json& value) {
    text += fmt::format("{}{}:{}", text.size() == 1 ? "" : ",", json_line(json(name)),
                        json_line(value));
  };
  if (!metadata.empty()) member("__metadata__", metadata);
  for (const NamedArray& a : arrays) {
    member(a.name, {{"dtype", tag_of(a.array.dtype)},
                    {"shape", a.array.shape},
                    {"data_offsets", {data.size(), data.size() + a.array.bytes.size()}}});
    data += a.array.bytes;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');  // elements start at a multiple of 8
  const std::uint64_t length = text.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + text + data;
}

}  // namespace touchstone
