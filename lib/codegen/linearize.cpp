#include "touchstone/codegen/linearize.h"

#include <algorithm>
#include <limits>

#include "touchstone/codegen/c_functions.h"
#include "touchstone/codegen/linearizer.h"
#include "touchstone/codegen/merge_axes.h"
#include "touchstone/codegen/options_matter.h"
#include "touchstone/codegen/plan.h"
#include "touchstone/ops/decompose.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/views.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {

namespace codegen {

using symbolic::Node;

bool reduces_nothing(const LazyOp& reduce) {
  return std::ranges::any_of(reduce.reduce_arg().axes, [&](int axis) {
    return reduce.src()[0]->shape()[static_cast<std::size_t>(axis)] == sint(0);
  });
}

Linearizer::Linearizer(const Plan& plan, const CodegenOptions& options)
    : plan_(plan), kernel_(plan.kernel), room_(options.sizes), contract_(options.contract) {
  room_.staged_bytes = plan.staged_bytes;
  room_.packed_bytes = plan.packed_bytes;
  for (const Node& v : variables_of(kernel_)) {
    const std::string& name = symbolic::variable_name(v);
    variables_.push_back(name);
    names_[name] = builder_.value({StepKind::DefineVar, DType::Int64, {}, name});
  }
}

LinearKernel Linearizer::run() {
  LinearKernel linear;
  const auto reduces = std::ranges::count_if(
      ordered_nodes(kernel_), [](const LazyOp* node) { return is_reduce(node->op()); });
  if (reduces > 0) still_ = still_axes(kernel_);
  finds_results_ = reduces > 1 || plan_.running.block > 1;
  if (std::ranges::none_of(kernel_->shape(), [](const sint& s) { return s == sint(0); }))
    linear = plan_.lanes   ? store_in_lanes(*plan_.lanes)
             : plan_.tiles ? store_in_tiles(*plan_.tiles)
                           : store();
  linear.variables = variables_;
  linear.running_sums = plan_.running.count;
  return linear;
}

LinearKernel Linearizer::store() {
  Indices indices(kernel_->shape().size(), Node(0));
  const std::size_t rank = indices.size(), axis = plan_.peel ? *last_axis(kernel_->shape()) : rank;
  const std::vector<int> loops = open_output_loops(indices, 0, axis);
  if (plan_.peel)
    write_in_parts(*plan_.peel, indices, axis);
  else
    write_block(indices);
  while (builder_.inside_loop()) builder_.close_loop();
  return builder_.finish(split_of(loops, loops.empty() ? -1 : loops[0]));
}

// Writes the rows of a block of running sums, or the single output at the current indices.
void Linearizer::write_block(const Indices& first) {
  const RunningSums& running = plan_.running;
  for (std::int64_t row = 0; row < running.block; ++row) {
    Indices at = first;
    if (row > 0) at[running.block_axis] = first[running.block_axis] + Node(row);
    rows_.push_back(add_indices(std::move(at)));
  }
  for (const int row : rows_) write(row);
}

void Linearizer::write_in_parts(const Plan::Peel& peel, const Indices& indices, std::size_t axis) {
  const std::int64_t size = kernel_->shape()[axis].as_int();
  const std::int64_t ends[] = {peel.first, size - peel.last, size};
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (begin == end) continue;
    Indices inside = indices;
    const bool several = end - begin > 1;
    if (several) open_loop(end - begin, "i", inside[axis]);
    inside[axis] = inside[axis] + Node(begin);
    write(add_indices(std::move(inside)));
    if (several) builder_.close_loop();
    begin = end;
  }
}

void Linearizer::write(int indices) {
  const LazyOp* const root = kernel_->src()[0].get();
  const int value = evaluate(root, indices);
  const Node index =
      expr_idxs(kernel_->buffer().st, indices_[static_cast<std::size_t>(indices)]).index;
  builder_.here({StepKind::Store,
                 root->dtype(),
                 {global(0, root->dtype()), lower(index, indices), value},
                 {}});
}

