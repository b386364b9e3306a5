// Layouts as expressions of an index.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

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

// The numbers of a nested tuple, and its parentheses as text, to compare profiles; `tops` has the
// product of each part.
void tuple(Scanner& s, std::vector<Int>& numbers, std::string& profile,
           std::vector<Int>* tops = nullptr, int depth = 0) {
  constexpr int kDeepest = 50;
  if (depth > kDeepest) s.fail("a tuple nested too deeply");
  if (!s.take("(")) {
    numbers.push_back(signed_number(s));
    profile += '.';
    return;
  }
  profile += '(';
  do {
    const std::size_t first = numbers.size();
    tuple(s, numbers, profile, nullptr, depth + 1);
    if (!tops) continue;
    Int all = 1;
    for (std::size_t k = first; k < numbers.size(); ++k) all = all * numbers[k];
    tops->push_back(all);
  } while (s.take(","));
  s.expect(")");
  profile += ')';
}

struct Stage {
  std::vector<Int> shape, stride, modes;  // of a layout
  int bits = 0, base = 0, shift = 0;      // of a swizzle
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
  tuple(s, r.shape, of_shape, &r.modes);
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

void row_major(Draft& d, const std::vector<Expr>& sizes, std::vector<Expr>& strides) {
  Expr below = d.exprs.constant(1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = below;
    below = d.bits.times(below, sizes[i]);
  }
}

// The address of i0, i1, .., as the draft's result.
void strided(Draft& d, const std::vector<Expr>& sizes, const std::vector<Expr>& strides,
             Expr offset) {
  Exprs& e = d.exprs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = fmt::format("i{}", i);
    const Expr index = d.variable(name, {Int(0), {}});
    if (e.is_constant(sizes[i])) {
      if (e.value(sizes[i]).sign() <= 0) throw ParseError("a size must be 1 or more");
      d.bound(name, {{}, e.value(sizes[i]) - 1});
    } else {
      d.suppose(e.apply(ExprOp::Lt, {index, sizes[i]}));
    }
    offset = d.bits.plus(offset, d.bits.times(index, strides[i]));
  }
  d.results.push_back(offset);
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
  if (const Stage last = stages.back();
      last.kind == Stage::Swizzle) {  // of all numbers of its bits
    const int bits = last.base + last.bits + std::abs(last.shift);
    Stage all;
    all.shape = {Int(std::int64_t{1} << bits)};
    all.stride = {Int(1)};
    stages.push_back(std::move(all));
  }
  if (stages.back().kind != Stage::Layout) s.fail("the last part must be a layout, as (4,8):(8,1)");
  Int size = 1;
  for (const Int& n : stages.back().shape) size = size * n;
  d.modes = stages.back().modes.empty() ? std::vector<Int>{size} : stages.back().modes;
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
  constexpr int kMostBits = 30;
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
      d.symbols.push_back(name);
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
  bool has_strides = false;
  if (take(",") && take("strided<[")) {
    has_strides = true;
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
  if (!has_strides) row_major(d, sizes, strides);
  strided(d, sizes, strides, offset);
}

namespace {

constexpr std::string_view kSpace = " \t\n";

// The place of the bracket that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
    if (depth == 0) return at;
  }
  Scanner(text, Language::Python, open, text.size()).fail(open, "the bracket is not closed");
}

// Parts of a text between commas outside brackets, without empty ones.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> r;
  for (std::size_t at = 0, from = 0; at <= text.size(); ++at) {
    if (at < text.size() && (text[at] == '(' || text[at] == '[')) at = closing(text, at);
    if (at < text.size() && text[at] != ',') continue;
    const std::string_view part = text.substr(from, at - from);
    if (part.find_first_not_of(kSpace) != part.npos) r.push_back(part);
    from = at + 1;
  }
  return r;
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

