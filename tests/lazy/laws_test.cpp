// Laws of LazyBuffers beyond their ops: sharing, families, folding, external memory, assign().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "lazy_device.h"
#include "touchstone/lazy/fold.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;

class Laws : public LazyTest {};

TEST_F(Laws, TheSameOpOnTheSameSourcesIsTheSameObject) {
  const auto x = counting({4}), y = counting({4});
  const auto s = add(x, y);
  EXPECT_EQ(add(x, y), s);
  EXPECT_EQ(x->reshape({2, 2}), x->reshape({2, 2}));
  EXPECT_EQ(number(3, {4}), number(3, {4}));
  EXPECT_EQ(sum(s, {0}), sum(s, {0}));
  EXPECT_EQ(s->cast(DType::Int8), s->cast(DType::Int8));
  EXPECT_NE(s->cast(DType::Int8), s->cast(DType::Int16));
  EXPECT_NE(add(y, x), s);
  EXPECT_NE(sum(s, {0}), s->r(Op::ReduceMax, {0}));
  EXPECT_NE(number(0.0, {4}), number(-0.0, {4}));
  EXPECT_NE(LazyBuffer::random({1, 0}, {4}, "CPU"), LazyBuffer::random({1, 0}, {4}, "CPU"));
  EXPECT_NE(LazyBuffer::empty({4}, DType::Int8, "CPU"), LazyBuffer::empty({4}, DType::Int8, "CPU"));
  Config config;
  config.lazycache = false;
  const ConfigScope scope(config);
  EXPECT_NE(add(x, y), s);
}

TEST_F(Laws, WhatIsSharedDiesWithItsLastUserAndIsNotFoundOnceRealized) {
  const auto x = counting({4});
  std::weak_ptr<LazyBuffer> gone = exp2(x);
  EXPECT_TRUE(gone.expired());
  const auto first = exp2(x);
  realize(std::vector{first});
  const auto second = exp2(x);
  EXPECT_NE(second, first);
  EXPECT_EQ(values(second), values(first));
}

TEST_F(Laws, FamiliesAreKnownAsLongAsTheyLive) {
  const auto x = counting({4});
  EXPECT_TRUE(x->children().empty());
  {
    const auto twice = add(x, x);
    EXPECT_EQ(x->children(), std::vector{twice});
    const auto moved = x->reshape({2, 2});
    EXPECT_EQ(x->views(), std::vector{moved});
    const auto power = exp2(moved);
    EXPECT_EQ(moved->children(), std::vector{power});
  }
  EXPECT_TRUE(x->children().empty());
  EXPECT_TRUE(x->views().empty());
  for (int i = 0; i < 1000; ++i) mul(x, number(i + 2, {4}));
  EXPECT_TRUE(x->children().empty());
}

TEST_F(Laws, ConstantsAreKnownThroughViewsButNotThroughMasks) {
  const auto c = number(3, {4, 5});
  EXPECT_TRUE(c->constant_value());
  const auto moved = c->permute(std::vector{1, 0})->reshape({20})->shrink({{3, 9}});
  EXPECT_EQ(moved->constant_value(), Scalar::of(3.0F));
  EXPECT_FALSE(moved->pad({{0, 1}})->constant_value());
  EXPECT_EQ(mul(moved, number(2, {6}))->constant_value(), Scalar::of(6.0F));
  EXPECT_FALSE(exp2(counting({4}))->constant_value());
}

