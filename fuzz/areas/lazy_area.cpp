#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/graph_check.h"
#include "touchstone/fuzz/areas/judged_device.h"
#include "touchstone/fuzz/areas/lazy_modes.h"
#include "touchstone/fuzz/areas/multi_check.h"
#include "touchstone/fuzz/areas/schedule_work.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/op.h"
#include "touchstone/tcc/tcc_device.h"
#include "touchstone/uop/kernel_graph.h"
#include "touchstone/uop/spec.h"

namespace touchstone::fuzz {
namespace {

// Devices that run programs' kernels through compilers, judged.
constexpr const char* kOnTcc = "FUZZTCC";
constexpr const char* kOnClang = "FUZZCLANG";
constexpr std::string_view kTcc = "tcc", kClang = "clang", kBoth = "both";  // relations

enum class Schedules : std::uint8_t { Lazy, Rewritten };

std::unique_ptr<Device> make_compiler(bool clang) {
  if (!clang) return make_tcc_device();
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.contract = false;  // bits are compared
  options.opt_level = 0;
  options.threads = 3;
  options.parallel_work = 0;
  options.keep = false;
  return make_clang_device("CLANG", options);
}

void register_devices() {
  for (const char* name : {kHere, kThere})
    Device::add(name, [name] { return make_interpreted_device(name, 1); });
  for (const std::string name : {kOnTcc, kOnClang})
    for (const std::string& one : {name, name + ":1"})
      Device::add(one, [one, clang = name == kOnClang] {
        return std::make_unique<JudgedDevice>(one, make_compiler(clang));
      });
}

const MultiDevices& several_devices() {
  static const MultiDevices on{kHere, {kHere, kThere, "FUZZ:2", "FUZZ:3", "FUZZ:4"}};
  return on;
}

// Whether the program sums floats; splitting such a sum may round differently.
bool sums_floats(const TensorProgram& program, const std::vector<ProgramType>& types) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (program.steps[i].name == "reduce_sum" && is_float(types[i].dtype)) return true;
  return false;
}

/// Invariants of a graph's schedule that hold for any kernels.
class Promises {
 public:
  explicit Promises(const LazyBufferPtr& out) : out_(out) {
    std::set<const LazyBuffer*> seen;
    std::vector<LazyBufferPtr> open{out->base_ptr()};
    while (!open.empty()) {
      const LazyBufferPtr base = open.back();
      open.pop_back();
      if (base->realized() != nullptr || !seen.insert(base.get()).second) continue;
      if (base->must_realize()) kept_.push_back(base);
      reduces_ += is_reduce(base->op()) ? 1 : 0;
      for (const LazyBufferPtr& s : base->srcs()) open.push_back(s->base_ptr());
    }
    for (const ScheduleItem& item : schedule(std::vector{out})) {
      if (item.kind != Op::Store) continue;
      for (const LazyOpPtr& node : toposort(item.ast)) scheduled_ += is_reduce(node->op()) ? 1 : 0;
    }
  }

  /// Call after out is realized.
  std::optional<Checked> broken() const {
    if (scheduled_ > reduces_)
      return Checked::fail(
          "work", fmt::format("{} reduces are computed, of {} in the graph", scheduled_, reduces_));
    for (const LazyBufferPtr& base : kept_) {
      if (base->realized() != nullptr || max_elements(base->shape()) == 0) continue;
      // Of nodes that compute the same one gets memory.
      const auto stands_for = [&](const LazyBufferPtr& other) {
        return other->realized() != nullptr && other->op() == base->op() &&
               other->dtype() == base->dtype() && other->shape() == base->shape();
      };
      if (std::ranges::none_of(kept_, stands_for))
        return Checked::fail("kept", "a contiguous() value is not in memory");
    }
    return std::nullopt;
  }

