#include "suspects.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "../support/draws.h"
#include "backend.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/suspect.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::power {
namespace {

using namespace detail;
using test::Draws;

// The distribution of an array's values.
enum class Values : std::uint8_t {
  Normal,
  Uniform,
  Positive,
  Binades,
  Grid,
  Sorted,
  Repeated,
  Offset,
  ValuesCount
};
constexpr const char* kValuesNames[] = {"normal", "in [-1, 1)",  "in [0, 1)",    "over 16 binades",
                                        "tenths", "sorted rows", "few distinct", "near 1000"};

template <class T>
std::vector<T> draw(Draws& random, Values kind, std::int64_t rows, std::int64_t terms) {
  std::vector<T> out;
  const double some[] = {0.1, 0.7, 1.3, -0.1};
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> row;
    for (std::int64_t k = 0; k < terms; ++k) switch (kind) {
        case Values::Normal: row.push_back(random.normal<double>()); break;
        case Values::Uniform:
        case Values::Sorted: row.push_back(random.uniform(-1.0, 1.0)); break;
        case Values::Positive: row.push_back(random.uniform(0.0, 1.0)); break;
        case Values::Binades:
          row.push_back(std::ldexp(random.uniform(-1.0, 1.0), random.index(16) - 8));
          break;
        case Values::Grid: row.push_back(0.1 * (random.index(21) - 10)); break;
        case Values::Repeated: row.push_back(some[random.index(4)]); break;
        case Values::Offset:
        case Values::ValuesCount: row.push_back(1000 + random.uniform(0.0, 1.0)); break;
      }
    if (kind == Values::Sorted) std::ranges::sort(row);
    for (const double v : row) out.push_back(convert<T>(v / (kind == Values::Offset ? 1000 : 1)));
  }
  return out;
}

// A device's addition and multiplication.
struct Adder {
  int order =
      0;  // 0 in sequence, 1 reversed, 2 shuffled, 3 lanes, 4 halves, 5 blocks, 6 sorted axes
  int width = 8;     // of lanes and blocks
  int products = 0;  // 0 rounded, 1 as the accumulator has them, 2 fused
  bool wide = false, truncates = false;
  bool narrow = false;  // sums in the terms' type instead of the kernel's

  std::string str() const {
    return fmt::format("order {} width {} products {}{}{}", order, width, products,
                       wide ? " wide" : "", truncates ? " truncates" : "") +
           (narrow ? " narrow" : "");
  }
  static Adder drawn(Draws& random) {
    Adder d;
    d.order = random.index(7);
    d.width = 2 << random.index(6);
    d.products = random.index(3);
    d.wide = random.chance(1, 5);
    d.truncates = random.chance(1, 4);
    return d;
  }
};

// Arithmetic in A, rounded or truncated.
template <class A>
struct Sums {
  using W = Wide<A>;
  bool truncates;

  A fit(W x) const {
    const A near = nearest<A>(x);
    if (!truncates) return near;
    const auto back = static_cast<W>(scalar::detail::computing(near));
    if (!(std::abs(back) > std::abs(x))) return near;
    return interp::from_order_key<A>(interp::order_key(near) + (x < 0 ? 1 : -1));
  }
  A add(A a, A b) const { return truncates ? fit(widen(a) + widen(b)) : scalar::add(a, b); }
  A mul(A a, A b) const { return truncates ? fit(widen(a) * widen(b)) : scalar::mul(a, b); }
  A fma(A a, A b, A c) const {
    return truncates ? fit(widen(a) * widen(b) + widen(c)) : scalar::fma(a, b, c);
  }

  A in_turn(const A* v, std::size_t n) const {
    A sum{};
    for (std::size_t i = 0; i < n; ++i) sum = add(sum, v[i]);
    return sum;
  }
  A halves(const A* v, std::size_t n) const {
    if (n <= 4) return in_turn(v, n);
    return add(halves(v, n / 2), halves(v + n / 2, n - n / 2));
  }
};

// The position of term i of n in a device's order.
std::vector<std::size_t> order_of(const Adder& d, std::size_t n, Draws& random) {
  std::vector<std::size_t> at(n);
  for (std::size_t i = 0; i < n; ++i) at[i] = i;
  if (d.order == 1) std::ranges::reverse(at);
  if (d.order == 2) random.shuffle(at);
  if (d.order == 6) {  // the inner of two axes outermost
    at.clear();
    const auto inner = static_cast<std::size_t>(d.width);
    for (std::size_t j = 0; j < inner; ++j)
      for (std::size_t i = j; i < n; i += inner) at.push_back(i);
  }
  return at;
}

