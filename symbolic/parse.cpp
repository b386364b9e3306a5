#include <algorithm>
#include <array>
#include <string_view>

#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

enum class Tok : std::uint8_t { Number, Name, Symbol, End };

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  std::size_t at = 0;  // offset in the text
};

enum class Op : std::uint8_t {
  Or,
  And,
  Not,
  Lt,
  Gt,
  Le,
  Ge,
  Eq,
  Ne,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Minus,
  Open,
  Call
};

struct Operator {
  std::string_view text;
  Op op;
  int level;  // binds tighter where higher, as in Python
};

constexpr std::array kBinary = {
    Operator{"or", Op::Or, 1}, Operator{"and", Op::And, 2}, Operator{"<", Op::Lt, 4},
    Operator{">", Op::Gt, 4},  Operator{"<=", Op::Le, 4},   Operator{">=", Op::Ge, 4},
    Operator{"==", Op::Eq, 4}, Operator{"!=", Op::Ne, 4},   Operator{"+", Op::Add, 5},
    Operator{"-", Op::Sub, 5}, Operator{"*", Op::Mul, 6},   Operator{"//", Op::Div, 6},
    Operator{"%", Op::Mod, 6},
};
constexpr int kNot = 3, kComparison = 4, kSum = 5, kMinus = 7;

struct Function {
  std::string_view name;
  std::size_t least, most;  // arguments
};

constexpr std::size_t kAny = static_cast<std::size_t>(-1);
constexpr std::array kFunctions = {Function{"min", 1, kAny}, Function{"max", 1, kAny},
                                   Function{"where", 3, 3}, Function{"tdiv", 2, 2},
                                   Function{"tmod", 2, 2}};

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Operator-precedence parser with its own stacks, so that depth costs memory only.
class Parser {
 public:
  Parser(const std::string& text, const std::map<std::string, Node>& names, Context& context)
      : text_(text), names_(names), c_(context), s_(context) {}

  Id run();

 private:
  struct Pending {
    Op op;
    int level;       // 0 for Open and Call
    std::size_t at;  // where it stands
    const Function* function = nullptr;
    std::size_t base = 0;  // Call: values below its arguments
  };

  [[noreturn]] void fail(std::size_t at, const std::string& what) const;
  [[noreturn]] void unexpected(const Token& t, const std::string& wanted) const;
  Token next();
  void operand(const Token& t);
  void name(const Token& t);
  /// True where the text goes on with an operand.
  bool after_operand(const Token& t);
  void binary(const Operator& o, std::size_t at);
  void reduce(int level);
  void apply_top();
  void apply_run(const Pending& top);
  void apply_call(const Pending& call, std::size_t end);
  Id apply_binary(const Pending& top, Id a, Id b);
  Id compare(Op op, Id a, Id b);
  Id truncated(Id a, Id b, bool remainder);
  Id pop() {
    const Id id = values_.back();
    values_.pop_back();
    return id;
  }

  const std::string& text_;
  const std::map<std::string, Node>& names_;
  Context& c_;
  Simplifier s_;
  std::size_t position_ = 0;
  std::vector<Id> values_;
  std::vector<Pending> pending_;
};

void Parser::fail(std::size_t at, const std::string& what) const {
  constexpr std::size_t kBefore = 30, kAround = 60;
  const std::size_t from = at > kBefore ? at - kBefore : 0;
  std::string excerpt = text_.substr(from, kAround);
  std::ranges::replace_if(
      excerpt, [](char c) { return c < ' '; }, ' ');
  throw ParseError(fmt::format("column {}: {}\n  {}\n  {}^", at + 1, what, excerpt,
                               std::string(at - from, ' ')));
}

void Parser::unexpected(const Token& t, const std::string& wanted) const {
  fail(t.at, fmt::format("expected {}, found {}", wanted,
                         t.kind == Tok::End ? "the end" : fmt::format("\"{}\"", t.text)));
}

Token Parser::next() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t' ||
                                      text_[position_] == '\n' || text_[position_] == '\r'))
    ++position_;
  const std::size_t at = position_;
  const std::string_view all = text_;
  if (at == all.size()) return {Tok::End, "", at};
  if (digit(all[at]) || letter(all[at])) {
    const bool number = digit(all[at]);
    while (position_ < all.size() && (digit(all[position_]) || letter(all[position_]))) ++position_;
    return {number ? Tok::Number : Tok::Name, all.substr(at, position_ - at), at};
  }
  for (const std::string_view two : {"//", "<=", ">=", "==", "!="})
    if (all.substr(at, 2) == two) {
      position_ += 2;
      return {Tok::Symbol, two, at};
    }
  if (std::string_view("+-*%<>(),").find(all[at]) == std::string_view::npos)
    fail(at, fmt::format("\"{}\" means nothing here; expected a number, a name or an operator",
                         all[at] >= ' ' && all[at] < 127 ? std::string(1, all[at]) : "?"));
  ++position_;
  return {Tok::Symbol, all.substr(at, 1), at};
}

