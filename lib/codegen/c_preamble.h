#pragma once

#include <string>
#include <string_view>

namespace touchstone::codegen {

/// The C code to place before `functions`: type names, and the helpers and libm functions that they
/// call directly or indirectly. Needs no header; C11 without extensions, for targets where char,
/// short, int and long long have 8, 16, 32 and 64 bits and conversion to a signed type wraps, as
/// gcc, clang and tcc guarantee.
std::string c_preamble(std::string_view functions);

/// A hash of everything c_preamble can return; invalidates cached code when it changes.
const std::string& c_preamble_identity();

/// As c_preamble, in OpenCL C. Apply opencl_literals afterwards.
std::string opencl_preamble(std::string_view functions);

/// Rewrites 64-bit literals for OpenCL C: 1ul for 1ull.
std::string opencl_literals(std::string_view text);

}  // namespace touchstone::codegen
