#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

/// Draws one program, statement by statement. Each step is asked for a statement about value x, and
/// takes a simpler one where its own does not fit.
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

  // draw_program.cpp: what there is to compute with.
  void first_value();
  // The sum over an axis that divides among several devices, which rounds in each order otherwise.
  void summed_shards();
  DType any_type();
  int emit(const std::string& statement, ProgramType result);
  int input(const Sizes& shape, DType dtype, std::uint64_t wanted = kAnyFamily);
  // Of a float, all digits are in use; an integer is anywhere in its range.
  Scalar any_number(DType dtype);
  // The constants that rules look for, and others.
  int constant(const ProgramType& wanted);
  int usual_constant(const ProgramType& wanted);
  int constant(const ProgramType& wanted, std::string value);
  // A value of this type: one that is there, or a new input.
  int operand(const ProgramType& wanted);
  // An input, expanded where it would be large.
  int input_like(const ProgramType& wanted, std::uint64_t family = kAnyFamily);
  void step();

  // draw_program_ops.cpp
  void unary(int x);
  void binary(int x);
  // Two values of one type as one.
  void joined(int x, int y);
  // Operands that folding may remove: a constant, with zeros of both signs, with infinities and the
  // ends of the type, or with another.
  void folded(int x);
  // A quotient and a remainder of integers put together again, by 0, too.
  void recombined(int x);
  void choice(int x);
  void special(int x);
  void reduce(int x);
  // A copy that is reduced, or what is reduced copied, to another device and perhaps back.
  void carried(int x);
  void settle(int x);
  // Two inputs take values made of each other: one that of a reduce of the other; or one value.
  void exchanged(int x);

  // draw_program_views.cpp
  // A value read twice, once turned, shifted, transposed, as it is kept that way, or through an
  // operation.
  void meet(int x);
  // What is computed, of one value or of two apart, and then padded: the padding is 0 whatever the
  // operations make of zeros, also where another shape is seen that no single view gives.
  void padded(int x);
  // A value and what is computed of it, padded alike and joined.
  void padded_alike(int x);
  // A value made of two or more in memory, perhaps padded, that is read by a reduce and beside it,
  // where all that it is made of may be read again; or the reduce seen in another shape, where
  // several loops read each result again.
  void reread(int x);
  // A value expanded to the shape of one that is there, as what was reduced, and joined with it.
  void broadcast(int x);
  void movement(int x);
  // With one more element at an end of an axis, 0.
  int lengthened(int x, std::size_t axis, bool front);
  // A value as a table, or as the positions in one: inside, at its ends and outside, and as they
  // are computed, perhaps padded behind that.
  void gathered(int x);
  // Now and then the table that was read last is written to, and what it then has is read beside
  // what was read.
  void overwritten(int table);

  Chooser& chooser_;
  bool smooth_, often_constant_ = false;
  std::uint64_t left_out_;
  std::vector<DType> types_;
  std::vector<ProgramType> known_;
  std::string text_;
};

}  // namespace touchstone::fuzz
