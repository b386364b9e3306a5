#include "touchstone/tensor/indexing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

void check_positions(const char* who, const Tensor& at) {
  if (!is_integer(at.dtype()))
    throw DTypeError(
        fmt::format("{}: positions of {}; expected integers: cast them, or give a bool tensor "
                    "to index()",
                    who, name(at.dtype())));
}

// Checks positions that are known before anything runs: constants and host data.
void check_range(const char* who, const Tensor& at, std::int64_t size, const Tensor& x) {
  const bool constant = at.lazy()->constant_value().has_value();
  if ((!constant && !at.node()->given) || at.elements() == 0) return;
  const Tensor seen = constant ? at.shrink(Mask(at.shape().size(), {0, 1})) : at;
  with_storage(at.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (const T position : seen.read<T>())
        if (std::cmp_less(position, -size) || std::cmp_greater_equal(position, size))
          throw ShapeError(
              fmt::format("{}: position {} is outside an axis of {} elements of shape {}", who,
                          position, size, str(x.shape())));
  });
}

Tensor positions(const Tensor& x, std::int64_t count) {
  return Tensor::arange(0, count, 1, {DType::Int64, x.device()});
}

// Positions as int64, counted from the front; those out of range stay unchanged.
Tensor from_front(const Tensor& at, std::int64_t size) {
  const Tensor wide = at.detach().cast(DType::Int64);
  if (is_unsigned(at.dtype())) return wide;
  return Tensor::where(minimum(wide < 0, wide >= -size), wide + size, wide);
}

// x: (rest..., n), at: (rest..., k), from the front -> (rest..., k). The rests broadcast. `numbers`
// as in mlops::Gather.
Tensor chosen(const Tensor& x, const Tensor& at, std::optional<ShapeTracker> numbers) {
  return touchstone::apply<mlops::Gather>({x.movedim(-1, 0).unsqueeze(-1), at}, std::move(numbers));
}

// Numbers the elements of a tensor of `shape` whose `axis` was moved to the end.
ShapeTracker in_order(const Shape& shape, int axis) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return ShapeTracker::contiguous(shape).permute(order);
}

// The checked arguments of gather and scatter, with the axis last.
struct Aligned {
  Tensor x, at;
  int axis;
  ShapeTracker numbers;  // of the positions, as given
};
Aligned aligned(const char* who, const Tensor& x, int axis, const Tensor& at) {
  check_positions(who, at);
  const int normal = x.normal_axis(axis);
  bool fits = at.rank() == x.rank();
  Mask keep;
  for (std::size_t i = 0; fits && i < x.shape().size(); ++i) {
    const sint &size = x.shape()[i], &wanted = static_cast<int>(i) == normal ? size : at.shape()[i];
    fits = wanted == size || certainly_lt(wanted, size + 1);
    keep.emplace_back(0, wanted);
  }
  if (!fits)
    throw ShapeError(fmt::format(
        "{}: positions of shape {} in {} along axis {}: expected the same rank, and sizes "
        "of at most those "
        "of the tensor on the other axes; unsqueeze, expand or shrink",
        who, str(at.shape()), str(x.shape()), axis));
  check_range(who, at, x.size(normal), x);
  return {x.shrink(keep).movedim(normal, -1), from_front(at, x.size(normal)).movedim(normal, -1),
          normal, in_order(at.shape(), normal)};
}

// Moves the last axis of `block` back and pads to `shape` with zeros (false).
Tensor grown(const Tensor& block, int axis, const Shape& shape) {
  const Tensor placed = block.movedim(-1, axis);
  Padding padding;
  for (std::size_t i = 0; i < shape.size(); ++i)
    padding.emplace_back(0, shape[i] - placed.shape()[i]);
  return placed.pad(padding);
}

void check_source(const char* who, const Tensor& x, const Tensor& at, const Tensor& source) {
  if (source.shape() != at.shape())
    throw ShapeError(fmt::format("{}: a source of shape {} for positions of shape {}; expand it",
                                 who, str(source.shape()), str(at.shape())));
  if (source.dtype() != x.dtype())
    throw DTypeError(fmt::format("{}: a source of {} for a tensor of {}; cast it", who,
                                 name(source.dtype()), name(x.dtype())));
}

