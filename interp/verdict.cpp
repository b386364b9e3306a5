#include "touchstone/interp/verdict.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/envelope.h"
#include "touchstone/interp/interpreted.h"

namespace touchstone {
namespace {

using interp::Legal;
using interp::LegalBlock;

// More than a sixteenth of the larger end: fewer than four significant bits are claimed.
template <class T>
bool is_weak(const Legal<T>& legal) {
  if (legal.any) return true;
  if (!legal.number || legal.is_point()) return false;
  if constexpr (is_float_storage<T>) {
    const double lo = static_cast<double>(scalar::detail::computing(legal.lo));
    const double hi = static_cast<double>(scalar::detail::computing(legal.hi));
    return !(hi - lo <= std::max(std::abs(lo), std::abs(hi)) / 16);
  } else {
    return true;
  }
}

// Welford's running mean and sum of squares, the latter in verdict.variance until the end.
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

// What was seen of the elements after those of `verdict`. Errors by Chan, Golub and LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
void append(Verdict& verdict, const Verdict& next) {
  verdict.checked += next.checked;
  verdict.weak += next.weak;
  verdict.determined += next.determined;
  verdict.power_ulp = std::max(verdict.power_ulp, next.power_ulp);
  if (verdict.wrong == 0 && next.wrong > 0) {
    verdict.index = next.index;
    verdict.candidate = next.candidate;
    verdict.low = next.low;
    verdict.high = next.high;
    verdict.number = next.number;
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

// Which limit of the profile the errors exceed together; empty: none.
std::string beyond_statistics(const Verdict& v, const Profile& profile) {
  if (v.errors < kStatistics) return {};
  if (profile.most_mean && std::abs(v.mean_error) > *profile.most_mean)
    return fmt::format(
        "the mean error is {:.3g} half widths over {} elements, the profile allows {:.3g}",
        v.mean_error, v.errors, *profile.most_mean);
  if (profile.most_variance && v.variance > *profile.most_variance)
    return fmt::format(
        "the variance of the error is {:.3g} over {} elements, the profile allows {:.3g}",
        v.variance, v.errors, *profile.most_variance);
  return {};
}

template <class T>
void check_block(std::int64_t first, const LegalBlock& block, const T* candidate,
                 Verdict& verdict) {
  for (std::int64_t i = 0; i < block.count(); ++i) {
    const Legal<T> legal = block.get<T>(i);
    const T got = candidate[first + i];
    ++verdict.checked;
    if (legal.determined()) ++verdict.determined;
    // An interval that is mostly rounding noise round zero still says the result is small.
    if (is_weak(legal)) {
      ++verdict.weak;
    } else {
      verdict.power_ulp = std::max(verdict.power_ulp, static_cast<double>(legal.width()));
      note_error(legal, got, verdict);
    }
    if (legal.accepts(got)) continue;
    if (verdict.wrong++ > 0) continue;
    verdict.index = first + i;
    verdict.candidate = Scalar::of(got);
    verdict.low = Scalar::of(legal.lo);
    verdict.high = Scalar::of(legal.hi);
    verdict.number = legal.number;
    verdict.nan = legal.nan;
  }
}

std::vector<std::int64_t> unravel(std::int64_t flat, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = flat % shape[i];
    flat /= shape[i];
  }
  return at;
}

// The buffer itself where the host can read it, else a copy on the reference device.
class HostView {
 public:
  explicit HostView(const Buffer& buffer) {
    if (dynamic_cast<HostAllocator*>(&buffer.device().allocator()) != nullptr) {
      view_ = const_cast<Buffer*>(&buffer);  // read only, below
      return;
    }
    static const std::unique_ptr<Device> host = make_interpreted_device();
    copy_ = std::make_unique<Buffer>(*host, buffer.dtype(), buffer.size());
    copy(*copy_, buffer);
    view_ = copy_.get();
  }
  Buffer* get() const { return view_; }

 private:
  std::unique_ptr<Buffer> copy_;
  Buffer* view_ = nullptr;
};

void check_usable(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                  const Buffer& candidate) {
  for (const BufferSpec& spec : buffers_of(kernel)) {
    const auto idx = static_cast<std::size_t>(spec.idx);
    const Buffer* b = idx == 0 ? &candidate : idx < inputs.size() ? inputs[idx] : nullptr;
    if (b == nullptr) throw BufferError(fmt::format("input buffer {} was not given", idx));
    const std::string what = idx == 0 ? "the output" : fmt::format("input buffer {}", idx);
    if (b->dtype() != spec.dtype)
      throw BufferError(
          fmt::format("{} holds {}, the kernel has {}", what, name(b->dtype()), name(spec.dtype)));
    if (b->size() < spec.size)
      throw BufferError(fmt::format("{} holds {} elements, the kernel reaches element {}", what,
                                    b->size(), spec.size - 1));
  }
}

std::string bits_str(const Scalar& s) {
  return fmt::format("0x{:0{}x} ({})", s.bits(), 2 * itemsize(s.dtype()), s.str());
}

void judge_elements(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                    const Buffer& candidate, const Profile& profile, const symbolic::Values& values,
                    Verdict& verdict) {
  static interp::Threads threads;
  const LazyOpPtr concrete = values.empty() ? kernel : bind_variables(kernel, values);
  validate_kernel(concrete);
  check_usable(concrete, inputs, candidate);
  std::vector<std::unique_ptr<HostView>> views;
  std::vector<Buffer*> host{nullptr};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    views.push_back(inputs[i] == nullptr ? nullptr : std::make_unique<HostView>(*inputs[i]));
    host.push_back(views.back() == nullptr ? nullptr : views.back()->get());
  }
  const HostView output(candidate);
  std::vector<Verdict> parts;
  interp::legal_results_in_runs(
      concrete, host, profile, {}, threads, [&](std::size_t runs) { parts.resize(runs); },
      [&](std::size_t run, std::int64_t first, const LegalBlock& block) {
        with_storage(block.dtype(), [&]<class T>(std::type_identity<T>) {
          check_block<T>(first, block, static_cast<const T*>(output.get()->memory()), parts[run]);
        });
      });
  for (const Verdict& part : parts) append(verdict, part);
  if (verdict.index < 0) return;
  std::vector<std::int64_t> shape;
  for (const sint& s : concrete->shape()) shape.push_back(s.as_int());
  verdict.at = unravel(verdict.index, shape);
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Pass:
      return "PASS";
    case Outcome::Fail:
      return "FAIL";
    case Outcome::Weak:
      return "WEAK";
    case Outcome::Unusable:
      return "UNUSABLE";
  }
  return "";
}

std::string Verdict::str() const {
  if (!why.empty()) return fmt::format("{}: {}", name(outcome), why);
  if (outcome != Outcome::Fail)
    return fmt::format("{}: {} elements, {} determined, {} weak, power {} ULP", name(outcome),
                       checked, determined, weak, power_ulp);
  std::string legal =
      number
          ? (low == high ? bits_str(low) : fmt::format("[{}, {}]", bits_str(low), bits_str(high)))
          : std::string();
  if (nan) legal += number ? " or NaN" : "NaN";
  if (wrong == 0) return fmt::format("FAIL: {}", why);
  return fmt::format("FAIL: {} of {} elements; first at ({}): {} {} gave {}, legal is {}", wrong,
                     checked, fmt::join(at, ", "), name(op), name(dtype), bits_str(candidate),
                     legal);
}

Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Profile& profile, const symbolic::Values& values) {
  const FpGuard guard;
  Verdict verdict;
  try {
    judge_elements(kernel, inputs, candidate, profile, values, verdict);
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
  else if (2 * verdict.weak > verdict.checked)
    verdict.outcome = Outcome::Weak;
  return verdict;
}

}  // namespace touchstone
