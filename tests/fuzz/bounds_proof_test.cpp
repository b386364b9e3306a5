#include "touchstone/codegen/bounds_proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone {
namespace {

// Runs only a kernel's index arithmetic, loop by loop.
class Walk {
 public:
  explicit Walk(const LinearKernel& kernel) : kernel_(kernel), values_(kernel.steps.size(), 0) {}

  /// The first step with an access out of bounds; -1 if there is none.
  int run() {
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      const LinearStep& step = at(i);
      if (step.kind == StepKind::Loop) {
        value(i) = value(step.src[0]);
        if (value(i) >= value(step.src[1])) i = end_of(i);
      } else if (step.kind == StepKind::EndLoop) {
        const int loop = step.src[0];
        if (++value(loop) < value(at(loop).src[1])) i = loop;
      } else if (reaches_outside(step)) {
        return i;
      } else if (step.kind == StepKind::Const && step.dtype == DType::Int64) {
        value(i) = std::get<Scalar>(step.arg).to_int64();
      } else if (step.kind == StepKind::Index) {
        value(i) = index(step);
      }
    }
    return -1;
  }

 private:
  const LinearStep& at(int i) const { return kernel_.steps[static_cast<std::size_t>(i)]; }
  std::int64_t& value(int i) { return values_[static_cast<std::size_t>(i)]; }

  int end_of(int loop) const {
    int i = loop;
    while (at(i).kind != StepKind::EndLoop || at(i).src[0] != loop) ++i;
    return i;
  }

  bool reaches_outside(const LinearStep& step) {
    if (step.kind == StepKind::Load && step.src.size() == 3 && value(step.src[2]) == 0)
      return false;
    const bool array =
        step.kind == StepKind::LoadAcc || (step.kind == StepKind::Assign && step.src.size() == 3);
    if (!array && step.kind != StepKind::Load && step.kind != StepKind::Store) return false;
    const std::int64_t index = value(step.src[step.kind == StepKind::Assign ? 2 : 1]);
    const int number = std::get<int>(at(step.src[0]).arg);
    std::int64_t size = number;
    if (!array)
      for (const BufferSpec& b : kernel_.buffers)
        if (b.idx == number) size = b.size;
    return index < 0 || index >= size;
  }

  std::int64_t index(const LinearStep& step) {
    const auto src = [&](std::size_t k) { return value(step.src[k]); };
    const auto quotient = [&] {
      if (src(1) == 0) return std::int64_t{0};
      const std::int64_t q = src(0) / src(1);
      return src(0) % src(1) != 0 && (src(0) < 0) != (src(1) < 0) ? q - 1 : q;
    };
    switch (std::get<IndexOp>(step.arg)) {
      case IndexOp::Add: return src(0) + src(1);
      case IndexOp::Sub: return src(0) - src(1);
      case IndexOp::Mul: return src(0) * src(1);
      case IndexOp::FloorDiv:
      case IndexOp::Div: return quotient();
      case IndexOp::FloorMod:
      case IndexOp::Mod: return src(1) == 0 ? 0 : src(0) - quotient() * src(1);
      case IndexOp::Lt: return src(0) < src(1) ? 1 : 0;
      case IndexOp::Le: return src(0) <= src(1) ? 1 : 0;
      case IndexOp::Eq: return src(0) == src(1) ? 1 : 0;
      case IndexOp::Ne: return src(0) != src(1) ? 1 : 0;
      case IndexOp::And: return src(0) != 0 && src(1) != 0 ? 1 : 0;
      case IndexOp::Or: return src(0) != 0 || src(1) != 0 ? 1 : 0;
      case IndexOp::Not: return src(0) == 0 ? 1 : 0;
      case IndexOp::Min: return std::min(src(0), src(1));
      case IndexOp::Max: return std::max(src(0), src(1));
      case IndexOp::Where: return src(0) != 0 ? src(1) : src(2);
    }
    return 0;
  }

  const LinearKernel& kernel_;
  std::vector<std::int64_t> values_;
};

int budget(int usual) {
  const char* const asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  return asked == nullptr ? usual : std::max(1, std::atoi(asked));
}

// Drawn kernels with known sizes and no data-dependent positions, in several layouts.
std::vector<LinearKernel> drawn_kernels(int count) {
  std::vector<LinearKernel> all;
  for (std::uint64_t i = 0; static_cast<int>(all.size()) < count; ++i) {
    fuzz::RandomChooser chooser(11, i);
    const LazyOpPtr kernel = fuzz::draw_kernel_case(chooser).kernel;
    LinearKernel linear = i % 3 == 0   ? linearize(kernel)
                          : i % 3 == 1 ? linearize(kernel, {.sizes = kTinySizes})
                                       : linearize(kernel, {.layout_seed = i});
    const bool known = linear.variables.empty() &&
                       std::ranges::none_of(toposort(kernel), [](const LazyOpPtr& node) {
                         return node->op() == Op::Gather;
                       });
    if (known) all.push_back(std::move(linear));
  }
  return all;
}

TEST(BoundsProof, KernelsOfEveryLayoutAreProved) {
  for (const LinearKernel& kernel : drawn_kernels(budget(400))) {
    const std::vector<Unproved> open = unproved_accesses(kernel);
    EXPECT_TRUE(open.empty()) << str(kernel) << open[0].step << ": " << open[0].why;
    EXPECT_EQ(Walk(kernel).run(), -1) << str(kernel);
  }
}

