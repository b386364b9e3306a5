#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"

namespace touchstone {

/// An array on the host: elements in row-major order, little-endian.
struct HostArray {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  std::string bytes;

  std::int64_t size() const;
  bool operator==(const HostArray&) const = default;
};

/// The position of an array in a file.
struct ArrayLayout {
  std::string name;  // empty in a .npy
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // of its first byte

  std::int64_t size() const;
};

/// Reads NumPy's .npy (format 1.0 and 2.0, numpy.lib.format). bfloat16, which NumPy lacks, is the
/// raw two-byte type '|V2'; 8-bit floats are a one-field structure named after the type,
/// [('float8_e4m3', '|u1')]. Throws SystemError for the file, ParseError for its content: bad
/// header, Fortran order, big-endian data, unsupported type, too few or too many bytes.
HostArray read_npy(const std::filesystem::path& path);
HostArray parse_npy(std::string_view bytes, const std::string& where);
ArrayLayout npy_layout(std::string_view bytes, const std::string& where);

/// The most bytes before the elements of a .npy.
inline constexpr std::size_t kNpyHead = (std::size_t{1} << 16) + 12;
/// Returns the layout of a .npy of `size` bytes from its first kNpyHead bytes (`head`; the whole
/// file if shorter). Checks that the shape fits the size.
ArrayLayout npy_header(std::string_view head, std::uint64_t size, const std::string& where);
/// Throws ParseError if a bool element is neither 0 nor 1.
void require_npy_bools(DType dtype, std::string_view elements, const std::string& where);

/// Formats an array as .npy, format 1.0.
std::string npy_bytes(const HostArray& array);
/// Writes the file atomically.
void write_npy(const std::filesystem::path& path, const HostArray& array);

}  // namespace touchstone
