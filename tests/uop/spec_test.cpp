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

UOp made(GraphOp op, UOpType d, std::vector<UOp> src = {}, UOpArg arg = {}) {
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
      {"number of sources", "it has 1 sources, not 2", made(GraphOp::Add, f, {x})},
      {"constant", "another type", made(GraphOp::Const, f, {}, Scalar::of(true))},
      {"constant", "not a VIEW", made(GraphOp::Const, f, {x}, Scalar::of(1.0F))},
      {"constant", "one view without a mask",
       made(GraphOp::Const, f,
            {made(GraphOp::View, none, {kHost}, ShapeTracker::contiguous({1}).pad({{1, 0}}))},
            Scalar::of(1.0F))},
      {"variable", "bounds are empty",
       made(GraphOp::DefineVar, DType::Int64, {}, UOpVariable{"n", 2, 1})},
      {"bound variable", "DEFINE_VAR and CONST", made(GraphOp::Bind, DType::Int64, {x, x})},
      {"choice", "not a bool", made(GraphOp::Where, f, {x, x, x})},
      {"choice", "arms", made(GraphOp::Where, f, {flag, x, i})},
      {"comparison", "gives bool", made(GraphOp::CmpLt, f, {x, x})},
      {"comparison", "two types", made(GraphOp::CmpNe, DType::Bool, {x, i})},
      {"arithmetic", "another type", made(GraphOp::Add, f, {x, i})},
      {"arithmetic", "of integers", made(GraphOp::Idiv, f, {x, x})},
      {"arithmetic", "of floats", made(GraphOp::Sin, DType::Int32, {i})},
      {"arithmetic", "integers and bool", made(GraphOp::Xor, f, {x, x})},
      {"function", "not a function", made(GraphOp::Function, f, {x})},
      {"function", "takes 2", made(GraphOp::Function, f, {x}, NamedFunction::Pow)},
      {"function", "of floats", made(GraphOp::Function, DType::Int32, {i}, NamedFunction::Exp)},
      {"gather", "not int64", made(GraphOp::Gather, f, {x, x})},
      {"gather", "how it sees its table",
       made(GraphOp::Gather, f, {x.cast(DType::Int64), x}, ShapeTracker())},
      {"gather", "one more axis",
       made(GraphOp::Gather, f, {x.cast(DType::Int64), x},
            UOpGather{ShapeTracker::contiguous({2}), {}})},
      {"conversion", "no elements", made(GraphOp::Cast, none, {x})},
      {"reduce", "cannot be reduced by",
       made(GraphOp::ReduceAxis, f, {x}, UOpReduce{GraphOp::Sub, {0}, false})},
      {"reduce", "no such axis",
       made(GraphOp::ReduceAxis, f, {x}, UOpReduce{GraphOp::Add, {3}, false})},
      {"reduce", "sorted and distinct",
       made(GraphOp::ReduceAxis, f, {x}, UOpReduce{GraphOp::Add, {0, 0}, false})},
      {"device", "neither a name", made(GraphOp::Device, none, {}, std::int64_t{1})},
      {"unique", "not a number", made(GraphOp::Unique, none)},
      {"buffer", "UNIQUE and DEVICE", made(GraphOp::Buffer, f, {kHost, kHost}, std::int64_t{4})},
      {"buffer", "number of elements", made(GraphOp::Buffer, f, {UOp::unique(), kHost})},
      {"part of a buffer", "not a buffer",
       made(GraphOp::BufferView, f, {x.alu(GraphOp::Sin)}, Mask{{0, 1}})},
      {"view", "not a ShapeTracker", made(GraphOp::View, f, {x})},
      {"movement", "keeps the type", made(GraphOp::Reshape, DType::Int32, {x}, Shape{2, 2})},
      {"movement", "not a shape", made(GraphOp::Reshape, f, {x})},
      {"asked of a tensor", "keeps the type", made(GraphOp::Detach, DType::Int32, {x})},
      {"copy", "not a DEVICE", made(GraphOp::Copy, f, {x, x})},
      {"custom", "not a DEVICE", made(GraphOp::Custom, f, {x}, UOpFill{"RAND", 0, {4}})},
      {"assign", "another type", made(GraphOp::Assign, f, {x, i})},
      {"assign", "not an ASSIGN to follow", made(GraphOp::Assign, f, {x, x, x})},
      {"assign", "has shape (4,), the value (2,)", x.assign(buffer(2))},
      {"kernel", "no AST", made(GraphOp::Kernel, none, {x})},
      {"kernel", "not memory",
       made(GraphOp::Kernel, none, {x.alu(GraphOp::Sin)},
            UOpKernelPtr(std::make_shared<UOpKernel>(UOpKernel{UOp::sink({x}), {}})))},
      {"shard", "not an axis", made(GraphOp::Multi, f, {on_two}, std::int64_t{2})},
      {"one of several devices", "device 2 of 2",
       made(GraphOp::MSelect, f, {on_two}, std::int64_t{2})},
      {"stack of devices", "not on one device", made(GraphOp::MStack, f, {on_two})},
      {"allreduce", "not an op", made(GraphOp::Allreduce, f, {x, kHost})},
      {"sink", "no elements", made(GraphOp::Sink, f, {x})},
      {"of kernels", "does not belong",
       made(GraphOp::DefineGlobal, UOpType::pointer(f), {}, std::int64_t{0})},
      {"shape", "sources of shapes", add(buffer(4), buffer(5))},
      // Every other condition of a law.
      {"device", "gives no elements", made(GraphOp::Device, f, {}, std::string("A"))},
      {"unique", "gives no elements", made(GraphOp::Unique, f, {}, std::int64_t{1})},
      {"buffer", "of no type",
       made(GraphOp::Buffer, none, {UOp::unique(), kHost}, std::int64_t{4})},
      {"part of a buffer", "not (first, size)", made(GraphOp::BufferView, f, {x})},
      {"constant", "not a value", made(GraphOp::Const, f)},
      {"variable", "not a variable", made(GraphOp::DefineVar, DType::Int64)},
      {"variable", "not an integer", made(GraphOp::DefineVar, f, {}, UOpVariable{"n", 1, 2})},
      {"bound variable", "not an integer",
       made(GraphOp::Bind, f,
            {UOp::variable("n", 1, 2), UOp::constant(Scalar::from_int(DType::Int64, 1))})},
      {"arithmetic", "another type", made(GraphOp::Neg, f, {kHost})},
      {"conversion", "no elements", made(GraphOp::Bitcast, none, {x})},
      {"reduce", "lacks axes", made(GraphOp::ReduceAxis, f, {x})},
      {"reduce", "keeps the type",
       made(GraphOp::ReduceAxis, DType::Int32, {x}, UOpReduce{GraphOp::Add, {0}, false})},
      {"movement", "not a list of axes", made(GraphOp::Permute, f, {x}, Shape{0})},
      {"movement", "not a list of pairs", made(GraphOp::Pad, f, {x}, Shape{0})},
      {"copy", "keeps the type", made(GraphOp::Copy, DType::Int32, {x, kHost})},
      {"custom", "its contents", made(GraphOp::Custom, f, {kHost})},
      {"assign", "a constant", made(GraphOp::Assign, f, {x.const_like(1.0), x})},
      {"number of sources", "at least 2", made(GraphOp::Assign, f, {x})},
      {"kernel", "not a SINK",
       made(GraphOp::Kernel, none, {x},
            UOpKernelPtr(std::make_shared<UOpKernel>(UOpKernel{x, {}})))},
      {"shard", "keeps the type", made(GraphOp::Multi, DType::Int32, {on_two}, std::int64_t{0})},
      {"one of several devices", "not a number", made(GraphOp::MSelect, f, {on_two})},
      {"allreduce", "not a DEVICE", made(GraphOp::Allreduce, f, {x, x})},
      {"allreduce", "keeps the type",
       made(GraphOp::Allreduce, DType::Int32, {on_two, kHost}, UOpReduce{GraphOp::Add, {}, false})},
      {"allreduce", "on one device",
       made(GraphOp::Allreduce, f, {x, kHost}, UOpReduce{GraphOp::Add, {}, false})},
      {"allreduce", "cannot be reduced by",
       made(GraphOp::Allreduce, f, {on_two, kHost}, UOpReduce{GraphOp::Sub, {}, false})},
      {"allreduce", "has axes",
       made(GraphOp::Allreduce, f, {on_two, kHost}, UOpReduce{GraphOp::Add, {0}, false})},
      {"device", "A is given twice", UOp::device(std::vector<std::string>{"A", "B", "A"})},
      {"one place", "on HOST and on (A, B)", made(GraphOp::Add, f, {x, on_two})},
      {"one place", "on A and on B",
       made(GraphOp::Where, f, {flag.copy_to(UOp::device("A")), on_b, on_b})},
      {"shard", "on one device", made(GraphOp::Multi, f, {x}, std::int64_t{0})},
      {"shard", "already sharded", on_two.multi(0).multi(0)},
      {"one of several devices", "on one device", x.mselect(0)},
      {"stack of devices", "another type", made(GraphOp::MStack, f, {x, i})},
      {"stack of devices", "another shape",
       UOp::mstack({x, UOp::new_buffer(UOp::device("B"), 5, f)})},
      {"stack of devices", "twice", UOp::mstack({x, buffer()})},
      {"of kernels", "does not belong", made(GraphOp::Store, none, {x, x})},
      {"image", "at least one pixel", made(GraphOp::Cast, UOpType::image(f, 0, 1), {x})},
      {"image", "at least one pixel", made(GraphOp::Cast, UOpType::image(f, 1, -1), {x})},
      {"image", "stored as float16 or float32",
       made(GraphOp::Cast, UOpType::image(DType::BFloat16, 1, 1), {x})},
      {"image", "2^63 bytes", made(GraphOp::Cast, UOpType::image(f, 0x7fffffff, 0x7fffffff), {x})},
      {"shape", "only an axis of size 1 can grow", made(GraphOp::Expand, f, {x}, Shape{5})},
  };
}

