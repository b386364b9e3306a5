#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "touchstone/base/rows.h"
#include "touchstone/codegen/linearize.h"

namespace touchstone {

/// A deliberate fault in generated code, to test that checks detect it. No fault accesses memory
/// outside a buffer.
enum class Fault : std::uint8_t {
  None,
  DropLastReduce,
  MaskOffByOne,
  StrideSwapped,
  IntDivFloors,
  MaxWithoutNan
};

/// A fault, its command-line name, and its effect.
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

static_assert(rows_follow_enum(fault_table, &FaultInfo::fault, Fault::MaxWithoutNan),
              "fault_table needs one row per Fault, in the order of Fault");

constexpr const FaultInfo& info(Fault fault) {
  return fault_table[static_cast<std::size_t>(fault)];
}
constexpr std::string_view name(Fault fault) { return info(fault).name; }

/// Looks up a name. Throws ParseError that lists the names, nearest first.
Fault parse_fault(std::string_view name);

/// True if the fault changes the code of `kernel`. Its results may still be equal by chance.
bool holds_fault(const LazyOpPtr& kernel, Fault fault);

/// Returns the kernel with a fault that applies to kernels (DropLastReduce, MaskOffByOne,
/// StrideSwapped) in every node that can have it; unchanged for other faults.
LazyOpPtr plant_fault(const LazyOpPtr& kernel, Fault fault);

/// Linearizes a kernel with a fault; with Fault::None, correctly. Throws as `linearize`.
LinearKernel linearize_with(Fault fault, const LazyOpPtr& kernel,
                            const CodegenOptions& options = {});

}  // namespace touchstone
