// Expressions of other languages by precedence: each language has a table of operators, all share
// the table of calls.
#include <algorithm>
#include <array>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/notation/reading.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

// clang-format off
/// What an operator or a call does. The last two rows can only be called.
enum Act : int {
  kChoose, kIf, kOr, kAnd, kBitOr, kBitXor, kBitAnd, kEq, kNe, kLt, kLe, kGt, kGe, kLeft, kRight, kAdd, kSub, kMul,
  kFloor, kTrunc, kCeil, kRatio, kNoRatio, kFloorMod, kTruncMod, kPower,
  kRoundUp, kModular, kMin, kMax, kWhere, kClamp, kAbs, kWholeFloor, kWholeCeil, kNot, kBitNot, kSame, kGcd,
  kNonNegative
};

struct Infix {
  std::string_view text;
  Act act;
  int level;
};
constexpr int kNotOperand = 4, kUnaryOperand = 13;
constexpr Infix kOfC[] = {
    {"?", kChoose, 1}, {"||", kOr, 2}, {"&&", kAnd, 3}, {"|", kBitOr, 4}, {"^", kBitXor, 5}, {"&", kBitAnd, 6},
    {"==", kEq, 7}, {"!=", kNe, 7}, {"<", kLt, 8}, {"<=", kLe, 8}, {">", kGt, 8}, {">=", kGe, 8}, {"<<", kLeft, 9},
    {">>", kRight, 9}, {">>>", kRight, 9}, {"+", kAdd, 10}, {"-", kSub, 10}, {"*", kMul, 11}, {"/", kTrunc, 11},
    {"%", kTruncMod, 11},
};
constexpr Infix kOfPython[] = {
    {"if", kIf, 1}, {"or", kOr, 2}, {"and", kAnd, 3}, {"==", kEq, 5}, {"!=", kNe, 5}, {"<", kLt, 5}, {"<=", kLe, 5},
    {">", kGt, 5}, {">=", kGe, 5}, {"|", kBitOr, 6}, {"^", kBitXor, 7}, {"&", kBitAnd, 8}, {"<<", kLeft, 9},
    {">>", kRight, 9}, {"+", kAdd, 10}, {"-", kSub, 10}, {"*", kMul, 11}, {"//", kFloor, 11}, {"/", kNoRatio, 11},
    {"%", kFloorMod, 11}, {"**", kPower, 14},
};
// Where a language differs from the table of its family.
struct Change {
  Language language;
  Infix infix;
};
constexpr Change kChanges[] = {
    {Language::Sympy, {"/", kRatio, 11}}, {Language::Jax, {"^", kPower, 14}},
    {Language::Halide, {"/", kFloor, 11}}, {Language::Halide, {"%", kFloorMod, 11}},
    {Language::Mlir, {"floordiv", kFloor, 11}}, {Language::Mlir, {"ceildiv", kCeil, 11}},
    {Language::Mlir, {"mod", kFloorMod, 11}}, {Language::Isl, {"/", kRatio, 11}},
    {Language::Isl, {"mod", kFloorMod, 14}}, {Language::Isl, {"=", kEq, 5}},
    {Language::Isl, {"&", kAnd, 3}}, {Language::Isl, {"&&", kAnd, 3}}, {Language::Isl, {"|", kOr, 2}}, {Language::Isl, {"||", kOr, 2}},
};

struct IntegerType {
  std::string_view name;
  int bits;
  bool is_signed;
};
constexpr IntegerType kTypes[] = {
    {"bool", 1, false}, {"char", 8, true}, {"short", 16, true}, {"int", 32, true}, {"long", 64, true},
    {"unsigned", 32, false}, {"signed", 32, true}, {"uchar", 8, false}, {"ushort", 16, false}, {"uint", 32, false},
    {"ulong", 64, false}, {"byte", 8, false}, {"size_t", 64, false}, {"ssize_t", 64, true}, {"ptrdiff_t", 64, true},
    {"index_t", 64, true}, {"usize", 64, false}, {"isize", 64, true},
};
constexpr std::string_view kNoTypes[] = {"const", "constexpr", "auto", "static", "let", "mut", "var", "volatile"};

// Variables whose range is known wherever they occur.
struct Builtin {
  std::string_view prefix;
  std::int64_t low, high;
};
constexpr std::int64_t kMostInt = INT32_MAX;
constexpr Builtin kBuiltins[] = {
    {"threadIdx_", 0, 1023}, {"blockIdx_", 0, kMostInt}, {"blockDim_", 1, 1024}, {"gridDim_", 1, kMostInt},
    {"program_id_", 0, kMostInt}, {"num_programs_", 1, kMostInt}, {"get_global_id_", 0, kMostInt},
    {"get_local_id_", 0, kMostInt}, {"get_group_id_", 0, kMostInt}, {"get_local_size_", 1, kMostInt},
    {"warpSize", 32, 32},
};

