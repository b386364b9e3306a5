#include "touchstone/interp/oracle/semantics.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr TypeClasses kInts = kSigned | kUnsigned;
constexpr TypeClasses kAll = kFloats | kInts | kBools;

// clang-format off
constexpr SemanticsCell cells[] = {
    {Op::Noop, kAll, "the operand", "1 = 1"},
    {Op::Exp2, kFloats, "2^x rounded once; exact for every integer; full range",
     "3.0 = 8.0; 0.5 = 0x1.6a09e667f3bcdp0; -0.0 = 1.0; -inf = 0.0; inf = inf; 1e30 = inf; -1e30 = 0.0; nan = nan"},
    {Op::Log2, kFloats, "log2 x rounded once; exact for every power of two; -inf at zeros of both signs, NaN below",
     "8.0 = 3.0; 1.0 = 0.0; 0.0 = -inf; -0.0 = -inf; -1.0 = nan; inf = inf; -inf = nan; nan = nan"},
    {Op::Sin, kFloats, "sin x rounded once; x in radians, of any size, reduced by the exact pi",
     "0.0 = 0.0; -0.0 = -0.0; 1.0 = 0x1.aed548f090ceep-1; inf = nan; -inf = nan; nan = nan"},
    {Op::Sqrt, kFloats, "IEEE 754: rounded once; NaN below zero",
     "4.0 = 2.0; 2.0 = 0x1.6a09e667f3bcdp0; 0.0 = 0.0; -0.0 = -0.0; -1.0 = nan; inf = inf; nan = nan"},
    {Op::Recip, kFloats, "IEEE 754: 1 / x rounded once",
     "4.0 = 0.25; 3.0 = 0x1.5555555555555p-2; 0.0 = inf; -0.0 = -inf; inf = 0.0; -inf = -0.0; nan = nan"},
    {Op::Neg, kFloats, "flips the sign bit, also of 0 and NaN", "1.5 = -1.5; 0.0 = -0.0; -inf = inf; nan = nan"},
    {Op::Neg, kSigned, "wraps modulo 2^n", "5 = -5; least = least"},
    {Op::Neg, kUnsigned, "wraps modulo 2^n", "1 = most; 0 = 0"},
    {Op::Neg, kBools, "not", "true = false; false = true"},
    {Op::Add, kFloats, "IEEE 754: rounded once", "1.5, 0.5 = 2.0; -0.0, 0.0 = 0.0; -0.0, -0.0 = -0.0; inf, -inf = nan; most, most = inf; nan, 1.0 = nan"},
    {Op::Add, kSigned, "wraps modulo 2^n", "2, 3 = 5; most, 1 = least"},
    {Op::Add, kUnsigned, "wraps modulo 2^n", "2, 3 = 5; most, 1 = 0"},
    {Op::Add, kBools, "or", "true, true = true; false, true = true; false, false = false"},
    {Op::Sub, kFloats, "IEEE 754: rounded once", "1.5, 0.5 = 1.0; 1.0, 1.0 = 0.0; inf, inf = nan; -0.0, 0.0 = -0.0"},
    {Op::Sub, kSigned, "wraps modulo 2^n", "2, 3 = -1; least, 1 = most"},
    {Op::Sub, kUnsigned, "wraps modulo 2^n", "3, 2 = 1; 0, 1 = most"},
    {Op::Sub, kBools, "exclusive or", "true, true = false; false, true = true"},
    {Op::Mul, kFloats, "IEEE 754: rounded once; subnormals kept", "1.5, 2.0 = 3.0; -1.0, 0.0 = -0.0; 0.0, inf = nan; most, 2.0 = inf; tiny, 0.5 = 0.0; nan, 0.0 = nan"},
    {Op::Mul, kSigned, "wraps modulo 2^n", "-2, 3 = -6; most, 2 = -2; least, -1 = least"},
    {Op::Mul, kUnsigned, "wraps modulo 2^n", "2, 3 = 6; most, most = 1"},
    {Op::Mul, kBools, "and", "true, true = true; false, true = false"},
    {Op::Div, kFloats, "IEEE 754: rounded once", "1.0, 3.0 = 0x1.5555555555555p-2; 1.0, 0.0 = inf; 1.0, -0.0 = -inf; 0.0, 0.0 = nan; inf, inf = nan; 1.0, inf = 0.0"},
    {Op::Div, kSigned, "truncates; undefined by 0 and for least / -1, without a trap", "7, 2 = 3; -7, 2 = -3; 7, -2 = -3; 7, 0 = [0]; least, -1 = [least]"},
    {Op::Div, kUnsigned, "truncates; undefined by 0, without a trap", "7, 2 = 3; 7, 0 = [0]"},
    {Op::Max, kFloats, "the larger; NaN wins; +0 > -0", "1.0, 2.0 = 2.0; nan, 1.0 = nan; 1.0, nan = nan; -0.0, 0.0 = 0.0; 0.0, -0.0 = 0.0; -inf, -1.0 = -1.0"},
    {Op::Max, kSigned, "the larger", "-1, 1 = 1; least, most = most"},
    {Op::Max, kUnsigned, "the larger", "most, 1 = most"},
    {Op::Max, kBools, "or", "false, true = true; false, false = false"},
    {Op::Mod, kFloats, "fmod, exact: the sign of the dividend", "7.0, 2.0 = 1.0; -7.0, 2.0 = -1.0; -6.0, 3.0 = -0.0; 5.0, inf = 5.0; 5.0, 0.0 = nan; inf, 2.0 = nan"},
    {Op::Mod, kSigned, "the remainder of DIV, of the dividend's sign; undefined where DIV is", "7, 2 = 1; -7, 2 = -1; 7, -2 = 1; 7, 0 = [0]; least, -1 = [0]"},
    {Op::Mod, kUnsigned, "the remainder of DIV; undefined by 0", "7, 2 = 1; 7, 0 = [0]"},
    {Op::CmpLt, kFloats, "a < b as bool; false with NaN; -0 is not below +0", "1.0, 2.0 = true; nan, 1.0 = false; 1.0, nan = false; -0.0, 0.0 = false; -inf, inf = true"},
    {Op::CmpLt, kSigned, "a < b as bool", "-1, 0 = true; most, least = false"},
    {Op::CmpLt, kUnsigned, "a < b as bool", "0, most = true; 1, 1 = false"},
    {Op::CmpLt, kBools, "not a and b", "false, true = true; true, true = false"},
    {Op::CmpEq, kFloats, "a == b as bool; false with NaN; -0 equals +0", "1.0, 1.0 = true; nan, nan = false; -0.0, 0.0 = true; inf, inf = true"},
    {Op::CmpEq, kInts, "a == b as bool", "1, 1 = true; 1, 2 = false"},
    {Op::CmpEq, kBools, "a == b", "false, false = true; false, true = false"},
    {Op::Xor, kInts, "exclusive or of the bits", "6, 3 = 5; most, most = 0"},
    {Op::Xor, kBools, "exclusive or", "true, true = false; false, true = true"},
    {Op::MulAcc, kFloats, "a * b rounded, then + c rounded; one rounding is legal too", "2.0, 3.0, -6.0 = 0.0; most, 2.0, -inf = nan; inf, 0.0, 1.0 = nan"},
    {Op::MulAcc, kSigned, "a * b + c modulo 2^n", "most, most, -1 = 0; 2, 3, 4 = 10"},
    {Op::MulAcc, kUnsigned, "a * b + c modulo 2^n", "most, most, most = 0; 2, 3, 4 = 10"},
    {Op::MulAcc, kBools, "a and b, or c", "true, true, false = true; true, false, false = false"},
    {Op::Where, kFloats, "the arm that the bool selects; the other has no effect", "true, 1.0, nan = 1.0; false, nan, -0.0 = -0.0; true, nan, 1.0 = nan"},
    {Op::Where, kInts, "the arm that the bool selects", "true, 1, 2 = 1; false, 1, 2 = 2"},
    {Op::Where, kBools, "the arm that the bool selects", "true, false, true = false; false, false, true = true"},
    {Op::ReduceSum, kFloats, "the exact sum, rounded once to the accumulator (float32 for narrower types, else the type itself) and then to the type; an exact zero is +0 unless every term is -0; infinities of both signs give NaN",
     "1.0, 2.0, 3.0 = 6.0; most, most, -most, -most, 1.0 = 1.0; -0.0, -0.0 = -0.0; 1.0, -1.0 = 0.0; inf, 1.0 = inf; inf, -inf = nan;  = 0.0"},
    {Op::ReduceSum, kInts, "wraps at the accumulator's width (32 bits for narrower types), then at the type's", "1, 2, 3 = 6; most, 1 = least;  = 0"},
    {Op::ReduceSum, kBools, "or of the terms", "true, true = true; false, false = false;  = false"},
    {Op::ReduceMax, kFloats, "MAX over the terms; -inf if there are none", "1.0, 3.0, 2.0 = 3.0; 1.0, nan, 2.0 = nan; -0.0, 0.0 = 0.0;  = -inf"},
    {Op::ReduceMax, kInts, "MAX over the terms; least if there are none", "1, 3, 2 = 3;  = least"},
    {Op::ReduceMax, kBools, "or of the terms", "false, true = true;  = false"},
};