Id Parser::run() {
  bool want_operand = true;
  for (;;) {
    const Token t = next();
    if (want_operand) {
      const std::size_t before = values_.size();
      operand(t);
      want_operand = values_.size() == before;
    } else if (t.kind == Tok::End) {
      reduce(0);
      if (!pending_.empty())
        unexpected(t, fmt::format("\")\" for the \"(\" at column {}", pending_.back().at + 1));
      return values_.back();
    } else {
      want_operand = after_operand(t);
    }
  }
}

void Parser::operand(const Token& t) {
  constexpr std::size_t kMostDigits = 10'000;
  constexpr const char* wanted = "a number, a name, \"(\", \"-\" or \"not\"";
  if (t.kind == Tok::Number) {
    if (!std::ranges::all_of(t.text, digit)) fail(t.at, "a name may not begin with a digit");
    if (t.text.size() > kMostDigits)
      fail(t.at,
           fmt::format("a number of {} digits; at most {} are read", t.text.size(), kMostDigits));
    const std::size_t zeros = std::min(t.text.find_first_not_of('0'), t.text.size() - 1);
    values_.push_back(c_.make_constant(Int::from_digits(std::string(t.text.substr(zeros)))));
  } else if (t.text == "not") {
    if (!pending_.empty() && pending_.back().level > kNot)
      fail(t.at, "\"not\" binds less tightly than the operator before it; use parentheses");
    pending_.push_back({Op::Not, kNot, t.at});
  } else if (t.kind == Tok::Name && t.text != "and" && t.text != "or") {
    name(t);
  } else if (t.text == "-") {
    pending_.push_back({Op::Minus, kMinus, t.at});
  } else if (t.text == "(") {
    pending_.push_back({Op::Open, 0, t.at});
  } else {
    unexpected(t, wanted);
  }
}

void Parser::name(const Token& t) {
  const auto known = names_.find(std::string(t.text));
  if (known != names_.end()) {
    const Node n = known->second;
    values_.push_back(n.context() == &c_ ? n.id() : c_.make_constant((*n.context())[n.id()].first));
    return;
  }
  if (t.text == "True" || t.text == "False") {
    values_.push_back(c_.make_constant(t.text == "True" ? 1 : 0));
    return;
  }
  const auto f = std::ranges::find(kFunctions, t.text, &Function::name);
  if (f == kFunctions.end())
    fail(t.at, fmt::format("unknown name \"{}\"; expected {}", t.text,
                           names_.empty() ? "a number, since no names were given"
                                          : fmt::format("one of the {} names given, as \"{}\"",
                                                        names_.size(), names_.begin()->first)));
  const Token open = next();
  if (open.text != "(") unexpected(open, fmt::format("\"(\" after {}", t.text));
  pending_.push_back({Op::Call, 0, t.at, &*f, values_.size()});
}

bool Parser::after_operand(const Token& t) {
  if (t.text == ")" || t.text == ",") {
    reduce(0);
    if (pending_.empty() || (t.text == "," && pending_.back().op != Op::Call))
      unexpected(t, "an operator or the end");
    const Pending open = pending_.back();
    if (t.text == ",") {
      if (values_.size() - open.base >= open.function->most)
        unexpected(t, fmt::format("\")\": {} takes {} arguments", open.function->name,
                                  open.function->most));
      return true;
    }
    pending_.pop_back();
    if (open.op == Op::Call) apply_call(open, t.at);
    return false;
  }
  const auto o = std::ranges::find(kBinary, t.text, &Operator::text);
  if (o == kBinary.end()) unexpected(t, "an operator, \")\" or the end");
  binary(*o, t.at);
  return true;
}

void Parser::binary(const Operator& o, std::size_t at) {
  // Sums and lists wait until they are complete: one sort instead of one a term.
  const bool list = o.level == kSum || o.op == Op::And || o.op == Op::Or;
  reduce(list ? o.level + 1 : o.level);
  if (o.level == kComparison && !pending_.empty() && pending_.back().level == kComparison)
    fail(at, "a comparison of a comparison; use parentheses");
  pending_.push_back({o.op, o.level, at});
}