int Linearizer::split_of(const std::vector<int>& loops, int best) const {
  return plan_.parallel ? loops.at(*plan_.parallel) : best;
}

// Opens loops over axes [from, to) of the output, outermost first; with blocks, over the first row
// of each.
std::vector<int> Linearizer::open_output_loops(Indices& indices, std::size_t from, std::size_t to) {
  std::vector<int> loops;
  for (std::size_t axis = from; axis < to; ++axis) {
    const std::int64_t rows = plan_.rows_along(axis);
    const sint size = plan_.loop_size(axis);
    if (size == sint(1)) continue;
    loops.push_back(open_loop(size, "i", indices[axis]));
    if (rows > 1) indices[axis] = indices[axis] * Node(rows);
  }
  return loops;
}

// Opens a loop over an axis and returns its counter; sets `index` to its variable.
int Linearizer::open_loop(const sint& size, const char* prefix, Node& index, std::int64_t unroll) {
  std::string name;
  do name = fmt::format("{}{}", prefix, counters_++);
  while (names_.contains(name));
  const int begin = builder_.int_const(0);
  const int end = lower(size.node(), -1);
  const bool runs = size.min().value_or(0) >= 1;
  const int copies = unroll > 1 ? builder_.int_const(unroll) : -1;
  const int counter = builder_.open_loop({begin, end, runs, copies}, name);
  names_[name] = counter;
  const std::int64_t most = size.max().value_or(std::numeric_limits<std::int64_t>::max());
  index = symbolic::variable(name, 0, std::max<std::int64_t>(most - 1, 0));
  loops_.emplace_back(index, counter);
  return counter;
}

// Uses an explicit stack, for expressions of any depth.
int Linearizer::evaluate(const LazyOp* root, int indices) {
  std::vector<Visit> stack{{root, indices}};
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (!top.entered && made(top.node, top.indices) != -1) {
      stack.pop_back();
    } else if (!top.entered) {
      top.entered = true;
      enter(stack);
    } else {
      const Visit done = top;
      stack.pop_back();
      set_made(done.node, done.indices, leave(done));
    }
  }
  return made(root, indices);
}

void Linearizer::enter(std::vector<Visit>& stack) {
  Visit& top = stack.back();
  const LazyOp* const node = top.node;
  if (!is_reduce(node->op())) {
    const int indices = top.indices;
    for (auto s = node->src().rbegin(); s != node->src().rend(); ++s)
      stack.push_back({s->get(), indices});
  } else if (!reduces_nothing(*node)) {
    if (const int known = finds_results_ ? known_result(*node, top.indices) : -1; known != -1) {
      set_made(node, top.indices, known);
      stack.pop_back();
      return;
    }
    const int depth = depth_of(*node, top.indices);
    if (depth < builder_.open_loops()) top.inside = builder_.go_out_to(depth);
    if (plan_.running.reduces.contains(node)) {
      const int result = reduce_in_running_sums(*node, top.indices);
      if (top.inside != -1) builder_.resume(top.inside);
      set_made(node, top.indices, result);
      stack.pop_back();
      return;
    }
    top.accumulator = define_accumulator(*node, {});
    auto [loops, indices] =
        open_reduce_loops(*node, indices_[static_cast<std::size_t>(top.indices)]);
    top.loops = loops;
    top.inner = add_indices(std::move(indices));
    const int inner = top.inner;
    for (const LazyOpPtr& part : parts_of(*node)) stack.push_back({part.get(), inner});
  }
}

std::pair<int, Linearizer::Indices> Linearizer::open_reduce_loops(const LazyOp& reduce,
                                                                  Indices indices,
                                                                  std::size_t apart) {
  const Shape& shape = reduce.src()[0]->shape();
  std::span<const int> all = reduce.reduce_arg().axes;
  std::vector<std::size_t> axes;
  for (const int axis : all.first(all.size() - apart))
    if (shape[static_cast<std::size_t>(axis)] != sint(1))
      axes.push_back(static_cast<std::size_t>(axis));
  for (const std::size_t axis : axes)
    open_loop(shape[axis], "r", indices[axis], axis == axes.back() ? plan_.unroll : 1);
  return {static_cast<int>(axes.size()), std::move(indices)};
}

