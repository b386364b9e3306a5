#include "touchstone/symbolic/bound_rules.h"

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
    {"interval.fact_hi", "a fact bounds a variable with a positive factor from above",
     "x <= (-m - 1)//c", "c > 0 and c*x + y < 0 and m <= y"},
    {"interval.fact_lo", "a fact bounds a variable with a negative factor from below",
     "-((-m - 1)//c) <= x", "c > 0 and y - c*x < 0 and m <= y"},
};
// clang-format on

}  // namespace

std::span<const BoundRule> bound_rules() { return kBoundRules; }

}  // namespace touchstone::symbolic
