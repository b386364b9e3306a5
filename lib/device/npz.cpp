#include <set>

#include <zlib.h>

#include "touchstone/base/error.h"
#include "touchstone/device/array_file.h"

// The zip archive as PKWARE's APPNOTE describes it, as far as NumPy uses it.

namespace touchstone {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::uint64_t kUnknown = 0xffffffff;  // the size stands in the extra field

[[noreturn]] void bad_zip(const std::string& where, const std::string& why) {
  throw ParseError(fmt::format("'{}' is not a usable .npz file: {}", where, why));
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t n = 0;
  for (std::size_t i = width; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
  return n;
}

void append(std::string& out, std::uint64_t n, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(n >> (8 * i) & 255);
}

std::uint32_t checksum(std::string_view bytes) {
  uLong crc = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, std::size_t{1} << 30);
    crc =
        ::crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    bytes.remove_prefix(piece.size());
  }
  return static_cast<std::uint32_t>(crc);
}

// One entry of the central directory.
struct Member {
  std::string_view name;
  std::uint64_t method = 0, checksum = 0, packed = 0, size = 0, offset = 0;
};

class Archive {
 public:
  Archive(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::vector<NamedArray> arrays() {
    std::vector<NamedArray> out;
    for (const Member& m : members()) out.push_back({array_name(m), array(m)});
    return out;
  }

  std::vector<NpzMember> mapped() {
    std::vector<NpzMember> out;
    for (const Member& m : members()) {
      NpzMember& made = out.emplace_back();
      if (m.method == 0) {
        const std::string_view stored = packed(m);
        made.layout = npy_layout(stored, where_of(m));
        made.layout.offset += static_cast<std::size_t>(stored.data() - bytes_.data());
      } else {
        made.unpacked = array(m);
      }
      made.layout.name = array_name(m);
    }
    return out;
  }

 private:
  std::vector<Member> members() const {
    std::size_t at = 0, count = 0;
    find_directory(at, count);
    std::vector<Member> all;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(directory_entry(at));
      if (!seen.insert(all.back().name).second)
        bad_zip(where_, fmt::format("it has two members '{}'", all.back().name));
    }
    return all;
  }

  std::string array_name(const Member& m) const {
    if (!m.name.ends_with(".npy"))
      bad_zip(where_, fmt::format("its member '{}' is no .npy", m.name));
    return std::string(m.name.substr(0, m.name.size() - 4));
  }
  std::string where_of(const Member& m) const { return fmt::format("{}:{}", where_, m.name); }

