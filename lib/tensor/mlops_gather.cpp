#include <algorithm>
#include <memory>
#include <type_traits>

#include "touchstone/dtype/storage.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone::mlops {
namespace {

using Steps = std::vector<std::int64_t>;

// `shape` with leading axes of size 1 up to `rank`.
Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape all(rank - shape.size(), sint(1));
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

Shape row_of(const Shape& table) { return {table.begin() + 1, table.end()}; }

// The strides of a contiguous array of `shape` when broadcast to `all`: 0 along repeated axes.
Steps steps_in(const Shape& shape, const Shape& all) {
  const Shape sizes = with_rank(shape, all.size());
  Steps steps(all.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0; step *= sizes[i].as_int())
    if (sizes[i] != sint(1)) steps[i] = step;
  return steps;
}

bool is_number(const sint& s) { return s.is_int(); }

// The same sums if a size is a variable: compares each row with each position.
Tensor by_comparison(const Tensor& terms, const Tensor& positions, const Shape& table) {
  const Shape row = with_rank(row_of(table), terms.shape().size());
  Shape wide(1, table[0]);
  wide.insert(wide.end(), row.size(), sint(1));
  const Tensor rows =
      Tensor::arange(0, table[0].as_int(), 1, {DType::Int64, terms.device()}).reshape(wide);
  const Tensor zero = Tensor::zeros({}, {terms.dtype(), terms.device()});
  const Tensor kept = Tensor::where(
      positions.reshape(with_rank(positions.shape(), terms.shape().size())).unsqueeze(0) == rows,
      terms.unsqueeze(0), zero);
  std::vector<int> axes;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] == sint(1)) axes.push_back(static_cast<int>(i) + 1);
  return (axes.empty() ? kept : kept.sum(axes)).cast(terms.dtype()).reshape(table);
}

// Throws IndexError for the first position, by number, outside [0, size).
void check(std::span<const std::int64_t> positions, std::int64_t size, const View& numbers) {
  IndexFault fault;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0 && positions[i] < size) continue;
    std::int64_t number = numbers.offset().as_int();
    auto left = static_cast<std::int64_t>(i);
    for (std::size_t axis = numbers.shape().size(); axis-- > 0;) {
      const std::int64_t along = numbers.shape()[axis].as_int();
      number += left % along * numbers.strides()[axis].as_int();
      left /= along;
    }
    fault = std::min(fault, IndexFault{number, positions[i], size});
  }
  raise_if_found(fault);
}

std::span<const std::int64_t> positions_in(const Buffer& buffer) {
  return {static_cast<const std::int64_t*>(buffer.memory()),
          static_cast<std::size_t>(buffer.size())};
}

// How terms are added to the table rows selected by the positions.
struct Route {
  Steps sizes;            // of the terms
  Steps table, position;  // strides along the axes of the terms
  std::int64_t rows = 0, row_size = 0;
  std::optional<View> numbers;  // of the positions
};

