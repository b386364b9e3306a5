#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/lazy/realize.h"

namespace touchstone::cli {

/// Every distinct kernel that is realized while this observes: how often and how long it ran, and
/// what its first run read and wrote.
class KernelLog : public ExecutionObserver {
 public:
  struct Entry {
    LazyOpPtr kernel;
    std::int64_t runs = 0;
    double seconds = 0;  // of all runs
    fuzz::Reproducer first;
  };

  void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
           double seconds) override;
  const std::vector<Entry>& entries() const { return entries_; }  // in the order they first ran

 private:
  std::vector<Entry> entries_;
  std::unordered_map<LazyOpPtr, std::size_t, LazyOpHash, LazyOpSame> places_;
};

/// The verdicts on one kernel: on what it really read, and on probe inputs that make faults show.
struct Judged {
  Verdict live;
  std::vector<std::pair<std::string, Verdict>> probes;  // by the name of the input family
  Verdict together;                                     // all of them combined
  double reference_seconds = 0;                         // one run on the reference device
  /// The first run that failed, or the one that is not PASS, or the live one.
  std::string family;
  Verdict worst;
  fuzz::Reproducer evidence;
};

/// Judges a kernel's first run, then runs it on `candidate` again with inputs of small integers and
/// with edge values of its types.
Judged judge_entry(const KernelLog::Entry& entry, Device& candidate);

}  // namespace touchstone::cli
