// Functions on whole kernels.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/views.h"

namespace touchstone {
namespace {

bool is_concrete(const ShapeTracker& st) {
  return std::ranges::all_of(st.views(), [](const View& view) { return view.is_concrete(); });
}

std::string describe(std::size_t place, const LazyOp& node) {
  return fmt::format("node {} ({})", place, name(node.op()));
}

std::string arg_str(const LazyOp& node) {
  struct Visitor {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const MemBuffer& b) const {
      const std::string checked = b.checked ? " checked " + b.checked->str() : "";
      return fmt::format(" buffer {} {} {}{}", b.idx, name(b.dtype), b.st.str(), checked);
    }
    std::string operator()(const ConstBuffer& c) const {
      return fmt::format(" {} {} {}", c.value.str(), name(c.value.dtype()), c.st.str());
    }
    std::string operator()(const CastArg& c) const {
      return fmt::format(" {}{}", c.bitcast ? "bits as " : "", name(c.to));
    }
    std::string operator()(const ReduceArg& r) const {
      return fmt::format(" axes [{}] in {}", fmt::join(r.axes, ", "), name(r.accumulator));
    }
    std::string operator()(const RandArg& r) const {
      return fmt::format(" seed {} from {}", r.seed, r.first);
    }
    std::string operator()(const FunctionArg& f) const {
      return fmt::format(" {}", info(f.function).name);
    }
  };
  return std::visit(Visitor{}, node.arg());
}

// Devices may evaluate a nested reduce once per use, and may recurse over nested reduces.
void check_reduce_depth(std::span<const LazyOp* const> order) {
  constexpr int kMost = 16;
  const auto reduces = [](const LazyOp* node) { return is_reduce(node->op()); };
  if (std::ranges::count_if(order, reduces) <= kMost) return;
  std::unordered_map<const LazyOp*, int> depths;
  for (std::size_t i = 0; i < order.size(); ++i) {
    int depth = is_reduce(order[i]->op()) ? 1 : 0;
    for (const LazyOpPtr& s : order[i]->src()) {
      const int below = depths.at(s.get()) + (is_reduce(order[i]->op()) ? 1 : 0);
      depth = std::max(depth, below);
    }
    if (depth > kMost)
      throw AstError(fmt::format(
          "{} is the top of more than {} nested reduces; store an intermediate result in a buffer",
          describe(i, *order[i]), kMost));
    depths.emplace(order[i], depth);
  }
}

void check_in_range(const LazyOpPtr& kernel, const symbolic::Values& values) {
  for (const symbolic::Node& v : variables_of(kernel)) {
    const auto it = values.find(symbolic::variable_name(v));
    if (it == values.end()) continue;
    const std::int64_t low = v.min().value_or(INT64_MIN), high = v.max().value_or(INT64_MAX);
    if (it->second < low || it->second > high)
      throw AstError(
          fmt::format("variable '{}' = {} is outside [{}, {}]", it->first, it->second, low, high));
  }
}

}  // namespace

std::vector<BufferSpec> buffers_of(const LazyOpPtr& kernel) {
  std::vector<BufferSpec> uses, specs;
  for (const LazyOp* node : ordered_nodes(kernel))
    if (const auto* b = std::get_if<MemBuffer>(&node->arg()))
      uses.push_back({b->idx, b->dtype, b->st.real_size()});
  std::ranges::stable_sort(uses, {}, &BufferSpec::idx);
  for (const BufferSpec& use : uses) {
    if (specs.empty() || specs.back().idx != use.idx)
      specs.push_back(use);
    else
      specs.back().size = std::max(specs.back().size, use.size);
  }
  return specs;
}

std::vector<symbolic::Node> variables_of(const LazyOpPtr& kernel) {
  std::map<std::string, symbolic::Node> found;
  for (const LazyOp* node : ordered_nodes(kernel))
    each_view(*node, [&](const ShapeTracker& st, int) {
      if (is_concrete(st)) return;
      for (const symbolic::Node& v : st.vars()) {
        const auto [it, fresh] = found.emplace(symbolic::variable_name(v), v);
        if (!fresh && it->second != v)
          throw AstError(fmt::format("variable '{}' has two ranges in one kernel", it->first));
      }
    });
  std::vector<symbolic::Node> variables;
  for (const auto& [name, node] : found) variables.push_back(node);
  return variables;
}

