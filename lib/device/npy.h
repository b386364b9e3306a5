#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"

namespace touchstone {

/// An array on the host: dtype, shape and elements in row-major order, little-endian.
struct HostArray {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  std::string bytes;

  std::int64_t size() const;
};

/// Where an array lies in a file.
struct ArrayLayout {
  std::string name;  // empty in a .npy
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // of its first byte

  std::int64_t size() const;
};

/// NumPy's .npy (format 1.0 and 2.0, numpy.lib.format). bfloat16, which NumPy lacks, travels as the
/// raw two-byte type '|V2', the floats of 8 bits as bytes in a field of their name,
/// [('float8_e4m3', '|u1')]. Throws SystemError for the file, ParseError for its content: a bad
/// header, Fortran order, big-endian data, a type that is not ours, too few or too many bytes.
HostArray read_npy(const std::filesystem::path& path);
HostArray parse_npy(std::string_view bytes, const std::string& where);
ArrayLayout npy_layout(std::string_view bytes, const std::string& where);

/// The file as bytes, format 1.0.
std::string npy_bytes(const HostArray& array);
/// Writes the whole file or none of it.
void write_npy(const std::filesystem::path& path, const HostArray& array);

}  // namespace touchstone
