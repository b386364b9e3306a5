#include "touchstone/device/device.h"

#include <gtest/gtest.h>

#include <cstring>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/device/threefry.h"

namespace touchstone {
namespace {

using test::error_of;
using testing::HasSubstr;

// A device that runs nothing, to test the checks before running.
class Idle : public Device {
 public:
  Idle() : Device("IDLE", std::make_unique<HostAllocator>()) {}
  int made = 0;

 private:
  struct Nothing : Runner {
    double run(std::span<Buffer* const>, const symbolic::Values&) override { return 0; }
  };
  RunnerPtr make_runner(const LazyOpPtr&) override {
    ++made;
    return std::make_shared<Nothing>();
  }
};

LazyOpPtr negation(const sint& n) {
  const ShapeTracker st = ShapeTracker::contiguous({n});
  return LazyOp::store(st, LazyOp::unary(Op::Neg, LazyOp::load(1, DType::Float32, st)));
}

TEST(Buffer, HoldsWhatWasWritten) {
  Idle device;
  Buffer b(device, DType::Int32, 3);
  EXPECT_EQ(b.read<std::int32_t>(), (std::vector<std::int32_t>{0, 0, 0}));
  b.write<std::int32_t>(std::vector<std::int32_t>{1, -2, 3});
  EXPECT_EQ(b.at(1), Scalar::of(std::int32_t{-2}));
}

// Memory that the host cannot access, or claims so; its copies are counted.
class Counted final : public Allocator {
 public:
  explicit Counted(bool host) : host_(host) {}
  void* allocate(std::size_t bytes) override { return ::operator new(bytes); }
  void release(void* memory, std::size_t /*bytes*/) noexcept override { ::operator delete(memory); }
  void copy_in(void* memory, std::span<const std::byte> source) override {
    ++in;
    std::memcpy(memory, source.data(), source.size());
  }
  void copy_out(std::span<std::byte> target, const void* memory) override {
    ++out;
    std::memcpy(target.data(), memory, target.size());
  }
  bool is_host_memory() const override { return host_; }
  int in = 0, out = 0;

 private:
  bool host_;
};
class Place final : public Device {
 public:
  Place(const char* name, bool host) : Device(name, std::make_unique<Counted>(host)) {}
  Counted& copies() const { return static_cast<Counted&>(allocator()); }

