#include "touchstone/interp/oracle/suspect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <vector>

#include "touchstone/base/counted.h"
#include "touchstone/dtype/convert.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/oracle/ball.h"
#include "touchstone/interp/oracle/unrounded.h"

namespace touchstone {
namespace {

using namespace interp;

constexpr std::int64_t kMostElements = 1024;
// Minimal size of an output for tests of other faults than missing terms: for fewer they would take
// longer than the verdict.
constexpr std::int64_t kLeastOfOthers = 256;
constexpr double kNearShare = 0.75;       // share of the errors that a fault must explain
constexpr double kLargestBias = 4.0 / 3;  // of the rare orders with larger partial sums
constexpr int kInnerDigits = 14;     // errors that are looked at inside kernels of several sums
constexpr double kBeyondBias = 1.5;  // least fitted fault, in multiples of the legal bias

// Upper bound on ln P(X >= k) for n fair coins: the first term and a geometric series.
double log_coins(std::int64_t k, std::int64_t n) {
  if (2 * k <= n) return 0;
  const auto x = static_cast<double>(k), m = static_cast<double>(n);
  const double first =
      std::lgamma(m + 1) - std::lgamma(x + 1) - std::lgamma(m - x + 1) - m * std::log(2.0);
  const double ratio = (m - x) / (x + 1);
  return std::min(first - std::log1p(-ratio), 0.0);
}

// The weighted median.
double weighted_median(std::vector<std::pair<double, double>> value_and_weight) {
  std::ranges::sort(value_and_weight);
  double all = 0, so_far = 0;
  for (const auto& [value, weight] : value_and_weight) all += weight;
  for (const auto& [value, weight] : value_and_weight)
    if ((so_far += weight) * 2 >= all) return value;
  return 0;
}

class Tests {
 public:
  Tests(const Unrounded& u, std::span<const std::int64_t> shape, double unit, DType output,
        bool is_narrow, ErrorEvidence& out)
      : u_(u),
        unit_(unit),
        rounded_(output),
        is_narrow_(is_narrow),
        out_(out),
        shape_(shape.begin(), shape.end()) {
    // Elements that are copies of each other, or copies times a power of two, count once.
    std::set<std::pair<double, double>> seen;
    for (std::size_t i = 0; i < u.exact.size(); ++i) {
      if (!std::isfinite(u.exact[i]) || !std::isfinite(u.candidate[i]) ||
          std::abs(u.exact[i]) < rounded_.least_normal / rounded_.relative)
        continue;  // not finite, or so small that the type's range rounds it, not its digits
      int exponent = 0;
      const double significand = std::frexp(std::abs(u.before_cast[i]), &exponent);
      const double error = std::ldexp(u.candidate[i], -exponent);
      if (seen.emplace(significand, std::abs(error)).second) kept_.push_back(i);
    }
    out.elements = static_cast<std::int64_t>(kept_.size());
  }

  bool enough() const { return std::ssize(kept_) >= kLeastSuspects; }
  bool has_facts() const { return !u_.facts.empty(); }

  // True if half of the elements have errors large enough for operands rounded to `digits`,
  // relative to the result or to the typical size of such sums.
  bool may_be_operands(int digits) const {
    std::size_t count = 0;
    for (const std::size_t i : kept_) {
      const double size = has_facts() ? std::sqrt(u_.facts[i].squares) : std::abs(u_.exact[i]);
      if (std::abs(u_.candidate[i]) >= std::ldexp(size, -digits - 5)) ++count;
    }
    return 2 * count >= kept_.size();
  }

  /// Tests if the errors are those of a fault: each nearer to the fault's than to 0, both directly
  /// and after removing trends proportional to the result or constant, which may be bias.
  void fixed(std::string_view test, std::string explanation, const std::vector<double>& fault) {
    std::vector<Observation> all;
    for (const std::size_t i : kept_)
      all.push_back({u_.candidate[i] / size_of(i),
                     fault[i] / size_of(i),
                     {1, u_.exact[i] / size_of(i)},
                     std::abs(fault[i]) > 1e-13 * std::abs(u_.exact[i]),
                     // Sums of nearly the same terms have nearly the same errors and count once, as
                     // do results that round to one value.
                     test == "result" ? std::pair(u_.exact[i] + fault[i], 0.0)
                                      : std::pair(coarse(u_.exact[i], 64), coarse(fault[i], 64)),
                     std::abs(u_.candidate[i] - fault[i]) / size_of(i)});
    agree(test, std::move(explanation), all);
  }

