#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "../support/draws.h"
#include "backend.h"
#include "experiment.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/exact_sum.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::power {
namespace {

// Orders of a sum of terms that a double holds exactly, each partial sum rounded to float.
class OrderSearch {
 public:
  OrderSearch(std::vector<double> terms, test::Draws& random)
      : terms_(std::move(terms)), random_(random) {}

  float in_turn(std::vector<double> v) const { return in_turn(v.data(), v.size()); }
  static std::vector<double> lanes(const std::vector<double>& v, std::size_t k) {
    std::vector<double> sums(std::min(k, v.size()));
    for (std::size_t i = 0; i < v.size(); ++i) {
      double& sum = sums[i % sums.size()];
      sum = static_cast<double>(static_cast<float>(sum + v[i]));
    }
    return sums;
  }
  // Adds pairs of neighbours, then pairs of their sums.
  float pairs(std::vector<double> v) const {
    while (v.size() > 1) {
      std::vector<double> next;
      for (std::size_t i = 0; i + 1 < v.size(); i += 2)
        next.push_back(static_cast<double>(static_cast<float>(v[i] + v[i + 1])));
      if (v.size() % 2 != 0) next.push_back(v.back());
      v = std::move(next);
    }
    return static_cast<float>(v[0]);
  }
  float halves(std::span<const double> v) const {
    if (v.size() == 1) return static_cast<float>(v[0]);
    const double low = halves(v.first(v.size() / 2));
    return static_cast<float>(low + static_cast<double>(halves(v.subspan(v.size() / 2))));
  }
  std::vector<double> shuffled() {
    std::vector<double> v = terms_;
    random_.shuffle(v);
    return v;
  }

  /// Adds in sequence, always the candidate whose addition is rounded furthest towards `sign`:
  /// first those that lead away from zero, then the rest.
  float greedy_in_turn(double sign, bool positive_first) {
    std::vector<double> first, rest;
    for (const double v : shuffled())
      (v > 0) == positive_first ? first.push_back(v) : rest.push_back(v);
    double sum = 0;
    for (std::vector<double>* pool : {&first, &rest})
      while (!pool->empty()) sum = step(sum, *pool, sign);
    return static_cast<float>(sum);
  }
  /// A balanced tree with greedily chosen pairs.
  float greedy_pairs(double sign) {
    std::vector<double> v = shuffled();
    while (v.size() > 1) {
      std::vector<double> next;
      std::ranges::sort(v, [](double a, double b) { return (a > 0) > (b > 0); });
      if (v.size() % 2 != 0) {
        next.push_back(v.back());
        v.pop_back();
      }
      while (!v.empty()) {
        const double one = v.back();
        v.pop_back();
        next.push_back(step(one, v, sign));
      }
      v = std::move(next);
    }
    return static_cast<float>(v[0]);
  }

 private:
  static float in_turn(const double* v, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum = static_cast<double>(static_cast<float>(sum + v[i]));
    return static_cast<float>(sum);
  }

  // The sum plus one of the last terms of `pool`, which it removes.
  static double step(double sum, std::vector<double>& pool, double sign) {
    constexpr std::size_t kCandidates = 256;
    std::size_t best = pool.size() - 1;
    double most = -HUGE_VAL;
    const std::size_t tried = std::min(kCandidates, pool.size());
    for (std::size_t i = pool.size() - tried; i < pool.size(); ++i) {
      const double whole = sum + pool[i];
      const double error = (static_cast<double>(static_cast<float>(whole)) - whole) * sign;
      if (error > most) {
        most = error;
        best = i;
      }
    }
    const auto out = static_cast<double>(static_cast<float>(sum + pool[best]));
    pool[best] = pool.back();
    pool.pop_back();
    return out;
  }

  std::vector<double> terms_;
  test::Draws& random_;
};

float drawn(test::Draws& random, int kind) {
  if (kind == 0) return random.normal<float>();
  if (kind == 1) return random.uniform(0.0F, 1.0F);
  return std::ldexp(random.uniform(-1.0F, 1.0F), random.index(16) - 8);
}

}  // namespace

