#include "touchstone/symbolic/grammar.h"

#include <algorithm>
#include <array>
#include <vector>

#include "touchstone/base/error.h"

namespace touchstone::symbolic {

namespace {

enum class Tok : std::uint8_t { Number, Name, Symbol, End };

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  std::size_t at = 0;  // offset in the text
};

struct Operator {
  std::string_view text;
  ExprOp op;
  int level;  // binds tighter where higher, as in Python
};

constexpr std::array kBinary = {
    Operator{"or", ExprOp::Or, 1}, Operator{"and", ExprOp::And, 2}, Operator{"<", ExprOp::Lt, 4},
    Operator{">", ExprOp::Gt, 4},  Operator{"<=", ExprOp::Le, 4},   Operator{">=", ExprOp::Ge, 4},
    Operator{"==", ExprOp::Eq, 4}, Operator{"!=", ExprOp::Ne, 4},   Operator{"+", ExprOp::Add, 5},
    Operator{"-", ExprOp::Sub, 5}, Operator{"*", ExprOp::Mul, 6},   Operator{"//", ExprOp::Div, 6},
    Operator{"%", ExprOp::Mod, 6},
};
constexpr int kNot = 3, kComparison = 4, kSum = 5, kMinus = 7;

struct Function {
  std::string_view name;
  ExprOp op;
  std::size_t least, most;  // arguments
};

constexpr std::size_t kAny = static_cast<std::size_t>(-1);
constexpr std::array kFunctions = {
    Function{"min", ExprOp::Min, 1, kAny}, Function{"max", ExprOp::Max, 1, kAny},
    Function{"where", ExprOp::Where, 3, 3}, Function{"tdiv", ExprOp::TruncDiv, 2, 2},
    Function{"tmod", ExprOp::TruncMod, 2, 2}};

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Operator-precedence parser with its own stacks, so that depth costs memory only.
class Parser {
 public:
  using Value = ExpressionBuilder::Value;

  Parser(std::string_view text, ExpressionBuilder& builder) : text_(text), builder_(builder) {}

  Value run();

 private:
  struct Pending {
    ExprOp op;
    int level;                           // 0 for an open parenthesis
    std::size_t at;                      // where it stands
    const Function* function = nullptr;  // of a call's parenthesis
    std::size_t base = 0;                // values below a call's arguments
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
  void refuse_zero(ExprOp op, Value divisor, std::size_t at) const;
  Value pop() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

  std::string_view text_;
  ExpressionBuilder& builder_;
  std::size_t position_ = 0;
  std::vector<Value> values_;
  std::vector<Pending> pending_;
};

void Parser::fail(std::size_t at, const std::string& what) const {
  constexpr std::size_t kBefore = 30, kAround = 60;
  const std::size_t from = at > kBefore ? at - kBefore : 0;
  std::string excerpt(text_.substr(from, kAround));
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

Parser::Value Parser::run() {
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
    values_.push_back(builder_.constant(Int::from_digits(std::string(t.text.substr(zeros)))));
  } else if (t.text == "not") {
    if (!pending_.empty() && pending_.back().level > kNot)
      fail(t.at, "\"not\" binds less tightly than the operator before it; use parentheses");
    pending_.push_back({ExprOp::Not, kNot, t.at});
  } else if (t.kind == Tok::Name && t.text != "and" && t.text != "or") {
    name(t);
  } else if (t.text == "-") {
    pending_.push_back({ExprOp::Neg, kMinus, t.at});
  } else if (t.text == "(") {
    pending_.push_back({ExprOp::Constant, 0, t.at});
  } else {
    unexpected(t, wanted);
  }
}

void Parser::name(const Token& t) {
  if (const auto known = builder_.name(t.text)) {
    values_.push_back(*known);
    return;
  }
  if (t.text == "True" || t.text == "False") {
    values_.push_back(builder_.constant(t.text == "True" ? 1 : 0));
    return;
  }
  const auto f = std::ranges::find(kFunctions, t.text, &Function::name);
  if (f == kFunctions.end())
    fail(t.at, fmt::format("unknown name \"{}\"; expected {}", t.text, builder_.known_names()));
  const Token open = next();
  if (open.text != "(") unexpected(open, fmt::format("\"(\" after {}", t.text));
  pending_.push_back({f->op, 0, t.at, &*f, values_.size()});
}

bool Parser::after_operand(const Token& t) {
  if (t.text == ")" || t.text == ",") {
    reduce(0);
    if (pending_.empty() || (t.text == "," && !pending_.back().function))
      unexpected(t, "an operator or the end");
    const Pending open = pending_.back();
    if (t.text == ",") {
      if (values_.size() - open.base >= open.function->most)
        unexpected(t, fmt::format("\")\": {} takes {} arguments", open.function->name,
                                  open.function->most));
      return true;
    }
    pending_.pop_back();
    if (open.function) apply_call(open, t.at);
    return false;
  }
  const auto o = std::ranges::find(kBinary, t.text, &Operator::text);
  if (o == kBinary.end()) unexpected(t, "an operator, \")\" or the end");
  binary(*o, t.at);
  return true;
}

void Parser::binary(const Operator& o, std::size_t at) {
  // Sums and lists wait until they are complete: one sort instead of one a term.
  const bool list = o.level == kSum || o.op == ExprOp::And || o.op == ExprOp::Or;
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

void Parser::refuse_zero(ExprOp op, Value divisor, std::size_t at) const {
  const bool divides =
      op == ExprOp::Div || op == ExprOp::Mod || op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
  if (divides && builder_.is_zero(divisor)) fail(at, "division by zero; the divisor must not be 0");
}

void Parser::apply_top() {
  const Pending top = pending_.back();
  if (top.level == kSum || top.op == ExprOp::And || top.op == ExprOp::Or) return apply_run(top);
  pending_.pop_back();
  const Value b = pop();
  if (top.op == ExprOp::Neg || top.op == ExprOp::Not) {
    values_.push_back(builder_.apply(top.op, {&b, 1}));
    return;
  }
  refuse_zero(top.op, b, top.at);
  const Value args[] = {pop(), b};
  values_.push_back(builder_.apply(top.op, args));
}

void Parser::apply_run(const Pending& top) {
  std::vector<ExprOp> ops;
  while (!pending_.empty() && pending_.back().level == top.level) {
    ops.push_back(pending_.back().op);
    pending_.pop_back();
  }
  std::ranges::reverse(ops);
  const std::size_t base = values_.size() - ops.size() - 1;
  const Value value = builder_.chain(ops, std::span(values_).subspan(base));
  values_.resize(base);
  values_.push_back(value);
}

void Parser::apply_call(const Pending& call, std::size_t end) {
  const std::size_t n = values_.size() - call.base;
  const Function& f = *call.function;
  if (n < f.least)
    fail(end,
         fmt::format("expected \",\": {} takes {} arguments, here are {}", f.name, f.least, n));
  const auto args = std::span(values_).subspan(call.base);
  refuse_zero(f.op, args.back(), call.at);
  const Value value = builder_.apply(f.op, args);
  values_.resize(call.base);
  values_.push_back(value);
}

}  // namespace

ExpressionBuilder::Value read_expression(std::string_view text, ExpressionBuilder& builder) {
  return Parser(text, builder).run();
}

}  // namespace touchstone::symbolic