// For each of the `n` elements of the last axis, how many elements of its row come before it.
Tensor ranks(const Tensor& x, Order order) {
  const Tensor a = x.unsqueeze(-1), b = x.unsqueeze(-2);  // b is compared with a
  Tensor before = order == Order::Ascending ? b < a : b > a, equal = a == b;
  if (is_float(x.dtype())) {
    const Tensor nan_a = a.isnan(), nan_b = b.isnan();
    const Tensor last = order == Order::Ascending ? nan_a : nan_b;
    before = maximum(before, minimum(last, nan_a != nan_b));
    equal = maximum(equal, minimum(nan_a, nan_b));
  }
  const Tensor place = positions(x, x.size(-1));
  const Tensor earlier = place < place.unsqueeze(-1);
  return maximum(before, minimum(equal, earlier)).sum({-1});
}

struct Basic {
  Tensor x;
  std::vector<std::pair<int, Tensor>> chosen;  // indexed axes and their positions
};

// Adds the axes and positions of an integer or bool part at `axis` of x. A bool tensor counts as
// one integer tensor per axis.
void add_positions(std::vector<std::pair<int, Tensor>>& all, const Tensor& x, int axis,
                   const Tensor& part) {
  if (!is_bool(part.dtype())) {
    check_positions("index", part);
    check_range("index", part, x.size(axis), x);
    all.emplace_back(axis, from_front(part, x.size(axis)));
    return;
  }
  const Shape covered(x.shape().begin() + axis, x.shape().begin() + axis + part.rank());
  if (part.rank() == 0 || part.shape() != covered)
    throw ShapeError(fmt::format("index: a mask of shape {} for sizes {} of {}; they must be equal",
                                 str(part.shape()), str(covered), str(x.shape())));
  const Tensor places = nonzero(part);
  for (int i = 0; i < part.rank(); ++i)
    all.emplace_back(axis + i, places.narrow(1, i, 1).squeeze(1));
}

int axes_of(const Index& part) {
  const auto* tensor = std::get_if<Tensor>(&part.part());
  if (tensor != nullptr) return is_bool(tensor->dtype()) ? tensor->rank() : 1;
  return std::holds_alternative<std::int64_t>(part.part()) ||
                 std::holds_alternative<Slice>(part.part())
             ? 1
             : 0;
}

// Applies everything except tensors; collects the tensors and their axes.
Basic basic_parts(const Tensor& x, const std::vector<Index>& parts) {
  int named = 0, ellipses = 0;
  for (const Index& part : parts) {
    named += axes_of(part);
    ellipses += std::holds_alternative<Ellipsis>(part.part()) ? 1 : 0;
  }
  if (named > x.rank() || ellipses > 1)
    throw ShapeError(
        fmt::format("index: {} axes and {} ellipses for shape {}; at most its {} axes and one "
                    "ellipsis",
                    named, ellipses, str(x.shape()), x.rank()));
  const int skipped = x.rank() - named;
  Basic done{x, {}};
  int axis = 0;
  for (const Index& part : parts) {
    Tensor& now = done.x;
    if (std::holds_alternative<Ellipsis>(part.part())) {
      axis += skipped;
    } else if (std::holds_alternative<NewAxis>(part.part())) {
      now = now.unsqueeze(axis++);
    } else if (const auto* slice = std::get_if<Slice>(&part.part())) {
      std::vector<Slice> slices(static_cast<std::size_t>(axis));
      slices.push_back(*slice);
      now = now.slice(slices);
      ++axis;
    } else if (const auto* at = std::get_if<std::int64_t>(&part.part())) {
      const std::int64_t size = now.size(axis), front = *at < 0 ? *at + size : *at;
      if (front < 0 || front >= size)
        throw ShapeError(
            fmt::format("index: position {} is outside an axis of {} elements of shape {}", *at,
                        size, str(x.shape())));
      now = now.narrow(axis, front, 1).squeeze(axis);
    } else {
      const Tensor& tensor = std::get<Tensor>(part.part());
      add_positions(done.chosen, now, axis, tensor);
      axis += axes_of(part);
    }
  }
  return done;
}

}  // namespace

