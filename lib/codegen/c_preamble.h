#pragma once

#include <string>
#include <string_view>

namespace touchstone::codegen {

/// The C that must stand before `functions`: type names, and those helpers and libm functions that
/// they (and helpers among themselves) call. Needs no header; C11 without extensions, for targets
/// where char, short, int and long long have 8, 16, 32 and 64 bits and conversion to a signed type
/// wraps, as gcc, clang and tcc promise.
std::string c_preamble(std::string_view functions);

/// A hash of all that c_preamble may give: code kept on disk stays right while it is the same.
const std::string& c_preamble_identity();

/// The same as c_preamble in OpenCL C. Suffixes of literals must be put right after
/// (opencl_literals).
std::string opencl_preamble(std::string_view functions);

/// `text` with literals of 64 bits as OpenCL C writes them: 1ul for 1ull.
std::string opencl_literals(std::string_view text);

}  // namespace touchstone::codegen
