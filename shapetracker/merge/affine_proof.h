#pragma once

#include "touchstone/shapetracker/view/box_prover.h"

namespace touchstone::shapetracker {

/// A view whose entries are polynomials in the variables.
struct PolynomialView {
  std::vector<Polynomial> shape, strides;
  Polynomial offset;
  std::vector<std::pair<Polynomial, Polynomial>> mask;  // [begin, end) of every axis
};

/// The view as a function of the flat index k: digit i is floor(k / weight) - size * floor(k /
/// span), fine to coarse; address = offset + digits[0].stride * k + sum(jump_i * floor(k /
/// weight_i)).
struct PolynomialDigits {
  struct Digit {
    Polynomial weight, size, span, stride, jump, begin, end;
  };
  std::vector<Digit> digits;
  Polynomial offset, size;

  explicit PolynomialDigits(const PolynomialView& view);
};

/// base + sum(slopes * y) for the indices y of a box.
struct PolynomialForm {
  Polynomial base;
  std::vector<Polynomial> slopes;
};

/// Proofs about affine forms on the box 0 <= y < extents, for all values of the variables with
/// every `given` >= 0; values with an empty box count as proved. Guesses fitted on a grid are
/// proved afterwards: no answer rests on samples.
class AffineProof {
 public:
  AffineProof(const BoxProver& prover, const Grid& grid, const std::vector<Polynomial>& extents,
              std::vector<Polynomial> given = {});

  /// The view's address at flat index `k` as a form, proved affine with every index valid. nullopt
  /// if that is not proved; failure() says why.
  std::optional<PolynomialForm> address(const PolynomialDigits& view, const PolynomialForm& k);
  /// True if a digit of one of the views, outermost first, is outside its mask at every index.
  bool nothing_valid(std::span<const PolynomialDigits> views, PolynomialForm k);

  /// Why address() failed.
  struct Failure {
    enum class Kind : std::uint8_t { Range, Mask, Floor };
    Kind kind;         // Range: k may leave the view. Mask: a digit may leave its [begin, end).
    Polynomial value;  // Floor: floor(k / value) is not shown to be affine. Mask: begin
    Polynomial end;
  };
  const Failure& failure() const { return failure_; }

 private:
  std::optional<PolynomialForm> affine(const PolynomialDigits& view, const PolynomialForm& k);
  std::optional<PolynomialForm> quotient(const PolynomialForm& k, const Polynomial& weight);
  /// The polynomial through the values at the grid points that are present.
  std::optional<Polynomial> fit(const std::vector<Wide>& values,
                                const std::vector<bool>& present) const;
  std::optional<PolynomialForm> rest(const PolynomialDigits& view, std::size_t digit,
                                     const PolynomialForm& k);
  bool at_least(const PolynomialForm& form, const Polynomial& low);
  bool at_most(const PolynomialForm& form, const Polynomial& high);
  bool nonnegative(const Polynomial& value) const {
    return prover_.proves_nonnegative(value, given_);
  }

  const BoxProver& prover_;
  const Grid& grid_;
  std::vector<Polynomial> last_;   // largest index of each axis
  std::vector<Polynomial> given_;  // >= 0 if the box is not empty
  Failure failure_{};
};

}  // namespace touchstone::shapetracker