Tensor index(const Tensor& x, const std::vector<Index>& parts) {
  const OriginScope origin("index");
  const auto [base, chosen_axes] = basic_parts(x, parts);
  if (chosen_axes.empty()) return base;
  // Moves the indexed axes to the front and merges them; combines their positions.
  std::vector<int> order, axes;
  for (const auto& [axis, at] : chosen_axes) axes.push_back(axis);
  for (int i = 0; i < base.rank(); ++i)
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i);
  // The new axes replace the first indexed one, or go in front.
  const bool together = axes.back() - axes.front() + 1 == static_cast<int>(axes.size());
  const int before = together ? axes.front() : 0;
  std::int64_t count = 1;
  Shape shape;
  for (const auto& [axis, at] : chosen_axes) {
    count = checked_mul(count, base.size(axis));
    shape = broadcast_shape(shape, at.shape());
  }
  Tensor place = chosen_axes[0].second;
  if (chosen_axes.size() > 1) {
    const Tensor none = Tensor::zeros({}, {DType::Int64, x.device()});
    Tensor fault = none;  // 0, or -1 - i for the first axis i that is out of range
    place = none;
    for (std::size_t i = chosen_axes.size(); i-- > 0;) {
      const auto& [axis, at] = chosen_axes[i];
      const Tensor inside = minimum(at >= 0, at < base.size(axis));
      fault = Tensor::where(inside, fault, none - static_cast<std::int64_t>(i + 1));
    }
    for (const auto& [axis, at] : chosen_axes) place = place * base.size(axis) + at;
    place = Tensor::where(fault < 0, fault, place);
  }
  place = place.expand(shape);
  Shape table{count}, places = shape;
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    if (i == before) table.insert(table.end(), shape.size(), sint(1));
    table.emplace_back(base.shape()[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    if (i >= before) places.emplace_back(1);
  }
  if (before == static_cast<int>(order.size())) table.insert(table.end(), shape.size(), sint(1));
  order.insert(order.begin(), axes.begin(), axes.end());
  return touchstone::apply<mlops::Gather>(
      {base.permute(order).reshape(table), place.reshape(places)},
      ShapeTracker::contiguous(shape).reshape(places));
}

void set_index(Tensor& x, const std::vector<Index>& parts, const Tensor& values) {
  const OriginScope origin("set_index");
  if ((x.requires_grad() || values.requires_grad()) && gradients_are_noted())
    throw Error(
        "set_index: a gradient is required of the tensor or of the values, whose history would be "
        "lost; detach() them, set them in a NoGrad scope, or use scatter()");
  if (values.dtype() != x.dtype())
    throw DTypeError(fmt::format("set_index: the tensor is {}, but the values are {}; cast them",
                                 name(x.dtype()), name(values.dtype())));
  // Indexes the elements' numbers like the elements.
  const std::int64_t count = x.elements();
  const Tensor places = index(positions(x, count).reshape(x.shape()), parts);
  if (broadcast_shape(values.shape(), places.shape()) != places.shape())
    throw ShapeError(
        fmt::format("set_index: values of shape {} do not fit the {} elements chosen of {}",
                    str(values.shape()), str(places.shape()), str(x.shape())));
  const Shape flat{places.elements()};
  x.assign(scatter(x.detach().reshape({count}), 0, places.reshape(flat),
                   values.detach().expand(places.shape()).reshape(flat))
               .reshape(x.shape()));
}
void set_index(Tensor& x, const std::vector<Index>& parts, Number value) {
  set_index(x, parts, Tensor(LazyBuffer::constant(value.as(x.dtype()), {}, x.device())));
}

Tensor take(const Tensor& x, const Tensor& at, int axis) {
  const OriginScope origin("take");
  check_positions("take", at);
  const int normal = x.normal_axis(axis);
  std::vector<Index> parts(static_cast<std::size_t>(normal), Index(Slice{}));
  parts.emplace_back(at);
  return index(x, parts);
}

Tensor take(const Tensor& x, const std::vector<std::int64_t>& at, int axis) {
  const OriginScope origin("take");
  const std::int64_t size = x.size(axis);
  for (const std::int64_t i : at)
    if (i < -size || i >= size)
      throw ShapeError(
          fmt::format("take: position {} is outside axis {} of shape {}", i, axis, str(x.shape())));
  return take(x, Tensor::from<std::int64_t>(at, {static_cast<std::int64_t>(at.size())}, x.device()),
              axis);
}

