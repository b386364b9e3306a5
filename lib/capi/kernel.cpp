#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/capi/guard.h"
#include "touchstone/foreign/guarded_memory.h"
#include "touchstone/fuzz/judge/probe.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/judging/judging.h"

using touchstone::Buffer;
using touchstone::BufferSpec;
using touchstone::capi::guarded;
using touchstone::capi::require;
using touchstone::capi::text_argument;

struct touchstone_kernel {
  touchstone::KernelToJudge file;
  std::string json;
};

struct touchstone_verdict {
  int outcome = TOUCHSTONE_UNUSABLE;
  std::string text;
  std::size_t checked = 0, wrong = 0;
  std::int64_t first = -1;
};

namespace {

touchstone_kernel* kernel_of(touchstone::KernelToJudge file) {
  auto made = std::make_unique<touchstone_kernel>();
  made->json = to_json(file);
  made->file = std::move(file);
  return made.release();
}

const BufferSpec* spec_of(const touchstone_kernel* kernel, std::size_t buffer) {
  if (kernel == nullptr) return nullptr;
  const auto& specs = kernel->file.buffers;
  const auto found = std::ranges::find_if(
      specs, [&](const BufferSpec& s) { return static_cast<std::size_t>(s.idx) == buffer; });
  return found == specs.end() ? nullptr : &*found;
}

// The device, its runners and its counters are not thread-safe.
struct Host {
  std::unique_ptr<touchstone::Device> device = touchstone::make_interpreted_device();
  std::mutex busy;
};
Host& host() {
  static auto* const only = new Host;  // threads may run until the process ends
  return *only;
}

using Buffers = std::vector<std::unique_ptr<Buffer>>;

// Buffers for the kernel's numbers, filled from the caller's memory.
template <class Pointer>
Buffers buffers_with(touchstone::Device& device, const touchstone_kernel* kernel, Pointer* given,
                     const std::size_t* bytes, std::size_t count, bool output) {
  require(kernel, "kernel");
  require(given, "buffers");
  require(bytes, "bytes");
  const std::size_t wanted = touchstone_kernel_buffers(kernel);
  if (count != wanted)
    throw touchstone::BufferError(
        fmt::format("{} buffers given, but the kernel has {}", count, wanted));
  Buffers made(wanted);
  for (const BufferSpec& spec : kernel->file.buffers) {
    const auto i = static_cast<std::size_t>(spec.idx);
    const std::size_t size = touchstone_kernel_bytes(kernel, i);
    if (size != 0) require(given[i], fmt::format("buffer {}", i));
    if (bytes[i] < size)
      throw touchstone::BufferError(
          fmt::format("buffer {} has {} bytes, but {} elements of {} take {}", i, bytes[i],
                      spec.size, name(spec.dtype), size));
    made[i] = std::make_unique<Buffer>(device, spec.dtype, spec.size);
    if (i == 0 && !output) continue;
    const std::span from(static_cast<const std::byte*>(given[i]), size);
    if (is_bool(spec.dtype) &&
        std::ranges::any_of(from, [](std::byte b) { return b > std::byte{1}; }))
      throw touchstone::BufferError(
          fmt::format("buffer {}: contains a bool that is neither 0 nor 1", i));
    made[i]->copy_in(from);
  }
  return made;
}

std::vector<Buffer*> raw(const Buffers& buffers) {
  std::vector<Buffer*> pointers;
  for (const auto& b : buffers) pointers.push_back(b.get());
  return pointers;
}

int c_outcome(const touchstone::Verdict& verdict) {
  if (verdict.suspect()) return TOUCHSTONE_SUSPECT;
  switch (verdict.outcome) {
    case touchstone::Outcome::Pass: return TOUCHSTONE_PASS;
    case touchstone::Outcome::Fail: return TOUCHSTONE_FAIL;
    case touchstone::Outcome::Weak: return TOUCHSTONE_WEAK;
    case touchstone::Outcome::Unusable: break;
  }
  return TOUCHSTONE_UNUSABLE;
}

std::optional<touchstone::ChosenProfile> chosen_by(const char* profile) {
  const std::string_view allowed =
      profile == nullptr ? "" : text_argument(profile, "profile", touchstone::kMostProfileText);
  if (allowed.empty()) return std::nullopt;
  return touchstone::ChosenProfile{touchstone::declared_profile(allowed), "named by the caller"};
}

touchstone_verdict* verdict_of(const touchstone::Verdict& found, std::string text) {
  return new touchstone_verdict{c_outcome(found), std::move(text),
                                static_cast<std::size_t>(found.checked),
                                static_cast<std::size_t>(found.wrong), found.index};
}

// One call on the inputs of one probe, in guarded memory: an access beyond a buffer ends the
// process there, a changed byte beside or in an input is a failure.
touchstone::Verdict judged_call(const touchstone::KernelToJudge& kernel,
                                const touchstone::Judging& judging,
                                const touchstone::fuzz::Probe& probe,
                                touchstone::foreign::GuardedMemory::Place place,
                                touchstone_function function, void* context) {
  std::vector<touchstone::foreign::GuardedMemory> memory;
  memory.reserve(probe.inputs.size() + 1);
  memory.emplace_back(
      static_cast<std::size_t>(kernel.buffers[0].size) * itemsize(kernel.buffers[0].dtype), 16,
      place);
  std::ranges::fill(memory[0].data(), std::byte{0});
  for (std::size_t i = 0; i < probe.inputs.size(); ++i) {
    // The function gets every element of its inputs; the kernel may read fewer.
    std::size_t bytes = itemsize(probe.inputs[i].dtype);
    for (const std::int64_t size : judging.inputs.at(i).shape)
      bytes *= static_cast<std::size_t>(size);
    const std::span from = std::as_bytes(std::span(probe.inputs[i].bytes));
    memory.emplace_back(std::max(from.size(), bytes), 16, place);
    std::ranges::fill(memory.back().data(), std::byte{0});
    std::ranges::copy(from, memory.back().data().begin());
  }
  std::vector<void*> pointers;
  for (const auto& m : memory) pointers.push_back(m.data().data());
  function(pointers.data(), context);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    std::string wrong = memory[i].damage();
    if (!wrong.empty()) {
      wrong = fmt::format("it wrote to buffer {} {}", i, wrong);
    } else if (i > 0) {
      const auto given = std::as_bytes(std::span(probe.inputs[i - 1].bytes));
      const auto now = memory[i].data();
      if (!std::ranges::equal(given, now.first(given.size())) ||
          std::ranges::any_of(now.subspan(given.size()),
                              [](std::byte b) { return b != std::byte{}; }))
        wrong = fmt::format("it changed buffer {}, which is an input", i);
    }
    if (wrong.empty()) continue;
    touchstone::Verdict broken;
    broken.outcome = touchstone::Outcome::Fail;
    broken.why = wrong;
    return broken;
  }
  const std::scoped_lock lock(host().busy);
  touchstone::Device& device = *host().device;
  Buffers buffers;
  buffers.push_back(
      std::make_unique<Buffer>(device, kernel.buffers[0].dtype, kernel.buffers[0].size));
  buffers[0]->copy_in(memory[0].data());
  for (const touchstone::HostArray& input : probe.inputs) {
    buffers.push_back(std::make_unique<Buffer>(device, input.dtype, input.size()));
    buffers.back()->copy_in(std::as_bytes(std::span(input.bytes)));
  }
  return judge(kernel.ast, raw(buffers), *buffers[0], judging);
}

}  // namespace

