#pragma once

#include <unordered_map>
#include <vector>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {

/// One operation of a rendering. A Sub from the constant 0 is a negation and is written `-x`.
struct Form {
  StepOp op = StepOp::Const;
  Int value;                          // Const
  const std::string* name = nullptr;  // Var
  boost::container::small_vector<int, 3> args;
  std::size_t size = 1;  // operators, variables and constants; shared parts count each time
  Interval bounds;
};

/// Chooses how a canonical node is written: which side of a comparison a term stands on, where the
/// common factor goes, whether a choice swallows the sum around it. Each node is laid out once, the
/// smallest of a few candidates, ties to the first; candidates are built from the forms of atoms.
class Extractor {
 public:
  explicit Extractor(const Context& context) : c_(context) {}
  /// The index of the node's form in forms().
  int extract(Id root);
  const std::vector<Form>& forms() const { return forms_; }

 private:
  /// A sum to lay out: constant + the sum of coef * atom, in the order of the atoms.
  struct Sum {
    Int constant;
    Terms terms;
  };
  Sum sum_of(Id id) const;
  Sum plus(const Sum& a, const Sum& b, const Int& factor) const;
  int constant(const Int& value);
  int apply(StepOp op, std::initializer_list<int> args);
  int lay_out(Id id);
  int lay_out_sum(const Sum& s, int depth = 0);
  int plain_sum(const Sum& s);
  int compared(const Sum& s, StepOp strict);
  int negation(Id atom);
  int scaled(int form, const Int& factor);
  int smaller_form(int a, int b) const { return size(b) < size(a) ? b : a; }
  std::size_t size(int form) const { return forms_[static_cast<std::size_t>(form)].size; }
  int chained(StepOp op, std::span<const int> parts);
  int choice_sum(const Sum& s, int depth);

  const Context& c_;
  std::vector<Form> forms_;
  std::unordered_map<Id, int> best_;
};

}  // namespace touchstone::symbolic
