#pragma once

#include <limits>
#include <string>

namespace touchstone::cli {

/// A documented limit on a function's error, as text: KIND=VALUE[@LOW..HIGH], where KIND is
///   steps:    representable float32 numbers from the correctly rounded result; the value may be
///             A+Bx, for A + floor(B |x|)
///   relative: |result - exact| / |exact|
///   absolute: |result - exact|
/// and VALUE a number or 2^E. "steps=2", "relative=2^-22@2..inf", "absolute=2^-20.5@-6.28..6.28".
struct Limit {
  enum class Kind { Steps, Relative, Absolute };

  Kind kind = Kind::Steps;
  double value = 0, for_each_x = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool everywhere = true;  // including NaN
  std::string text;

  /// Throws ParseError.
  static Limit parse(const std::string& text);
  bool holds_for(double x) const { return everywhere || (x >= low && x <= high); }
  double allowed(double x) const;
  /// An error in the unit of the limit: "2", "2^-22.41".
  std::string shown(double error) const;
};

}  // namespace touchstone::cli