TEST_F(Laws, AbsorbingElementsFoldWhereTheyAbsorb) {
  const auto i = buffer(std::vector<int>{1, 2}, {2});
  const auto ints = [](std::int64_t v) {
    return LazyBuffer::constant(Scalar::from_int(DType::Int32, v), {2}, "CPU");
  };
  EXPECT_EQ(mul(i, ints(0))->constant_value(), Scalar::of(0));
  EXPECT_EQ(LazyBuffer::e(Op::Max, {ints(INT32_MAX), i})->constant_value(), Scalar::of(INT32_MAX));
  EXPECT_EQ(LazyBuffer::e(Op::Max, {i, ints(INT32_MIN)}), i);
  EXPECT_EQ(LazyBuffer::e(Op::Xor, {i, i})->constant_value(), Scalar::of(0));
  EXPECT_EQ(LazyBuffer::e(Op::CmpEq, {i, i})->constant_value(), Scalar::of(true));
  EXPECT_EQ(LazyBuffer::e(Op::CmpLt, {i, ints(INT32_MIN)})->constant_value(), Scalar::of(false));
  EXPECT_EQ(LazyBuffer::e(Op::Neg, {LazyBuffer::e(Op::Neg, {i})}), i);
  EXPECT_EQ(i->bitcast(DType::Float32)->bitcast(DType::Int32), i);
  const auto x = counting({2});
  const auto yes = LazyBuffer::constant(Scalar::of(true), {2}, "CPU");
  EXPECT_EQ(LazyBuffer::e(Op::Where, {yes, x, exp2(x)}), x);
  EXPECT_EQ(LazyBuffer::e(Op::Where, {LazyBuffer::e(Op::CmpLt, {x, exp2(x)}), x, x}), x);
  // A float may be NaN, which is not equal to itself, and times 0 is not 0.
  EXPECT_FALSE(LazyBuffer::e(Op::CmpEq, {x, x})->constant_value());
  EXPECT_FALSE(LazyBuffer::e(Op::Sub, {x, x})->constant_value());
  EXPECT_FALSE(mul(x, number(0, {2}))->constant_value());
  EXPECT_EQ(kernels({mul(i, ints(0)), LazyBuffer::e(Op::Xor, {i, i})}), 0u);
}

// All pairs of edge values of a type.
std::vector<Scalar> edges(DType d) {
  std::vector<Scalar> all;
  const auto bits = [&](std::uint64_t b) { all.push_back(Scalar::from_bits(d, b)); };
  if (is_bool(d)) return {Scalar::of(false), Scalar::of(true)};
  const auto top = std::uint64_t{1} << (8 * itemsize(d) - 1);
  for (const std::uint64_t b :
       {std::uint64_t{0}, std::uint64_t{1}, top, top - 1, top + 1, ~std::uint64_t{0}})
    bits(b);
  for (const double v : {1.0, -1.0, 3.0, 0.1, 100.0}) all.push_back(Scalar::from_double(d, v));
  if (is_float(d))
    for (const char* text : {"inf", "-inf", "nan"}) all.push_back(Scalar::parse(d, text));
  return all;
}

TEST_F(Laws, FoldingGivesTheBitsOfTheReferenceDevice) {
  const Op ops[] = {Op::Neg, Op::Sqrt, Op::Recip, Op::Add,   Op::Sub,   Op::Mul,
                    Op::Div, Op::Max,  Op::Xor,   Op::CmpLt, Op::CmpEq, Op::Mod};
  Config plain(0);
  plain.lazycache = false;
  int folded = 0;
  for (const DTypeInfo& row : dtype_table) {
    const std::vector<Scalar> values = edges(row.dtype);
    const auto n = static_cast<std::int64_t>(values.size());
    const auto array = std::make_shared<Buffer>(Device::get("CPU"), row.dtype, n);
    std::string bytes;
    for (const Scalar& v : values) {
      const std::uint64_t b = v.bits();
      bytes.append(reinterpret_cast<const char*>(&b), itemsize(row.dtype));
    }
    array->copy_in(std::as_bytes(std::span(bytes)));
    const auto x = LazyBuffer::from_buffer(array, {n});
    for (const Op op : ops) {
      if (!takes(op, row.dtype)) continue;
      const bool two = info(op).arity == 2;
      const auto a = x->reshape({n, 1})->expand({n, n}), b = x->reshape({1, n})->expand({n, n});
      const auto out = LazyBuffer::e(op, two ? std::vector{a, b} : std::vector{a})->contiguous();
      realize(std::vector{out});
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const std::vector<Scalar> operands{values[static_cast<std::size_t>(i)],
                                             values[static_cast<std::size_t>(j)]};
          const auto got = fold(op, std::span(operands).first(two ? 2 : 1));
          if (!got) continue;
          ++folded;
          EXPECT_EQ(*got, out->realized()->at(i * n + j))
              << name(op) << ' ' << row.name << ' ' << operands[0].str() << ", "
              << operands[1].str();
        }
    }
  }
  EXPECT_GT(folded, 5000);
}