  /// The same for terms that are missing. All elements of a row (`rows_of`) share the error of a
  /// sum: its estimate by least squares, as a multiple of the fault, counts once.
  /// `h`: of the fault's hypothesis. Of results that are narrower than the sums, the estimate is
  /// the multiple of the fault that lies nearest to those at which each result rounds to the
  /// candidate's, by the sum of distances: 0 if that explains all of them, too.
  void missing(std::string explanation, std::int64_t count, const Unrounded& u, std::size_t h,
               const std::vector<std::int64_t>& rows) {
    const std::vector<double>& fault = u.errors_before_cast[h];
    std::map<std::int64_t, std::vector<std::size_t>> elements;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (std::isfinite(u.exact[i]) && std::isfinite(u.candidate[i]) && std::isfinite(fault[i]))
        elements[rows[i]].push_back(i);
    std::vector<Observation> all;
    std::int64_t shown = 0;
    for (const auto& [row, of_row] : elements) {
      double mean = 0;
      for (const std::size_t i : of_row)
        mean += std::abs(u.exact[i]) / static_cast<double>(of_row.size());
      // Of the error, and of errors of 1, of a share of the size and of the result.
      std::array<double, 4> projected{};
      double squares = 0, signed_size = 0, size = 0, left = 0;
      for (const std::size_t i : of_row) {
        const double s = std::abs(u.exact[i]) + mean, d = fault[i] / s;
        if (!(s > 0)) continue;
        projected[0] += u.candidate[i] / s * d;
        projected[1] += d / s;
        projected[2] += d;
        projected[3] += u.exact[i] / s * d;
        squares += d * d;
        signed_size += d;
        size += std::abs(d) / static_cast<double>(of_row.size());
        left += std::abs(u.candidate[i] - u.errors[h][i]) / s / static_cast<double>(of_row.size());
      }
      if (!(squares > 0)) continue;
      if (signed_size < 0) size = -size;
      if (std::ranges::any_of(of_row, [&](std::size_t i) { return u.errors[h][i] != 0; })) ++shown;
      const double multiple = is_narrow_ ? nearest_multiple(u, h, of_row) : 0;
      for (double& p : projected) p *= size / squares;
      const std::size_t first = of_row[0];
      const double parts = of_row.size() == 1 ? 64 : 4096;
      all.push_back({is_narrow_ ? multiple * size : projected[0],
                     size,
                     {projected[2], projected[3], projected[1]},
                     std::abs(size) > 1e-13,
                     // Rows that are copies of each other count once, as do sums of nearly the
                     // same terms.
                     {coarse(u.before_cast[first], parts), coarse(size, parts)},
                     left});
    }
    std::int64_t& rows_of_count = out_.rows_of_missing[count];
    rows_of_count = std::max(rows_of_count, shown);
    agree("terms", std::move(explanation), all);
  }

  /// The same for a fault of unknown size: `per_unit` of each element times the best-fitting
  /// constant. Errors within the legal bias do not count.
  void fitted(std::string_view test, const std::vector<double>& per_unit,
              const std::function<std::string(double)>& explanation) {
    std::vector<std::pair<double, double>> ratios;
    for (const std::size_t i : kept_)
      if (per_unit[i] != 0)
        ratios.emplace_back(u_.candidate[i] / per_unit[i], std::abs(per_unit[i]) / bias(i));
    const double size = weighted_median(std::move(ratios));
    std::int64_t near = 0, of = 0;
    std::vector<std::pair<double, double>> left;
    for (const std::size_t i : kept_) {
      const double d = size * per_unit[i], e = u_.candidate[i];
      if (!(std::abs(d) > kBeyondBias * bias(i))) continue;
      ++of;
      near += std::abs(e - d) < std::abs(e) && std::abs(e) > bias(i) ? 1 : 0;
      left.emplace_back(std::abs(e - d) / size_of(i), 1);
    }
    judge(test, explanation(size), near, of, 2, left);
  }