// Blocks of rows, the last one starting earlier; a variable sets the row length.
TEST(BoundsProof, RowsOfAVariableLengthAreProvedTermByTerm) {
  const sint n = symbolic::variable("n", 0, 40);
  const auto load = [](const Shape& shape, const Strides& strides) {
    return LazyOp::load(1, DType::Float32, ShapeTracker({View::strided(shape, strides, 0)}));
  };
  const LazyOpPtr most = LazyOp::reduce(Op::ReduceMax, load({1, 100, n, n}, {0, 1, 0, 100}), {3});
  const LazyOpPtr less = LazyOp::binary(Op::Sub, load({1, 100, n, 1}, {0, 1, 100, 0}), most);
  const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous(less->shape()), less);
  std::vector<LinearKernel> layouts{linearize(kernel), linearize(kernel, {.sizes = kTinySizes})};
  for (std::uint64_t seed = 1; seed < 20; ++seed)
    layouts.push_back(linearize(kernel, {.layout_seed = seed}));
  for (const LinearKernel& linear : layouts) {
    const std::vector<Unproved> open = unproved_accesses(linear, std::vector{n.node()});
    EXPECT_TRUE(open.empty()) << str(linear) << open[0].step << ": " << open[0].why;
  }
}

// Changes one number of the index arithmetic by one: if that causes an access out of bounds, it
// must not be proved.
TEST(BoundsProof, AWrongNumberIsSeenWhereItReachesOutside) {
  int outside = 0, proved = 0, changed = 0;
  for (const LinearKernel& kernel : drawn_kernels(150)) {
    for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
      const LinearStep& step = kernel.steps[i];
      if (step.kind != StepKind::Const || step.dtype != DType::Int64) continue;
      for (const std::int64_t by : {-1, 1}) {
        std::int64_t other = 0;  // a data constant may be the last representable number
        if (__builtin_add_overflow(std::get<Scalar>(step.arg).to_int64(), by, &other)) continue;
        LinearKernel wrong = kernel;
        wrong.steps[i].arg = Scalar::of(other);
        const int at = Walk(wrong).run();
        const bool open = !unproved_accesses(wrong).empty();
        EXPECT_TRUE(open || at == -1) << "step " << at << " of\n" << str(wrong);
        ++changed;
        outside += at == -1 ? 0 : 1;
        proved += open ? 0 : 1;
      }
    }
  }
  EXPECT_GE(outside, changed / 20);
  EXPECT_GE(proved, changed / 20);  // most remaining ones are proved
  EXPECT_GE(proved * 10, (changed - outside) * 9) << changed << " " << outside;
}

// sum of b1[i] and b1[i + 4]; b1 has 6 elements.
LinearKernel reads_beyond(bool masked) {
  LinearKernel k;
  k.name = "k";
  k.buffers = {{0, DType::Float32, 4}, {1, DType::Float32, 6}};
  const auto add = [&](StepKind kind, DType dtype, Operands src, StepArg arg) {
    k.steps.push_back({kind, dtype, src, std::move(arg)});
    return static_cast<int>(k.steps.size()) - 1;
  };
  const int to = add(StepKind::DefineGlobal, DType::Float32, {}, 0);
  const int from = add(StepKind::DefineGlobal, DType::Float32, {}, 1);
  const int zero = add(StepKind::Const, DType::Int64, {}, Scalar::of(std::int64_t{0}));
  const int four = add(StepKind::Const, DType::Int64, {}, Scalar::of(std::int64_t{4}));
  const int two = add(StepKind::Const, DType::Int64, {}, Scalar::of(std::int64_t{2}));
  const int loop = add(StepKind::Loop, DType::Int64, {zero, four}, std::string("i0"));
  const int far = add(StepKind::Index, DType::Int64, {loop, four}, IndexOp::Add);
  const int valid = add(StepKind::Index, DType::Int64, {loop, two}, IndexOp::Lt);
  const int value = masked ? add(StepKind::Load, DType::Float32, {from, far, valid}, {})
                           : add(StepKind::Load, DType::Float32, {from, far}, {});
  add(StepKind::Store, DType::Float32, {to, loop, value}, {});
  add(StepKind::EndLoop, DType::Int64, {loop}, {});
  verify(k);
  return k;
}

TEST(BoundsProof, ALoadThatIsNotProvedIsGuarded) {
  EXPECT_TRUE(unproved_accesses(reads_beyond(true)).empty());
  const LinearKernel open = reads_beyond(false);
  ASSERT_EQ(unproved_accesses(open).size(), 1U);
  EXPECT_EQ(unproved_accesses(open)[0].why,
            "the index c0 + 4 of step 1 may be 7, but its memory has 6 elements");
  EXPECT_NE(Walk(open).run(), -1);
  const LinearKernel safe = guarded(open);
  verify(safe);
  EXPECT_EQ(Walk(safe).run(), -1);
  EXPECT_TRUE(unproved_accesses(safe).empty());
  EXPECT_EQ(guarded(reads_beyond(true)), reads_beyond(true));
}

TEST(BoundsProof, AStoreThatIsNotProvedIsRefused) {
  LinearKernel k = reads_beyond(true);
  k.buffers[0].size = 3;
  try {
    guarded(k);
    FAIL();
  } catch (const AstError& e) {
    EXPECT_STREQ(e.what(),
                 "k: step 9, STORE f32 %0 %5 %8: the index c0 of step 0 may be 3, but its memory "
                 "has 3 elements");
  }
}

}  // namespace
}  // namespace touchstone