struct CallNames {
  Act act;
  std::size_t least, most;
  std::string_view names;  // each between spaces
};
constexpr CallNames kCalls[] = {
    {kFloor, 2, 2, " floordiv FloorDiv exact_div floor_div floor_divide CleanDiv indexdiv fld "},
    {kTrunc, 2, 2, " truncdiv tdiv idiv TruncDiv "},
    {kFloorMod, 2, 2, " floormod mod Mod PythonMod floor_mod remainder indexmod "},
    {kTruncMod, 2, 2, " truncmod tmod TruncMod rem "},
    {kCeil, 2, 2, " ceildiv CeilDiv cdiv ceil_div divup DivUp div_up divUp "},
    {kRoundUp, 2, 2, " round_up roundup align_up RoundUp round_up_to "},
    {kModular, 3, 3, " ModularIndexing "},
    {kMin, 1, kAnyCount, " min Min minimum smin umin "},
    {kMax, 1, kAnyCount, " max Max maximum smax umax "},
    {kWhere, 3, 3, " where Where select Select if_then_else "},
    {kClamp, 3, 3, " clamp clip "},
    {kAbs, 1, 1, " abs Abs absolute "},
    {kWholeFloor, 1, 1, " floor FloorToInt "},
    {kWholeCeil, 1, 1, " ceil ceiling CeilToInt "},
    {kEq, 2, 2, " Eq EQ eq equal "}, {kNe, 2, 2, " Ne NE ne not_equal "},
    {kLt, 2, 2, " Lt LT lt less StrictLessThan "}, {kLe, 2, 2, " Le LE le less_equal LessThan "},
    {kGt, 2, 2, " Gt GT gt greater StrictGreaterThan "}, {kGe, 2, 2, " Ge GE ge greater_equal GreaterThan "},
    {kAnd, 1, kAnyCount, " And all logical_and "}, {kOr, 1, kAnyCount, " Or any logical_or "},
    {kNot, 1, 1, " Not logical_not "},
    {kBitAnd, 2, 2, " bitwise_and BitwiseFn_bitwise_and "}, {kBitOr, 2, 2, " bitwise_or "},
    {kBitXor, 2, 2, " bitwise_xor "}, {kBitNot, 1, 1, " bitwise_not invert "},
    {kLeft, 2, 2, " left_shift shift_left LShift "}, {kRight, 2, 2, " right_shift shift_right RShift "},
    {kPower, 2, 2, " pow Pow "}, {kSame, 1, 1, " likely Identity Integer "},
    {kGcd, 2, 2, " gcd "}, {kNonNegative, 1, 1, " non_negative "}, {kMul, 2, 2, " mul24 __mul24 __umul24 "},
};
// clang-format on

const Infix* infix_of(Language language, const Scanner::Token& token) {
  if (token.kind != Scanner::Kind::Symbol && token.kind != Scanner::Kind::Name) return nullptr;
  for (const Change& c : kChanges)
    if (c.language == language && c.infix.text == token.text) return &c.infix;
  const bool c = language == Language::C || language == Language::Halide;
  for (const Infix& row : c ? std::span<const Infix>(kOfC) : std::span<const Infix>(kOfPython))
    if (row.text == token.text) return &row;
  return nullptr;
}

bool is_comparison(Act act) { return act >= kEq && act <= kGe; }

// int32, uint8_t, i64, u32, int, unsigned.
std::optional<IntegerType> type_of(std::string_view name) {
  for (const IntegerType& t : kTypes)
    if (t.name == name) return t;
  std::string_view rest = name;
  const bool is_signed = !rest.starts_with("u");
  if (!is_signed) rest.remove_prefix(1);
  if (rest.starts_with("int"))
    rest.remove_prefix(3);
  else if (rest.starts_with("i") && is_signed)
    rest.remove_prefix(1);
  else if (is_signed)
    return std::nullopt;
  if (rest.ends_with("_t")) rest.remove_suffix(2);
  for (const int bits : {8, 16, 32, 64})
    if (rest == std::to_string(bits)) return IntegerType{name, bits, is_signed};
  return std::nullopt;
}

const CallNames* call_of(std::string_view name) {
  const std::string word = fmt::format(" {} ", name);
  for (const CallNames& row : kCalls)
    if (row.names.find(word) != row.names.npos) return &row;
  return nullptr;
}

constexpr ExprOp kCompared[] = {ExprOp::Eq, ExprOp::Ne, ExprOp::Lt,
                                ExprOp::Le, ExprOp::Gt, ExprOp::Ge};

// 0 or 1 by its operator.
bool is_truth(const Exprs& e, Expr x) { return e.op(x) >= ExprOp::Or && e.op(x) <= ExprOp::Ne; }

constexpr int kDeepest = 200;

}  // namespace

template <class F>
Expr LanguageReader::at_place(std::size_t at, F&& f) const {
  try {
    return f();
  } catch (const ParseError&) {
    throw;
  } catch (const Error& e) {
    s_->fail(at, e.what());
  }
}

Expr LanguageReader::only_whole(const Quotient& value, std::size_t at) const {
  if (!d_.exprs.is_constant(value.den, 1))
    s_->fail(at, "a quotient that may not be whole; write floor(x/4) or FloorDiv(x, 4)");
  return value.num;
}

