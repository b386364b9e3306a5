#include "touchstone/fuzz/areas/lazy_modes.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "touchstone/base/hash.h"
#include "touchstone/device/device.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t elements_in(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

void put(const ProgramStep& s, std::size_t i, std::byte* to) {
  const std::uint64_t bits = value_of(s, i).bits();
  std::memcpy(to, &bits, itemsize(s.dtype));
}

LazyBufferPtr array(const ProgramStep& s, const Sizes& shape, const std::string& device,
                    auto&& element) {
  const std::int64_t n = elements_in(shape);
  const std::size_t width = itemsize(s.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    put(s, element(i), bytes.data() + i * width);
  auto buffer = std::make_shared<Buffer>(Device::get(device), s.dtype, n);
  buffer->copy_in(bytes);
  return LazyBuffer::from_buffer(buffer, Shape(shape.begin(), shape.end()));
}

// The input in host memory: axes in any order, forwards or backwards, with gaps of all-one bits
// between elements. If all elements are equal, an axis may have stride 0.
LazyBufferPtr at_strides(const ProgramStep& s, std::uint64_t choices, const std::string& device) {
  const auto next = [&](std::uint64_t below) {
    choices = hash_mix(choices, 0x517);
    return (choices >> 20) % below;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < s.shape.size(); ++i)
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(next(i + 1)), i);
  Sizes strides(s.shape.size(), 0);
  std::int64_t step = static_cast<std::int64_t>(1 + next(2)), first = 0;
  for (const std::size_t axis : order) {
    if (s.values.size() == 1 && next(3) == 0) continue;
    const std::int64_t size = std::max<std::int64_t>(s.shape[axis], 1);
    strides[axis] = next(2) == 0 ? step : -step;
    if (strides[axis] < 0) first += step * (size - 1);
    step = step * size + static_cast<std::int64_t>(next(3));
  }
  const std::size_t width = itemsize(s.dtype);
  const char ones = is_bool(s.dtype) ? '\1' : '\xff';
  const auto memory = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(step + 1) * width, static_cast<std::byte>(ones));
  std::byte* const data = memory->data() + static_cast<std::size_t>(first) * width;
  for (std::int64_t i = 0; i < elements_in(s.shape); ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t axis = s.shape.size(); axis-- > 0; rest /= s.shape[axis])
      at += rest % s.shape[axis] * strides[axis];
    put(s, static_cast<std::size_t>(i), data + at * static_cast<std::int64_t>(width));
  }
  return LazyBuffer::from_host(data, s.dtype, s.shape, strides, memory, device);
}

}  // namespace

