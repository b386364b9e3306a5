#pragma once

#include <string>

#include "touchstone/shapetracker/view/box_prover.h"

namespace touchstone::shapetracker {

/// One way to take the members of the maxima that were read: the same member of one maximum each
/// time, and what holds where it is the largest.
class Choices {
 public:
  /// The member of maximum `id`, of `count`, that counts now; nullopt beyond ViewLimits::kChoices
  /// maxima.
  std::optional<std::size_t> of(std::uint32_t id, std::size_t count);
  void holds(Polynomial nonnegative) { assumptions_.push_back(std::move(nonnegative)); }
  std::span<const Polynomial> assumptions() const { return assumptions_; }
  /// The next way, with nothing held; false after the last.
  bool next();

 private:
  struct Choice {
    std::uint32_t id;
    std::size_t count, chosen;
  };
  std::vector<Choice> choices_;
  std::vector<Polynomial> assumptions_;
};

/// The variables of some views, numbered, and the way from expressions to polynomials and back.
class VariableTable {
 public:
  /// The entry as a polynomial; nullopt where it is none (a division, and a minimum or maximum
  /// without `choices`), or where it has a variable without bounds or one too many. Its variables
  /// join the table. One name with several bounds is one variable within all of them.
  std::optional<Polynomial> read(const sint& entry, Choices* choices = nullptr);
  sint write(const Polynomial& p) const;

  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  /// All values of the variables.
  const VariableBox& box() const { return box_; }
  /// Bounds of one name exclude each other.
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