// ~ of a truth value is "not" in all languages but C.
Expr LanguageReader::inverted(Expr x) {
  const bool truth = is_truth(d_.exprs, x) && language_ != Language::C;
  return truth ? d_.exprs.apply(ExprOp::Not, {x}) : d_.bits.inverted(x);
}

template <class F>
auto LanguageReader::under(Expr condition, F&& f) {
  conditions_.push_back(condition);
  const auto r = f();
  conditions_.pop_back();
  return r;
}

Expr LanguageReader::whole(int level) {
  const std::size_t at = s_->now().at;
  return only_whole(expression(level), at);
}

Quotient LanguageReader::expression(int level) {
  if (++depth_ > kDeepest) s_->fail(fmt::format("nested deeper than {} operators", kDeepest));
  Quotient left = prefix();
  for (;;) {
    const Scanner::Token op = s_->now();
    const Infix* const row = infix_of(language_, op);
    if (!row || row->level < level) break;
    s_->take();
    Exprs& e = d_.exprs;
    if (row->act == kChoose || row->act == kIf) {
      const bool choose = row->act == kChoose;
      const Expr condition = choose ? only_whole(left, op.at) : whole(2);
      const Quotient one = choose ? under(condition, [&] { return expression(1); }) : left;
      s_->expect(choose ? ":" : "else");
      const Quotient other =
          under(e.apply(ExprOp::Not, {condition}), [&] { return expression(1); });
      const auto part = [&](const Quotient& q) {
        return only_whole(in_common_type(q, one, other), op.at);
      };
      left = in_common_type(plain(e.apply(ExprOp::Where, {condition, part(one), part(other)})), one,
                            other);
    } else if (row->act == kPower) {
      left = binary(row->act, left, expression(row->level), op.at);
    } else if (is_comparison(row->act)) {
      // A run of comparisons compares neighbours.
      Expr all = only_whole(left, op.at);
      Quotient at = left;
      const Infix* next = row;
      for (int n = 0; next && is_comparison(next->act) && next->level == row->level; ++n) {
        if (n > 0 && language_ != Language::Python && language_ != Language::Isl &&
            language_ != Language::Sympy)
          s_->fail("a comparison of a comparison; write a <= b && b < c");
        if (n > 0) s_->take();
        const Quotient right = expression(row->level + 1);
        const Expr pair = e.apply(kCompared[next->act - kEq],
                                  {only_whole(in_common_type(at, at, right), op.at),
                                   only_whole(in_common_type(right, at, right), op.at)});
        all = n == 0 ? pair : e.apply(ExprOp::And, {all, pair});
        at = right;
        next = infix_of(language_, s_->now());
      }
      left = plain(all);
    } else if (row->act == kAnd || row->act == kOr) {
      const Expr x = only_whole(left, op.at);
      const Expr y = under(row->act == kAnd ? x : e.apply(ExprOp::Not, {x}),
                           [&] { return whole(row->level + 1); });
      left = binary(row->act, plain(x), plain(y), op.at);
    } else {
      const Quotient right = expression(row->level + 1);
      const bool shifts = row->act == kLeft || row->act == kRight;
      const Quotient& by = shifts ? plain(right.num) : right;
      const bool divides = row->act == kTrunc || row->act == kTruncMod;  // converts before
      left = in_common_type(divides ? binary(row->act, in_common_type(left, left, by),
                                             in_common_type(right, left, by), op.at)
                                    : binary(row->act, left, right, op.at),
                            left, by);
    }
    if (e.is_constant(left.den, 1)) d_.computed(left.num, conditions_, left.bits, left.is_signed);
  }
  --depth_;
  return left;
}

Quotient LanguageReader::typed(Expr value, std::string_view name) {
  Quotient r = plain(value);
  const auto type = language_ == Language::C ? type_of(name) : std::nullopt;
  if (type) r.bits = type->bits, r.is_signed = type->is_signed;
  return r;
}

Quotient LanguageReader::in_common_type(Quotient result, const Quotient& a, const Quotient& b) {
  const auto promoted = [](const Quotient& q) {  // bits, then unsigned
    const bool small = q.bits > 0 && q.bits < 32;
    return small ? std::pair(32, false) : std::pair(q.bits, !q.is_signed);
  };
  const auto [bits, is_unsigned] = std::max(promoted(a), promoted(b));
  result.bits = bits;
  result.is_signed = !is_unsigned;
  if (bits == 0 || !is_unsigned || is_truth(d_.exprs, result.num)) return result;
  const Interval range = d_.bits.bounds(result.num);
  if (!range.lo || !range.hi) {
    d_.note(fmt::format("{} is taken to fit uint{}; ranges of its variables would decide",
                        render(d_.exprs, result.num), bits));
  } else if (!range.within(0, symbolic::power_of_two(bits) - 1)) {
    d_.computed(result.num, conditions_, bits, false);  // what does not fit
    result.num = d_.bits.wrapped(result.num, bits, false);
  }
  return result;
}

