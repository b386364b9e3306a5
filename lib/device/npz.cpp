#include <algorithm>
#include <set>

#include <zlib.h>

#include "touchstone/base/error.h"
#include "touchstone/device/array_reader.h"

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

// Of bytes that follow those whose checksum is `crc`.
std::uint32_t checksum(std::string_view bytes, uLong crc = ::crc32(0, nullptr, 0)) {
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
  std::string name;
  std::uint64_t method = 0, checksum = 0, packed = 0, size = 0, offset = 0;
};

// Unpacks a member piece by piece, so that its header is known before room for the rest is made.
class Inflater {
 public:
  Inflater(const ByteSource& bytes, std::uint64_t at, std::uint64_t packed)
      : bytes_(bytes), at_(at), left_(packed), chunk_(std::size_t{1} << 16, '\0') {
    good_ = ::inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// How many bytes came; fewer than `to` has where the member ends, or is damaged.
  std::size_t unpack(std::span<char> to) {
    std::size_t made = 0;
    while (good_ && !ended_ && made < to.size()) {
      if (stream_.avail_in == 0 && left_ > 0) refill();
      const std::size_t room = std::min<std::size_t>(to.size() - made, std::size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(to.data() + made);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      const std::size_t more = room - stream_.avail_out;
      made += more;
      ended_ = status == Z_STREAM_END;
      good_ = ended_ || (status == Z_OK && (more > 0 || stream_.avail_in > 0 || left_ > 0));
    }
    return made;
  }
  /// Whether the member ends here, with nothing behind it.
  bool at_end() {
    char more = 0;
    return unpack({&more, 1}) == 0 && ended_;
  }

 private:
  void refill() {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, chunk_.size()));
    bytes_.read(at_, std::span(chunk_).first(n));
    at_ += n;
    left_ -= n;
    stream_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
    stream_.avail_in = static_cast<uInt>(n);
  }

  const ByteSource& bytes_;
  std::uint64_t at_, left_;
  std::string chunk_;
  z_stream stream_{};
  bool good_ = false, ended_ = false;
};

class Archive {
 public:
  Archive(const ByteSource& bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::vector<Member> members() const {
    std::size_t count = 0;
    const std::string directory = find_directory(count);
    std::vector<Member> all;
    std::set<std::string> seen;
    std::size_t at = 0;
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(directory_entry(directory, at));
      if (!seen.insert(all.back().name).second)
        bad_zip(where_, fmt::format("it has two members '{}'", all.back().name));
      // Members that share bytes could unpack to any size.
      held += std::min(all.back().packed, bytes_.size() + 1);
      if (held > bytes_.size()) bad_zip(where_, "its members lie outside the file, or share bytes");
    }
    return all;
  }

  std::string array_name(const Member& m) const {
    if (!m.name.ends_with(".npy"))
      bad_zip(where_, fmt::format("its member '{}' is no .npy", m.name));
    return m.name.substr(0, m.name.size() - 4);
  }
  std::string where_of(const Member& m) const { return fmt::format("{}:{}", where_, m.name); }

  // Where its bytes begin in the file.
  std::uint64_t start_of(const Member& m) const {
    require_within(m.offset, kLocalSize, "a member");
    const std::string local = bytes_.read(m.offset, kLocalSize);
    if (little_endian(local, 0, 4) != kLocal) bad_zip(where_, "a member is not where it should be");
    const std::uint64_t start =
        m.offset + kLocalSize + little_endian(local, 26, 2) + little_endian(local, 28, 2);
    require_within(start, m.packed, "a member");
    if (m.method == 0 && m.packed != m.size)
      bad_zip(where_, fmt::format("the sizes of '{}' disagree", m.name));
    return start;
  }

  HostArray array(const Member& m, const Wanted& wanted) const {
    HostArray made = m.method == 0 ? stored(m, wanted) : inflated(m, wanted);
    require_npy_bools(made.dtype, made.bytes, where_of(m));
    return made;
  }