touchstone_status touchstone_judge(const char* formula, const char* profile,
                                   touchstone_function function, void* context,
                                   touchstone_verdict** verdict) {
  return guarded([&] {
    require(verdict, "verdict");
    if (function == nullptr) throw touchstone::BufferError("function is NULL");
    const touchstone::KernelToJudge kernel = touchstone::formula_to_judge(
        text_argument(formula, "formula", touchstone::define::kLongestText));
    const touchstone::Judging judging = kernel.judging.under(chosen_by(profile));
    std::vector<touchstone::Verdict> all;
    std::string_view failed;
    for (const touchstone::fuzz::Probe& probe : touchstone::fuzz::draw_probes(kernel.ast)) {
      using enum touchstone::foreign::GuardedMemory::Place;
      all.push_back(judged_call(kernel, judging, probe, all.size() % 2 == 0 ? AtEnd : AtStart,
                                function, context));
      if (failed.empty() && all.back().outcome == touchstone::Outcome::Fail)
        failed = touchstone::fuzz::name(probe.family);
      if (!failed.empty() && all.back().checked == 0) break;  // it broke memory
    }
    const touchstone::Verdict whole = touchstone::combine(all);
    const std::string text = judging.str(whole);
    *verdict = verdict_of(
        whole, failed.empty() ? text : fmt::format("{} (the inputs are {})", text, failed));
  });
}

int touchstone_judge_and_print(const char* formula, touchstone_function function) {
  touchstone_verdict* verdict = nullptr;
  const bool done = touchstone_judge(formula, nullptr, function, nullptr, &verdict) == 0;
  std::printf("%s: %s\n", formula == nullptr ? "NULL" : formula,
              done ? touchstone_verdict_text(verdict) : touchstone_error());
  const int outcome = touchstone_verdict_outcome(verdict);
  touchstone_verdict_free(verdict);
  return outcome;
}

