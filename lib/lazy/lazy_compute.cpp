// The LazyBuffer ops that compute: elementwise, cast, reduce.
#include <algorithm>
#include <numeric>
#include <utility>

#include "touchstone/device/config.h"
#include "touchstone/lazy/fold.h"
#include "touchstone/ops/accepted_types.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone {
namespace {

void check_sources(Op op, std::span<const LazyBufferPtr> srcs, const OpArg& arg) {
  const auto* function = std::get_if<FunctionArg>(&arg);
  if (op == Op::Function ? function == nullptr : !is_elementwise(op) || op == Op::Cast)
    throw Error(fmt::format("e: {} is not an elementwise op without argument", name(op)));
  const int arity = function != nullptr ? info(function->function).arity : info(op).arity;
  if (static_cast<int>(srcs.size()) != arity)
    throw Error(fmt::format("{} takes {} source(s), {} given",
                            function != nullptr ? info(function->function).name : name(op), arity,
                            srcs.size()));
  for (const LazyBufferPtr& s : srcs) {
    if (s->shape() != srcs[0]->shape())
      throw ShapeError(fmt::format("{}: shapes {} and {} differ; expand or reshape one first",
                                   name(op), str(srcs[0]->shape()), str(s->shape())));
    if (s->device() != srcs[0]->device())
      throw BufferError(fmt::format("{}: sources are on {} and {}; copy one to the other device",
                                    name(op), srcs[0]->device(), s->device()));
  }
}

DType check_types(Op op, std::span<const LazyBufferPtr> srcs) {
  const std::size_t first = op == Op::Where ? 1 : 0;
  if (op == Op::Where && !is_bool(srcs[0]->dtype()))
    throw DTypeError(fmt::format("WHERE: the condition is {}, not bool; compare it with 0",
                                 name(srcs[0]->dtype())));
  const DType dtype = srcs[first]->dtype();
  for (const LazyBufferPtr& s : srcs.subspan(first))
    if (s->dtype() != dtype)
      throw DTypeError(fmt::format("{}: dtypes {} and {} differ; cast one", name(op), name(dtype),
                                   name(s->dtype())));
  if (!takes(op, dtype))
    throw DTypeError(fmt::format("{} takes {}, not {}; cast first", name(op),
                                 accepted(info(op).types), name(dtype)));
  return op == Op::CmpLt || op == Op::CmpEq ? DType::Bool : dtype;
}

// The sum of n equal values, rounded once, if one multiplication gives it.
std::optional<Scalar> sum_of_equal(const Scalar& x, std::int64_t n) {
  const DType d = x.dtype();
  if (is_integer(d) && sum_accumulator(d) == d)
    return Scalar::from_bits(d, x.bits() * static_cast<std::uint64_t>(n));
  // 24 bits of value and 29 of count: the product is exact in double.
  if (d == DType::Float32 && n < (std::int64_t{1} << 29) && x.to_double() != 0.0)
    return Scalar::from_double(d, x.to_double() * static_cast<double>(n));
  return std::nullopt;
}

std::vector<int> checked_axes(Op op, std::vector<int> axes, const Shape& shape) {
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<int>(shape.size()))
      throw ShapeError(fmt::format("{}: axis {} is outside [0, {}) of shape {}", name(op), axes[i],
                                   shape.size(), str(shape)));
    if (i > 0 && axes[i] == axes[i - 1])
      throw ShapeError(
          fmt::format("{}: axis {} is given twice for shape {}", name(op), axes[i], str(shape)));
  }
  return axes;
}

}  // namespace

LazyBufferPtr LazyBuffer::e(Op op, std::vector<LazyBufferPtr> srcs, OpArg arg) {
  check_sources(op, srcs, arg);
  const DType dtype = check_types(op, srcs);
  if (LazyBufferPtr same = lazy::folded(op, srcs)) return same;
  std::string device = srcs[0]->device();
  Shape shape = srcs[0]->shape();
  return make_base(std::move(device), dtype, std::move(shape), op, std::move(arg), std::move(srcs));
}

LazyBufferPtr LazyBuffer::cast(DType to) {
  if (to == dtype_) return shared_from_this();
  if (const auto value = constant_value()) return constant(convert(*value, to), shape(), device_);
  return make_base(device_, to, shape(), Op::Cast, CastArg{to, false}, {shared_from_this()});
}

LazyBufferPtr LazyBuffer::bitcast(DType to) {
  if (to == dtype_) return shared_from_this();
  if (itemsize(to) != itemsize(dtype_))
    throw DTypeError(fmt::format("bitcast: {} has {} byte(s), {} has {}; cast converts instead",
                                 name(dtype_), itemsize(dtype_), name(to), itemsize(to)));
  if (is_bool(to))
    throw DTypeError(
        fmt::format("bitcast: {} may hold other bits than 0 and 1; compare with 0", name(dtype_)));
  if (const auto value = constant_value())
    return constant(touchstone::bitcast(*value, to), shape(), device_);
  if (is_base() && !is_realized() && op_ == Op::Cast && std::get<CastArg>(arg_).bitcast)
    return srcs_[0]->bitcast(to);  // bits are unchanged in between
  return make_base(device_, to, shape(), Op::Cast, CastArg{to, true}, {shared_from_this()});
}