  /// The largest error beyond what bias explains.
  void largest() {
    // Of an order that is independent of the values; of any order, where no partial sum is above
    // sum|v|. The second is closer where all terms have one sign.
    double most = 0, most_of_any = 0, terms = 1;
    for (const std::size_t i : kept_) {
      const SumFacts& f = u_.facts[i];
      if (!(f.energy > 0)) continue;
      const double error = std::abs(u_.candidate[i]);
      most = std::max(most, (error - kLargestBias * bias(i)) / (unit_ * std::sqrt(f.energy)));
      most_of_any =
          std::max(most_of_any, (error - bias(i)) / (unit_ * std::sqrt(f.terms) * f.magnitude));
      terms = std::max(terms, f.terms);
    }
    out_.tests += 2;
    out_.lambda = most;
    // The least over r of errors that are lambda sqrt(r) times the root of an energy r times the
    // usual one. The energies of random orders are distributed as the integral of a squared
    // Brownian bridge, whose mean is 1/6 and whose tail falls as exp(-x pi^2 / 2).
    constexpr double kTail = std::numbers::pi * std::numbers::pi / 12;
    const double r = std::max(most / std::sqrt(2 * kTail), 1.0),
                 tests = std::log(2 * static_cast<double>(kept_.size()));
    out_.log_lambda_p = std::min({tests - most * most / (2 * r) - kTail * (r - 1),
                                  tests + std::log(terms) - most_of_any * most_of_any / 2, 0.0});
    candidates_.push_back(
        {{"size",
          fmt::format(
              "errors of up to {:.3g} u sqrt(sum of squared partial sums), of no known fault",
              most),
          out_.log_lambda_p, 0, 0},
         HUGE_VAL});
  }

  /// True if terms that are missing explain the errors.
  bool miss_terms() const {
    return std::ranges::any_of(
        candidates_, [&](const Candidate& c) { return c.suspicion.test == "terms" && is_rare(c); });
  }

  /// Selects the passing explanation with the least unexplained error.
  void conclude() const {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_) {
      out_.least_log_p = std::min(out_.least_log_p, c.suspicion.log_p + std::log(out_.tests));
      if (!is_rare(c)) continue;
      if (best == nullptr || c.left < best->left) best = &c;
    }
    if (best == nullptr) return;
    out_.suspicion = best->suspicion;
    out_.suspicion->log_p += std::log(out_.tests);
  }

  // Index of each element along an axis, minus the middle.
  std::vector<double> along(std::size_t axis) const {
    std::vector<double> at;
    std::int64_t step = 1;
    for (std::size_t a = shape_.size(); a-- > axis + 1;) step *= shape_[a];
    for (const std::int64_t flat : u_.elements)
      at.push_back(static_cast<double>(flat / step % shape_[axis]) -
                   static_cast<double>(shape_[axis] - 1) / 2);
    return at;
  }

 private:
  struct Candidate {
    Suspicion suspicion;
    double left;  // median of the unexplained errors
  };

  // One error and the fault's, in units of the element's size.
  struct Observation {
    double error, fault;
    std::vector<double> trends;  // errors that may be bias
    bool counts;
    std::pair<double, double> alike;  // equal for errors that are one observation
    double left;                      // that the fault does not explain
  };

  bool is_rare(const Candidate& c) const {
    return c.suspicion.log_p + std::log(out_.tests) < std::log(kSuspectP);
  }

  // Rounded to about one part in `parts`.
  static double coarse(double x, double parts) {
    int exponent = 0;
    return std::ldexp(std::round(std::frexp(x, &exponent) * parts), exponent);
  }
  double bias(std::size_t i) const {
    const double nudged = u_.errors.size() > 1 ? std::abs(u_.errors[1][i]) : 0;
    return std::max(nudged, u_.facts[i].bias) + 4 * rounded_.relative * std::abs(u_.exact[i]) +
           rounded_.absolute;
  }
  double size_of(std::size_t i) const {
    return has_facts() && u_.facts[i].squares > 0 ? std::sqrt(u_.facts[i].squares)
                                                  : std::abs(u_.exact[i]);
  }

  // A member of the observations minus its least-squares fit by their trends.
  static std::vector<double> without_trends(const std::vector<Observation>& all,
                                            double Observation::*member) {
    std::vector<std::vector<double>> columns;  // the trends, orthogonal to each other; the member
    for (std::size_t t = 0; t <= (all.empty() ? 0 : all[0].trends.size()); ++t) {
      std::vector<double>& y = columns.emplace_back();
      for (const Observation& o : all)
        y.push_back(t < o.trends.size()        ? o.trends[t]
                    : std::isfinite(o.*member) ? o.*member
                                               : HUGE_VAL);
      for (std::size_t k = 0; k < t; ++k) {
        double product = 0, square = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (!std::isfinite(y[i])) continue;
          product += y[i] * columns[k][i];
          square += columns[k][i] * columns[k][i];
        }
        if (square > 0)
          for (std::size_t i = 0; i < y.size(); ++i) y[i] -= product / square * columns[k][i];
      }
    }
    return columns.back();
  }

