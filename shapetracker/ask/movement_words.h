#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/shapetracker/invert/movement_ops.h"

/// Shapes and movement operations in words, as in `10,10 permute 1,0 pad 0:1,2:0`. All functions
/// throw ParseError.
namespace touchstone::shapetracker::in_words {

/// Variables allowed in sizes, by name.
using Names = std::map<std::string, symbolic::Node>;

/// The operations' words, in the order of MovementOp::Kind.
inline constexpr std::string_view kMovements[] = {"reshape", "permute", "expand",    "pad",
                                                  "shrink",  "stride",  "as_strided"};

/// Takes the text up to the next `at` outside parentheses, and removes it with the separator; the
/// last part is the rest and leaves nullopt.
std::string_view take(std::optional<std::string_view>& text, char at);

/// "n=2..9", both bounds inclusive.
struct Range {
  std::string name;
  std::int64_t low, high;
};
/// `usage`: the message for a word of another form.
Range range(std::string_view word, const std::string& usage);

/// A number, or an expression of the names if there are any. `word`: for messages.
sint size(std::string_view text, std::string_view word, const Names& names = {});
/// "10,10", "()" for none; with names also "n,2*n".
std::vector<sint> sizes(std::string_view word, const Names& names = {});
std::vector<std::int64_t> numbers(std::string_view word);
/// "0:1,2:0": a pair per axis.
std::vector<std::pair<sint, sint>> pairs(std::string_view word, const Names& names = {});

/// An operation with its argument. as_strided takes "2,3:1,2:0": shape, strides, offset.
MovementOp movement(std::string_view name, std::string_view argument, const Names& names = {});

}  // namespace touchstone::shapetracker::in_words