std::vector<Mode> lazy_modes(const std::string& text, bool splits) {
  std::vector<Mode> modes = {{"each statement realized at once", true},
                             {"realized at the end"},
                             {"realized as written", false, true},
                             {"every statement contiguous", false, false, true}};
  for (int opt = 0; opt <= Config::kMostOpt; ++opt)
    if (opt != Config::kDefaultOpt)
      modes.push_back(
          {.name = fmt::format("OPT={}", opt), .as_written = true, .config = Config(opt)});
  modes.push_back({.name = "replayed by a TinyJit", .as_written = true, .jit = true});
  modes.push_back({.name = "with sizes that are variables", .as_written = true, .symbolic = true});
  modes.push_back({.name = "with sizes that are variables, replayed by a TinyJit",
                   .as_written = true,
                   .jit = true,
                   .symbolic = true});
  modes.push_back({.name = "read at any strides", .as_written = true, .from_host = true});
  const std::uint64_t bits = hash_mix(hash_bytes(text), 1);  // switches chosen by the text
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

std::vector<Mode> kernelize_modes(const std::string& text, bool splits) {
  Config config(Config::kDefaultOpt);
  config.scheduler = Scheduler::Kernelize;
  std::vector<Mode> modes = {
      {.name = "realized at the end", .config = config},
      {.name = "every statement contiguous", .contiguous_each = true, .config = config},
      {.name = "realized as written", .as_written = true, .config = config},
      {.name = "with sizes that are variables",
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
  // Graph construction may split sums of floats; scheduling may not.
  std::int64_t scheduled_split = 0;
  if ((bits >> 12 & 1) != 0) {
    (splits ? config.reduceop_split_threshold : scheduled_split) = 2;
    chosen += fmt::format(" REDUCEOP_SPLIT_THRESHOLD=2{}", splits ? "" : " of schedules");
  }
  if ((bits >> 14 & 1) != 0) {
    config.scheduler = Scheduler::Ranges;
    chosen += " SCHEDULER=ranges";
  }
  modes.push_back({.name = chosen,
                   .as_written = (bits >> 13 & 1) != 0,
                   .config = config,
                   .scheduled_split = scheduled_split});
  return modes;
}

SymbolicSizes::SymbolicSizes(const TensorProgram& program, const std::string& text) {
  Sizes known;
  for (const ProgramStep& s : program.steps)
    for (const std::int64_t size : s.shape)
      if (size > 1) known.push_back(size);
  std::uint64_t bits = hash_mix(hash_bytes(text), 2);
  static constexpr const char* kNames[] = {"n", "a", "z", "k"};
  for (const char* name : kNames) {  // one variable as often as several
    if (known.empty() || (any() && bits % 2 == 0)) break;
    const std::int64_t value = known[bits % known.size()];
    sizes_.push_back({value, sint(symbolic::variable(name, 1, value + 2))});
    values_[name] = value;
    std::erase(known, value);
    bits = hash_mix(bits, 5);
  }
}

symbolic::Values SymbolicSizes::others() const {
  symbolic::Values values;
  for (const auto& [name, value] : values_) values[name] = value > 2 ? value - 1 : value + 1;
  return values;
}

const SymbolicSizes::Size* SymbolicSizes::known(std::int64_t value) const {
  const auto at = std::ranges::find(sizes_, value, &Size::value);
  return at == sizes_.end() ? nullptr : &*at;
}

sint SymbolicSizes::of(const sint& size) const {
  const Size* const n = size.is_int() ? known(size.as_int()) : nullptr;
  return n == nullptr ? size : n->n;
}

LazyBufferPtr SymbolicSizes::input(const ProgramStep& s, const std::string& device) const {
  Sizes stored = s.shape;
  Mask seen;
  for (std::int64_t& n : stored) {
    seen.emplace_back(0, of(sint(n)));
    if (known(n) != nullptr) n += 2;
  }
  // Maps index i of the stored buffer to an element of the shape; outside it, to any.
  const auto place = [&](std::size_t i) {
    std::size_t at = 0, scale = 1;
    for (std::size_t axis = stored.size(); axis-- > 0;) {
      const auto size = static_cast<std::size_t>(stored[axis]);
      at += i % size * scale;
      i /= size;
      scale *= static_cast<std::size_t>(s.shape[axis]);
    }
    return at;
  };
  return array(s, stored, device, place)->shrink(seen);
}

Shape SymbolicSizes::of(const Sizes& sizes) const {
  Shape shape;
  for (const std::int64_t n : sizes) shape.push_back(of(sint(n)));
  return shape;
}

MovementOp SymbolicSizes::of(MovementOp op) const {
  if (!any()) return op;
  for (sint& n : op.shape) n = of(n);
  if (op.kind == MovementOp::Kind::Shrink)
    for (auto& [begin, end] : op.ends)
      if (begin == sint(0)) end = of(end);
  return op;
}

std::optional<std::string> first_difference(DType dtype, const std::string& right,
                                            const std::string& got, std::string_view whose) {
  if (right == got) return std::nullopt;
  if (right.size() != got.size())
    return fmt::format("there are {} bytes, not {},", got.size(), right.size());
  const std::size_t width = itemsize(dtype);
  for (std::size_t i = 0; i < right.size(); i += width) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, right.data() + i, width);
    std::memcpy(&y, got.data() + i, width);
    const Scalar a = Scalar::from_bits(dtype, x), b = Scalar::from_bits(dtype, y);
    if (x == y || (a.is_nan() && b.is_nan())) continue;
    return fmt::format("element {} is {} {}, and {}", i / width, a.str(), whose, b.str());
  }
  return std::nullopt;
}

LazyBufferPtr stored_input(const ProgramStep& input, const std::string& device) {
  return array(input, input.shape, device, [](std::size_t i) { return i; });
}

std::vector<LazyBufferPtr> inputs_of(const TensorProgram& program, const Mode& mode,
                                     std::size_t turn) {
  std::vector<LazyBufferPtr> inputs;
  for (const ProgramStep& s : program.steps) {
    if (s.name != "input") continue;
    inputs.push_back(
        mode.from_host
            ? at_strides(s, hash_mix(hash_bytes(program.str()), inputs.size()), mode.device)
            : array(s, s.shape, mode.device, [&](std::size_t i) { return i + turn; }));
  }
  return inputs;
}

std::vector<LazyBufferPtr> build_all(const TensorProgram& program, const Mode& mode,
                                     std::span<const LazyBufferPtr> inputs,
                                     const SymbolicSizes& symbolic) {
  std::vector<LazyBufferPtr> values;
  std::size_t next = 0;
  const auto now = [&](const LazyBufferPtr& x) { realize(std::vector{x}, symbolic.values()); };
  for (const ProgramStep& s : program.steps) {
    LazyBufferPtr v;
    // On the device of the first operand.
    const auto arg = [&](std::size_t i) {
      const LazyBufferPtr& x = values[static_cast<std::size_t>(s.of[i])];
      return i == 0 ? x : x->copy_to_device(values[static_cast<std::size_t>(s.of[0])]->device());
    };
    if (s.name == "input") {
      v = inputs[next++];
    } else if (s.name == "const") {
      v = LazyBuffer::constant(value_of(s, 0), symbolic.of(s.shape), mode.device);
    } else if (is_movement(s.name)) {
      v = apply_movement(*arg(0), symbolic.of(s.movement), &LazyBuffer::stride);
    } else if (s.name == "realize") {
      v = arg(0);
      if (mode.as_written) now(v);
    } else if (s.name == "contiguous") {
      v = mode.as_written ? arg(0)->contiguous() : arg(0);
    } else if (s.name == "copy") {
      const std::string home = arg(0)->device();
      const std::string far = home == mode.device ? mode.other() : mode.device;
      v = mode.as_written ? arg(0)->copy_to_device(far)->copy_to_device(home) : arg(0);
    } else if (s.name == "away" || s.name == "back") {
      v = arg(0);
      if (mode.as_written) v = v->copy_to_device(s.name == "away" ? mode.other() : mode.device);
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
      v = LazyBuffer::e(op_of(s.name), of, arg_of(s.name));
    }
    if (mode.contiguous_each) v = v->contiguous();
    if (mode.realize_each) now(v = v->contiguous());
    values.push_back(std::move(v));
  }
  return values;
}

LazyBufferPtr build(const TensorProgram& program, const Mode& mode,
                    std::span<const LazyBufferPtr> inputs, const SymbolicSizes& symbolic) {
  return build_all(program, mode, inputs, symbolic)
      .back()
      ->copy_to_device(mode.device)
      ->contiguous();
}

}  // namespace touchstone::fuzz