  void agree(std::string_view test, std::string explanation, const std::vector<Observation>& all) {
    const std::vector<double> error = without_trends(all, &Observation::error),
                              given = without_trends(all, &Observation::fault);
    std::int64_t near = 0, of = 0;
    std::vector<std::pair<double, double>> left;
    std::set<std::pair<double, double>> seen;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double e = all[k].error, d = all[k].fault;
      if (!std::isfinite(d) || d == 0 || e == 0 || std::abs(given[k]) <= 1e-6 * std::abs(d) ||
          !all[k].counts || !seen.insert(all[k].alike).second)
        continue;
      ++of;
      near += std::abs(e - d) < std::abs(e) && std::abs(error[k] - given[k]) < std::abs(error[k]);
      left.emplace_back(all[k].left, 1);
    }
    judge(test, std::move(explanation), near, of, 1, left);
  }

  // The multiple of a fault that explains the candidate's results of a row, see `missing`.
  double nearest_multiple(const Unrounded& u, std::size_t h,
                          const std::vector<std::size_t>& of_row) const {
    std::vector<double> ends;           // of the multiples that explain one result
    std::int64_t below = 0, above = 0;  // results that a multiple of 0 does not explain
    for (const std::size_t i : of_row) {
      const double fault = u.errors_before_cast[h][i];
      if (fault == 0) continue;
      const double result = u.exact[i] + u.candidate[i], x = u.before_cast[i];
      int exponent = 0;
      std::frexp(result, &exponent);
      const double half = std::max(std::ldexp(rounded_.relative, exponent - 1), rounded_.absolute);
      double low = (result - half - x) / fault, high = (result + half - x) / fault;
      if (low > high) std::swap(low, high);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      ends.insert(ends.end(), {low, high});
      below += high < 0 ? 1 : 0;
      above += low > 0 ? 1 : 0;
    }
    if (ends.empty() || (below == 0 && above == 0)) return 0;
    const auto middle = ends.begin() + std::ssize(ends) / 2;
    std::ranges::nth_element(ends, middle);
    return (*middle + *std::max_element(ends.begin(), middle)) / 2;
  }

  void judge(std::string_view test, std::string explanation, std::int64_t near, std::int64_t of,
             double sides, std::vector<std::pair<double, double>>& left) {
    ++out_.tests;
    if (of == 0 || static_cast<double>(near) < kNearShare * static_cast<double>(of)) return;
    const double log_p = std::min(log_coins(near, of) + std::log(sides), 0.0);
    candidates_.push_back({{std::string(test), std::move(explanation), log_p, near, of},
                           weighted_median(std::move(left))});
  }

  const Unrounded& u_;
  double unit_;  // of the accumulator
  ball::Unit rounded_;
  bool is_narrow_;  // the output is narrower than the sums
  ErrorEvidence& out_;
  std::vector<std::int64_t> shape_;
  std::vector<std::size_t> kept_;
  std::vector<Candidate> candidates_;
};

// The error model of a kernel's sums under a profile.
struct Arithmetic {
  SumRounding rounding;
  int accumulator_digits = 64;
  int operand_digits = 0;  // maximal digits of an operand of a sum
  bool sums = false, multiplies = false;
};

Arithmetic arithmetic_of(const KernelProgram& program, const Profile& profile) {
  Arithmetic a;
  double least_normal = 0;
  for (std::size_t r = 0; r < program.regions.size(); ++r)
    for (const ProgramNode& node : program.regions[r].nodes) {
      if (!is_float(node.dtype)) continue;
      if (r > 0 && is_load(node.op))
        a.operand_digits = std::max(a.operand_digits, info(node.dtype).digits);
      if (r > 0 && node.op == Op::Mul) {
        a.multiplies = true;
        a.rounding.term = std::max(a.rounding.term, std::ldexp(1.0, -info(node.dtype).digits));
      }
      if (node.op != Op::ReduceSum) continue;
      a.sums = true;
      for (const DType d : {node.accumulator, profile.accumulator.value_or(node.accumulator)}) {
        a.accumulator_digits = std::min(a.accumulator_digits, info(d).digits);
        if (profile.accumulator_digits > 0)
          a.accumulator_digits = std::min(a.accumulator_digits, profile.accumulator_digits);
        least_normal = std::max(least_normal, std::ldexp(1.0, info(d).min_exponent));
      }
    }
  a.rounding.unit = std::ldexp(1.0, -a.accumulator_digits);
  a.rounding.term = std::max(a.rounding.term, a.rounding.unit);
  a.rounding.absolute = profile.flushes_inputs || profile.flushes_outputs
                            ? least_normal
                            : least_normal * a.rounding.unit;
  if (profile.product_digits > 0) a.rounding.cut = std::ldexp(1.0, 2 - profile.product_digits);
  return a;
}