std::vector<RatioOf> envelope_ratios(std::int64_t terms, std::uint64_t seed) {
  const FpGuard guard;
  const std::unique_ptr<Device> device = make_interpreted_device("RATIO");
  std::vector<RatioOf> ratios;
  const char* values[] = {"normal", "in [0, 1)", "over 16 binades"};
  const char* orders[] = {R"({"sum": "any"})", R"({"sum": {"lanes": 32}})",
                          R"({"sum": {"pairwise": 1}})", R"({"sum": {"halves": 1}})"};
  for (const bool dot : {false, true})
    for (int kind = 0; kind < 3; ++kind)
      for (int order = 0; order < 4; ++order) {
        test::Draws random(seed);
        std::vector<float> x, y;
        std::vector<double> products;
        ExactSum<double> exact;
        for (std::int64_t i = 0; i < terms; ++i) {
          x.push_back(drawn(random, kind));
          y.push_back(drawn(random, kind));
          products.push_back(dot ? static_cast<double>(x.back()) * static_cast<double>(y.back())
                                 : static_cast<double>(x.back()));
          exact.add(products.back());
        }
        const ShapeTracker st = ShapeTracker::contiguous({terms});
        LazyOpPtr value = LazyOp::load(1, DType::Float32, st);
        if (dot) value = LazyOp::binary(Op::Mul, value, LazyOp::load(2, DType::Float32, st));
        value = LazyOp::reduce(Op::ReduceSum, value, {0});
        Buffer in1(*device, DType::Float32, terms), in2(*device, DType::Float32, terms);
        std::vector<Buffer*> raw{nullptr, &in1, &in2};
        interp::Legal<float> legal;
        const auto judge = [&] {
          in1.write(std::span<const float>(x));
          in2.write(std::span<const float>(y));
          interp::legal_results(
              LazyOp::store(ShapeTracker::contiguous(value->shape()), value), raw,
              Profile::from_json(orders[order]), {},
              [&](std::int64_t, const interp::LegalBlock& b) { legal = b.get<float>(0); });
          return (static_cast<double>(legal.hi) - static_cast<double>(legal.lo)) / 2;
        };
        double half = judge();
        OrderSearch search(products, random);
        const double truth = exact.result<double>();
        RatioOf r{fmt::format("{} of values {}, {}", dot ? "dot" : "sum", values[kind],
                              order == 0   ? "any order"
                              : order == 1 ? "32 lanes"
                              : order == 2 ? "pairwise"
                                           : "halves"),
                  0, 0, true};
        double sampled = 0, searched = 0;
        const auto note = [&](float got, double& most) {
          most = std::max(most, std::abs(static_cast<double>(got) - truth));
          r.legal = r.legal && legal.accepts(got);
        };
        for (int i = 0; i < 200; ++i) {
          if (order % 2 == 1) {  // a term's place is declared: the oracle sees the shuffled terms
            std::vector<std::size_t> at(x.size());
            std::iota(at.begin(), at.end(), 0);
            random.shuffle(at);
            const auto moved = [&](auto& v) {
              auto out = v;
              for (std::size_t k = 0; k < at.size(); ++k) out[k] = v[at[k]];
              v = std::move(out);
            };
            moved(x), moved(y), moved(products);
            half = std::max(half, judge());
            note(order == 3 ? search.halves(products)
                            : search.in_turn(OrderSearch::lanes(products, 32)),
                 sampled);
            continue;
          }
          const std::vector<double> v = search.shuffled();
          note(order == 0 ? search.in_turn(v) : search.pairs(v), sampled);
        }
        for (const double sign : {1.0, -1.0}) {
          OrderSearch of_lanes(OrderSearch::lanes(products, 32), random);
          if (order < 2)
            for (const bool positive_first : {true, false})
              note((order == 1 ? of_lanes : search).greedy_in_turn(sign, positive_first), searched);
          if (order == 2) note(search.greedy_pairs(sign), searched);
        }
        r.sampled = half / sampled;
        r.searched = half / std::max(searched, sampled);
        ratios.push_back(std::move(r));
      }
  return ratios;
}

}  // namespace touchstone::power
