#include "touchstone/uop/spec.h"

#include <gtest/gtest.h>

#include <set>

#include <gmock/gmock.h>

#include "graphs.h"
#include "touchstone/uop/kernel_graph.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

struct Breach {
  const char* law;
  const char* why;
  UOp node;
};

std::string complaint(const UOp& node, SpecLevel level) {
  try {
    type_verify(node, level);
  } catch (const AstError& e) {
    return e.what();
  }
  return "taken";
}

UOp made(Ops op, UOpType d, std::vector<UOp> src = {}, UOpArg arg = {}) {
  return UOp::make(op, d, std::move(src), std::move(arg));
}

std::vector<Breach> tensor_breaches() {
  const UOp x = buffer(), i = buffer(4, DType::Int32), flag = buffer(4, DType::Bool);
  const UOp two = UOp::device(std::vector<std::string>{"A", "B"});
  const UOp on_two = UOp::new_buffer(two, 4, DType::Float32);
  const UOp on_b = UOp::new_buffer(UOp::device("B"), 4, DType::Float32);
  const DType f = DType::Float32;
  const auto none = UOpType::none();
  return {
      {"number of sources", "it has 1 sources, not 2", made(Ops::Add, f, {x})},
      {"constant", "another type", made(Ops::Const, f, {}, Scalar::of(true))},
      {"constant", "not a VIEW", made(Ops::Const, f, {x}, Scalar::of(1.0F))},
      {"constant", "one view without a mask",
       made(Ops::Const, f,
            {made(Ops::View, none, {kHost}, ShapeTracker::contiguous({1}).pad({{1, 0}}))},
            Scalar::of(1.0F))},
      {"variable", "bounds are empty",
       made(Ops::DefineVar, DType::Int64, {}, UOpVariable{"n", 2, 1})},
      {"bound variable", "DEFINE_VAR and CONST", made(Ops::Bind, DType::Int64, {x, x})},
      {"choice", "not a bool", made(Ops::Where, f, {x, x, x})},
      {"choice", "arms", made(Ops::Where, f, {flag, x, i})},
      {"comparison", "gives bool", made(Ops::CmpLt, f, {x, x})},
      {"comparison", "two types", made(Ops::CmpNe, DType::Bool, {x, i})},
      {"arithmetic", "another type", made(Ops::Add, f, {x, i})},
      {"arithmetic", "of integers", made(Ops::Idiv, f, {x, x})},
      {"arithmetic", "of floats", made(Ops::Sin, DType::Int32, {i})},
      {"arithmetic", "integers and bool", made(Ops::Xor, f, {x, x})},
      {"conversion", "no elements", made(Ops::Cast, none, {x})},
      {"reduce", "cannot be reduced by",
       made(Ops::ReduceAxis, f, {x}, UOpReduce{Ops::Sub, {0}, false})},
      {"reduce", "no such axis", made(Ops::ReduceAxis, f, {x}, UOpReduce{Ops::Add, {3}, false})},
      {"reduce", "sorted and distinct",
       made(Ops::ReduceAxis, f, {x}, UOpReduce{Ops::Add, {0, 0}, false})},
      {"device", "neither a name", made(Ops::Device, none, {}, std::int64_t{1})},
      {"unique", "not a number", made(Ops::Unique, none)},
      {"buffer", "UNIQUE and DEVICE", made(Ops::Buffer, f, {kHost, kHost}, std::int64_t{4})},
      {"buffer", "number of elements", made(Ops::Buffer, f, {UOp::unique(), kHost})},
      {"part of a buffer", "not a buffer",
       made(Ops::BufferView, f, {x.alu(Ops::Sin)}, Mask{{0, 1}})},
      {"view", "not a ShapeTracker", made(Ops::View, f, {x})},
      {"movement", "keeps the type", made(Ops::Reshape, DType::Int32, {x}, Shape{2, 2})},
      {"movement", "not a shape", made(Ops::Reshape, f, {x})},
      {"asked of a tensor", "keeps the type", made(Ops::Detach, DType::Int32, {x})},
      {"copy", "not a DEVICE", made(Ops::Copy, f, {x, x})},
      {"custom", "not a DEVICE", made(Ops::Custom, f, {x}, UOpFill{"RAND", 0, {4}})},
      {"assign", "another type", made(Ops::Assign, f, {x, i})},
      {"assign", "not an ASSIGN to follow", made(Ops::Assign, f, {x, x, x})},
      {"assign", "has shape (4,), the value (2,)", x.assign(buffer(2))},
      {"kernel", "no AST", made(Ops::Kernel, none, {x})},
      {"kernel", "not memory",
       made(Ops::Kernel, none, {x.alu(Ops::Sin)},
            UOpKernelPtr(std::make_shared<UOpKernel>(UOpKernel{UOp::sink({x}), {}})))},
      {"shard", "not an axis", made(Ops::Multi, f, {on_two}, std::int64_t{2})},
      {"one of several devices", "device 2 of 2", made(Ops::MSelect, f, {on_two}, std::int64_t{2})},
      {"stack of devices", "not on one device", made(Ops::MStack, f, {on_two})},
      {"allreduce", "not an op", made(Ops::Allreduce, f, {x, kHost})},
      {"sink", "no elements", made(Ops::Sink, f, {x})},
      {"of kernels", "does not belong",
       made(Ops::DefineGlobal, UOpType::pointer(f), {}, std::int64_t{0})},
      {"shape", "sources of shapes", add(buffer(4), buffer(5))},
      // Every other condition of a law.
      {"device", "gives no elements", made(Ops::Device, f, {}, std::string("A"))},
      {"unique", "gives no elements", made(Ops::Unique, f, {}, std::int64_t{1})},
      {"buffer", "of no type", made(Ops::Buffer, none, {UOp::unique(), kHost}, std::int64_t{4})},
      {"part of a buffer", "not (first, size)", made(Ops::BufferView, f, {x})},
      {"constant", "not a value", made(Ops::Const, f)},
      {"variable", "not a variable", made(Ops::DefineVar, DType::Int64)},
      {"variable", "not an integer", made(Ops::DefineVar, f, {}, UOpVariable{"n", 1, 2})},
      {"bound variable", "not an integer",
       made(Ops::Bind, f,
            {UOp::variable("n", 1, 2), UOp::constant(Scalar::from_int(DType::Int64, 1))})},
      {"arithmetic", "another type", made(Ops::Neg, f, {kHost})},
      {"conversion", "no elements", made(Ops::Bitcast, none, {x})},
      {"reduce", "lacks axes", made(Ops::ReduceAxis, f, {x})},
      {"reduce", "keeps the type",
       made(Ops::ReduceAxis, DType::Int32, {x}, UOpReduce{Ops::Add, {0}, false})},
      {"movement", "not a list of axes", made(Ops::Permute, f, {x}, Shape{0})},
      {"movement", "not a list of pairs", made(Ops::Pad, f, {x}, Shape{0})},
      {"copy", "keeps the type", made(Ops::Copy, DType::Int32, {x, kHost})},
      {"custom", "its contents", made(Ops::Custom, f, {kHost})},
      {"assign", "a constant", made(Ops::Assign, f, {x.const_like(1.0), x})},
      {"number of sources", "at least 2", made(Ops::Assign, f, {x})},
      {"kernel", "not a SINK",
       made(Ops::Kernel, none, {x}, UOpKernelPtr(std::make_shared<UOpKernel>(UOpKernel{x, {}})))},
      {"shard", "keeps the type", made(Ops::Multi, DType::Int32, {on_two}, std::int64_t{0})},
      {"one of several devices", "not a number", made(Ops::MSelect, f, {on_two})},
      {"allreduce", "not a DEVICE", made(Ops::Allreduce, f, {x, x})},
      {"allreduce", "keeps the type",
       made(Ops::Allreduce, DType::Int32, {on_two, kHost}, UOpReduce{Ops::Add, {}, false})},
      {"allreduce", "on one device",
       made(Ops::Allreduce, f, {x, kHost}, UOpReduce{Ops::Add, {}, false})},
      {"allreduce", "cannot be reduced by",
       made(Ops::Allreduce, f, {on_two, kHost}, UOpReduce{Ops::Sub, {}, false})},
      {"allreduce", "has axes",
       made(Ops::Allreduce, f, {on_two, kHost}, UOpReduce{Ops::Add, {0}, false})},
      {"device", "A is given twice", UOp::device(std::vector<std::string>{"A", "B", "A"})},
      {"one place", "on HOST and on (A, B)", made(Ops::Add, f, {x, on_two})},
      {"one place", "on A and on B",
       made(Ops::Where, f, {flag.copy_to(UOp::device("A")), on_b, on_b})},
      {"shard", "on one device", made(Ops::Multi, f, {x}, std::int64_t{0})},
      {"shard", "already sharded", on_two.multi(0).multi(0)},
      {"one of several devices", "on one device", x.mselect(0)},
      {"stack of devices", "another type", made(Ops::MStack, f, {x, i})},
      {"stack of devices", "another shape",
       UOp::mstack({x, UOp::new_buffer(UOp::device("B"), 5, f)})},
      {"stack of devices", "twice", UOp::mstack({x, buffer()})},
      {"of kernels", "does not belong", made(Ops::Store, none, {x, x})},
      {"image", "at least one pixel", made(Ops::Cast, UOpType::image(f, 0, 1), {x})},
      {"image", "at least one pixel", made(Ops::Cast, UOpType::image(f, 1, -1), {x})},
      {"image", "stored as float16 or float32",
       made(Ops::Cast, UOpType::image(DType::BFloat16, 1, 1), {x})},
      {"image", "2^63 bytes", made(Ops::Cast, UOpType::image(f, 0x7fffffff, 0x7fffffff), {x})},
      {"shape", "only an axis of size 1 can grow", made(Ops::Expand, f, {x}, Shape{5})},
  };
}