// Runs of elements spread over the output, about `wanted` in total, at multiples of the golden
// ratio, so that no row or column is hit too often.
std::vector<ElementRun> spread(std::int64_t size, std::int64_t wanted, std::int64_t length) {
  if (wanted >= size) return {{0, size}};
  constexpr double kGolden = 0.6180339887498949;
  const std::int64_t count = std::max(wanted / length, std::int64_t{1});
  std::vector<std::int64_t> starts;
  for (std::int64_t k = 0; k < count; ++k) {
    const double turns = static_cast<double>(k) * kGolden;
    starts.push_back(static_cast<std::int64_t>((turns - std::floor(turns)) *
                                               static_cast<double>(size - length + 1)));
  }
  std::ranges::sort(starts);
  std::vector<ElementRun> runs;
  for (const std::int64_t s : starts) {
    const std::int64_t first = runs.empty() ? s : std::max(s, runs.back().last);
    if (first < s + length) runs.push_back({first, s + length});
  }
  return runs;
}

// The elements to examine: at most about an eighth of a large output.
std::vector<ElementRun> elements_of(const KernelProgram& program, bool thorough) {
  constexpr std::int64_t kFew = 128, kMostTerms = std::int64_t{1} << 24;
  const std::int64_t size = program.regions[0].size;
  std::int64_t most = 0;
  for (const Region& region : program.regions) most = std::max(most, region.size);
  std::int64_t terms = std::max(most / std::max(size, std::int64_t{1}), std::int64_t{1});
  for (const Region& region : program.regions)
    for (const ProgramNode& node : region.nodes)  // at worst once for each element
      if (node.repeats && node.distinct > 1) terms = std::max(terms, node.terms);
  std::int64_t wanted = thorough ? kMostElements : std::clamp(size / 8, kFew, kMostElements);
  wanted = std::min({wanted, size, kMostTerms / terms});
  if (wanted < kLeastSuspects) return {};
  const std::int64_t length = std::clamp(1024 / terms, std::int64_t{1}, wanted / 16 + 1);
  return spread(size, wanted, std::min(length, size));
}

// The errors of results rounded to a narrower type.
template <class R>
std::vector<double> rounded_results(const Unrounded& u) {
  std::vector<double> errors;
  for (const double x : u.exact)
    errors.push_back(static_cast<double>(scalar::detail::computing(convert<R>(x))) - x);
  return errors;
}

void test_results(const Unrounded& u, DType output, const Arithmetic& a, Tests& tests) {
  const int digits = std::min(info(output).digits, a.accumulator_digits);
  if (digits > 8) tests.fixed("result", "bfloat16 result", rounded_results<bfloat16>(u));
  if (digits > 11) tests.fixed("result", "float16 result", rounded_results<float16>(u));
  if (digits > 24) tests.fixed("result", "float32 result", rounded_results<float>(u));
}

