#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/shapetracker/ask/movement_words.h"

namespace touchstone::fuzz {

/// A shape and movement operations, in the notation of `touchstone view`, plus as_strided: "4,6
/// permute 1,0 reshape 8,3 pad 0:1,2:0 stride -1,2 as_strided 2,3:1,2:0". Sizes, ends, strides and
/// offsets may use up to four variables: "n=2..5 m=0..2 | 4,n pad m:0,0:n reshape 8*n+2*m*n".
struct ViewCase {
  using Range = shapetracker::in_words::Range;
  std::vector<Range> variables;
  Shape base;
  std::vector<MovementOp> ops;

  /// Throws ParseError saying what is wrong.
  static ViewCase parse(std::string_view text);
  std::string str() const;
  /// The same with some or all variables replaced by numbers.
  ViewCase bind(const symbolic::Values& values) const;
  /// Every combination of values; one empty combination without variables.
  std::vector<symbolic::Values> all_values() const;
  /// All variables at their largest value.
  symbolic::Values largest() const;
};

/// True for the name of a movement operation.
bool is_movement(std::string_view name);
/// An operation from its name and argument, without variables, and back to text.
MovementOp parse_movement(std::string_view name, std::string_view argument);
std::string movement_text(const MovementOp& op);  // "pad 0:1,2:0"

/// Chains of up to seven operations on up to some hundred elements: sizes 0 and 1, masks on several
/// axes before a reshape that mixes axes, any factorisation, steps of either sign. Each leaves out
/// some operations; some are stacks of strided views, and some are draw_symbolic_chain's.
std::string draw_chain(Chooser& chooser);

/// Chains of one kind, without variables.
struct ChainKind {
  std::int64_t least = 0, most = 7;  // operations
  /// Equally likely; empty: as in a campaign.
  std::vector<MovementOp::Kind> among = {};
  bool dense = false;  // from two to four axes of 2 to 6 elements
  /// If above 0: instead of operations a stack of this many views of a flat buffer, each strided
  /// over the one below and padded.
  int strided = 0;
};
std::string draw_chain(Chooser& chooser, const ChainKind& kind);
/// Chains of up to six operations whose numbers are sums and products of up to four variables. With
/// `operations`: one variable, and those of so many operations that fit.
std::string draw_symbolic_chain(Chooser& chooser, std::int64_t operations = -1);

/// The meaning of an operation on positions: an element reads place sum(index * step) + start of
/// those before it if lo <= index < hi on every axis; elsewhere is padding.
struct Source {
  struct Axis {
    std::int64_t size = 0, step = 0, lo = 0, hi = 0;
  };
  boost::container::small_vector<Axis, 8> axes;
  std::int64_t start = 0;
  std::int64_t at(const std::vector<std::int64_t>& index) const;  // -1: padding
};
/// Concrete operands only; nullopt if it does not fit the shape, or has numbers above `most`.
/// Throws ParseError for a negative size of a reshape.
std::optional<Source> source_of(const std::vector<std::int64_t>& shape, const MovementOp& op,
                                std::int64_t most);

/// The meaning of a chain: each element's buffer address in row-major order, -1 for padding.
struct Addresses {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> cells;
  bool operator==(const Addresses&) const = default;
};
/// A contiguous buffer of this shape, and the effect of an operation on an array, written from the
/// definitions, element by element. Concrete operands only. Throw ParseError if the operation does
/// not fit or the result has more than kMostCells elements.
Addresses addresses_of(const Shape& base);
void move(Addresses& array, const MovementOp& op);
/// The same, but returns false if the operation does not fit; still throws for a negative reshape
/// size or too many elements.
bool try_move(Addresses& array, const MovementOp& op);
inline constexpr std::int64_t kMostCells = 1 << 16;
/// Too many elements: a limit of the fuzzer, not a fault.
struct TooManyCells : ParseError {
  using ParseError::ParseError;
};

/// Smaller chains, the boldest first, and the size of one: operations and a variable, axes,
/// numbers, inversions of permutes.
std::vector<std::string> smaller_views(const ViewCase& c);
/// Returns the shape after `op`, adjusted to fit `shape` if necessary: a reshape gets another size
/// on one axis, ranges are cut. Throws ShapeError if that is not enough, as for another rank.
Shape mend(const Shape& shape, MovementOp& op);
/// Operations simpler by one number.
std::vector<MovementOp> simpler(const MovementOp& op);
Measure measure_of(const ViewCase& c);

/// The addresses of a concrete stack of views, computed from the views. Throws ParseError if a view
/// has more than kMostCells elements.
Addresses addresses_of(const std::vector<View>& views);
/// The address of one element, by its place in row-major order, for views of any size: -1 if
/// masked, -2 if out of range of a lower view or in front of the buffer.
std::int64_t address_of(const std::vector<View>& views, std::int64_t place);

}  // namespace touchstone::fuzz
