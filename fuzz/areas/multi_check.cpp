#include "touchstone/fuzz/areas/multi_check.h"

#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/areas/lazy_modes.h"
#include "touchstone/lazy/realize.h"

namespace touchstone::fuzz {
namespace {

// The same value on several devices and on one.
struct Both {
  LazyBufferPtr there, here;
};

std::string bytes_of(const LazyBufferPtr& x) {
  const HostArray array = to_host(x);
  return {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()};
}

std::int64_t count(const LazyBufferPtr& x) { return max_elements(x->shape()); }

class Sharded {
 public:
  Sharded(const TensorProgram& program, std::uint64_t choices, std::string here,
          std::span<const std::string> there, bool ring)
      : program_(program),
        bits_(choices),
        here_(std::move(here)),
        there_(Device::tuple(there)),
        n_(static_cast<std::int64_t>(there.size())),
        ring_(ring) {}

  std::optional<Checked> differs(const std::string& right) {
    Config config(Config::kDefaultOpt);
    config.kernelize.ring = ring_ ? 2 : 0;
    if ((next(2)) == 1) config.scheduler = Scheduler::Ranges;
    const ConfigScope scope(config);
    const Both out = build();
    const std::string is = bytes_of(out.there), must = bytes_of(out.here);
    if (auto wrong = compared(is, must, out.here->dtype(), "on one device, in that order"))
      return wrong;
    return rounded_ ? std::nullopt : compared(is, right, out.here->dtype(), "by definition");
  }

 private:
  std::uint64_t next(std::uint64_t below) {
    bits_ = hash_mix(bits_, 0x9e37);
    return (bits_ >> 20) % below;
  }

  // Sharded along any axis that divides, or replicated.
  LazyBufferPtr placed(const LazyBufferPtr& x) {
    std::vector<int> axes;
    for (int a = 0; a < x->rank(); ++a)
      if (x->shape()[static_cast<std::size_t>(a)].as_int() % n_ == 0) axes.push_back(a);
    if (n_ == 1 || axes.empty() || next(4) == 0) return x->place(there_, std::nullopt);
    const int axis = axes[next(axes.size())];
    return next(3) == 0 ? stacked(x, axis) : x->place(there_, axis);
  }

  // Sharding by hand: each device takes its part of its copy of the whole, realized or not.
  LazyBufferPtr stacked(const LazyBufferPtr& x, int axis) {
    const LazyBufferPtr whole = x->place(there_, std::nullopt);
    const std::int64_t size = x->shape()[static_cast<std::size_t>(axis)].as_int() / n_;
    std::vector<LazyBufferPtr> parts;
    for (std::int64_t i = 0; i < n_; ++i) {
      LazyBufferPtr part =
          whole->part(static_cast<std::size_t>(i))->shrink(shard_of(x->shape(), axis, i, size));
      if (next(4) == 0) {
        part = part->contiguous();
        realize(std::vector{part});
      }
      parts.push_back(std::move(part));
    }
    return LazyBuffer::stack(std::move(parts), there_, x->shape(), axis);
  }

  static Mask shard_of(const Shape& shape, int axis, std::int64_t i, std::int64_t size) {
    Mask keep;
    for (const sint& s : shape) keep.emplace_back(0, s);
    keep[static_cast<std::size_t>(axis)] = {i * size, (i + 1) * size};
    return keep;
  }

  template <class F>
  LazyBufferPtr or_whole(const LazyBufferPtr& x, const F& step) {
    try {
      return step(x);
    } catch (const ShapeError&) {
      return step(x->place(there_, std::nullopt));
    }
  }

  static LazyBufferPtr moved(const LazyBufferPtr& x, const MovementOp& op) {
    return apply_movement(*x, op, &LazyBuffer::stride);
  }

