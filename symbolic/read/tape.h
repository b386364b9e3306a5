#pragma once

#include <map>
#include <string>
#include <string_view>

#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

struct Form;  // extract.h

/// An expression as it was read: its different parts in the order in which they are built, parts
/// before wholes, each once. Names stand for nodes already; nothing is simplified. One list of
/// words, its last the root, so that two tapes of one context are equal where their words are.
class Tape {
 public:
  using Part = std::uint32_t;  // a place in the order
  struct Step {
    ExprOp op;
    std::span<const std::uint32_t> operands;
  };

  /// Reads an expression; the names' nodes must be constants or of this context. A division by 0 is
  /// no error before the node is built, and only where the whole then has no value at any point.
  /// Throws ParseError pointing at the column.
  void read(std::string_view text, const std::map<std::string, Node>& names);
  /// The result of reading a form's text, its variables among these nodes; false where that
  /// text would be refused. Recurses on the depth of the form.
  bool take(const List<Form>& forms, int root, const Context& context,
            std::span<const Id> variables);

  /// How many parts there are, and which is the whole.
  std::size_t parts() const { return starts_.size(); }
  Part root() const { return root_; }
  /// An operand of an operation is 2 * its part, plus 1 where it is taken away in a sum: chains of
  /// + and - are one Add of two or more, chains of `and` and of `or` are one And and one Or. The
  /// operand of a Variable is its node. A Constant has its value in two words (`value`), no other.
  Step step(Part part) const {
    const std::uint32_t* const at = words_.data() + starts_[part];
    return {static_cast<ExprOp>(at[0]), {at + 2, at[1]}};
  }
  Int value(const Step& constant) const {
    if (constant.operands.size() == 1) return large_[constant.operands[0]];
    return static_cast<std::int64_t>(std::uint64_t{constant.operands[1]} << 32 |
                                     constant.operands[0]);
  }
  /// Operators, variables and constants as written, parts that occur twice counted twice.
  /// Saturates.
  std::size_t size() const { return sizes_[root_]; }
  /// Whether some divisor is the number 0.
  bool divides_by_zero() const;
  /// Where in the text the operator of a division stands.
  std::size_t place(Part division) const;

  /// The tape as a value: equal words are equal expressions, but where a number is longer than 64
  /// bits, which makes it incomparable.
  std::span<const std::uint32_t> words() const { return words_; }
  std::uint64_t hash() const { return hash_; }
  bool comparable() const { return large_.empty(); }

 private:
  friend class TapeBuilder;
  struct Place {
    Part part;
    std::size_t at;
  };

  void clear();
  void close(Part root);
  /// The part with these operands: one that is there, or a new one.
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