std::vector<Breach> kernel_breaches() {
  const DType f = DType::Float32;
  const auto none = UOpType::none();
  const auto global = [&](std::int64_t n) {
    return made(GraphOp::DefineGlobal, UOpType::pointer(f), {}, n);
  };
  const auto seen = [&](std::int64_t n, Shape s) {
    return made(GraphOp::View, UOpType::pointer(f), {global(n)},
                ShapeTracker::contiguous(std::move(s)));
  };
  const UOp load = made(GraphOp::Load, f, {seen(1, {4})});
  // A value of shape (4,) above a node of another shape.
  const auto over_flat = [&](const UOp& view) {
    return made(GraphOp::Load, f, {seen(1, {4}), made(GraphOp::Load, f, {view})});
  };
  const UOp store = made(GraphOp::Store, none, {seen(0, {4}), load});
  return {
      {"buffer of a kernel", "not a pointer", made(GraphOp::DefineGlobal, f, {}, std::int64_t{0})},
      {"load", "no VIEW of a DEFINE_GLOBAL", made(GraphOp::Load, f, {load})},
      {"load", "another type", made(GraphOp::Load, DType::Int32, {seen(1, {4})})},
      {"store", "no VIEW of a DEFINE_GLOBAL", made(GraphOp::Store, none, {load, load})},
      {"store", "another shape", made(GraphOp::Store, none, {seen(0, {2, 2}), load})},
      {"valid", "not a VIEW", made(GraphOp::Valid, DType::Bool, {load})},
      {"views at the edges", "edges",
       made(GraphOp::View, f, {load}, ShapeTracker::contiguous({2, 2}))},
      {"root", "not a STORE", UOp::sink({load})},
      {"of tensors", "does not belong", load.ask(GraphOp::Contiguous)},
      {"buffer of a kernel", "not a number of a buffer",
       made(GraphOp::DefineGlobal, UOpType::pointer(f))},
      {"store", "buffer is of another type",
       made(GraphOp::Store, none,
            {seen(0, {4}), made(GraphOp::Const, DType::Int32, {}, Scalar::of(1))})},
      {"store", "gives no elements", made(GraphOp::Store, f, {seen(0, {4}), load})},
      {"valid", "gives bool",
       made(GraphOp::Valid, f, {made(GraphOp::View, none, {}, ShapeTracker::contiguous({4}))})},
      {"views at the edges", "not a ShapeTracker",
       made(GraphOp::View, UOpType::pointer(f), {global(0)})},
      {"root", "stores nothing", UOp::sink({})},
      {"of tensors", "does not belong", made(GraphOp::Reshape, f, {load}, Shape{2, 2})},
      {"image", "only DEFINE_GLOBAL and VIEW",
       made(GraphOp::Cast, UOpType::image(f, 1, 1), {load})},
      {"image", "stored as float16 or float32",
       made(GraphOp::DefineGlobal, UOpType::image(DType::Int8, 1, 1), {}, std::int64_t{0})},
      {"one shape", "it stores shape (1,), another (4,)",
       UOp::sink({store, made(GraphOp::Store, none,
                              {seen(2, {1}), made(GraphOp::Load, f, {seen(1, {1})})})})},
      {"one shape", "it has 2 axes, the stored value 1",
       UOp::sink({made(GraphOp::Store, none, {seen(0, {4}), over_flat(seen(1, {2, 2}))})})},
      {"one shape", "axis 0 has size 3, elsewhere 4",
       UOp::sink({made(GraphOp::Store, none, {seen(0, {4}), over_flat(seen(1, {3}))})})},
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
      "constant",   "variable",          "bound variable", "choice",
      "comparison", "arithmetic",        "function",       "conversion",
      "reduce",     "number of sources", "shape",          "gather"};
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
  EXPECT_EQ(value.src(0).op(), GraphOp::Fdiv);
  EXPECT_EQ(value.src(0).src(1).op(), GraphOp::Where);
  EXPECT_EQ(value.src(0).src(1).src(0).op(), GraphOp::Valid);
  EXPECT_THROW(kernel_graph(sum), AstError);
  const LazyOpPtr flags = LazyOp::binary(Op::CmpLt, load, load);
  for (const LazyOpPtr& x :
       {LazyOp::ternary(Op::Where, flags, load, load), LazyOp::cast(load, DType::Int8),
        LazyOp::cast(load, DType::Int32, true), LazyOp::unary(Op::Neg, flags)})
    EXPECT_EQ(complaint(kernel_graph(LazyOp::store(whole, x)), SpecLevel::Kernel), "taken");
}

