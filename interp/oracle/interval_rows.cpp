#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "touchstone/interp/device/exp_rows.h"
#include "touchstone/interp/device/long_vectors.h"
#include "touchstone/interp/oracle/excess.h"
#include "touchstone/interp/oracle/legal_function.h"
#include "touchstone/interp/oracle/legal_rows.h"
#include "touchstone/interp/oracle/radius.h"
#include "touchstone/interp/oracle/unrounded_products.h"
#include "touchstone/ops/op_cases.h"

// N is an integer or an integral_constant: branchless loops over stack arrays, for
// auto-vectorization. A lane of `ok` has all bits set if this form can compute its element.

namespace touchstone::interp {
namespace {

template <class T>
using Key = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// order_key of a number other than NaN, in its own width.
template <class T>
Key<T> key_of(T x) {
  const auto bits = std::bit_cast<Key<T>>(x);
  return bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max());
}
template <class T>
T number_of(Key<T> key) {
  return std::bit_cast<T>(key ^
                          ((key >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key<T>>::max()));
}
template <class T>
Key<T> is_finite(T x) {
  return -static_cast<Key<T>>(std::abs(x) < std::numeric_limits<T>::infinity());
}

template <class T, class N>
void fill(T* to, N n, T value) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = value;
}

template <class T>
struct Ends {
  T lo[kRow];
  T hi[kRow];
};

// The facts about a node that hold for all of its rows.
struct RowRules {
  const ProgramNode& node;
  bool unrounded = false;  // the result may be an unrounded product
  bool alike = false;      // zeros of either sign
  int ulp = 0;             // the error, in units of the type
  double float_ulp = 0;    // of functions of doubles in units of float32
  FunctionError exp2 = {};
  bool rounds = false;  // also, or always, to float32
  bool by_radius = false, keeps = false;
};

// Extends both ends by `by` representable values.
template <class T, class N>
void widen(Ends<T>& row, const Key<T>* by, N n) {
  for (std::int64_t i = 0; i < n; ++i) {
    row.lo[i] = number_of<T>(key_of(row.lo[i]) - by[i]);
    row.hi[i] = number_of<T>(key_of(row.hi[i]) + by[i]);
  }
}

template <class T, class N>
void check_finite(const Ends<T>& row, N n, Key<T>* ok) {
  for (std::int64_t i = 0; i < n; ++i) ok[i] &= is_finite(row.lo[i]) & is_finite(row.hi[i]);
}

template <class T, class N>
void check_numbers(const LegalBlock& block, std::int64_t first, N n, Key<T>* ok) {
  if (block.determined) return;
  const std::uint8_t* flags = block.flags.data() + first;
  for (std::int64_t i = 0; i < n; ++i)
    ok[i] &= -static_cast<Key<T>>(flags[i] == LegalBlock::kNumber);
}

template <class T, class N, class From = T>
void read(const LegalBlock& block, std::int64_t first, N n, Ends<T>& row, Key<T>* ok) {
  const From* lo = block.lo.begin<From>() + first;
  const From* hi = (block.determined ? block.lo : block.hi).begin<From>() + first;
  for (std::int64_t i = 0; i < n; ++i) {
    row.lo[i] = static_cast<T>(lo[i]);
    row.hi[i] = static_cast<T>(hi[i]);
  }
  check_finite(row, n, ok);
  check_numbers<T>(block, first, n, ok);
}

// Reads terms of an addition, which may be unrounded products.
template <class T, class N>
void read_addend(const LegalBlock& block, std::int64_t first, N n, Ends<T>& row, Key<T>* ok) {
  read(block, first, n, row, ok);
  if (!block.unrounded()) return;
  Key<T> by[kRow];
  const std::uint8_t* inexact = block.inexact.data() + first;
  for (std::int64_t i = 0; i < n; ++i) by[i] = inexact[i];
  widen(row, by, n);
  check_finite(row, n, ok);
}

// Rounding is monotone, and so is adding ends in the order of the keys, signed zeros included: only
// -0 + -0 is -0.
template <class T, class N>
void add(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = a.lo[i] + b.lo[i];
    out.hi[i] = a.hi[i] + b.hi[i];
  }
}

template <class T, class N>
void negate(const Ends<T>& a, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T lo = -a.hi[i];
    out.hi[i] = -a.lo[i];
    out.lo[i] = lo;
  }
}