touchstone_status touchstone_kernel_json(const char* json, const char* const* names,
                                         const int64_t* values, size_t count,
                                         touchstone_kernel** kernel) {
  return guarded([&] {
    require(kernel, "kernel");
    touchstone::KernelFile file =
        touchstone::kernel_from_json(text_argument(json, "json", touchstone::kMostKernelText));
    touchstone::symbolic::Values bound;
    if (count != 0) require(names, "names");
    if (count != 0) require(values, "values");
    const auto variables = variables_of(file.ast);
    const auto knows = [&](std::string_view name) {
      return std::ranges::any_of(variables,
                                 [&](const auto& v) { return variable_name(v) == name; });
    };
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name(text_argument(names[i], "a name", touchstone::kMostProfileText));
      if (!knows(name))
        throw touchstone::ParseError(fmt::format("the kernel has no variable '{}'", name));
      if (!bound.emplace(name, values[i]).second)
        throw touchstone::ParseError(fmt::format("variable '{}' has two values", name));
    }
    for (const auto& v : variables)
      if (!bound.contains(variable_name(v)))
        throw touchstone::ParseError(fmt::format("variable '{}' has no value", variable_name(v)));
    if (!bound.empty()) file = touchstone::kernel_file(bind_variables(file.ast, bound));
    *kernel = kernel_of({std::move(file), {}});
  });
}

touchstone_status touchstone_kernel_formula(const char* formula, touchstone_kernel** kernel) {
  return guarded([&] {
    require(kernel, "kernel");
    const std::string_view text =
        text_argument(formula, "formula", touchstone::define::kLongestText);
    *kernel = kernel_of(touchstone::formula_to_judge(text));
  });
}

void touchstone_kernel_free(touchstone_kernel* kernel) { delete kernel; }

const char* touchstone_kernel_text(const touchstone_kernel* kernel) {
  return kernel == nullptr ? nullptr : kernel->json.c_str();
}

size_t touchstone_kernel_buffers(const touchstone_kernel* kernel) {
  if (kernel == nullptr || kernel->file.buffers.empty()) return 0;
  return static_cast<std::size_t>(kernel->file.buffers.back().idx) + 1;
}

size_t touchstone_kernel_elements(const touchstone_kernel* kernel, size_t buffer) {
  const BufferSpec* const spec = spec_of(kernel, buffer);
  return spec == nullptr ? 0 : static_cast<std::size_t>(spec->size);
}

size_t touchstone_kernel_bytes(const touchstone_kernel* kernel, size_t buffer) {
  const BufferSpec* const spec = spec_of(kernel, buffer);
  std::size_t bytes = 0;
  if (spec != nullptr &&
      __builtin_mul_overflow(static_cast<std::size_t>(spec->size), itemsize(spec->dtype), &bytes))
    return SIZE_MAX;
  return bytes;
}

const char* touchstone_kernel_type(const touchstone_kernel* kernel, size_t buffer) {
  const BufferSpec* const spec = spec_of(kernel, buffer);
  return spec == nullptr ? nullptr : name(spec->dtype).data();
}

touchstone_status touchstone_eval(const touchstone_kernel* kernel, void* const* buffers,
                                  const size_t* bytes, size_t count) {
  return guarded([&] {
    const std::scoped_lock lock(host().busy);
    touchstone::Device& device = *host().device;
    const Buffers own = buffers_with(device, kernel, buffers, bytes, count, false);
    run_kernel(device, kernel->file.ast, raw(own));
    device.forget_runners();
    if (own[0]->bytes() != 0)
      own[0]->copy_out({static_cast<std::byte*>(buffers[0]), own[0]->bytes()});
  });
}

touchstone_status touchstone_check(const touchstone_kernel* kernel, const char* profile,
                                   const void* const* buffers, const size_t* bytes, size_t count,
                                   touchstone_verdict** verdict) {
  return guarded([&] {
    require(verdict, "verdict");
    const std::optional<touchstone::ChosenProfile> chosen = chosen_by(profile);
    require(kernel, "kernel");
    const touchstone::Judging judging = kernel->file.judging.under(chosen);
    const std::scoped_lock lock(host().busy);
    const Buffers own = buffers_with(*host().device, kernel, buffers, bytes, count, true);
    const touchstone::Verdict found =
        touchstone::judge(kernel->file.ast, raw(own), *own[0], judging);
    *verdict = verdict_of(found, judging.str(found));
  });
}

void touchstone_verdict_free(touchstone_verdict* verdict) { delete verdict; }

int touchstone_verdict_outcome(const touchstone_verdict* verdict) {
  return verdict == nullptr ? TOUCHSTONE_UNUSABLE : verdict->outcome;
}

const char* touchstone_verdict_text(const touchstone_verdict* verdict) {
  return verdict == nullptr ? nullptr : verdict->text.c_str();
}

size_t touchstone_verdict_checked(const touchstone_verdict* verdict) {
  return verdict == nullptr ? 0 : verdict->checked;
}

size_t touchstone_verdict_wrong(const touchstone_verdict* verdict) {
  return verdict == nullptr ? 0 : verdict->wrong;
}

int64_t touchstone_verdict_first(const touchstone_verdict* verdict) {
  return verdict == nullptr ? -1 : verdict->first;
}
