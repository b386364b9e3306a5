#include "touchstone/judging/cause.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "touchstone/base/counted.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/threads.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/interp/oracle/unrounded.h"
#include "touchstone/ops/decompose.h"

namespace touchstone {
namespace {

constexpr std::int64_t kCheap = 1'000'000;
// The search may cost so much, and so many times the verdict.
constexpr std::int64_t kMostCost = 50'000'000, kMostVerdicts = 2;
constexpr std::int64_t kCostOfStart = 2'000;  // of judging anything
constexpr std::int64_t kSamples = 16;
constexpr std::int64_t kMostListed = 1'000'000;  // elements whose legal numbers are kept
constexpr std::int64_t kFewest = 4;              // elements that show a pattern
// A change explains nothing if the legal numbers of most elements span more of their larger end.
constexpr double kWidestCause = 0.5;
constexpr double kWideCause = 0.01;  // worth a remark
constexpr double kMuchWider = 2;
constexpr double kMuchLess = 0.95;  // of the width of a change that was tried before
// A factor's distance from 1, or a difference, is known to so much of itself.
constexpr double kSameFactor = 0.05;
constexpr double kFarOff = 64;  // times a number around 0
constexpr std::size_t kMostUnseen = 3;

bool is_legal(const Verdict& v) { return v.outcome == Outcome::Pass || v.outcome == Outcome::Weak; }

std::string place(std::int64_t flat, const define::Sizes& shape) {
  return fmt::format("({})", fmt::join(place_in(shape, flat), ", "));
}

// The numbers that agree with all elements so far.
struct Common {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  void meet(double a, double b, double slack) {
    low = std::max(low, std::min(a, b) - slack);
    high = std::min(high, std::max(a, b) + slack);
  }
  // The shortest decimal if there is one and it is known well, unlike `none`.
  std::optional<double> value(double none) const {
    const double middle = (low + high) / 2;
    if (!(low <= high) || !std::isfinite(middle) || (low <= none && none <= high) ||
        high - low > kSameFactor * std::abs(middle - none))
      return std::nullopt;
    for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
      const std::string text = fmt::format("{:.{}g}", middle, digits);
      double x = 0;
      std::from_chars(text.data(), text.data() + text.size(), x);
      if (low <= x && x <= high) return x;
    }
    return middle;
  }
};

class Search {
 public:
  Search(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
         const define::Sizes& shape, const Judging& judging, const Verdict& failed)
      : kernel_(kernel),
        inputs_(inputs),
        candidate_(candidate),
        shape_(shape),
        judging_(judging),
        failed_(failed),
        cost_(cost_of_verdict(kernel)),
        left_(kMostCost + kMostVerdicts * cost_),
        samples_(samples_of(failed, candidate.size())) {}

  std::string operator()() {
    list_legal();
    const std::vector<Change> declared = declarations(kernel_, judging_.profile);
    const auto wide = std::ranges::find_if(declared, &Change::widens);
    const auto unlikely = std::ranges::find_if(declared, &Change::is_unlikely);
    try_all({declared.begin(), wide}, "legal if");
    if (words_.empty())
      if (std::string zeros = signs_of_zeros(); !zeros.empty()) return zeros;
    try_all(faults(kernel_, judging_), "explained if");
    if (least_ > kMuchWider * failed_.relative.median)
      try_all(missing_terms(kernel_, judging_), "explained if");
    try_all(orders(kernel_, inputs_, shape_, judging_), "explained if");
    if (least_ > kMuchWider * failed_.relative.median) {
      try_all(less_accurate_forms(kernel_, judging_), "legal");
      const bool is_form = words_.starts_with("legal in the form");
      try_all({wide, unlikely}, "legal if");
      if (!is_form) try_all({unlikely, declared.end()}, "legal if");
      if (const std::optional<DType> type = type_of_sums_in_turn()) {
        const auto words = fmt::format("terms are added in their order in {}", name(*type));
        if (!words_.starts_with("legal if " + words)) return "explained if " + words;
      }
    }
    if (least_ > kMuchWider * failed_.relative.median)
      if (std::string pattern = scaled_or_shifted(); !pattern.empty()) return pattern;
    if (!words_.empty()) return words_;
    words_ = all_alike();
    if (words_.empty())
      words_ = left_ > 0
                   ? failed_.sampled
                         ? "no declaration explains it, and no fault of those tried on a sample"
                         : "no known declaration or fault explains all of it"
                   : "no cause found; the search ended, as the kernel is large";
    return words_ + where();
  }

