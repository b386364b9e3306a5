#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "touchstone/shapetracker/view/shapetracker.h"

// The questions of answer_json (jsonl.h), read. All throw ParseError, ShapeError or OverflowError
// that name the place.
namespace touchstone::shapetracker::question {

using nlohmann::json;

/// The variables of a question, with which entries of views may be written.
using Names = std::map<std::string, symbolic::Node>;

/// A movement operation with its argument read.
struct Movement {
  std::string where;
  std::function<ShapeTracker(const ShapeTracker&)> apply;
};

[[noreturn]] void wrong(const std::string& where, const std::string& expected, const json& found);
/// An object, in which an integer beyond 64 bits is kept as it is written, for `wrong` to show.
json parse_line(std::string_view line);
Names variables(const json& value);  // {"n":[2,9]}, both ends inclusive
std::vector<View> views(const json& value, const Names& names);
Shape shape(const json& value, const std::string& where, const Names& names);
std::vector<Movement> movements(const json& value, const Names& names);
/// The member of that name, true or false; false where there is none.
bool flag(const json& question, const char* name);

/// An error in one part says which.
template <typename Make>
auto within(const std::string& where, const Make& make) {
  try {
    return make();
  } catch (const ParseError&) {
    throw;  // says it
  } catch (const OverflowError& e) {
    throw OverflowError(where + ": " + e.what());
  } catch (const Error& e) {
    throw ShapeError(where + ": " + e.what());
  }
}

}  // namespace touchstone::shapetracker::question
