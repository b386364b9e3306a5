#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/model/step.h"

// Pieces of formulas, and the rows of ONNX's operators by topic.

namespace touchstone::model {

/// "reshape(x, shape=[2,3])" and the like.
std::string reshaped(std::string_view x, const Sizes& shape);
std::string permuted(std::string_view x, const Sizes& order);
std::string sliced(std::string_view x, const Sizes& begin, const Sizes& end);
std::string listed(const Sizes& sizes);        // "[2,3]"
std::string word_text(std::string_view word);  // "'nearest'", as a word that is no name
/// A number that stays a float: "1.0".
std::string real_text(double value);
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
/// x with the axis `source` at `to`.
std::string moved(std::string_view x, int rank, int source, int to);
/// "f(f(a, b), c)".
std::string nested(std::string_view function, std::span<const std::string> names);
/// The arrays one after another along an axis.
std::string joined(std::span<const std::string> names, std::int64_t axis);
std::int64_t count_of(const Sizes& shape, std::size_t begin = 0,
                      std::size_t end = std::string::npos);
Sizes counted(int begin, int end);  // begin, begin + 1, ...
/// The shapes broadcast as in NumPy. Throws ParseError.
Sizes broadcast(const Step& step, const Sizes& a, const Sizes& b);

struct NamedRow {
  std::string_view kind;
  Row row;
};
/// A row whose only output has this formula: {0} is the name of an operand, {alpha=1.0} an
/// attribute with its default, which also gives its kind.
Row formula(std::string_view text);
Row one(std::string (*text)(Step&));

std::vector<NamedRow> elementwise_rows();
std::vector<NamedRow> layer_rows();
std::vector<NamedRow> moving_rows();

}  // namespace touchstone::model
