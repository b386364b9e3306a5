#include <algorithm>
#include <cstring>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/multi_check.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/fuzz/schedule_work.h"
#include "touchstone/interp/interpreted.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/op.h"
#include "touchstone/uop/kernel_graph.h"
#include "touchstone/uop/spec.h"

namespace touchstone::fuzz {
namespace {

constexpr const char* kHere = "FUZZ";
constexpr const char* kThere = "FUZZ:1";
using Sizes = std::vector<std::int64_t>;

void register_devices() {
  for (const char* name : {kHere, kThere})
    Device::add(name, [name] { return make_interpreted_device(name, 1); });
}

const MultiDevices& several_devices() {
  static const MultiDevices on{kHere, {kHere, kThere, "FUZZ:2", "FUZZ:3", "FUZZ:4"}};
  return on;
}

LazyBufferPtr array(const ProgramStep& s, const Sizes& shape, auto&& element) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  const std::size_t width = itemsize(s.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const std::uint64_t bits = value_of(s, element(i)).bits();
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  auto buffer = std::make_shared<Buffer>(Device::get(kHere), s.dtype, n);
  buffer->copy_in(bytes);
  return LazyBuffer::from_buffer(buffer, Shape(shape.begin(), shape.end()));
}

// `turn`: 0 for the values of the program; else they are given out from another one on.
LazyBufferPtr make_input(const ProgramStep& s, std::size_t turn = 0) {
  return array(s, s.shape, [&](std::size_t i) { return i + turn; });
}

LazyBufferPtr moved(const LazyBufferPtr& x, const MovementOp& op) {
  return apply_movement(*x, op, &LazyBuffer::stride);
}

/// When statements are computed, and what may be merged: none of it may change a bit of the result.
struct Mode {
  std::string name;
  bool realize_each = false;     // every statement at once: each in a kernel of its own
  bool as_written = false;       // where the program says realize, contiguous, copy
  bool contiguous_each = false;  // every statement gets memory of its own, all in one schedule
  bool jit = false;              // noted on other values, replayed on these
  bool symbolic = false;         // sizes are variables
  Config config = Config(Config::kDefaultOpt);
};

// Whether a sum of floats is computed, which may be rounded where it is split.
bool sums_floats(const Program& program, const std::vector<ProgramType>& types) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (program.steps[i].name == "reduce_sum" && is_float(types[i].dtype)) return true;
  return false;
}

std::vector<Mode> modes_of(const std::string& text, bool splits) {
  std::vector<Mode> modes = {{"each statement realized at once", true},
                             {"realized at the end"},
                             {"realized as written", false, true},
                             {"every statement contiguous", false, false, true}};
  for (int opt = 0; opt <= Config::kMostOpt; ++opt)
    if (opt != Config::kDefaultOpt)
      modes.push_back(
          {.name = fmt::format("OPT={}", opt), .as_written = true, .config = Config(opt)});
  modes.push_back({.name = "replayed by a TinyJit", .as_written = true, .jit = true});
  modes.push_back({.name = "with a size that is a variable", .as_written = true, .symbolic = true});
  const std::uint64_t bits = hash_mix(hash_bytes(text), 1);  // switches that the text chooses
  Mode chosen{"", false, true};
  for (const SwitchInfo& row : switch_table) {
    const bool on = (bits >> static_cast<int>(row.id) & 1) != 0;
    chosen.config.set(row.id, on);
    chosen.name += fmt::format("{}{}={}", chosen.name.empty() ? "" : " ", row.name, on ? 1 : 0);
  }
  chosen.config.lazycache = (bits >> 40 & 1) != 0;
  chosen.config.lazy = (bits >> 41 & 7) != 0;
  chosen.name += fmt::format(" LAZYCACHE={} LAZY={}", chosen.config.lazycache ? 1 : 0,
                             chosen.config.lazy ? 1 : 0);
  if (splits && (bits >> 44 & 1) != 0) {
    chosen.config.reduceop_split_threshold = 2;
    chosen.name += " REDUCEOP_SPLIT_THRESHOLD=2";
  }
  modes.push_back(std::move(chosen));
  return modes;
}

// The same by rewriting, with the switches of that which the text chooses.
std::vector<Mode> kernelize_modes_of(const std::string& text, bool splits) {
  Config config(Config::kDefaultOpt);
  config.scheduler = Scheduler::Kernelize;
  std::vector<Mode> modes = {
      {.name = "realized at the end", .config = config},
      {.name = "every statement contiguous", .contiguous_each = true, .config = config},
      {.name = "realized as written", .as_written = true, .config = config},
      {.name = "with a size that is a variable",
       .as_written = true,
       .symbolic = true,
       .config = config}};
  Config ranges = config;
  ranges.scheduler = Scheduler::Ranges;
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    Mode mode = modes[i];
    mode.name += ", by ranges";
    mode.config = ranges;
    modes.push_back(std::move(mode));
  }
  const std::uint64_t bits = hash_mix(hash_bytes(text), 4);
  int bit = 0;
  std::string chosen;
  for (const char* name :
       {"FUSE_ARANGE", "FUSE_CONV_BW", "DONT_REALIZE_EXPAND", "DONT_GROUP_REDUCES"}) {
    const bool on = (bits >> bit++ & 1) != 0;
    config.set(*option_named(name), on);
    chosen += fmt::format("{}={} ", name, on ? 1 : 0);
  }
  int& most = config.kernelize.max_kernel_buffers;
  if ((bits >> 8 & 1) != 0) most = 3 + static_cast<int>(bits >> 9 & 3);
  chosen += fmt::format("MAX_KERNEL_BUFFERS={}", most);
  if ((bits >> 12 & 1) != 0) {
    if (splits) config.reduceop_split_threshold = 2;
    chosen += splits ? " REDUCEOP_SPLIT_THRESHOLD=2" : "";
  }
  if ((bits >> 14 & 1) != 0) {
    config.scheduler = Scheduler::Ranges;
    chosen += " SCHEDULER=ranges";
  }
  modes.push_back({.name = chosen, .as_written = (bits >> 13 & 1) != 0, .config = config});
  return modes;
}

