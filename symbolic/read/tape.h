#pragma once

#include <map>
#include <string>
#include <string_view>

#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

struct Form;  // extract.h

/// A parsed expression: its distinct parts, parts before wholes. Names are already nodes; nothing
/// is simplified. Stored as one list of words that ends with the root, so two tapes of one context
/// are equal if their words are.
class Tape {
 public:
  using Part = std::uint32_t;  // index in build order
  struct Step {
    ExprOp op;
    std::span<const std::uint32_t> operands;
  };

  /// Parses an expression; the names must be constants or nodes of this context. A division by 0 is
  /// an error only when the node is built, and only if it leaves the whole undefined at every
  /// point.
  /// Throws ParseError with the column.
  void read(std::string_view text, const std::map<std::string, Node>& names);
  /// Equivalent to parsing a form's text, with variables from `variables`; false if that text would
  /// be rejected. Recurses on the depth of the form.
  bool take(const List<Form>& forms, int root, const Context& context,
            std::span<const Id> variables);

  /// The number of parts and the root part.
  std::size_t parts() const { return starts_.size(); }
  Part root() const { return root_; }
  /// An operand of an operation is 2 * its part, plus 1 if it is subtracted in a sum: a chain of
  /// `+` and `-` is one Add, a chain of `and` or `or` is one And or Or. The operand of a Variable
  /// is its node. A Constant stores its value in two words (`value`).
  Step step(Part part) const {
    const std::uint32_t* const at = words_.data() + starts_[part];
    return {static_cast<ExprOp>(at[0]), {at + 2, at[1]}};
  }
  Int value(const Step& constant) const {
    if (constant.operands.size() == 1) return large_[constant.operands[0]];
    return static_cast<std::int64_t>(std::uint64_t{constant.operands[1]} << 32 |
                                     constant.operands[0]);
  }
  /// Number of operators, variables and constants as written, repeats counted. Saturates.
  std::size_t size() const { return sizes_[root_]; }
  /// True if some divisor is the literal 0.
  bool divides_by_zero() const;
  /// True unless every divisor is a nonzero literal.
  bool may_divide_by_zero() const;
  /// The tree of the whole, to evaluate; the variables have the names of their nodes.
  Expr tree(Exprs& exprs, const Context& context) const;
  /// Text offset of the operator of a division.
  std::size_t place(Part division) const;

  /// The tape as a cache key: equal words are equal expressions. A tape with a number beyond 64
  /// bits is not comparable.
  std::span<const std::uint32_t> words() const { return words_; }
  std::uint64_t hash() const { return hash_; }
  bool comparable() const { return large_.empty(); }

 private:
  friend class TapeBuilder;
  struct Place {
    Part part;
    std::size_t at;
  };

  /// The divisor if it is a literal.
  std::optional<Int> divisor(const Place& division) const;
  void clear();
  void close(Part root);
  /// The part with these operands, an existing one or a new one.
  Part keep(ExprOp op, std::span<const std::uint32_t> operands, std::size_t size);
  void grow_table();

  List<std::uint32_t> words_;
  List<std::uint32_t> starts_;  // of each part, in words_
  List<std::size_t> sizes_;
  List<Place> places_;  // of divisions
  List<Int> large_;
  struct Slot {
    std::uint32_t hash, part;
  };
  List<Slot> table_;  // open addressing
  Part root_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace touchstone::symbolic
