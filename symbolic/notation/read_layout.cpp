// Layouts as expressions of an index.
#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/notation/reading.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

using Word = Scanner::Kind;

Int signed_number(Scanner& s) {
  const bool minus = s.take("-");
  if (s.now().is("Int") || s.now().is("C")) {  // Int<8>{}
    s.take();
    s.expect("<");
    const Int value = s.expect(Word::Number, "a number").value;
    s.expect(">");
    if (s.take("{")) s.expect("}");
    return minus ? -value : value;
  }
  const Int value = s.expect(Word::Number, "a number or a tuple of them").value;
  return minus ? -value : value;
}

// The numbers of a nested tuple, and its parentheses as text, to compare profiles.
void tuple(Scanner& s, std::vector<Int>& numbers, std::string& profile, int depth = 0) {
  constexpr int kDeepest = 50;
  if (depth > kDeepest) s.fail("a tuple nested too deeply");
  if (!s.take("(")) {
    numbers.push_back(signed_number(s));
    profile += '.';
    return;
  }
  profile += '(';
  do tuple(s, numbers, profile, depth + 1);
  while (s.take(","));
  s.expect(")");
  profile += ')';
}

struct Stage {
  std::vector<Int> shape, stride;     // of a layout
  int bits = 0, base = 0, shift = 0;  // of a swizzle
  Int offset{};
  enum { Layout, Swizzle, Offset } kind = Layout;
};

Stage stage(Scanner& s) {
  Stage r;
  if (s.now().is("Swizzle") || s.now().is("Sw")) {
    r.kind = Stage::Swizzle;
    s.take();
    s.expect("<");
    int* const to[] = {&r.bits, &r.base, &r.shift};
    for (std::size_t i = 0; i < 3; ++i) {
      if (i > 0) s.expect(",");
      const Int n = signed_number(s);
      constexpr int kMost = 12;
      if (abs(n) > Int(kMost) || (i < 2 && n.sign() < 0))
        s.fail(fmt::format("a swizzle's numbers are at most {}", kMost));
      *to[i] = static_cast<int>(std::stoi(n.str()));
    }
    s.expect(">");
    if (abs(Int(r.shift)) < Int(r.bits)) s.fail("a swizzle's shift must not be less than its bits");
    return r;
  }
  const std::size_t at = s.now().at;
  std::string of_shape, of_stride;
  tuple(s, r.shape, of_shape);
  if (of_shape == "." && !s.now().is(":")) {  // a number between two `o`
    r.kind = Stage::Offset;
    r.offset = r.shape[0];
    return r;
  }
  s.expect(":");
  tuple(s, r.stride, of_stride);
  if (of_shape != of_stride) s.fail(at, "shape and stride have different parentheses");
  for (const Int& n : r.shape)
    if (n.sign() <= 0) s.fail(at, "a size must be 1 or more");
  return r;
}

// Power of 2 as a number of the exponent's size.
Expr scaled(Draft& d, Expr x, int bits) { return d.bits.left(x, d.exprs.constant(bits)); }

}  // namespace

void read_cute(Draft& d, std::string_view text) {
  Scanner s(text, Language::Cute, 0, text.size());
  std::vector<Stage> stages;
  do stages.push_back(stage(s));
  while (s.take("o"));
  if (s.now().kind != Word::End) s.fail("expected \"o\" or the end");
  if (stages.back().kind != Stage::Layout) s.fail("the last part must be a layout, as (4,8):(8,1)");
  Int size = 1;
  for (const Int& n : stages.back().shape) size = size * n;
  Exprs& e = d.exprs;
  Expr x = d.variable("i");
  d.bound("i", {Int(0), size - 1});
  const auto over = [&](ExprOp op, Expr a, const Int& n) {
    return n.is_one() && op == ExprOp::Div ? a : e.apply(op, {a, e.constant(n)});
  };
  for (std::size_t i = stages.size(); i-- > 0;) {
    const Stage& t = stages[i];
    if (t.kind == Stage::Offset) {
      x = d.bits.plus(x, e.constant(t.offset));
    } else if (t.kind == Stage::Swizzle) {  // the bits from `base` change by those `shift` above
      const int low = t.shift < 0 ? t.base - t.shift : t.base;
      const Expr own = d.bits.bit(x, low, t.bits);
      const Expr other = d.bits.bit(x, t.shift < 0 ? t.base : t.base + t.shift, t.bits);
      x = d.bits.plus(x, scaled(d, d.bits.minus(d.bits.one_of(own, other), own), low));
    } else {
      Expr sum = e.constant(0);
      Int below = 1;
      std::size_t last = t.shape.size();  // the last mode takes all that is left
      while (last > 1 && t.shape[last - 1].is_one()) --last;
      for (std::size_t m = 0; m < last; ++m) {
        Expr digit = over(ExprOp::Div, x, below);
        if (m + 1 < last) digit = over(ExprOp::Mod, digit, t.shape[m]);
        if (!t.shape[m].is_one() || m + 1 == last)
          sum = d.bits.plus(sum, d.bits.times(digit, e.constant(t.stride[m])));
        below = below * t.shape[m];
      }
      x = sum;
    }
  }
  d.results.push_back(x);
}

