#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

/// Draws a program statement by statement. Each step draws a statement about value x and falls back
/// to a simpler one if its own does not fit.
class ProgramDraw {
 public:
  ProgramDraw(Chooser& chooser, const ProgramKind& kind)
      : chooser_(chooser), smooth_(kind.gradients), left_out_(chooser.below(1 << 20)) {}

  std::string draw();

 private:
  using Sizes = std::vector<std::int64_t>;
  static constexpr std::uint64_t kAnyNumbers = 2, kZeros = 4, kInfinite = 5,
                                 kAnyFamily = 6;  // of inputs

  std::int64_t most_inputs() const { return smooth_ ? 6 : 24; }
  int last() const { return static_cast<int>(known_.size()) - 1; }
  const ProgramType& type(int i) const { return known_[static_cast<std::size_t>(i)]; }
  static std::string words(const Sizes& sizes);

  // draw_program.cpp: the building blocks.
  void first_value();
  // A sum over an axis that divides among several devices and rounds differently in each order.
  void summed_shards();
  DType any_type();
  int emit(const std::string& statement, ProgramType result);
  int input(const Sizes& shape, DType dtype, std::uint64_t wanted = kAnyFamily);
  // Floats with all digits in use; integers over the whole range.
  Scalar any_number(DType dtype);
  // Constants that rules test for, and others.
  int constant(const ProgramType& wanted);
  int usual_constant(const ProgramType& wanted);
  int constant(const ProgramType& wanted, std::string value);
  // A value of this type: an existing one or a new input.
  int operand(const ProgramType& wanted);
  // An input, broadcast if it would be large.
  int input_like(const ProgramType& wanted, std::uint64_t family = kAnyFamily);
  void step();

  // draw_program_ops.cpp
  void unary(int x);
  void binary(int x);
  // Joins two values of one type.
  void joined(int x, int y);
  // Operands that folding may remove: with a constant, zeros of both signs, infinities and the ends
  // of the type.
  void folded(int x);
  // An integer quotient and remainder recombined, also for divisor 0.
  void recombined(int x);
  void choice(int x);
  void special(int x);
  void reduce(int x);
  // A reduced copy, or a copied reduce, on another device and perhaps back.
  void carried(int x);
  void settle(int x);
  // Assigns to two inputs values made of each other, one from a reduce of the other; or one value
  // to both.
  void exchanged(int x);

  // draw_program_views.cpp
  // A value read twice, the second time flipped, shifted, transposed, materialised that way, or
  // through an operation.
  void meet(int x);
  // Computes on one value, or on two apart, and then pads: the padding is 0 whatever the operations
  // give for zeros, also in a shape that no single view can express.
  void padded(int x);
  // A value and a computation on it, padded alike and joined.
  void padded_alike(int x);
  // A value made of two or more in memory, perhaps padded, read by a reduce and beside it, so that
  // its sources may be read again; or the reduce in another shape, so that several loops read each
  // result.
  void reread(int x);
  // A value expanded to an existing value's shape, such as its reduce's operand, and joined with
  // it.
  void broadcast(int x);
  void movement(int x);
  int moved(int x, const MovementOp& op);
  // In a shape of the same sizes, last first.
  int reversed(int x);
  // Extends an axis by one element, 0, at one end.
  int lengthened(int x, std::size_t axis, bool front);
  // A value as a table, or as positions in one: inside, at the ends and outside, computed, and
  // perhaps padded afterwards.
  void gathered(int x);
  // Sometimes writes to the table read last, and reads its new values beside those read before.
  void overwritten(int table);

  Chooser& chooser_;
  bool smooth_, often_constant_ = false;
  std::uint64_t left_out_;
  std::vector<DType> types_;
  std::deque<ProgramType> known_;  // references to its types stay valid while it grows
  std::string text_;
};

}  // namespace touchstone::fuzz