// The least and the largest of the corners; -0 is less than +0.
template <class T, class N, class F>
void corners(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out, F f) {
  const auto signs = [](Key<T> bits) {
    return std::bit_cast<T>(bits & std::numeric_limits<Key<T>>::min());
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = f(a.lo[i], b.lo[i]), q = f(a.lo[i], b.hi[i]);
    const T r = f(a.hi[i], b.lo[i]), s = f(a.hi[i], b.hi[i]);
    const auto x = std::bit_cast<Key<T>>(p), y = std::bit_cast<Key<T>>(q);
    const auto z = std::bit_cast<Key<T>>(r), w = std::bit_cast<Key<T>>(s);
    const T low = p < q ? p : q, least = r < s ? r : s;
    const T high = p < q ? q : p, most = r < s ? s : r;
    const T lo = low < least ? low : least, hi = high < most ? most : high;
    out.lo[i] = lo == 0 ? signs(x | y | z | w) : lo;
    out.hi[i] = hi == 0 ? signs(x & y & z & w) : hi;
  }
}

// 1 for zeros, of any sign, and for the number 1 or -1; else 0.
template <class T>
int is_zero(const Ends<T>& x, std::int64_t i) {
  return (x.lo[i] == 0) & (x.hi[i] == 0);
}
template <class T>
int is_one(const Ends<T>& x, std::int64_t i) {
  return (std::abs(x.lo[i]) == 1) & (x.lo[i] == x.hi[i]);
}

// True if x y is p, its rounded value.
inline bool is_product(float x, float y, float p) {
  return static_cast<double>(x) * static_cast<double>(y) == static_cast<double>(p);
}
// By Dekker's algorithm, for |x|, |y| < 2^500.
inline bool is_product(double x, double y, double p) {
  const auto high = [](double v) {
    const double c = v * 0x1.0000002p27;
    return c - (c - v);
  };
  const double xh = high(x), yh = high(y), xl = x - xh, yl = y - yh;
  const double error = ((xh * yh - p) + xh * yl + xl * yh) + xl * yl;
  return (error == 0) & (std::abs(p) >= 0x1p-960);
}

// A product that an addition takes may be unrounded, unless it is exact.
template <class T, class N>
void leave_unrounded(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out, Key<T>* ok) {
  Key<T> by[kRow];
  check_finite(out, n, ok);
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = a.lo[i], y = b.lo[i];
    if constexpr (std::is_same_v<T, double>)
      ok[i] &= -static_cast<Key<T>>(std::max(std::abs(x), std::abs(y)) < 0x1p500);
    const int exact = int{x == a.hi[i]} & int{y == b.hi[i]} & int{is_product(x, y, x * y)};
    by[i] = 1 - (exact | is_zero(a, i) | is_zero(b, i) | is_one(a, i) | is_one(b, i));
  }
  widen(out, by, n);
}

template <class T, class N>
void divide(const RowRules& rules, const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out,
            Key<T>* ok) {
  for (std::int64_t i = 0; i < n; ++i) ok[i] &= -static_cast<Key<T>>((b.lo[i] > 0) | (b.hi[i] < 0));
  corners(a, b, n, out, [](T x, T y) { return x / y; });
  Key<T> by[kRow];
  for (std::int64_t i = 0; i < n; ++i)
    by[i] = is_zero(a, i) != 0 ? 0 : rules.ulp + (rules.unrounded ? 1 - is_one(b, i) : 0);
  widen(out, by, n);
  for (std::int64_t i = 0; i < n; ++i)
    out.lo[i] = ((a.lo[i] >= 0) & (b.lo[i] > 0) & (out.lo[i] < 0)) ? -T{} : out.lo[i];
  check_finite(out, n, ok);
}

bool is_power(const ProgramNode& node) {
  return node.op == Op::Exp2 ||
         (node.op == Op::Function && node.function.function == NamedFunction::Exp);
}

