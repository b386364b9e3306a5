#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/lazy/realize.h"

namespace touchstone::cli {

/// Records every distinct kernel realized while this observes: its runs, its time, and the inputs
/// and output of its first run.
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
  const std::vector<Entry>& entries() const { return entries_; }  // in order of their first run

 private:
  std::vector<Entry> entries_;
  std::unordered_map<LazyOpPtr, std::size_t, LazyOpHash, LazyOpSame> places_;
};

/// The verdicts on one kernel: on its real inputs, and on probe inputs that expose faults.
struct Judged {
  Verdict live;
  std::vector<std::pair<std::string, Verdict>> probes;  // by input family
  Verdict together;                                     // all combined
  double reference_seconds = 0;                         // one run on the reference device
  /// The first run that failed, else the first that is not PASS, else the live one.
  std::string family;
  Verdict worst;
  fuzz::Reproducer evidence;
};

/// Judges a kernel's first run, then runs it on `candidate` with small integers and with edge
/// values of its types.
Judged judge_entry(const KernelLog::Entry& entry, Device& candidate);

}  // namespace touchstone::cli
