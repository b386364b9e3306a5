#include "touchstone/files/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "touchstone/base/checked.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The type as NumPy writes it. 8-bit floats are a structure whose field name tells them apart:
// NumPy cannot distinguish raw types of one size.
struct Descr {
  DType dtype;
  std::string_view text;
};
constexpr std::array<Descr, kDTypeCount> kDescrs = {
    {{DType::Bool, "'|b1'"},
     {DType::Int8, "'|i1'"},
     {DType::UInt8, "'|u1'"},
     {DType::Int16, "'<i2'"},
     {DType::UInt16, "'<u2'"},
     {DType::Int32, "'<i4'"},
     {DType::UInt32, "'<u4'"},
     {DType::Int64, "'<i8'"},
     {DType::UInt64, "'<u8'"},
     {DType::Float8E4M3, "[('float8_e4m3', '|u1')]"},
     {DType::Float8E5M2, "[('float8_e5m2', '|u1')]"},
     {DType::Float16, "'<f2'"},
     {DType::BFloat16, "'|V2'"},
     {DType::Float32, "'<f4'"},
     {DType::Float64, "'<f8'"}}};

[[noreturn]] void bad(const std::string& where, const std::string& why) {
  throw ParseError(fmt::format("'{}' is not a usable .npy file: {}", where, why));
}

// Parses the three entries of the header's Python dict, in any order.
class Header {
 public:
  Header(std::string_view text, const std::string& where) : text_(text), where_(where) {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      read_value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (descr_.empty() || !fortran_.has_value() || !has_shape_)
      bad(where_, "its header lacks descr, fortran_order or shape");
  }

  HostArray array() const {
    if (*fortran_) bad(where_, "it is in Fortran order; save numpy.ascontiguousarray(x)");
    HostArray out;
    out.shape = shape_;
    for (const Descr& d : kDescrs)
      if (d.text == descr_ || (d.dtype == DType::BFloat16 && descr_ == "'<V2'")) {
        out.dtype = d.dtype;
        return out;
      }
    bad(where_, fmt::format("its type {} is not supported: use little-endian bool, int, uint or "
                            "float, V2, or [('float8_e4m3', '|u1')] and [('float8_e5m2', '|u1')]",
                            descr_.substr(0, 80)));
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_space();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(where_, fmt::format("its header lacks an expected '{}'", c));
  }
  std::string_view quoted() {
    expect('\'');
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) bad(where_, "its header has an unterminated quote");
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return word;
  }
  // Parses a type: quoted, or a list of one field with NumPy's spacing.
  std::string_view descr() {
    skip_space();
    const std::string_view from = text_;
    if (accept('[')) {
      expect('(');
      quoted();
      expect(',');
      quoted();
      expect(')');
      expect(']');
    } else {
      quoted();
    }
    return from.substr(0, from.size() - text_.size());
  }
  std::int64_t number() {
    skip_space();
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), n);
    if (error != std::errc() || n < 0) bad(where_, "its shape contains an invalid size");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return n;
  }
  void read_value(std::string_view key) {
    skip_space();
    if (key == "descr") {
      descr_ = descr();
    } else if (key == "fortran_order") {
      fortran_ = text_.starts_with("True");
      if (!*fortran_ && !text_.starts_with("False"))
        bad(where_, "fortran_order is neither True nor False");
      text_.remove_prefix(*fortran_ ? 4 : 5);
    } else if (key == "shape") {
      has_shape_ = true;
      expect('(');
      while (!accept(')')) {
        shape_.push_back(number());
        if (!accept(',')) {
          expect(')');
          break;
        }
      }
    } else {
      bad(where_, fmt::format("its header has an unknown entry '{}'", key));
    }
  }

  std::string_view text_;
  const std::string& where_;
  std::string_view descr_;
  std::optional<bool> fortran_;
  bool has_shape_ = false;
  std::vector<std::int64_t> shape_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = (n << 8) | static_cast<unsigned char>(bytes[i]);
  return n;
}

}  // namespace

std::int64_t HostArray::size() const {
  std::int64_t n = 1;
  for (const std::int64_t s : shape) n = checked_mul(n, s);
  return n;
}

std::int64_t ArrayLayout::size() const { return HostArray{dtype, shape, {}}.size(); }

HostArray parse_npy(std::string_view bytes, const std::string& where) {
  ArrayLayout at = npy_layout(bytes, where);
  return {at.dtype, std::move(at.shape), std::string(bytes.substr(at.offset))};
}

ArrayLayout npy_layout(std::string_view bytes, const std::string& where) {
  ArrayLayout at = npy_header(bytes.substr(0, kNpyHead), bytes.size(), where);
  require_npy_bools(at.dtype, bytes.substr(at.offset), where);
  return at;
}

ArrayLayout npy_header(std::string_view head, std::uint64_t size, const std::string& where) {
  if (!head.starts_with(kMagic) || head.size() < 10)
    bad(where, "it does not begin with the NumPy magic");
  const int version = static_cast<unsigned char>(head[6]);
  if (version != 1 && version != 2)
    bad(where, fmt::format("its format has version {}; versions 1 and 2 are supported", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (head.size() < 8 + length_bytes) bad(where, "it ends inside the header");
  const std::size_t length = little_endian(head.substr(8, length_bytes));
  const std::size_t start = 8 + length_bytes + length;
  if (start > size) bad(where, "it ends inside the header");
  if (start > kNpyHead)
    bad(where, fmt::format("its header has {} bytes; the limit is {}", length,
                           kNpyHead - 8 - length_bytes));
  const HostArray array = Header(head.substr(8 + length_bytes, length), where).array();
  std::int64_t wanted = 0;
  try {
    wanted = checked_mul(array.size(), static_cast<std::int64_t>(itemsize(array.dtype)));
  } catch (const OverflowError&) {
    bad(where, "its shape is too large");
  }
  if (size - start != static_cast<std::uint64_t>(wanted))
    bad(where, fmt::format("it has {} bytes of elements, but its shape and type need {}",
                           size - start, wanted));
  return {"", array.dtype, array.shape, start};
}

void require_npy_bools(DType dtype, std::string_view elements, const std::string& where) {
  if (dtype != DType::Bool) return;
  for (const char c : elements)
    if (c != 0 && c != 1) bad(where, "it contains a bool that is neither 0 nor 1");
}

HostArray read_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::string where = path.string();
  const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kNpyHead));
  const ArrayLayout at = npy_header(file.read(0, head), file.size(), where);
  HostArray array{at.dtype, at.shape,
                  file.read(at.offset, static_cast<std::size_t>(file.size()) - at.offset)};
  require_npy_bools(array.dtype, array.bytes, where);
  return array;
}

std::string npy_bytes(const HostArray& array) {
  std::string shape;
  for (const std::int64_t s : array.shape) shape += fmt::format("{}, ", s);
  if (shape.size() > 2 && array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}",
                                   kDescrs[static_cast<std::size_t>(array.dtype)].text, shape);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');  // data is aligned to 64
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  return bytes + header + array.bytes;
}

void write_npy(const std::filesystem::path& path, const HostArray& array) {
  write_file_atomically(path, npy_bytes(array));
}

}  // namespace touchstone
