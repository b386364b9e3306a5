#include <algorithm>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/files/array_reader.h"
#include "touchstone/files/zip_archive.h"

// A .npz is a zip archive of .npy files.

namespace touchstone {
namespace {

constexpr std::string_view kEnding = ".npy";

HostArray npz_array(ZipArchive& archive, std::size_t i, const std::string& path,
                    const Wanted& wanted) {
  ZipArchive::Member member(archive, i);
  const std::string where = fmt::format("{}:{}", path, archive.names()[i]);
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(member.size(), kNpyHead)),
                   '\0');
  member.read(head);
  ArrayLayout at = npy_header(head, member.size(), where);
  const std::size_t offset = at.offset, count = wanted_of(at, wanted);
  HostArray made{at.dtype, std::move(at.shape), std::string(count, '\0')};
  const std::size_t begun = std::min(count, head.size() - offset);
  std::copy_n(head.begin() + static_cast<std::ptrdiff_t>(offset), begun, made.bytes.begin());
  member.read(std::span(made.bytes).subspan(begun));
  // The checksum covers the whole member and is checked at its end.
  if (offset + count == member.size()) member.end();
  require_npy_bools(made.dtype, made.bytes, where);
  return made;
}

std::vector<std::string> names_of(const ZipArchive& archive) {
  std::vector<std::string> names;
  for (const std::string& name : archive.names()) {
    if (!name.ends_with(kEnding)) archive.bad(fmt::format("its member '{}' is not a .npy", name));
    names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  return names;
}

class NpzReader final : public ArrayFile::Reader {
 public:
  NpzReader(std::unique_ptr<ByteSource> bytes, const std::string& where)
      : bytes_(std::move(bytes)), where_(where), archive_(*bytes_, where, ".npz") {
    names = names_of(archive_);
  }
  HostArray read(std::size_t i, const Wanted& wanted) const override {
    return npz_array(archive_, i, where_, wanted);
  }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  mutable ZipArchive archive_;
};

// An array as a .npy; generates only the header.
class NpyBytes final : public ByteSource {
 public:
  explicit NpyBytes(const HostArray& array)
      : head_(npy_bytes({array.dtype, array.shape, {}})), elements_(array.bytes) {}

  std::uint64_t size() const override { return head_.size() + elements_.size(); }
  using ByteSource::read;
  void read(std::uint64_t at, std::span<char> to) const override {
    const auto from = static_cast<std::size_t>(at);
    const std::size_t begun =
        from < head_.size() ? std::string_view(head_).copy(to.data(), to.size(), from) : 0;
    if (begun < to.size())
      elements_.copy(to.data() + begun, to.size() - begun, from + begun - head_.size());
  }

 private:
  std::string head_;
  std::string_view elements_;
};

}  // namespace

std::unique_ptr<ArrayFile::Reader> npz_reader(std::unique_ptr<ByteSource> bytes,
                                              const std::string& where) {
  return std::make_unique<NpzReader>(std::move(bytes), where);
}

std::vector<NamedArray> parse_npz(std::string_view bytes, const std::string& where) {
  const MemoryBytes source(bytes);
  ZipArchive archive(source, where, ".npz");
  const std::vector<std::string> names = names_of(archive);
  std::vector<NamedArray> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.push_back({names[i], npz_array(archive, i, where, {})});
  return out;
}

std::string npz_bytes(std::span<const NamedArray> arrays) {
  std::vector<NpyBytes> members;
  for (const NamedArray& a : arrays) {
    if (a.name.find('\0') != a.name.npos)
      throw ParseError("a name in a .npz must not contain a zero byte");
    members.emplace_back(a.array);
  }
  std::vector<ZipPart> parts;
  for (std::size_t i = 0; i < members.size(); ++i)
    parts.push_back({arrays[i].name + std::string(kEnding), &members[i]});
  return zip_bytes(parts);
}

}  // namespace touchstone
