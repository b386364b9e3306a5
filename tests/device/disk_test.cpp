#include "touchstone/device/disk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;

class Disk : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  static std::vector<NamedArray> arrays() {
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    return {
        {"a", {DType::Float32, {2, 3}, std::string(reinterpret_cast<const char*>(x.data()), 24)}},
        {"b", {DType::Bool, {2}, std::string("\1\0", 2)}},
        {"none", {DType::Int64, {0, 4}, ""}}};
  }

 private:
  TemporaryDirectory folder_{"touchstone-disk"};
};

TEST_F(Disk, ArraysAreWhatReadingTheFileGives) {
  write_array_file(file("x.safetensors"), arrays());
  const std::int64_t before = counters().mem_used;
  const std::vector<DiskArray> mapped = map_array_file(file("x.safetensors"));
  EXPECT_EQ(counters().mem_used, before);
  const std::vector<NamedArray> read = read_array_file(file("x.safetensors"));
  ASSERT_EQ(mapped.size(), read.size());
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    EXPECT_EQ(mapped[i].name, read[i].name);
    EXPECT_EQ(mapped[i].shape, read[i].array.shape);
    std::string bytes(mapped[i].buffer->bytes(), '\0');
    mapped[i].buffer->copy_out(std::as_writable_bytes(std::span(bytes)));
    EXPECT_EQ(bytes, read[i].array.bytes);
    EXPECT_EQ(mapped[i].buffer->device().name(), "DISK:" + file("x.safetensors").string());
  }
  write_npy(file("x.npy"), arrays()[0].array);
  EXPECT_EQ(map_array_file(file("x.npy"))[0].buffer->read<float>(),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Disk, BuffersOutliveTheListAndAreReadLate) {
  write_npy(file("x.npy"), arrays()[0].array);
  BufferPtr kept = map_array_file(file("x.npy"))[0].buffer;
  std::filesystem::remove(file("x.npy"));  // the mapping holds the file
  EXPECT_EQ(kept->at(5), Scalar::of(6.0F));
}

TEST_F(Disk, WhatIsNotMappedSaysSo) {
  write_array_file(file("x.npz"), arrays());
  EXPECT_THAT(error_of([&] { map_array_file(file("x.npz")); }),
              HasSubstr("cannot be mapped, since a .npz may be compressed; read it"));
  std::ofstream(file("x.txt")) << "no arrays";
  EXPECT_THAT(error_of([&] { map_array_file(file("x.txt")); }), HasSubstr(".npy, .npz and"));
}

TEST_F(Disk, MisuseIsNamed) {
  std::ofstream(file("raw.bin")) << "12345678";
  EXPECT_EQ(map_file(file("raw.bin"), DType::UInt8, 4, 4)->at(0), Scalar::of(std::uint8_t{'5'}));
  EXPECT_THAT(error_of([&] { map_file(file("raw.bin"), DType::Float32, 2, 4); }),
              HasSubstr("has 8 bytes, too few for 2 elements of float32 from byte 4 on"));
  EXPECT_THAT(error_of([&] { map_file(file("raw.bin"), DType::UInt8, 1, -1); }),
              HasSubstr("too few for"));
  EXPECT_THAT(error_of([&] { map_file(file("gone.bin"), DType::UInt8, 1, 0); }),
              HasSubstr("cannot read"));
  EXPECT_THAT(error_of([&] { map_file(file(""), DType::UInt8, 0, 0); }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { Device::get("DISK:"); }), HasSubstr("needs the path of a file"));
  Device& disk = Device::get("disk:" + file("raw.bin").string());
  EXPECT_EQ(disk.name(), "DISK:" + file("raw.bin").string());
  EXPECT_THAT(error_of([&] { Buffer(disk, DType::UInt8, 4); }),
              HasSubstr("DISK cannot allocate buffers"));
  const auto buffer = map_file(file("raw.bin"), DType::UInt8, 8, 0);
  EXPECT_THAT(error_of([&] { buffer->write<std::uint8_t>(std::vector<std::uint8_t>(8)); }),
              HasSubstr("is read-only"));
  const ShapeTracker st = ShapeTracker::contiguous({8});
  EXPECT_THAT(error_of([&] { disk.runner(LazyOp::store(st, LazyOp::load(1, DType::UInt8, st))); }),
              HasSubstr("cannot run kernels"));
}

TEST(Devices, OfOneKindAreNumbered) {
  struct Idle : Device {
    Idle() : Device("NUMBERED", std::make_unique<HostAllocator>()) {}
    RunnerPtr make_runner(const LazyOpPtr&) override { return nullptr; }
  };
  Device::add("numbered", [] { return std::make_unique<Idle>(); });
  EXPECT_EQ(&Device::get("NUMBERED:0"), &Device::get("numbered"));
  EXPECT_NE(&Device::get("NUMBERED:1"), &Device::get("numbered"));
  EXPECT_EQ(&Device::get("NUMBERED:1"), &Device::get("numbered:1"));
  EXPECT_EQ(Device::get("numbered:12").name(), "NUMBERED:12");
  for (const char* bad :
       {"NUMBERED:", "NUMBERED:x", "NUMBERED:01", "NUMBERED:99999", "NUMBERED:1:1"})
    EXPECT_THAT(error_of([&] { Device::get(bad); }), HasSubstr("there is no device")) << bad;
  EXPECT_EQ(Device::canonical("disk:/Some/Path:0"), "DISK:/Some/Path:0");
}

TEST(HostAllocator, KeepsReleasedMemoryForItsSize) {
  HostAllocator allocator;
  void* const first = allocator.allocate(4096);
  std::memset(first, 7, 4096);
  allocator.release(first, 4096);
  EXPECT_EQ(allocator.kept_bytes(), 4096u);
  void* const other = allocator.allocate(8192);
  EXPECT_EQ(allocator.kept_bytes(), 4096u);
  void* const again = allocator.allocate(4096);
  EXPECT_EQ(again, first);
  EXPECT_EQ(static_cast<const char*>(again)[4095], 0);  // and it is fresh
  EXPECT_EQ(allocator.kept_bytes(), 0u);
  allocator.release(again, 4096);
  allocator.release(other, 8192);
  EXPECT_EQ(allocator.kept_bytes(), 12288u);
  allocator.forget_kept();
  EXPECT_EQ(allocator.kept_bytes(), 0u);
  const std::size_t half = HostAllocator::kMostKept / 2 + 64;
  allocator.release(allocator.allocate(half), half);
  allocator.release(allocator.allocate(half + 64), half + 64);  // sends the first one away
  EXPECT_EQ(allocator.kept_bytes(), half + 64);
}

}  // namespace
}  // namespace touchstone