void read_triton(Draft& d, std::string_view text) {
  Scanner s(text, Language::Python, 0, text.size());
  struct Bit {
    Expr value;
    std::vector<Int> to;
  };
  std::vector<Bit> all;
  std::size_t outputs = 0;
  std::set<std::pair<std::string_view, int>> seen;
  constexpr int kMostBits = 24;
  while (s.now().kind != Word::End && !s.now().is("where")) {
    while (s.take("-") || s.take(",")) {
    }
    const Scanner::Token name =
        s.expect(Word::Name, "an input and a power of two, as lane=1 -> (0, 1)");
    if (s.take("is")) {  // "warp is a size 1 dimension"
      for (const std::string_view word : {"a", "size"}) s.expect(word);
      s.expect(Word::Number, "1");
      s.expect("dimension");
      continue;
    }
    s.expect("=");
    const Scanner::Token number = s.expect(Word::Number, "a power of two");
    int bit = 0;
    while (power_of_two(bit) < number.value && bit < kMostBits) ++bit;
    const Int power = power_of_two(bit);
    if (power != number.value) s.fail(number.at, "not a power of two");
    const Expr variable = d.variable(name.text, {Int(0), {}});
    s.expect("->");
    s.expect("(");
    Bit b{d.bits.bit(variable, bit), {}};
    do {
      b.to.push_back(signed_number(s));
      if (b.to.back().sign() < 0 || b.to.back() >= power_of_two(kMostBits))
        s.fail(fmt::format("a basis is from 0 to below 2^{}", kMostBits));
    } while (s.take(","));
    s.expect(")");
    if (!seen.emplace(name.text, bit).second) s.fail(name.at, "given twice");
    if (!all.empty() && b.to.size() != outputs)
      s.fail(name.at, "another number of outputs than before");
    outputs = b.to.size();
    all.push_back(std::move(b));
    // The input has at least this bit.
    for (auto& [own, range] : d.scope.variables)
      if (own == identifier_of(name.text) && (!range.hi || *range.hi < power + power - 1))
        range.hi = power + power - 1;
  }
  if (all.empty()) s.fail("expected a line for each power of two, as lane=1 -> (0, 1)");
  Exprs& e = d.exprs;
  for (std::size_t o = 0; o < outputs; ++o) {
    Expr sum = e.constant(0);
    for (int j = 0; j < kMostBits; ++j) {
      const Int power = power_of_two(j);
      Expr parity = e.constant(0);
      int count = 0;
      for (const Bit& b : all)
        if (!floor_mod(floor_div(b.to[o], power), 2).is_zero())
          parity = d.bits.plus(parity, b.value), ++count;
      if (count > 1) parity = e.apply(ExprOp::Mod, {parity, e.constant(2)});
      if (count > 0) sum = d.bits.plus(sum, d.bits.times(parity, e.constant(power)));
    }
    d.results.push_back(sum);
  }
}

void read_memref(Draft& d, std::string_view text) {
  const std::size_t open = text.find("memref<");
  std::size_t at = open + 7;
  const auto fail = [&](const std::string& what) {
    Scanner(text, Language::Mlir, at, text.size()).fail(at, what);
  };
  std::vector<Expr> sizes;
  Exprs& e = d.exprs;
  const auto number = [&](const std::string& name, std::int64_t least) -> std::optional<Expr> {
    if (at < text.size() && text[at] == '?') {
      ++at;
      return d.variable(name, {Int(least), {}});
    }
    const std::size_t from = at;
    if (at < text.size() && text[at] == '-') ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    const std::string_view digits = text.substr(from, at - from);
    if (digits.empty() || digits == "-") return std::nullopt;
    if (digits.size() > kLimits.digits)
      fail(fmt::format("a number of more than {} digits", kLimits.digits));
    const Int value = Int::from_digits(digits.substr(digits[0] == '-' ? 1 : 0));
    return e.constant(digits[0] == '-' ? -value : value);
  };
  for (;;) {
    const std::size_t start = at;
    const auto size = number(fmt::format("n{}", sizes.size()), 1);
    if (!size || at >= text.size() || text[at] != 'x') {
      at = start;
      break;
    }
    ++at;
    sizes.push_back(*size);
  }
  if (sizes.empty()) fail("expected sizes, as memref<4x8xf32>");
  std::vector<Expr> strides(sizes.size());
  Expr offset = e.constant(0);
  const auto space = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  const auto take = [&](std::string_view word) {
    space();
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  };
  while (at < text.size() && text[at] != ',' && text[at] != '>') ++at;  // the type of elements
  bool strided = false;
  if (take(",") && take("strided<[")) {
    strided = true;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      space();
      const auto stride = number(fmt::format("s{}", i), 0);
      if (!stride || !take(i + 1 < sizes.size() ? "," : "]"))
        fail("expected a stride for each size");
      strides[i] = *stride;
    }
    if (take(",")) {
      if (!take("offset:")) fail("expected offset:");
      space();
      const auto given = number("offset", 0);
      if (!given) fail("expected a number after offset:");
      offset = *given;
    }
    if (!take(">")) fail("expected \">\"");
    take(",");
  }
  const std::size_t rest = text.find_first_of("<:(", at);
  const std::size_t end = text.find('>', at);
  if (end == text.npos || rest < end || text.find_first_not_of(' ', end + 1) != text.npos ||
      open != 0)
    fail("expected memref<sizes x type> or memref<sizes x type, strided<[..], offset: ..>>");
  if (!strided) {
    Expr below = e.constant(1);
    for (std::size_t i = sizes.size(); i-- > 0;) {
      strides[i] = below;
      below = d.bits.times(below, sizes[i]);
    }
  }
  Expr sum = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Expr index = d.variable(fmt::format("i{}", i), {Int(0), {}});
    if (e.is_constant(sizes[i]))
      d.bound(fmt::format("i{}", i), {{}, e.value(sizes[i]) - 1});
    else
      d.suppose(e.apply(ExprOp::Lt, {index, sizes[i]}));
    sum = d.bits.plus(sum, d.bits.times(index, strides[i]));
  }
  d.results.push_back(sum);
}

}  // namespace touchstone::symbolic
