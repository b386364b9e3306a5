#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace touchstone::fuzz {

/// Caches the last parsed case: a shrink step parses a text once, though it measures, checks and
/// shrinks it.
template <class Case, Case (*parse)(std::string_view) = Case::parse>
class LastParsed {
 public:
  /// Valid until the next call. Throws as `parse`.
  const Case& of(const std::string& text) {
    if (!case_ || text_ != text) {
      case_.reset();
      text_ = text;
      case_ = parse(text);
    }
    return *case_;
  }

 private:
  std::string text_;
  std::optional<Case> case_;
};

}  // namespace touchstone::fuzz