TEST_F(Laws, AReduceOfCopiesIsTheBitsOfTheWholeReduce) {
  const auto run = [](const LazyBufferPtr& x, Op op, int opt) {
    const ConfigScope scope{Config(opt)};
    const auto out = x->r(op, {0, 1})->contiguous();
    realize(std::vector{out});
    return out->realized()->at(0);
  };
  for (const DType d : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64,
                        DType::Int8, DType::UInt64, DType::Bool})
    for (const Scalar& value : edges(d)) {
      const auto one = std::make_shared<Buffer>(Device::get("CPU"), d, 1);
      const std::uint64_t bits = value.bits();
      one->copy_in(std::as_bytes(std::span(&bits, 1)).first(itemsize(d)));
      const auto x = LazyBuffer::from_buffer(one, {1, 1})->expand({7, 11});
      for (const Op op : {Op::ReduceSum, Op::ReduceMax}) {
        const Scalar plain = run(x, op, 1), product = run(x, op, 2);
        if (plain.is_nan())
          EXPECT_TRUE(product.is_nan());
        else
          EXPECT_EQ(plain, product) << name(op) << ' ' << name(d) << ' ' << value.str();
      }
    }
}

TEST_F(Laws, ACustomFunctionFillsItsMemoryFromWholeBuffers) {
  const auto reversed = std::make_shared<const CustomFunction>(
      CustomFunction{"reverse", [](Buffer& out, std::span<Buffer* const> in) {
                       auto v = in[0]->read<float>();
                       std::ranges::reverse(v);
                       out.write<float>(v);
                     }});
  const auto x = counting({2, 3})->permute(std::vector{1, 0});
  const auto made = LazyBuffer::custom(reversed, {x}, {6}, DType::Float32, "cpu");
  EXPECT_EQ(values(exp2(made)), (Floats{64, 8, 32, 4, 16, 2}));
  EXPECT_THAT(error_of([&] { LazyBuffer::custom(reversed, {x}, {6}, DType::Float32, "CLANG"); }),
              HasSubstr("'reverse' runs on CLANG, but a source is on CPU"));
  EXPECT_TRUE(LazyBuffer::custom(reversed, {x}, {0}, DType::Float32, "CPU")->is_const_base());
}

// A separate memory, unreadable unless copied out.
class FarMemory final : public Allocator {
  void* allocate(std::size_t bytes) override { return ::operator new(bytes); }
  void release(void* memory, std::size_t /*bytes*/) noexcept override { ::operator delete(memory); }
  void copy_in(void* memory, std::span<const std::byte> source) override {
    std::ranges::transform(source, static_cast<std::byte*>(memory), std::bit_not());
  }
  void copy_out(std::span<std::byte> target, const void* memory) override {
    const auto* bytes = static_cast<const std::byte*>(memory);
    std::transform(bytes, bytes + target.size(), target.begin(), std::bit_not());
  }
};
class Far final : public Device {
 public:
  explicit Far(std::string name) : Device(std::move(name), std::make_unique<FarMemory>()) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr& /*kernel*/) override { throw Error("no kernels"); }
};

TEST_F(Laws, ACustomFunctionRunsOnCopiesOfFarMemory) {
  Device::add("FAR", [] { return std::make_unique<Far>("FAR"); });
  const auto reversed = std::make_shared<const CustomFunction>(
      CustomFunction{"reverse", [](Buffer& out, std::span<Buffer* const> in) {
                       const auto* from = static_cast<const float*>(in[0]->memory());
                       std::reverse_copy(from, from + 6, static_cast<float*>(out.memory()));
                     }});
  const auto far = counting({6})->copy_to_device("FAR");
  const auto made = LazyBuffer::custom(reversed, {far}, {6}, DType::Float32, "FAR");
  EXPECT_EQ(values(made->copy_to_device("CPU")), (Floats{6, 5, 4, 3, 2, 1}));
}

TEST_F(Laws, ACopyOfACopyIsACopyOfTheFirst) {
  const auto x = exp2(counting({4}));
  const auto far = x->copy_to_device("CLANG");
  EXPECT_EQ(far->copy_to_device("CPU"), x);
  EXPECT_EQ(far->copy_to_device("CLANG:1")->srcs()[0], x);
  EXPECT_EQ(values(far->copy_to_device("CLANG:1")->copy_to_device("cpu")), (Floats{2, 4, 8, 16}));
}

