#pragma once

#include <map>
#include <optional>

#include "touchstone/prove/claim.h"
#include "touchstone/symbolic/expr/evaluate.h"
#include "touchstone/symbolic/number/interval.h"

namespace touchstone::prove {

/// A point that meets the conditions, where lhs is defined and rhs differs or is undefined.
struct Counterexample {
  std::vector<std::pair<std::string, Int>> point;  // sorted by name
  Int lhs;
  std::optional<Int> rhs;  // nullopt: rhs divides by zero
};

/// "x = 3, y = -1: lhs is 2, rhs is 3"
std::string text_of(const Counterexample& found);

/// Tests single points of a claim by evaluation.
class Points {
 public:
  explicit Points(const Claim& claim);

  const std::vector<std::string>& names() const { return names_; }
  enum class At { Outside, Holds, Fails };  // Outside: the claim does not apply there
  At at(std::span<const Int> point);
  /// The counterexample at the last tested point, which must fail.
  Counterexample counterexample(std::span<const Int> point) const;

 private:
  const Claim& claim_;
  std::vector<std::string> names_;
  symbolic::Evaluator values_;
};

/// The conditions that compare a variable with a number, as inclusive ranges, and the others.
struct Box {
  std::map<std::string, symbolic::Interval> ranges;
  std::vector<Expr> others;
};
Box box_of(const Claim& claim);

/// Conditions and sides.
std::vector<Expr> roots_of(const Claim& claim);

/// Searches `points` points for a counterexample: small ones first, then small and large ones and
/// ones near the claim's constants and each other, all within its ranges. Deterministic.
std::optional<Counterexample> search(const Claim& claim, std::size_t points);

/// The counterexample at a named point (missing variables are 0), if it is one.
std::optional<Counterexample> counterexample_at(const Claim& claim,
                                                const std::map<std::string, Int>& point);

/// The result of testing every point of a claim.
struct Enumeration {
  std::size_t points = 0;
  std::size_t inside = 0;  // of these, where the claim applies, up to a counterexample
  std::optional<Counterexample> counterexample;
};
/// Tests every point of a claim whose conditions bound each variable by constants; nullopt if they
/// do not, or there are more than `most` points.
std::optional<Enumeration> enumerate(const Claim& claim, std::size_t most);

/// At most `most` points that meet the conditions, found as by `search`.
std::vector<std::vector<Int>> samples(const Claim& claim, std::size_t most);

}  // namespace touchstone::prove
