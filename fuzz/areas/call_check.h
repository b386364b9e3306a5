#pragma once

#include <string>

#include "touchstone/fuzz/cases/call.h"

namespace touchstone::fuzz {

/// A call of the library on a device, against the definition of what it calls
/// (definitions/calls.h):
///   refused      what fits is taken
///   form         the type and the shape of each result are as defined
///   value        so are the elements, within what rounding may do to them
///   outside      with another number in an input of integers, too; and where no definition is
///   left,
///                as of a position outside, it is refused
///   gradient     backward() gives what differences of the definition give, where it is smooth
/// Throws ParseError where the text is no call.
Checked check_call(const std::string& text, Effort effort, const std::string& device);

/// Throws ParseError where it is none that fits.
void require_call(const Call& call);

}  // namespace touchstone::fuzz
