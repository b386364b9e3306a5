#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

/// Writes a tree as Python-like text with the fewest parentheses that keep its shape. Has an
/// explicit stack, next item on top. Tree: Exprs, or a type with its op, args, value and name of a
/// Part.
template <class Tree, class Part>
class TextWriter {
 public:
  /// path: to the part whose range is marked, or null. most: limit on the characters, beyond which
  /// `write` throws.
  TextWriter(const Tree& tree, const Path* path, std::size_t most)
      : t_(tree), path_(path), most_(most) {}

  /// The text is written into the storage of `memory`.
  MarkedText write(Part root, std::string memory = {}) {
    out_.text = std::move(memory);
    out_.text.clear();
    form(root, 0, 0);
    while (!todo_.empty()) {
      const Item item = todo_.back();
      todo_.pop_back();
      if (item.end) out_.end = out_.text.size();
      if (item.is_text)
        out_.text += item.text;
      else
        open(item);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kOff = static_cast<std::size_t>(-1);

  struct Item {
    bool is_text = false, end = false;
    std::string_view text{};
    Part form{};
    int context = 0;           // parenthesize forms that bind less tightly
    std::size_t along = kOff;  // path levels matched so far; kOff: off the path
  };

  void text(std::string_view t) { todo_.push_back({.is_text = true, .text = t}); }
  void form(Part part, int context, std::size_t along) {
    todo_.push_back({.form = part, .context = context, .along = along});
  }
  std::size_t below(const Item& item, std::size_t child) const {
    const bool on = path_ && item.along < path_->size() && (*path_)[item.along] == child;
    return on ? item.along + 1 : kOff;
  }

  void open(const Item& item) {
    if (out_.text.size() > most_)
      throw Error(
          "render: the text exceeds 50 million characters, since shared parts are written out");
    const ExprOp op = t_.op(item.form);
    const OperatorInfo& s = info(op);
    const bool negative = op == ExprOp::Constant && t_.value(item.form).sign() < 0;
    const int level = negative ? info(ExprOp::Neg).level : s.level;
    const auto args = t_.args(item.form);
    if (path_ && item.along == path_->size()) {
      out_.begin = out_.text.size();
      todo_.push_back({.is_text = true, .end = true});
    }
    if (level < item.context) {
      out_.text += '(';
      text(")");
    }
    if (op == ExprOp::Constant) {
      out_.text += t_.value(item.form).str();
    } else if (op == ExprOp::Variable) {
      out_.text += t_.name(item.form);
    } else if (s.notation == Notation::Prefix) {
      out_.text += s.text;
      form(args[0], op == ExprOp::Not ? level : kTightest, below(item, 0));
    } else if (s.notation == Notation::Call) {
      out_.text += s.text;
      out_.text += '(';
      text(")");
      for (std::size_t i = args.size(); i-- > 0;) {
        form(args[i], 0, below(item, i));
        if (i > 0) text(", ");
      }
    } else {
      form(args[1], level + 1, below(item, 1));
      text(s.text);
      form(args[0], level == info(ExprOp::Lt).level ? level + 1 : level, below(item, 0));
    }
  }

  const Tree& t_;
  const Path* path_;
  std::size_t most_;
  List<Item> todo_;
  MarkedText out_;
};

}  // namespace touchstone::symbolic