// 2^x or exp(x) of each end, rounded.
template <class T, class N>
void powers(bool two, const Ends<T>& a, bool points, N n, Ends<T>& out, Key<T>* ok) {
  std::int64_t sure[kRow];
  fill(sure, n, std::int64_t{-1});
  const auto power = two ? exp2_row : exp_row;
  const auto at = [&](const T* x, T* y) {
    if constexpr (std::is_same_v<T, double>) {
      power(x, n, y, sure);
    } else {
      double from[kRow], to[kRow];
      for (std::int64_t i = 0; i < n; ++i) from[i] = x[i];
      power(from, n, to, sure);
      for (std::int64_t i = 0; i < n; ++i) {  // either neighbour of a double rounds alike
        y[i] = static_cast<T>(to[i] * (1 - 0x1p-52));
        const T most = static_cast<T>(to[i] * (1 + 0x1p-52));
        sure[i] &= -static_cast<std::int64_t>(y[i] == most);
      }
    }
  };
  at(a.lo, out.lo);
  if (points)
    for (std::int64_t i = 0; i < n; ++i) out.hi[i] = out.lo[i];
  else
    at(a.hi, out.hi);
  for (std::int64_t i = 0; i < n; ++i) ok[i] &= static_cast<Key<T>>(sure[i]);
}

// Widens the results of exp as `function` of legal_function.h does: only exp(0) is exact.
template <class T, class N>
void widen_exp(const RowRules& rules, const Ends<T>& a, N n, Ends<T>& out) {
  Key<T> errs[kRow];
  for (std::int64_t i = 0; i < n; ++i)
    errs[i] = 1 - (Key<T>{a.lo[i] == 0} & Key<T>{key_of(a.lo[i]) == key_of(a.hi[i])});
  if constexpr (std::is_same_v<T, double>) {
    constexpr std::int64_t kLeast = 1023 + info(DType::Float32).min_exponent;
    constexpr int kDigits = info(DType::Float32).digits;
    for (std::int64_t i = 0; rules.float_ulp > 0 && i < n; ++i) {
      const auto unit = [](double v) {
        const std::int64_t exponent = std::bit_cast<std::int64_t>(v) >> 52;  // v > 0
        return std::bit_cast<double>(((exponent < kLeast ? kLeast : exponent) + 1 - kDigits) << 52);
      };
      const double error = rules.float_ulp * static_cast<double>(errs[i]);
      const double low = error * unit(out.lo[i]), high = error * unit(out.hi[i]);
      const double least = out.lo[i] - low, other = out.hi[i] - high;
      const double most = out.hi[i] + high, another = out.lo[i] + low;
      out.lo[i] = least < other ? least : other;
      out.hi[i] = most > another ? most : another;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) errs[i] *= rules.ulp;
  widen(out, errs, n);
  for (std::int64_t i = 0; i < n; ++i) out.lo[i] = out.lo[i] < 0 ? T{} : out.lo[i];
}

bool is_root(Op op) { return op == Op::Recip || op == Op::Sqrt || op == Op::Log2; }

// True if the results of an interval are those between the results of its ends.
bool has_ends(const ProgramNode& node) {
  if (node.op != Op::Function) return false;
  const FunctionInfo& f = info(node.function.function);
  return !f.exact &&
         (f.course == Course::Rises || f.course == Course::Falls || f.course == Course::Valley);
}

// The function of each end with its error, as `function` of legal_function.h.
template <class T, class N>
void functions(const RowRules& rules, const Ends<T>& a, bool points, N n, Ends<T>& out,
               Key<T>* ok) {
  const NamedFunction f = rules.node.function.function;
  const FunctionInfo& facts = info(f);
  const bool valley = facts.course == Course::Valley;
  const legal::Slack slack{std::is_same_v<T, double> ? rules.float_ulp : rules.ulp, DType::Float32};
  const auto at = [&](T x, Legal<T>& all) {
    const std::optional<Legal<double>> near = legal::near_ends(f, x, x);
    if (!near) return false;
    if constexpr (std::is_same_v<T, double>) {
      all.include(legal::clamped(f, legal::extended(*near, slack)));
    } else {
      const T value = static_cast<T>(near->lo);
      if (value != static_cast<T>(near->hi) || value == 0) return false;
      all.include(legal::clamped(f, legal::widened(Legal<T>::point(value), slack)));
    }
    return true;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const double lo = a.lo[i], hi = a.hi[i];
    Legal<T> all;
    const bool fits = ok[i] != 0 && lo != 0 && hi != 0 && facts.from <= lo && hi <= facts.to &&
                      !(valley && lo < facts.turn && facts.turn < hi) &&
                      (f != NamedFunction::Rsqrt || lo > 0) && at(a.lo[i], all) &&
                      (points || lo == hi || at(a.hi[i], all));
    ok[i] = fits ? -1 : 0;
    out.lo[i] = all.lo;
    out.hi[i] = all.hi;
  }
}

template <class T, class N>
void log2_ends(const RowRules& rules, const Ends<T>& a, bool points, N n, Ends<T>& out,
               Key<T>* ok) {
  Key<T> by[kRow];
  for (std::int64_t i = 0; i < n; ++i) {
    ok[i] &= -static_cast<Key<T>>(a.lo[i] > 0);
    out.lo[i] = ok[i] == 0 ? T{} : scalar::log2(a.lo[i]);
    out.hi[i] = ok[i] == 0 || points ? out.lo[i] : scalar::log2(a.hi[i]);
    ok[i] &= -static_cast<Key<T>>((out.lo[i] != 0) & (out.hi[i] != 0));
    by[i] = rules.ulp;
  }
  widen(out, by, n);
}

template <class T, class N>
void roots(const RowRules& rules, const Ends<T>& a, N n, Ends<T>& out, Key<T>* ok) {
  Key<T> by[kRow];
  for (std::int64_t i = 0; i < n; ++i) {
    ok[i] &= -static_cast<Key<T>>(a.lo[i] > 0);
    out.lo[i] = std::sqrt(a.lo[i]);
    out.hi[i] = std::sqrt(a.hi[i]);
    by[i] = rules.ulp;
  }
  widen(out, by, n);
}

// Widens the results of EXP2 by their declared error, as `exp2` of legal.h does.
template <class T, class N>
void widen_exp2(const RowRules& rules, const Ends<T>& a, N n, Ends<T>& out) {
  const auto by = [&](T x) {
    const double steps =
        std::ceil(rules.exp2.ulp + rules.exp2.ulp_per_x * std::abs(static_cast<double>(x)));
    return static_cast<Key<T>>(steps < 0x1p20 ? steps : 0);  // of infinities and NaN, not used
  };
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = number_of<T>(key_of(out.lo[i]) - by(a.lo[i]));
    out.hi[i] = number_of<T>(key_of(out.hi[i]) + by(a.hi[i]));
    out.lo[i] = out.lo[i] > 0 ? out.lo[i] : T{};
  }
}

