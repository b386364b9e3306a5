#include "touchstone/codegen/traced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "touchstone/codegen/render_c.h"
#include "touchstone/define/text.h"
#include "touchstone/ops/decompose.h"
#include "touchstone/ops/node_order.h"

namespace touchstone {
namespace {

const char* const kFormulas[] = {"softmax(x[8,33])",
                                 "matmul(a[16,32], b[32,48]) + c[48]",
                                 "sum(x[3,400], axis=1)",
                                 "transpose(x[40,50]) * 2",
                                 "x[4] + 1",
                                 "layer_norm(x[4,64])",
                                 "max(x[5,7], axis=0) - sum(x, axis=0)"};

TEST(Traced, GivesTheCodeThatIsCompiled) {
  for (const char* const text : kFormulas) {
    const LazyOpPtr kernel = define::parse(text).kernel();
    const TracedKernel traced = linearize_traced(kernel);
    EXPECT_EQ(traced.linear, linearize(kernel)) << text;
    EXPECT_EQ(render_c_traced(traced.linear, "k").text, render_c_function(traced.linear, "k"))
        << text;
  }
}

TEST(Traced, StepsAreOfNodesWithTheirOperation) {
  for (const char* const text : kFormulas) {
    const LazyOpPtr kernel = without_functions(define::parse(text).kernel());
    const TracedKernel traced = linearize_traced(kernel);
    const std::vector<const LazyOp*> nodes = ordered_nodes(kernel);
    ASSERT_EQ(traced.nodes.size(), traced.linear.steps.size());
    std::set<int> named;
    for (std::size_t i = 0; i < traced.nodes.size(); ++i) {
      const LinearStep& step = traced.linear.steps[i];
      if (traced.nodes[i] < 0) continue;
      ASSERT_LT(traced.nodes[i], static_cast<int>(nodes.size())) << text;
      named.insert(traced.nodes[i]);
      const LazyOp& node = *nodes[static_cast<std::size_t>(traced.nodes[i])];
      if (step.kind == StepKind::Store) {
        EXPECT_EQ(node.op(), Op::Store) << text;
      }
      if (step.kind == StepKind::Assign) {
        EXPECT_TRUE(is_reduce(node.op()) || node.op() == Op::Load) << text << ' ' << i;
      }
      if (step.kind == StepKind::Alu && !is_reduce(node.op())) {
        EXPECT_EQ(std::get<Op>(step.arg), node.op()) << text << ' ' << i;
      }
    }
    // Equal reduces are computed once.
    EXPECT_EQ(
        std::ranges::any_of(nodes, [](const LazyOp* n) { return is_reduce(n->op()); }),
        std::ranges::any_of(
            named, [&](int n) { return is_reduce(nodes[static_cast<std::size_t>(n)]->op()); }))
        << text;
  }
}

TEST(Traced, EveryLineOfCBetweenTheBracesIsOfAStep) {
  for (const char* const text : kFormulas) {
    const TracedKernel traced = linearize_traced(define::parse(text).kernel());
    const TracedC c = render_c_traced(traced.linear, "k");
    const auto count = static_cast<int>(std::ranges::count(c.text, '\n'));
    std::set<int> lines;
    for (const int line : c.lines) {
      EXPECT_LT(line, count - 1);
      if (line >= 0) lines.insert(line);
    }
    // Without the head, the line about unused parameters, and the closing brace; an accumulator of
    // lanes has one more line.
    std::size_t lanes = 0;
    for (const LinearStep& step : traced.linear.steps)
      lanes += step.kind == StepKind::DefineAcc && std::holds_alternative<int>(step.arg) &&
                       !step.src.empty()
                   ? 1U
                   : 0U;
    EXPECT_EQ(lines.size() + lanes, static_cast<std::size_t>(count) - 3) << text << '\n' << c.text;
  }
}

}  // namespace
}  // namespace touchstone
