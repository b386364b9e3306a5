#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone::fuzz {

/// A shape and movement operations, in the words of `touchstone view`, and as_strided beside them:
/// "4,6 permute 1,0 reshape 8,3 pad 0:1,2:0 stride -1,2 as_strided 2,3:1,2:0". Up to four variables
/// may stand in sizes, ends, strides and offsets: "n=2..5 m=0..2 | 4,n pad m:0,0:n reshape
/// 8*n+2*m*n".
struct ViewCase {
  struct Range {
    std::string name;
    std::int64_t low, high;  // inclusive
  };
  std::vector<Range> variables;
  Shape base;
  std::vector<MovementOp> ops;

  /// Throws ParseError saying what is wrong.
  static ViewCase parse(std::string_view text);
  std::string str() const;
  /// The same with these variables, some or all, replaced by numbers.
  ViewCase bind(const symbolic::Values& values) const;
  /// Every combination of values; one that is empty where there is no variable.
  std::vector<symbolic::Values> all_values() const;
  /// All at their largest.
  symbolic::Values largest() const;
};

/// One operation in words, without a variable: its name and its argument, and back.
bool is_movement(std::string_view name);
MovementOp parse_movement(std::string_view name, std::string_view argument);
std::string movement_text(const MovementOp& op);  // "pad 0:1,2:0"

/// Chains of up to seven operations on up to some hundred elements: sizes of 0 and 1, masks on
/// several axes before a reshape that does not keep axes apart, factorisations of any kind, steps
/// of either sign. A part of the cases has a variable size, some of these are those of
/// draw_symbolic_chain, each case leaves out some operations, and some are views by strides, each
/// of the one below.
std::string draw_chain(Chooser& chooser);

/// Chains of one kind, without variables.
struct ChainKind {
  std::int64_t least = 0, most = 7;  // operations
  /// One as likely as another; none: as in a campaign.
  std::vector<MovementOp::Kind> among = {};
  bool dense = false;  // from two to four axes of 2 to 6 elements
  /// That many views of a flat buffer instead, each by strides of the one below and with padding.
  int strided = 0;
};
std::string draw_chain(Chooser& chooser, const ChainKind& kind);
/// Chains of up to six operations whose numbers are sums and products of up to four variables; or
/// with one variable, and what fits of as many operations as are asked for.
std::string draw_symbolic_chain(Chooser& chooser, std::int64_t operations = -1);

/// The meaning of a chain: the buffer address of each element in row-major order, -1 for padding.
struct Addresses {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> cells;
  bool operator==(const Addresses&) const = default;
};
/// A buffer of this shape as it lies, and what an operation makes of an array: written from the
/// definitions, one element after the other. Concrete operands only. Throw ParseError where the
/// operation does not fit, or the result has more than kMostCells elements.
Addresses addresses_of(const Shape& base);
void move(Addresses& array, const MovementOp& op);
/// The same, or false where it does not fit, for whatever reason but a negative size of a reshape
/// or too many elements.
bool try_move(Addresses& array, const MovementOp& op);
inline constexpr std::int64_t kMostCells = 1 << 16;
/// More elements than that are a limit of the fuzzer's, not a fault.
struct TooManyCells : ParseError {
  using ParseError::ParseError;
};

/// Smaller chains, the boldest first, and how large one is: operations and a variable, axes,
/// numbers, inversions of permutes.
std::vector<std::string> smaller_views(const ViewCase& c);
/// The shape after an operation, which is changed so that it fits the shape before where it does
/// not: reshapes get another size on one axis, ranges are cut. Throws ShapeError where that does
/// not do, as for another rank.
Shape mend(const Shape& shape, MovementOp& op);
/// Operations that are simpler by one number.
std::vector<MovementOp> simpler(const MovementOp& op);
Measure measure_of(const ViewCase& c);

/// The addresses of a concrete stack of views, read off the views. Throws ParseError where a
/// view has more than kMostCells elements.
Addresses addresses_of(const std::vector<View>& views);
/// The address of one element, by its place in row-major order, whatever the size of the views:
/// -1 where it is masked, -2 where it is out of a view below or in front of the buffer.
std::int64_t address_of(const std::vector<View>& views, std::int64_t place);

}  // namespace touchstone::fuzz