// Makes a result of either `a` or `out` legal. Not for results of two signs: those may be apart.
template <class T, class N>
void unite(const Ends<T>& a, N n, Ends<T>& out, Key<T>* ok) {
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = number_of<T>(std::min(key_of(a.lo[i]), key_of(out.lo[i])));
    out.hi[i] = number_of<T>(std::max(key_of(a.hi[i]), key_of(out.hi[i])));
    ok[i] &= -static_cast<Key<T>>((out.lo[i] >= 0) | (out.hi[i] <= 0));
  }
}

template <class T, class N>
void maximum(const Ends<T>& a, const Ends<T>& b, N n, Ends<T>& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out.lo[i] = number_of<T>(std::max(key_of(a.lo[i]), key_of(b.lo[i])));
    out.hi[i] = number_of<T>(std::max(key_of(a.hi[i]), key_of(b.hi[i])));
  }
}

// Extends the results by those rounded to float32 with errors of `by` units, as excess.h does.
template <class N>
void round_to_float(const RowRules& rules, const std::int32_t* by, N n, Ends<double>& out,
                    std::int64_t* ok) {
  Ends<float> row;
  if (rounds_twice(rules.node.op)) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (rules.node.op != Op::Exp2) {  // the neighbour of a zero may be the other zero
        out.lo[i] = out.lo[i] == 0 ? -0.0 : out.lo[i];
        out.hi[i] = out.hi[i] == 0 ? 0.0 : out.hi[i];
      }
      row.lo[i] = static_cast<float>(number_of<double>(key_of(out.lo[i]) - 1));
      row.hi[i] = static_cast<float>(number_of<double>(key_of(out.hi[i]) + 1));
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      row.lo[i] = static_cast<float>(out.lo[i]);
      row.hi[i] = static_cast<float>(out.hi[i]);
    }
  }
  if (rules.node.op == Op::Exp2 || rules.ulp > 0) widen(row, by, n);
  for (std::int64_t i = 0; rules.node.op == Op::Exp2 && i < n; ++i)
    row.lo[i] = row.lo[i] > 0 ? row.lo[i] : 0.0F;
  for (std::int64_t i = 0; keeps_sign(rules.node.op) && i < n; ++i)
    row.lo[i] = ((out.lo[i] >= 0) & (row.lo[i] < 0)) ? -0.0F : row.lo[i];
  for (std::int64_t i = 0; i < n; ++i) {
    const double lo = row.lo[i], hi = row.hi[i];
    ok[i] &= is_finite(lo) & is_finite(hi);
    out.lo[i] = (rules.node.rounds_always | (lo < out.lo[i])) ? lo : out.lo[i];
    out.hi[i] = (rules.node.rounds_always | (hi > out.hi[i])) ? hi : out.hi[i];
  }
}

