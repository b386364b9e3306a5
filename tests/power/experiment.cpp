#include "experiment.h"

#include "backend.h"
#include "tolerance.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::power {
namespace {

// An input, its legal results and the reference's result.
struct Judged {
  std::vector<HostArray> inputs;
  std::vector<interp::LegalBlock> legal;
  Bytes truth;

  Judged(const Subject& s, fuzz::ValueFamily family, int draw, std::uint64_t seed) {
    fuzz::RandomChooser chooser(
        seed, static_cast<std::uint64_t>(draw) * 8 + static_cast<std::uint64_t>(family));
    inputs = fuzz::draw_inputs(chooser, family, s.kernel, draw);
    const std::unique_ptr<Device> device = make_interpreted_device("TRUTH");
    const std::vector<BufferPtr> buffers = fuzz::make_buffers({s.kernel, inputs}, *device);
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : buffers) raw.push_back(b.get());
    run_kernel(*device, s.kernel, raw);
    const auto* memory = static_cast<const std::uint8_t*>(buffers[0]->memory());
    truth.assign(memory, memory + static_cast<std::size_t>(buffers[0]->size()) * itemsize(s.to));
    interp::legal_results(
        s.kernel, raw, Profile(), {},
        [&](std::int64_t, const interp::LegalBlock& block) { legal.push_back(block); });
  }

  // True if some element of `got` is illegal.
  bool refuses(DType dtype, const Bytes& got) const {
    return with_storage(dtype, [&]<class T>(std::type_identity<T>) {
      const T* at = reinterpret_cast<const T*>(got.data());
      for (const interp::LegalBlock& block : legal)
        for (std::int64_t i = 0; i < block.count(); ++i)
          if (!block.get<T>(i).accepts(*at++)) return true;
      return false;
    });
  }
};

// The output's initial bytes: zeros for the first run, then garbage.
std::uint8_t before(DType dtype, int input) {
  if (input == 0) return 0;
  return is_bool(dtype) ? 1 : 0x5a;
}

}  // namespace

std::vector<Trial> try_all(const Subject& s, std::uint64_t seed) {
  std::vector<Trial> trials;
  for (const BugInfo& bug : bug_table())
    if (bug.applies(s)) trials.push_back({&bug, &s});
  for (int t = 0; t < kInputs; ++t) {
    const fuzz::ValueFamily family = kTurn[static_cast<std::size_t>(t) % std::size(kTurn)];
    const bool random = family == fuzz::ValueFamily::Random;
    bool needed = t < kDraws || random;
    for (const Trial& trial : trials) needed = needed || trial.caught_by == 0;
    if (!needed) continue;
    const Judged judged(s, family, t / static_cast<int>(std::size(kTurn)), seed);
    for (Trial& trial : trials) {
      if (trial.caught_by != 0 && t >= kDraws && !random) continue;
      const Bytes got = run(s, judged.inputs, trial.bug->bug, before(s.to, t));
      const auto misses = [&](Practice p) {
        return !accepts(tolerance(p, s.to), s.to, judged.truth, got);
      };
      if (trial.caught_by == 0 && judged.refuses(s.to, got)) trial.caught_by = t + 1;
      if (t < kDraws) {
        trial.numpy = trial.numpy || misses(Practice::Numpy);
        trial.torch = trial.torch || misses(Practice::Torch);
        trial.loose = trial.loose || misses(Practice::Loose);
      }
      if (random) trial.torch_random = trial.torch_random || misses(Practice::Torch);
    }
    // The faultless backend must be legal on every input.
    if (judged.refuses(s.to, run(s, judged.inputs, Bug::None, before(s.to, t))))
      throw Error("false alarm: " + s.str() + " on " + std::string(fuzz::name(family)));
  }
  return trials;
}

}  // namespace touchstone::power