std::vector<Breach> kernel_breaches() {
  const DType f = DType::Float32;
  const auto none = UOpType::none();
  const auto global = [&](std::int64_t n) {
    return made(Ops::DefineGlobal, UOpType::pointer(f), {}, n);
  };
  const auto seen = [&](std::int64_t n, Shape s) {
    return made(Ops::View, UOpType::pointer(f), {global(n)},
                ShapeTracker::contiguous(std::move(s)));
  };
  const UOp load = made(Ops::Load, f, {seen(1, {4})});
  // A value of shape (4,) above a node of another shape.
  const auto over_flat = [&](const UOp& view) {
    return made(Ops::Load, f, {seen(1, {4}), made(Ops::Load, f, {view})});
  };
  const UOp store = made(Ops::Store, none, {seen(0, {4}), load});
  return {
      {"buffer of a kernel", "not a pointer", made(Ops::DefineGlobal, f, {}, std::int64_t{0})},
      {"load", "no VIEW of a DEFINE_GLOBAL", made(Ops::Load, f, {load})},
      {"load", "another type", made(Ops::Load, DType::Int32, {seen(1, {4})})},
      {"store", "no VIEW of a DEFINE_GLOBAL", made(Ops::Store, none, {load, load})},
      {"store", "another shape", made(Ops::Store, none, {seen(0, {2, 2}), load})},
      {"valid", "not a VIEW", made(Ops::Valid, DType::Bool, {load})},
      {"views at the edges", "edges", made(Ops::View, f, {load}, ShapeTracker::contiguous({2, 2}))},
      {"root", "not a STORE", UOp::sink({load})},
      {"of tensors", "does not belong", load.ask(Ops::Contiguous)},
      {"buffer of a kernel", "not a number of a buffer",
       made(Ops::DefineGlobal, UOpType::pointer(f))},
      {"store", "buffer is of another type",
       made(Ops::Store, none, {seen(0, {4}), made(Ops::Const, DType::Int32, {}, Scalar::of(1))})},
      {"store", "gives no elements", made(Ops::Store, f, {seen(0, {4}), load})},
      {"valid", "gives bool",
       made(Ops::Valid, f, {made(Ops::View, none, {}, ShapeTracker::contiguous({4}))})},
      {"views at the edges", "not a ShapeTracker",
       made(Ops::View, UOpType::pointer(f), {global(0)})},
      {"root", "stores nothing", UOp::sink({})},
      {"of tensors", "does not belong", made(Ops::Reshape, f, {load}, Shape{2, 2})},
      {"image", "only DEFINE_GLOBAL and VIEW", made(Ops::Cast, UOpType::image(f, 1, 1), {load})},
      {"image", "stored as float16 or float32",
       made(Ops::DefineGlobal, UOpType::image(DType::Int8, 1, 1), {}, std::int64_t{0})},
      {"one shape", "it stores shape (1,), another (4,)",
       UOp::sink(
           {store, made(Ops::Store, none, {seen(2, {1}), made(Ops::Load, f, {seen(1, {1})})})})},
      {"one shape", "it has 2 axes, what is stored 1",
       UOp::sink({made(Ops::Store, none, {seen(0, {4}), over_flat(seen(1, {2, 2}))})})},
      {"one shape", "axis 0 has size 3, elsewhere 4",
       UOp::sink({made(Ops::Store, none, {seen(0, {4}), over_flat(seen(1, {3}))})})},
  };
}

