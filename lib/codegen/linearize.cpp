#include "touchstone/codegen/linearize.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "touchstone/base/hash.h"
#include "touchstone/codegen/block_builder.h"
#include "touchstone/codegen/index_lowering.h"
#include "touchstone/codegen/merge_axes.h"

namespace touchstone {

namespace {

using codegen::BlockBuilder;
using symbolic::Node;

Scalar zero(DType d) { return Scalar::from_bits(d, 0); }

// What a reduce of nothing gives.
Scalar initial_value(Op op, DType d) {
  if (op == Op::ReduceSum || is_bool(d)) return zero(d);
  if (is_float(d)) return Scalar::from_double(d, -std::numeric_limits<double>::infinity());
  if (is_unsigned(d)) return zero(d);
  return Scalar::from_bits(d, std::uint64_t{1} << (8 * itemsize(d) - 1));
}

class Linearizer {
 public:
  Linearizer(const LazyOpPtr& kernel, const CodegenOptions& options)
      : kernel_(kernel), fault_(options.fault) {
    for (const Node& v : variables_of(kernel)) {
      const std::string& name = symbolic::variable_name(v);
      variables_.push_back(name);
      names_[name] = builder_.value({UOps::DefineVar, DType::Int64, {}, name});
    }
  }

  LinearKernel run() {
    LinearKernel linear;
    if (std::ranges::none_of(kernel_->shape(), [](const sint& s) { return s == sint(0); }))
      linear = store();
    linear.variables = variables_;
    return linear;
  }

 private:
  // A node is computed once for each set of indices at which it is wanted; within one reduce, or
  // outside all, there is one such set for all nodes.
  using Indices = std::vector<Node>;
  struct Key {
    const LazyOp* node;
    int indices;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      return static_cast<std::size_t>(hash_mix(reinterpret_cast<std::uintptr_t>(k.node),
                                               static_cast<std::uint64_t>(k.indices)));
    }
  };
  struct Visit {
    const LazyOp* node;
    int indices;
    bool entered = false;
    int accumulator = -1;  // of an entered reduce, with the indices and loops of its operand
    int inner = -1;
    int loops = 0;
  };