 private:
  LazyBufferPtr out_;
  std::vector<LazyBufferPtr> kept_;
  int reduces_ = 0, scheduled_ = 0;
};

std::string bytes_of(const LazyBufferPtr& out, const ProgramType& type) {
  std::size_t wanted = itemsize(type.dtype);
  for (const std::int64_t size : type.shape) wanted *= static_cast<std::size_t>(size);
  const BufferPtr& buffer = out->realized();
  if (buffer == nullptr) {  // nothing to compute
    if (wanted != 0) throw BufferError("realize gave no memory");
    return {};
  }
  std::string bytes(buffer->bytes(), '\0');
  buffer->copy_out(std::as_writable_bytes(std::span(bytes)));
  if (bytes.size() > wanted) bytes.resize(wanted);  // of a variable size
  return bytes;
}

// Verifies the spec after every pass and for every kernel (AstError names the violation), and the
// buffer limit of kernels, which one op with its operands may exceed.
std::optional<Checked> too_many_buffers(const LazyBufferPtr& out) {
  constexpr int kOfOneOp = 4;
  const int asked = Config::current().kernelize.max_kernel_buffers;
  std::optional<Checked> wrong;
  SpecRecorder verify;
  const RecorderScope scope(verify);
  for (const ScheduleItem& item : schedule(std::vector{out})) {
    if (item.kind != Op::Store) continue;
    type_verify(kernel_graph(item.ast), SpecLevel::Kernel);
    const auto buffers = static_cast<int>(item.inputs.size()) + 1;
    if (asked != 0 && buffers > std::max(asked, kOfOneOp))
      wrong = Checked::fail("limit", fmt::format("a kernel has {} buffers", buffers));
  }
  return wrong;
}

LazyBufferPtr at_the_end(const TensorProgram& program, const Config& config) {
  const ConfigScope scope(config);
  const Mode mode{.name = "", .config = config};
  return build(program, mode, inputs_of(program, mode, 0));
}

std::string run(const TensorProgram& program, const ProgramType& type, const Mode& mode,
                std::optional<Checked>& broken) {
  const LazyBufferPtr out = build(program, mode, inputs_of(program, mode, 0));
  const ConfigScope scope(mode.scheduled());
  std::optional<Promises> promises;
  if (mode.as_written && mode.config == Config(Config::kDefaultOpt)) promises.emplace(out);
  if (mode.config.scheduler != Scheduler::Lazy) broken = too_many_buffers(out);
  realize(std::vector{out});
  if (promises && !broken) broken = promises->broken();
  return bytes_of(out, type);
}

// The program's first statements up to this one, inclusive.
TensorProgram up_to(const TensorProgram& program, std::size_t statement) {
  const auto end = program.steps.begin() + static_cast<std::ptrdiff_t>(statement) + 1;
  return {{program.steps.begin(), end}};
}

// Realizes two values at once: the last one and another.
std::vector<std::string> both(const TensorProgram& program, const std::vector<ProgramType>& types,
                              std::size_t other, const Mode& mode) {
  const ConfigScope scope(mode.config);
  const auto values = build_all(program, mode, inputs_of(program, mode, 0));
  std::vector<LazyBufferPtr> wanted;
  for (const LazyBufferPtr& value : {values.back(), values[other]})
    wanted.push_back(value->copy_to_device(mode.device)->contiguous());
  const ConfigScope scheduled(mode.scheduled());
  realize(wanted);
  return {bytes_of(wanted[0], types.back()), bytes_of(wanted[1], types[other])};
}

bool captures_nothing(const Error& e) {
  const std::string_view why = e.what();
  return why.find("ran no kernel") != why.npos || why.find("has no elements") != why.npos;
}

// The third call's result: with other variable values than the second call, which captured, or,
// without variables, read after the fourth. nullopt if there is nothing to capture or replay.
template <class Inputs>
std::optional<std::string> replayed(const TensorProgram& program, const ProgramType& type,
                                    const Mode& mode, const SymbolicSizes& symbolic,
                                    const Inputs& inputs) {
  TinyJit jit([&](std::span<const LazyBufferPtr> given) {
    return TinyJit::Tensors{build(program, mode, given, symbolic)};
  });
  for (const LazyBufferPtr& input : inputs(0))
    if (input->base_ptr()->realized() == nullptr) return std::nullopt;
  jit(inputs(1), symbolic.others());
  try {
    jit(inputs(2), symbolic.others());
  } catch (const Error& e) {
    if (captures_nothing(e)) return std::nullopt;
    throw;
  }
  const LazyBufferPtr out = jit(inputs(0), symbolic.values())[0];
  if (!symbolic.any()) jit(inputs(3));
  return bytes_of(out, type);
}

// nullopt if no size can be a variable: movement operations compare sizes and addresses, and a
// comparison that holds for a size of 3 need not hold for others.
std::optional<std::string> with_variable(const TensorProgram& program, const ProgramType& type,
                                         const Mode& mode, const std::string& text) {
  const SymbolicSizes symbolic(program, text);
  if (!symbolic.any()) return std::nullopt;
  const auto inputs = [&](std::size_t = 0) {
    std::vector<LazyBufferPtr> made;
    for (const ProgramStep& s : program.steps)
      if (s.name == "input") made.push_back(symbolic.input(s, mode.device));
    return made;
  };
  try {
    if (mode.jit) return replayed(program, type, mode, symbolic, inputs);
    const LazyBufferPtr out = build(program, mode, inputs(), symbolic);
    realize(std::vector{out}, symbolic.values());
    return bytes_of(out, type);
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

std::optional<std::string> result(const TensorProgram& program, const ProgramType& type,
                                  const Mode& mode, const std::string& text,
                                  std::optional<Checked>& broken) {
  const ConfigScope scope(mode.config);
  if (mode.symbolic) return with_variable(program, type, mode, text);
  if (mode.jit)
    return replayed(program, type, mode, {},
                    [&](std::size_t turn) { return inputs_of(program, mode, turn); });
  return run(program, type, mode, broken);
}

class LazyArea final : public Area {
 public:
  LazyArea(Schedules schedules, Compilers compilers)
      : kernelizes_(schedules == Schedules::Rewritten), compilers_(compilers) {
    register_devices();
  }
  std::string_view name() const override { return kernelizes_ ? "kernelize" : "lazy"; }
  std::string draw(Chooser& chooser) override { return draw_program(chooser, {}); }

  Checked check(const std::string& text, Effort effort) override {
    return check_asked(text, effort, {});
  }
  Checked check_for(const std::string& text, std::string_view relation) override {
    return check_asked(text, Effort::Full, relation);
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_programs(programs_.of(text), {});
  }
  Measure measure(const std::string& text) override { return measure_of(programs_.of(text)); }
  Extent extent(const std::string& text) override { return extent_of(programs_.of(text)); }
  std::vector<Dimension> dimensions() const override { return program_dimensions({}); }
  std::vector<CoverageRow> coverage(const std::string& text, Ending /*ending*/) override {
    return program_coverage(programs_.of(text), {});
  }

 private:
  const bool kernelizes_;
  const Compilers compilers_;
  LastParsed<TensorProgram> programs_;
  const std::unique_ptr<Device> definition_ = make_interpreted_device("DEFINITION", 1);

  struct Case {
    const std::string& text;
    const TensorProgram& program;
    std::vector<ProgramType> types;
    std::vector<Mode> modes;
    std::string right;      // by definition
    std::uint64_t choices;  // drawn from the text
    std::vector<std::string_view> passed_over;
  };

  Checked check_asked(const std::string& text, Effort effort, std::string_view only) {
    Case c{text, programs_.of(text), {}, {}, {}, hash_mix(hash_bytes(text), 3), {}};
    c.types = c.program.types();
    for (const ProgramStep& s : c.program.steps)
      if (!s.leaf() && !is_movement(s.name) && !settles(s.name) && s.name != "gather" &&
          !s.name.ends_with("cast"))
        (void)op_of(s.name);
    try {
      const bool splits = !sums_floats(c.program, c.types);
      c.modes = kernelizes_ ? kernelize_modes(text, splits) : lazy_modes(text, splits);
      c.right = by_definition(c.program, *definition_);
      definition_->forget_runners();
      const bool compiled = only == kTcc || only == kClang;
      std::optional<Checked> wrong;
      if (!compiled) wrong = interpreted(c, effort);
      if (!wrong && compilers_ != Compilers::None && only != kClang && has_tcc() &&
          (effort == Effort::Full || c.choices / 16 % 4 == 0))
        wrong = on_tcc(c, effort);
      if (!wrong && compilers_ == Compilers::All && (only.empty() || only == kClang) &&
          (effort == Effort::Full || c.choices / 16 % 256 == 1))
        wrong = on(kOnClang, kClang, c, c.modes[c.choices / 4096 % c.modes.size()]);
      if (wrong) {
        if (wrong->failure.relation != "refused" && bitcasts_nan(c.program, c.types))
          return {Ending::Skipped, {}};
        return *wrong;
      }
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
    Checked result;
    result.passed_over = std::move(c.passed_over);
    return result;
  }

  std::optional<Checked> interpreted(Case& c, Effort effort) {
    if (kernelizes_)
      if (auto more = ranges_cost_more(
              c.program, [&](const Config& config) { return at_the_end(c.program, config); }))
        return more;
    for (std::size_t m = 0; m < c.modes.size(); ++m) {
      // A sample: as written, the mode the text chooses, and two others.
      if (effort == Effort::Sampled && m != 2 && m + 1 != c.modes.size() &&
          m != c.choices % c.modes.size() && m != c.choices / 64 % c.modes.size())
        continue;
      std::optional<Checked> broken;
      const auto other = result(c.program, c.types.back(), c.modes[m], c.text, broken);
      if (!other)
        c.passed_over.push_back(c.modes[m].symbolic ? "sizes that are variables" : "replayed");
      if (!other) continue;
      if (auto wrong = differs(c.types.back(), c.right, *other, c.modes[m], "fusion")) return wrong;
      if (broken) return broken;
    }
    if (effort != Effort::Sampled || c.choices / 256 % 8 == 0)
      if (auto wrong = both_differ(c)) return wrong;
    // A quarter of the sampled cases.
    if (kernelizes_ && (effort != Effort::Sampled || c.choices % 4 == 0))
      if (auto wrong = multi_differs(c.program, c.text, c.right, several_devices(),
                                     effort != Effort::Sampled))
        return wrong;
    if (kernelizes_ && (effort != Effort::Sampled || c.choices / 4 % 16 == 0)) {
      const auto [asked, wrong] =
          graph_differs(c.program, c.choices, c.modes.back().scheduled(), *definition_);
      definition_->forget_runners();
      if (wrong) return wrong;
      if (!asked) c.passed_over.push_back("graph");
    }
    for (const char* device : {kHere, kThere}) Device::get(device).forget_runners();
    return std::nullopt;
  }

  std::optional<Checked> both_differ(const Case& c) {
    const Mode& drawn = c.modes[c.choices / 1024 % c.modes.size()];
    const Mode& mode = drawn.jit || drawn.symbolic ? c.modes[2] : drawn;
    std::vector<std::size_t> made;
    for (std::size_t i = 0; i + 1 < c.program.steps.size(); ++i)
      if (!c.program.steps[i].leaf()) made.push_back(i);
    if (made.empty()) return std::nullopt;
    const std::size_t other = made[c.choices / 65536 % made.size()];
    const std::vector<std::string> got = both(c.program, c.types, other, mode);
    const std::string right = by_definition(up_to(c.program, other), *definition_);
    definition_->forget_runners();
    if (auto wrong = differs(c.types.back(), c.right, got[0], mode, kBoth)) return wrong;
    return differs(c.types[other], right, got[1], mode, kBoth);
  }

  // In the mode that the text chooses, or in all.
  std::optional<Checked> on_tcc(const Case& c, Effort effort) {
    for (std::size_t m = 0; m < c.modes.size(); ++m)
      if (effort == Effort::Full || m == c.choices / 4096 % c.modes.size())
        if (auto wrong = on(kOnTcc, kTcc, c, c.modes[m])) return wrong;
    return std::nullopt;
  }

  // Each kernel's answer is legal; if all have the reference's bits, so has the program.
  std::optional<Checked> on(const std::string& device, std::string_view relation, const Case& c,
                            Mode mode) {
    mode.device = device;
    mode.name += " on " + std::string(relation);
    auto& here = static_cast<JudgedDevice&>(Device::get(mode.device));
    auto& there = static_cast<JudgedDevice&>(Device::get(mode.other()));
    here.take_exact();
    there.take_exact();
    std::optional<Checked> wrong, broken;
    try {
      const auto got = result(c.program, c.types.back(), mode, c.text, broken);
      const bool exact = here.take_exact() && there.take_exact();
      if (got && exact) wrong = differs(c.types.back(), c.right, *got, mode, relation);
    } catch (const NotLegal& e) {
      wrong = Checked::fail(std::string(relation), mode.name + ": " + e.what());
    }
    for (Device* d : {static_cast<Device*>(&here), static_cast<Device*>(&there)})
      d->forget_runners();
    return wrong;
  }

  // NaN payloads are unspecified, and so is everything computed from their bits.
  bool bitcasts_nan(const TensorProgram& program, const std::vector<ProgramType>& types) {
    for (const ProgramStep& s : program.steps) {
      if (s.name != "bitcast") continue;
      const auto of = static_cast<std::size_t>(s.of[0]);
      if (!is_float(types[of].dtype)) continue;
      const std::string bytes = by_definition(up_to(program, of), *definition_);
      const std::size_t width = itemsize(types[of].dtype);
      for (std::size_t i = 0; i < bytes.size(); i += width) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + i, width);
        if (Scalar::from_bits(types[of].dtype, bits).is_nan()) return true;
      }
    }
    return false;
  }

  static std::optional<Checked> differs(const ProgramType& type, const std::string& a,
                                        const std::string& b, const Mode& mode,
                                        std::string_view relation) {
    const auto what = first_difference(type.dtype, a, b);
    if (!what) return std::nullopt;
    return Checked::fail(std::string(relation), fmt::format("{} where {}", *what, mode.name));
  }
};

}  // namespace

std::unique_ptr<Area> make_lazy_area(Compilers compilers) {
  return std::make_unique<LazyArea>(Schedules::Lazy, compilers);
}
std::unique_ptr<Area> make_kernelize_area(Compilers compilers) {
  return std::make_unique<LazyArea>(Schedules::Rewritten, compilers);
}

}  // namespace touchstone::fuzz