constexpr CastCell casts[] = {
    {kFloats, kFloats, "rounds the exact value once; overflow gives infinity, but 448 in float8_e4m3, as does infinity",
     "1.5 float32 to float16 = 1.5; 0x1.0020000001p0 float64 to float16 = 0x1.004p0; 65519.0 float32 to float16 = 65504.0; 65520.0 float32 to float16 = inf; 480.0 float32 to float8_e4m3 = 448.0; inf float32 to float8_e4m3 = 448.0; 61440.0 float32 to float8_e5m2 = inf; nan float64 to float8_e4m3 = nan; -0.0 float32 to bfloat16 = -0.0"},
    {kFloats, kSigned, "truncates; out of range saturates; NaN gives 0",
     "-1.9 float32 to int32 = -1; 300.7 float32 to int8 = 127; -inf float64 to int64 = -9223372036854775808; nan float16 to int16 = 0"},
    {kFloats, kUnsigned, "truncates; out of range saturates; NaN gives 0",
     "300.7 float32 to uint8 = 255; -0.9 float32 to uint8 = 0; -5.0 float16 to uint32 = 0; inf bfloat16 to uint64 = 18446744073709551615; nan float32 to uint8 = 0"},
    {kFloats, kBools, "x != 0; NaN is true", "0.5 float32 to bool = true; -0.0 float16 to bool = false; nan float64 to bool = true"},
    {kInts, kFloats, "rounds the exact value once; overflow gives infinity, but 448 in float8_e4m3",
     "16777217 int32 to float32 = 16777216.0; 65520 int32 to float16 = inf; 4629700416936869889 int64 to bfloat16 = 0x1.02p62; -500 int16 to float8_e4m3 = -448.0; 18446744073709551615 uint64 to float64 = 0x1p64"},
    {kInts, kInts, "wraps modulo 2^n", "300 int32 to int8 = 44; -1 int8 to uint16 = 65535; 4294967295 uint32 to int32 = -1"},
    {kInts, kBools, "x != 0", "0 int8 to bool = false; 256 int32 to bool = true"},
    {kBools, kFloats | kInts | kBools, "1 or 0", "true bool to float16 = 1.0; true bool to uint8 = 1; false bool to bool = false"},
};

