#include "touchstone/define/text.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <fmt/ranges.h>

#include "touchstone/base/suggest.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/forms.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Throws `why`, followed by the text around `at` with a caret below that position.
[[noreturn]] void fail_at(std::string_view text, std::size_t at, std::string_view why) {
  constexpr std::size_t kBefore = 50, kAfter = 60;
  at = std::min(at, text.size());
  const std::size_t begin = at > kBefore ? at - kBefore : 0;
  const std::size_t end = std::min(text.size(), at + kAfter);
  std::string shown;
  for (const char c : text.substr(begin, end - begin))
    shown += c >= ' ' && c <= '~' ? c : '?';  // keeps the caret aligned
  const std::string_view left = begin > 0 ? "..." : "", right = end < text.size() ? "..." : "";
  throw ParseError(fmt::format("{}\n  {}{}{}\n  {:{}}^", why, left, shown, right, "",
                               left.size() + (at - begin)));
}

class Parser {
 public:
  using Bound = std::map<std::string, Given, std::less<>>;
  Parser(std::string_view text, std::span<const InputShape> shapes, const ChosenForms& forms,
         const Bound* bound = nullptr, Stores* stores = nullptr)
      : text_(text), shapes_(shapes), forms_(forms), bound_(bound), stores_(stores) {}

  Formula parse() {
    if (text_.size() > kLongestText)
      fail_at(
          text_, 0,
          fmt::format("the text has {} characters; the limit is {}", text_.size(), kLongestText));
    while (part()) {
    }
    const std::size_t start = after_space();
    const Given result = comparison();
    if (after_space() != text_.size())
      fail(fmt::format("expected the end, or one of + - * / % @ < <= > >= == !={}", of_bits()));
    const Array value = array(result, start);
    for (const InputShape& shape : shapes_)
      if (!shape.name.empty() && !inputs_.contains(shape.name))
        fail_from(0, fmt::format("there is no input '{}'; the inputs are {}", shape.name,
                                 fmt::join(names_, ", ")));
    const Array stored =
        value.is_number() ? at_place(start, [&] { return value.cast(DType::Float32); }) : value;
    return {stored, std::move(names_), is_loose_, std::move(called_), std::move(sound_)};
  }

 private:
  [[noreturn]] void fail(std::string_view why) const { fail_at(text_, at_, why); }
  [[noreturn]] void fail_from(std::size_t at, std::string_view why) const {
    fail_at(text_, at, why);
  }

