#include "touchstone/interp/oracle/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/interp/oracle/width.h"

namespace touchstone {
namespace {

using interp::Legal;
using interp::LegalBlock;

// The findings on a run of elements.
struct Seen {
  Verdict verdict;
  interp::WidthCounts relative, ulp;
};

// Welford's running mean and sum of squares; the latter is kept in verdict.variance until the end.
template <class T>
void note_error(const Legal<T>& legal, T got, Verdict& verdict) {
  if constexpr (is_float_storage<T>) {
    if (!legal.number || legal.is_point() || legal.has_infinity()) return;
    const auto lo = static_cast<double>(scalar::detail::computing(legal.lo));
    const auto hi = static_cast<double>(scalar::detail::computing(legal.hi));
    const auto x = static_cast<double>(scalar::detail::computing(got));
    const double half = hi / 2 - lo / 2;
    if (!std::isfinite(x) || !(half > 0)) return;
    const double error = (x - (lo / 2 + hi / 2)) / half;
    const double before = error - verdict.mean_error;
    verdict.mean_error += before / static_cast<double>(++verdict.errors);
    verdict.variance += before * (error - verdict.mean_error);
  }
}

// Appends the findings on the following elements. Errors by Chan, Golub and LeVeque, "Updating
// formulae and a pairwise algorithm for computing sample variances" (1979).
void append(Verdict& verdict, const Verdict& next) {
  verdict.checked += next.checked;
  verdict.weak += next.weak;
  verdict.blunt += next.blunt;
  verdict.determined += next.determined;
  verdict.power_ulp = std::max(verdict.power_ulp, next.power_ulp);
  if (verdict.wrong == 0 && next.wrong > 0) {
    verdict.index = next.index;
    verdict.candidate = next.candidate;
    verdict.low = next.low;
    verdict.high = next.high;
    verdict.number = next.number;
    verdict.apart = next.apart;
    verdict.nan = next.nan;
  }
  verdict.wrong += next.wrong;
  if (next.errors == 0) return;
  const auto n = static_cast<double>(verdict.errors), m = static_cast<double>(next.errors);
  const double apart = next.mean_error - verdict.mean_error;
  verdict.mean_error += apart * (m / (n + m));
  verdict.variance += next.variance + apart * apart * (n * m / (n + m));
  verdict.errors += next.errors;
}

// The statistical limit of the profile that the errors exceed; empty: none.
std::string beyond_statistics(const Verdict& v, const Profile& profile) {
  if (v.errors < kStatistics) return {};
  if (profile.most_mean && std::abs(v.mean_error) > *profile.most_mean)
    return fmt::format(
        "the mean error is {:.3g} half widths over {} elements; the profile allows {:.3g}",
        v.mean_error, v.errors, *profile.most_mean);
  if (profile.most_variance && v.variance > *profile.most_variance)
    return fmt::format(
        "the variance of the error is {:.3g} over {} elements; the profile allows {:.3g}",
        v.variance, v.errors, *profile.most_variance);
  return {};
}

template <class T>
void note_width(const Legal<T>& legal, T got, double sharp, Seen& seen) {
  const double width = interp::relative_width(legal);
  const double ulp = std::isinf(width) ? width : static_cast<double>(legal.width());
  seen.relative.add(width);
  seen.ulp.add(ulp);
  if (width > sharp) ++seen.verdict.blunt;
  if (width > interp::kWeakWidth) {
    ++seen.verdict.weak;
  } else {
    seen.verdict.power_ulp = std::max(seen.verdict.power_ulp, ulp);
    note_error(legal, got, seen.verdict);
  }
}

// Notes up to kPlain elements whose legal results are finite numbers that include the candidate's;
// false if these are others.
constexpr std::int64_t kPlain = 256;
template <class T>
bool note_plain(const LegalBlock& block, std::int64_t first, std::int64_t count,
                const std::byte* at, double sharp, Seen& seen) {
  T got[kPlain];
  std::memcpy(got, at, static_cast<std::size_t>(count) * sizeof(T));
  const T *lo = block.lo.begin<T>() + first, *hi = block.hi.begin<T>() + first;
  const std::uint8_t* flags = block.flags.data() + first;
  int plain = 1;
  for (std::int64_t i = 0; i < count; ++i)
    plain &= int{flags[i] == LegalBlock::kNumber} & int{std::isfinite(lo[i])} &
             int{std::isfinite(hi[i])} & int{lo[i] < hi[i]} & int{lo[i] <= got[i]} &
             int{got[i] <= hi[i]} & (int{got[i] != 0} | (int{lo[i] < 0} & int{hi[i] > 0}));
  if (plain == 0) return false;
  double widths[kPlain], errors[kPlain];
  for (std::int64_t i = 0; i < count; ++i) {
    const double low = lo[i], high = hi[i], half = high / 2 - low / 2;
    const double most = std::max(std::abs(low), std::abs(high));
    widths[i] = high / most - low / most;
    errors[i] = (static_cast<double>(got[i]) - (low / 2 + high / 2)) / half;
  }
  Verdict noted;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto ulp = static_cast<double>(static_cast<std::uint64_t>(interp::order_key(hi[i])) -
                                         static_cast<std::uint64_t>(interp::order_key(lo[i])));
    seen.relative.add(widths[i]);
    seen.ulp.add(ulp);
    if (widths[i] > sharp) ++seen.verdict.blunt;
    if (widths[i] > interp::kWeakWidth) {
      ++seen.verdict.weak;
      continue;
    }
    seen.verdict.power_ulp = std::max(seen.verdict.power_ulp, ulp);
    const double half = static_cast<double>(hi[i]) / 2 - static_cast<double>(lo[i]) / 2;
    if (half > 0) errors[noted.errors++] = errors[i];
  }
  for (std::int64_t i = 0; i < noted.errors; ++i) noted.mean_error += errors[i];
  noted.mean_error /= static_cast<double>(std::max<std::int64_t>(noted.errors, 1));
  for (std::int64_t i = 0; i < noted.errors; ++i)
    noted.variance += (errors[i] - noted.mean_error) * (errors[i] - noted.mean_error);
  noted.checked = count;
  append(seen.verdict, noted);
  return true;
}

// An element of a candidate. A byte other than 0 and 1 is not a bool and never legal.
template <class T>
struct Element {
  explicit Element(const std::byte* at) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = std::to_integer<std::uint8_t>(*at);
      value = byte == 1;
      if (byte > 1) broken = Scalar::of(byte);
    } else {
      std::memcpy(&value, at, sizeof(T));
    }
  }
  T value;
  std::optional<Scalar> broken;
};