struct Point { std::string_view what, rule; };
constexpr Point points[] = {
    {"rounding", "to nearest, ties to even; subnormals kept"},
    {"NaN", "all quiet NaNs are the same answer; sign and payload are free, so a bitcast of NaN has undefined bits"},
    {"float8_e4m3", "has no infinities: overflow, 1/0 and log2(0) give +-448, 0/0 gives NaN. `touchstone bits` has\n  `cast.infinity:` and `cast.saturate:` for both 8-bit types; with `--profile` it follows the profile's\n  `float8_overflow`"},
    {"bitcast", "keeps the bits; sizes must agree"},
    {"accumulator", "part of the op: float32 for narrower floats, 32 bits for narrower integers and bool, else the type\n  itself"},
    {"masked element", "0 of its type; memory is not read"},
    {"GATHER", "the element at a position (int64) along the first axis of a buffer's view, bit for bit. A position outside\n  gives 0 of the type, or an error if the GATHER is checked; memory is not read"},
    {"movement ops", "move elements bit for bit; PAD fills with 0 of the type"},
    {"RAND", "Threefry 2x32, 20 rounds, bit-identical on every device (`lib/device/threefry.h`)"},
    {"EMPTY", "memory with undefined content"},
};
// clang-format on

constexpr bool semantics_complete() {
  for (int o = 0; o < kOpCount; ++o) {
    const Op op = static_cast<Op>(o);
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto type = static_cast<DType>(d);
      int found = 0;
      for (const SemanticsCell& c : cells)
        found += c.op == op && (c.classes & class_of(type)) != 0 ? 1 : 0;
      const bool wanted =
          (is_elementwise(op) || is_reduce(op)) && op != Op::Cast && takes(op, type);
      if (found != (wanted ? 1 : 0)) return false;
    }
  }
  for (const TypeClasses from : {kFloats, kSigned, kUnsigned, kBools})
    for (const TypeClasses to : {kFloats, kSigned, kUnsigned, kBools}) {
      int found = 0;
      for (const CastCell& c : casts) found += (c.from & from) != 0 && (c.to & to) != 0 ? 1 : 0;
      if (found != 1) return false;
    }
  return true;
}
static_assert(
    semantics_complete(),
    "the tables of this file need one row per op and type class, and one per pair of a cast");

}  // namespace