// Calls add(element of the table, term) in row-major order of the terms.
template <class Add>
void each_term(const Route& route, std::span<const std::int64_t> positions, const Add& add) {
  const std::size_t rank = route.sizes.size();
  const std::size_t last = rank - 1;
  Steps at(rank, 0);
  std::int64_t in_row = 0, in_positions = 0, term = 0;
  while (true) {
    for (std::int64_t i = 0; i < route.sizes[last]; ++i, ++term) {
      const std::int64_t row =
          positions[static_cast<std::size_t>(in_positions + i * route.position[last])];
      if (row >= 0 && row < route.rows)
        add(row * route.row_size + in_row + i * route.table[last], term);
    }
    std::size_t axis = last;
    while (axis > 0) {
      --axis;
      in_row += route.table[axis];
      in_positions += route.position[axis];
      if (++at[axis] < route.sizes[axis]) break;
      in_row -= at[axis] * route.table[axis];
      in_positions -= at[axis] * route.position[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

template <class T>
void scatter_add(const Route& route, const Buffer& terms, std::span<const std::int64_t> positions,
                 Buffer& out) {
  using Sum =
      std::conditional_t<is_float_storage<T>, double,
                         std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, std::uint64_t>>;
  const T* const from = static_cast<const T*>(terms.memory());
  std::vector<Sum> sums(static_cast<std::size_t>(out.size()));
  each_term(route, positions, [&](std::int64_t to, std::int64_t term) {
    Sum& sum = sums[static_cast<std::size_t>(to)];
    if constexpr (std::is_same_v<T, bool>)
      sum = sum != 0 || from[term] ? 1 : 0;
    else
      sum += static_cast<Sum>(convert<Sum>(from[term]));
  });
  T* const to = static_cast<T*>(out.memory());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if constexpr (is_float_storage<T> && !std::is_same_v<T, double>)
      to[i] = convert<T>(static_cast<float>(sums[i]));
    else
      to[i] = static_cast<T>(sums[i]);
  }
}

}  // namespace

LazyBufferPtr Gather::forward(Inputs inputs) {
  LazyBufferPtr x = inputs[0];
  const LazyBufferPtr& positions = inputs[1];
  const Shape row = row_of(x->shape()), all = broadcast_shape(row, positions->shape());
  if (x->is_const_base()) x = x->contiguous();  // before it is broadcast
  Shape table = with_rank(row, all.size()), wide = all;
  table.insert(table.begin(), x->shape()[0]);
  wide.insert(wide.begin(), x->shape()[0]);
  const Shape places = with_rank(positions->shape(), all.size());
  return LazyBuffer::gather(
      x->reshape(table)->expand(wide), positions->reshape(places)->expand(all),
      numbers_ ? std::optional(numbers_->reshape(places).expand(all)) : std::nullopt);
}

Gradients Gather::backward(const BackwardPass& pass) {
  const Shape& table = pass.inputs[0].shape();
  if (table[0].is_int() && !std::ranges::all_of(pass.gradient.shape(), is_number))
    return {by_comparison(pass.gradient, pass.inputs[1], table), std::nullopt};
  return {touchstone::apply<ScatterAdd>({pass.gradient, pass.inputs[1]}, table, numbers_),
          std::nullopt};
}

// Each device adds up its own terms. If they are sharded along an axis of the table's rows, it
// makes that part of the table; else it makes a whole table, and the tables are added up.
LazyBufferPtr ScatterAdd::on_several(const LazyBufferPtr& terms, const LazyBufferPtr& positions) {
  const Shape &all = terms->shape(), row = row_of(table_);
  const int before_positions = static_cast<int>(all.size() - positions->shape().size()),
            before_row = static_cast<int>(all.size()) - static_cast<int>(row.size());
  std::optional<int> axis = terms->axis();
  if (!axis && positions->axis()) axis = *positions->axis() + before_positions;
  const auto along = [&](const Shape& shape, int before) {
    if (!axis || *axis < before) return std::optional<int>();
    const int own = *axis - before;
    return shape[static_cast<std::size_t>(own)] == sint(1) ? std::nullopt : std::optional(own);
  };
  const std::string& devices = terms->device();
  const LazyBufferPtr own_terms = terms->place(devices, axis),
                      own_positions =
                          positions->place(devices, along(positions->shape(), before_positions));
  const std::optional<int> of_row = along(row, before_row);
  const std::size_t count = terms->devices().size();
  Shape local = table_;
  if (of_row) {
    sint& size = local[static_cast<std::size_t>(*of_row) + 1];
    size = size.as_int() / static_cast<std::int64_t>(count);
  }
  std::vector<LazyBufferPtr> parts;
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<ShapeTracker> numbers = numbers_;
    if (const auto own = along(positions->shape(), before_positions); numbers && own)
      numbers =
          numbers->shrink(part_mask(positions->shape(), *own, static_cast<std::int64_t>(i), count));
    const LazyBufferPtr mine[] = {own_terms->part(i), own_positions->part(i)};
    parts.push_back(ScatterAdd(local, std::move(numbers)).forward(mine));
  }
  if (!axis) return LazyBuffer::stack(std::move(parts), devices, table_, std::nullopt);
  if (of_row) return LazyBuffer::stack(std::move(parts), devices, table_, *of_row + 1);
  Shape one = table_, stacked = table_;
  one.insert(one.begin(), 1);
  stacked.insert(stacked.begin(), static_cast<std::int64_t>(count));
  for (LazyBufferPtr& part : parts) part = part->reshape(one);
  return LazyBuffer::stack(std::move(parts), devices, stacked, 0)
      ->r(Op::ReduceSum, {0})
      ->reshape(table_);
}

LazyBufferPtr ScatterAdd::forward(Inputs inputs) {
  const LazyBufferPtr &terms = inputs[0], &positions = inputs[1];
  if (touchstone::elements(table_) == sint(0) || terms->st().size() == sint(0))
    return LazyBuffer::constant(Scalar::from_int(terms->dtype(), 0), table_, terms->device());
  const Shape &all = terms->shape(), row = row_of(table_);
  if (!std::ranges::all_of(all, is_number) || !std::ranges::all_of(table_, is_number))
    throw ShapeError(
        fmt::format("scatter_add: terms of shape {} for a table of {}; expected numbers, "
                    "not variables: take the largest size and shrink",
                    str(all), str(table_)));
  if (terms->several() && terms->dtype() != DType::Bool) return on_several(terms, positions);
  Route route;
  for (const sint& size : all) route.sizes.push_back(size.as_int());
  route.table = steps_in(row, all);
  route.position = steps_in(positions->shape(), all);
  if (route.sizes.empty()) {
    route.sizes = {1};
    route.table = route.position = {0};
  }
  route.rows = table_[0].as_int();
  route.row_size = touchstone::elements(row).as_int();
  if (numbers_) route.numbers = numbers_->views().back();
  auto function = std::make_shared<CustomFunction>();
  function->name = "scatter_add";
  function->run = [route](Buffer& out, std::span<Buffer* const> in) {
    const std::span<const std::int64_t> positions_of = positions_in(*in[1]);
    if (route.numbers) check(positions_of, route.rows, *route.numbers);
    with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      scatter_add<T>(route, *in[0], positions_of, out);
    });
  };
  return LazyBuffer::custom(std::move(function), {terms, positions}, table_, terms->dtype(),
                            terms->device());
}