Quotient LanguageReader::binary(int act, const Quotient& a, const Quotient& b, std::size_t at) {
  Exprs& e = d_.exprs;
  Bits& bits = d_.bits;
  const bool same = a.den == b.den;
  switch (act) {
    case kAdd:
    case kSub: {
      const Expr x = same ? a.num : bits.times(a.num, b.den),
                 y = same ? b.num : bits.times(b.num, a.den);
      return {act == kAdd ? bits.plus(x, y) : bits.minus(x, y),
              same ? a.den : bits.times(a.den, b.den)};
    }
    case kMul: return {bits.times(a.num, b.num), bits.times(a.den, b.den)};
    case kRatio:
      if (e.is_constant(b.num, 0)) fail_division(s_->text(), at);
      if (e.is_constant(b.num) && e.is_constant(a.num) && e.is_constant(a.den, 1) &&
          e.is_constant(b.den, 1) && floor_mod(e.value(a.num), e.value(b.num)).is_zero())
        return plain(e.constant(floor_div(e.value(a.num), e.value(b.num))));
      return {bits.times(a.num, b.den), bits.times(a.den, b.num)};
    case kNoRatio:
      s_->fail(at,
               "\"/\" gives a fraction here; write // for the floor, or --from c or --from sympy");
    default: break;
  }
  const Expr x = only_whole(a, at), y = only_whole(b, at);
  const bool divides =
      act == kFloor || act == kTrunc || act == kCeil || act == kFloorMod || act == kTruncMod;
  if (divides && e.is_constant(y, 0)) fail_division(s_->text(), at);
  // Halide's remainder is never negative, its quotient goes with it.
  if (language_ == Language::Halide && (act == kFloor || act == kFloorMod)) {
    const Interval range = d_.bits.bounds(y);
    if (range.at_most(-1)) {
      const Expr size = e.apply(ExprOp::Neg, {y});
      if (act == kFloorMod) return plain(e.apply(ExprOp::Mod, {x, size}));
      return plain(e.apply(ExprOp::Neg, {e.apply(ExprOp::Div, {x, size})}));
    }
    if (!range.at_least(1))
      s_->fail(at, "the sign of the divisor is unknown; give its variables ranges");
  }
  return plain(at_place(at, [&]() -> Expr {
    switch (act) {
      case kOr:
      case kAnd:
        if (language_ == Language::Python && !(is_truth(e, x) && is_truth(e, y)))
          return act == kOr ? e.apply(ExprOp::Where, {x, x, y}) : e.apply(ExprOp::Where, {x, y, x});
        return e.apply(act == kOr ? ExprOp::Or : ExprOp::And, {x, y});
      case kBitOr: return bits.either(x, y);
      case kBitXor:
        if (language_ == Language::Sympy) throw Error("^ is no power; write **");
        return bits.one_of(x, y);
      case kBitAnd: return bits.both(x, y);
      case kLeft: return bits.left(x, y);
      case kRight: return bits.right(x, y);
      case kFloor: return e.apply(ExprOp::Div, {x, y});
      case kFloorMod: return e.apply(ExprOp::Mod, {x, y});
      case kTrunc: return e.apply(ExprOp::TruncDiv, {x, y});
      case kTruncMod: return e.apply(ExprOp::TruncMod, {x, y});
      case kCeil:
        return e.apply(ExprOp::Neg, {e.apply(ExprOp::Div, {e.apply(ExprOp::Neg, {x}), y})});
      case kPower: {
        constexpr int kMost = 16;
        if (e.is_constant(x, 2)) return bits.power_of_two(y);
        if (!e.is_constant(y) || e.value(y).sign() < 0 || e.value(y) > Int(kMost))
          throw Error(
              fmt::format("the exponent {} is not a number from 0 to {}", render(e, y), kMost));
        Expr power = e.constant(1);
        for (Int n = 0; n < e.value(y); n += 1) power = bits.times(power, x);
        return power;
      }
      default: return e.apply(kCompared[act - kEq], {x, y});
    }
  }));
}

Quotient LanguageReader::prefix() {
  Exprs& e = d_.exprs;
  const Scanner::Token t = s_->now();
  const bool python = language_ != Language::C && language_ != Language::Halide;
  if (s_->take("-")) {
    const Quotient x = expression(kUnaryOperand);
    const Expr minus =
        e.is_constant(x.num) ? e.constant(-e.value(x.num)) : e.apply(ExprOp::Neg, {x.num});
    return in_common_type({minus, x.den}, x, x);
  }
  if (s_->take("+")) return expression(kUnaryOperand);
  if (s_->take("~")) {
    const Quotient x = expression(kUnaryOperand);
    return in_common_type(plain(inverted(only_whole(x, t.at))), x, x);
  }
  if (s_->take("!")) return plain(e.apply(ExprOp::Not, {whole(kUnaryOperand)}));
  if (python && s_->take("not")) return plain(e.apply(ExprOp::Not, {whole(kNotOperand)}));
  if (language_ == Language::C && t.is("(")) {  // a cast?
    s_->take();
    if (const auto name = type(); name && s_->take(")"))
      return typed(cast(whole(kUnaryOperand), *name, t.at), *name);
    s_->back_to(t);
  }
  return with_methods(primary());
}