  // The piece [at, at + size), which must lie within the file.
  std::string_view piece(std::uint64_t at, std::uint64_t size, const char* what) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      bad_zip(where_, fmt::format("{} lies outside the file", what));
    return bytes_.substr(at, size);
  }

  // The end record stands last, behind it at most a comment of 65,535 bytes.
  void find_directory(std::size_t& at, std::size_t& count) const {
    if (bytes_.size() < kEndSize) bad_zip(where_, "it is no zip archive");
    const std::size_t last = bytes_.size() - kEndSize;
    for (std::size_t end = last;; --end) {
      if (little_endian(bytes_, end, 4) == kEnd &&
          end + kEndSize + little_endian(bytes_, end + 20, 2) == bytes_.size()) {
        count = little_endian(bytes_, end + 10, 2);
        at = little_endian(bytes_, end + 16, 4);
        if (count == 0xffff || at == kUnknown)
          bad_zip(where_, "archives of 4 GiB and more are not read; use .safetensors");
        return;
      }
      if (end == 0 || last - end == 0xffff)
        bad_zip(where_, "it is no zip archive, or its end is missing");
    }
  }

  Member directory_entry(std::size_t& at) const {
    const std::string_view fixed = piece(at, kCentralSize, "an entry of its directory");
    if (little_endian(fixed, 0, 4) != kCentral) bad_zip(where_, "its directory is damaged");
    const std::uint64_t name = little_endian(fixed, 28, 2), extra = little_endian(fixed, 30, 2),
                        comment = little_endian(fixed, 32, 2);
    Member m;
    m.name = piece(at + kCentralSize, name, "the name of a member");
    if ((little_endian(fixed, 8, 2) & 1) != 0)
      bad_zip(where_, fmt::format("its member '{}' is encrypted", m.name));
    m.method = little_endian(fixed, 10, 2);
    m.checksum = little_endian(fixed, 16, 4);
    m.packed = little_endian(fixed, 20, 4);
    m.size = little_endian(fixed, 24, 4);
    m.offset = little_endian(fixed, 42, 4);
    widen(m, piece(at + kCentralSize + name, extra, "the entry of a member"));
    at += kCentralSize + name + extra + comment;
    return m;
  }

  // Sizes of 64 bits, in the order in which 32 were too few.
  void widen(Member& m, std::string_view extra) const {
    while (extra.size() >= 4) {
      const std::uint64_t id = little_endian(extra, 0, 2), size = little_endian(extra, 2, 2);
      if (size > extra.size() - 4) return;
      std::string_view field = extra.substr(4, size);
      extra.remove_prefix(4 + size);
      if (id != 1) continue;
      for (std::uint64_t* wanted : {&m.size, &m.packed, &m.offset}) {
        if (*wanted != kUnknown || field.size() < 8) continue;
        *wanted = little_endian(field, 0, 8);
        field.remove_prefix(8);
      }
    }
  }

  // Its bytes in the file.
  std::string_view packed(const Member& m) const {
    const std::string_view local = piece(m.offset, kLocalSize, "a member");
    if (little_endian(local, 0, 4) != kLocal) bad_zip(where_, "a member is not where it should be");
    const std::uint64_t start =
        m.offset + kLocalSize + little_endian(local, 26, 2) + little_endian(local, 28, 2);
    const std::string_view bytes = piece(start, m.packed, "a member");
    if (m.method == 0 && m.packed != m.size)
      bad_zip(where_, fmt::format("the sizes of '{}' disagree", m.name));
    return bytes;
  }

  HostArray array(const Member& m) {
    const std::string data = unpacked(m, packed(m));
    if (checksum(data) != m.checksum)
      bad_zip(where_, fmt::format("the checksum of '{}' is wrong", m.name));
    return parse_npy(data, where_of(m));
  }

  std::string unpacked(const Member& m, std::string_view packed) {
    if (m.method == 0) return std::string(packed);
    if (m.method != 8)
      bad_zip(where_,
              fmt::format("'{}' is packed by method {}; 0 and 8 are read", m.name, m.method));
    // Deflate makes nothing smaller than by 1,032; members that share bytes could still be many.
    constexpr std::uint64_t kMostRatio = 1032;
    unpacked_ += m.size;
    if (m.size > kMostRatio * packed.size() + 64 || unpacked_ > kMostRatio * bytes_.size())
      bad_zip(where_, fmt::format("'{}' claims more than its bytes can hold", m.name));
    std::string out(m.size, '\0');
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) bad_zip(where_, "zlib has no memory");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());  // below 4 GiB, as the directory's offset
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    int status = Z_OK;
    std::size_t left = out.size();
    while (status == Z_OK) {
      const std::size_t room = std::min<std::size_t>(left, std::size_t{1} << 30);
      stream.avail_out = static_cast<uInt>(room);
      status = ::inflate(&stream, Z_NO_FLUSH);
      left -= room - stream.avail_out;
      if (status == Z_OK && left == 0 && stream.avail_in == 0) break;
      if (status == Z_OK && room == stream.avail_out) status = Z_BUF_ERROR;  // no progress
    }
    ::inflateEnd(&stream);
    if (status != Z_STREAM_END || left != 0)
      bad_zip(where_, fmt::format("'{}' does not unpack to {} bytes", m.name, m.size));
    return out;
  }

  std::string_view bytes_;
  const std::string& where_;
  std::uint64_t unpacked_ = 0;
};

}  // namespace

std::vector<NamedArray> parse_npz(std::string_view bytes, const std::string& where) {
  return Archive(bytes, where).arrays();
}

std::vector<NpzMember> npz_members(std::string_view bytes, const std::string& where) {
  return Archive(bytes, where).mapped();
}

std::string npz_bytes(std::span<const NamedArray> arrays) {
  std::string out, directory;
  for (const NamedArray& a : arrays) {
    const std::string name = a.name + ".npy", data = npy_bytes(a.array);
    const std::size_t offset = out.size();
    if (offset + data.size() >= kUnknown)
      throw ParseError("a .npz of 4 GiB and more is not written; write a .safetensors");
    std::string common;
    append(common, 20, 2);          // version 2.0
    append(common, 0x800, 2);       // the name is UTF-8
    append(common, 0, 2);           // stored
    append(common, 0x00210000, 4);  // 1 January 1980, so that equal arrays give equal files
    append(common, checksum(data), 4);
    append(common, data.size(), 4);
    append(common, data.size(), 4);
    append(common, name.size(), 2);
    append(common, 0, 2);
    append(out, kLocal, 4);
    out += common + name + data;
    append(directory, kCentral, 4);
    append(directory, 20, 2);
    directory += common;
    directory.append(10, '\0');
    append(directory, offset, 4);
    directory += name;
  }
  const std::size_t start = out.size();
  if (arrays.size() >= 0xffff || start + directory.size() >= kUnknown)
    throw ParseError("a .npz of so many arrays is not written; write a .safetensors");
  out += directory;
  append(out, kEnd, 4);
  append(out, 0, 4);
  append(out, arrays.size(), 2);
  append(out, arrays.size(), 2);
  append(out, directory.size(), 4);
  append(out, start, 4);
  append(out, 0, 2);
  return out;
}

}  // namespace touchstone