 private:
  void require_within(std::uint64_t at, std::uint64_t size, const char* what) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      bad_zip(where_, fmt::format("{} lies outside the file", what));
  }

  // The end record stands last, behind it at most a comment of 65,535 bytes.
  std::string find_directory(std::size_t& count) const {
    if (bytes_.size() < kEndSize) bad_zip(where_, "it is no zip archive");
    const std::size_t tail_size =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes_.size(), kEndSize + 0xffff));
    const std::uint64_t before = bytes_.size() - tail_size;
    const std::string tail = bytes_.read(before, tail_size);
    for (std::size_t end = tail_size - kEndSize;; --end) {
      if (little_endian(tail, end, 4) == kEnd &&
          end + kEndSize + little_endian(tail, end + 20, 2) == tail_size) {
        count = little_endian(tail, end + 10, 2);
        const std::uint64_t at = little_endian(tail, end + 16, 4);
        if (count == 0xffff || at == kUnknown)
          bad_zip(where_, "archives of 4 GiB and more are not read; use .safetensors");
        require_within(at, 0, "its directory");
        const std::uint64_t size =
            std::min(before + end, bytes_.size()) - std::min(at, before + end);
        if (size > kMostDirectory)
          bad_zip(where_, fmt::format("its directory has {} bytes, at most {} are read", size,
                                      kMostDirectory));
        return bytes_.read(at, static_cast<std::size_t>(size));
      }
      if (end == 0) bad_zip(where_, "it is no zip archive, or its end is missing");
    }
  }

  Member directory_entry(std::string_view directory, std::size_t& at) const {
    const auto piece = [&](std::size_t from, std::uint64_t size, const char* what) {
      if (from > directory.size() || size > directory.size() - from)
        bad_zip(where_, fmt::format("{} lies outside the file", what));
      return directory.substr(from, size);
    };
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

  void require_checksum(const Member& m, std::string_view head, std::string_view rest) const {
    if (checksum(rest, checksum(head)) != m.checksum)
      bad_zip(where_, fmt::format("the checksum of '{}' is wrong", m.name));
  }

  // A checksum is of the whole member, and looked at where all of it is wanted.
  HostArray stored(const Member& m, const Wanted& wanted) const {
    const std::uint64_t start = start_of(m);
    const auto head_size = static_cast<std::size_t>(std::min<std::uint64_t>(m.size, kNpyHead));
    const std::string head = bytes_.read(start, head_size);
    ArrayLayout at = npy_header(head, m.size, where_of(m));
    const std::size_t offset = at.offset, count = wanted_of(at, wanted);
    HostArray made{at.dtype, std::move(at.shape), bytes_.read(start + offset, count)};
    if (offset + count == m.size)
      require_checksum(m, std::string_view(head).substr(0, offset), made.bytes);
    return made;
  }

  HostArray inflated(const Member& m, const Wanted& wanted) const {
    if (m.method != 8)
      bad_zip(where_,
              fmt::format("'{}' is packed by method {}; 0 and 8 are read", m.name, m.method));
    // Deflate makes nothing smaller than by 1,032.
    constexpr std::uint64_t kMostRatio = 1032;
    const std::uint64_t start = start_of(m);
    if (m.size / kMostRatio > m.packed + 1)
      bad_zip(where_, fmt::format("'{}' claims more than its bytes can hold", m.name));
    const auto wrong_size = [&] {
      bad_zip(where_, fmt::format("'{}' does not unpack to {} bytes", m.name, m.size));
    };
    Inflater inflater(bytes_, start, m.packed);
    std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(m.size, kNpyHead)), '\0');
    if (inflater.unpack(head) != head.size()) wrong_size();
    ArrayLayout at = npy_header(head, m.size, where_of(m));
    const std::size_t offset = at.offset, count = wanted_of(at, wanted);
    HostArray made{at.dtype, std::move(at.shape), std::string(count, '\0')};
    const std::size_t begun = std::min(count, head.size() - offset);
    std::copy_n(head.begin() + static_cast<std::ptrdiff_t>(offset), begun, made.bytes.begin());
    if (inflater.unpack(std::span(made.bytes).subspan(begun)) != count - begun) wrong_size();
    if (offset + count == m.size) {
      if (!inflater.at_end()) wrong_size();
      require_checksum(m, std::string_view(head).substr(0, offset), made.bytes);
    }
    return made;
  }

  const ByteSource& bytes_;
  const std::string& where_;
};

class NpzReader final : public ArrayFile::Reader {
 public:
  NpzReader(std::unique_ptr<ByteSource> bytes, std::string where)
      : bytes_(std::move(bytes)), where_(std::move(where)), archive_(*bytes_, where_) {
    members_ = archive_.members();
    for (const Member& m : members_) names.push_back(archive_.array_name(m));
  }
  HostArray read(std::size_t i, const Wanted& wanted) const override {
    return archive_.array(members_[i], wanted);
  }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  Archive archive_;
  std::vector<Member> members_;
};

}  // namespace

std::unique_ptr<ArrayFile::Reader> npz_reader(std::unique_ptr<ByteSource> bytes,
                                              const std::string& where) {
  return std::make_unique<NpzReader>(std::move(bytes), where);
}

std::vector<NamedArray> parse_npz(std::string_view bytes, const std::string& where) {
  const MemoryBytes source(bytes);
  const Archive archive(source, where);
  std::vector<NamedArray> out;
  for (const Member& m : archive.members())
    out.push_back({archive.array_name(m), archive.array(m, {})});
  return out;
}

std::vector<NpzMember> npz_members(std::string_view bytes, const std::string& where) {
  const MemoryBytes source(bytes);
  const Archive archive(source, where);
  std::vector<NpzMember> out;
  for (const Member& m : archive.members()) {
    NpzMember& made = out.emplace_back();
    if (m.method == 0) {
      const std::uint64_t start = archive.start_of(m);
      made.layout = npy_layout(bytes.substr(start, m.size), archive.where_of(m));
      made.layout.offset += start;
    } else {
      made.unpacked = archive.array(m, {});
    }
    made.layout.name = archive.array_name(m);
  }
  return out;
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
