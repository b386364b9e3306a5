#include "touchstone/device/array_file.h"

#include <set>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"

namespace touchstone {
namespace {

enum class Format { Npy, Npz, Safetensors };

Format format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".npy") return Format::Npy;
  if (extension == ".npz") return Format::Npz;
  if (extension == ".safetensors") return Format::Safetensors;
  throw ParseError(
      fmt::format("'{}' is no file of arrays; .npy, .npz and .safetensors are", path.string()));
}

std::string names_of(std::span<const NamedArray> arrays) {
  std::vector<std::string_view> names;
  for (const NamedArray& a : arrays) names.push_back(a.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_names(std::span<const NamedArray> arrays, const std::string& where) {
  std::set<std::string_view> seen;
  for (const NamedArray& a : arrays)
    if (a.name.empty() || !seen.insert(a.name).second)
      throw ParseError(fmt::format("'{}' cannot hold an array named '{}'{}", where, a.name,
                                   a.name.empty() ? "" : " twice"));
}

}  // namespace

std::vector<NamedArray> read_array_file(const std::filesystem::path& path) {
  const Format format = format_of(path);
  const std::string bytes = read_file(path);
  switch (format) {
    case Format::Npy:
      return {{"", parse_npy(bytes, path.string())}};
    case Format::Npz:
      return parse_npz(bytes, path.string());
    case Format::Safetensors:
      break;
  }
  return parse_safetensors(bytes, path.string());
}

void write_array_file(const std::filesystem::path& path, std::span<const NamedArray> arrays) {
  switch (format_of(path)) {
    case Format::Npy:
      if (arrays.size() != 1)
        throw ParseError(
            fmt::format("'{}' holds one array, given were {}; write a .npz or a "
                        ".safetensors",
                        path.string(), arrays.size()));
      return write_npy(path, arrays[0].array);
    case Format::Npz:
      require_names(arrays, path.string());
      return write_file_atomically(path, npz_bytes(arrays));
    case Format::Safetensors:
      require_names(arrays, path.string());
      return write_file_atomically(path, safetensors_bytes(arrays));
  }
}

HostArray read_array(const std::string& what) {
  // A colon may also be part of the file's own name.
  const std::size_t colon = what.rfind(':');
  std::error_code ignored;
  const bool named = colon != std::string::npos && !std::filesystem::exists(what, ignored);
  const std::string file = what.substr(0, named ? colon : std::string::npos);
  std::vector<NamedArray> arrays = read_array_file(file);
  if (!named) {
    if (arrays.size() == 1) return std::move(arrays[0].array);
    throw ParseError(fmt::format("'{0}' holds {1} arrays; name one, as {0}:{2} (there are: {3})",
                                 file, arrays.size(), arrays.empty() ? "NAME" : arrays[0].name,
                                 names_of(arrays)));
  }
  const std::string name = what.substr(colon + 1);
  for (NamedArray& a : arrays)
    if (a.name == name) return std::move(a.array);
  throw ParseError(
      fmt::format("'{}' holds no array named '{}'; there are: {}", file, name, names_of(arrays)));
}

}  // namespace touchstone