TEST(Spec, EveryPassIsHeldToIt) {
  const UOp x = buffer(), bad = made(GraphOp::Add, DType::Float32, {x, buffer(4, DType::Int32)});
  const PatternMatcher m({{"spoil", UPat(GraphOp::Neg).over({UPat::var("x")}),
                           [bad](const Match& /*m*/) { return bad; }}});
  struct Heard final : RewriteRecorder {
    void begins(std::string_view pass, const UOp& /*sink*/) override { all += pass; }
    void rewrote(const RewriteRule& rule, const UOp& /*from*/, const UOp& /*to*/) override {
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
    graph_rewrite(x.alu(GraphOp::Neg), m, {}, {.pass = "second"});
    FAIL();
  } catch (const AstError& e) {
    EXPECT_THAT(e.what(), HasSubstr("after the pass second: node "));
    EXPECT_THAT(e.what(), HasSubstr("arithmetic: its operands are of another type"));
  }
  EXPECT_EQ(heard.all, "firstsecond spoil");
}

TEST(Spec, NamesThePlaceAndTheSources) {
  const UOp x = buffer();
  EXPECT_THAT(complaint(made(GraphOp::Where, DType::Float32, {x, x, x}), SpecLevel::Tensor),
              HasSubstr("node 3, WHERE f32 over (BUFFER, BUFFER, BUFFER): choice: its condition"));
}

TEST(Spec, TakesWhatIsRight) {
  const UOp x = buffer(6).reshape({2, 3});
  const UOp y =
      add(x, x.const_like(1.0)).reduce(GraphOp::Add, {1}).expand({2, 3}).pad({{1, 0}, {0, 0}});
  const UOp z =
      y.alu(GraphOp::CmpLt, {y}).alu(GraphOp::Where, {y, y}).contiguous().copy_to(UOp::device("B"));
  EXPECT_EQ(complaint(UOp::sink({z, x.assign(x)}), SpecLevel::Tensor), "taken");
}

}  // namespace
}  // namespace touchstone