// Sizes that are a variable: all that equal its value.
struct Symbolic {
  std::int64_t value = 0;  // 0: there is none
  sint size = 1;
  symbolic::Values values;

  /// Up to two more than it is, so that what is stored is more than what is read.
  static Symbolic chosen(const Program& program, const std::string& text) {
    Sizes known;
    for (const ProgramStep& s : program.steps)
      for (const std::int64_t size : s.shape)
        if (size > 1) known.push_back(size);
    if (known.empty()) return {};
    const std::int64_t value = known[hash_mix(hash_bytes(text), 2) % known.size()];
    return {value, sint(symbolic::variable("n", 1, value + 2)), {{"n", value}}};
  }

  LazyBufferPtr input(const ProgramStep& s) const {
    Sizes stored = s.shape;
    Mask seen;
    for (std::int64_t& n : stored) {
      seen.emplace_back(0, n == value ? size : sint(n));
      if (n == value) n += 2;
    }
    return array(s, stored, [&](std::size_t i) { return place(s.shape, stored, i); })->shrink(seen);
  }

  Shape of(const Sizes& sizes) const {
    Shape shape(sizes.begin(), sizes.end());
    for (sint& n : shape)
      if (value > 0 && n == sint(value)) n = size;
    return shape;
  }

  MovementOp of(MovementOp op) const {
    if (value == 0) return op;
    for (sint& n : op.shape)
      if (n == sint(value)) n = size;
    if (op.kind == MovementOp::Kind::Shrink)
      for (auto& [begin, end] : op.ends)
        if (begin == sint(0) && end == sint(value)) end = size;
    return op;
  }