std::string classes_text(TypeClasses classes) {
  if (classes == kAll) return "all";
  std::vector<std::string_view> names;
  if ((classes & kFloats) != 0) names.push_back("floats");
  if ((classes & kInts) == kInts)
    names.push_back("integers");
  else if ((classes & kSigned) != 0)
    names.push_back("signed");
  else if ((classes & kUnsigned) != 0)
    names.push_back("unsigned");
  if ((classes & kBools) != 0) names.push_back("bool");
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

// Formats "a = b; c = d" with each example in code, as a→b.
std::string examples_text(std::string_view examples) {
  std::string out;
  while (!examples.empty()) {
    const std::size_t end = std::min(examples.find("; "), examples.size());
    std::string_view one = examples.substr(0, end);
    examples.remove_prefix(std::min(end + 2, examples.size()));
    std::string text(one);
    if (text.starts_with(" = ")) text = "empty" + text;
    if (const std::size_t at = text.find(" = "); at != std::string::npos) text.replace(at, 3, "→");
    out += fmt::format("{}`{}`", out.empty() ? "" : ", ", text);
  }
  return out;
}

}  // namespace

std::span<const SemanticsCell> semantics_table() { return cells; }
std::span<const CastCell> cast_table() { return casts; }

std::string semantics_page() {
  std::string page =
      "# Semantics of every op\n\n"
      "The result of every op on the CPU device, bit for bit. `touchstone bits --docs` generates "
      "this page\n"
      "from `interp/oracle/semantics.cpp`; [oracle.md](oracle.md) states which other results are "
      "legal. A "
      "test runs\n"
      "the examples for every type of the class. *least* and *most* are the ends of a type's "
      "finite range,\n"
      "*tiny* is its smallest positive number. For an undefined result, in brackets, any is "
      "legal.\n"
      "Hexadecimal results are double's, rounded to the type at hand.\n\n";
  for (const Point& p : points) page += fmt::format("- {}: {}\n", p.what, p.rule);
  page +=
      "\n## Elementwise ops and reduces\n\n| op | types | result | examples |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::size(cells); ++i) {
    const SemanticsCell& c = cells[i];
    std::string types = classes_text(c.classes), examples = examples_text(c.examples);
    while (i + 1 < std::size(cells) && cells[i + 1].op == c.op && cells[i + 1].rule == c.rule) {
      ++i;  // the same rule for other types
      types += "; " + classes_text(cells[i].classes);
      examples += "; " + examples_text(cells[i].examples);
    }
    page += fmt::format("| {} | {} | {} | {} |\n", name(c.op), types, c.rule, examples);
  }
  page += "\n## CAST\n\n| from | to | result | examples |\n|---|---|---|---|\n";
  for (const CastCell& c : casts)
    page += fmt::format("| {} | {} | {} | {} |\n", classes_text(c.from), classes_text(c.to), c.rule,
                        examples_text(c.examples));
  page += "\nMistakes of other implementations, each with a test: `tests/interp/traps_test.cpp`.\n";
  return page;
}

}  // namespace touchstone
