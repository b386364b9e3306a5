// Reduces as several running sums side by side.
#include "touchstone/codegen/linearizer.h"

namespace touchstone::codegen {

using symbolic::Node;

// Inside the loops that are open; all of the reduce, its loops closed again.
int Linearizer::reduce_in_running_sums(const LazyOp& reduce, int indices) {
  const DType type = reduce.reduce_arg().accumulator;
  const Shape& shape = reduce.src()[0]->shape();
  const int accumulator = define_accumulator(reduce, static_cast<int>(running_.count));
  Indices at = indices_[static_cast<std::size_t>(indices)];
  std::vector<std::size_t> axes;
  for (const int axis : reduce.reduce_arg().axes)
    if (shape[static_cast<std::size_t>(axis)] != sint(1))
      axes.push_back(static_cast<std::size_t>(axis));
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) open_loop(shape[axes[i]], "r", at[axes[i]]);
  const std::int64_t terms = shape[axes.back()].as_int(), rounds = terms / running_.count;
  run_over(reduce, accumulator, at, 0, rounds, running_.count);
  run_over(reduce, accumulator, at, rounds * running_.count, 1, terms % running_.count);
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) builder_.close_loop();
  fold(reduce, accumulator);
  const int first = builder_.int_const(0);
  return cast(builder_.here({StepKind::LoadAcc, type, {accumulator, first}, {}}), reduce.dtype());
}

// Terms [begin, begin + rounds * lanes) of the innermost axis, one of each lane in turn.
void Linearizer::run_over(const LazyOp& reduce, int accumulator, const Indices& at,
                          std::int64_t begin, std::int64_t rounds, std::int64_t lanes) {
  if (rounds == 0 || lanes == 0) return;
  const DType type = reduce.reduce_arg().accumulator;
  Node round = 0, lane;
  if (rounds > 1) open_loop(rounds, "r", round);
  const int counter = open_loop(lanes, "l", lane);
  Indices inside = at;
  std::size_t axis = 0;
  for (const int a : reduce.reduce_arg().axes)
    if (const auto i = static_cast<std::size_t>(a); reduce.src()[0]->shape()[i] != sint(1))
      axis = i;
  inside[axis] = Node(begin) + round * Node(lanes) + lane;
  const int term = evaluate(reduce.src()[0].get(), add_indices(std::move(inside)));
  const int before = builder_.here({StepKind::LoadAcc, type, {accumulator, counter}, {}});
  const int after = reduced(reduce, before, term);
  builder_.here({StepKind::Assign, type, {accumulator, after, counter}, {}});
  builder_.close_loop();
  if (rounds > 1) builder_.close_loop();
}

void Linearizer::fold(const LazyOp& reduce, int accumulator) {
  const DType type = reduce.reduce_arg().accumulator;
  for (std::int64_t half = running_.count / 2; half > 0; half /= 2) {
    Node lane;
    const int counter = open_loop(half, "l", lane);
    const int far = builder_.index(IndexOp::Add, {counter, builder_.int_const(half)});
    const int lower = builder_.here({StepKind::LoadAcc, type, {accumulator, counter}, {}});
    const int upper = builder_.here({StepKind::LoadAcc, type, {accumulator, far}, {}});
    const int sum = reduced(reduce, lower, upper);
    builder_.here({StepKind::Assign, type, {accumulator, sum, counter}, {}});
    builder_.close_loop();
  }
}

}  // namespace touchstone::codegen