void Parser::reduce(int level) {
  while (!pending_.empty() && pending_.back().level > 0 && pending_.back().level >= level) {
    // A comparison waiting before another one is refused by the caller.
    if (level == kComparison && pending_.back().level == kComparison) return;
    apply_top();
  }
}

void Parser::apply_top() {
  const Pending top = pending_.back();
  if (top.level == kSum || top.op == Op::And || top.op == Op::Or) return apply_run(top);
  pending_.pop_back();
  const Id b = pop();
  if (top.op == Op::Minus) {
    values_.push_back(s_.build(-s_.linear(b)));
  } else if (top.op == Op::Not) {
    values_.push_back(s_.negate(s_.truth(b)));
  } else {
    const Id a = pop();
    values_.push_back(apply_binary(top, a, b));
  }
}

void Parser::apply_run(const Pending& top) {
  std::vector<Term> terms;
  std::vector<Id> ids;
  bool more = true;
  while (more) {
    const Op op = pending_.back().op;
    pending_.pop_back();
    ids.push_back(pop());
    terms.push_back({op == Op::Sub ? -1 : 1, ids.back()});
    more = !pending_.empty() && pending_.back().level == top.level;
  }
  ids.push_back(pop());
  terms.push_back({1, ids.back()});
  if (top.level == kSum)
    values_.push_back(s_.add_all(terms));
  else
    values_.push_back(top.op == Op::And ? s_.both(ids) : s_.either(ids));
}

Id Parser::apply_binary(const Pending& top, Id a, Id b) {
  const Linear x = s_.linear(a), y = s_.linear(b);
  if (top.op == Op::Mul) return s_.product(a, b);
  if (top.op == Op::Div || top.op == Op::Mod) {
    if (y.is_constant() && y.constant.is_zero())
      fail(top.at, "division by zero; the divisor must not be 0");
    return s_.build(top.op == Op::Div ? s_.divide(x, y) : s_.modulo(x, y));
  }
  return compare(top.op, a, b);
}

Id Parser::compare(Op op, Id a, Id b) {
  if (op == Op::Gt || op == Op::Ge) std::swap(a, b);
  Linear gap = s_.linear(a);
  s_.add(gap, b, -1);
  if (op == Op::Eq) return s_.zero(std::move(gap));
  if (op == Op::Ne) return s_.negate(s_.zero(std::move(gap)));
  if (op == Op::Le || op == Op::Ge) gap.constant -= 1;
  return s_.negative(std::move(gap));
}

Id Parser::truncated(Id a, Id b, bool remainder) {
  const auto sign_of = [&](const Linear& s, const Linear& minus, const Linear& plus) {
    return s_.where(s_.negative(s), minus, plus);
  };
  const Linear x = s_.linear(a), y = s_.linear(b);
  const auto over = [&](const Linear& d) { return sign_of(x, -s_.divide(-x, d), s_.divide(x, d)); };
  const Linear q = sign_of(y, -over(-y), over(y));
  if (!remainder) return s_.build(q);
  Linear r = x;
  s_.add(r, s_.multiply(y, q), -1);
  return s_.build(r);
}

void Parser::apply_call(const Pending& call, std::size_t end) {
  const std::size_t n = values_.size() - call.base;
  const Function& f = *call.function;
  if (n < f.least)
    fail(end,
         fmt::format("expected \",\": {} takes {} arguments, here are {}", f.name, f.least, n));
  const std::span<const Id> args(values_.data() + call.base, n);
  Id r = 0;
  if (f.name == "where") {
    r = s_.build(s_.where(s_.truth(args[0]), s_.linear(args[1]), s_.linear(args[2])));
  } else if (f.name == "tdiv" || f.name == "tmod") {
    if (args[1] == c_.make_constant(0))
      fail(call.at, "division by zero; the divisor must not be 0");
    r = truncated(args[0], args[1], f.name == "tmod");
  } else {
    std::vector<Linear> members;
    for (const Id id : args) members.push_back(f.name == "max" ? s_.linear(id) : -s_.linear(id));
    const Linear most = s_.maximum(members);
    r = s_.build(f.name == "max" ? most : -most);
  }
  values_.resize(call.base);
  values_.push_back(r);
}

}  // namespace

Node parse(const std::string& text, const std::map<std::string, Node>& names) {
  Context* context = &Context::shared();
  for (const auto& [name, node] : names)
    if (!node.is_constant()) context = node.context();
  for (const auto& [name, node] : names)
    if (!node.is_constant() && node.context() != context)
      throw Error(fmt::format("parse: \"{}\" is of another context than the other names", name));
  const std::lock_guard lock(context->mutex());
  return context->handle(Parser(text, names, *context).run());
}

}  // namespace touchstone::symbolic
