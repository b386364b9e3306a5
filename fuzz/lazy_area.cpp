#include <algorithm>
#include <cstring>

#include "touchstone/base/error.h"
#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/interp/interpreted.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {
namespace {

constexpr const char* kHere = "FUZZ";
constexpr const char* kThere = "FUZZ:1";

void register_devices() {
  for (const char* name : {kHere, kThere})
    Device::add(name, [name] { return make_interpreted_device(name, 1); });
}

LazyBufferPtr make_input(const ProgramStep& s) {
  std::int64_t n = 1;
  for (const std::int64_t size : s.shape) n *= size;
  const std::size_t width = itemsize(s.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const std::uint64_t bits = value_of(s, i).bits();
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  auto buffer = std::make_shared<Buffer>(Device::get(kHere), s.dtype, n);
  buffer->copy_in(bytes);
  return LazyBuffer::from_buffer(buffer, Shape(s.shape.begin(), s.shape.end()));
}

LazyBufferPtr moved(const LazyBufferPtr& x, const MovementOp& op) {
  using Kind = MovementOp::Kind;
  switch (op.kind) {
    case Kind::Reshape:
      return x->reshape(op.shape);
    case Kind::Permute:
      return x->permute(op.order);
    case Kind::Expand:
      return x->expand(op.shape);
    case Kind::Pad:
      return x->pad(op.ends);
    case Kind::Shrink:
      return x->shrink(op.ends);
    default:
      return x->stride(op.steps);
  }
}

Op op_of(const std::string& name) {
  const auto same = [&](const OpInfo& row) {
    return (is_elementwise(row.op) || is_reduce(row.op)) &&
           std::ranges::equal(row.name, name, [](char a, char b) {
             return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
           });
  };
  const auto* const found = std::ranges::find_if(op_table, same);
  if (found == op_table.end())
    throw ParseError(fmt::format("'{}' is a statement of area tensor", name));
  return found->op;
}

/// When statements are computed, and what may be merged: none of it may change a bit of the result.
struct Mode {
  std::string name;
  bool realize_each = false;     // every statement at once: each in a kernel of its own
  bool as_written = false;       // where the program says realize, contiguous, copy
  bool contiguous_each = false;  // every statement gets memory of its own, all in one schedule
  Config config = Config(Config::kDefaultOpt);
};

std::vector<Mode> modes_of(const std::string& text) {
  std::vector<Mode> modes = {{"each statement realized at once", true},
                             {"realized at the end"},
                             {"realized as written", false, true},
                             {"every statement contiguous", false, false, true}};
  for (int opt = 0; opt <= Config::kMostOpt; ++opt)
    if (opt != Config::kDefaultOpt)
      modes.push_back({fmt::format("OPT={}", opt), false, true, false, Config(opt)});
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
  modes.push_back(std::move(chosen));
  return modes;
}

std::string run(const Program& program, const Mode& mode) {
  const ConfigScope scope(mode.config);
  std::vector<LazyBufferPtr> values;
  for (const ProgramStep& s : program.steps) {
    LazyBufferPtr v;
    const auto arg = [&](std::size_t i) { return values[static_cast<std::size_t>(s.of[i])]; };
    if (s.name == "input") {
      v = make_input(s);
    } else if (is_movement(s.name)) {
      v = moved(arg(0), s.movement);
    } else if (s.name == "realize") {
      v = arg(0);
      if (mode.as_written) realize(std::vector{v});
    } else if (s.name == "contiguous") {
      v = mode.as_written ? arg(0)->contiguous() : arg(0);
    } else if (s.name == "copy") {
      v = mode.as_written ? arg(0)->copy_to_device(kThere)->copy_to_device(kHere) : arg(0);
    } else if (s.name == "cast") {
      v = arg(0)->cast(parse_dtype(s.word));
    } else if (s.name == "bitcast") {
      v = arg(0)->bitcast(parse_dtype(s.word));
    } else if (is_reduce(op_of(s.name))) {
      std::vector<int> axes;
      for (const char c : s.word)
        if (c >= '0' && c <= '9') axes.push_back(c - '0');  // ranks are small
      v = axes.empty() ? arg(0) : arg(0)->r(op_of(s.name), axes);
    } else {
      std::vector<LazyBufferPtr> of;
      for (std::size_t i = 0; i < s.of.size(); ++i) of.push_back(arg(i));
      v = LazyBuffer::e(op_of(s.name), of);
    }
    if (mode.contiguous_each) v = v->contiguous();
    if (mode.realize_each) realize(std::vector{v = v->contiguous()});
    values.push_back(std::move(v));
  }
  const LazyBufferPtr out = values.back()->contiguous();
  values.clear();  // nobody holds what is between
  realize(std::vector{out});
  const BufferPtr& buffer = out->realized();
  if (buffer == nullptr) {  // nothing to compute: no elements, or a constant of its own
    if (max_elements(out->shape()) != 0) throw BufferError("realize gave no memory");
    return {};
  }
  std::string bytes(buffer->bytes(), '\0');
  buffer->copy_out(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

class LazyArea final : public Area {
 public:
  LazyArea() { register_devices(); }
  std::string_view name() const override { return "lazy"; }
  std::string draw(Chooser& chooser) override { return draw_program(chooser, {}); }

  Checked check(const std::string& text, Effort /*effort*/) override {
    const Program program = Program::parse(text);
    const std::vector<ProgramType> types = program.types();
    for (const ProgramStep& s : program.steps)
      if (s.name != "input" && !is_movement(s.name) && s.name != "realize" &&
          s.name != "contiguous" && s.name != "copy" && !s.name.ends_with("cast"))
        (void)op_of(s.name);
    try {
      const std::vector<Mode> modes = modes_of(text);
      const std::string first = run(program, modes[0]);
      for (std::size_t m = 1; m < modes.size(); ++m)
        if (auto wrong = differs(types.back(), first, run(program, modes[m]), modes[m]))
          return *wrong;
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
  std::vector<Dimension> dimensions() const override { return program_dimensions({}); }
  std::vector<CoverageRow> coverage(const std::string& text, Ending /*ending*/) override {
    return program_coverage(Program::parse(text), {});
  }

 private:
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
      return Checked::fail(
          "fusion",
          fmt::format("element {} is {} where {}, and {} where {}", i / width, right.str(),
                      "each statement realized at once", got.str(), mode.name));
    }
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Area> make_lazy_area() { return std::make_unique<LazyArea>(); }

}  // namespace touchstone::fuzz
