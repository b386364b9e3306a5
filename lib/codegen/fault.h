#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "touchstone/codegen/linearize.h"

namespace touchstone {

/// A deliberate mistake in generated code, to show that a check can see it. None of them reads or
/// writes outside a buffer.
enum class Fault : std::uint8_t {
  None,
  DropLastReduce,
  MaskOffByOne,
  StrideSwapped,
  IntDivFloors,
  MaxWithoutNan
};

/// A fault, its name on the command line, and what it does.
struct FaultInfo {
  Fault fault;
  std::string_view name;
  std::string_view description;
};

// clang-format off
inline constexpr std::array<FaultInfo, 6> fault_table = {{
    {Fault::None,           "none",             "no fault: the code as it should be"},
    {Fault::DropLastReduce, "drop-last-reduce", "the innermost reduce loop stops one iteration early"},
    {Fault::MaskOffByOne,   "mask-off-by-one",  "a masked axis of a load begins one element late"},
    {Fault::StrideSwapped,  "stride-swapped",   "two equal axes of a load have their strides exchanged"},
    {Fault::IntDivFloors,   "int-div-floors",   "integer DIV rounds down instead of towards zero"},
    {Fault::MaxWithoutNan,  "max-without-nan",  "MAX is a > b ? a : b, which loses NaN and signed zeros"},
}};
// clang-format on

constexpr bool fault_rows_follow_enum() {
  for (std::size_t i = 0; i < fault_table.size(); ++i)
    if (fault_table[i].fault != static_cast<Fault>(i)) return false;
  return static_cast<std::size_t>(Fault::MaxWithoutNan) + 1 == fault_table.size();
}
static_assert(fault_rows_follow_enum(),
              "fault_table needs one row per Fault, in the order of Fault");

constexpr const FaultInfo& info(Fault fault) {
  return fault_table[static_cast<std::size_t>(fault)];
}
constexpr std::string_view name(Fault fault) { return info(fault).name; }

/// By name. Throws ParseError that lists the names, the nearest one first.
Fault parse_fault(std::string_view name);

/// Whether the code of `kernel` differs with the fault in it. Values may still agree by luck.
bool holds_fault(const LazyOpPtr& kernel, Fault fault);

/// The kernel with the faults that are a kernel themselves (DropLastReduce, MaskOffByOne,
/// StrideSwapped) planted in every node that can hold them; unchanged for the others.
LazyOpPtr plant_fault(const LazyOpPtr& kernel, Fault fault);

/// The code of a kernel with a fault in it; of Fault::None, as it should be. Throws as `linearize`.
LinearKernel linearize_with(Fault fault, const LazyOpPtr& kernel,
                            const CodegenOptions& options = {});

}  // namespace touchstone