TEST_F(Laws, HostMemoryIsReadWhereItLies) {
  const auto data = std::make_shared<std::vector<float>>();
  for (int i = 0; i < 12; ++i) data->push_back(static_cast<float>(i));
  const std::int64_t before = counters().mem_used;
  // Every second column of a 3 x 4 array, rows reversed.
  const auto x =
      LazyBuffer::from_host(data->data() + 8, DType::Float32, std::vector<std::int64_t>{3, 2},
                            std::vector<std::int64_t>{-4, 2}, data, "CPU");
  EXPECT_EQ(counters().mem_used, before);
  EXPECT_EQ(x->base().realized()->memory(), data->data());
  EXPECT_EQ(values(x), (Floats{8, 10, 4, 6, 0, 2}));
  const auto repeated =
      LazyBuffer::from_host(data->data() + 3, DType::Float32, std::vector<std::int64_t>{2},
                            std::vector<std::int64_t>{0}, data, "CPU");
  EXPECT_EQ(values(repeated), (Floats{3, 3}));
  EXPECT_THAT(error_of([&] {
                LazyBuffer::from_host(data->data(), DType::Float32, std::vector<std::int64_t>{3},
                                      {}, data, "CPU");
              }),
              HasSubstr("1 sizes but 0 strides"));
  EXPECT_THROW(LazyBuffer::from_host(data->data(), DType::Float32, std::vector<std::int64_t>{-1},
                                     std::vector<std::int64_t>{1}, data, "CPU"),
               ShapeError);
}

TEST_F(Laws, AssignKeepsTheMemoryAndTheOldValueForWhoReadsIt) {
  const auto x = counting({4});
  const BufferPtr place = x->realized();
  const auto before = add(x, number(10, {4}));  // reads the old value, whenever it runs
  const auto after = x->assign(x->stride(std::vector<std::int64_t>{-1}));  // reads its target
  const auto both = add(after, x);
  realize(std::vector{both, after});
  EXPECT_EQ(after->realized(), place);
  EXPECT_EQ(place->read<float>(), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(both->realized()->read<float>(), (Floats{5, 5, 5, 5}));
  EXPECT_EQ(values(before), (Floats{11, 12, 13, 14}));
  EXPECT_EQ(values(x), (Floats{1, 2, 3, 4}));
}

TEST_F(Laws, AssignOverAndOverKeepsOnePlace) {
  LazyBufferPtr x = counting({4});
  const Buffer* const place = x->realized().get();
  for (int i = 0; i < 5; ++i) {
    x = x->assign(add(x, number(1, {4})));
    realize(std::vector{x});
    EXPECT_EQ(x->realized().get(), place);
  }
  EXPECT_EQ(values(x), (Floats{6, 7, 8, 9}));
  // A target without memory has nothing to keep, and the value is the same.
  EXPECT_EQ(values(x->assign(add(x, x))->assign(add(x, number(1, {4})))), (Floats{7, 8, 9, 10}));
  EXPECT_EQ(x->assign(exp2(x))->assigns_to()->realized().get(), place);
  // Host memory is also written in place.
  const auto data = std::make_shared<std::vector<float>>(Floats{1, 2});
  const auto host =
      LazyBuffer::from_host(data->data(), DType::Float32, std::vector<std::int64_t>{2},
                            std::vector<std::int64_t>{1}, data, "CPU");
  realize(std::vector{host->assign(add(host, host))});
  EXPECT_EQ(*data, (Floats{2, 4}));
}

TEST_F(Laws, AssignOfSomethingElseIsNamed) {
  const auto x = counting({2, 2});
  EXPECT_THAT(error_of([&] { x->assign(counting({4})); }), HasSubstr("shape (4,) to shape (2, 2)"));
  EXPECT_THAT(error_of([&] {
                x->shrink({{0, 1}, {0, 2}})->assign(counting({1, 2}));
              }),
              HasSubstr("assign to the whole buffer"));
  EXPECT_THROW(x->assign(x->cast(DType::Int8)), DTypeError);
  EXPECT_THROW(x->assign(x->copy_to_device("CLANG")), BufferError);
  EXPECT_EQ(values(number(3, {4})->assign(counting({4}))), (Floats{1, 2, 3, 4}));  // no memory yet
  const auto none = counting({0, 2});
  EXPECT_EQ(none->assign(none)->shape(), none->shape());
  const auto unmade = exp2(x);
  EXPECT_EQ(unmade->assign(x), x);
}

}  // namespace
}  // namespace touchstone