Tensor gather(const Tensor& x, int axis, const Tensor& at) {
  const OriginScope origin("gather");
  const Aligned a = aligned("gather", x, axis, at);
  return chosen(a.x, a.at, a.numbers).movedim(-1, a.axis);
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& at, const Tensor& source) {
  const OriginScope origin("scatter_add");
  check_source("scatter_add", x, at, source);
  const Aligned a = aligned("scatter_add", x, axis, at);
  Shape table = a.x.shape();  // (rest..., n) as (n, rest..., 1)
  table.insert(table.begin(), table.back());
  table.back() = 1;
  const Tensor sums =
      touchstone::apply<mlops::ScatterAdd>({source.movedim(a.axis, -1), a.at}, table, a.numbers);
  return x + grown(sums.squeeze(-1).movedim(0, -1), a.axis, x.shape());
}

Tensor scatter(const Tensor& x, int axis, const Tensor& at, const Tensor& source) {
  const OriginScope origin("scatter");
  check_source("scatter", x, at, source);
  const Aligned a = aligned("scatter", x, axis, at);
  const Tensor last(mlops::last_writers(a.at.lazy(), x.size(a.axis), a.numbers));
  const Tensor written = chosen(source.movedim(a.axis, -1), last, std::nullopt);
  return Tensor::where(grown(last + 1, a.axis, x.shape()) > 0, grown(written, a.axis, x.shape()),
                       x);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  const OriginScope origin("masked_fill");
  return Tensor::where(mask.expand(x.shape()), Tensor::full_like(x, value), x);
}

Tensor nonzero(const Tensor& x) {
  const OriginScope origin("nonzero");
  const std::vector<bool> truth = (is_bool(x.dtype()) ? x : x != 0).read<bool>();
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!truth[i]) continue;
    ++count;
    places.resize(places.size() + static_cast<std::size_t>(x.rank()));
    auto left = static_cast<std::int64_t>(i);
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      places[places.size() - static_cast<std::size_t>(x.rank() - axis)] = left % x.size(axis);
      left /= x.size(axis);
    }
  }
  return Tensor::from<std::int64_t>(places, {count, x.rank()}, x.device());
}

Tensor one_hot(const Tensor& labels, std::int64_t classes) {
  const OriginScope origin("one_hot");
  if (!is_integer(labels.dtype()) || classes < 0)
    throw DTypeError(
        fmt::format("one_hot: labels of {} in {} classes; expected integers, and 0 or more classes",
                    name(labels.dtype()), classes));
  return labels.unsqueeze(-1) == Tensor::arange(0, classes, 1, {labels.dtype(), labels.device()});
}

Tensor argsort(const Tensor& x, int axis, Order order) {
  const OriginScope origin("argsort");
  return topk(x, x.size(axis), axis, order).indices;
}
Sorted sort(const Tensor& x, int axis, Order order) {
  const OriginScope origin("sort");
  return topk(x, x.size(axis), axis, order);
}

Sorted topk(const Tensor& x, std::int64_t k, int axis, Order order) {
  const OriginScope origin("topk");
  const int normal = x.normal_axis(axis);
  if (k < 0 || k > x.size(normal))
    throw ShapeError(fmt::format("topk: {} elements of axis {} of shape {}; expected 0 to {}", k,
                                 axis, str(x.shape()), x.size(normal)));
  const Tensor rows = x.movedim(normal, -1);
  // The element at place i is the one with i elements before it.
  const Tensor rank = ranks(rows.detach(), order).contiguous().unsqueeze(-2);
  const Tensor at_place = rank == positions(x, k).cast(rank.dtype()).unsqueeze(-1);
  const Tensor indices =
      (at_place.cast(DType::Int32) * positions(x, x.size(normal)).cast(DType::Int32)).sum({-1});
  const Tensor values = chosen(rows, indices.contiguous().cast(DType::Int64), std::nullopt);
  return {values.movedim(-1, normal), indices.movedim(-1, normal)};
}

}  // namespace touchstone
