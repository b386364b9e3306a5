#pragma once

#include <string_view>
#include <vector>

#include "touchstone/uop/uop.h"

namespace touchstone::fuzz {

/// A program in the notation of program.h as an uncomputed graph of UOps, with any number of
/// statements and elements. It adds what only schedulers distinguish:
///   "contiguous %a", "contiguous_backward %a", "detach %a", "fuse %a"
///   "copy D1 %a" to a device (without one: to D1 and back)
///   "float32 4 @D1: 1 2" for an input on a device
///   "sink %a %b ..." as the last statement: all of these are wanted
///   "cmpne", "and", "or", "shl", "shr", "pow", "threefry", "reduce_prod %a AXES"
/// Devices are D0 (where it runs), D1 (the host), D2 and so on. An input is a BUFFER, whatever its
/// values.
struct UOpProgram {
  std::vector<UOp> values;  // of each statement
  UOp sink;                 // over the wanted values: those of `sink`, else the last value

  /// Throws ParseError naming the statement and the mistake.
  static UOpProgram parse(std::string_view text);
};

}  // namespace touchstone::fuzz