 private:
  RunnerPtr make_runner(const LazyOpPtr& /*kernel*/) override { return nullptr; }
};

TEST(Buffer, AreCopiedBetweenDevicesWithoutAThirdPlaceWhereOneIsTheHosts) {
  for (const bool from_host : {true, false})
    for (const bool to_host : {true, false}) {
      Place from("FROM", from_host), to("TO", to_host);
      Buffer source(from, DType::Int32, 3), target(to, DType::Int32, 3);
      source.write<std::int32_t>(std::vector<std::int32_t>{4, -5, 6});
      from.copies().in = from.copies().out = to.copies().in = to.copies().out = 0;
      copy(target, source);
      EXPECT_EQ(from.copies().in, 0);
      EXPECT_EQ(to.copies().out, 0);
      EXPECT_EQ(from.copies().out, from_host ? 0 : 1);
      EXPECT_EQ(to.copies().in, !from_host && to_host ? 0 : 1);
      EXPECT_EQ(target.read<std::int32_t>(), (std::vector<std::int32_t>{4, -5, 6}));
    }
}

TEST(Buffer, MemoryIsCounted) {
  Idle device;
  const std::int64_t before = counters().mem_used;
  {
    const Buffer b(device, DType::Float64, 10);
    EXPECT_EQ(counters().mem_used, before + 80);
    EXPECT_GE(counters().mem_peak, before + 80);
  }
  EXPECT_EQ(counters().mem_used, before);
  EXPECT_GE(counters().mem_peak, before + 80);
  counters().reset();
  EXPECT_EQ(counters().mem_peak, before);
}

TEST(Buffer, MisuseIsNamed) {
  Idle device;
  Buffer b(device, DType::Int32, 3);
  EXPECT_THAT(error_of([&] { b.read<float>(); }), HasSubstr("contains int32, not float32"));
  EXPECT_THAT(error_of([&] { b.at(3); }), HasSubstr("element 3 is outside a buffer of 3"));
  EXPECT_THAT(error_of([&] { b.write<std::int32_t>(std::vector<std::int32_t>{1}); }),
              HasSubstr("4 bytes given"));
  EXPECT_THAT(error_of([&] { Buffer(device, DType::Int32, -1); }), HasSubstr("-1 elements"));
  EXPECT_THAT(error_of([&] { Buffer(device, DType::Int64, INT64_MAX / 4); }),
              HasSubstr("cannot allocate"));
}

TEST(Device, NamesAreCanonical) {
  Device::add("idle", [] { return std::make_unique<Idle>(); });
  EXPECT_EQ(&Device::get("IDLE"), &Device::get("idle:0"));
  EXPECT_THAT(error_of([] { Device::get("IDEL"); }), HasSubstr("did you mean 'IDLE'?"));
}

TEST(Device, EqualKernelsShareARunner) {
  Idle device;
  EXPECT_EQ(device.runner(negation(4)), device.runner(negation(4)));
  device.prepare(std::vector<LazyOpPtr>{negation(5), negation(5), negation(4)});
  EXPECT_EQ(device.made, 2);
}

TEST(RunKernel, ChecksBuffersAndValuesBeforeRunning) {
  Idle device, other;
  Buffer out(device, DType::Float32, 4), in(device, DType::Float32, 4),
      small(device, DType::Float32, 3);
  Buffer wrong(device, DType::Int32, 4), elsewhere(other, DType::Float32, 4);
  const auto run = [&](std::vector<Buffer*> b) {
    return error_of([&] { run_kernel(device, negation(4), b); });
  };
  EXPECT_EQ(run({&out, &in}), "no error");
  EXPECT_THAT(run({&out}), HasSubstr("the kernel needs buffer 1, which was not given"));
  EXPECT_THAT(run({&out, &small}), HasSubstr("accesses element 3"));
  EXPECT_THAT(run({&out, &wrong}), HasSubstr("contains int32, but the kernel needs float32"));
  EXPECT_THAT(run({&out, &elsewhere}), HasSubstr("copy it first"));
  const LazyOpPtr symbolic = negation(symbolic::variable("n", 1, 9));
  const std::vector<Buffer*> both{&out, &in};
  EXPECT_THAT(error_of([&] { run_kernel(device, symbolic, both); }),
              HasSubstr("variable 'n' has no value"));
  EXPECT_THAT(error_of([&] {
                run_kernel(device, symbolic, both, {{"n", 10}});
              }),
              HasSubstr("outside [1, 9]"));
  EXPECT_THAT(error_of([&] {
                run_kernel(device, symbolic, both, {{"n", 5}});
              }),
              HasSubstr("accesses element 4"));
  EXPECT_EQ(error_of([&] { run_kernel(device, symbolic, both, {{"n", 4}}); }), "no error");
}

// Known answers of Random123's own test vectors (kat_vectors, threefry2x32, 20 rounds).
TEST(Threefry, MatchesThePublishedVectors) {
  using Words = std::array<std::uint32_t, 2>;
  EXPECT_EQ(threefry2x32({0, 0}, {0, 0}), (Words{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry2x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}),
            (Words{0xc4923a9c, 0x483df7a0}));
}

TEST(Threefry, AStreamIsTheSameFromAnyStart) {
  std::vector<std::uint32_t> whole(1000), part(500);
  random_bits(42, 0, whole);
  random_bits(42, 333, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 333));
  // A batch equals single counters, also where the low half of the counter wraps.
  const std::uint64_t seed = 0x85a308d313198a2eU, first = (std::uint64_t{0xffffffff} - 20) * 2 + 1;
  random_bits(seed, first, part);
  for (std::uint64_t i = 0; i < part.size(); ++i) {
    const std::uint64_t at = (first + i) / 2;
    const auto pair =
        threefry2x32({0x13198a2e, 0x85a308d3},
                     {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32)});
    EXPECT_EQ(part[i], pair[(first + i) % 2]) << i;
  }
  std::vector<float> uniform(1000);
  random_uniform(42, 0, uniform);
  for (const float u : uniform) EXPECT_TRUE(u >= 0 && u < 1);
}

}  // namespace
}  // namespace touchstone
