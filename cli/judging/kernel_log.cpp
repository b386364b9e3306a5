#include "touchstone/cli/judging/kernel_log.h"

#include "touchstone/fuzz/judge/values.h"

namespace touchstone::cli {
namespace {

HostArray copy_of(const Buffer& buffer) {
  HostArray array{buffer.dtype(), {buffer.size()}, std::string(buffer.bytes(), '\0')};
  buffer.copy_out(std::as_writable_bytes(std::span(array.bytes)));
  return array;
}

// FAIL before UNUSABLE before WEAK before PASS.
int badness(Outcome outcome) {
  switch (outcome) {
    case Outcome::Pass: return 0;
    case Outcome::Weak: return 1;
    case Outcome::Unusable: return 2;
    case Outcome::Fail: return 3;
  }
  return 3;
}

double time_on_reference(const fuzz::KernelCase& run) {
  Device& reference = Device::get("CPU");
  const std::vector<BufferPtr> buffers = fuzz::make_buffers(run, reference);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  return run_kernel(reference, run.kernel, raw);
}

}  // namespace

void KernelLog::ran(const ScheduleItem& item, Device&, std::span<Buffer* const> buffers,
                    double seconds) {
  if (item.kind != Op::Store) return;
  const auto [place, fresh] = places_.try_emplace(item.ast, entries_.size());
  if (fresh) {
    Entry entry{item.ast, 0, 0, {}};
    entry.first.run.kernel = item.ast;
    for (const Buffer* input : buffers.subspan(1))
      entry.first.run.inputs.push_back(copy_of(*input));
    entry.first.output = copy_of(*buffers[0]);
    entries_.push_back(std::move(entry));
  }
  Entry& entry = entries_[place->second];
  entry.runs += 1;
  entry.seconds += seconds;
}

Judged judge_entry(const KernelLog::Entry& entry, Device& candidate) {
  Judged judged;
  judged.reference_seconds = time_on_reference(entry.first.run);
  judged.live = fuzz::judge(entry.first);
  judged.worst = judged.live;
  judged.family = "its own inputs";
  judged.evidence = entry.first;
  std::vector<Verdict> all{judged.live};
  for (const fuzz::ValueFamily family : {fuzz::ValueFamily::Integers, fuzz::ValueFamily::Edges}) {
    fuzz::RandomChooser chooser(entry.kernel->hash(), static_cast<std::uint64_t>(family));
    fuzz::KernelCase probe{entry.kernel, fuzz::draw_inputs(chooser, family, entry.kernel)};
    const std::vector<BufferPtr> buffers = fuzz::make_buffers(probe, candidate);
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : buffers) raw.push_back(b.get());
    run_kernel(candidate, entry.kernel, raw);
    // Copies, because the candidate's memory may not be the host's.
    const fuzz::Reproducer seen{std::move(probe), copy_of(*buffers[0]), {}};
    const Verdict verdict = fuzz::judge(seen);
    judged.probes.emplace_back(fuzz::name(family), verdict);
    all.push_back(verdict);
    // Edge values leave many results open, so WEAK there does not count against a kernel.
    const bool worse = badness(verdict.outcome) > badness(judged.worst.outcome) &&
                       verdict.outcome != Outcome::Weak;
    if (!worse) continue;
    judged.worst = verdict;
    judged.family = fuzz::name(family);
    judged.evidence = seen;
  }
  judged.together = combine(all);
  return judged;
}

}  // namespace touchstone::cli