// The number of last axes of a reduce in lanes that together have at most the terms of the opt
// unroll; none if stages share values of a row's terms.
std::size_t Linearizer::written_out(const LazyOp& reduce) const {
  if (plan_.staged_bytes > 0 || room_.written_vectors == 0) return 0;
  const std::vector<int>& axes = reduce.reduce_arg().axes;
  std::size_t count = 0;
  std::int64_t terms = 1;
  for (; count < axes.size(); ++count) {
    const sint& size =
        reduce.src()[0]->shape()[static_cast<std::size_t>(axes[axes.size() - 1 - count])];
    if (!size.is_int() || size.as_int() < 1 || size.as_int() > plan_.unroll / terms) break;
    terms *= size.as_int();
  }
  return terms == 1 ? 0 : count;
}

int Linearizer::leave(const Visit& visit) {
  const LazyOp& node = *visit.node;
  if (is_reduce(node.op())) return close_reduce(visit);
  if (node.op() == Op::Load) return load(node, visit.indices);
  if (node.op() == Op::Gather) return gather(node, visit.indices);
  if (node.op() == Op::Const) return masked_constant(node, visit.indices);
  return elementwise(node, visit.indices);
}

int Linearizer::close_reduce(const Visit& visit) {
  const LazyOp& node = *visit.node;
  if (visit.accumulator == -1) return reduce_of_nothing(node);
  const int next = add_term(node, visit.accumulator, visit.inner);
  builder_.here({StepKind::Assign, node.reduce_arg().accumulator, {visit.accumulator, next}, {}});
  for (int i = 0; i < visit.loops; ++i) builder_.close_loop();
  const int result = cast(visit.accumulator, node.dtype());
  if (finds_results_) add_result(node, visit.indices, result);
  if (visit.inside != -1) builder_.resume(visit.inside);
  return result;
}

int Linearizer::add_indices(Indices indices) {
  indices_.push_back(std::move(indices));
  made_.emplace_back();
  return static_cast<int>(indices_.size()) - 1;
}

int Linearizer::made(const LazyOp* node, int indices) const {
  const int* const value = made_[static_cast<std::size_t>(indices)].find(node);
  return value == nullptr ? -1 : *value;
}

void Linearizer::set_made(const LazyOp* node, int indices, int value) {
  if (traced_) origins_.try_emplace(value, node);
  *made_[static_cast<std::size_t>(indices)].emplace(node, value).first = value;
}

namespace {

// The kernel with named functions computed in float64 and rounded.
LazyOpPtr with_wide_functions(const LazyOpPtr& kernel) {
  return rebuild(kernel, [](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    const bool calls = node->op() == Op::Function && node->dtype() != DType::Float64;
    if (!calls || info(node->function_arg().function).exact) return with_src(node, src);
    std::vector<LazyOpPtr> wide;
    for (const LazyOpPtr& x : src) wide.push_back(LazyOp::cast(x, DType::Float64));
    return LazyOp::cast(LazyOp::function(node->function_arg().function, wide), node->dtype());
  });
}

// The kernel with as few views as possible, as kernels of the lazy stack already are, and without
// named functions that have no code of their own.
LazyOpPtr with_simple_parts(const LazyOpPtr& given, const CodegenOptions& options) {
  const auto calls = [](const LazyOp* node) { return node->op() == Op::Function; };
  const auto has_code = [&](const LazyOp& node) {
    return !c_function_call(node.function_arg().function, node.dtype(), options.math, options.libm)
                .empty();
  };
  LazyOpPtr kernel = given;
  if (std::ranges::any_of(ordered_nodes(given), calls)) {
    if (options.libm && options.math == MathLevel::CorrectlyRounded)
      kernel = with_wide_functions(kernel);
    kernel = without_functions(kernel, has_code);
  }
  const auto stacked = [](const LazyOp* node) {
    bool any = false;
    each_view(*node, [&](const ShapeTracker& st, int) { any = any || st.views().size() > 1; });
    return any;
  };
  if (std::ranges::none_of(ordered_nodes(kernel), stacked)) return kernel;
  return rebuild(kernel, [](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    return with_views(*node, src, [](const ShapeTracker& st, int) { return simplify(st); });
  });
}

void refuse_wide_functions(const LazyOpPtr& kernel) {
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (node->dtype() != DType::Float64 || !is_function(node->op())) continue;
    const bool named = node->op() == Op::Function;
    if (named && info(node->function_arg().function).exact) continue;
    throw DTypeError(
        fmt::format("{} of float64 cannot be compiled with correct rounding; use the accuracy 1ulp",
                    named ? info(node->function_arg().function).name : info(node->op()).name));
  }
}

}  // namespace

