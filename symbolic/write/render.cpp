#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

namespace {

/// Precedence as in Python; higher binds tighter.
int precedence(const Form& f, const List<Form>& forms) {
  switch (f.op) {
    case StepOp::Or:
      return 1;
    case StepOp::And:
      return 2;
    case StepOp::Not:
      return 3;
    case StepOp::Lt:
    case StepOp::Le:
    case StepOp::Eq:
    case StepOp::Ne:
      return 4;
    case StepOp::Add:
      return 5;
    case StepOp::Sub: {
      const Form& left = forms[static_cast<std::size_t>(f.args[0])];
      return left.op == StepOp::Const && left.value.is_zero() ? 7 : 5;
    }
    case StepOp::Mul:
    case StepOp::FloorDiv:
    case StepOp::FloorMod:
      return 6;
    case StepOp::Const:
      return f.value.sign() < 0 ? 7 : 8;
    default:
      return 8;
  }
}

const char* symbol(StepOp op) {
  switch (op) {
    case StepOp::Or:
      return " or ";
    case StepOp::And:
      return " and ";
    case StepOp::Lt:
      return " < ";
    case StepOp::Le:
      return " <= ";
    case StepOp::Eq:
      return " == ";
    case StepOp::Ne:
      return " != ";
    case StepOp::Add:
      return " + ";
    case StepOp::Sub:
      return " - ";
    case StepOp::Mul:
      return "*";
    case StepOp::FloorDiv:
      return "//";
    case StepOp::FloorMod:
      return "%";
    case StepOp::Min:
      return "min";
    case StepOp::Max:
      return "max";
    case StepOp::Where:
      return "where";
    default:
      return "";
  }
}

/// Renders a form with an explicit stack, next item on top.
class FormWriter {
 public:
  FormWriter(const List<Form>& forms, std::string memory) : forms_(forms), out_(std::move(memory)) {
    out_.clear();
  }

  std::string write(int root) {
    form(root, 0);
    while (!todo_.empty()) {
      const Item item = todo_.back();
      todo_.pop_back();
      if (item.text)
        out_ += item.text;
      else
        open(item.form, item.context);
    }
    return std::move(out_);
  }

 private:
  struct Item {
    const char* text;
    int form;
    int context;  // parenthesize forms that bind less tightly
  };

  void text(const char* t) { todo_.push_back({t, 0, 0}); }
  void form(int f, int context) { todo_.push_back({nullptr, f, context}); }

  void open(int index, int context) {
    const Form& f = forms_[static_cast<std::size_t>(index)];
    const int level = precedence(f, forms_);
    const bool parentheses = level < context;
    if (parentheses) {
      out_ += '(';
      text(")");
    }
    switch (f.op) {
      case StepOp::Const:
        out_ += f.value.str();
        return;
      case StepOp::Var:
        out_ += *f.name;
        return;
      case StepOp::Not:
        out_ += "not ";
        form(f.args[0], level);
        return;
      case StepOp::Min:
      case StepOp::Max:
      case StepOp::Where:
        call(f);
        return;
      default:
        break;
    }
    if (level == 7) {  // negation
      out_ += '-';
      form(f.args[1], 8);
      return;
    }
    form(f.args[1], level + 1);
    text(symbol(f.op));
    form(f.args[0], level == 4 ? 5 : level);
  }

  void call(const Form& f) {
    out_ += symbol(f.op);
    out_ += '(';
    text(")");
    for (std::size_t i = f.args.size(); i-- > 0;) {
      form(f.args[i], 0);
      if (i > 0) text(", ");
    }
  }

  const List<Form>& forms_;
  List<Item> todo_;
  std::string out_;
};

}  // namespace

std::string render(const List<Form>& forms, int root, std::string memory) {
  const std::size_t parts = forms[static_cast<std::size_t>(root)].size;
  if (parts > kLimits.text_parts)
    throw Error(
        fmt::format("render: the text would have {} parts, since shared parts are written "
                    "out; use lower",
                    parts));
  return FormWriter(forms, std::move(memory)).write(root);
}

std::string render(Node node) {
  Extractor e(*node.context(), Extractor::For::Text);
  const int root = e.extract(node.id());
  return render(e.forms(), root);
}

std::size_t size(Node node) {
  Context& c = *node.context();
  constexpr std::size_t kTooLarge = 0xffffffff;  // too large to be memoized
  const std::lock_guard lock(c.mutex());
  if (const std::size_t known = c.known_size(node.id()); known > 0 && known < kTooLarge)
    return known;
  Extractor e(c, Extractor::For::Text);
  const int root = e.extract(node.id());
  const std::size_t found = e.forms()[static_cast<std::size_t>(root)].size;
  c.keep_size(node.id(), found);
  return found;
}

std::vector<Step> lower(Node node) {
  Extractor e(*node.context(), Extractor::For::Code);
  const int root = e.extract(node.id());
  const List<Form>& forms = e.forms();
  std::vector<int> place(forms.size(), -1);
  std::vector<bool> used(forms.size(), false);
  used[static_cast<std::size_t>(root)] = true;
  for (std::size_t i = static_cast<std::size_t>(root) + 1; i-- > 0;)
    if (used[i])
      for (const int a : forms[i].args) used[static_cast<std::size_t>(a)] = true;
  std::vector<Step> steps;
  std::map<std::int64_t, int> constants;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(root); ++i) {
    if (!used[i]) continue;
    const Form& f = forms[i];
    Step s;
    s.op = f.op;
    if (f.op == StepOp::Const) {
      if (!f.value.small())
        throw OverflowError(fmt::format("lower: {} does not fit in 64 bits", f.value.str()));
      s.value = *f.value.small();
      const auto [at, fresh] = constants.emplace(s.value, static_cast<int>(steps.size()));
      place[i] = at->second;
      if (!fresh) continue;
    }
    if (f.name) s.name = *f.name;
    for (const int a : f.args) s.args.push_back(place[static_cast<std::size_t>(a)]);
    if (f.bounds.lo) s.min = f.bounds.lo->small();
    if (f.bounds.hi) s.max = f.bounds.hi->small();
    place[i] = static_cast<int>(steps.size());
    steps.push_back(std::move(s));
  }
  return steps;
}

}  // namespace touchstone::symbolic