struct BallRow {
  double value[kRow], radius[kRow];
};

// As `made`, `rounded` and `within_ulp` of ball.h, for a row; ok[i] becomes 0 where the result is
// unknown.
template <class N>
void made(BallRow& x, N n, std::int64_t* ok) {
  for (std::int64_t i = 0; i < n; ++i) {
    x.radius[i] = x.radius[i] * (1 + 0x1p-48) + std::abs(x.value[i]) * 0x1p-52 + 0x1p-1070;
    ok[i] &= is_finite(x.value[i]) & is_finite(x.radius[i]);
  }
}
template <class N>
void rounded(BallRow& x, const ball::Unit& u, double ulp, N n, std::int64_t* ok) {
  const auto most = [&](std::int64_t i) {
    return (std::abs(x.value[i]) + x.radius[i]) * (1 + 0x1p-52);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    ok[i] &= -static_cast<std::int64_t>(most(i) < u.largest);
    x.radius[i] = x.radius[i] + u.relative * most(i) + u.absolute;
  }
  made(x, n, ok);
  if (ulp == 0) return;
  for (std::int64_t i = 0; i < n; ++i)
    x.radius[i] =
        x.radius[i] + ulp * 2 * (u.relative * (most(i) * (1 + 4 * ulp * u.relative)) + u.absolute);
  made(x, n, ok);
}

template <class T, class N>
void read_balls(const RowRules& rules, std::size_t k, const LegalBlock& block, std::int64_t first,
                N n, BallRow& out, std::int64_t* ok) {
  if (!block.balls.empty()) {
    const Ball* balls = block.balls.data() + first;
    for (std::int64_t i = 0; i < n; ++i) {
      out.value[i] = balls[i].value;
      out.radius[i] = balls[i].radius;
      ok[i] &= is_finite(out.radius[i]);
    }
    return;
  }
  const T* low = block.lo.begin<T>() + first;
  const T* high = (block.determined ? block.lo : block.hi).begin<T>() + first;
  for (std::int64_t i = 0; i < n; ++i) {
    const double lo = low[i], hi = high[i];
    out.value[i] = lo / 2 + hi / 2;
    out.radius[i] = hi / 2 - lo / 2;
  }
  made(out, n, ok);
  for (std::int64_t i = 0; i < n; ++i) {
    out.value[i] = low[i] == high[i] ? static_cast<double>(low[i]) : out.value[i];
    out.radius[i] = low[i] == high[i] ? 0 : out.radius[i];
  }
  if (!block.unrounded() || !rules.node.contraction.reads_unrounded(k)) return;
  BallRow wide = out;
  const ball::Unit& u = ball::unit_of(dtype_v<T>);
  for (std::int64_t i = 0; i < n; ++i)
    wide.radius[i] += 2 * (u.relative * ((std::abs(out.value[i]) + out.radius[i]) * (1 + 0x1p-52) *
                                         (1 + 4 * u.relative)) +
                           u.absolute);
  made(wide, n, ok);
  const std::uint8_t* inexact = block.inexact.data() + first;
  for (std::int64_t i = 0; i < n; ++i)
    out.radius[i] = inexact[i] != 0 ? wide.radius[i] : out.radius[i];
}

template <class T>
T beside(double x, bool up) {
  const T near = static_cast<T>(x);
  if constexpr (std::is_same_v<T, double>) return near;
  const bool moves = (up ? static_cast<double>(near) < x : static_cast<double>(near) > x) &
                     (std::abs(near) < std::numeric_limits<T>::infinity());
  return number_of<T>(key_of(near) + (moves ? up ? 1 : -1 : 0));
}

