#pragma once

#include <string_view>
#include <vector>

#include "touchstone/uop/uop.h"

namespace touchstone::fuzz {

/// A program in the notation of program.h as a graph of UOps, nothing of it computed: any number of
/// statements and elements, and what schedulers tell apart besides:
///   "contiguous %a", "contiguous_backward %a", "detach %a", "fuse %a"
///   "copy D1 %a" to a device (without one: to D1 and back), "float32 4 @D1: 1 2" for an input
///   there "sink %a %b ..." as the last statement: all of these are wanted "cmpne", "and", "or",
///   "shl", "shr", "pow", "threefry", "reduce_prod %a AXES"
/// Devices are D0, where it runs, D1, the host, D2 and on. An input is a BUFFER, whatever its
/// values.
struct UOpProgram {
  std::vector<UOp> values;  // of each statement
  UOp sink;                 // over what is wanted: that of `sink`, else the last value

  /// Throws ParseError naming the statement and what is wrong with it.
  static UOpProgram parse(std::string_view text);
};

}  // namespace touchstone::fuzz