LazyBufferPtr last_writers(const LazyBufferPtr& positions, std::int64_t size,
                           const ShapeTracker& numbers) {
  Shape places = positions->shape();
  if (!std::ranges::all_of(places, is_number))
    throw ShapeError(
        fmt::format("scatter: positions of shape {}; expected numbers, not variables: take "
                    "the largest size and shrink",
                    str(places)));
  const std::int64_t along = places.back().as_int();
  places.back() = size;
  if (positions->st().size() == sint(0))
    return LazyBuffer::constant(Scalar::of(std::int64_t{-1}), places, positions->device());
  if (size == 0)
    throw ShapeError(fmt::format("scatter: positions of shape {} in an axis of no elements",
                                 str(positions->shape())));
  auto function = std::make_shared<CustomFunction>();
  function->name = "last_writers";
  function->run = [size, along, view = numbers.views().back()](Buffer& out,
                                                               std::span<Buffer* const> in) {
    const std::span<const std::int64_t> at = positions_in(*in[0]);
    check(at, size, view);
    const std::span to(static_cast<std::int64_t*>(out.memory()),
                       static_cast<std::size_t>(out.size()));
    std::ranges::fill(to, -1);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto k = static_cast<std::int64_t>(i);
      to[static_cast<std::size_t>(k / along * size + at[i])] = k % along;
    }
  };
  return LazyBuffer::custom(std::move(function), {positions}, places, DType::Int64,
                            positions->device());
}

Gradients ScatterAdd::backward(const BackwardPass& pass) {
  return {touchstone::apply<Gather>({pass.gradient, pass.inputs[1]}, numbers_), std::nullopt};
}

}  // namespace touchstone::mlops
