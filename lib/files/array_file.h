#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/npy.h"

namespace touchstone {

/// An array and its name in the file; the name is empty in a .npy, which holds one array.
struct NamedArray {
  std::string name;
  HostArray array;
};

/// Called with an array's name, type and shape before its elements are read or unpacked; returns
/// how many leading elements are wanted. Throws to refuse the array.
using Wanted = std::function<std::int64_t(const ArrayLayout&)>;

/// A file of arrays; the extension selects the format: .npy, .npz, .safetensors, .pt or .pth
/// (PyTorch). Opening it reads only names, types and shapes, at most 16 MiB.
class ArrayFile {
 public:
  /// Throws SystemError for the file, ParseError for its content or name.
  explicit ArrayFile(const std::filesystem::path& path);
  ~ArrayFile();
  ArrayFile(ArrayFile&&) noexcept;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;
  ArrayFile& operator=(ArrayFile&&) = delete;

  /// In file order; for a .npy, one empty name.
  const std::vector<std::string>& names() const;
  /// Returns array names()[i]; if only part was wanted, a list of that many elements. Throws
  /// SystemError, ParseError, and anything `wanted` throws.
  HostArray read(std::size_t i, const Wanted& wanted = {}) const;

  struct Reader;  // one per format

 private:
  std::unique_ptr<Reader> reader_;
};

/// Returns all arrays of a file in file order. Throws as ArrayFile.
std::vector<NamedArray> read_array_file(const std::filesystem::path& path);

/// Writes a file atomically; the extension selects one of the above formats except PyTorch's. A
/// .npy takes one array and drops its name. Throws ParseError for the extension, the count, or an
/// empty or repeated name.
void write_array_file(const std::filesystem::path& path, std::span<const NamedArray> arrays);

/// Reads one array: the only one of "FILE", or the named one of "FILE:NAME". Throws SystemError, or
/// ParseError that lists the names.
HostArray read_array(const std::string& what, const Wanted& wanted = {});

/// Reads the format of numpy.savez and savez_compressed: a zip archive of .npy files, stored or
/// deflated. Throws ParseError that starts with `where`: not an archive, a part outside the file,
/// members that share bytes, wrong size or checksum, encryption, a member that is not a .npy or
/// repeats a name.
std::vector<NamedArray> parse_npz(std::string_view bytes, const std::string& where);
/// Writes an .npz of stored members. Throws ParseError for a name that is not UTF-8.
std::string npz_bytes(std::span<const NamedArray> arrays);

/// Reads Hugging Face's safetensors: 8 bytes of header size, a JSON header, the elements. Throws
/// ParseError that starts with `where`: a header that is truncated, not JSON, or false; an
/// unsupported type; arrays that overlap or leave gaps.
std::vector<NamedArray> parse_safetensors(std::string_view bytes, const std::string& where);
/// The array layouts in file order.
std::vector<ArrayLayout> safetensors_layout(std::string_view bytes, const std::string& where);
/// Metadata of a file, such as "format": "pt"; its order does not matter.
using Metadata = std::map<std::string, std::string>;
std::string safetensors_bytes(std::span<const NamedArray> arrays, const Metadata& metadata = {});
/// The header's metadata; may be empty. Throws as parse_safetensors, for the whole header.
Metadata safetensors_metadata(std::string_view bytes, const std::string& where);

/// Reads tensors written by torch.save, alone or in nested dictionaries and lists, as an archive or
/// as the stream of PyTorch before 1.6. Keys and positions form the names: {"model": {"weight": t}}
/// has "model.weight"; a tensor alone has an empty name. Other values are skipped. Throws
/// ParseError that starts with `where`: neither format; a pickle that is truncated, names or calls
/// anything that tensors do not need, or has containers that contain themselves; a tensor outside
/// its storage or with more elements than it; tensors of more than 16 times the bytes of all
/// storages; an unsupported type.
std::vector<NamedArray> parse_torch(std::string_view bytes, const std::string& where);
/// As parse_torch, for a file of any name. Also throws SystemError.
std::vector<NamedArray> read_torch_file(const std::filesystem::path& path);

}  // namespace touchstone