 private:
  bool pay(std::int64_t cost) {
    left_ -= cost + kCostOfStart;
    return left_ > 0;
  }

  std::optional<DType> type_of_sums_in_turn() {
    if (failed_.sampled || !is_float(candidate_.dtype()) || !pay(cost_)) return std::nullopt;
    try {
      return interp::type_of_sums_in_turn(interp::make_program(kernel_, interp::Repeats::Kept),
                                          inputs_, candidate_);
    } catch (const AstError&) {
      return std::nullopt;  // not a function of real numbers
    }
  }

  // The legal results of all elements, and those which are wrong.
  void list_legal() {
    if (failed_.sampled || candidate_.size() > kMostListed || !pay(cost_)) return;
    static interp::Threads threads;
    const FpGuard guard;
    legal_.resize(static_cast<std::size_t>(candidate_.size()));
    interp::legal_results_in_runs(
        kernel_, inputs_, judging_.profile, {}, Sampling::all(), threads, [](std::size_t) {},
        [&](std::size_t, std::int64_t first, const interp::LegalBlock& block) {
          with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
            for (std::int64_t i = 0; i < block.count(); ++i) {
              const interp::Legal<T> x = block.get<T>(i);
              legal_[static_cast<std::size_t>(first + i)] = {
                  Scalar::of(x.lo), Scalar::of(x.hi), x.number, x.nan, x.any, x.apart};
            }
          });
        });
    for (std::int64_t i = 0; i < candidate_.size(); ++i)
      if (!legal(i).accepts(candidate_.at(i))) wrong_.push_back(i);
    if (static_cast<std::int64_t>(wrong_.size()) != failed_.wrong) {  // legal in part of one form
      legal_.clear();
      wrong_.clear();
    }
    for (std::int64_t i = 1; i < kSamples && !wrong_.empty(); ++i)
      samples_.push_back(wrong_[static_cast<std::size_t>(i) * (wrong_.size() - 1) / kSamples]);
  }
  const LegalScalars& legal(std::int64_t i) const { return legal_[static_cast<std::size_t>(i)]; }

  // The span of most elements' legal numbers, if the change makes all elements legal.
  std::optional<double> width_of(const Change& change) {
    if (change.source) return width_of_moved(change);
    std::vector<Buffer*> inputs(inputs_.begin(), inputs_.end());
    std::vector<BufferPtr> made;
    if (change.reorder) {
      if (!pay(change.copied)) return std::nullopt;
      change.reorder(inputs, made);
    }
    for (const std::int64_t i : samples_) {
      const LazyOpPtr one = interp::one_element(change.kernel, interp::place_of(i, change.kernel));
      if (!pay(cost_of_verdict(one)) ||
          !is_legal_at(change.kernel, inputs, i, candidate_.at(i), change.profile))
        return std::nullopt;
    }
    if (!pay(cost_)) return std::nullopt;
    const Verdict v =
        judge(change.kernel, inputs, candidate_, change.profile, {}, judging_.sampling);
    if (!is_legal(v)) return std::nullopt;
    // Zeros for subnormal numbers: nothing between them is meant.
    if (change.profile.flushes_outputs && !judging_.profile.flushes_outputs && !wrong_.empty() &&
        std::ranges::all_of(wrong_,
                            [&](std::int64_t i) { return candidate_.at(i).to_double() == 0; }))
      return failed_.relative.median;
    return v.relative.median <= kWidestCause ? std::optional(v.relative.median) : std::nullopt;
  }

  std::optional<double> width_of_moved(const Change& change) {
    std::int64_t mended = 0;  // wrong in place
    for (std::int64_t i = 0; i < std::ssize(legal_); ++i) {
      const std::int64_t from = change.source(i);
      if (from < 0) continue;
      if (!legal(i).accepts(candidate_.at(from))) return std::nullopt;
      if (!legal(from).accepts(candidate_.at(from))) ++mended;
    }
    return mended >= kFewest && failed_.relative.median <= kWidestCause
               ? std::optional(failed_.relative.median)
               : std::nullopt;
  }

  // Keeps the change that lets the least errors through.
  void try_all(std::span<const Change> changes, std::string_view word) {
    std::string_view explained;  // the function whose smaller error explains it
    for (auto change = changes.begin(); change != changes.end(); ++change) {
      if (left_ <= 0 && !change->source) continue;
      if (!change->function.empty() && change->function == explained) continue;
      const std::optional<double> width = width_of(*change);
      if (!width) continue;
      explained = change->function;
      if (*width >= kMuchLess * least_) continue;
      least_ = *width;
      words_ = fmt::format("{} {}", word, change->words);
      if (*width > kWideCause)
        words_ += fmt::format(", which lets errors of {:.0f} % through", 100 * *width);
    }
  }

  std::string signs_of_zeros() const {
    const auto is_sign = [&](std::int64_t i) {
      const LegalScalars& x = legal(i);
      return x.number && candidate_.at(i).to_double() == 0 && x.low.to_double() == 0 &&
             x.high.to_double() == 0;
    };
    if (wrong_.empty() || !std::ranges::all_of(wrong_, is_sign)) return {};
    return "only the sign of zeros is wrong";
  }

  // "each result is 2 times the right one", or differs from it by one number.
  std::string scaled_or_shifted() const {
    if (!is_float(candidate_.dtype()) || std::ssize(legal_) < kFewest) return {};
    const double ulp = std::ldexp(1.0, 1 - info(candidate_.dtype()).digits);
    Common factor, difference;
    std::int64_t factors = 0, differences = 0;
    for (std::int64_t i = 0; i < std::ssize(legal_); ++i) {
      const double c = candidate_.at(i).to_double();
      const LegalScalars& x = legal(i);
      if (x.any || (!x.number && x.accepts(candidate_.at(i)))) continue;
      if (!x.number) return {};
      const double low = x.low.to_double(), high = x.high.to_double();
      if (!std::isfinite(c) || !std::isfinite(low) || !std::isfinite(high)) return {};
      difference.meet(c - low, c - high,
                      ulp * std::max({std::abs(c), std::abs(low), std::abs(high)}));
      ++differences;
      if (low == 0 && high == 0 && c == 0) continue;
      if (low <= 0 && high >= 0) {
        if (std::abs(c) > kFarOff * std::max(-low, high)) factor.meet(1, 1, 0);  // no factor
        continue;
      }
      factor.meet(c / low, c / high, ulp * std::max(std::abs(c / low), std::abs(c / high)));
      ++factors;
    }
    if (const auto f = factor.value(1); f && *f != 0 && factors >= kFewest)
      return fmt::format("each result is {} times the right one", *f);
    if (const auto d = difference.value(0); d && differences >= kFewest)
      return fmt::format("each result is the right one {} {}", *d < 0 ? "-" : "+", std::abs(*d));
    return {};
  }

  std::string all_alike() const {
    if (std::ssize(wrong_) < kFewest) return {};
    const Scalar first = candidate_.at(wrong_[0]);
    const auto is_first = [&](std::int64_t i) { return candidate_.at(i).bits() == first.bits(); };
    return std::ranges::all_of(wrong_, is_first)
               ? fmt::format("each wrong element is {}", first.str())
               : std::string();
  }

  // Which elements are wrong, if a few words say it.
  std::string where() const {
    if (std::ssize(wrong_) < 2 || std::ssize(wrong_) == candidate_.size()) return {};
    const std::int64_t count = std::ssize(wrong_);
    if (wrong_.front() == candidate_.size() - count)
      return fmt::format("; wrong are all from {} on", place(wrong_.front(), shape_));
    if (wrong_.back() == count - 1)
      return fmt::format("; wrong are all before {}", place(count, shape_));
    std::int64_t stride = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      const std::int64_t step = stride, size = shape_[axis];
      stride *= size;
      if (size < 2) continue;
      const auto index = [&](std::int64_t flat) { return flat / step % size; };
      const std::int64_t one = index(wrong_[0]);
      if (std::ranges::all_of(wrong_, [&](std::int64_t i) { return index(i) == one; }))
        return fmt::format("; wrong are only elements with index {} on axis {}", one, axis);
    }
    return {};
  }

  const LazyOpPtr& kernel_;
  std::span<Buffer* const> inputs_;
  const Buffer& candidate_;
  const define::Sizes& shape_;
  const Judging& judging_;
  const Verdict& failed_;
  std::int64_t cost_, left_;
  std::vector<std::int64_t> samples_;
  std::vector<LegalScalars> legal_;  // empty if there are too many
  std::vector<std::int64_t> wrong_;
  double least_ = std::numeric_limits<double>::infinity();
  std::string words_;
};