// The radius form of radius.h, where it has one.
template <class T, class N>
void narrow_by_radius(const RowRules& rules, std::span<const LegalBlock* const> operands,
                      std::int64_t first, N n, Ends<T>& out, Ball* balls, Key<T>* done) {
  BallRow a, b, x;
  std::int64_t ok[kRow];
  fill(ok, n, std::int64_t{-1});
  read_balls<T>(rules, 0, *operands[0], first, n, a, ok);
  read_balls<T>(rules, 1, *operands[1], first, n, b, ok);
  if (rules.node.op == Op::Sub)
    for (std::int64_t i = 0; i < n; ++i) b.value[i] = -b.value[i];
  if (rules.node.op == Op::Mul) {
    for (std::int64_t i = 0; i < n; ++i) {
      x.value[i] = a.value[i] * b.value[i];
      x.radius[i] = std::abs(a.value[i]) * b.radius[i] + std::abs(b.value[i]) * a.radius[i] +
                    a.radius[i] * b.radius[i];
    }
  } else if (rules.node.op == Op::Div) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double least = (std::abs(b.value[i]) - b.radius[i]) * (1 - 0x1p-52);
      ok[i] &= -static_cast<std::int64_t>(least > 0);
      x.value[i] = a.value[i] / b.value[i];
      x.radius[i] = (a.radius[i] + std::abs(x.value[i]) * (1 + 0x1p-52) * b.radius[i]) / least;
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      x.value[i] = a.value[i] + b.value[i];
      x.radius[i] = a.radius[i] + b.radius[i];
    }
  }
  made(x, n, ok);
  rounded(x, ball::unit_of(dtype_v<T>), rules.ulp, n, ok);
  if (rules.rounds) rounded(x, ball::unit_of(DType::Float32), rules.ulp, n, ok);
  for (std::int64_t i = 0; i < n; ++i) {
    const double lo = ball::below(x.value[i] - x.radius[i]);
    const double hi = ball::above(x.value[i] + x.radius[i]);
    T low = beside<T>(lo, !rules.keeps), high = beside<T>(hi, rules.keeps);
    low = low == 0 ? -T{} : low;  // either zero
    high = high == 0 ? T{} : high;
    const T least = out.lo[i] < low ? low : out.lo[i], most = high < out.hi[i] ? high : out.hi[i];
    const bool meet = least <= most;
    out.lo[i] = meet ? least : out.lo[i];
    out.hi[i] = meet ? most : out.hi[i];
  }
  for (std::int64_t i = 0; i < n; ++i) done[i] &= static_cast<Key<T>>(ok[i]);
  for (std::int64_t i = 0; balls != nullptr && i < n; ++i) balls[i] = {x.value[i], x.radius[i]};
}