LazyBufferPtr LazyBuffer::r(Op op, std::vector<int> axes) {
  if (!is_reduce(op)) throw Error(fmt::format("r: {} is not a reduce", name(op)));
  axes = checked_axes(op, std::move(axes), shape());
  std::erase_if(axes, [&](int a) { return shape()[static_cast<std::size_t>(a)] == sint(1); });
  if (axes.empty()) return shared_from_this();
  Shape reduced = shape();
  std::int64_t count = 1;  // elements per result; -1 if symbolic
  for (const int a : axes) {
    sint& size = reduced[static_cast<std::size_t>(a)];
    count = count >= 0 && size.is_int() ? checked_mul(count, size.as_int()) : -1;
    size = 1;
  }
  const bool sums = op == Op::ReduceSum;
  if (count == 0)
    return constant(sums ? Scalar::from_int(dtype_, 0) : least_of(dtype_), reduced, device_);
  if (const auto value = constant_value(); value && count > 0)
    if (const auto whole = sums ? sum_of_equal(*value, count) : value)
      return constant(*whole, reduced, device_);
  if (several()) return r_whole(op, std::move(axes));  // shards cannot be split differently
  const Config& config = Config::current();
  if (config.on(Switch::SimplifySumReshapeExpandSum))
    if (LazyBufferPtr made = r_of_copies(op, axes)) return made;
  if (const auto split = split_reduce(st_, axes, config.reduceop_split_threshold)) {
    const auto at = static_cast<std::size_t>(split->axis);
    Shape chunked = shape(), left = shape();
    left[at] = chunked[at] = sint(shape()[at].as_int() / split->factor);
    chunked.insert(chunked.begin() + split->axis + 1, sint(split->factor));
    const LazyBufferPtr parts = reshape(chunked)->r_whole(op, {split->axis + 1})->reshape(left);
    std::erase_if(axes, [&](int a) { return left[static_cast<std::size_t>(a)] == sint(1); });
    return axes.empty() ? parts : parts->r_whole(op, std::move(axes));
  }
  return r_whole(op, std::move(axes));
}

LazyBufferPtr LazyBuffer::r_whole(Op op, std::vector<int> axes) {
  Shape reduced = shape();
  for (const int a : axes) reduced[static_cast<std::size_t>(a)] = 1;
  const DType accumulator = op == Op::ReduceSum ? sum_accumulator(dtype_) : dtype_;
  return make_base(device_, dtype_, std::move(reduced), op, ReduceArg{std::move(axes), accumulator},
                   {shared_from_this()});
}

LazyBufferPtr LazyBuffer::r_of_copies(Op op, const std::vector<int>& axes) {
  const std::vector<std::optional<sint>> strides = real_strides(st_);
  std::vector<int> left;    // axes to reduce
  std::int64_t copies = 1;  // of each term, along the other axes
  Mask first = whole_mask(shape());
  for (const int a : axes) {
    const auto at = static_cast<std::size_t>(a);
    if (strides[at] != sint(0) || !shape()[at].is_int()) {
      left.push_back(a);
      continue;
    }
    copies = checked_mul(copies, shape()[at].as_int());
    first[at].second = 1;
  }
  if (copies == 1) return nullptr;
  const bool sums = op == Op::ReduceSum && !is_bool(dtype_);
  // A float sum is rounded once: for equal terms it is a rounded product.
  const DType wide = sum_accumulator(dtype_);
  constexpr std::int64_t kExact32 = 1 << 24, kExact64 = std::int64_t{1} << 53;
  if (sums && is_float(dtype_) &&
      (!left.empty() || copies > (wide == DType::Float64 ? kExact64 : kExact32)))
    return nullptr;
  const LazyBufferPtr once = shrink(first)->r(op, left);
  if (!sums) return once;
  const LazyBufferPtr term = is_float(dtype_) ? once->cast(wide) : once;
  return e(Op::Mul,
           {term, constant(Scalar::from_int(term->dtype(), copies), term->shape(), device_)})
      ->cast(dtype_);
}

std::optional<ReduceSplit> split_reduce(const ShapeTracker& x, std::span<const int> axes,
                                        std::int64_t threshold) {
  constexpr std::int64_t kLargest = 256, kLeast = 16;
  constexpr double kWorthwhile = 0.1;
  std::int64_t per_result = 1;
  for (const sint& s : x.shape())
    if (!s.is_int() || s.as_int() == 0) return std::nullopt;
  for (const int a : axes) per_result *= x.shape()[static_cast<std::size_t>(a)].as_int();
  if (per_result < threshold) return std::nullopt;

  const std::vector<std::optional<sint>> strides = real_strides(x);
  std::optional<std::tuple<double, std::int64_t, int>> best;
  for (const int a : axes) {
    const auto at = static_cast<std::size_t>(a);
    const std::int64_t factor = std::gcd(kLargest, x.shape()[at].as_int());
    const std::int64_t stride =
        strides[at] && strides[at]->is_int() ? std::abs(strides[at]->as_int()) : 0;
    const double score = stride == 0 ? std::numeric_limits<double>::infinity()
                                     : static_cast<double>(factor) / static_cast<double>(stride);
    best = std::max(best, std::optional(std::tuple(score, factor, a)));
  }
  if (!best || std::get<1>(*best) < kLeast || std::get<0>(*best) < kWorthwhile) return std::nullopt;
  return ReduceSplit{std::get<2>(*best), std::get<1>(*best)};
}

}  // namespace touchstone
