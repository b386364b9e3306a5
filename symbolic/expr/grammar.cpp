#include "touchstone/symbolic/expr/grammar.h"

#include <algorithm>
#include <array>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/number/small_vector.h"

namespace touchstone::symbolic {

namespace {

enum class Tok : std::uint8_t { Number, Name, Symbol, End };

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  std::size_t at = 0;                    // offset in the text
  const OperatorInfo* binary = nullptr;  // the operator, if infix
};

constexpr int kNot = info(ExprOp::Not).level, kCompared = info(ExprOp::Lt).level,
              kSum = info(ExprOp::Add).level, kMinus = info(ExprOp::Neg).level;

constexpr bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool digit(char c) { return c >= '0' && c <= '9'; }

// Infix operators by first character: at most one of one character and one of two.
constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);
constexpr std::size_t binary_row(std::string_view text) {
  for (std::size_t i = 0; i < kOperators.size(); ++i)
    if (kOperators[i].notation == Notation::Infix && kOperators[i].name() == text) return i;
  return kNoPlace;
}
struct Start {
  std::size_t one = kNoPlace, two = kNoPlace;  // operators of one and of two characters
  char second = 0;
};
constexpr std::array<Start, 128> kStarts = [] {
  std::array<Start, 128> starts{};
  for (const OperatorInfo& o : kOperators) {
    if (o.notation != Notation::Infix || letter(o.name()[0])) continue;
    Start& s = starts[static_cast<unsigned char>(o.name()[0])];
    if (o.name().size() == 1) s.one = binary_row(o.name());
    if (o.name().size() != 2) continue;
    s.two = binary_row(o.name());
    s.second = o.name()[1];
  }
  return starts;
}();

/// Operator-precedence parser with explicit stacks, so depth costs only memory.
class Parser {
 public:
  using Value = ExpressionBuilder::Value;

  /// Reads [from, to) of the text.
  Parser(std::string_view text, ExpressionBuilder& builder, std::size_t from, std::size_t to)
      : text_(text), end_(std::min(to, text.size())), builder_(builder), position_(from) {}

  Value run();

 private:
  struct Pending {
    ExprOp op;
    int level;                               // 0 for an open parenthesis
    std::size_t at;                          // offset in the text
    const OperatorInfo* function = nullptr;  // for the parenthesis of a call
    std::size_t base = 0;                    // stack size below a call's arguments
  };

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    fail_at(text_, at, what);
  }
  [[noreturn]] void unexpected(const Token& t, const std::string& wanted) const;
  Token next();
  void operand(const Token& t);
  void name(const Token& t);
  /// True if another operand must follow.
  bool after_operand(const Token& t);
  void binary(const OperatorInfo& o, std::size_t at);
  void reduce(int level);
  void apply_top();
  void apply_run(const Pending& top);
  void apply_call(const Pending& call, std::size_t end);
  void refuse_zero(ExprOp op, Value divisor, std::size_t at);
  Value pop() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

  std::string_view text_;
  std::size_t end_;
  ExpressionBuilder& builder_;
  std::size_t position_;
  SmallVector<Value, 16> values_;
  SmallVector<Pending, 8> pending_;
};

void Parser::unexpected(const Token& t, const std::string& wanted) const {
  fail(t.at, fmt::format("expected {}, found {}", wanted,
                         t.kind == Tok::End ? "the end" : fmt::format("\"{}\"", t.text)));
}