template <class T, class N>
void row(const RowRules& rules, std::span<const LegalBlock* const> operands, std::int64_t first,
         N n, LegalBlock& out, std::uint8_t* done) {
  const ProgramNode& node = rules.node;
  const bool additive = node.op == Op::Add || node.op == Op::Sub;
  const auto get = [&](const LegalBlock& block, Ends<T>& to, Key<T>* ok) {
    additive ? read_addend<T>(block, first, n, to, ok) : read<T>(block, first, n, to, ok);
  };
  Ends<T> a, b, c;
  Key<T> ok[kRow];
  fill(ok, n, Key<T>{-1});
  if (node.op == Op::Cast) {
    if constexpr (std::is_same_v<T, double>)
      read<T, N, float>(*operands[0], first, n, c, ok);
    else
      read<T, N, double>(*operands[0], first, n, c, ok);
  } else {
    get(*operands[0], a, ok);
    if (operands.size() > 1) get(*operands[1], b, ok);
  }
  switch (node.op) {
    case Op::Cast: break;
    case Op::Neg: negate(a, n, c); break;
    case Op::Sub:
      negate(b, n, b);
      add(a, b, n, c);
      break;
    case Op::Add: add(a, b, n, c); break;
    case Op::Div: divide(rules, a, b, n, c, ok); break;
    case Op::Mul:
      corners(a, b, n, c, [](T x, T y) { return x * y; });
      if (rules.unrounded) leave_unrounded(a, b, n, c, ok);
      if (operands[0] == operands[1])  // a square
        for (std::int64_t i = 0; i < n; ++i) c.lo[i] = c.lo[i] < 0 ? -T{} : c.lo[i];
      break;
    case Op::Noop:
    case Op::Max:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      if (node.op == Op::Max) {
        maximum(a, b, n, c);
        break;
      }
      if (node.op == Op::Recip) {
        b = a;
        fill(a.lo, n, T{1});
        fill(a.hi, n, T{1});
        divide(rules, a, b, n, c, ok);
        break;
      }
      if (node.op == Op::Sqrt)
        roots(rules, a, n, c, ok);
      else if (node.op == Op::Log2)
        log2_ends(rules, a, operands[0]->determined, n, c, ok);
      else if (!is_power(node))
        functions(rules, a, operands[0]->determined, n, c, ok);
      else
        powers(node.op == Op::Exp2, a, operands[0]->determined, n, c, ok);
      if (node.op == Op::Exp2)
        widen_exp2(rules, a, n, c);
      else if (is_power(node))
        widen_exp(rules, a, n, c);
      check_finite(c, n, ok);
      if (node.function.or_last) unite(b, n, c, ok);
      break;
  }
  const bool extends = node.op == Op::Cast && std::is_same_v<T, double>;
  if (rules.alike && node.op != Op::Neg && !extends)
    for (std::int64_t i = 0; i < n; ++i) {
      c.lo[i] = c.lo[i] == 0 ? -T{} : c.lo[i];
      c.hi[i] = c.hi[i] == 0 ? T{} : c.hi[i];
    }
  if constexpr (std::is_same_v<T, double>)
    if (rules.rounds) {
      std::int32_t by[kRow];
      fill(by, n, 0);
      if (node.op == Op::Exp2) {
        BallRow x;
        read_balls<T>(rules, 0, *operands[0], first, n, x, ok);
        for (std::int64_t i = 0; i < n; ++i) {
          constexpr double kMost = 4.0 * info(DType::Float32).max_exponent;
          const double most = (std::abs(x.value[i]) + x.radius[i]) * (1 + 0x1p-52);
          by[i] = static_cast<std::int32_t>(
              std::ceil(rules.exp2.ulp + rules.exp2.ulp_per_x * (most < kMost ? most : kMost)));
        }
      } else if (rules.ulp > 0) {
        for (std::int64_t i = 0; i < n; ++i) by[i] = is_zero(c, i) != 0 ? 0 : rules.ulp;
      }
      round_to_float(rules, by, n, c, ok);
    }
  if (rules.by_radius) {
    check_finite(c, n, ok);
    narrow_by_radius(rules, operands, first, n, c,
                     out.balls.empty() ? nullptr : out.balls.data() + first, ok);
  }
  // The general rules overwrite elements that are not ok.
  T *const low = out.lo.begin<T>() + first, *const high = out.hi.begin<T>() + first;
  for (std::int64_t i = 0; i < n; ++i) low[i] = c.lo[i];
  for (std::int64_t i = 0; i < n; ++i) high[i] = c.hi[i];
  fill(out.flags.data() + first, n, std::uint8_t{LegalBlock::kNumber});
  for (std::int64_t i = 0; i < n; ++i) done[first + i] = static_cast<std::uint8_t>(ok[i] & 1);
}

template <class T>
void run(const RowRules& rules, std::span<const LegalBlock* const> operands, LegalBlock& out,
         std::uint8_t* done) {
  std::int64_t first = 0;
  // A constant length lets the compiler vectorize; all arrays of so few elements stay in the cache.
  constexpr std::int64_t kPart = kRow / 4;
  for (; first + kPart <= out.count(); first += kPart)
    row<T>(rules, operands, first, std::integral_constant<std::int64_t, kPart>(), out, done);
  if (first < out.count()) row<T>(rules, operands, first, out.count() - first, out, done);
}