  LinearKernel store() {
    const Shape& shape = kernel_->shape();
    Indices indices(shape.size(), Node(0));
    int loops = 0, first = -1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == sint(1)) continue;
      const int counter = open_loop(shape[axis], false, "i", indices[axis]);
      if (loops++ == 0) first = counter;
    }
    indices_.push_back(indices);
    const LazyOp* const root = kernel_->src()[0].get();
    const int value = evaluate(root);
    const IndexExpr where = kernel_->buffer().st.expr_idxs(indices_[0]);
    builder_.here(
        {UOps::Store, root->dtype(), {global(0, root->dtype()), lower(where.index, 0), value}, {}});
    for (int i = 0; i < loops; ++i) builder_.close_loop();
    return builder_.finish(first);
  }

  // Opens a loop over an axis and gives its counter; `index` becomes the variable that counts.
  int open_loop(const sint& size, bool one_less, const char* prefix, Node& index) {
    std::string name;
    do name = fmt::format("{}{}", prefix, counters_++);
    while (names_.contains(name));
    const int begin = builder_.int_const(0);
    const int full = lower(size.node(), -1);
    const int end = one_less ? lower((size - sint(1)).node(), -1) : full;
    const bool runs = size.min().value_or(0) >= (one_less ? 2 : 1);
    const int counter = builder_.open_loop(begin, end, name, runs);
    names_[name] = counter;
    const std::int64_t most = size.max().value_or(std::numeric_limits<std::int64_t>::max());
    index = symbolic::variable(name, 0, std::max<std::int64_t>(most - 1, 0));
    return counter;
  }

  // The value of `root` at the indices 0. An explicit stack: expressions may be any depth.
  int evaluate(const LazyOp* root) {
    std::vector<Visit> stack{{root, 0}};
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (!top.entered && made_.contains({top.node, top.indices})) {
        stack.pop_back();
      } else if (!top.entered) {
        top.entered = true;
        enter(stack);
      } else {
        const Visit done = top;
        stack.pop_back();
        made_[{done.node, done.indices}] = leave(done);
      }
    }
    return made_.at({root, 0});
  }

  void enter(std::vector<Visit>& stack) {
    Visit& top = stack.back();
    if (is_reduce(top.node->op())) {
      if (!reduces_nothing(*top.node)) {
        open_reduce(top);
        const Visit operand{top.node->src()[0].get(), top.inner};
        stack.push_back(operand);
      }
      return;
    }
    const LazyOp* const node = top.node;
    const int indices = top.indices;
    for (auto s = node->src().rbegin(); s != node->src().rend(); ++s)
      stack.push_back({s->get(), indices});
  }

  static bool reduces_nothing(const LazyOp& node) {
    const auto& axes = node.reduce_arg().axes;
    return std::ranges::any_of(axes, [&](int axis) {
      return node.src()[0]->shape()[static_cast<std::size_t>(axis)] == sint(0);
    });
  }

  void open_reduce(Visit& visit) {
    const LazyOp& node = *visit.node;
    const DType type = node.reduce_arg().accumulator;
    const int initial = builder_.constant(initial_value(node.op(), type));
    visit.accumulator = builder_.here({UOps::DefineAcc, type, {initial}, {}});
    const Shape& shape = node.src()[0]->shape();
    std::vector<std::size_t> axes;
    for (const int axis : node.reduce_arg().axes)
      if (shape[static_cast<std::size_t>(axis)] != sint(1))
        axes.push_back(static_cast<std::size_t>(axis));
    Indices indices = indices_[static_cast<std::size_t>(visit.indices)];
    for (const std::size_t axis : axes) {
      const bool one_less = fault_ == Fault::DropLastReduce && axis == axes.back();
      open_loop(shape[axis], one_less, "r", indices[axis]);
    }
    visit.loops = static_cast<int>(axes.size());
    visit.inner = static_cast<int>(indices_.size());
    indices_.push_back(std::move(indices));
  }

  int leave(const Visit& visit) {
    const LazyOp& node = *visit.node;
    if (is_reduce(node.op())) return close_reduce(visit);
    if (node.op() == Op::Load) return load(node, visit.indices);
    if (node.op() == Op::Const)
      return masked(node.constant().value, node.constant().st, visit.indices);
    std::vector<int> src;
    for (const LazyOpPtr& s : node.src()) src.push_back(made_.at({s.get(), visit.indices}));
    if (node.op() == Op::Cast) return cast(src[0], node.dtype(), node.cast_arg().bitcast);
    if (node.op() == Op::Noop) return src[0];
    if (node.op() == Op::MulAcc)  // two roundings, as MUL and ADD
      return builder_.alu(Op::Add, node.dtype(),
                          {builder_.alu(Op::Mul, node.dtype(), {src[0], src[1]}), src[2]});
    if (node.op() == Op::Max) return max(src[0], src[1], node.dtype(), false);
    if (node.op() == Op::Div && fault_ == Fault::IntDivFloors &&
        info(node.dtype()).kind == DTypeKind::Signed)
      return floored_div(src[0], src[1], node.dtype());
    return builder_.alu(node.op(), node.dtype(), std::move(src));
  }

  int close_reduce(const Visit& visit) {
    const LazyOp& node = *visit.node;
    const DType type = node.reduce_arg().accumulator;
    if (visit.accumulator == -1)
      return cast(builder_.constant(initial_value(node.op(), type)), node.dtype(), false);
    const int term = cast(made_.at({node.src()[0].get(), visit.inner}), type, false);
    // What reads the accumulator stays in the loop, even where `term` does not depend on it.
    const int next = node.op() == Op::ReduceMax
                         ? max(visit.accumulator, term, type, true)
                         : builder_.here({UOps::Alu, type, {visit.accumulator, term}, Op::Add});
    builder_.here({UOps::Assign, type, {visit.accumulator, next}, {}});
    for (int i = 0; i < visit.loops; ++i) builder_.close_loop();
    return cast(visit.accumulator, node.dtype(), false);
  }

  int cast(int value, DType to, bool bitcast) {
    if (builder_.uop(value).dtype == to) return value;
    return builder_.value({bitcast ? UOps::Bitcast : UOps::Cast, to, {value}, {}});
  }

  int alu(Op op, DType dtype, std::vector<int> src, bool stay) {
    UOp uop{UOps::Alu, dtype, std::move(src), op};
    return stay ? builder_.here(std::move(uop)) : builder_.value(std::move(uop));
  }

  int max(int a, int b, DType type, bool stay) {
    if (fault_ != Fault::MaxWithoutNan || !is_float(type)) return alu(Op::Max, type, {a, b}, stay);
    const int greater = alu(Op::CmpLt, DType::Bool, {b, a}, stay);
    return alu(Op::Where, type, {greater, a, b}, stay);
  }

  // a / b - 1 where the remainder is not 0 and the signs differ.
  int floored_div(int a, int b, DType type) {
    const int none = builder_.constant(zero(type));
    const int one = builder_.constant(Scalar::from_int(type, 1));
    const int quotient = builder_.alu(Op::Div, type, {a, b});
    const int rest = builder_.alu(Op::Mod, type, {a, b});
    const int differ = builder_.alu(Op::Xor, DType::Bool,
                                    {builder_.alu(Op::CmpLt, DType::Bool, {rest, none}),
                                     builder_.alu(Op::CmpLt, DType::Bool, {b, none})});
    const int exact = builder_.alu(Op::CmpEq, DType::Bool, {rest, none});
    const int lower = builder_.alu(Op::Sub, type, {quotient, one});
    const int floored = builder_.alu(Op::Where, type, {differ, lower, quotient});
    return builder_.alu(Op::Where, type, {exact, quotient, floored});
  }

  int load(const LazyOp& node, int indices) {
    const ShapeTracker& st = node.buffer().st;
    const IndexExpr& where = address(st, indices);
    if (where.valid.constant() == 0) return builder_.constant(zero(node.dtype()));
    std::vector<int> src{global(node.buffer().idx, node.dtype()), lower(where.index, indices)};
    if (!where.valid.constant()) src.push_back(lower(where.valid, indices));
    return builder_.value({UOps::Load, node.dtype(), std::move(src), {}});
  }

  int masked(const Scalar& value, const ShapeTracker& st, int indices) {
    const Node valid = address(st, indices).valid;
    if (valid.constant() == 0) return builder_.constant(zero(value.dtype()));
    const int constant = builder_.constant(value);
    if (valid.constant()) return constant;
    const int condition = builder_.value({UOps::Cast, DType::Bool, {lower(valid, indices)}, {}});
    return builder_.alu(Op::Where, value.dtype(),
                        {condition, constant, builder_.constant(zero(value.dtype()))});
  }

  int global(int number, DType dtype) {
    return builder_.value({UOps::DefineGlobal, dtype, {}, number});
  }

  // Address and validity of a view at a set of indices; a kernel uses few different views often.
  const IndexExpr& address(const ShapeTracker& st, int indices) {
    auto& known = addresses_[hash_mix(st.hash(), static_cast<std::uint64_t>(indices))];
    for (const auto& [view, at, expr] : known)
      if (at == indices && *view == st) return expr;
    known.emplace_back(&st, indices, st.expr_idxs(indices_[static_cast<std::size_t>(indices)]));
    return std::get<2>(known.back());
  }

  int lower(Node node, int indices) {
    const auto key = std::make_pair(indices, node.id());
    if (const auto it = lowered_.find(key); it != lowered_.end() && it->second.first == node)
      return it->second.second;
    const int value = codegen::lower_index(builder_, node, names_);
    lowered_[key] = {node, value};
    return value;
  }

  const LazyOpPtr& kernel_;
  Fault fault_;
  BlockBuilder builder_;
  std::vector<std::string> variables_;
  std::map<std::string, int> names_;  // of variables and loop counters
  int counters_ = 0;
  std::deque<Indices> indices_;
  std::unordered_map<Key, int, KeyHash> made_;
  std::unordered_map<std::uint64_t, std::deque<std::tuple<const ShapeTracker*, int, IndexExpr>>>
      addresses_;
  std::map<std::pair<int, std::uint32_t>, std::pair<Node, int>> lowered_;
};

}  // namespace

LinearKernel linearize(const LazyOpPtr& kernel, const CodegenOptions& options) {
  validate_kernel(kernel);
  const LazyOpPtr planted = plant_view_fault(kernel, options.fault);
  const LazyOpPtr merged = options.merge_axes ? merge_axes(planted) : planted;
  LinearKernel linear = Linearizer(merged, options).run();
  linear.name = kernel_name(kernel);
  linear.buffers = buffers_of(kernel);
  return linear;
}

}  // namespace touchstone
