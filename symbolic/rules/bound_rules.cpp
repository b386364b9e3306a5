#include "touchstone/symbolic/rules/bound_rules.h"

namespace touchstone::symbolic {

namespace {

// clang-format off
constexpr BoundRule kBoundRules[] = {
    {"interval.add_lo", "the least sum is the sum of the least",
     "l + m <= x + y", "l <= x and m <= y"},
    {"interval.add_hi", "the greatest sum is the sum of the greatest",
     "x + y <= h + n", "x <= h and y <= n"},
    {"interval.scale_lo", "a factor moves the ends, a negative one exchanges them",
     "min(c*l, c*h) <= c*x", "l <= x and x <= h"},
    {"interval.scale_hi", "a factor moves the ends, a negative one exchanges them",
     "c*x <= max(c*l, c*h)", "l <= x and x <= h"},
    {"interval.mul_lo", "the least product is one of products of ends",
     "min(l*m, l*n, h*m, h*n) <= x*y", "l <= x and x <= h and m <= y and y <= n"},
    {"interval.mul_hi", "the greatest product is one of products of ends",
     "x*y <= max(l*m, l*n, h*m, h*n)", "l <= x and x <= h and m <= y and y <= n"},
    {"interval.mul_below", "a product lies above the lines through its least corner",
     "m*x + l*y - l*m <= x*y", "l <= x and m <= y"},
    {"interval.mul_above", "a product lies below the lines through its mixed corner",
     "x*y <= n*x + l*y - l*n", "l <= x and y <= n"},
    {"interval.square_below", "a square lies above the line through two neighbours",
     "(2*k + 1)*x - k*(k + 1) <= x*x", ""},
    {"interval.square_above", "a square lies below the line through its ends",
     "x*x <= (l + h)*x - l*h", "l <= x and x <= h"},
    {"interval.div_lo", "a quotient by a positive number grows with the dividend",
     "l//d <= x//d", "l <= x and d > 0"},
    {"interval.div_hi", "a quotient by a positive number grows with the dividend",
     "x//d <= h//d", "x <= h and d > 0"},
    {"interval.divisor_down", "a larger divisor makes a quotient that is not negative no larger",
     "x//n <= x//m", "x >= 0 and m > 0 and m <= n"},
    {"interval.divisor_up", "a larger divisor makes a quotient of a number below 1 no smaller",
     "x//m <= x//n", "x <= 0 and m > 0 and m <= n"},
    {"interval.mod_lo", "a remainder by a positive number is not negative",
     "0 <= x%d", "d > 0"},
    {"interval.mod_hi", "a remainder lies below a positive divisor",
     "x%d <= d - 1", "d > 0"},
    {"interval.mod_line_lo", "within one period a remainder is the dividend, moved",
     "l - d*(l//d) <= x%d", "l <= x and x <= h and l//d == h//d"},
    {"interval.mod_line_hi", "within one period a remainder is the dividend, moved",
     "x%d <= h - d*(h//d)", "l <= x and x <= h and l//d == h//d"},
    {"interval.mod_any_lo", "a remainder lies between 0 and the divisor",
     "min(m + 1, 0) <= x%y", "m <= y"},
    {"interval.mod_any_hi", "a remainder lies between 0 and the divisor",
     "x%y <= max(n - 1, 0)", "y <= n"},
    {"interval.mod_small", "a remainder is no more than a dividend that is not negative",
     "x%y <= x", "0 <= x"},
    {"interval.max_lo", "the least maximum is the maximum of the least",
     "max(l, m) <= max(x, y)", "l <= x and m <= y"},
    {"interval.max_hi", "the greatest maximum is the maximum of the greatest",
     "max(x, y) <= max(h, n)", "x <= h and y <= n"},
    {"interval.where_lo", "a choice is one of its branches",
     "min(l, m) <= where(b, x, y)", "l <= x and m <= y"},
    {"interval.where_hi", "a choice is one of its branches",
     "where(b, x, y) <= max(h, n)", "x <= h and y <= n"},
    {"interval.trim_lo", "the least number moves up to the first one that is congruent",
     "l + (r - l) % m <= x", "l <= x and x == m*i + r"},
    {"interval.trim_hi", "the greatest number moves down to the last one that is congruent",
     "x <= h - (h - r) % m", "x <= h and x == m*i + r"},
    {"interval.fact_hi", "a fact bounds a variable with a positive factor from above",
     "x <= (-m - 1)//c", "c > 0 and c*x + y < 0 and m <= y"},
    {"interval.fact_lo", "a fact bounds a variable with a negative factor from below",
     "-((-m - 1)//c) <= x", "c > 0 and y - c*x < 0 and m <= y"},
    {"interval.fact_factor", "a fact holds times a factor that is not negative",
     "x*y + y < 1", "x < 0 and y >= 0"},

    // x = r (mod m) and y = s (mod n) are written x == m*i + r and y == n*j + s. A result is its
    // residue, the first summand, plus multiples of the first factor of each product; the gcd of
    // those factors is its modulus.
    {"congruence.add", "a sum is congruent to the sum of residues",
     "x + y == (r + s) + m*i + n*j", "x == m*i + r and y == n*j + s"},
    {"congruence.scale", "a factor scales residue and modulus",
     "c*x == c*r + (c*m)*i", "x == m*i + r"},
    {"congruence.mul", "a product is congruent to the product of residues",
     "x*y == r*s + (m*n)*(i*j) + (m*s)*i + (n*r)*j", "x == m*i + r and y == n*j + s"},
    {"congruence.div", "a quotient by a divisor of the modulus has a residue of its own",
     "x//d == r//d + m*i", "x == (d*m)*i + r"},
    {"congruence.mod_known", "a remainder by a divisor of the modulus is known",
     "x%d == r%d", "x == (d*m)*i + r"},
    {"congruence.mod", "a remainder is congruent to its dividend modulo a common divisor",
     "x%d == r + m*i + d*(-(x//d))", "x == m*i + r"},
    {"congruence.mod_any", "a remainder by any divisor is congruent to its dividend modulo a common one",
     "x%y == r + m*i + n*(-j*(x//y)) + s*(-(x//y))", "x == m*i + r and y == n*j + s"},
    {"congruence.where", "a choice is congruent to its branches modulo their differences",
     "where(b, x, y) == r + m*where(b, i, 0) + n*where(b, 0, j) + (s - r)*where(b, 0, 1)",
     "x == m*i + r and y == n*j + s"},
    {"congruence.max", "a maximum is congruent to its members modulo their differences",
     "max(x, y) == r + m*where(x > y, i, 0) + n*where(x > y, 0, j) + (s - r)*where(x > y, 0, 1)",
     "x == m*i + r and y == n*j + s"},
    {"congruence.meet", "of two congruences, the second counts modulo what the first leaves of it",
     "i == h*(u*z + v*i)", "k*i == h*z and u*k + v*h == 1"},
    {"congruence.solve", "a factor prime to the modulus has an inverse",
     "x == -u*k + m*(u*i - w*x)", "c*x + k == m*i and u*c == m*w + 1"},
};
// clang-format on

}  // namespace

std::span<const BoundRule> bound_rules() { return kBoundRules; }

}  // namespace touchstone::symbolic
