#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/device/block.h"
#include "touchstone/interp/device/program.h"
#include "touchstone/interp/device/threads.h"
#include "touchstone/interp/oracle/ball.h"
#include "touchstone/interp/oracle/legal.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/interp/oracle/sample.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::interp {

/// Legal results of a run of elements. While every element is determined, only `lo` is used.
struct LegalBlock {
  enum Flag : std::uint8_t { kNumber = 1, kNan = 2, kAny = 4, kApart = 8 };

  Block lo;
  Block hi;                         // unused if determined
  std::vector<std::uint8_t> flags;  // unused if determined
  bool determined = true;
  // 1 for each inexact product of a determined block that may reach an addition unrounded, up to 1
  // ULP away; empty if there are none.
  std::vector<std::uint8_t> inexact;
  // Radius form of floats, if it may be tighter than the interval; else empty.
  std::vector<Ball> balls;

  // Of an expression that may be rearranged, multiplied out: the sum of the terms' magnitudes, and
  // bounds on the magnitude of the product of any of its factors, 1 included.
  struct Terms {
    double sum, most, least;
  };
  std::vector<Terms> terms;  // empty where it is the value alone, and without `reassociates`
  int roundings = 0;
  bool adds = false;  // some of them are additions

  void resize(DType dtype, std::int64_t count, bool is_determined);
  DType dtype() const { return lo.dtype(); }
  std::int64_t count() const { return lo.count(); }
  bool unrounded() const { return !inexact.empty(); }
  bool unrounded(std::int64_t i) const {
    return !inexact.empty() && inexact[static_cast<std::size_t>(i)] != 0;
  }

  template <class T>
  Legal<T> get(std::int64_t i) const {
    const T low = lo.begin<T>()[i];
    if (determined) return Legal<T>::point(low);
    const std::uint8_t f = flags[static_cast<std::size_t>(i)];
    return {low,
            hi.begin<T>()[i],
            (f & kNumber) != 0,
            (f & kNan) != 0,
            (f & kAny) != 0,
            (f & kApart) != 0};
  }
  template <class T>
  void set(std::int64_t i, const Legal<T>& x) {
    lo.begin<T>()[i] = x.lo;
    hi.begin<T>()[i] = x.hi;
    flags[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>((x.number ? kNumber : 0) | (x.nan ? kNan : 0) |
                                  (x.any ? kAny : 0) | (x.apart ? kApart : 0));
  }
};

/// 1 for each element that has its result; empty if none has.
using Done = std::vector<std::uint8_t>;
/// Calls f for each element of `out` that has no result yet.
template <class F>
void each_open(const LegalBlock& out, const Done& done, F f) {
  if (done.empty()) {
    for (std::int64_t i = 0; i < out.count(); ++i) f(i);
    return;
  }
  const std::uint8_t *from = done.data(), *end = from + done.size();
  for (const std::uint8_t* at = from; (at = std::find(at, end, 0)) != end; ++at) f(at - from);
}

/// The rules to use: intervals, (value, radius), or both for each node, keeping the narrower.
enum class Form : std::uint8_t { Both, Interval, Radius };

/// Computes the legal results for every element of a kernel on given inputs (host buffers by
/// number; buffer 0 is not read), block by block in output order: sink(first, block). `kernel` must
/// be valid; `values` binds its variables.
void legal_results(const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                   const Profile& profile, const symbolic::Values& values,
                   const std::function<void(std::int64_t first, const LegalBlock&)>& sink,
                   Form form = Form::Both);

/// The same in parallel if the kernel is large enough, and of some elements if it is too large: the
/// output is cut into runs that depend only on the kernel and on `sampling`. Calls prepare(runs)
/// first, then sink(run, first, block) for the blocks of each run in order, concurrently for
/// different runs. Returns which part was computed; nullopt: all.
std::optional<Sampled> legal_results_in_runs(
    const LazyOpPtr& kernel, std::span<Buffer* const> buffers, const Profile& profile,
    const symbolic::Values& values, const Sampling& sampling, Threads& threads,
    const std::function<void(std::size_t runs)>& prepare,
    const std::function<void(std::size_t run, std::int64_t first, const LegalBlock&)>& sink);

/// The legal results of a reduction, fed run by run.
class LegalReducer {
 public:
  virtual ~LegalReducer() = default;
  virtual void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) = 0;
  /// Adds as many zeros of a sum, in the order of its terms.
  virtual void skip(std::int64_t) {}
  virtual void finish(LegalBlock& out, std::int64_t at) = 0;
  virtual std::unique_ptr<LegalReducer> clone() const = 0;
};
std::unique_ptr<LegalReducer> legal_reducer(const ProgramNode& node, const Profile& profile);

}  // namespace touchstone::interp