// The row of each element: those that share a sum of `length` terms (0: of any) have the same.
// nullopt if the elements share sums that occur only within other sums, or sums whose rows cross:
// then not even rows are independent.
std::optional<std::vector<std::int64_t>> rows_of(const KernelProgram& program,
                                                 std::span<const std::int64_t> elements,
                                                 std::int64_t length) {
  const auto shared = [&](const ProgramNode& node) {
    return node.op == Op::ReduceSum && is_float(node.dtype) && node.repeats &&
           (length == 0 || node.terms == length);
  };
  const auto outside = [&](const ProgramNode& inner) {
    return std::ranges::any_of(program.regions[0].nodes, [&](const ProgramNode& node) {
      return shared(node) && node.terms == inner.terms && node.distinct == inner.distinct;
    });
  };
  for (std::size_t r = 1; r < program.regions.size(); ++r)
    for (const ProgramNode& node : program.regions[r].nodes)
      if (shared(node) && !outside(node)) return std::nullopt;
  std::vector<std::int64_t> rows(elements.begin(), elements.end());
  std::vector<AddressRun> run;
  for (const ProgramNode& node : program.regions[0].nodes) {
    if (!shared(node)) continue;
    // Of nested rows the coarser ones count.
    std::map<std::int64_t, std::int64_t> coarser, finer;
    std::vector<std::int64_t> own;
    bool refines = true, refined = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      node.results.runs(elements[i], 1, run);
      own.push_back(run[0].base);
      refines = refines && coarser.try_emplace(rows[i], own[i]).first->second == own[i];
      refined = refined && finer.try_emplace(own[i], rows[i]).first->second == rows[i];
    }
    if (refines)
      rows = std::move(own);
    else if (!refined)
      return std::nullopt;
  }
  return rows;
}

// `also_one`: one term of all sums, too.
std::vector<Hypothesis> missing_terms(const KernelProgram& program, bool also_one) {
  std::set<std::int64_t> lengths;
  for (const Region& region : program.regions)
    for (const ProgramNode& node : region.nodes)
      if (node.op == Op::ReduceSum && is_float(node.dtype)) lengths.insert(node.terms);
  std::vector<Hypothesis> all;
  for (const std::int64_t n : lengths)
    for (const bool first : {false, true})
      for (const std::int64_t count : counts_of_missing(n))
        if (count > 1 || also_one || lengths.size() > 1)
          all.push_back(
              {.kind = Hypothesis::Kind::Missing,
               .missing = {
                   .count = count, .first = first, .of_length = lengths.size() > 1 ? n : 0}});
  return all;
}

// False if the errors are smaller than a missing term's; of narrow results, which seldom change, if
// there are none.
bool may_miss_terms(const Unrounded& u, std::span<const Hypothesis> hypotheses, bool is_narrow) {
  constexpr double kSmall = 0.25;
  const auto sum_of = [&](const std::vector<double>& errors) {
    double sum = 0;
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (std::isfinite(errors[i]) && std::isfinite(u.candidate[i])) sum += std::abs(errors[i]);
    return sum;
  };
  if (is_narrow) return sum_of(u.candidate) > 0;
  double least = HUGE_VAL;
  for (std::size_t h = 1; h < hypotheses.size(); ++h)
    if (hypotheses[h].kind == Hypothesis::Kind::Missing)
      if (const double sum = sum_of(u.errors[h]); sum > 0) least = std::min(least, sum);
  return sum_of(u.candidate) > kSmall * least;
}

// Elements for terms that are missing from results of a narrower type than the sums': many, since
// rounding hides most of the error of a row. Empty if they take too long.
std::vector<ElementRun> elements_of_rows(const KernelProgram& program) {
  constexpr std::int64_t kWanted = std::int64_t{1} << 18, kLength = 1024,
                         kMostWork = std::int64_t{1} << 24;
  std::int64_t work = 0;
  for (const Region& region : program.regions) {
    if (region.size > kMostWork - work) return {};
    work += region.size;
  }
  const std::int64_t size = program.regions[0].size;
  return spread(size, kWanted, std::min(size, kLength));
}

// True if sums of such terms resolve the loss of operands cut to `digits`.
bool resolves(const Unrounded& u, const Arithmetic& a, int digits) {
  if (u.facts.empty()) return a.accumulator_digits - digits >= 12;
  std::size_t count = 0;
  for (const SumFacts& f : u.facts) {
    const double term = std::sqrt(f.squares / std::max(f.terms, 1.0));
    if (a.rounding.unit * f.largest <= std::ldexp(term, -digits - (a.multiplies ? 1 : 3))) ++count;
  }
  return 2 * count >= u.facts.size();
}

std::vector<Hypothesis> operand_faults(const Arithmetic& a, const Profile& profile,
                                       const Unrounded& u) {
  std::vector<Hypothesis> faults;
  for (const int digits : {8, 11, 24}) {
    if (digits >= a.operand_digits || digits >= a.accumulator_digits) continue;
    if (profile.product_digits > 0 && digits >= profile.product_digits) continue;
    if (!resolves(u, a, digits)) continue;
    faults.push_back({Hypothesis::Kind::Rounded, digits});
    faults.push_back({Hypothesis::Kind::Truncated, digits});
  }
  return faults;
}