template <class T>
void check_block(std::int64_t first, const LegalBlock& block, const std::byte* candidate,
                 Seen& seen) {
  Verdict& verdict = seen.verdict;
  candidate += static_cast<std::size_t>(first) * sizeof(T);
  const double sharp = interp::sharp_width(dtype_v<T>);
  if (block.determined && std::memcmp(candidate, block.lo.data(),
                                      static_cast<std::size_t>(block.count()) * sizeof(T)) == 0) {
    verdict.checked += block.count();
    verdict.determined += block.count();
    return;
  }
  for (std::int64_t i = 0; i < block.count(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::int64_t count = std::min(kPlain, block.count() - i);
      if (i % kPlain == 0 && !block.determined &&
          note_plain<T>(block, i, count, candidate + static_cast<std::size_t>(i) * sizeof(T), sharp,
                        seen)) {
        i += count - 1;
        continue;
      }
    }
    const Legal<T> legal = block.get<T>(i);
    const Element<T> element(candidate + static_cast<std::size_t>(i) * sizeof(T));
    const T got = element.value;
    ++verdict.checked;
    if (legal.determined())
      ++verdict.determined;
    else
      note_width(legal, got, sharp, seen);
    if (legal.accepts(got) && !element.broken) continue;
    if (verdict.wrong++ > 0) continue;
    verdict.index = first + i;
    verdict.candidate = element.broken.value_or(Scalar::of(got));
    verdict.low = Scalar::of(legal.lo);
    verdict.high = Scalar::of(legal.hi);
    verdict.number = legal.number;
    verdict.apart = legal.apart;
    verdict.nan = legal.nan;
  }
}

// Merges all parts, with widths of 0 for determined elements.
void append_all(Verdict& verdict, std::span<const Seen> parts) {
  interp::WidthCounts relative, ulp;
  for (const Seen& part : parts) {
    append(verdict, part.verdict);
    relative.add(part.relative);
    ulp.add(part.ulp);
  }
  relative.add(0, verdict.determined);
  ulp.add(0, verdict.determined);
  const auto quantiles = [](const interp::WidthCounts& w) {
    return Widths{w.all_but(0.5), w.all_but(0.1), w.all_but(0)};
  };
  verdict.relative = quantiles(relative);
  verdict.ulp = quantiles(ulp);
}

void check_usable(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                  const Buffer& candidate) {
  for (const BufferSpec& spec : buffers_of(kernel)) {
    const auto idx = static_cast<std::size_t>(spec.idx);
    const Buffer* b = idx == 0 ? &candidate : idx < inputs.size() ? inputs[idx] : nullptr;
    if (b == nullptr) throw BufferError(fmt::format("input buffer {} was not given", idx));
    const std::string what = idx == 0 ? "the output" : fmt::format("input buffer {}", idx);
    if (b->dtype() != spec.dtype)
      throw BufferError(fmt::format("{} has type {}, but the kernel has {}", what, name(b->dtype()),
                                    name(spec.dtype)));
    if (b->size() < spec.size)
      throw BufferError(fmt::format("{} has {} elements, but the kernel accesses element {}", what,
                                    b->size(), spec.size - 1));
  }
}

