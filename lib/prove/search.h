#pragma once

#include <map>
#include <optional>

#include "touchstone/prove/evaluate.h"

namespace touchstone::prove {

/// A point that meets the conditions, at which lhs is defined and rhs is another number, or none.
struct Counterexample {
  std::vector<std::pair<std::string, Int>> point;  // sorted by name
  Int lhs;
  std::optional<Int> rhs;  // nullopt: rhs divides by zero
};

/// "x = 3, y = -1: lhs is 2, rhs is 3"
std::string text_of(const Counterexample& found);

/// Looks at single points of a claim, by evaluation alone.
class Points {
 public:
  explicit Points(const Claim& claim);

  const std::vector<std::string>& names() const { return names_; }
  enum class At { Outside, Holds, Fails };  // Outside: the claim says nothing there
  At at(std::span<const Int> point);
  /// Of the point looked at last, which fails.
  Counterexample counterexample(std::span<const Int> point) const;

 private:
  const Claim& claim_;
  std::vector<std::string> names_;
  Evaluator values_;
};

/// Looks for a counterexample among `points` points: small ones first, then small and large ones
/// and such as lie next to the claim's constants and to each other. Always the same points.
std::optional<Counterexample> search(const Claim& claim, std::size_t points);

/// The counterexample at a point given by name, absent ones 0, where it is one.
std::optional<Counterexample> counterexample_at(const Claim& claim,
                                                const std::map<std::string, Int>& point);

/// Whether the claim holds at each of its points, where the conditions bound every variable by
/// constants and there are at most `most` points within; nullopt where not.
struct Enumeration {
  std::size_t points = 0;
  std::size_t inside = 0;  // of which the claim says something, up to a counterexample
  std::optional<Counterexample> counterexample;
};
std::optional<Enumeration> enumerate(const Claim& claim, std::size_t most);

/// Points that meet the conditions, found as `search` does; at most `most`.
std::vector<std::vector<Int>> samples(const Claim& claim, std::size_t most);

}  // namespace touchstone::prove
