#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/notation/reading.h"

namespace touchstone::symbolic {

Language parse_language(std::string_view name) {
  std::string known;
  for (const LanguageInfo& row : kLanguages) {
    if (row.name == name || row.others.find(fmt::format(" {} ", name)) != row.others.npos)
      return row.language;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw ParseError(fmt::format("unknown language '{}'; known: {}", name, known));
}

std::optional<Language> guess_language(std::string_view text) {
  struct Sign {
    std::string_view text;
    Language language;
  };
  // A text with one of these is most likely in this language.
  static constexpr Sign kSigns[] = {
      // clang-format off
      {"affine_map<", Language::Mlir}, {"affine_set<", Language::Mlir}, {"memref<", Language::Mlir},
      {" floordiv ", Language::Mlir}, {" ceildiv ", Language::Mlir}, {"FloorDiv(", Language::Sympy},
      {"ModularIndexing(", Language::Sympy}, {"Mod(", Language::Sympy},
      {"Piecewise(", Language::Sympy}, {"Swizzle<", Language::Cute}, {"T.floor", Language::Tvm},
      {"T.trunc", Language::Tvm}, {"T.min(", Language::Tvm}, {"T.max(", Language::Tvm},
      {"floormod(", Language::Tvm}, {"truncmod(", Language::Tvm}, {"if_then_else(", Language::Tvm},
      {"&&", Language::C}, {"||", Language::C}, {" ? ", Language::C}, {"threadIdx.", Language::C},
      {"blockIdx.", Language::C}, {"=1 -> (", Language::Triton}, {"rearrange(", Language::Einops},
      {"_strided(", Language::Strides}, {"strides=", Language::Strides}, {"stride=(", Language::Strides}, {"strides (", Language::Strides}, {"} : ", Language::Isl},
      {"ceiling(", Language::Sympy}, {"Max(", Language::Sympy}, {"Min(", Language::Sympy}, {"Eq(", Language::Sympy},
      {"floor(", Language::Sympy}, {"floordiv(", Language::Tvm}, {"ceildiv(", Language::Tvm}, {".where(", Language::Python}, {"cdiv(", Language::Python},
      // clang-format on
  };
  if (text.find(':') != text.npos && text.find_first_not_of("()0123456789_,:o ") == text.npos)
    return Language::Cute;
  const std::size_t arrow = text.find("->");
  if (arrow != text.npos && arrow > 0 &&
      text.substr(0, text.find(','))
              .find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ()->") ==
          text.npos)
    return Language::Einops;
  // { [i] -> ..}, { S[i] -> ..}, [n] -> { .. }
  if (const std::size_t brace = text.find('{');
      brace != text.npos && text.find('[') != text.npos && text.ends_with('}') &&
      (brace == 0 || text.substr(0, brace).find("->") != text.npos))
    return Language::Isl;
  for (const Sign& sign : kSigns)
    if (text.find(sign.text) != text.npos) return sign.language;
  return std::nullopt;
}

std::string identifier_of(std::string_view spelled) {
  std::string name;
  for (const char c : spelled) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (fits)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.size() > 1 && name.back() == '_' && !spelled.ends_with('_')) name.pop_back();
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "v");
  return name;
}

std::vector<std::pair<std::string, Interval>>::iterator Draft::declared(const std::string& name) {
  return std::ranges::find(scope.variables, name, &std::pair<std::string, Interval>::first);
}

bool Draft::has(std::string_view spelled) {
  return declared(identifier_of(spelled)) != scope.variables.end();
}

Expr Draft::variable(std::string_view spelled, const Interval& range) {
  const std::string name = identifier_of(spelled);
  const auto [known, is_new] = spelled_.emplace(name, spelled);
  if (!is_new && known->second != spelled)
    throw Error(
        fmt::format("{} and {} would both be {}; rename one", known->second, spelled, name));
  if (declared(name) == scope.variables.end()) scope.variables.emplace_back(name, range);
  return exprs.variable(name);
}

void Draft::bound(const std::string& name, const Interval& range) {
  const auto known = declared(name);
  if (known == scope.variables.end()) return;
  Interval& own = known->second;
  if (range.lo && (!own.lo || *own.lo < *range.lo)) own.lo = range.lo;
  const bool cut =
      (own.hi && range.hi && *own.hi > *range.hi) || (own.lo && range.lo && *own.lo < *range.lo);
  if (cut) note(fmt::format("the range of {} is cut to what the text says", name));
  if (range.hi && (!own.hi || *own.hi > *range.hi)) own.hi = range.hi;
}