// x.where(a, b), (a < b).astype(int)
Quotient LanguageReader::with_methods(Quotient value) {
  while (s_->now().is(".")) {
    const std::size_t at = s_->now().at;
    s_->take();
    const Scanner::Token method = s_->expect(Scanner::Kind::Name, "a method");
    if (!s_->now().is("(")) s_->fail(at, fmt::format("no member \"{}\" of a number", method.text));
    value = call(method, value);
  }
  return value;
}

Quotient LanguageReader::primary() {
  const Scanner::Token t = s_->now();
  if (t.kind == Scanner::Kind::Number) {
    s_->take();
    Quotient number = plain(d_.exprs.constant(t.value));
    if (language_ == Language::C) {
      number.bits = t.is_long ? 64 : t.is_unsigned ? 32 : 0;
      number.is_signed = !t.is_unsigned;
    }
    // isl writes 3i.
    if (language_ == Language::Isl && s_->now().kind == Scanner::Kind::Name &&
        s_->now().at == s_->end())
      return binary(kMul, number, expression(kUnaryOperand + 1), t.at);
    return number;
  }
  if (t.kind == Scanner::Kind::Name) return name();
  if (s_->take("(")) {
    const Quotient value = expression(1);
    s_->expect(")");
    return value;
  }
  s_->fail(fmt::format("expected a number, a name or \"(\", found {}",
                       t.kind == Scanner::Kind::End ? "the end" : fmt::format("\"{}\"", t.text)));
}

Quotient LanguageReader::name() {
  const Scanner::Token first = s_->take();
  Scanner::Token last = first;
  std::string spelled(first.text);
  for (;;) {  // a.b, a::b, a->b, shape[0]
    const Scanner::Token join = s_->now();
    if (join.is(".") || join.is("::") || join.is("->")) {
      s_->take();
      const Scanner::Token member = s_->expect(Scanner::Kind::Name, "a name");
      if (join.is(".") && s_->now().is("(") && (d_.has(spelled) || bound_.contains(spelled)))
        return with_methods(call(member, plain(variable(spelled, first.at))));
      last = member;
      spelled += std::string(join.text) + std::string(member.text);
    } else if (join.is("[")) {
      s_->take();
      const auto index =
          s_->expect(Scanner::Kind::Number, "a number: an element of an array is unknown");
      s_->expect("]");
      spelled += fmt::format("[{}]", index.value.str());
    } else {
      break;
    }
  }
  const bool templated = s_->now().is("<") && (last.text == "static_cast" || last.text == "Int" ||
                                               last.text == "min" || last.text == "max");
  if (s_->now().is("(") || templated) {
    const std::size_t before = spelled.size() - last.text.size();
    const bool dotted = before > 0 && spelled[before - 1] == '.';
    return with_methods(call(last, std::nullopt, dotted ? spelled.substr(0, before - 1) : ""));
  }
  if (spelled == "True" || spelled == "true") return plain(d_.exprs.constant(1));
  if (spelled == "False" || spelled == "false") return plain(d_.exprs.constant(0));
  Quotient r = plain(variable(spelled, first.at));
  if (const auto type = typed_.find(identifier_of(spelled)); type != typed_.end())
    r.bits = type->second.bits, r.is_signed = type->second.is_signed;
  return r;
}

Expr LanguageReader::variable(std::string_view spelled, std::size_t at) {
  const std::string name = identifier_of(spelled);
  if (const auto known = bound_.find(name); known != bound_.end()) return known->second;
  if (is_reserved(name) || infix_of(language_, {Scanner::Kind::Name, spelled, at, {}}))
    s_->fail(at, fmt::format("\"{}\" is an operator, not a name", spelled));
  return at_place(at, [&] {
    for (const Builtin& b : kBuiltins)
      if (name.starts_with(b.prefix)) return d_.variable(spelled, {Int(b.low), Int(b.high)});
    return d_.variable(spelled);
  });
}

std::vector<Quotient> LanguageReader::arguments() {
  std::vector<Quotient> args;
  s_->expect("(");
  while (!s_->take(")")) {
    if (!args.empty()) s_->expect(",");
    const Scanner::Token keyword = s_->now();
    if (keyword.kind == Scanner::Kind::Name) {
      s_->take();
      if (language_ == Language::Isl || !s_->take("="))
        s_->back_to(keyword);
      else if (keyword.text != "axis" || !args.empty())
        s_->fail(keyword.at, "arguments by name are not read; write them in order");
    }
    args.push_back(expression(1));
  }
  return args;
}

// Piecewise((v, c), .., (w, True))
Quotient LanguageReader::piecewise(std::size_t at) {
  std::vector<std::pair<Expr, Expr>> pieces;
  s_->expect("(");
  do {
    s_->expect("(");
    const Expr value = whole();
    s_->expect(",");
    pieces.emplace_back(value, whole());
    s_->expect(")");
  } while (s_->take(","));
  s_->expect(")");
  Exprs& e = d_.exprs;
  if (!e.is_constant(pieces.back().second, 1))
    s_->fail(at, "the last part of Piecewise needs the condition True");
  Expr result = pieces.back().first;
  for (std::size_t i = pieces.size() - 1; i-- > 0;)
    result = e.apply(ExprOp::Where, {pieces[i].second, pieces[i].first, result});
  return plain(result);
}

