#pragma once

#include <string>
#include <vector>

#include "touchstone/fuzz/cases/call.h"
#include "touchstone/fuzz/definitions/near.h"

namespace touchstone::fuzz {

/// A call of the library, and its text, on a device, against the definition of the function
/// (definitions/calls.h):
///   refused      a call that fits is accepted
///   form         type and shape of each result are as defined
///   value        elements are within rounding error of the definition
///   outside      likewise with another number in an integer input; where no definition is left,
///                as with a position outside, the call is refused
///   gradient     backward() agrees with differences of the definition where it is smooth
/// Throws ParseError if the call does not fit.
Checked check_call(const Call& call, const std::string& text, Effort effort,
                   const std::string& device);

/// A definition of `touchstone kernel --list` (kernel.softmax), made a kernel and computed by the
/// reference, against its loops (definitions/define_kernels.cpp), with the relations of areas.h:
/// refused, form, value (exact where nothing is rounded), legal and changed.
Checked check_definition(const Call& call, const std::string& text, Effort effort);
bool is_kernel_call(const Call& call);

/// The relations `form` and `value` for many calls, computed in one schedule, so that a compiler
/// starts once: a line for each call that differs from its definition.
std::vector<std::string> differing_calls(const std::vector<std::string>& texts,
                                         const std::string& device);

/// Whether a number is right within the definition's bound.
bool fits(defined::Real got, const defined::Near& wanted, bool signed_zeros);

/// Throws ParseError if the call does not fit.
void require_call(const Call& call);

}  // namespace touchstone::fuzz