void read_strides(Draft& d, std::string_view text) {
  enum Slot { Shape, Stride, Offset, ItemSize, None };
  struct Key {
    std::string_view name;
    Slot slot;
  };
  static constexpr Key kKeys[] = {
      {"shape", Shape},      {"size", Shape},    {"sizes", Shape},    {"strides", Stride},
      {"stride", Stride},    {"offset", Offset}, {"offsets", Offset}, {"storage_offset", Offset},
      {"itemsize", ItemSize}};
  std::optional<std::vector<Expr>> given[None];
  LanguageReader reader(d, Language::Python);
  Exprs& e = d.exprs;
  const auto fail = [&](std::size_t at, const std::string& what) {
    Scanner(text, Language::Python, std::min(at, text.size()), text.size()).fail(at, what);
  };
  Slot slot = None;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\n,=:;)]}", at)) != text.npos;) {
    const std::size_t start = at;
    const bool bracket = text[at] == '(' || text[at] == '[';
    if (!bracket && slot == None && !(text[at] >= '0' && text[at] <= '9')) {
      while (at < text.size() && (in_word(text[at]) || text[at] == '.')) ++at;
      if (at == start) fail(at, "expected shape=(4, 8), strides=(8, 1), offset=0");
      const std::string_view word = text.substr(start, at - start);
      for (const Key& key : kKeys)
        if (word == key.name) slot = key.slot;
      const std::size_t next = text.find_first_not_of(kSpace, at);
      if (slot == None && next != text.npos && text[next] == '(') at = next + 1;  // a call
      continue;
    }
    if (text.substr(at).starts_with("to ") || text.substr(at).starts_with("to:")) {
      at += 3;
      continue;
    }
    std::string_view body;
    if (bracket) {
      at = closing(text, at);
      body = text.substr(start + 1, at - start - 1);
      ++at;
    } else {
      while (at < text.size() && text[at] != ',' && text[at] != ')' && text[at] != ';') ++at;
      body = text.substr(start, at - start);
    }
    if (slot == None)  // by position
      slot = !given[Shape] ? Shape : !given[Stride] ? Stride : Offset;
    if (given[slot]) fail(start, "given twice");
    auto& list = given[slot].emplace();
    for (const std::string_view part : parts(body)) list.push_back(reader.read_one(part));
    slot = None;
  }
  if (!given[Shape]) throw ParseError("no shape; write shape=(4, 8), strides=(8, 1), offset=0");
  for (const auto& [name, range] : d.scope.variables)
    if (!range.lo && !range.hi) d.bound(name, {Int(1), {}});
  for (const auto& v : d.scope.variables) d.symbols.push_back(v.first);
  const auto one = [&](Slot s, int otherwise) {
    if (!given[s]) return e.constant(otherwise);
    if (given[s]->size() != 1) throw ParseError("offset and itemsize are one number");
    return given[s]->front();
  };
  const std::vector<Expr>& sizes = *given[Shape];
  std::vector<Expr> strides(sizes.size());
  if (!given[Stride]) {
    row_major(d, sizes, strides);
  } else {
    strides = *given[Stride];
    if (strides.size() != sizes.size())
      throw ParseError(fmt::format("{} sizes and {} strides", sizes.size(), strides.size()));
    const Expr bytes = one(ItemSize, 1);
    for (Expr& s : strides) {
      if (e.is_constant(bytes, 1)) continue;
      if (!e.is_constant(s) || !e.is_constant(bytes) || e.value(bytes).sign() <= 0 ||
          !floor_mod(e.value(s), e.value(bytes)).is_zero())
        throw ParseError("itemsize must divide each stride, which then is in bytes");
      s = e.constant(floor_div(e.value(s), e.value(bytes)));
    }
  }
  strided(d, sizes, strides, one(Offset, 0));
}