// False if there is no fast form.
bool has_rules(const Profile& profile, std::span<const LegalBlock* const> operands, Form form,
               RowRules& rules) {
  constexpr double kMostUlp = 1 << 20;
  const ProgramNode& node = rules.node;
  const Contraction& c = node.contraction;
  if (node.dtype != DType::Float32 && node.dtype != DType::Float64) return false;
  if (profile.flushes_inputs || profile.flushes_outputs || profile.finite_only) return false;
  const bool reads =
      std::ranges::any_of(operands, [](const LegalBlock* b) { return b->unrounded(); });
  rules.unrounded = profile.contracts && c.may_be_unrounded();
  rules.alike = profile.zeros_alike;
  rules.rounds = node.rounds_to.has_value();
  if (c.flips_fused || (profile.contracts && doubles_unrounded(node))) return false;
  if (rules.rounds && (node.dtype != DType::Float64 || node.rounds_to != DType::Float32))
    return false;
  if (is_power(node) || has_ends(node)) {
    const bool two = node.op == Op::Exp2;
    const FunctionError& error = two ? profile.exp2 : profile.error_of(node.function.function);
    if (reads || rules.unrounded || form == Form::Radius || error.ulp > kMostUlp ||
        (two ? error.ulp_per_x > kMostUlp / 1024 : error.ulp_per_x != 0))
      return false;
    if (!is_power(node) && node.dtype == DType::Float64 && !(rules.rounds && error.ulp > 0))
      return false;
    rules.exp2 = error;
    rules.float_ulp = rules.rounds ? error.ulp : 0;
    rules.ulp = rules.rounds ? 0 : static_cast<int>(std::ceil(error.ulp));
    return true;
  }
  if (is_root(node.op)) {
    const FunctionError& error = node.op == Op::Recip  ? profile.recip
                                 : node.op == Op::Sqrt ? profile.sqrt
                                                       : profile.log2;
    rules.ulp = static_cast<int>(std::ceil(std::min(error.ulp, kMostUlp + 1)));
    return !reads && !rules.unrounded && form != Form::Radius && error.ulp_per_x == 0 &&
           error.ulp <= kMostUlp;
  }
  switch (node.op) {
    case Op::Mul:
      if (c.passes != 0 || (c.is_summed && profile.product_digits != 0)) return false;
      break;
    case Op::Div:
      if (reads || profile.div.ulp_per_x != 0 || profile.div.ulp > kMostUlp) return false;
      rules.ulp = static_cast<int>(std::ceil(profile.div.ulp));
      break;
    case Op::Cast:
      if (rules.rounds || node.bitcast || reads || casts_openly(node, profile) ||
          !is_float(node.src_dtypes[0]) ||
          itemsize(node.src_dtypes[0]) != 12 - itemsize(node.dtype))
        return false;
      if (profile.contracts && c.may_be_unrounded() && node.dtype == DType::Float32) return false;
      break;
    case Op::Max:
      if (c.passes != 0 || rules.rounds) return false;
      break;
    case Op::Neg:
      if (rules.rounds) return false;
      break;
    case Op::Add:
    case Op::Sub: break;
    case Op::Noop:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      return false;
  }
  return form != Form::Radius;
}

}  // namespace

bool apply_interval_rows(const ProgramNode& node, const Profile& profile,
                         std::span<const LegalBlock* const> operands, LegalBlock& out, Done& done,
                         Form form) {
  done.clear();
  RowRules rules{node};
  if (!has_rules(profile, operands, form, rules)) return false;
  done.resize(static_cast<std::size_t>(out.count()));
  const bool by_radius = needs_radius(node, profile, operands, form);
  // The interval of a quotient, root, EXP2 or LOG2 of intervals lies within its radius form: both
  // bound the same steps, and a radius has errors relative to the largest magnitude.
  const bool within =
      (node.op == Op::Div || node.op == Op::Exp2 || is_root(node.op)) && !rules.unrounded &&
      std::ranges::all_of(operands, [](const LegalBlock* b) { return b->balls.empty(); });
  rules.by_radius =
      by_radius && !within && !excess_type(profile, node.dtype) &&
      (node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul || node.op == Op::Div);
  rules.keeps = rules.by_radius && rules.unrounded;
  if (rules.keeps && !node.contraction.is_summed) out.balls.resize(done.size());  // sums read none
  const bool narrow = node.dtype == DType::Float32;
  in_longest_vectors([&] {
    narrow ? run<float>(rules, operands, out, done.data())
           : run<double>(rules, operands, out, done.data());
  });
  return rules.by_radius || !by_radius || (within && !excess_type(profile, node.dtype));
}

}  // namespace touchstone::interp