Token Parser::next() {
  const char* const all = text_.data();
  const std::size_t size = end_;
  std::size_t at = position_;
  while (at < size && (all[at] == ' ' || all[at] == '\t' || all[at] == '\n' || all[at] == '\r'))
    ++at;
  position_ = at;
  if (at == size) return {Tok::End, "", at};
  const char first = all[at];
  if (digit(first) || letter(first)) {
    std::size_t end = at + 1;
    while (end < size && (digit(all[end]) || letter(all[end]))) ++end;
    position_ = end;
    const std::string_view word = text_.substr(at, end - at);
    if (digit(first)) return {Tok::Number, word, at};
    if (word == "and") return {Tok::Name, word, at, &kOperators[binary_row("and")]};
    if (word == "or") return {Tok::Name, word, at, &kOperators[binary_row("or")]};
    return {Tok::Name, word, at};
  }
  const Start& start = kStarts[static_cast<unsigned char>(first) & 127U];
  std::size_t row = start.one, length = 1;
  if (start.two != kNoPlace && at + 1 < size && all[at + 1] == start.second) {
    row = start.two;
    length = 2;
  }
  if ((row == kNoPlace && first != '(' && first != ')' && first != ',') || first < 0)
    fail(at, fmt::format(
                 "unknown operator \"{}\"; {}",
                 first >= ' ' && first < 127 ? std::string(1, first) : "?",
                 first == '/'
                     ? "write // for the floor, or name the language of the text (C's / truncates)"
                 : std::string_view("&|^~!?:[{.").find(first) != std::string_view::npos
                     ? "name the language of the text if it is another, as C"
                     : "expected a number, a name or an operator"));
  position_ = at + length;
  return {Tok::Symbol, text_.substr(at, length), at, row == kNoPlace ? nullptr : &kOperators[row]};
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
  constexpr const char* wanted = "a number, a name, \"(\", \"-\" or \"not\"";
  if (t.kind == Tok::Number) {
    if (!std::ranges::all_of(t.text, digit)) fail(t.at, "a name must not begin with a digit");
    if (t.text.size() > kLimits.digits)
      fail(t.at,
           fmt::format("a number of {} digits; the limit is {}", t.text.size(), kLimits.digits));
    const std::size_t zeros = std::min(t.text.find_first_not_of('0'), t.text.size() - 1);
    values_.push_back(builder_.constant(Int::from_digits(t.text.substr(zeros))));
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
  const auto f = std::ranges::find_if(kOperators, [&](const OperatorInfo& o) {
    return o.notation == Notation::Call && o.text == t.text;
  });
  if (f == kOperators.end())
    fail(t.at, fmt::format("unknown name \"{}\"; {}", t.text, builder_.known_names()));
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
        unexpected(t, fmt::format("\")\": {} takes {} arguments", open.function->text,
                                  open.function->most));
      return true;
    }
    pending_.pop_back();
    if (open.function) apply_call(open, t.at);
    return false;
  }
  if (!t.binary) unexpected(t, "an operator, \")\" or the end");
  binary(*t.binary, t.at);
  return true;
}

void Parser::binary(const OperatorInfo& o, std::size_t at) {
  // Sums and lists are applied when complete: one sort instead of one a term.
  const bool list = o.level == kSum || o.op == ExprOp::And || o.op == ExprOp::Or;
  reduce(list ? o.level + 1 : o.level);
  if (o.level == kCompared && !pending_.empty() && pending_.back().level == kCompared)
    fail(at, "chained comparison: write 0 <= b and b < 8");
  pending_.push_back({o.op, o.level, at});
}

void Parser::reduce(int level) {
  while (!pending_.empty() && pending_.back().level > 0 && pending_.back().level >= level) {
    // The caller rejects chained comparisons.
    if (level == kCompared && pending_.back().level == kCompared) return;
    apply_top();
  }
}

void Parser::refuse_zero(ExprOp op, Value divisor, std::size_t at) {
  if (!divides(op)) return;
  if (builder_.is_zero(divisor)) fail_division(text_, at);
  builder_.at(at);
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
  SmallVector<ExprOp, 16> ops;
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
  const OperatorInfo& f = *call.function;
  if (n < f.least)
    fail(end, fmt::format("expected \",\": {} takes {} arguments, found {}", f.text, f.least, n));
  const auto args = std::span(values_).subspan(call.base);
  refuse_zero(f.op, args.back(), call.at);
  const Value value = builder_.apply(f.op, args);
  values_.resize(call.base);
  values_.push_back(value);
}

}  // namespace

ExpressionBuilder::Value read_expression(std::string_view text, ExpressionBuilder& builder,
                                         std::size_t from, std::size_t to) {
  return Parser(text, builder, from, to).run();
}

void fail_division(std::string_view text, std::size_t at) {
  fail_at(text, at, "division by zero; the divisor must not be 0");
}

void fail_at(std::string_view text, std::size_t at, const std::string& what) {
  constexpr std::size_t kBefore = 30, kAround = 60;
  const std::size_t from = at > kBefore ? at - kBefore : 0;
  std::string excerpt(text.substr(from, kAround));
  std::ranges::replace_if(
      excerpt, [](char c) { return c < ' '; }, ' ');
  throw ParseError(fmt::format("column {}: {}\n  {}\n  {}^", at + 1, what, excerpt,
                               std::string(at - from, ' ')));
}

}  // namespace touchstone::symbolic