// Faults inside kernels of several sums, as attention, in float types that no input has.
std::vector<std::vector<Hypothesis>> inner_faults(const Arithmetic& a, const KernelProgram& program,
                                                  const Profile& profile) {
  using Kind = Hypothesis::Kind;
  std::vector<std::vector<Hypothesis>> batches;
  std::set<int> buffers;
  std::int64_t terms = 0;
  int least = a.accumulator_digits;
  for (const Region& region : program.regions)
    for (const ProgramNode& node : region.nodes) {
      if (!is_float(node.dtype)) continue;
      terms = std::max(terms, node.terms);
      least = std::min(least, info(node.dtype).digits);
      if (node.op == Op::Load && &region != program.regions.data()) buffers.insert(node.buffer);
    }
  if (terms < kLeastPartials || buffers.size() > 5) return {};
  for (const int digits : {8, 11}) {
    if (digits >= least || (profile.product_digits > 0 && digits >= profile.product_digits))
      continue;
    batches.push_back({{Kind::Weights, digits},
                       {Kind::Stages, digits},
                       {Kind::Scores, digits},
                       {Kind::Exponentials, digits},
                       {Kind::Partials, digits, 1},
                       {Kind::Partials, digits, 16},
                       {Kind::LastPartials, digits, 16},
                       {Kind::LastPartials, digits, 64},
                       {Kind::LastPartials, digits, 256},
                       {Kind::AllPartials, digits, 1}});
    if (buffers.size() > 1)
      for (const int buffer : buffers)
        for (const Kind kind : {Kind::Rounded, Kind::Truncated})
          batches.back().push_back({kind, digits, buffer});
    while (batches.back().size() > 11) {
      batches.push_back({batches.back().begin() + 11, batches.back().end()});
      batches[batches.size() - 2].resize(11);
    }
  }
  return batches;
}

void test_fitted(const Unrounded& u, std::span<const std::int64_t> shape, Tests& tests) {
  tests.fitted("scale", u.exact,
               [](double size) { return fmt::format("scaled by {:.6g}", 1 + size); });
  tests.fitted("shift", std::vector<double>(u.exact.size(), 1),
               [](double size) { return fmt::format("shifted by {:.4g}", size); });
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] >= 8)
      tests.fitted("axis", tests.along(axis), [&](double size) {
        return fmt::format("errors that grow by {:.3g} along axis {}", size, axis);
      });
}

