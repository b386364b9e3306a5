#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/array_file.h"

// Array files as their formats are defined, in a second implementation that uses only the types of
// lib/device. Each bit of `layout` chooses among the ways in which writers differ.
namespace touchstone::fuzz::definition {

/// A flaw in a file, which a reader must refuse.
enum class Damage : std::uint8_t {
  None,
  Short,      // the last byte is missing
  Long,       // one byte too many (.npy, .safetensors)
  Fortran,    // columns first, for arrays where that changes the order (.npy, .npz)
  BigEndian,  // of types of several bytes (.npy, .npz)
  Version,    // 3.0 of NumPy's format, whose header is UTF-8 (.npy, .npz)
  Checksum,   // a byte of a member changed (.npz)
  Hole,       // a gap between arrays (.safetensors)
  Overlap     // two arrays share bytes (.safetensors)
};
inline constexpr std::string_view kDamages[] = {"none",    "short",    "long", "fortran", "big",
                                                "version", "checksum", "hole", "overlap"};

/// numpy.lib.format: version 1.0 or 2.0 (bit 0), keys in another order (1), a header without
/// padding (2), without blanks and the last comma (3).
std::string npy_file(const HostArray& array, unsigned layout, Damage damage);
/// PKZIP APPNOTE 6.3: stored members, with an extra field (bit 4), with a comment at the end (5).
std::string npz_file(const std::vector<NamedArray>& arrays, unsigned layout, Damage damage);
/// Hugging Face's safetensors: header padded with blanks to 8 bytes (bit 0), entries in the
/// opposite order (1), metadata (2), JSON with blanks (3).
std::string safetensors_file(const std::vector<NamedArray>& arrays, unsigned layout, Damage damage);

/// The arrays of a file as `format` ("npy", "npz", "safetensors") defines it. Throws ParseError if
/// it is no such file or uses features that these writers do not.
std::vector<NamedArray> arrays_of_file(std::string_view format, std::string_view bytes);

}  // namespace touchstone::fuzz::definition