void hold(const std::vector<Breach>& breaches, SpecLevel level) {
  std::set<std::string> broken;
  for (const Breach& b : breaches) {
    const std::string said = complaint(b.node, level);
    EXPECT_THAT(said, HasSubstr(fmt::format(": {}: ", b.law)));
    EXPECT_THAT(said, HasSubstr(b.why)) << b.law;
    EXPECT_THAT(said, HasSubstr("node "));
    broken.insert(b.law);
  }
  const std::set<std::string> shared = {
      "constant",   "variable", "bound variable",    "choice", "comparison", "arithmetic",
      "conversion", "reduce",   "number of sources", "shape"};
  for (const SpecRule& rule : spec(level)) {
    const std::string law(rule.name);
    if (level == SpecLevel::Kernel && shared.contains(law)) continue;  // broken by an earlier case
    EXPECT_TRUE(broken.contains(law)) << law;
  }
}

TEST(Spec, EachLawOfTensorsIsBrokenBySomeNode) { hold(tensor_breaches(), SpecLevel::Tensor); }
TEST(Spec, EachLawOfKernelsIsBrokenBySomeNode) { hold(kernel_breaches(), SpecLevel::Kernel); }

TEST(Spec, AnAstOfAKernelIsAGraphThatKeepsIt) {
  const DType f = DType::Float32;
  const ShapeTracker whole = ShapeTracker::contiguous({2, 3});
  const LazyOpPtr load = LazyOp::load(1, f, whole);
  const LazyOpPtr padded =
      LazyOp::constant(Scalar::of(2.0F), ShapeTracker::contiguous({2, 2}).pad({{0, 0}, {0, 1}}));
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Div, load, padded), {1});
  const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous({2, 1}), sum);
  const UOp graph = kernel_graph(kernel);
  EXPECT_EQ(complaint(graph, SpecLevel::Kernel), "taken") << graph.str();
  const UOp value = graph.src(0).src(1);
  EXPECT_EQ(value.line(), "REDUCE_AXIS f32 ADD (1)");
  EXPECT_EQ(value.src(0).op(), Ops::Fdiv);
  EXPECT_EQ(value.src(0).src(1).op(), Ops::Where);
  EXPECT_EQ(value.src(0).src(1).src(0).op(), Ops::Valid);
  EXPECT_THROW(kernel_graph(sum), AstError);
  const LazyOpPtr flags = LazyOp::binary(Op::CmpLt, load, load);
  for (const LazyOpPtr& x :
       {LazyOp::ternary(Op::Where, flags, load, load), LazyOp::cast(load, DType::Int8),
        LazyOp::cast(load, DType::Int32, true), LazyOp::unary(Op::Neg, flags)})
    EXPECT_EQ(complaint(kernel_graph(LazyOp::store(whole, x)), SpecLevel::Kernel), "taken");
}

