#pragma once

#include <string>

#include "touchstone/shapetracker/box_prover.h"

namespace touchstone::shapetracker {

/// The variables of some views, numbered, and the way from expressions to polynomials and back.
class VariableTable {
 public:
  /// The entry as a polynomial; nullopt where it is none (a division, a minimum), or where it has a
  /// variable without bounds or one too many. Its variables join the table. One name with several
  /// bounds is one variable within all of them.
  std::optional<Polynomial> read(const sint& entry);
  sint write(const Polynomial& p) const;

  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  /// All values of the variables.
  const VariableBox& box() const { return box_; }
  /// Bounds of one name exclude each other.
  bool has_empty_range() const;
  symbolic::Values values(const std::vector<std::int64_t>& point) const;

 private:
  std::optional<Polynomial> read(symbolic::Context& context, std::uint32_t id, int depth);
  std::optional<int> number_of(const std::string& name, std::int64_t low, std::int64_t high,
                               symbolic::Node node);

  std::vector<std::string> names_;
  std::vector<symbolic::Node> nodes_;
  VariableBox box_;
};

}  // namespace touchstone::shapetracker
