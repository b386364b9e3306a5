#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {

/// Limits of proofs about sizes with variables. Past a limit the relation is not proved: an
/// operation that needs it fails with an error naming it, a merge is "not decided".
struct ViewLimits {
  static constexpr int kPolynomialVariables = 8;  // in one polynomial
  static constexpr std::size_t kVariables = 4;    // of a relation between sizes
  static constexpr int kBoxes = 128;              // of values, by bisection
  static constexpr int kWays = 64;                // of choosing the members of minima and maxima
  static constexpr std::size_t kChoices = 6;      // minima and maxima in one relation
  static constexpr std::size_t kValues = 256;     // combinations enumerated
  static constexpr int kDepth = 8;                // of an expression converted to a polynomial
  static constexpr std::size_t kTerms = 64;       // of it
};

}  // namespace touchstone::shapetracker