// Ranges of single variables narrow them; the rest are assumptions.
void Draft::suppose(Expr all) {
  Exprs& e = exprs;
  if (e.op(all) == ExprOp::And) {
    const auto args = e.args(all);
    for (const Expr part : std::vector<Expr>(args.begin(), args.end())) suppose(part);
    return;
  }
  const bool ordered = e.op(all) >= ExprOp::Lt && e.op(all) <= ExprOp::Ge;
  if (ordered) {
    Expr a = e.arg(all, 0), b = e.arg(all, 1);
    bool less = e.op(all) == ExprOp::Lt || e.op(all) == ExprOp::Le;
    const Int strict = e.op(all) == ExprOp::Lt || e.op(all) == ExprOp::Gt ? 1 : 0;
    if (e.is_constant(a)) std::swap(a, b), less = !less;
    if (e.op(a) == ExprOp::Variable && e.is_constant(b)) {
      const Int end = less ? e.value(b) - strict : e.value(b) + strict;
      return bound(e.name(a), less ? Interval{{}, end} : Interval{end, {}});
    }
  }
  scope.assumptions.push_back(bits.text(all));
}

void Draft::note(const std::string& text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
}

void Draft::within_type(const std::string& name, const Interval& range) {
  Interval& own = declared(name)->second;
  if (!own.lo || *own.lo < *range.lo) own.lo = range.lo;
  if (!own.hi || *own.hi > *range.hi) own.hi = range.hi;
}

void Draft::computed(Expr value, const std::vector<Expr>& when, int bits, bool is_signed) {
  const bool operates = !exprs.is_constant(value) && exprs.op(value) != ExprOp::Variable;
  if (operates && computed_.size() < Translation::kMostParts)
    computed_.push_back({value, when, bits, is_signed});
}

Translation Draft::finished() const {
  Translation t;
  for (const auto& [name, spelled] : spelled_)
    if (name != spelled) t.spelled.emplace(name, spelled);
  t.notes = notes_;
  t.symbols = symbols;
  t.modes = modes;
  for (const Computed& c : computed_) {
    auto& part = t.parts.emplace_back();
    part.text = bits.text(c.value);
    part.bits = c.bits;
    part.is_signed = c.is_signed;
    for (const Expr w : c.when) part.when.push_back(bits.text(w));
  }
  for (const Expr r : results)
    t.questions.push_back({scope.variables, scope.assumptions, bits.text(r)});
  return t;
}

Translation translate(const Question& given, Language from) {
  if (from == Language::Touchstone) return {from, {given}, {}, {}, {}, {}, {}};
  if (from == Language::Python && guess_language(given.text) == Language::Strides)
    from = Language::Strides;  // as NumPy prints it
  Question scope;
  for (const auto& [name, range] : given.variables)
    scope.variables.emplace_back(identifier_of(name), range);
  Draft draft(std::move(scope));
  const bool layout = from == Language::Cute || from == Language::Triton;
  const bool array = from == Language::Strides || from == Language::Einops;
  LanguageReader reader(draft, layout ? Language::C : array ? Language::Python : from);
  for (std::size_t i = 0; i < given.assumptions.size(); ++i) try {
      draft.scope.assumptions.push_back(draft.bits.text(reader.read_one(given.assumptions[i])));
    } catch (const ParseError& e) {
      throw ParseError(fmt::format("assume[{}]: {}", i, e.what()));
    }
  try {
    if (from == Language::Cute)
      read_cute(draft, given.text);
    else if (from == Language::Triton)
      read_triton(draft, given.text);
    else if (from == Language::Strides)
      read_strides(draft, given.text);
    else if (from == Language::Einops)
      read_einops(draft, given.text);
    else if (from == Language::Mlir && given.text.find("memref<") != std::string::npos)
      read_memref(draft, given.text);
    else
      reader.read(given.text);
    Translation r = draft.finished();
    r.language = from;
    return r;
  } catch (const Error& e) {
    throw ParseError(fmt::format("in ({}): {}", info(from).name, e.what()));
  }
}

}  // namespace touchstone::symbolic