// `unknown`: what stands before the name and is no variable so far, a module or one.
Quotient LanguageReader::call(const Scanner::Token& name, std::optional<Quotient> receiver,
                              const std::string& unknown) {
  Exprs& e = d_.exprs;
  std::optional<std::string> type_name;
  if (s_->take("<")) {  // Int<8>{}, static_cast<int>(x), min<int>(a, b)
    if (s_->now().kind == Scanner::Kind::Number) {
      const Expr number = e.constant(s_->take().value);
      s_->expect(">");
      if (s_->take("{"))
        s_->expect("}");
      else if (s_->take("("))
        s_->expect(")");
      return plain(number);
    }
    type_name = type();
    if (!type_name) s_->fail("expected a type");
    s_->expect(">");
  }
  if (name.text == "Piecewise") return piecewise(name.at);
  const bool converts = name.text == "astype" || name.text == "to" || name.text == "cast" ||
                        name.text == "Cast" || name.text == "static_cast";
  if (converts && !type_name) {  // x.astype(np.int32), Cast("int32", x)
    s_->expect("(");
    const std::size_t at = s_->now().at;
    Scanner::Token word = s_->take();
    while (s_->take(".")) word = s_->take();
    const auto to = type_of(word.text);
    if (!to) s_->fail(at, "expected an integer type, as int32");
    if (!receiver && s_->take(",")) receiver = plain(whole());
    if (!receiver && !unknown.empty()) receiver = plain(variable(unknown, name.at));
    if (!receiver) s_->fail("expected a number to convert");
    s_->expect(")");
    return plain(cast(only_whole(*receiver, at), word.text, at));
  }
  std::vector<Quotient> args;
  if (receiver) args.push_back(*receiver);
  for (const Quotient& a : arguments()) args.push_back(a);
  const auto arg = [&](std::size_t i) { return only_whole(args[i], name.at); };
  const CallNames* const row = call_of(name.text);
  if (row && !unknown.empty()) {  // np.floor(x), or x.floor()
    const std::size_t alone = row->most == kAnyCount ? 2 : row->least;
    if (args.size() < alone) args.insert(args.begin(), plain(variable(unknown, name.at)));
  }
  if (!row) {
    const auto to = type_of(type_name ? std::string_view(*type_name) : name.text);
    const bool any_size =
        name.text == "int" && language_ != Language::C && language_ != Language::Halide;
    if (any_size && args.size() == 1) return args[0];
    if (to && args.size() == 1)
      return plain(cast(arg(0), type_name ? *type_name : name.text, name.at));
    if (args.size() == 1 && e.is_constant(args[0].num)) {
      const std::string as_name = fmt::format("{}({})", name.text, e.value(args[0].num).str());
      for (const Builtin& b : kBuiltins)
        if (identifier_of(as_name).starts_with(b.prefix)) return plain(variable(as_name, name.at));
    }
    s_->fail(
        name.at,
        fmt::format("unknown function \"{}\"; known: min, max, where, floordiv, ceildiv, mod, abs, "
                    "clamp and their other names (docs/notations.md)",
                    name.text));
  }
  if (args.size() < row->least || args.size() > row->most)
    s_->fail(name.at, fmt::format("{} takes {} argument{}, found {}", name.text, row->least,
                                  row->least == 1 ? "" : "s", args.size()));
  const auto two = [&](int act) { return binary(act, args[0], args[1], name.at); };
  const auto folded = [&](ExprOp op) {
    std::vector<Expr> all;
    for (std::size_t i = 0; i < args.size(); ++i) all.push_back(arg(i));
    if (op == ExprOp::Min || op == ExprOp::Max) return plain(e.apply(op, all));
    if (all.size() == 1) all.push_back(all[0]);  // gives 0 or 1
    return plain(e.folded(op, all));
  };
  switch (row->act) {
    case kFloorMod:
      if (language_ == Language::C && name.text == "remainder")
        s_->fail(name.at, "remainder rounds to the nearest quotient; write %");
      return two(kFloorMod);
    case kRoundUp: return binary(kMul, two(kCeil), args[1], name.at);
    case kModular: return binary(kFloorMod, two(kFloor), args[2], name.at);
    case kMin: return folded(ExprOp::Min);
    case kMax: return folded(ExprOp::Max);
    case kAnd: return folded(ExprOp::And);
    case kOr: return folded(ExprOp::Or);
    case kWhere:
      if (language_ == Language::C && name.text == "select")
        s_->fail(name.at, "select has another order in each language; write c ? a : b");
      return plain(e.apply(ExprOp::Where, {arg(0), arg(1), arg(2)}));
    case kClamp: {
      const bool first = language_ == Language::Jax;  // lax.clamp(low, x, high)
      const Expr x = arg(first ? 1 : 0), low = arg(first ? 0 : 1);
      return plain(e.apply(ExprOp::Max, {e.apply(ExprOp::Min, {x, arg(2)}), low}));
    }
    case kAbs: return plain(e.apply(ExprOp::Max, {arg(0), e.apply(ExprOp::Neg, {arg(0)})}));
    case kWholeFloor:
    case kWholeCeil: {
      const Quotient q = args[0];
      if (e.is_constant(q.den, 1)) return q;
      return binary(row->act == kWholeFloor ? kFloor : kCeil, plain(q.num), plain(q.den), name.at);
    }
    case kNot: return plain(e.apply(ExprOp::Not, {arg(0)}));
    case kBitNot: return plain(inverted(arg(0)));
    case kSame: return args[0];
    case kGcd:
      if (!e.is_constant(arg(0)) || !e.is_constant(arg(1)))
        s_->fail(name.at, "gcd of numbers only");
      return plain(e.constant(gcd(e.value(arg(0)), e.value(arg(1)))));
    case kNonNegative: return plain(e.apply(ExprOp::Max, {arg(0), e.constant(0)}));
    default: return two(row->act);
  }
}

