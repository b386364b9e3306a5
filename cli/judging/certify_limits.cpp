#include "touchstone/cli/judging/certify_limits.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {
namespace {

[[noreturn]] void refuse(const std::string& text, const char* why) {
  throw ParseError(
      fmt::format("certify --limit '{}': {}; write KIND=VALUE[@LOW..HIGH], as steps=2, "
                  "steps=2+1.173x, relative=2^-22, absolute=2^-20.5@-6.28..6.28",
                  text.substr(0, 60), why));
}

double number_in(const std::string& whole, const std::string& text) {
  if (text.starts_with("2^")) return std::exp2(number_in(whole, text.substr(2)));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || std::isnan(value)) refuse(whole, "not a number");
  return value;
}

}  // namespace

Limit Limit::parse(const std::string& text) {
  Limit limit;
  limit.text = text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse(text, "'=' is missing");
  const std::string kind = text.substr(0, equals);
  std::string value = text.substr(equals + 1);
  if (const std::size_t at = value.find('@'); at != std::string::npos) {
    const std::string range = value.substr(at + 1);
    value.resize(at);
    const std::size_t dots = range.find("..");
    if (dots == std::string::npos) refuse(text, "a range is written LOW..HIGH");
    limit.low = number_in(text, range.substr(0, dots));
    limit.high = number_in(text, range.substr(dots + 2));
    limit.everywhere = false;
  }
  if (kind == "steps") {
    if (const std::size_t plus = value.find('+');
        plus != std::string::npos && value.back() == 'x') {
      limit.for_each_x = number_in(text, value.substr(plus + 1, value.size() - plus - 2));
      value.resize(plus);
    }
  } else if (kind == "relative") {
    limit.kind = Kind::Relative;
  } else if (kind == "absolute") {
    limit.kind = Kind::Absolute;
  } else {
    refuse(text, "KIND must be steps, relative or absolute");
  }
  limit.value = number_in(text, value);
  if (limit.value < 0 || limit.for_each_x < 0) refuse(text, "an error limit must not be negative");
  return limit;
}

double Limit::allowed(double x) const {
  if (for_each_x == 0) return value;
  const double more = std::floor(for_each_x * std::fabs(x));
  return std::isnan(more) ? value : value + more;
}

std::string Limit::shown(double error) const {
  if (kind == Kind::Steps || error == 0 || !std::isfinite(error)) return fmt::format("{}", error);
  return fmt::format("2^{:.2f}", std::log2(error));
}

}  // namespace touchstone::cli
