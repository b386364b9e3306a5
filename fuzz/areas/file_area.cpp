#include <algorithm>
#include <charconv>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/file_formats.h"
#include "touchstone/fuzz/engine/last_parsed.h"

namespace touchstone::fuzz {
namespace {

using definition::Damage;

constexpr std::string_view kFormats[] = {"npy", "npz", "safetensors"};
constexpr unsigned kLayouts = 64;

/// "npz layout 5 checksum | w float32 2,3 00112233... | b int8 . 7f": a file of arrays, in
/// hexadecimal bytes; "." for no axis, "-" for no bytes.
struct FileCase {
  std::size_t format = 0;
  unsigned layout = 0;
  Damage damage = Damage::None;
  std::vector<NamedArray> arrays;

  static FileCase parse(std::string_view text);
  std::string str() const;

  std::string bytes() const {
    if (format == 0) return definition::npy_file(arrays[0].array, layout, damage);
    return format == 1 ? definition::npz_file(arrays, layout, damage)
                       : definition::safetensors_file(arrays, layout, damage);
  }
};

std::string hexadecimal(const std::string& bytes) {
  if (bytes.empty()) return "-";
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string bytes_of(std::string_view digits) {
  std::string out;
  if (digits == "-") return out;
  if (digits.size() % 2 != 0) throw ParseError("an odd number of hexadecimal digits");
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&digits[i], &digits[i] + 2, value, 16);
    if (error != std::errc() || end != &digits[i] + 2)
      throw ParseError(fmt::format("'{}' is not a byte", digits.substr(i, 2)));
    out += static_cast<char>(value);
  }
  return out;
}

bool fits(const FileCase& c) {
  const auto any = [&](const auto& of) { return std::ranges::any_of(c.arrays, of); };
  const bool numpy = c.format < 2, last_has_bytes = !c.arrays.back().array.bytes.empty();
  switch (c.damage) {
    case Damage::None:
    case Damage::Short: return true;
    case Damage::Long: return c.format != 1;
    case Damage::Fortran:  // order matters only with two axes or more
      return numpy && any([](const NamedArray& a) {
               return std::ranges::count_if(a.array.shape, [](auto n) { return n > 1; }) > 1;
             });
    case Damage::BigEndian:
      return numpy && any([](const NamedArray& a) {
               return itemsize(a.array.dtype) > 1 && a.array.dtype != DType::BFloat16;
             });
    case Damage::Version: return numpy;
    case Damage::Checksum: return c.format == 1;
    case Damage::Hole: return c.format == 2 && last_has_bytes;
    case Damage::Overlap:
      return c.format == 2 && last_has_bytes && c.arrays.size() > 1 &&
             !c.arrays[c.arrays.size() - 2].array.bytes.empty();
  }
  return false;
}

FileCase FileCase::parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '|');
  if (parts.size() < 2) throw ParseError("a file needs an array after '|'");
  const auto words = split(parts[0], ' ');
  if (words.size() != 4 || words[1] != "layout")
    throw ParseError("a file must begin as 'npz layout 5 none'");
  FileCase c;
  const auto format = std::ranges::find(kFormats, words[0]);
  const auto damage = std::ranges::find(definition::kDamages, words[3]);
  if (format == std::end(kFormats) || damage == std::end(definition::kDamages))
    throw ParseError(fmt::format("unknown format '{}' or damage '{}'", words[0], words[3]));
  c.format = static_cast<std::size_t>(format - kFormats);
  c.damage = static_cast<Damage>(damage - definition::kDamages);
  c.layout = static_cast<unsigned>(number(words[2])) % kLayouts;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto of = split(parts[i], ' ');
    if (of.size() != 4) throw ParseError("an array must be NAME TYPE SHAPE BYTES");
    NamedArray a{std::string(of[0]), {parse_dtype(of[1]), {}, bytes_of(of[3])}};
    for (const std::string_view size : split(of[2], ','))
      if (size != ".") a.array.shape.push_back(number(size));
    std::int64_t count = 1;
    for (const std::int64_t size : a.array.shape) {
      if (size < 0 || size > 1 << 12 || count > 1 << 12)
        throw ParseError("a size that is too large");
      count *= size;
    }
    if (a.array.bytes.size() != static_cast<std::size_t>(count) * itemsize(a.array.dtype))
      throw ParseError(fmt::format("{} elements in {} bytes", count, a.array.bytes.size()));
    if (is_bool(a.array.dtype) &&
        a.array.bytes.find_first_not_of(std::string("\0\1", 2)) != std::string::npos)
      throw ParseError("a bool that is neither 0 nor 1");
    for (const NamedArray& other : c.arrays)
      if (other.name == a.name) throw ParseError("two arrays have the same name");
    c.arrays.push_back(std::move(a));
  }
  if (c.format == 0 && c.arrays.size() > 1) throw ParseError("a .npy contains one array");
  if (!fits(c)) throw ParseError(fmt::format("the damage '{}' needs other arrays", words[3]));
  return c;
}