template <class T, class A>
T one_sum(const Adder& d, const std::vector<std::size_t>& at, const T* x, const T* y,
          std::vector<A>& v) {
  const Sums<A> sums{d.truncates};
  const Sums<T> narrow{d.truncates};
  const std::size_t n = at.size();
  if (y != nullptr && d.products == 2 && d.order != 4) {
    const std::size_t lanes = d.order == 3 ? std::min(static_cast<std::size_t>(d.width), n) : 1;
    v.assign(lanes, A{});
    for (std::size_t i = 0; i < n; ++i)
      v[i % lanes] = sums.fma(convert<A>(x[at[i]]), convert<A>(y[at[i]]), v[i % lanes]);
    return convert<T>(sums.in_turn(v.data(), lanes));
  }
  v.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (y == nullptr)
      v[i] = convert<A>(x[at[i]]);
    else
      v[i] = d.products == 0 ? convert<A>(narrow.mul(x[at[i]], y[at[i]]))
                             : sums.mul(convert<A>(x[at[i]]), convert<A>(y[at[i]]));
  }
  const auto width = static_cast<std::size_t>(d.width);
  std::vector<A> partial;
  switch (d.order) {
    case 3:
      partial.resize(std::min(width, n));
      for (std::size_t i = 0; i < n; ++i)
        partial[i % partial.size()] = sums.add(partial[i % partial.size()], v[i]);
      return convert<T>(sums.in_turn(partial.data(), partial.size()));
    case 4: return convert<T>(sums.halves(v.data(), n));
    case 5:
      for (std::size_t i = 0; i < n; i += width)
        partial.push_back(sums.in_turn(v.data() + i, std::min(width, n - i)));
      return convert<T>(sums.in_turn(partial.data(), partial.size()));
    default: return convert<T>(sums.in_turn(v.data(), n));
  }
}

// x [rows, terms] times y [columns, terms]; without y the sums of x's rows.
template <class T>
std::vector<T> product(const Adder& d, std::int64_t rows, std::int64_t columns, std::int64_t terms,
                       const std::vector<T>& x, const std::vector<T>& y, Draws& random) {
  std::vector<T> out;
  const std::vector<std::size_t> at = order_of(d, static_cast<std::size_t>(terms), random);
  using Own = scalar::detail::Computing<T>;
  std::vector<double> wide;
  std::vector<Own> own;
  std::vector<T> narrow;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const T* const of_x = x.data() + r * terms;
      const T* const of_y = y.empty() ? nullptr : y.data() + c * terms;
      if (d.narrow)
        out.push_back(one_sum<T, T>(d, at, of_x, of_y, narrow));
      else if (d.wide)
        out.push_back(one_sum<T, double>(d, at, of_x, of_y, wide));
      else
        out.push_back(one_sum<T, Own>(d, at, of_x, of_y, own));
    }
  return out;
}

// Rows less their mean, sum x / n.
template <class T>
std::vector<T> centred(const Adder& d, std::int64_t rows, std::int64_t terms,
                       const std::vector<T>& x, Draws& random) {
  const std::vector<T> sums = product<T>(d, rows, 1, terms, x, {}, random);
  std::vector<T> out;
  for (std::size_t i = 0; i < x.size(); ++i)
    out.push_back(scalar::sub(x[i], scalar::div(sums[i / static_cast<std::size_t>(terms)],
                                                convert<T>(static_cast<double>(terms)))));
  return out;
}

// Rows as shares of their sum: 2^x / sum 2^x.
template <class T>
std::vector<T> shares(const Adder& d, std::int64_t rows, std::int64_t terms,
                      const std::vector<T>& x, Draws& random) {
  std::vector<T> powers;
  const int off = random.index(4) - 2;  // always in one direction, or random
  for (const T v : x) {
    const T right = scalar::exp2(v);
    const int drawn = off == -2 ? random.index(3) - 1 : off;
    const int by = interp::is_infinite(right) || interp::is_zero_value(right) ? 0 : drawn;
    powers.push_back(interp::from_order_key<T>(interp::order_key(right) + by));
  }
  const std::vector<T> sums = product<T>(d, rows, 1, terms, powers, {}, random);
  std::vector<T> out;
  for (std::size_t i = 0; i < powers.size(); ++i)
    out.push_back(scalar::div(powers[i], sums[i / static_cast<std::size_t>(terms)]));
  return out;
}