void validate_kernel(const LazyOpPtr& kernel) {
  if (kernel == nullptr) throw AstError("the kernel is null");
  const std::vector<const LazyOp*> order = ordered_nodes(kernel);
  if (kernel->op() != Op::Store)
    throw AstError(fmt::format("{} is the root; a kernel must end in a STORE",
                               describe(order.size() - 1, *kernel)));
  std::unordered_map<int, DType> dtypes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LazyOp& node = *order[i];
    if (node.op() == Op::Store && i + 1 != order.size())
      throw AstError(fmt::format("{} is below the root; a kernel must have exactly one STORE",
                                 describe(i, node)));
    const auto* b = std::get_if<MemBuffer>(&node.arg());
    if (b == nullptr) continue;
    if (is_load(node.op()) && b->idx == 0)
      throw AstError(
          fmt::format("{} reads buffer 0, the output; number inputs from 1", describe(i, node)));
    if (node.op() == Op::Store && b->idx != 0)
      throw AstError(
          fmt::format("{} writes buffer {}; the output is buffer 0", describe(i, node), b->idx));
    if (node.op() == Op::Store && !b->st.is_contiguous())
      throw AstError(fmt::format("{} writes through {}; the output view must be contiguous",
                                 describe(i, node), b->st.str()));
    const auto [it, fresh] = dtypes.emplace(b->idx, b->dtype);
    if (!fresh && it->second != b->dtype)
      throw AstError(fmt::format(
          "{} takes buffer {} as {}, another node as {}; bitcast after the LOAD instead",
          describe(i, node), b->idx, name(b->dtype), name(it->second)));
  }
  check_reduce_depth(order);
  variables_of(kernel);
}

LazyOpPtr bind_variables(const LazyOpPtr& kernel, const symbolic::Values& values) {
  check_in_range(kernel, values);
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    return with_views(*node, src, [&](const ShapeTracker& st, int) { return st.bind(values); });
  });
}

std::string str(const LazyOpPtr& root) {
  // A shared node is drawn once and then referred to by number. Beyond the deepest indentation a
  // line states its depth, to keep a long chain from taking quadratic space.
  constexpr std::size_t kDeepest = 60;
  std::string text;
  std::map<const LazyOp*, std::size_t> number;
  std::vector<std::pair<const LazyOp*, std::size_t>> open{{root.get(), 0}};
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const auto [it, fresh] = number.emplace(node, number.size());
    text += fmt::format("{:>3} {:{}}", fresh ? fmt::format("{}", it->second) : "", "",
                        2 * std::min(depth, kDeepest));
    if (depth > kDeepest) text += fmt::format("[{}] ", depth);
    if (!fresh) {
      text += fmt::format("see {}\n", it->second);
      continue;
    }
    text += fmt::format("{}{} : {} {}\n", name(node->op()), arg_str(*node), name(node->dtype()),
                        str(node->shape()));
    for (auto s = node->src().rbegin(); s != node->src().rend(); ++s)
      open.emplace_back(s->get(), depth + 1);
  }
  return text;
}

std::string kernel_name(const LazyOpPtr& kernel) {
  const auto size_str = [](const sint& s) {
    return s.is_int() ? fmt::format("{}", s.as_int()) : std::string("n");
  };
  std::string sizes;
  for (const sint& s : kernel->shape())
    if (s != sint(1)) sizes += "_" + size_str(s);
  bool reduces = false;
  for (const LazyOp* node : ordered_nodes(kernel)) {
    if (!is_reduce(node->op())) continue;
    reduces = true;
    for (const int axis : node->reduce_arg().axes)
      sizes += "_" + size_str(node->src()[0]->shape()[static_cast<std::size_t>(axis)]);
  }
  return (reduces ? "r" : "E") + (sizes.empty() ? std::string("_1") : sizes);
}

}  // namespace touchstone