  Both build() {
    std::vector<Both> values;
    for (const ProgramStep& s : program_.steps) {
      const auto arg = [&](std::size_t i) { return values[static_cast<std::size_t>(s.of[i])]; };
      Both v = s.leaf() ? leaf(s) : step(s, arg);
      // Sometimes realizes it, or places it differently, midway.
      if (!s.leaf() && next(8) == 0) realize(std::vector{v.there});
      if (!s.leaf() && next(6) == 0) v.there = placed(v.there);
      values.push_back(std::move(v));
    }
    return values.back();
  }

  Both leaf(const ProgramStep& s) {
    const Shape shape(s.shape.begin(), s.shape.end());
    if (s.name == "const")
      return {LazyBuffer::constant(value_of(s, 0), shape, there_),
              LazyBuffer::constant(value_of(s, 0), shape, here_)};
    const LazyBufferPtr here = stored_input(s, here_);
    return {placed(here), here};
  }

  template <class Arg>
  Both step(const ProgramStep& s, const Arg& arg) {
    const auto both = [&](const auto& f) {
      return Both{or_whole(arg(0).there, f), f(arg(0).here)};
    };
    if (is_movement(s.name)) {
      // Strides other than 1 and -1 are applied to the copy on one device.
      const bool strides =
          std::ranges::any_of(s.movement.steps, [](std::int64_t k) { return k != 1 && k != -1; });
      if (strides)
        return {moved(arg(0).there->copy_to_device(here_), s.movement)->copy_to_device(there_),
                moved(arg(0).here, s.movement)};
      return both([&](const LazyBufferPtr& x) { return moved(x, s.movement); });
    }
    if (s.name == "contiguous") return both([](const auto& x) { return x->contiguous(); });
    if (s.name == "assign") return {assigned(arg(0).there, arg(1).there), arg(1).here};
    if (settles(s.name)) return arg(0);
    if (s.name == "gather")
      return {LazyBuffer::gather(arg(0).there, arg(1).there),
              LazyBuffer::gather(arg(0).here, arg(1).here)};
    if (s.name == "cast") return both([&](const auto& x) { return x->cast(parse_dtype(s.word)); });
    if (s.name == "bitcast")
      return both([&](const auto& x) { return x->bitcast(parse_dtype(s.word)); });
    if (is_reduce(op_of(s.name))) return reduced(arg(0), op_of(s.name), axes_of(s));
    std::vector<LazyBufferPtr> there, here;
    for (std::size_t i = 0; i < s.of.size(); ++i) {
      there.push_back(arg(i).there);
      here.push_back(arg(i).here);
    }
    const OpArg by = arg_of(s.name);
    return {LazyBuffer::e(op_of(s.name), there, by), LazyBuffer::e(op_of(s.name), here, by)};
  }

  // Assigns to memory that existed before and whose values are no longer read.
  static LazyBufferPtr assigned(const LazyBufferPtr& old, const LazyBufferPtr& value) {
    const LazyBufferPtr target = old->contiguous();
    realize(std::vector{target});
    if (target->realized() == nullptr && target->parts().empty()) return value;
    if (std::ranges::count(target->shape(), sint(0)) > 0) return value;  // no elements
    if (target->axis() != value->axis()) {
      try {
        (void)target->assign(value);
      } catch (const Error&) {
        return target->assign(value->place(target->device(), target->axis()));
      }
      throw BufferError("assign accepted a value sharded along another axis");
    }
    return target->assign(value);
  }

  Both reduced(const Both& x, Op op, const std::vector<int>& axes) {
    if (axes.empty()) return x;
    const LazyBufferPtr there = x.there->r(op, axes);
    const std::optional<int> axis = x.there->axis();
    if (!axis || std::ranges::count(axes, *axis) == 0 || op == Op::ReduceMax)
      return {there, x.here->r(op, axes)};
    rounded_ = rounded_ || is_float(x.here->dtype());
    const auto size = x.here->shape()[static_cast<std::size_t>(*axis)].as_int() / n_;
    std::vector<LazyBufferPtr> parts;
    for (std::int64_t i = 0; i < n_; ++i) {
      parts.push_back(x.here->shrink(shard_of(x.here->shape(), *axis, i, size))->r(op, axes));
    }
    return {there, ring_ ? along_ring(parts) : added_up(parts, 0)};
  }