enum class Shape_ : std::uint8_t { Matmul, Rows, Shares, Centred };

LazyOpPtr kernel_of(Shape_ shape, DType d, std::int64_t rows, std::int64_t columns,
                    std::int64_t terms, DType output) {
  const auto sum = [](const LazyOpPtr& x, int axis) {
    return LazyOp::reduce(Op::ReduceSum, x, {axis});
  };
  LazyOpPtr value;
  if (shape == Shape_::Matmul) {
    const ShapeTracker a =
        ShapeTracker::contiguous({rows, 1, terms}).expand({rows, columns, terms});
    const ShapeTracker b =
        ShapeTracker::contiguous({1, columns, terms}).expand({rows, columns, terms});
    value = sum(LazyOp::binary(Op::Mul, LazyOp::load(1, d, a), LazyOp::load(2, d, b)), 2);
  } else {
    const LazyOpPtr x = LazyOp::load(1, d, ShapeTracker::contiguous({rows, terms}));
    value = sum(x, 1);
    const LazyOpPtr whole = LazyOp::load(1, d, ShapeTracker::contiguous({rows, terms, 1}));
    const LazyOpPtr all =
        LazyOp::load(1, d, ShapeTracker::contiguous({rows, 1, terms}).expand({rows, terms, terms}));
    if (shape == Shape_::Shares)
      value = LazyOp::binary(Op::Div, LazyOp::unary(Op::Exp2, whole),
                             sum(LazyOp::unary(Op::Exp2, all), 2));
    if (shape == Shape_::Centred) {
      const LazyOpPtr n = LazyOp::constant(
          Scalar::from_int(d, terms), ShapeTracker::contiguous({1, 1, 1}).expand({rows, terms, 1}));
      value = LazyOp::binary(Op::Sub, whole, LazyOp::binary(Op::Div, sum(all, 2), n));
    }
  }
  if (output != d) value = LazyOp::cast(value, output);
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

template <class T>
BufferPtr buffer_of(Device& device, const std::vector<T>& values) {
  auto b = std::make_shared<Buffer>(device, dtype_v<T>, static_cast<std::int64_t>(values.size()));
  b->write(std::span<const T>(values));
  return b;
}

// Results of type O, computed in T.
template <class T, class O = T>
void legal_runs_of(std::int64_t variants, std::int64_t most_terms, Draws& random, bool thorough,
                   SuspectCount& count) {
  static const std::unique_ptr<Device> device = make_interpreted_device("SUSPECTS");
  const auto shape = static_cast<Shape_>(random.index(4));
  const auto kind = [&] {
    return static_cast<Values>(random.index(static_cast<int>(Values::ValuesCount)));
  };
  const double most = std::log2(static_cast<double>(most_terms) / 4);
  auto terms = static_cast<std::int64_t>(4 * std::exp2(random.uniform(0.0, most)));
  std::int64_t rows = 8 + random.index(8), columns = 8 + random.index(8);
  if (shape == Shape_::Rows) rows *= columns, columns = 1;
  if (shape == Shape_::Shares || shape == Shape_::Centred) {
    // Rows whose elements share a sum; enough rows to test for missing terms.
    rows *= random.chance(1, 2) ? 4 : 1;
    terms = std::min(terms, std::int64_t{64});
    columns = 1;
  }
  const Values of_x = kind(), of_y = kind();
  const std::vector<T> x = draw<T>(random, of_x, rows, terms);
  const std::vector<T> y =
      shape == Shape_::Matmul ? draw<T>(random, of_y, columns, terms) : std::vector<T>();
  const LazyOpPtr kernel = kernel_of(shape, dtype_v<T>, rows, columns, terms, dtype_v<O>);
  const BufferPtr in1 = buffer_of(*device, x);
  const BufferPtr in2 = y.empty() ? nullptr : buffer_of(*device, y);
  std::vector<Buffer*> raw{nullptr, in1.get()};
  if (in2) raw.push_back(in2.get());
  Profile profile;
  if (is_narrow_float<T> && random.chance(1, 2)) profile.accumulator = dtype_v<T>;
  std::vector<interp::Legal<O>> legal;
  interp::legal_results(kernel, raw, profile, {}, [&](std::int64_t, const interp::LegalBlock& b) {
    for (std::int64_t i = 0; i < b.count(); ++i) legal.push_back(b.get<O>(i));
  });
  for (std::int64_t k = 0; k < variants; ++k) {
    Adder d = Adder::drawn(random);
    d.narrow = profile.accumulator && !random.chance(1, 4);
    const std::vector<T> computed = shape == Shape_::Shares ? shares<T>(d, rows, terms, x, random)
                                    : shape == Shape_::Centred
                                        ? centred<T>(d, rows, terms, x, random)
                                        : product<T>(d, rows, columns, terms, x, y, random);
    std::vector<O> got;
    for (const T v : computed) got.push_back(convert<O>(v));
    std::size_t wrong = 0;
    while (wrong < got.size() && legal[wrong].accepts(got[wrong])) ++wrong;
    const bool is_legal = wrong == got.size();
    if (!is_legal && d.truncates) {
      ++count.illegal;
      continue;
    }
    const BufferPtr output = buffer_of(*device, got);
    const ErrorEvidence evidence = error_evidence(kernel, raw, *output, profile, thorough);
    if (!evidence.none.empty()) continue;
    ++count.runs;
    count.tests += evidence.tests;
    count.least_log_p = std::min(count.least_log_p, evidence.least_log_p);
    if (!evidence.suspicion && is_legal) continue;
    ++count.suspects;
    if (count.first.size() < 20)
      count.first.push_back(fmt::format(
          "{} {} rows {} columns {} terms {}, {} by {}, {}: {}", is_legal ? "suspect" : "illegal",
          name(dtype_v<O>), rows, columns, terms, kValuesNames[static_cast<int>(of_x)],
          shape == Shape_::Matmul    ? kValuesNames[static_cast<int>(of_y)]
          : shape == Shape_::Shares  ? "shares"
          : shape == Shape_::Centred ? "centred"
                                     : "nothing",
          d.str(),
          is_legal
              ? evidence.str()
              : fmt::format("element {}: {} for [{}, {}]{}", wrong, Scalar::of(got[wrong]).str(),
                            Scalar::of(legal[wrong].lo).str(), Scalar::of(legal[wrong].hi).str(),
                            legal[wrong].nan ? " or NaN" : "")));
  }
}

template <class F>
double seconds_of(int repeats, F f) {
  double least = HUGE_VAL;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

}  // namespace

std::vector<EvidenceCost> evidence_costs(int repeats) {
  const FpGuard guard;
  const std::unique_ptr<Device> device = make_interpreted_device("SUSPECTS");
  std::vector<EvidenceCost> costs;
  const struct {
    Shape_ shape;
    std::int64_t rows, columns, terms;
  } kernels[] = {{Shape_::Matmul, 8, 8, 64},     {Shape_::Matmul, 16, 16, 256},
                 {Shape_::Matmul, 32, 32, 4096}, {Shape_::Matmul, 128, 128, 128},
                 {Shape_::Rows, 1000, 1, 1000},  {Shape_::Rows, 100, 1, 16}};
  for (const auto& k : kernels) {
    Draws random(1);
    const std::vector<float> x = draw<float>(random, Values::Normal, k.rows, k.terms);
    const std::vector<float> y = k.shape == Shape_::Matmul
                                     ? draw<float>(random, Values::Normal, k.columns, k.terms)
                                     : std::vector<float>();
    const LazyOpPtr kernel =
        kernel_of(k.shape, DType::Float32, k.rows, k.columns, k.terms, DType::Float32);
    const BufferPtr in1 = buffer_of(*device, x), in2 = y.empty() ? nullptr : buffer_of(*device, y);
    std::vector<Buffer*> raw{nullptr, in1.get(), in2.get()};
    const BufferPtr output =
        buffer_of(*device, product<float>(Adder{}, k.rows, k.columns, k.terms, x, y, random));
    costs.push_back({fmt::format("{} rows, {} columns, {} terms", k.rows, k.columns, k.terms),
                     seconds_of(repeats,
                                [&] {
                                  interp::legal_results(
                                      kernel, raw, Profile(), {},
                                      [](std::int64_t, const interp::LegalBlock&) {});
                                }),
                     seconds_of(repeats, [&] { error_evidence(kernel, raw, *output, {}); })});
  }
  return costs;
}

SuspectCount run_legal_suspects(std::int64_t count, std::int64_t most_terms, std::uint64_t seed,
                                bool thorough) {
  const FpGuard guard;
  SuspectCount result;
  constexpr std::int64_t kVariants = 20;  // of one input
  for (std::int64_t done = 0, turn = 0; done < count; done += kVariants, ++turn) {
    Draws random(seed, static_cast<std::uint64_t>(turn));
    const std::int64_t variants = std::min(kVariants, count - done);
    switch (turn % 6) {
      case 0: legal_runs_of<float16>(variants, most_terms, random, thorough, result); break;
      case 1: legal_runs_of<bfloat16>(variants, most_terms, random, thorough, result); break;
      case 2: legal_runs_of<double>(variants, most_terms, random, thorough, result); break;
      case 3: legal_runs_of<float, bfloat16>(variants, most_terms, random, thorough, result); break;
      default: legal_runs_of<float>(variants, most_terms, random, thorough, result);
    }
  }
  return result;
}

std::vector<PlantedFault> run_planted_suspects(std::int64_t rows, std::int64_t terms,
                                               std::int64_t columns, std::uint64_t seed) {
  const FpGuard guard;
  const std::unique_ptr<Device> device = make_interpreted_device("SUSPECTS");
  const LazyOpPtr kernel =
      kernel_of(Shape_::Matmul, DType::Float32, rows, columns, terms, DType::Float32);
  std::vector<PlantedFault> all;
  const auto cut = [](float x, int drop, bool rounds) {
    auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t unit = 1U << drop;
    if (rounds) bits += unit / 2 - 1 + (bits / unit & 1);
    return std::bit_cast<float>(bits & ~(unit - 1));
  };
  const char* faults[] = {"none",
                          "operands rounded to bfloat16",
                          "operands truncated to bfloat16",
                          "operands rounded to TF32",
                          "operands truncated to TF32",
                          "bfloat16 result",
                          "float16 result",
                          "shifted by 0.05",
                          "scaled by 1.0005",
                          "the last term of each sum is missing",
                          "the first term of each sum is missing"};
  for (const Values kind : {Values::Normal, Values::Uniform, Values::Positive, Values::Binades})
    for (const Adder& d :
         {Adder{0, 8, 0, false, false, false}, Adder{0, 8, 2, false, false, false},
          Adder{3, 16, 0, false, false, false}, Adder{4, 8, 1, true, false, false}}) {
      Draws random(seed);
      const std::vector<float> x = draw<float>(random, kind, rows, terms);
      const std::vector<float> y = draw<float>(random, kind, columns, terms);
      const BufferPtr in1 = buffer_of(*device, x), in2 = buffer_of(*device, y);
      for (std::size_t f = 0; f < std::size(faults); ++f) {
        std::vector<float> a = x, b = y;
        for (std::vector<float>* v : {&a, &b})
          for (std::size_t i = 0; i < v->size(); ++i) {
            const auto term = static_cast<std::int64_t>(i) % terms;
            float& e = (*v)[i];
            if (f >= 1 && f <= 4) e = cut(e, f <= 2 ? 16 : 13, f % 2 == 1);
            if ((f == 9 && term == terms - 1) || (f == 10 && term == 0)) e = 0;
          }
        std::vector<float> got = product<float>(d, rows, columns, terms, a, b, random);
        for (float& v : got) {
          if (f == 5) v = convert<float>(convert<bfloat16>(v));
          if (f == 6) v = convert<float>(convert<float16>(v));
          if (f == 7) v += 0.05F;
          if (f == 8) v *= 1.0005F;
        }
        std::vector<Buffer*> raw{nullptr, in1.get(), in2.get()};
        const BufferPtr output = buffer_of(*device, got);
        const Verdict verdict = judge(kernel, raw, *output);
        // For sums in the thousands, 0.05 is less than truncation's error.
        if (f == 7 && (kind == Values::Positive || kind == Values::Binades)) continue;
        all.push_back({faults[f], kValuesNames[static_cast<int>(kind)], d.str(), verdict.str(),
                       verdict.suspect() || verdict.outcome == Outcome::Fail});
      }
    }
  return all;
}

}  // namespace touchstone::power
