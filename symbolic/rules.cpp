#include "touchstone/symbolic/rules.h"

#include <algorithm>

namespace touchstone::symbolic {

namespace {

// clang-format off
constexpr Rule kRules[] = {
    // Division and modulo: one digit, split by its constant, coefficients and common factors.
    {"div.negative", "x // b", "(-x) // (-b)", "b != 0",
     "x=..", "x // -4", "-x // 4"},
    {"mod.negative", "x % b", "-((-x) % (-b))", "b != 0",
     "x=..", "x % -4", "-(-x % 4)"},
    {"div.period", "(x*k + y) // c", "(x*(k % c) + y) // c + x*(k // c)", "c > 0",
     "x=.. y=..", "(9*x + y) // 4", "2*x + (x + y)//4"},
    {"mod.period", "(x*k + y) % c", "(x*(k % c) + y) % c", "c > 0",
     "x=.. y=..", "(9*x + y) % 4", "(x + y) % 4"},
    {"div.split", "(c*x + y) // (c*d)", "x // d", "c > 0 and d > 0 and 0 <= y and y < c",
     "x=.. y=0..3", "(4*x + y) // 12", "x // 3"},
    {"mod.split", "(c*x + y) % (c*d)", "c*(x % d) + y", "c > 0 and d > 0 and 0 <= y and y < c",
     "x=.. y=0..3", "(4*x + y) % 12", "4*(x % 3) + y"},
    {"digit.window", "(a*d*x + y) // a % d", "y // a",
     "a > 0 and d > 0 and 0 <= y and y < a*d",
     "x=.. y=0..11", "(12*x + y) // 3 % 4", "y // 3"},
    {"digit.line", "x // a % d", "m // a % d + (x - m)*((m + 1) // a % d - m // a % d)",
     "a > 0 and d > 0 and (x == m or x == m + 1)",
     "x=0..1", "(5*x + 1) % 6", "1 - x"},
    {"div.div", "(x // a + y) // c", "(x + a*y) // (a*c)", "a > 0 and c > 0",
     "x=.. y=..", "(x // 3 + y) // 4", "(x + 3*y) // 12"},
    {"div.mod", "(x // a % (c*d)) // c", "x // (a*c) % d", "a > 0 and c > 0 and d > 0",
     "x=..", "(x % 12) // 3", "x // 3 % 4"},
    {"mod.mod", "(k*(x // a % d) + y) % c", "(k*(x // a) + y) % c",
     "a > 0 and d > 0 and c > 0 and k*d % max(c, 1) == 0",
     "x=.. y=..", "(x % 12 + y) % 4", "(x + y) % 4"},
    {"digit.merge", "(x // a % d)*k + (x // (a*d))*(k*d)", "(x // a)*k", "a > 0 and d > 0",
     "x=..", "x % 4 + x // 4 * 4", "x"},

    // A divisor that is no constant; what is divided by is taken not to be 0.
    {"div.multiple", "(x*b + y) // b", "x + y // b", "b != 0",
     "x=.. y=.. z=1..9", "(x*z + y) // z", "x + y // z"},
    {"div.cancel", "(x*y) // (b*y)", "x // b", "b != 0 and y != 0",
     "x=.. y=1..9 z=1..9", "(3*x*y) // (6*z*y)", "x // (2*z)"},
    {"mod.cancel", "(x*y) % (b*y)", "(x % b)*y", "b != 0 and y != 0",
     "x=.. y=1..9 z=1..9", "(x*y) % (z*y)", "(x % z)*y"},
    {"div.range", "(k*b + y) // b", "k", "0 <= y and y < b",
     "x=0..5 z=6..9", "x // z", "0"},
    {"mod.range", "(k*b + y) % b", "y", "0 <= y and y < b",
     "x=0..5 z=6..9", "x % z", "x"},
    {"divmod.join", "b*(x // b) + x % b", "x", "b != 0",
     "x=.. z=1..9", "z*(x // z) + x % z", "x"},
    {"mod.make", "x - b*(x // b)", "x % b", "b != 0",
     "x=.. z=1..9", "x - z*(x // z)", "x % z"},

    // Comparisons.
    {"lt.not", "not x < 0", "-x - 1 < 0", "",
     "x=.. y=..", "not x < y", "y <= x"},
    {"lt.flag", "x < 0", "-x", "x == -1 or x == 0",
     "x=0..1", "x < 1", "1 - x"},
    {"lt.gcd", "c*x + k < 0", "x + k // c < 0", "c > 0",
     "x=..", "4*x < 10", "x < 3"},
    {"lt.split", "c*x + y < 0", "x < 0", "c > 0 and 0 <= y and y < c",
     "x=.. y=0..3", "4*x + y < 512", "x < 128"},
    {"lt.quotient_below", "x // c + y < 0", "x + c*y < 0", "c > 0",
     "x=..", "x // 4 < 2", "x < 8"},
    {"lt.quotient_above", "y - x // c < 0", "c*y + c - 1 - x < 0", "c > 0",
     "x=..", "3 < x // 4", "15 < x"},
    {"eq.gcd", "c*x + k == 0", "False", "c > 0 and k % max(c, 1) != 0",
     "x=..", "4*x == 6", "0"},

    // Logic.
    {"and.implied", "x < 0 and y < 0", "x < 0", "y <= x",
     "x=..", "x < 4 and x < 9", "x < 4"},
    {"and.conflict", "x < 0 and y < 0", "False", "x + y >= -1",
     "x=.. y=..", "x < y and y < x", "0"},
    {"and.absorb", "x and (x or y)", "x != 0", "",
     "x=.. y=.. z=..", "x < y and (x < y or z < 3)", "x < y"},
    {"and.assume", "x < c and x // c % d == k", "x < c and 0 == k", "x >= 0 and c > 0 and d > 0",
     "x=0..9", "x < 3 and (x + 11) % 14 < 11", "0"},

    // Choices.
    {"where.not", "where(not x, y, z)", "where(x, z, y)", "",
     "x=.. y=.. z=..", "where(x != 3, y, z)", "where(x == 3, z, y)"},
    {"where.min", "where(x < 0, k*x, 0)", "k*min(x, 0)", "",
     "x=.. y=..", "where(x < y, x, y)", "min(x, y)"},
    {"where.equal", "where(x == y, k*x + z, z)", "where(x == y, k*y + z, z)", "",
     "x=.. y=..", "where(x == 3, x, y)", "where(x == 3, 3, y)"},
    {"where.where", "where(x, where(x, y, z), k)", "where(x, y, k)", "",
     "x=.. y=.. z=..", "where(x < 5, where(x < 6, y, z), z)", "where(x < 5, y, z)"},
    {"where.and", "where(x, where(y, z, 0), 0)", "where(x and y, z, 0)", "",
     "x=.. y=.. z=..", "where(x < 5, where(y < 6, z, 0), 0)", "where(x < 5 and y < 6, z, 0)"},
    {"where.known", "where(x < 0, y*(x < 0), z)", "where(x < 0, y, z)", "",
     "x=.. y=..", "where(x < 5, 3*(x < 6), y)", "where(x < 5, 3, y)"},
    {"where.join", "where(x, y, 0)*k + where(x, z, 0)*m", "where(x, y*k + z*m, 0)", "",
     "x=.. y=.. z=..", "where(x < 2, y, 0) + where(x < 2, z, 1)", "where(x < 2, y + z, 1)"},
    {"max.flat", "max(max(x, y) + k, z)", "max(x + k, y + k, z)", "",
     "x=.. y=.. z=..", "max(max(x, y) + 1, x)", "max(x, y) + 1"},
    {"max.dominated", "max(x, y)", "x", "x >= y",
     "x=..", "max(x, x + 3)", "x + 3"},
    {"max.scale", "max(c*x, c*y)", "c*max(x, y)", "c > 0",
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
