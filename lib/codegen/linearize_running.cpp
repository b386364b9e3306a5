// Reduces as several parallel running sums.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "touchstone/codegen/linearizer.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::codegen {

using symbolic::Node;

namespace {

// The loads in a reduce's terms that are contiguous along an axis.
std::vector<const LazyOp*> streams_of(const LazyOp& reduce, std::size_t axis) {
  std::vector<const LazyOp*> found, stack{reduce.src()[0].get()};
  std::unordered_set<const LazyOp*> seen;
  while (!stack.empty()) {
    const LazyOp* const node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second || is_reduce(node->op())) continue;
    if (lies_along(*node, axis)) found.push_back(node);
    for (const LazyOpPtr& s : node->src()) stack.push_back(s.get());
  }
  return found;
}

}  // namespace

// The rows of a block, if the loops contain only the terms.
std::vector<int> Linearizer::together_with(const LazyOp& reduce, int indices) const {
  const bool still = is_still(still_[&reduce], plan_.running.block_axis);
  if (rows_.empty() || indices != rows_[0] || still || reduces(reduce.src()[0])) return {indices};
  return rows_;
}

// Emits all of a reduce inside the open loops and closes its own loops.
int Linearizer::reduce_in_running_sums(const LazyOp& reduce, int indices) {
  const DType type = reduce.reduce_arg().accumulator;
  const Shape& shape = reduce.src()[0]->shape();
  const std::vector<int> rows = together_with(reduce, indices);
  std::vector<Indices> at;
  for (const int row : rows) at.push_back(indices_[static_cast<std::size_t>(row)]);
  const std::vector<std::size_t> axes = looped_axes(reduce);
  const Node terms = shape[axes.back()].node();
  Node all = terms;
  for (std::size_t i = 0; i + 1 < axes.size() && is_float_sum(reduce); ++i)
    all = all * shape[axes[i]].node();
  // Sums without terms would stay 0 without effect.
  std::int64_t sums = accumulators_of(reduce, plan_.running.count);
  if (const auto known = all.constant())
    sums = std::min(sums, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(
                              std::max<std::int64_t>(known.value(), 1)))));
  std::vector<int> accumulators;
  for (std::size_t row = 0; row < rows.size(); ++row)
    accumulators.push_back(define_accumulator(reduce, static_cast<int>(sums)));
  Node outer = 0;  // index over the loops outside the innermost
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    open_loop(shape[axes[i]], "r", at[0][axes[i]]);
    for (Indices& row : at) row[axes[i]] = at[0][axes[i]];
    outer = outer * shape[axes[i]].node() + at[0][axes[i]];
  }
  const Node count(sums);
  // Float sums continue with the next accumulator; order-free ones start again.
  const Node begin = is_float_sum(reduce) ? floor_mod(outer * terms, count) : Node(0);
  // A full round is treated like none, so that the rest obviously fits in one.
  const Node ahead = begin.constant() ? floor_mod(-begin, count) : count - begin;
  const Node head = symbolic::min(terms, ahead);
  const Node rounds = floor_div(terms - head, count);
  run_over(reduce, accumulators, at, {Node(0), Node(1), head, begin});
  run_over(reduce, accumulators, at, {head, rounds, count, Node(0)});
  const Node tail = floor_mod(terms - head, count);
  run_over(reduce, accumulators, at, {head + rounds * count, Node(1), tail, Node(0)});
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) builder_.close_loop();
  for (const int accumulator : accumulators) fold(reduce, accumulator, sums);
  const int first = builder_.int_const(0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const int sum = builder_.here({StepKind::LoadAcc, type, {accumulators[row], first}, {}});
    set_made(&reduce, rows[row], cast(sum, reduce.dtype()));
    if (finds_results_) add_result(reduce, rows[row], made(&reduce, rows[row]));
  }
  return made(&reduce, indices);
}

// Prefetches the cache lines for one round, the plan's number of rounds ahead.
void Linearizer::ask_rounds_ahead(const LazyOp& reduce, const std::vector<Indices>& first,
                                  std::size_t axis, std::int64_t terms) {
  constexpr std::int64_t kLine = 64;
  for (const LazyOp* load : streams_of(reduce, axis)) {
    const std::int64_t step = kLine / static_cast<std::int64_t>(itemsize(load->dtype()));
    const bool shared = real_strides(load->buffer().st, true)[plan_.running.block_axis] == sint(0);
    for (std::size_t row = 0; row < (shared ? 1 : first.size()); ++row)
      for (std::int64_t i = 0; i < terms; i += step) {
        Indices at = first[row];
        at[axis] = at[axis] + Node(plan_.ahead * plan_.running.count + i);
        ask_for(*load, at);
      }
  }
}

// Adds terms of the innermost axis, one per lane in turn.
void Linearizer::run_over(const LazyOp& reduce, const std::vector<int>& accumulators,
                          const std::vector<Indices>& at, const Rounds& rounds) {
  if (rounds.count.constant() == 0 || rounds.lanes.constant() == 0) return;
  const DType type = reduce.reduce_arg().accumulator;
  Node round = 0, lane;
  const bool several = rounds.count.constant() != 1;
  if (several) open_loop(sint(rounds.count), "r", round, plan_.unroll);
  const std::size_t axis = looped_axes(reduce).back();
  const Node first = rounds.begin + round * rounds.lanes;
  std::vector<Indices> inside = at;
  for (Indices& row : inside) row[axis] = first;
  if (several && plan_.ahead > 0)
    ask_rounds_ahead(reduce, inside, axis, rounds.lanes.constant().value());
  int counter = open_loop(sint(rounds.lanes), "l", lane);
  if (rounds.first.constant() != 0) counter = lower(rounds.first + lane, -1);
  for (std::size_t row = 0; row < inside.size(); ++row) {
    inside[row][axis] = first + lane;
    const int term = add_indices(std::move(inside[row]));
    for (const LazyOpPtr& part : parts_of(reduce)) evaluate(part.get(), term);
    const int before = builder_.here({StepKind::LoadAcc, type, {accumulators[row], counter}, {}});
    const int after = add_term(reduce, before, term);
    builder_.here({StepKind::Assign, type, {accumulators[row], after, counter}, {}});
  }
  builder_.close_loop();
  if (several) builder_.close_loop();
}

void Linearizer::fold(const LazyOp& reduce, int accumulator, std::int64_t sums) {
  const DType type = reduce.reduce_arg().accumulator;
  for (std::int64_t half = sums / 2; half > 0; half /= 2) {
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
