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

/// An array with the name it has in its file; empty in a .npy, which holds one.
struct NamedArray {
  std::string name;
  HostArray array;
};

/// Asked of an array before any of its elements is read or unpacked, with its name, type and shape:
/// how many of them, from the first, are wanted. Throws to refuse it.
using Wanted = std::function<std::int64_t(const ArrayLayout&)>;

/// A file of arrays, by its extension: .npy, .npz, .safetensors, .pt and .pth (PyTorch). Only what
/// tells names, types and shapes is read before an array is asked for; it may be at most 16 MiB.
class ArrayFile {
 public:
  /// Throws SystemError for the file, ParseError for its content or its name.
  explicit ArrayFile(const std::filesystem::path& path);
  ~ArrayFile();
  ArrayFile(ArrayFile&&) noexcept;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;
  ArrayFile& operator=(ArrayFile&&) = delete;

  /// In the file's order; of a .npy one, empty.
  const std::vector<std::string>& names() const;
  /// The array names()[i]; where not all of it was wanted, a list of that many elements. Throws
  /// SystemError, ParseError, and what `wanted` throws.
  HostArray read(std::size_t i, const Wanted& wanted = {}) const;

  struct Reader;  // one a format

 private:
  std::unique_ptr<Reader> reader_;
};

/// All arrays of a file, in its order. Throws as ArrayFile.
std::vector<NamedArray> read_array_file(const std::filesystem::path& path);

/// Writes the whole file or none of it; by the extension, as above but for PyTorch's. A .npy takes
/// one array, whose name is not kept. Throws ParseError for the extension, the count, a name that
/// is empty or double.
void write_array_file(const std::filesystem::path& path, std::span<const NamedArray> arrays);

/// One array: of "FILE" where the file holds one, of "FILE:NAME" the one of that name. Throws
/// ParseError that lists the names, SystemError.
HostArray read_array(const std::string& what, const Wanted& wanted = {});

/// numpy.savez and savez_compressed: a zip archive of .npy files, stored or deflated. Throws
/// ParseError that begins with `where`: no archive, a part that lies outside the file, members that
/// share bytes, a wrong size or checksum, encryption, a member that is no .npy or has the name of
/// another.
std::vector<NamedArray> parse_npz(std::string_view bytes, const std::string& where);
/// Stored. Throws ParseError for a name that is no UTF-8.
std::string npz_bytes(std::span<const NamedArray> arrays);

/// Hugging Face's safetensors: 8 bytes of header size, a JSON header, the elements. Throws
/// ParseError that begins with `where`: a header that is cut, no JSON, or says what is not so; a
/// type that is not ours; arrays that overlap or leave holes.
std::vector<NamedArray> parse_safetensors(std::string_view bytes, const std::string& where);
/// In the order of the file.
std::vector<ArrayLayout> safetensors_layout(std::string_view bytes, const std::string& where);
/// Notes beside the arrays, in no order that counts: "format": "pt", say.
using Metadata = std::map<std::string, std::string>;
std::string safetensors_bytes(std::span<const NamedArray> arrays, const Metadata& metadata = {});
/// Of the header; empty where there is none. Throws as parse_safetensors, for the whole header.
Metadata safetensors_metadata(std::string_view bytes, const std::string& where);

/// What torch.save writes of tensors, and of dictionaries and lists of them, whose keys and
/// positions make names: {"model": {"weight": t}} has "model.weight"; a tensor alone has no name;
/// an archive, or the stream of before PyTorch 1.6. Other values are left out. Throws ParseError
/// that begins with `where`: neither of them; a pickle that is cut, names or calls anything else
/// than tensors need, or whose containers hold themselves; tensors outside their storage, with more
/// elements than it, or with more than 16 times the bytes of all; types that are not ours.
std::vector<NamedArray> parse_torch(std::string_view bytes, const std::string& where);
/// The same of a file, of any name. Throws SystemError, too.
std::vector<NamedArray> read_torch_file(const std::filesystem::path& path);

}  // namespace touchstone
