#include "touchstone/symbolic/rules.h"

#include <algorithm>

namespace touchstone::symbolic {

namespace {

// clang-format off
constexpr Rule kRules[] = {
    // Division and modulo: one digit, split by its constant, coefficients and common factors.
    {"div.negative", "a quotient keeps its value when both signs turn",
     "x // b", "(-x) // (-b)", "", "",
     "x=..", "x // -4", "-x // 4"},
    {"mod.negative", "a remainder turns its sign when both signs turn",
     "x % b", "-((-x) % (-b))", "", "",
     "x=..", "x % -4", "-(-x % 4)"},
    {"div.period", "multiples of the divisor drop out of the dividend",
     "(x*k + y) // c", "(x*(k % c) + y) // c + x*(k // c)", "", "",
     "x=.. y=..", "(9*x + y) // 4", "2*x + (x + y)//4"},
    {"mod.period", "a coefficient counts modulo the divisor",
     "(x*k + y) % c", "(x*(k % c) + y) % c", "", "",
     "x=.. y=..", "(9*x + y) % 4", "(x + y) % 4"},
    {"div.split", "what lies below a factor of the divisor drops out of a quotient",
     "(c*x + y) // (c*d)", "x // d", "d > 0 and 0 <= y and y < c", "",
     "x=.. y=0..3", "(4*x + y) // 12", "x // 3"},
    {"mod.split", "what lies below a factor of the divisor stands beside the remainder",
     "(c*x + y) % (c*d)", "c*(x % d) + y", "d > 0 and 0 <= y and y < c", "",
     "x=.. y=0..3", "(4*x + y) % 12", "4*(x % 3) + y"},
    {"digit.window", "a digit whose number lies in one period is a plain quotient",
     "(a*d*x + y) // a % d", "y // a", "a > 0 and 0 <= y and y < a*d", "",
     "x=.. y=0..11", "(12*x + y) // 3 % 4", "y // 3"},
    {"digit.line", "through two neighbouring points there is a line",
     "x // a % d", "m // a % d + (x - m)*((m + 1) // a % d - m // a % d)",
     "m <= x and x <= m + 1", "",
     "x=0..1", "(5*x + 1) % 6", "1 - x"},
    {"div.div", "a quotient in a dividend joins its divisor to the one outside",
     "(x // a + y) // c", "(x + a*y) // (a*c)", "c > 0", "",
     "x=.. y=..", "(x // 3 + y) // 4", "(x + 3*y) // 12"},
    {"div.mod", "a quotient of a digit is a higher digit",
     "(x // a % (c*d)) // c", "x // (a*c) % d", "c > 0 and d > 0", "",
     "x=..", "(x % 12) // 3", "x // 3 % 4"},
    {"mod.mod", "a digit in a dividend opens where only multiples of the divisor are lost",
     "(k*(x // a % d) + y) % c", "(k*(x // a) + y) % c", "k*d % c == 0", "",
     "x=.. y=..", "(x % 12 + y) % 4", "(x + y) % 4"},
    {"digit.merge", "neighbouring digits of one number join",
     "(x // a % d)*k + (x // (a*d))*(k*d)", "(x // a)*k", "d > 0", "",
     "x=..", "x % 4 + x // 4 * 4", "x"},

    // A divisor that is no constant.
    {"div.multiple", "a multiple of the divisor drops out of the dividend",
     "(x*b + y) // b", "x + y // b", "", "",
     "x=.. y=.. z=1..9", "(x*z + y) // z", "x + y // z"},
    {"div.cancel", "a common factor of dividend and divisor cancels",
     "(x*y) // (b*y)", "x // b", "", "",
     "x=.. y=1..9 z=1..9", "(3*x*y) // (6*z*y)", "x // (2*z)"},
    {"mod.cancel", "a common factor of dividend and divisor comes out of the remainder",
     "(x*y) % (b*y)", "(x % b)*y", "", "",
     "x=.. y=1..9 z=1..9", "(x*y) % (z*y)", "(x % z)*y"},
    {"div.range", "a quotient is known where the dividend lies within one divisor of it",
     "(k*b + y) // b", "k", "0 <= y and y < b", "",
     "x=0..5 z=6..9", "x // z", "0"},
    {"mod.range", "a remainder is known where the dividend lies within one divisor of it",
     "(k*b + y) % b", "y", "0 <= y and y < b", "",
     "x=0..5 z=6..9", "x % z", "x"},
    {"divmod.join", "a quotient and its remainder make the number again",
     "b*(x // b) + x % b", "x", "", "",
     "x=.. z=1..9", "z*(x // z) + x % z", "x"},
    {"mod.make", "a number less its quotient is its remainder",
     "x - b*(x // b)", "x % b", "", "",
     "x=.. z=1..9", "x - z*(x // z)", "x % z"},

    // Comparisons.
    {"lt.not", "of two integers one is less, or the other is not more",
     "not x < 0", "-x - 1 < 0", "", "",
     "x=.. y=..", "not x < y", "y <= x"},
    {"lt.flag", "what is 0 or -1 is its own sign",
     "x < 0", "-x", "-1 <= x and x <= 0", "",
     "x=0..1", "x < 1", "1 - x"},
    {"lt.gcd", "a common factor drops out of a comparison",
     "c*x + k < 0", "x + k // c < 0", "c > 0", "",
     "x=..", "4*x < 10", "x < 3"},
    {"lt.split", "what lies below the common factor drops out of a comparison",
     "c*x + y < 0", "x < 0", "0 <= y and y < c", "",
     "x=.. y=0..3", "4*x + y < 512", "x < 128"},
    {"lt.quotient_below", "a quotient below something compares its dividend",
     "x // c + y < 0", "x + c*y < 0", "c > 0", "",
     "x=..", "x // 4 < 2", "x < 8"},
    {"lt.quotient_above", "a quotient above something compares its dividend",
     "y - x // c < 0", "c*y + c - 1 - x < 0", "c > 0", "",
     "x=..", "3 < x // 4", "15 < x"},
    {"eq.gcd", "a sum is not 0 where a factor of its terms does not divide its constant",
     "c*x + k == 0", "False", "k % c != 0", "",
     "x=..", "4*x == 6", "0"},

    // Logic.
    {"and.implied", "what another part implies drops out of an and",
     "x < 0 and y < 0", "x < 0", "y <= x", "",
     "x=..", "x < 4 and x < 9", "x < 4"},
    {"and.conflict", "parts that exclude each other make an and false",
     "x < 0 and y < 0", "False", "x + y >= -1", "",
     "x=.. y=..", "x < y and y < x", "0"},
    {"and.absorb", "an alternative that another part grants always holds",
     "x and (x or y)", "x != 0", "", "",
     "x=.. y=.. z=..", "x < y and (x < y or z < 3)", "x < y"},
    {"and.assume", "a part is simplified where the others hold",
     "x < c and x // c % d == k", "x < c and 0 == k", "x >= 0", "",
     "x=0..9", "x < 3 and (x + 11) % 14 < 11", "0"},

    // Choices.
    {"where.not", "a negated condition swaps the branches",
     "where(not x, y, z)", "where(x, z, y)", "", "",
     "x=.. y=.. z=..", "where(x != 3, y, z)", "where(x == 3, z, y)"},
    {"where.min", "a choice by the sign of what it gives is a minimum",
     "where(x < 0, k*x, 0)", "k*min(x, 0)", "", "",
     "x=.. y=..", "where(x < y, x, y)", "min(x, y)"},
    {"where.equal", "under an equation one side stands for the other",
     "where(x == y, k*x + z, z)", "where(x == y, k*y + z, z)", "", "",
     "x=.. y=..", "where(x == 3, x, y)", "where(x == 3, 3, y)"},
    {"where.where", "a choice within a choice on the same condition is made",
     "where(x, where(x, y, z), k)", "where(x, y, k)", "", "",
     "x=.. y=.. z=..", "where(x < 5, where(x < 6, y, z), z)", "where(x < 5, y, z)"},
    {"where.and", "a choice within a choice joins the conditions",
     "where(x, where(y, z, 0), 0)", "where(x and y, z, 0)", "", "",
     "x=.. y=.. z=..", "where(x < 5, where(y < 6, z, 0), 0)", "where(x < 5 and y < 6, z, 0)"},
    {"where.known", "a condition is true where it chose",
     "where(x < 0, y*(x < 0), z)", "where(x < 0, y, z)", "", "",
     "x=.. y=..", "where(x < 5, 3*(x < 6), y)", "where(x < 5, 3, y)"},
    {"where.join", "choices on one condition join",
     "where(x, y, 0)*k + where(x, z, 0)*m", "where(x, y*k + z*m, 0)", "", "",
     "x=.. y=.. z=..", "where(x < 2, y, 0) + where(x < 2, z, 1)", "where(x < 2, y + z, 1)"},
    {"max.flat", "a maximum within a maximum gives its members",
     "max(max(x, y) + k, z)", "max(x + k, y + k, z)", "", "",
     "x=.. y=.. z=..", "max(max(x, y) + 1, x)", "max(x, y) + 1"},
    {"max.dominated", "a member that another one reaches drops out of a maximum",
     "max(x, y)", "x", "x >= y", "",
     "x=..", "max(x, x + 3)", "x + 3"},
    {"max.scale", "a common factor drops out of a maximum",
     "max(c*x, c*y)", "c*max(x, y)", "c >= 0", "",
     "x=.. y=..", "max(4*x, 4*y)", "4*max(x, y)"},
};
// clang-format on

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto at = std::ranges::find(kRules, name, &Rule::name);
  return at == std::end(kRules) ? nullptr : at;
}

}  // namespace touchstone::symbolic