std::optional<std::string> LanguageReader::type() {
  const Scanner::Token start = s_->now();
  std::string kind;
  bool unsigned_word = false, any = false;
  for (Scanner::Token t = s_->now(); t.kind == Scanner::Kind::Name; t = s_->now()) {
    const bool none = std::ranges::find(kNoTypes, t.text) != std::end(kNoTypes);
    const auto known = type_of(t.text);
    if (t.text == "std" || t.text == "cute" || t.text == "cutlass") {
      s_->take();
      if (!s_->take("::")) {
        s_->back_to(t);
        break;
      }
      continue;
    }
    if ((!none && !known) || d_.has(t.text) || bound_.contains(t.text)) break;
    any = true;
    unsigned_word |= t.text == "unsigned";
    if (known && (kind.empty() || known->bits != 32 || kind == "unsigned" || kind == "signed"))
      kind = t.text;
    s_->take();
  }
  if (!any) {
    s_->back_to(start);
    return std::nullopt;
  }
  if (unsigned_word) kind = fmt::format("uint{}", kind.empty() ? 32 : type_of(kind)->bits);
  return kind;
}

Expr LanguageReader::cast(Expr value, std::string_view name, std::size_t at) {
  const auto type = type_of(name);
  if (!type) return value;  // const and auto
  if (type->name == "bool") return d_.exprs.apply(ExprOp::Ne, {value, d_.exprs.constant(0)});
  return at_place(at, [&] {
    const Interval range = d_.bits.bounds(value);
    const Int half = power_of_two(type->bits - 1);
    const Int low = type->is_signed ? -half : Int(0),
              high = type->is_signed ? half - 1 : half + half - 1;
    if (range.within(low, high)) return value;
    const bool leaves = (range.lo && *range.lo > high) || (range.hi && *range.hi < low);
    const bool known = range.lo && range.hi;
    if (type->bits < 32 || leaves || known)
      return d_.bits.wrapped(value, type->bits, type->is_signed);
    if (!type->is_signed && conditions_.empty())
      d_.suppose(d_.exprs.apply(ExprOp::Ge, {value, d_.exprs.constant(0)}));
    d_.note(fmt::format("column {}: {} is taken to fit {}; ranges of its variables would decide",
                        at + 1, render(d_.exprs, value), name));
    return value;
  });
}

// Statements end at ; and, in Python, at the end of a line outside parentheses.
std::vector<LanguageReader::Statement> LanguageReader::statements(std::string_view text) const {
  std::vector<Statement> found;
  const bool lines = language_ == Language::Python || language_ == Language::Tvm;
  std::size_t from = 0, before = 0;
  int open = 0;
  for (Scanner s(text, language_, 0, text.size()); s.now().kind != Scanner::Kind::End;) {
    const Scanner::Token t = s.now();
    if (lines && open == 0 && text.substr(before, t.at - before).find('\n') != text.npos) {
      found.push_back({from, t.at});
      from = t.at;
    }
    open += (t.is("(") || t.is("[")) - (t.is(")") || t.is("]"));
    s.take();
    before = s.end();
    if (!t.is(";")) continue;
    found.push_back({from, t.at});
    from = before;
  }
  found.push_back({from, text.size()});
  return found;
}