 private:
  // The element of `shape` that lies at i of `stored`; outside it, any.
  static std::size_t place(const Sizes& shape, const Sizes& stored, std::size_t i) {
    std::size_t at = 0, scale = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(stored[axis]);
      at += i % size * scale;
      i /= size;
      scale *= static_cast<std::size_t>(shape[axis]);
    }
    return at;
  }
};

// The value of the last statement, not yet computed. Nobody holds what is between.
LazyBufferPtr build(const Program& program, const Mode& mode, std::span<const LazyBufferPtr> inputs,
                    const Symbolic& symbolic) {
  std::vector<LazyBufferPtr> values;
  std::size_t next = 0;
  const auto now = [&](const LazyBufferPtr& x) { realize(std::vector{x}, symbolic.values); };
  for (const ProgramStep& s : program.steps) {
    LazyBufferPtr v;
    const auto arg = [&](std::size_t i) { return values[static_cast<std::size_t>(s.of[i])]; };
    if (s.name == "input") {
      v = inputs[next++];
    } else if (s.name == "const") {
      v = LazyBuffer::constant(value_of(s, 0), symbolic.of(s.shape), kHere);
    } else if (is_movement(s.name)) {
      v = moved(arg(0), symbolic.of(s.movement));
    } else if (s.name == "realize") {
      v = arg(0);
      if (mode.as_written) now(v);
    } else if (s.name == "contiguous") {
      v = mode.as_written ? arg(0)->contiguous() : arg(0);
    } else if (s.name == "copy") {
      v = mode.as_written ? arg(0)->copy_to_device(kThere)->copy_to_device(kHere) : arg(0);
    } else if (s.name == "assign") {
      v = arg(1);
      if (mode.as_written) {
        const LazyBufferPtr place = arg(0)->contiguous();
        now(place);
        v = place->assign(v);
      }
    } else if (s.name == "gather") {
      v = LazyBuffer::gather(arg(0), arg(1));
    } else if (s.name == "cast") {
      v = arg(0)->cast(parse_dtype(s.word));
    } else if (s.name == "bitcast") {
      v = arg(0)->bitcast(parse_dtype(s.word));
    } else if (is_reduce(op_of(s.name))) {
      const std::vector<int> axes = axes_of(s);
      v = axes.empty() ? arg(0) : arg(0)->r(op_of(s.name), axes);
    } else {
      std::vector<LazyBufferPtr> of;
      for (std::size_t i = 0; i < s.of.size(); ++i) of.push_back(arg(i));
      v = LazyBuffer::e(op_of(s.name), of);
    }
    if (mode.contiguous_each) v = v->contiguous();
    if (mode.realize_each) now(v = v->contiguous());
    values.push_back(std::move(v));
  }
  return values.back()->contiguous();
}

/// The invariants of a graph's schedule, whatever its kernels are.
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

  /// After out is realized.
  std::optional<Checked> broken() const {
    if (scheduled_ > reduces_)
      return Checked::fail(
          "work", fmt::format("{} reduces are computed, of {} in the graph", scheduled_, reduces_));
    for (const LazyBufferPtr& base : kept_)
      if (base->realized() == nullptr && max_elements(base->shape()) > 0)
        return Checked::fail("kept", "what contiguous() asked for is not in memory");
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
  if (bytes.size() > wanted) bytes.resize(wanted);  // of a size that is a variable
  return bytes;
}

std::vector<LazyBufferPtr> inputs_of(const Program& program, std::size_t turn) {
  std::vector<LazyBufferPtr> inputs;
  for (const ProgramStep& s : program.steps)
    if (s.name == "input") inputs.push_back(make_input(s, turn));
  return inputs;
}

// Graphs of kernels have no such node: it is a kernel of its own behind the passes.
bool gathers(const LazyOpPtr& kernel) {
  const auto is_gather = [](const LazyOpPtr& node) { return node->op() == Op::Gather; };
  return std::ranges::any_of(toposort(kernel), is_gather);
}

