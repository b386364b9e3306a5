#include "touchstone/codegen/traced.h"

#include "touchstone/codegen/linearizer.h"
#include "touchstone/ops/node_order.h"

namespace touchstone {

namespace codegen {

namespace {

// Addresses and loops that serve only one node are assigned to it.
void spread(const LinearKernel& linear, std::vector<int>& nodes) {
  constexpr int kNone = -1, kSeveral = -2;
  std::vector<int> users(nodes.size(), kNone);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const LinearStep& step = linear.steps[i];
    if (step.kind == StepKind::Assign) {
      const auto accumulator = static_cast<std::size_t>(step.src[0]);
      nodes[i] = nodes[accumulator] >= 0 ? nodes[accumulator] : users[accumulator];
    }
    if (nodes[i] == kNone && users[i] >= 0 && step.kind != StepKind::Loop) nodes[i] = users[i];
    for (const int s : step.src) {
      int& user = users[static_cast<std::size_t>(s)];
      if (user == kNone) user = nodes[i];
      if (user != nodes[i]) user = kSeveral;
    }
  }
}

}  // namespace

std::vector<const LazyOp*> Linearizer::origins(std::size_t steps) const {
  std::vector<const LazyOp*> out(steps, nullptr);
  for (const auto& [value, node] : origins_)
    if (value >= 0)
      if (const int step = builder_.numbers()[static_cast<std::size_t>(value)]; step >= 0)
        out[static_cast<std::size_t>(step)] = node;
  return out;
}

}  // namespace codegen

TracedKernel linearize_traced(const LazyOpPtr& kernel, const CodegenOptions& options) {
  const codegen::Plan prepared = codegen::prepare(kernel, options);
  codegen::Linearizer linearizer(prepared, options);
  linearizer.trace();
  TracedKernel out{codegen::linearized(linearizer, kernel, options), {}};
  const std::vector<LinearStep>& steps = out.linear.steps;
  out.nodes.assign(steps.size(), -1);
  // The prepared kernel has the same nodes in the same order, with other views.
  const std::vector<const LazyOp*> laid_out = ordered_nodes(prepared.kernel);
  if (laid_out.size() != ordered_nodes(kernel).size()) {
    out.nodes.assign(codegen::finish(out.linear, kernel, options).size(), -1);
    return out;
  }
  std::map<const LazyOp*, int> places;
  for (const LazyOp* node : laid_out) places.emplace(node, static_cast<int>(places.size()));
  const std::vector<const LazyOp*> origins = linearizer.origins(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const auto it = places.find(origins[i]); it != places.end()) out.nodes[i] = it->second;
    if (steps[i].kind == StepKind::Store) out.nodes[i] = static_cast<int>(places.size()) - 1;
  }
  codegen::spread(out.linear, out.nodes);
  std::vector<int> nodes;
  for (const int from : codegen::finish(out.linear, kernel, options))
    nodes.push_back(out.nodes[static_cast<std::size_t>(from)]);
  out.nodes = std::move(nodes);
  return out;
}

}  // namespace touchstone