  std::size_t after_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_;
  }
  char next() { return after_space() < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view token) {
    after_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token, std::string_view why) {
    if (!take(token)) fail(fmt::format("expected '{}' {}", token, why));
  }

  // Attaches the text position to an error of an operation.
  template <class Make>
  Array at_place(std::size_t place, const Make& make) const {
    try {
      return make();
    } catch (const Error& e) {
      fail_from(place, e.what() + taken_in_order());
    }
  }
  // Which arrays the inputs have, if these have no names; empty for a single one.
  std::string taken_in_order() const {
    if (shapes_.size() < 2 || !shapes_[0].name.empty()) return {};
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Array& x = inputs_.find(names_[i])->second;
      taken.push_back(
          fmt::format("{} is {} of {}", names_[i], str(x.shape()), touchstone::name(x.dtype())));
    }
    return fmt::format(
        "; arrays are taken in the order of first use: {}; or give them names ({}=...)",
        fmt::join(taken, ", "), names_.empty() ? "x" : names_[0]);
  }
  Array array(const Given& given, std::size_t place) {
    if (const auto* word = std::get_if<Word>(&given)) {
      if (const auto known = inputs_.find(word->text); known != inputs_.end())
        return known->second;  // its sizes are given further on
      if (const InputShape* of = shape_for(word->text))
        return new_input(word->text, of->shape, of->dtype, place);
      if (!shapes_.empty() && !shapes_[0].name.empty()) {
        std::vector<std::string_view> given;
        for (const InputShape& shape : shapes_) given.push_back(shape.name);
        fail_from(place, fmt::format("no array is given for input '{}'; there are arrays for {}",
                                     word->text, fmt::join(given, ", ")));
      }
      if (!shapes_.empty())
        fail_from(place, fmt::format("'{}' is input {}, but there are only {} arrays; give its "
                                     "sizes, as {}[64,128], or its array",
                                     word->text, names_.size() + 1, shapes_.size(), word->text));
      std::vector<std::string_view> known(names_.begin(), names_.end());
      fail_from(
          place,
          fmt::format("unknown input '{0}'{1}; give its sizes at its first use, as {0}[64,128]",
                      word->text, did_you_mean(word->text, known)));
    }
    if (!std::holds_alternative<Array>(given)) fail_from(place, "expected an array, found a list");
    return std::get<Array>(given);
  }

  // The given shape of a new input; null: none.
  const InputShape* shape_for(std::string_view word) const {
    const auto named = std::ranges::find(shapes_, word, &InputShape::name);
    if (named != shapes_.end()) return &*named;
    const bool by_order = names_.size() < shapes_.size() && shapes_[names_.size()].name.empty();
    return by_order ? &shapes_[names_.size()] : nullptr;
  }

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++p.depth_ > kDeepestNesting)
        p.fail(fmt::format("more than {} nested parentheses and signs", kDeepestNesting));
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  // "name = formula;": names an array for what follows.
  bool part() {
    const std::size_t begin = after_space();
    const std::string word(begins_name(next()) ? name() : std::string_view());
    if (word.empty() || next() != '=' || text_.substr(at_).starts_with("==")) {
      at_ = begin;
      return false;
    }
    if (inputs_.contains(word)) fail_from(begin, fmt::format("'{}' has a value already", word));
    take("=");
    const std::size_t start = after_space();
    const Array value = array(comparison(), start);
    expect(";", fmt::format("after the value of {}", word));
    inputs_.emplace(word, value);
    return true;
  }

  Given comparison() {
    const std::size_t start = after_space();
    Given left = sum();
    const std::size_t place = after_space();
    const auto compare = [&](auto make) -> Given {
      const std::size_t second = after_space();
      const Array a = array(left, start), b = array(sum(), second);
      return at_place(place, [&] { return make(a, b); });
    };
    const auto negated = [](const Array& x) { return Array::apply(Op::Neg, {x}); };
    if (take("<="))  // false for NaN, as in C
      return compare([&](const Array& a, const Array& b) { return less(a, b) + equal(a, b); });
    if (take(">="))
      return compare([&](const Array& a, const Array& b) { return less(b, a) + equal(a, b); });
    if (take("<")) return compare([](const Array& a, const Array& b) { return less(a, b); });
    if (take(">")) return compare([](const Array& a, const Array& b) { return less(b, a); });
    if (take("==")) return compare([](const Array& a, const Array& b) { return equal(a, b); });
    if (take("!="))
      return compare([&](const Array& a, const Array& b) { return negated(equal(a, b)); });
    return left;
  }

  Given sum() {
    return chain("+-", [this] { return product(); });
  }
  Given product() {
    return chain("*/%@", [this] { return sign(); });
  }

  static Array combine(char op, const Array& a, const Array& b) {
    switch (op) {
      case '+': return a + b;
      case '-': return a - b;
      case '*': return a * b;
      case '/': return a / b;
      case '%': return Array::apply(Op::Mod, {a, b});
      default: return matmul(a, b);
    }
  }

  template <class Operand>
  Given chain(std::string_view operators, const Operand& operand) {
    const std::size_t start = after_space();
    Given left = operand();
    while (true) {
      const char op = next();
      if (op == '\0' || operators.find(op) == std::string_view::npos ||
          text_.substr(at_).starts_with("**"))
        return left;
      const std::size_t place = at_++;
      const Array a = array(left, start);
      const std::size_t second = after_space();
      const Array b = array(operand(), second);
      left = at_place(place, [&] { return combine(op, a, b); });
    }
  }

  Given sign() {
    const std::size_t place = after_space();
    if (!take("-")) return power();
    const Deeper deeper(*this);
    const std::size_t start = after_space();
    const Array x = array(sign(), start);
    if (!x.is_number()) return at_place(place, [&] { return -x; });
    const std::string& number = x.node()->number;
    return Array::number(number.starts_with('-') ? number.substr(1) : "-" + number);
  }

  // As in Python, binds more tightly than a sign before it.
  Given power() {
    const std::size_t start = after_space();
    Given base = primary();
    const std::size_t place = after_space();
    if (!take("**")) return base;
    const Deeper deeper(*this);
    const Array x = array(base, start);
    const std::size_t second = after_space();
    const Array y = array(sign(), second);
    return at_place(place, [&] {
      if (y.is_number() && y.node()->number == "2") return x * x;
      if (!x.is_number() && !is_float(x.dtype()))
        throw DTypeError(fmt::format("x ** y takes floats, not {}; cast x first, or write products",
                                     touchstone::name(x.dtype())));
      is_loose_ = true;
      return Array::call(NamedFunction::Pow, {x, y});
    });
  }

  Given primary() {
    const char c = next();
    if (take("(")) {
      const Deeper deeper(*this);
      Given inner = comparison();
      if (next() == ',') return tuple(inner);
      expect(")", "to close the parenthesis");
      return inner;
    }
    if (c == '[') return list();
    if (c == '\'' || c == '"') return quoted(c);
    if (is_digit(c) || c == '.') return number();
    if (begins_name(c)) return named();
    if (after_space() == text_.size()) fail("expected a formula, but the text ends");
    fail(fmt::format("expected an input, a number, a definition or '('{}", of_bits()));
  }

  std::string_view of_bits() {
    const bool is = std::string_view("&|^~").find(next()) != std::string_view::npos;
    return is ? "; & | ^ ~ are bit_and(x, y), bit_or, xor and bit_not(x)" : "";
  }

  std::string_view name() {
    after_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Given number() {
    const std::size_t begin = after_space();
    while (at_ < text_.size() &&
           (begins_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '+' || text_[at_] == '-') &&
             (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && text_[begin + 1] != 'x')))
      ++at_;
    return at_place(begin,
                    [&] { return Array::number(std::string(text_.substr(begin, at_ - begin))); });
  }

  std::int64_t whole() {
    const std::size_t begin = after_space();
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("the number must be below 2^63");
    if (error != std::errc()) fail("expected a whole number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  Sizes list() {
    expect("[", "before a list");
    Sizes values;
    if (take("]")) return values;
    do {
      values.push_back(whole());
    } while (take(","));
    expect("]", "after the list");
    return values;
  }

  // (2, 3) or (2,): a list whose first entry is read.
  Given tuple(const Given& first) {
    Sizes values{Arguments({{"the first entry", first}}).integer("the first entry")};
    while (take(","))
      if (next() != ')') values.push_back(whole());
    expect(")", "after the list");
    return values;
  }

  Given quoted(char quote) {
    const std::size_t begin = ++at_, end = text_.find(quote, begin);
    if (end == text_.npos) fail(fmt::format("expected {} after the word", quote));
    at_ = end + 1;
    return Word{std::string(text_.substr(begin, end - begin))};
  }

  Given named() {
    const std::size_t place = after_space();
    const std::string word(name());
    if (next() == '(') return call(word, place);
    if (next() == '[') return input(word, place);
    const auto known = inputs_.find(word);
    if (known != inputs_.end()) return known->second;
    if (bound_ != nullptr)
      if (const auto value = bound_->find(word); value != bound_->end()) return value->second;
    if (word == "inf" || word == "nan") return Array::number(word);
    if (word == "True" || word == "False") return Array::number(word == "True" ? "1" : "0");
    return Word{word};
  }

  Given input(const std::string& word, std::size_t place) {
    const Sizes sizes = list();
    DType dtype = DType::Float32;
    if (take(":")) {
      const std::size_t type_place = after_space();
      const std::string type(name());
      try {
        dtype = element_type(type);
      } catch (const Error& e) {
        fail_from(type_place, e.what());
      }
    }
    if (const auto known = inputs_.find(word); known != inputs_.end()) {
      if (known->second.shape() != sizes || known->second.dtype() != dtype)
        fail_from(
            place,
            fmt::format("'{}' is {} of {} at its first use; use its name alone after that", word,
                        str(known->second.shape()), touchstone::name(known->second.dtype())));
      return known->second;
    }
    if (const InputShape* given = shape_for(word)) expect_fits(word, sizes, *given, place);
    return new_input(word, sizes, dtype, place);
  }

  // An array given for an input must have its sizes, or be flat. Axes of size 1 are ignored.
  void expect_fits(const std::string& word, const Sizes& sizes, const InputShape& by,
                   std::size_t place) const {
    const Sizes& given = by.shape;
    const auto count = [](const Sizes& s) {
      return std::accumulate(s.begin(), s.end(), 1.0, std::multiplies<>());
    };
    Sizes wanted = sizes, has = given;
    std::erase(wanted, 1);
    std::erase(has, 1);
    if (wanted == has || (has.size() == 1 && count(wanted) == count(has))) return;
    fail_from(place, fmt::format("{} has the sizes [{}], and the array given for it [{}]{}", word,
                                 fmt::join(sizes, ","), fmt::join(given, ","),
                                 by.name.empty() && shapes_.size() > 1
                                     ? fmt::format("; arrays are taken in the order of first use, "
                                                   "here {}: give them names ({}=...)",
                                                   names_.size() + 1, word)
                                     : ""));
  }

  Array new_input(const std::string& word, const Sizes& sizes, DType dtype, std::size_t place) {
    const Array x = at_place(
        place, [&] { return Array::input(static_cast<int>(names_.size()) + 1, sizes, dtype); });
    names_.push_back(word);
    inputs_.emplace(word, x);
    return x;
  }

  Given call(const std::string& word, std::size_t place) {
    const Deeper deeper(*this);
    const Definition* found = nullptr;
    try {
      found = &definition(word);
    } catch (const Error& e) {
      fail_from(place, e.what());
    }
    is_loose_ = is_loose_ || found->is_loose;
    const std::vector<Parameter> wanted = parameters(*found);
    std::map<std::string, Given, std::less<>> given;
    expect("(", "before the arguments");
    if (!take(")")) {
      std::size_t count = 0;
      do {
        argument(*found, wanted, count, given);
      } while (take(","));
      expect(")", fmt::format("after the arguments of {}", found->signature));
    }
    for (const Parameter& p : wanted) {
      if (given.contains(p.name)) continue;
      if (p.required) fail_from(place, fmt::format("{} lacks {}", found->signature, p.name));
      if (!p.fallback.empty()) given.emplace(p.name, default_of(p));
    }
    const auto form = forms_.find(found->name());
    const Arguments call(std::move(given),
                         with_stores(form == forms_.end() ? Way{} : form->second->way));
    if (form != forms_.end() && form->second->sound != nullptr)
      sound_.push_back(at_place(place, [&] { return form->second->sound(call); }));
    return at_place(place, [&] {
      Formula made = called(*found, call, forms_);
      called_.merge(made.called);
      std::ranges::move(made.sound, std::back_inserter(sound_));
      return made.value;
    });
  }

  Way with_stores(Way way) const {
    way.stores = stores_;
    return way;
  }

  // Parses one argument, by name or position.
  void argument(const Definition& of, const std::vector<Parameter>& wanted, std::size_t& count,
                std::map<std::string, Given, std::less<>>& given) {
    const std::size_t place = after_space();
    std::string by_name;
    if (begins_name(next())) {
      by_name = name();
      if (next() != '=' || text_.substr(at_).starts_with("==")) {
        by_name.clear();
        at_ = place;
      } else {
        take("=");
      }
    }
    const Parameter* p = nullptr;
    if (by_name.empty()) {
      if (count >= wanted.size())
        fail_from(place, fmt::format("too many arguments for {}", of.signature));
      p = &wanted[count++];
    } else {
      try {
        p = &parameter(of, wanted, by_name);
      } catch (const ParseError& e) {
        fail_from(place, e.what());
      }
    }
    const std::size_t value_place = after_space();
    Given value = comparison();
    if (const auto* word = std::get_if<Word>(&value); word != nullptr && word->text == "None")
      return;  // as if it was left out
    if (p->is_array) value = array(value, value_place);
    if (!given.emplace(p->name, std::move(value)).second)
      fail_from(place, fmt::format("{} is given twice", p->name));
  }

  std::string_view text_;
  std::span<const InputShape> shapes_;
  const ChosenForms& forms_;
  const Bound* bound_;
  Stores* stores_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool is_loose_ = false;
  std::map<std::string, Array, std::less<>> inputs_;
  std::vector<std::string> names_;
  std::set<std::string> called_;
  std::vector<Array> sound_;
};

}  // namespace

