#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// Styles of C for different compilers.
enum class CStyle : std::uint8_t {
  Short,  // a value used once may be inlined at its use
  /// As Short, but float32 and float64 constants, conditions from `?`, and casts to 8- and 16-bit
  /// integers get names. For libtcc 0.9.27, which folds constants in long double and then rounds
  /// again, treats the condition `c ? 0 : 0` as true, and `(float)(u16)x` of a negative int8 as
  /// `(float)x`.
  Plain
};

/// A compiled kernel; parameters as described below.
using KernelFunction = void (*)(void* const* bufs, const std::int64_t* vars, std::int64_t part,
                                std::int64_t parts);

/// Renders one C function
///   void SYMBOL(void* const* bufs, const i64* vars, i64 part, i64 parts)
/// that computes the kernel, without its preamble. bufs[i] is buffer i; if the kernel checks
/// positions, the last buffer is followed by one IndexFault per part, which receives the part's
/// least fault. vars are the kernel's variables in order. The call runs share `part` of `parts` of
/// the `split` loop's iterations (0 of 1: all); without such a loop, call only part 0.
std::string render_c_function(const LinearKernel& kernel, std::string_view symbol,
                              CStyle style = CStyle::Short);

/// Renders a complete C file with one function, named after the kernel.
std::string render_c(const LinearKernel& kernel, CStyle style = CStyle::Short);

/// As above, for clang and gcc: loops over lanes use vector types where possible, with accumulators
/// in registers. The results are bit-identical.
std::string render_vector_function(const LinearKernel& kernel, std::string_view symbol);
std::string render_vector_c(const LinearKernel& kernel);

/// Renders OpenCL C with doubles and without contraction: a kernel function of that name whose
/// arguments are the buffers by number, then the variables as long. Work-items share the iterations
/// of the `split` loop; without one, use a single work-item. Throws AstError if the kernel checks
/// positions, since faults could not be reported.
std::string render_opencl(const LinearKernel& kernel);

}  // namespace touchstone