TEST(Spec, EveryPassIsHeldToIt) {
  const UOp x = buffer(), bad = made(Ops::Add, DType::Float32, {x, buffer(4, DType::Int32)});
  const PatternMatcher m(
      {{"spoil", UPat(Ops::Neg).over({UPat::var("x")}), {"x"}, [bad](const Match& /*m*/) {
          return bad;
        }}});
  struct Heard final : RewriteRecorder {
    void begins(std::string_view pass, const UOp& /*sink*/) override { all += pass; }
    void rewrote(const Rule& rule, const UOp& /*from*/, const UOp& /*to*/) override {
      all += " " + rule.name;
    }
    std::string all;
  } heard;
  const RecorderScope outer(heard);
  SpecRecorder verify;
  const RecorderScope scope(verify);
  EXPECT_EQ(graph_rewrite(x, m, {}, {.pass = "first"}), x);
  EXPECT_EQ(verify.passes(), 1);
  try {
    graph_rewrite(x.alu(Ops::Neg), m, {}, {.pass = "second"});
    FAIL();
  } catch (const AstError& e) {
    EXPECT_THAT(e.what(), HasSubstr("after the pass second: node "));
    EXPECT_THAT(e.what(), HasSubstr("arithmetic: its operands are of another type"));
  }
  EXPECT_EQ(heard.all, "firstsecond spoil");
}

TEST(Spec, NamesThePlaceAndTheSources) {
  const UOp x = buffer();
  EXPECT_THAT(complaint(made(Ops::Where, DType::Float32, {x, x, x}), SpecLevel::Tensor),
              HasSubstr("node 3, WHERE f32 over (BUFFER, BUFFER, BUFFER): choice: its condition"));
}

TEST(Spec, TakesWhatIsRight) {
  const UOp x = buffer(6).reshape({2, 3});
  const UOp y =
      add(x, x.const_like(1.0)).reduce(Ops::Add, {1}).expand({2, 3}).pad({{1, 0}, {0, 0}});
  const UOp z =
      y.alu(Ops::CmpLt, {y}).alu(Ops::Where, {y, y}).contiguous().copy_to(UOp::device("B"));
  EXPECT_EQ(complaint(UOp::sink({z, x.assign(x)}), SpecLevel::Tensor), "taken");
}

}  // namespace
}  // namespace touchstone
