#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// The styles of C that compilers ask for.
enum class CStyle : std::uint8_t {
  Short,  // a value used once may stand where it is used
  /// Likewise, but float32 and float64 constants, conditions made by `?`, and casts to integers of
  /// 8 and 16 bits have names, for libtcc 0.9.27: it computes what it knows in long double and then
  /// rounds once more, takes the condition `c ? 0 : 0` for true, and `(float)(u16)x` of a negative
  /// int8 for `(float)x`.
  Plain
};

/// One C function
///   void SYMBOL(void* const* bufs, const i64* vars, i64 part, i64 parts)
/// that computes the kernel, without what must stand before it. bufs[i] is the buffer of number i,
/// and after the last, where the kernel checks positions, an IndexFault for each part, which holds
/// the least of its faults when it is done;
/// vars are the kernel's variables in order. Of the iterations of the `split` loop it runs share
/// `part` of `parts` (0 of 1 is all); where there is no such loop, only part 0 may be called.
std::string render_c_function(const LinearKernel& kernel, std::string_view symbol,
                              CStyle style = CStyle::Short);

/// A whole C file with the function of one kernel under the kernel's name.
std::string render_c(const LinearKernel& kernel, CStyle style = CStyle::Short);

/// The same two for clang and gcc: loops over lanes are vectors of theirs where they can be, and
/// the accumulators of these stand in registers. With the same bits.
std::string render_vector_function(const LinearKernel& kernel, std::string_view symbol);
std::string render_vector_c(const LinearKernel& kernel);

/// The same in OpenCL C with doubles, contraction off: a kernel function of that name whose
/// arguments are the buffers by number, then the variables as long. Its work-items share the
/// iterations of the `split` loop; where there is none, there must be one work-item. Throws
/// AstError where the kernel checks positions, of which nobody would hear.
std::string render_opencl(const LinearKernel& kernel);

}  // namespace touchstone