std::string FileCase::str() const {
  std::string out = fmt::format("{} layout {} {}", kFormats[format], layout,
                                definition::kDamages[static_cast<std::size_t>(damage)]);
  for (const NamedArray& a : arrays) {
    std::string shape;
    for (const std::int64_t size : a.array.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    out += fmt::format(" | {} {} {} {}", a.name, touchstone::name(a.array.dtype),
                       shape.empty() ? "." : shape, hexadecimal(a.array.bytes));
  }
  return out;
}

std::string draw_file(Chooser& chooser) {
  FileCase c;
  c.format = chooser.below(std::size(kFormats));
  c.layout = static_cast<unsigned>(chooser.below(kLayouts));
  const std::uint64_t count = c.format == 0 ? 1 : 1 + chooser.below(4);
  const bool empty = chooser.chance(1, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    NamedArray a;
    a.name =
        fmt::format("{}{}", chooser.pick<std::string>({"w", "layers.0/b", "x_y", "\xc3\xa9"}), i);
    a.array.dtype = static_cast<DType>(chooser.below(kDTypeCount));
    std::size_t bytes = itemsize(a.array.dtype);
    for (std::uint64_t rank = chooser.below(4); rank > 0; --rank) {
      const auto size = static_cast<std::int64_t>(chooser.below(5));
      a.array.shape.push_back(size == 0 && !empty ? 2 : size);
      bytes *= static_cast<std::size_t>(a.array.shape.back());
    }
    const std::uint64_t values = is_bool(a.array.dtype) ? 2 : 256;
    for (std::size_t b = 0; b < bytes; ++b)
      a.array.bytes += static_cast<char>(chooser.below(values));
    c.arrays.push_back(std::move(a));
  }
  if (chooser.chance(1, 3)) {
    c.damage = static_cast<Damage>(1 + chooser.below(std::size(definition::kDamages) - 1));
    if (!fits(c)) c.damage = Damage::None;
  }
  return c.str();
}

std::string as_text(const NamedArray& a) { return FileCase{0, 0, Damage::None, {a}}.str(); }

/// The first difference of two lists of arrays, matched by name; in .safetensors the order of empty
/// arrays is free.
std::string difference(const std::vector<NamedArray>& wanted, const std::vector<NamedArray>& got,
                       bool named) {
  if (wanted.size() != got.size())
    return fmt::format("{} arrays, not {}", got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto same = named ? std::ranges::find(got, wanted[i].name, &NamedArray::name)
                            : got.begin() + static_cast<std::ptrdiff_t>(i);
    if (same == got.end()) return fmt::format("no array '{}'", wanted[i].name);
    const HostArray &a = wanted[i].array, &b = same->array;
    if (a.dtype != b.dtype || a.shape != b.shape || a.bytes != b.bytes)
      return fmt::format("'{}', not '{}'", as_text(*same), as_text(wanted[i]));
  }
  return {};
}

class FileArea final : public Area {
 public:
  std::string_view name() const override { return "files"; }
  std::string draw(Chooser& chooser) override { return draw_file(chooser); }

  Checked check(const std::string& text, Effort effort) override {
    const FileCase& c = cases_.of(text);
    const std::string bytes = c.bytes();
    const bool named = c.format != 0;
    std::vector<NamedArray> got;
    try {
      got = parsed(c, bytes);
    } catch (const ParseError& e) {
      if (c.damage != Damage::None) return {};
      return Checked::fail("refused", e.what());
    }
    if (c.damage != Damage::None)
      return Checked::fail("taken",
                           fmt::format("a file with damage '{}' is read as '{}'",
                                       definition::kDamages[static_cast<std::size_t>(c.damage)],
                                       FileCase{c.format, 0, Damage::None, got}.str()));
    if (const std::string what = difference(c.arrays, got, named); !what.empty())
      return Checked::fail("read", what);
    const std::string own = written(c);
    try {
      const auto again = definition::arrays_of_file(kFormats[c.format], own);
      if (const std::string what = difference(c.arrays, again, named); !what.empty())
        return Checked::fail("written", what);
    } catch (const std::exception& e) {
      return Checked::fail("written", e.what());
    }
    if (effort == Effort::Full || hash_bytes(text) % 16 == 0)
      if (auto wrong = from_disk(c, bytes)) return *wrong;
    return {};
  }

  std::vector<std::string> smaller(const std::string& text) override {
    const FileCase& c = cases_.of(text);
    std::vector<std::string> out;
    const auto with = [&](const auto& change) {
      FileCase less = c;
      change(less);
      out.push_back(less.str());
    };
    for (std::size_t i = 0; c.arrays.size() > 1 && i < c.arrays.size(); ++i)
      with([&](FileCase& f) { drop(f.arrays, i); });
    for (std::size_t i = 0; i < c.arrays.size(); ++i) {
      const HostArray& a = c.arrays[i].array;
      for (std::size_t axis = 0; axis < a.shape.size(); ++axis)
        for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1}, a.shape[axis] - 1}) {
          if (size >= a.shape[axis] || size == 0) continue;
          with([&](FileCase& f) {
            HostArray& cut = f.arrays[i].array;
            if (size < 0)
              drop(cut.shape, axis);
            else
              cut.shape[axis] = size;
            cut.bytes.resize(itemsize(a.dtype) * static_cast<std::size_t>(cut.size()));
          });
        }
      if (a.bytes.find_first_not_of('\0') != std::string::npos)
        with([&](FileCase& f) { f.arrays[i].array.bytes.assign(a.bytes.size(), '\0'); });
      if (a.dtype != DType::UInt8)
        with([&](FileCase& f) {
          HostArray& bytes = f.arrays[i].array;
          bytes.dtype = DType::UInt8;
          bytes.bytes.resize(static_cast<std::size_t>(bytes.size()));
        });
    }
    for (unsigned i = 1; i < kLayouts; i *= 2)
      if ((c.layout & i) != 0) with([&](FileCase& f) { f.layout &= ~i; });
    return out;
  }

  Measure measure(const std::string& text) override {
    const FileCase& c = cases_.of(text);
    std::int64_t bytes = 0, ranks = 0, nonzero = 0, types = 0;
    for (const NamedArray& a : c.arrays) {
      bytes += std::ssize(a.array.bytes);
      ranks += std::ssize(a.array.shape);
      types += a.array.dtype == DType::UInt8 ? 0 : 1;
      nonzero += std::ssize(a.array.bytes) - std::ranges::count(a.array.bytes, '\0');
    }
    return {std::ssize(c.arrays), ranks, bytes, types + static_cast<std::int64_t>(c.layout),
            nonzero};
  }

  Extent extent(const std::string& text) override {
    const FileCase& c = cases_.of(text);
    Extent extent{std::ssize(c.arrays), 0};
    for (const NamedArray& a : c.arrays)
      for (const std::int64_t size : a.array.shape) extent.dim = std::max(extent.dim, size);
    return extent;
  }

 private:
  static std::vector<NamedArray> parsed(const FileCase& c, const std::string& bytes) {
    if (c.format == 0) return {{"", parse_npy(bytes, "case")}};
    return c.format == 1 ? parse_npz(bytes, "case") : parse_safetensors(bytes, "case");
  }

  static std::string written(const FileCase& c) {
    if (c.format == 0) return npy_bytes(c.arrays[0].array);
    return c.format == 1 ? npz_bytes(c.arrays) : safetensors_bytes(c.arrays);
  }

  // Reads from disk by name, whole and the first elements only.
  std::optional<Checked> from_disk(const FileCase& c, const std::string& bytes) {
    const auto path = folder_.path() / fmt::format("case.{}", kFormats[c.format]);
    write_file_atomically(path, bytes);
    const ArrayFile file(path);
    std::vector<NamedArray> all;
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      all.push_back({file.names()[i], file.read(i)});
      const HostArray& whole = all.back().array;
      const std::int64_t some = (whole.size() + 1) / 2;
      const HostArray part = file.read(i, [&](const ArrayLayout&) { return some; });
      const std::size_t size = static_cast<std::size_t>(some) * itemsize(whole.dtype);
      if (part.bytes != whole.bytes.substr(0, size))
        return Checked::fail("part", fmt::format("the first {} elements of '{}' are '{}'", some,
                                                 as_text(all.back()), hexadecimal(part.bytes)));
    }
    if (const std::string what = difference(c.arrays, all, c.format != 0); !what.empty())
      return Checked::fail("file", what);
    return std::nullopt;
  }

  LastParsed<FileCase> cases_;
  TemporaryDirectory folder_{"touchstone-files"};
};

}  // namespace

std::unique_ptr<Area> make_file_area() { return std::make_unique<FileArea>(); }

}  // namespace touchstone::fuzz