std::optional<Expr> LanguageReader::statement(std::string_view text, const Statement& place) {
  Scanner scanner(text, language_, place.from, place.to);
  s_ = &scanner;
  if (s_->now().kind == Scanner::Kind::End) return std::nullopt;
  s_->take("return");
  for (const std::string_view word : {"if", "for", "while", "do", "switch"})
    if (language_ == Language::C && s_->now().is(word))
      s_->fail("only assignments and expressions are read");
  const std::size_t type_at = s_->now().at;
  std::optional<std::string> declared = language_ == Language::C ? type() : std::nullopt;
  if (declared && s_->now().kind != Scanner::Kind::Name) {  // int(x), or a variable u8
    s_->back_to({Scanner::Kind::Name, "", type_at, {}});
    declared.reset();
  }
  const Scanner::Token first = s_->now();
  if (first.kind == Scanner::Kind::Name) {
    s_->take();
    while (s_->take(".")) s_->take();
    const std::string_view name = text.substr(first.at, s_->end() - first.at);
    if (language_ == Language::Tvm || language_ == Language::Python)
      if (s_->take(":")) type();  // x: int = ..
    if (s_->take("=")) {
      Expr value = whole();
      if (declared) value = cast(value, *declared, first.at);
      if (s_->now().kind != Scanner::Kind::End) s_->fail("expected an operator or the end");
      bound_[identifier_of(name)] = value;
      if (declared) typed_[identifier_of(name)] = typed(value, *declared);
      return value;
    }
    if (declared && (s_->now().is(",") || s_->now().kind == Scanner::Kind::End)) {
      const auto type = type_of(*declared);
      s_->back_to(first);
      do {
        const Scanner::Token variable = s_->expect(Scanner::Kind::Name, "a name");
        const Expr x = d_.variable(variable.text);
        if (!type) continue;
        const Int half = power_of_two(type->bits - 1);
        d_.within_type(identifier_of(variable.text), type->is_signed
                                                         ? Interval{-half, half - 1}
                                                         : Interval{Int(0), half + half - 1});
        typed_[identifier_of(variable.text)] = typed(x, *declared);
      } while (s_->take(","));
      return std::nullopt;
    }
    s_->back_to(first);
  }
  const Expr value = whole();
  if (s_->now().kind != Scanner::Kind::End) s_->fail("expected an operator or the end");
  return value;
}

Expr LanguageReader::read_one(std::string_view text) {
  const auto value = statement(text, {0, text.size()});
  if (!value) throw ParseError("column 1: expected an expression, found the end");
  return *value;
}

std::vector<Expr> LanguageReader::list(std::string_view end) {
  std::vector<Expr> all;
  while (!s_->take(end)) {
    if (!all.empty()) s_->expect(",");
    all.push_back(whole());
  }
  return all;
}

void LanguageReader::names(std::string_view end, bool symbols) {
  for (bool first = true; !s_->take(end); first = false) {
    if (!first) s_->expect(",");
    const std::string_view name = s_->expect(Scanner::Kind::Name, "a name").text;
    d_.variable(name);
    if (symbols) d_.symbols.push_back(identifier_of(name));
  }
}

// affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>, affine_set<(d0) : (d0 >= 0, d0 mod 2 == 0)>
void LanguageReader::affine() {
  const bool set = s_->take().text == "affine_set";
  s_->expect("<");
  s_->expect("(");
  names(")");
  if (s_->take("[")) names("]", true);
  if (set)
    s_->expect(":");
  else if (!s_->take("->"))
    s_->expect("->");
  s_->expect("(");
  const std::vector<Expr> all = list(")");
  if (all.empty() && !set) s_->fail("a map without results");
  s_->expect(">");
  Exprs& e = d_.exprs;
  if (!set)
    d_.results.insert(d_.results.end(), all.begin(), all.end());
  else
    d_.results.push_back(all.empty() ? e.constant(1) : e.folded(ExprOp::And, all));
}

// [N] -> { S[i, j] -> [i mod 4] : 0 <= i < N }, or a set
void LanguageReader::isl() {
  if (s_->take("[")) {
    names("]", true);
    s_->expect("->");
  }
  s_->expect("{");
  const auto tuple = [&](bool declares) {
    if (s_->now().kind == Scanner::Kind::Name) s_->take();
    s_->expect("[");
    if (declares) {
      names("]");
      return std::vector<Expr>();
    }
    return list("]");
  };
  tuple(true);
  const bool map = s_->take("->");
  if (map) d_.results = tuple(false);
  if (s_->take(":")) {
    const Expr condition = whole();
    if (map)
      d_.suppose(condition);
    else
      d_.results.push_back(condition);
  }
  s_->expect("}");
  if (d_.results.empty()) s_->fail("expected \": condition\" for a set");
}

void LanguageReader::read(std::string_view text) {
  {
    Scanner scanner(text, language_, 0, text.size());
    s_ = &scanner;
    if (language_ == Language::Mlir && s_->take("#")) {  // #map = affine_map<..>
      s_->expect(Scanner::Kind::Name, "a name");
      s_->expect("=");
    }
    const bool container = language_ == Language::Isl
                               ? s_->now().is("{") || s_->now().is("[")
                               : language_ == Language::Mlir &&
                                     (s_->now().is("affine_map") || s_->now().is("affine_set"));
    if (container) {
      language_ == Language::Isl ? isl() : affine();
      if (s_->now().kind != Scanner::Kind::End) s_->fail("expected the end");
      return;
    }
  }
  std::optional<Expr> last;
  for (const Statement& place : statements(text)) {
    const bool empty =
        Scanner(text, language_, place.from, place.to).now().kind == Scanner::Kind::End;
    if (!empty) last = statement(text, place);
  }
  if (!last) throw ParseError("column 1: expected an expression, found the end");
  d_.results.push_back(*last);
}

}  // namespace touchstone::symbolic