// Every pass and every kernel keeps the spec. Throws AstError where one does not.
void keeps_spec(const LazyBufferPtr& out) {
  SpecRecorder verify;
  const RecorderScope scope(verify);
  for (const ScheduleItem& item : schedule(std::vector{out}))
    if (item.kind == Op::Store && !gathers(item.ast))
      type_verify(kernel_graph(item.ast), SpecLevel::Kernel);
}

LazyBufferPtr at_the_end(const Program& program, const Config& config) {
  const ConfigScope scope(config);
  return build(program, {.name = "", .config = config}, inputs_of(program, 0), {});
}

std::string run(const Program& program, const ProgramType& type, const Mode& mode,
                std::optional<Checked>& broken) {
  const LazyBufferPtr out = build(program, mode, inputs_of(program, 0), {});
  std::optional<Promises> promises;
  if (mode.as_written && mode.config == Config(Config::kDefaultOpt)) promises.emplace(out);
  if (mode.config.scheduler != Scheduler::Lazy) keeps_spec(out);
  realize(std::vector{out});
  if (promises) broken = promises->broken();
  return bytes_of(out, type);
}

// Of the third call, read after the fourth; nullopt where there is nothing to note or to replay.
std::optional<std::string> replayed(const Program& program, const ProgramType& type,
                                    const Mode& mode) {
  TinyJit jit([&](std::span<const LazyBufferPtr> inputs) {
    return TinyJit::Tensors{build(program, mode, inputs, {})};
  });
  for (const LazyBufferPtr& input : inputs_of(program, 0))
    if (input->realized() == nullptr) return std::nullopt;
  jit(inputs_of(program, 1));
  try {
    jit(inputs_of(program, 2));
  } catch (const Error& e) {
    const std::string_view why = e.what();
    if (why.find("ran no kernel") != why.npos || why.find("has no elements") != why.npos)
      return std::nullopt;
    throw;
  }
  const LazyBufferPtr out = jit(inputs_of(program, 0))[0];
  jit(inputs_of(program, 3));
  return bytes_of(out, type);
}