ErrorEvidence gather(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& output,
                     const Profile& profile, bool thorough) {
  ErrorEvidence out;
  const auto none = [&](std::string why) {
    out.none = std::move(why);
    return out;
  };
  if (!is_float(output.dtype())) return none("the output has no floats");
  using Kind = Hypothesis::Kind;
  const KernelProgram kept = make_program(kernel, Repeats::Kept);
  const ProgramNode* const sum = only_sum(kept);
  // Facts about the sum are needed for every element.
  const KernelProgram program = sum != nullptr && sum->repeats ? make_program(kernel) : kept;
  const Arithmetic a = arithmetic_of(program, profile);
  if (!a.sums) return none("the kernel has no sum of floats");
  const std::vector<ElementRun> runs = elements_of(program, thorough);
  if (runs.empty())
    return none(
        fmt::format("fewer than {} elements, or too many terms to test that many", kLeastSuspects));
  const std::vector<Hypothesis> hypotheses{
      {Kind::Exact},
      {Kind::Nudged},
      {.kind = Kind::Missing, .missing = {.count = 1}},
      {.kind = Kind::Missing, .missing = {.count = 1, .first = true}}};
  const Unrounded u = evaluate_unrounded(program, inputs, output, runs, hypotheses, a.rounding);
  std::vector<std::int64_t> shape;
  for (const sint& s : kernel->shape()) shape.push_back(s.as_int());
  const bool is_narrow = info(output.dtype()).digits < a.accumulator_digits;
  Tests tests(u, shape, a.rounding.unit, output.dtype(), is_narrow, out);
  if (!tests.enough()) return none(fmt::format("fewer than {} distinct elements", kLeastSuspects));
  const bool many = program.regions[0].size >= kLeastOfOthers;
  if (many) test_results(u, output.dtype(), a, tests);
  const auto test_missing = [&](const Unrounded& under, std::span<const Hypothesis> missing) {
    std::map<std::int64_t, std::optional<std::vector<std::int64_t>>> rows;  // by length
    for (std::size_t h = 1; h < missing.size(); ++h) {
      if (missing[h].kind != Kind::Missing) continue;
      const std::int64_t length = missing[h].missing.of_length;
      auto [of_length, fresh] = rows.try_emplace(length);
      if (fresh) of_length->second = rows_of(kept, under.elements, length);
      if (of_length->second)
        tests.missing(missing[h].str(), missing[h].missing.count, under, h, *of_length->second);
    }
  };
  test_missing(u, hypotheses);
  if (may_miss_terms(u, hypotheses, is_narrow)) {
    std::vector<ElementRun> of_rows;
    if (is_narrow) of_rows = elements_of_rows(kept);
    const std::vector<Hypothesis> missing = missing_terms(kept, !of_rows.empty());
    for (std::size_t at = 0; at < missing.size();) {
      std::vector<Hypothesis> batch{{Kind::Exact}};
      while (at < missing.size() && batch.size() < kMostHypotheses) batch.push_back(missing[at++]);
      test_missing(evaluate_unrounded(kept, inputs, output, of_rows.empty() ? runs : of_rows, batch,
                                      a.rounding),
                   batch);
    }
  }
  if (!is_narrow) out.rows_of_missing.clear();
  if (many && tests.has_facts()) tests.largest();
  // Elements that share a sum have one error.
  const auto rows = many && tests.has_facts() ? rows_of(kept, u.elements, 0) : std::nullopt;
  if (rows && 2 * std::set(rows->begin(), rows->end()).size() >= rows->size())
    test_fitted(u, shape, tests);
  if (tests.miss_terms() || !many) {
    tests.conclude();
    return out;
  }
  const auto test_batch = [&](std::vector<Hypothesis> faults, std::string_view test) {
    faults.insert(faults.begin(), Hypothesis{});
    const Unrounded under = evaluate_unrounded(program, inputs, output, runs, faults, a.rounding);
    for (std::size_t h = 1; h < faults.size(); ++h)
      tests.fixed(test, faults[h].str(), under.errors[h]);
  };
  const std::vector<Hypothesis> faults = operand_faults(a, profile, u);
  if (!faults.empty() && tests.may_be_operands(faults.back().digits))
    test_batch(faults, "operands");
  if (!tests.has_facts() && tests.may_be_operands(kInnerDigits))
    for (const auto& batch : inner_faults(a, program, profile)) test_batch(batch, "inner");
  tests.conclude();
  return out;
}

std::string probability(double log_p) {
  const double digits = log_p / std::log(10.0);
  if (digits > -4) return fmt::format("{:.2g}", std::exp(log_p));
  return fmt::format("1e{:.0f}", std::ceil(digits));
}

}  // namespace

std::string Suspicion::str() const {
  if (of == 0) return fmt::format("{} (p < {})", explanation, probability(log_p));
  return fmt::format("{}: nearer than rounding to {} of {} errors (p < {})", explanation, agree, of,
                     probability(log_p));
}

std::string ErrorEvidence::str() const {
  if (!none.empty()) return "bias not tested: " + none;
  std::string text = fmt::format("errors of {} elements, {} tests", elements, tests);
  if (lambda)
    text += fmt::format("; beyond bias at most {:.3g} u sqrt(sum of squared partial sums), p {}",
                        *lambda, probability(log_lambda_p));
  const double needed = std::ceil(std::log2(tests / kSuspectP));
  std::int64_t most = 0, seen_from = 0;
  for (const auto& [count, rows] : rows_of_missing) {
    if (seen_from != 0) break;
    if (static_cast<double>(rows) >= needed)
      seen_from = count;
    else
      most = std::max(most, rows);
  }
  if (!suspicion && !rows_of_missing.empty() && seen_from != 1)
    text += fmt::format(
        "; missing terms of sums whose results are legal{} would go unnoticed: rounding leaves "
        "them in {}, {} are needed",
        seen_from == 0 ? "" : fmt::format(", fewer than {} of each,", seen_from),
        counted(most, "row"), needed);
  return text + (suspicion ? "; " + suspicion->str() : "; nothing suspicious");
}

ErrorEvidence error_evidence(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                             const Buffer& output, const Profile& profile, bool thorough) {
  try {
    return gather(kernel, inputs, output, profile, thorough);
  } catch (const AstError& e) {
    ErrorEvidence out;
    out.none = e.what();
    return out;
  }
}

}  // namespace touchstone
