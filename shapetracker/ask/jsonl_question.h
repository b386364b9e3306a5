#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "touchstone/shapetracker/view/shapetracker.h"

// Parses the questions of answer_json (jsonl.h). Errors are ParseError, ShapeError or OverflowError
// and name the position.
namespace touchstone::shapetracker::question {

using nlohmann::json;

/// The variables of a question, usable in entries of views.
using Names = std::map<std::string, symbolic::Node>;

/// A movement operation with its parsed argument.
struct Movement {
  std::string where;
  std::function<ShapeTracker(const ShapeTracker&)> apply;
};

[[noreturn]] void wrong(const std::string& where, const std::string& expected, const json& found);
/// Parses an object; integers beyond 64 bits are kept as text for error messages.
json parse_line(std::string_view line);
Names variables(const json& value);  // {"n":[2,9]}, both ends inclusive
std::vector<View> views(const json& value, const Names& names);
Shape shape(const json& value, const std::string& where, const Names& names);
std::vector<Movement> movements(const json& value, const Names& names);
/// The boolean member of that name; false if absent.
bool flag(const json& question, const char* name);

/// Prefixes errors of `make` with the part of the question.
template <typename Make>
auto within(const std::string& where, const Make& make) {
  try {
    return make();
  } catch (const ParseError&) {
    throw;  // has the position already
  } catch (const OverflowError& e) {
    throw OverflowError(where + ": " + e.what());
  } catch (const Error& e) {
    throw ShapeError(where + ": " + e.what());
  }
}

}  // namespace touchstone::shapetracker::question
