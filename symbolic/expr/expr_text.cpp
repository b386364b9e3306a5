#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

/// Renders a tree with an explicit stack, next item on top.
class Writer {
 public:
  Writer(const Exprs& exprs, const Path* path) : e_(exprs), path_(path) {}

  MarkedText write(Expr root) {
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
    Expr form = 0;
    int context = 0;           // parenthesize forms that bind less tightly
    std::size_t along = kOff;  // path levels matched so far; kOff: off the path
  };

  void text(std::string_view t) { todo_.push_back({.is_text = true, .text = t}); }
  void form(Expr e, int context, std::size_t along) {
    todo_.push_back({.form = e, .context = context, .along = along});
  }
  std::size_t below(const Item& item, std::size_t child) const {
    const bool on = path_ && item.along < path_->size() && (*path_)[item.along] == child;
    return on ? item.along + 1 : kOff;
  }

  void open(const Item& item) {
    if (out_.text.size() > kLimits.text_parts)
      throw Error(
          "render: the text exceeds 50 million characters, since shared parts are written out");
    const ExprOp op = e_.op(item.form);
    const OperatorInfo& s = info(op);
    const bool negative = op == ExprOp::Constant && e_.value(item.form).sign() < 0;
    const int level = negative ? info(ExprOp::Neg).level : s.level;
    if (path_ && item.along == path_->size()) {
      out_.begin = out_.text.size();
      todo_.push_back({.is_text = true, .end = true});
    }
    if (level < item.context) {
      out_.text += '(';
      text(")");
    }
    if (op == ExprOp::Constant) {
      out_.text += e_.value(item.form).str();
    } else if (op == ExprOp::Variable) {
      out_.text += e_.name(item.form);
    } else if (s.notation == Notation::Prefix) {
      out_.text += s.text;
      form(e_.arg(item.form, 0), op == ExprOp::Not ? level : kTightest, below(item, 0));
    } else if (s.notation == Notation::Call) {
      call(item, s);
    } else {
      form(e_.arg(item.form, 1), level + 1, below(item, 1));
      text(s.text);
      form(e_.arg(item.form, 0), level == info(ExprOp::Lt).level ? level + 1 : level,
           below(item, 0));
    }
  }

  void call(const Item& item, const OperatorInfo& s) {
    out_.text += s.text;
    out_.text += '(';
    text(")");
    const auto args = e_.args(item.form);
    for (std::size_t i = args.size(); i-- > 0;) {
      form(args[i], 0, below(item, i));
      if (i > 0) text(", ");
    }
  }

  const Exprs& e_;
  const Path* path_;
  std::vector<Item> todo_;
  MarkedText out_;
};

}  // namespace

std::string render(const Exprs& exprs, Expr root) {
  return Writer(exprs, nullptr).write(root).text;
}

MarkedText render_marked(const Exprs& exprs, Expr root, const Path& path) {
  return Writer(exprs, &path).write(root);
}

}  // namespace touchstone::symbolic
