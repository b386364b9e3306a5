#include "touchstone/interp/oracle/blame.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels.h"
#include "touchstone/interp/oracle/subkernel.h"

namespace touchstone {
namespace {

using test::buffer;

constexpr std::int64_t kSize = 8;

LazyOpPtr in(int idx) {
  return LazyOp::load(idx, DType::Float32, ShapeTracker::contiguous({kSize}));
}

// A candidate that equals the reference except for one node, whose elements it negates; everything
// above is computed from that.
class Faulty {
 public:
  Faulty(LazyOpPtr wrong, std::vector<BufferPtr> inputs)
      : wrong_(std::move(wrong)), inputs_(std::move(inputs)) {}

  BufferPtr run(const LazyOpPtr& prefix) {
    ++runs;
    const LazyOpPtr broken = negated(prefix->src()[0]);
    const BufferPtr out = buffer(prefix->dtype(), kSize);
    std::vector<BufferPtr> all{out};
    all.insert(all.end(), inputs_.begin(), inputs_.end());
    run_kernel(test::reference(), test::store(broken), test::raw(all));
    return out;
  }
  std::vector<Buffer*> inputs() const {
    std::vector<Buffer*> out{nullptr};
    for (const BufferPtr& b : inputs_) out.push_back(b.get());
    return out;
  }
  int runs = 0;

 private:
  LazyOpPtr negated(const LazyOpPtr& node) const {
    if (node == wrong_) return LazyOp::unary(Op::Neg, node);
    std::vector<LazyOpPtr> src;
    for (const LazyOpPtr& s : node->src()) src.push_back(negated(s));
    return src.empty() ? node : with_src(node, std::move(src));
  }

  LazyOpPtr wrong_;
  std::vector<BufferPtr> inputs_;
};

std::vector<BufferPtr> some_inputs() {
  return {buffer<float>({1, 2, 3, 4, 5, 6, 7, 8}), buffer<float>({0.5F, 3, 2, 1, 9, 7, 6, 4})};
}

TEST(Blame, NamesTheNodeOfAChainInLog2Runs) {
  std::vector<LazyOpPtr> chain{LazyOp::binary(Op::Add, in(1), in(2))};
  for (int i = 0; i < 63; ++i) chain.push_back(LazyOp::binary(Op::Sub, chain.back(), in(2)));
  for (const std::size_t wrong :
       {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{63}}) {
    Faulty candidate(chain[wrong], some_inputs());
    const Blame found = blame_by_prefixes(interp::kernel_of(chain.back()), candidate.inputs(),
                                          [&](const LazyOpPtr& p) { return candidate.run(p); });
    EXPECT_EQ(found.node, chain[wrong]) << wrong;
    EXPECT_EQ(found.verdict.outcome, Outcome::Fail);
    EXPECT_LE(found.runs, 8) << wrong;
    EXPECT_EQ(found.runs, candidate.runs);
  }
}

TEST(Blame, FollowsTheOperandThatIsWrong) {
  const LazyOpPtr deep = LazyOp::unary(
      Op::Sqrt, LazyOp::binary(Op::Mul, LazyOp::binary(Op::Add, in(1), in(2)), in(1)));
  const LazyOpPtr side = LazyOp::binary(Op::Max, in(1), in(2));
  const LazyOpPtr root = LazyOp::binary(Op::Add, deep, side);
  Faulty candidate(side, some_inputs());
  const auto run = [&](const LazyOpPtr& p) { return candidate.run(p); };
  EXPECT_EQ(blame_by_prefixes(interp::kernel_of(root), candidate.inputs(), run).node, side);
  Faulty sound(nullptr, some_inputs());
  const Blame none = blame_by_prefixes(interp::kernel_of(root), sound.inputs(),
                                       [&](const LazyOpPtr& p) { return sound.run(p); });
  EXPECT_EQ(none.node, nullptr);
  EXPECT_EQ(none.runs, 1);
}

TEST(Blame, WithIntermediatesTheFirstNodeOutsideItsEnvelope) {
  const LazyOpPtr sum = LazyOp::binary(Op::Add, in(1), in(2));
  const LazyOpPtr root = LazyOp::unary(Op::Sqrt, sum);
  const LazyOpPtr top = LazyOp::binary(Op::Mul, root, sum);
  Faulty candidate(root, some_inputs());
  std::map<const LazyOp*, BufferPtr> values;
  for (const LazyOpPtr& n : {sum, root, top}) values[n.get()] = candidate.run(interp::kernel_of(n));
  const auto held = [&](const LazyOpPtr& n) {
    const auto it = values.find(n.get());
    return it == values.end() ? nullptr : it->second.get();
  };
  const LazyOpPtr kernel = interp::kernel_of(top);
  EXPECT_EQ(blame(kernel, candidate.inputs(), held).node, root);
  values.erase(root.get());  // then the first known node above it
  EXPECT_EQ(blame(kernel, candidate.inputs(), held).node, top);
  values[top.get()] = buffer<float>(std::vector<float>(kSize, -1));
  values[root.get()] = buffer<float>(std::vector<float>(kSize, 2));
  values[sum.get()] = buffer<float>(std::vector<float>(kSize, 3));
  EXPECT_EQ(blame(kernel, candidate.inputs(), held).node, sum);
}

TEST(Part, OneElementIsThatElement) {
  const ShapeTracker st = ShapeTracker::contiguous({2, 4});
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, st);
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, x), {1});
  const std::int64_t at[] = {1, 0};
  const LazyOpPtr one = interp::one_element(test::store(sum), at);
  const std::vector<BufferPtr> buffers{buffer(DType::Float32, 1),
                                       buffer<float>({9, 9, 9, 9, 1, 2, 3, 4})};
  run_kernel(test::reference(), one, test::raw(buffers));
  EXPECT_EQ(buffers[0]->read<float>(), std::vector<float>{30});
  const std::int64_t beyond[] = {2, 0};
  EXPECT_THROW(interp::one_element(test::store(sum), beyond), ShapeError);
}

}  // namespace
}  // namespace touchstone