// The faults that the inputs do not show: "also legal: ...".
std::string unseen_by(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                      const Buffer& candidate, const Judging& judging) {
  std::vector<std::string> unseen;
  std::string place;  // of the number that was changed last
  const std::vector<std::int64_t> samples = samples_of({}, candidate.size());
  for (const Change& change : faults(kernel, judging)) {
    if (unseen.size() == kMostUnseen) break;
    const auto accepts = [&](std::int64_t element) {
      return is_legal_at(change.kernel, inputs, element, candidate.at(element), change.profile);
    };
    if (!place.empty() && change.function == place) continue;
    if (!std::ranges::all_of(samples, accepts) ||
        !is_legal(judge(change.kernel, inputs, candidate, change.profile, {}, judging.sampling)))
      continue;
    unseen.push_back(change.words);
    place = change.function;
  }
  return unseen.empty() ? std::string() : fmt::format("also legal: {}", fmt::join(unseen, "; "));
}

}  // namespace

std::vector<std::int64_t> place_in(const define::Sizes& shape, std::int64_t flat) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = flat % shape[i];
    flat /= shape[i];
  }
  return at;
}

std::int64_t cost_of_verdict(const LazyOpPtr& kernel) {
  constexpr auto kUnknown = std::numeric_limits<std::int64_t>::max() / (2 * kMostVerdicts);
  if (!variables_of(kernel).empty()) return kUnknown;
  const interp::KernelProgram program =
      interp::make_program(with_decompositions(kernel), interp::Repeats::KeptFunctions);
  const double work = interp::work_of(program, program.regions[0].size);
  return work < static_cast<double>(kUnknown) ? static_cast<std::int64_t>(work) : kUnknown;
}

bool is_cheap(const LazyOpPtr& kernel) { return cost_of_verdict(kernel) <= kCheap; }

std::vector<std::int64_t> samples_of(const Verdict& verdict, std::int64_t size) {
  std::vector<std::int64_t> samples;
  if (verdict.index >= 0) samples.push_back(verdict.index);
  for (std::int64_t i = 0; i < kSamples; ++i) samples.push_back(i * (size - 1) / (kSamples - 1));
  std::ranges::sort(samples.begin() + (verdict.index >= 0 ? 1 : 0), samples.end());
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  return samples;
}

void add_cause(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
               const define::Sizes& shape, const Judging& judging, Verdict& verdict) {
  if (verdict.outcome == Outcome::Fail)
    verdict.cause = Search(kernel, inputs, candidate, shape, judging, verdict)();
  else if (is_cheap(kernel) && candidate.size() > 0)
    verdict.cause = unseen_by(kernel, inputs, candidate, judging);
}

}  // namespace touchstone