// Larger inputs are not checked: reading a sparse one would allocate every page.
constexpr std::int64_t kMostBools = std::int64_t{1} << 30;

// Checks the elements [0, reach) that a kernel may read.
void require_bools(const Buffer& input, int idx, std::int64_t reach) {
  if (input.dtype() != DType::Bool || reach > kMostBools) return;
  const auto* bytes = static_cast<const std::uint8_t*>(input.memory());
  const auto* end = bytes + reach;
  if (const auto* at = std::find_if(bytes, end, [](std::uint8_t b) { return b > 1; }); at != end)
    throw BufferError(
        fmt::format("input buffer {} contains the byte {} at element {}; a bool must be 0 or 1",
                    idx, *at, at - bytes));
}

void judge_elements(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                    const Buffer& candidate, const Profile& profile, const symbolic::Values& values,
                    const Sampling& sampling, Verdict& verdict) {
  static interp::Threads threads;
  const LazyOpPtr concrete = values.empty() ? kernel : bind_variables(kernel, values);
  validate_kernel(concrete);
  check_usable(concrete, inputs, candidate);
  const HostViews views(inputs);
  const std::vector<Buffer*>& host = views.get();
  for (const BufferSpec& spec : buffers_of(concrete))
    if (spec.idx != 0)
      require_bools(*host[static_cast<std::size_t>(spec.idx)], spec.idx, spec.size);
  const HostView output(candidate);
  std::vector<Seen> parts;
  verdict.sampled = interp::legal_results_in_runs(
      concrete, host, profile, {}, sampling, threads, [&](std::size_t runs) { parts.resize(runs); },
      [&](std::size_t run, std::int64_t first, const LegalBlock& block) {
        with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
          check_block<T>(first, block, static_cast<const std::byte*>(output.get()->memory()),
                         parts[run]);
        });
      });
  append_all(verdict, parts);
  if (verdict.wrong == 0 && verdict.checked - verdict.determined >= kLeastSuspects)
    verdict.evidence = error_evidence(concrete, host, *output.get(), profile);
  if (verdict.index < 0) return;
  verdict.at = interp::place_of(verdict.index, concrete);
}

// Advice if the sums alone make a sharp verdict impossible.
std::string advice_for(const LazyOpPtr& kernel, const Profile& profile) {
  if (profile.order != SumOrder::Any) return {};
  const LazyOp* longest = nullptr;
  double most = 0, terms = 0;
  DType type = DType::Bool;
  for (const LazyOpPtr& node : interp::nodes_of(kernel)) {
    if (node->op() != Op::ReduceSum || !is_float(node->dtype())) continue;
    double count = 1;
    for (const int axis : node->reduce_arg().axes) {
      const sint& size = node->src()[0]->shape()[static_cast<std::size_t>(axis)];
      count *= size.is_int() ? static_cast<double>(size.as_int()) : 1;
    }
    DType d = node->reduce_arg().accumulator;
    if (profile.accumulator && info(*profile.accumulator).digits < info(d).digits)
      d = *profile.accumulator;
    int digits = info(d).digits - (profile.truncates_sums ? 1 : 0);
    if (profile.accumulator_digits > 0)
      digits = std::min(digits, profile.accumulator_digits - (profile.truncates_sums ? 1 : 0));
    const double lost = std::ldexp(count, -digits);
    if (longest != nullptr && lost <= most) continue;
    longest = node.get();
    most = lost;
    terms = count;
    type = d;
  }
  if (most < 0x1p-14) return {};
  return fmt::format(
      "sums of {:.0f} terms in {} may lose {}: declare the order in a profile (check --find-order "
      "helps), sum in a wider type, or judge probes",
      terms, name(type),
      most >= 0.5 ? "all digits" : fmt::format("{:.2g} % of sum|v|", 100 * most));
}

}  // namespace

Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Profile& profile, const symbolic::Values& values, const Sampling& sampling) {
  const FpGuard guard;
  Verdict verdict;
  try {
    judge_elements(kernel, inputs, candidate, profile, values, sampling, verdict);
  } catch (const Error& e) {
    verdict = {};
    verdict.outcome = Outcome::Unusable;
    verdict.why = e.what();
    return verdict;
  }
  verdict.op = kernel->src()[0]->op();
  verdict.dtype = kernel->dtype();
  if (verdict.errors > 0) verdict.variance /= static_cast<double>(verdict.errors);
  if (verdict.wrong == 0) verdict.why = beyond_statistics(verdict, profile);
  if (verdict.wrong > 0 || !verdict.why.empty())
    verdict.outcome = Outcome::Fail;
  else if (2 * verdict.blunt > verdict.checked)
    verdict.outcome = Outcome::Weak;
  if (verdict.outcome == Outcome::Weak) verdict.advice = advice_for(kernel, profile);
  verdict.sharp_inputs = verdict.outcome == Outcome::Pass ? 1 : 0;
  return verdict;
}

}  // namespace touchstone
