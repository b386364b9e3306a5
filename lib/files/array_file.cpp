#include "touchstone/files/array_file.h"

#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_reader.h"

namespace touchstone {
namespace {

enum class Format { Npy, Npz, Safetensors, Torch };

Format format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".npy") return Format::Npy;
  if (extension == ".npz") return Format::Npz;
  if (extension == ".safetensors") return Format::Safetensors;
  if (extension == ".pt" || extension == ".pth") return Format::Torch;
  throw ParseError(
      fmt::format("'{}' has an unknown extension; arrays are read from .npy, .npz and "
                  ".safetensors, and from PyTorch's .pt and .pth",
                  path.string()));
}

// Lists the first names only: a file may hold many.
std::string list_of(std::span<const std::string> names) {
  constexpr std::size_t kMost = 20;
  return fmt::format("{}{}", fmt::join(names.first(std::min(names.size(), kMost)), ", "),
                     names.size() > kMost ? fmt::format(", ... ({})", names.size()) : "");
}

class NpyReader final : public ArrayFile::Reader {
 public:
  NpyReader(std::unique_ptr<ByteSource> bytes, std::string path)
      : bytes_(std::move(bytes)), where_(std::move(path)) {
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_->size(), kNpyHead));
    at_ = npy_header(bytes_->read(0, head), bytes_->size(), where_);
    names = {""};
  }
  HostArray read(std::size_t, const Wanted& wanted) const override {
    HostArray array = elements(*bytes_, at_, wanted);
    require_npy_bools(array.dtype, array.bytes, where_);
    return array;
  }

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  ArrayLayout at_;
};

void require_names(std::span<const NamedArray> arrays, const std::string& where) {
  std::set<std::string_view> seen;
  for (const NamedArray& a : arrays)
    if (a.name.empty() || !seen.insert(a.name).second)
      throw ParseError(fmt::format("'{}' cannot hold an array named '{}'{}", where, a.name,
                                   a.name.empty() ? "" : " twice"));
}

}  // namespace

std::size_t wanted_of(ArrayLayout& at, const Wanted& wanted) {
  const std::int64_t size = at.size();
  const std::int64_t count = wanted ? std::min(wanted(at), size) : size;
  if (count < size) at.shape = {count};
  return static_cast<std::size_t>(count) * itemsize(at.dtype);
}

HostArray elements(const ByteSource& bytes, ArrayLayout at, const Wanted& wanted) {
  const std::size_t count = wanted_of(at, wanted);
  return {at.dtype, std::move(at.shape), bytes.read(at.offset, count)};
}

ArrayFile::ArrayFile(const std::filesystem::path& path) {
  const Format format = format_of(path);
  auto file = std::make_unique<InputFile>(path);
  switch (format) {
    case Format::Npy: reader_ = std::make_unique<NpyReader>(std::move(file), path.string()); break;
    case Format::Npz: reader_ = npz_reader(std::move(file), path.string()); break;
    case Format::Safetensors: reader_ = safetensors_reader(std::move(file), path.string()); break;
    case Format::Torch: reader_ = torch_reader(std::move(file), path.string()); break;
  }
}
ArrayFile::~ArrayFile() = default;
ArrayFile::ArrayFile(ArrayFile&&) noexcept = default;

const std::vector<std::string>& ArrayFile::names() const { return reader_->names; }

HostArray ArrayFile::read(std::size_t i, const Wanted& wanted) const {
  return reader_->read(i, wanted);
}

std::vector<NamedArray> read_array_file(const std::filesystem::path& path) {
  const ArrayFile file(path);
  std::vector<NamedArray> arrays;
  for (std::size_t i = 0; i < file.names().size(); ++i)
    arrays.push_back({file.names()[i], file.read(i)});
  return arrays;
}

void write_array_file(const std::filesystem::path& path, std::span<const NamedArray> arrays) {
  switch (format_of(path)) {
    case Format::Npy:
      if (arrays.size() != 1)
        throw ParseError(fmt::format(
            "'{}' can hold one array, but {} were given; write a .npz or a .safetensors",
            path.string(), arrays.size()));
      return write_npy(path, arrays[0].array);
    case Format::Npz:
      require_names(arrays, path.string());
      return write_file_atomically(path, npz_bytes(arrays));
    case Format::Safetensors:
      require_names(arrays, path.string());
      return write_file_atomically(path, safetensors_bytes(arrays));
    case Format::Torch:
      throw ParseError(
          fmt::format("'{}': PyTorch's files can be read, not written; write a .safetensors, which "
                      "PyTorch reads",
                      path.string()));
  }
}

HostArray read_array(const std::string& what, const Wanted& wanted) {
  // The file's own name may contain a colon.
  const std::size_t colon = what.rfind(':');
  std::error_code ignored;
  const bool named = colon != std::string::npos && !std::filesystem::exists(what, ignored);
  const std::string path = what.substr(0, named ? colon : std::string::npos);
  const ArrayFile file(path);
  const std::vector<std::string>& names = file.names();
  if (!named) {
    if (names.size() == 1) return file.read(0, wanted);
    throw ParseError(fmt::format("'{0}' contains {1} arrays; name one, as {0}:{2} (there are: {3})",
                                 path, names.size(), names.empty() ? "NAME" : names[0],
                                 list_of(names)));
  }
  const std::string name = what.substr(colon + 1);
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    throw ParseError(fmt::format("'{}' contains no array named '{}'; there are: {}", path, name,
                                 list_of(names)));
  return file.read(static_cast<std::size_t>(at - names.begin()), wanted);
}

}  // namespace touchstone