  // Adds the parts in ring order, from device `first` on.
  static LazyBufferPtr added_up(const std::vector<LazyBufferPtr>& parts, std::size_t first) {
    LazyBufferPtr sum = parts[first];
    for (std::size_t step = 1; step < parts.size(); ++step)
      sum = LazyBuffer::e(Op::Add, {sum, parts[(first + step) % parts.size()]});
    return sum;
  }

  // Units of 32, 16, 8, 4, 2 or 1 elements, dealt to the devices from the first on.
  std::vector<std::int64_t> chunks(std::int64_t elements) const {
    std::int64_t unit = 1;
    while (unit < 32 && elements % (2 * unit) == 0) unit *= 2;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(n_), 0);
    for (std::int64_t k = 0; k < elements / unit; ++k)
      sizes[static_cast<std::size_t>(k % n_)] += unit;
    return sizes;
  }

  LazyBufferPtr along_ring(const std::vector<LazyBufferPtr>& parts) const {
    if (count(parts[0]) == 0) return parts[0];
    std::string bytes;
    std::size_t i = 0;
    std::int64_t begin = 0;
    for (const std::int64_t size : chunks(count(parts[0]))) {
      const LazyBufferPtr sum = added_up(parts, i++);
      if (size > 0) bytes += bytes_of(sum->reshape({count(sum)})->shrink({{begin, begin + size}}));
      begin += size;
    }
    const auto buffer =
        std::make_shared<Buffer>(Device::get(here_), parts[0]->dtype(), count(parts[0]));
    buffer->copy_in(std::as_bytes(std::span(bytes)));
    return LazyBuffer::from_buffer(buffer, parts[0]->shape());
  }

  std::optional<Checked> compared(const std::string& is, const std::string& must, DType d,
                                  const char* whose) const {
    const auto wrong = first_difference(d, must, is, whose);
    if (!wrong) return std::nullopt;
    return Checked::fail("multi",
                         fmt::format("{} on {} devices{}", *wrong, n_, ring_ ? " by ring" : ""));
  }

  const TensorProgram& program_;
  std::uint64_t bits_;
  std::string here_, there_;  // one device, and several
  std::int64_t n_;
  bool ring_;
  bool rounded_ = false;  // a float sum was added in another order than the definition's
};

}  // namespace

std::optional<Checked> multi_differs(const TensorProgram& program, const std::string& text,
                                     const std::string& right, const MultiDevices& on, bool every) {
  const std::uint64_t bits = hash_mix(hash_bytes(text), 5);
  // A device count that divides some size, if possible; otherwise nothing would be sharded.
  std::vector<std::size_t> numbers;
  for (std::size_t n = 2; n <= on.several.size(); ++n)
    for (const ProgramStep& s : program.steps)
      if (std::ranges::any_of(s.shape, [&](std::int64_t size) {
            return size % static_cast<std::int64_t>(n) == 0;
          })) {
        numbers.push_back(n);
        break;
      }
  numbers.push_back(1);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (const bool ring : {false, true}) {
      const bool chosen = i == (bits >> 8) % std::max<std::size_t>(1, numbers.size() - 1) &&
                          ring == ((bits >> 4 & 1) != 0);
      if (!every && !chosen) continue;
      const std::span<const std::string> there = std::span(on.several).first(numbers[i]);
      if (auto wrong = Sharded(program, hash_mix(bits, i), on.one, there, ring).differs(right))
        return wrong;
    }
  for (const std::string& name : on.several)
    if (name != on.one) Device::get(name).forget_runners();
  return std::nullopt;
}

}  // namespace touchstone::fuzz