Formula parse(std::string_view text, std::span<const InputShape> shapes, const ChosenForms& forms,
              Stores* stores) {
  return Parser(text, shapes, forms, nullptr, stores).parse();
}

Formula called(const Definition& definition, const Arguments& call, const ChosenForms& forms) {
  const std::string name(definition.name());
  if (definition.make != nullptr) {
    try {
      return {
          definition.make(call.of(parameters(definition))), {}, definition.is_loose, {name}, {}};
    } catch (const ParseError& e) {  // of an argument
      const std::string why = e.what();
      throw ParseError(why.starts_with(name)
                           ? why
                           : fmt::format("{}: {} ({})", name, why, definition.signature));
    }
  }
  auto bound = call.given();
  std::optional<DType> narrow, other;  // of narrow floats, if no array has another type of floats
  bool all_narrow = definition.is_loose && !call.way().narrow_stages;
  for (const auto& [word, value] : bound)
    if (const auto* x = std::get_if<Array>(&value); x != nullptr && !x->is_number()) {
      if (!is_float(x->dtype())) other = x->dtype();
      if (!is_float(x->dtype())) continue;
      all_narrow = all_narrow && is_narrow(*x);
      narrow = narrow ? promote(*narrow, x->dtype()) : x->dtype();
    }
  if (narrow) other.reset();
  if (!narrow || !all_narrow) narrow.reset();
  for (auto& [word, value] : bound)
    if (auto* x = std::get_if<Array>(&value); narrow && x != nullptr && !x->is_number())
      value = wide(*x);
  try {
    Formula made = Parser(definition.summary, {}, forms, &bound, call.way().stores).parse();
    if (bound.contains("reduction")) {
      Way way;
      way.stores = call.way().stores;
      made.value = reduced(made.value, argument<Reduction>(call, "reduction"), way);
    }
    if (narrow && made.value.dtype() == DType::Float32) made.value = narrowed(made.value, *narrow);
    made.called.insert(name);
    return made;
  } catch (const ParseError& e) {  // without the formula
    const std::string_view why = e.what();
    if (other && why.find(touchstone::name(*other)) != why.npos)
      throw DTypeError(fmt::format("{} takes floats, not {}; cast the operand first", name,
                                   touchstone::name(*other)));
    throw ShapeError(fmt::format("{}: {}", name, why.substr(0, why.find('\n'))));
  }
}

}  // namespace touchstone::define
