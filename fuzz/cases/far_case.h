#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// A few elements of a buffer of more than 2^31 or 2^32, as "uint8 | 5000000000 shrink
/// 4294967290:4294967300 | sum 0": an integer type, a shape with movement operations that leave at
/// most kMostFar elements, and a program over them. Programs: "load", "neg", "sum AXES", "max
/// AXES", and "rows 7,4294967297", which reads the elements at these positions of the first axis,
/// one per column.
struct FarCase {
  enum class Kernel : std::uint8_t { Load, Neg, Sum, Max, Rows };

  DType dtype = DType::UInt8;
  ViewCase chain;
  Kernel program = Kernel::Load;
  std::vector<int> axes{};           // of Sum and Max
  std::vector<std::int64_t> rows{};  // of Rows

  /// Throws ParseError saying what is wrong.
  static FarCase parse(std::string_view text);
  std::string str() const;

  std::int64_t elements() const;  // of the buffer
  LazyOpPtr kernel() const;

  /// The buffer's content at this address: its low bits, in the type's width.
  static std::uint64_t at(std::int64_t address);
  /// By definition: the address of each element read, -1 for padding; and the kernel's answer.
  std::vector<std::int64_t> cells() const;
  std::vector<std::uint64_t> value() const;
};

inline constexpr std::int64_t kMostFar = 1024;

/// Shapes and operations near 2^31 and 2^32 elements and bytes, in buffers of at most 5 GiB.
std::string draw_far(Chooser& chooser);
std::vector<std::string> smaller_far(const FarCase& c);
Measure measure_of(const FarCase& c);

}  // namespace touchstone::fuzz