// nullopt where no size can be a variable in this program: movement operations compare sizes and
// addresses, and what holds for a size of 3 need not for others.
std::optional<std::string> with_variable(const Program& program, const ProgramType& type,
                                         const Mode& mode, const std::string& text) {
  const Symbolic symbolic = Symbolic::chosen(program, text);
  if (symbolic.value == 0) return std::nullopt;
  try {
    std::vector<LazyBufferPtr> inputs;
    for (const ProgramStep& s : program.steps)
      if (s.name == "input") inputs.push_back(symbolic.input(s));
    const LazyBufferPtr out = build(program, mode, inputs, symbolic);
    realize(std::vector{out}, symbolic.values);
    return bytes_of(out, type);
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

std::optional<std::string> result(const Program& program, const ProgramType& type, const Mode& mode,
                                  const std::string& text, std::optional<Checked>& broken) {
  const ConfigScope scope(mode.config);
  if (mode.jit) return replayed(program, type, mode);
  if (mode.symbolic) return with_variable(program, type, mode, text);
  return run(program, type, mode, broken);
}

class LazyArea final : public Area {
 public:
  explicit LazyArea(bool kernelizes) : kernelizes_(kernelizes) { register_devices(); }
  std::string_view name() const override { return kernelizes_ ? "kernelize" : "lazy"; }
  std::string draw(Chooser& chooser) override { return draw_program(chooser, {}); }

  Checked check(const std::string& text, Effort effort) override {
    const Program program = Program::parse(text);
    const std::vector<ProgramType> types = program.types();
    for (const ProgramStep& s : program.steps)
      if (!s.leaf() && !is_movement(s.name) && s.name != "realize" && s.name != "contiguous" &&
          s.name != "copy" && s.name != "assign" && s.name != "gather" && !s.name.ends_with("cast"))
        (void)op_of(s.name);
    try {
      const bool splits = !sums_floats(program, types);
      const std::vector<Mode> modes =
          kernelizes_ ? kernelize_modes_of(text, splits) : modes_of(text, splits);
      if (kernelizes_)
        if (const auto more = ranges_cost_more(
                program, [&](const Config& config) { return at_the_end(program, config); }))
          return *more;
      const std::string right = by_definition(program, *definition_);
      definition_->forget_runners();
      const std::uint64_t some = hash_mix(hash_bytes(text), 3);
      for (std::size_t m = 0; m < modes.size(); ++m) {
        // Of a sample: as written, with what the text chooses, and two others.
        if (effort == Effort::Sampled && m != 2 && m + 1 != modes.size() &&
            m != some % modes.size() && m != some / 64 % modes.size())
          continue;
        std::optional<Checked> broken;
        const auto other = result(program, types.back(), modes[m], text, broken);
        if (!other) continue;
        if (auto wrong = differs(types.back(), right, *other, modes[m])) {
          if (bitcasts_nan(program, types)) return {Ending::Skipped, {}};
          return *wrong;
        }
        if (broken) return *broken;
      }
      // Of one in four, where not all is asked for.
      if (kernelizes_ && (effort != Effort::Sampled || some % 4 == 0))
        if (const auto wrong =
                multi_differs(program, text, right, several_devices(), effort != Effort::Sampled)) {
          if (bitcasts_nan(program, types)) return {Ending::Skipped, {}};
          return *wrong;
        }
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
    for (const char* device : {kHere, kThere}) Device::get(device).forget_runners();
    return {};
  }

  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_programs(Program::parse(text), {});
  }
  Measure measure(const std::string& text) override { return measure_of(Program::parse(text)); }
  Extent extent(const std::string& text) override { return extent_of(Program::parse(text)); }
  std::vector<Dimension> dimensions() const override { return program_dimensions({}); }
  std::vector<CoverageRow> coverage(const std::string& text, Ending /*ending*/) override {
    return program_coverage(Program::parse(text), {});
  }

 private:
  const bool kernelizes_;
  const std::unique_ptr<Device> definition_ = make_interpreted_device("DEFINITION", 1);

  // The bits of a NaN are nobody's, and so is all that is made of them.
  bool bitcasts_nan(const Program& program, const std::vector<ProgramType>& types) {
    for (const ProgramStep& s : program.steps) {
      if (s.name != "bitcast") continue;
      const auto of = static_cast<std::size_t>(s.of[0]);
      if (!is_float(types[of].dtype)) continue;
      Program before;
      before.steps.assign(program.steps.begin(),
                          program.steps.begin() + static_cast<std::ptrdiff_t>(of) + 1);
      const std::string bytes = by_definition(before, *definition_);
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
                                        const std::string& b, const Mode& mode) {
    if (a == b) return std::nullopt;
    const std::size_t width = itemsize(type.dtype);
    if (a.size() != b.size())
      return Checked::fail("fusion",
                           fmt::format("{}: {} bytes, not {}", mode.name, b.size(), a.size()));
    for (std::size_t i = 0; i < a.size(); i += width) {
      std::uint64_t x = 0, y = 0;
      std::memcpy(&x, a.data() + i, width);
      std::memcpy(&y, b.data() + i, width);
      const Scalar right = Scalar::from_bits(type.dtype, x), got = Scalar::from_bits(type.dtype, y);
      if (x == y || (right.is_nan() && got.is_nan())) continue;
      return Checked::fail("fusion", fmt::format("element {} is {} by definition, and {} where {}",
                                                 i / width, right.str(), got.str(), mode.name));
    }
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Area> make_lazy_area() { return std::make_unique<LazyArea>(false); }
std::unique_ptr<Area> make_kernelize_area() { return std::make_unique<LazyArea>(true); }

}  // namespace touchstone::fuzz
