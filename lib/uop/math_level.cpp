#include "touchstone/uop/math_level.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"

namespace touchstone {

namespace {

// By MathLevel.
constexpr std::array<std::string_view, 4> math_level_names = {"library", "correctly-rounded",
                                                              "1ulp", "fast"};

}  // namespace

// Bounds of the code for named functions in codegen/c_functions.cpp.
#define TOUCHSTONE_OWN_FUNCTIONS \
  R"("exp": 1, "log": 1, "cos": 1, "tan": 1, "erf": 1.4, "tanh": 2, "sigmoid": 2)"

std::string_view name(MathLevel level) { return math_level_names[static_cast<std::size_t>(level)]; }

MathLevel math_level_named(std::string_view name) {
  for (std::size_t i = 0; i < math_level_names.size(); ++i)
    if (math_level_names[i] == name) return static_cast<MathLevel>(i);
  throw ParseError(fmt::format("there is no accuracy '{}'; choose from {}", name,
                               fmt::join(math_level_names, ", ")));
}

std::string_view profile_members(MathLevel level) {
  switch (level) {
    case MathLevel::Library: break;
    case MathLevel::OneUlp:
      return R"("ulp": {"exp2": 1, "log2": 1, "sin": 1, )" TOUCHSTONE_OWN_FUNCTIONS "}";
    case MathLevel::CorrectlyRounded: return R"("ulp": {"exp2": 0, "log2": 0, "sin": 0})";
    case MathLevel::Fast:
      return R"("ulp": {"exp2": 4, "log2": 4, "sin": 1, )" TOUCHSTONE_OWN_FUNCTIONS
             R"(}, "sin_domain": 131072, "flush": "outputs")";
  }
  return R"("ulp": {"exp2": 1, "log2": 1, "sin": 1})";
}

}  // namespace touchstone