void read_einops(Draft& d, std::string_view text) {
  // rearrange(x, "b (h w) -> b h w", h=4), or the pattern and sizes alone.
  std::string_view pattern = text, rest;
  const std::size_t quote = text.find_first_of("\"'");
  if (quote != text.npos) {
    const std::size_t end = text.find(text[quote], quote + 1);
    if (end == text.npos) throw ParseError("the pattern's quote is not closed");
    pattern = text.substr(quote + 1, end - quote - 1);
    rest = text.substr(end + 1);
  } else if (const std::size_t comma = text.find(','); comma != text.npos) {
    pattern = text.substr(0, comma);
    rest = text.substr(comma + 1);
  }
  std::map<std::string, Expr, std::less<>> sizes;
  Exprs& e = d.exprs;
  for (std::string_view part : parts(rest.substr(0, rest.find_last_not_of(" )\n") + 1))) {
    const std::size_t equals = part.find('='), name = part.find_first_not_of(kSpace);
    const std::size_t digit =
        equals == part.npos ? part.npos : part.find_first_not_of(kSpace, equals + 1);
    if (digit == part.npos || part[digit] < '0' || part[digit] > '9' ||
        part.find_first_not_of("0123456789 ", digit) != part.npos)
      throw ParseError(fmt::format("'{}' is no size; write h=4", part));
    const std::string_view word = part.substr(name, part.find_first_of(" =", name) - name);
    const std::string_view number = part.substr(digit, part.find(' ', digit) - digit);
    if (number.size() > 18) throw ParseError(fmt::format("the size of {} is too large", word));
    const Int size = Int::from_digits(number);
    if (size.sign() <= 0) throw ParseError(fmt::format("the size of {} must be 1 or more", word));
    if (!sizes.emplace(word, e.constant(size)).second)
      throw ParseError(fmt::format("the size of {} is given twice", word));
  }
  const std::size_t arrow = pattern.find("->");
  if (arrow == pattern.npos) throw ParseError("no \"->\"; write b (h w) -> b h w, h=4");
  using Group = std::vector<std::string>;
  const auto side = [&](std::string_view s) {
    std::vector<Group> groups;
    std::set<std::string> seen;
    bool open = false;
    for (std::size_t at = 0; at < s.size();) {
      if (s[at] == ' ' || s[at] == '\n' || s[at] == '\t') {
        ++at;
      } else if (s[at] == '(' || s[at] == ')') {
        if ((s[at] == '(') == open) throw ParseError("parentheses do not match in the pattern");
        open = s[at] == '(';
        if (open) groups.emplace_back();
        ++at;
      } else {
        const std::size_t from = at;
        while (at < s.size() && in_word(s[at])) ++at;
        const std::string name(s.substr(from, at - from));
        if (name.empty())
          throw ParseError(s.substr(at).starts_with("...")
                               ? "\"...\" has no known rank; name its axes"
                               : fmt::format("'{}' is no axis of a pattern", s[at]));
        if (!open) groups.emplace_back();
        if (name == "1") continue;
        if (name[0] >= '0' && name[0] <= '9') throw ParseError("an axis is a name or 1");
        if (!seen.insert(name).second)
          throw ParseError(fmt::format("{} is twice on one side", name));
        groups.back().push_back(name);
      }
    }
    if (open) throw ParseError("a parenthesis of the pattern is not closed");
    return groups;
  };
  const auto left = side(pattern.substr(0, arrow)), right = side(pattern.substr(arrow + 2));
  std::set<std::string, std::less<>> names;
  for (const auto* groups : {&left, &right})
    for (const Group& group : *groups) names.insert(group.begin(), group.end());
  for (const auto& [axis, number] : sizes)
    if (!names.contains(axis))
      throw ParseError(fmt::format("the pattern has no axis {}, whose size is given", axis));
  const auto is_new = [&](const std::string& name, std::string_view why) {
    if (names.insert(name).second) return;
    throw ParseError(fmt::format("{} is {}, and another axis; rename that", name, why));
  };
  const auto size = [&](const std::string& axis) {
    const auto known = sizes.find(axis);
    if (known != sizes.end()) return known->second;
    const std::string name = axis + "_size";
    is_new(name, fmt::format("the size of {}", axis));
    d.symbols.push_back(name);
    return sizes.emplace(axis, d.variable(name, {Int(1), {}})).first->second;
  };
  const auto index = [&](const std::string& name, Expr of_size) {
    const Expr x = d.variable(name, {Int(0), {}});
    if (e.is_constant(of_size))
      d.bound(name, {{}, e.value(of_size) - 1});
    else
      d.suppose(e.apply(ExprOp::Lt, {x, of_size}));
    return x;
  };
  std::map<std::string, Expr> at;  // the index of each axis
  for (std::size_t k = 0; k < right.size(); ++k) {
    Expr all = e.constant(1);
    std::string name;
    for (const std::string& axis : right[k]) {
      all = d.bits.times(all, size(axis));
      name += (name.empty() ? "" : "_") + axis;
    }
    if (right[k].size() != 1)
      is_new(name.empty() ? fmt::format("one{}", k) : name, "the name of a group");
    Expr left_over = index(name.empty() ? fmt::format("one{}", k) : name, all);
    for (std::size_t j = right[k].size(); j-- > 0;) {
      const Expr own = size(right[k][j]);
      at.emplace(right[k][j], j == 0 ? left_over : e.apply(ExprOp::Mod, {left_over, own}));
      left_over = e.apply(ExprOp::Div, {left_over, own});
    }
  }
  Expr address = e.constant(0);
  for (const Group& group : left)
    for (const std::string& axis : group) {
      const Expr own = size(axis);
      if (!at.contains(axis)) at.emplace(axis, index(axis, own));  // reduced
      address = d.bits.plus(d.bits.times(address, own), at.at(axis));
    }
  d.results.push_back(address);
}

}  // namespace touchstone::symbolic
