#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {

/// Where proofs about sizes with variables end. Past each the relation is not proved: an operation
/// that needs it is an error that names it, a merge is "not decided".
struct ViewLimits {
  static constexpr int kPolynomialVariables = 8;  // that a polynomial can hold
  static constexpr std::size_t kVariables = 4;    // of a relation between sizes
  static constexpr int kBoxes = 128;              // of values, cut in two
  static constexpr int kWays = 64;                // of taking the members of minima and maxima
  static constexpr std::size_t kChoices = 6;      // minima and maxima in one relation
  static constexpr std::size_t kValues = 256;     // combinations tried one by one
  static constexpr int kDepth = 8;                // of an expression read as a polynomial
  static constexpr std::size_t kTerms = 64;       // of it
};

}  // namespace touchstone::shapetracker