Plan prepare(const LazyOpPtr& kernel, const CodegenOptions& options) {
  validate_kernel(kernel);
  if (options.math == MathLevel::CorrectlyRounded)
    refuse_wide_functions(options.libm ? kernel : with_simple_parts(kernel, options));
  const LazyOpPtr axes = axes_of_opts(kernel, options);
  return make_plan(axes, chosen_opts(kernel, axes, options));
}

LinearKernel linearized(Linearizer& linearizer, const LazyOpPtr& kernel,
                        const CodegenOptions& options) {
  LinearKernel linear = linearizer.run();
  linear.name = kernel_name(kernel);
  linear.buffers = buffers_of(kernel);
  linear.math = options.math;
  linear.contract = std::ranges::any_of(linear.steps, [](const LinearStep& u) {
    return u.kind == StepKind::Alu && std::get<Op>(u.arg) == Op::MulAcc;
  });
  return linear;
}

}  // namespace codegen

LazyOpPtr axes_of_opts(const LazyOpPtr& kernel, const CodegenOptions& options) {
  const LazyOpPtr simple = codegen::with_simple_parts(kernel, options);
  return order_axes(options.merge_axes ? merge_axes(simple) : simple);
}

LinearKernel linearize(const LazyOpPtr& kernel, const CodegenOptions& options) {
  const codegen::Plan plan = codegen::prepare(kernel, options);
  codegen::Linearizer linearizer(plan, options);
  LinearKernel linear = codegen::linearized(linearizer, kernel, options);
  codegen::finish(linear, kernel, options);
  return linear;
}

bool options_matter(const LazyOpPtr& kernel, const CodegenOptions& options) {
  const LazyOpPtr simple = codegen::with_simple_parts(kernel, options);
  const LazyOpPtr merged = merge_axes(simple);
  if (options.opts || options.layout_seed != 0) return true;
  if (!options.merge_axes && merged != simple) return true;
  const auto sums_products = [](const LazyOp* n) {
    return n->op() == Op::ReduceSum && n->src()[0]->op() == Op::Mul;
  };
  if (options.contract && std::ranges::any_of(ordered_nodes(simple), sums_products)) return true;
  const CodegenOptions usual;
  if (options.lanes && options.stages && options.sizes == usual.sizes) return false;
  for (const BufferSpec& b : buffers_of(kernel))
    if ((b.idx == 0 || codegen::reduces(kernel)) &&
        codegen::goes_past_cache(b, options.sizes) != codegen::goes_past_cache(b, usual.sizes))
      return true;
  const auto has_lanes = [axes = order_axes(merged)](const LayoutSizes& sizes) {
    return codegen::plan_lanes(axes, sizes) ||
           !codegen::order_of_whole_lanes(axes, sizes).empty() ||
           !codegen::order_of_columns(axes, sizes).empty() ||
           !codegen::order_that_shares(axes, sizes).empty();
  };
  const auto has_tiles = [&](const LayoutSizes& sizes) {
    return codegen::plan_tiles(order_axes(merged), sizes).has_value();
  };
  if (has_tiles(usual.sizes) || (options.stages && has_tiles(options.sizes))) return true;
  return has_lanes(usual.sizes) || (options.lanes && has_lanes(options.sizes));
}

}  // namespace touchstone
