#pragma once

#include <string>

#include "touchstone/shapetracker/view/box_prover.h"

namespace touchstone::shapetracker {

/// One choice of a member for each maximum read, the same at each occurrence, with the assumptions
/// that make it the largest.
class Choices {
 public:
  /// The chosen member of maximum `id` with `count` members; nullopt beyond ViewLimits::kChoices
  /// maxima.
  std::optional<std::size_t> of(std::uint32_t id, std::size_t count);
  void holds(Polynomial nonnegative) { assumptions_.push_back(std::move(nonnegative)); }
  std::span<const Polynomial> assumptions() const { return assumptions_; }
  /// Advances to the next choice and drops the assumptions; false after the last.
  bool next();

 private:
  struct Choice {
    std::uint32_t id;
    std::size_t count, chosen;
  };
  std::vector<Choice> choices_;
  std::vector<Polynomial> assumptions_;
};

/// Numbers the variables of views and converts between expressions and polynomials.
class VariableTable {
 public:
  /// The entry as a polynomial; nullopt if it is none (a division, or a minimum or maximum without
  /// `choices`) or has an unbounded variable or one too many. Adds its variables to the table. A
  /// name with several bounds is one variable within all of them.
  std::optional<Polynomial> read(const sint& entry, Choices* choices = nullptr);
  sint write(const Polynomial& p) const;

  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  /// The bounds of the variables.
  const VariableBox& box() const { return box_; }
  /// True if the bounds of a name are disjoint.
  bool has_empty_range() const;
  symbolic::Values values(const std::vector<std::int64_t>& point) const;

 private:
  std::optional<Polynomial> read(symbolic::Context& context, std::uint32_t id, Choices* choices,
                                 int depth);
  std::optional<Polynomial> read_maximum(symbolic::Context& context, std::uint32_t id,
                                         Choices* choices, int depth);
  std::optional<int> number_of(const std::string& name, std::int64_t low, std::int64_t high,
                               symbolic::Node node);

  std::vector<std::string> names_;
  std::vector<symbolic::Node> nodes_;
  VariableBox box_;
};

}  // namespace touchstone::shapetracker
