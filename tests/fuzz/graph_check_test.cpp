#include "touchstone/fuzz/areas/graph_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

GraphChecked checked(const std::string& text, Device& device, std::uint64_t choices) {
  Config config(Config::kDefaultOpt);
  config.scheduler = choices % 2 == 0 ? Scheduler::Kernelize : Scheduler::Ranges;
  return graph_differs(TensorProgram::parse(text), choices, config, device);
}

// Wrong device: kernels of more than one operation give ones.
class OneAtATime final : public Device {
 public:
  OneAtATime() : Device("ONE", std::make_unique<HostAllocator>()) {}

 private:
  struct Ones final : Runner {
    double run(std::span<Buffer* const> buffers, const symbolic::Values& /*values*/) override {
      std::memset(buffers[0]->memory(), 1, buffers[0]->bytes());
      return 0;
    }
  };
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    const auto computes = [](const LazyOpPtr& n) { return is_elementwise(n->op()); };
    if (std::ranges::count_if(toposort(kernel), computes) < 2) return reference_->runner(kernel);
    return std::make_shared<Ones>();
  }
  std::unique_ptr<Device> reference_ = make_interpreted_device();
};

TEST(GraphCheck, DrawnProgramsHaveTheirValues) {
  const std::unique_ptr<Device> device = make_interpreted_device();
  int asked = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    RandomChooser chooser(23, i);
    const std::string text = draw_program(chooser, {});
    const GraphChecked answer = checked(text, *device, i);
    asked += answer.asked ? 1 : 0;
    EXPECT_FALSE(answer.wrong) << text << "\n" << answer.wrong->failure.detail;
  }
  EXPECT_GT(asked, 150);
}

TEST(GraphCheck, WrongKernelsAreFound) {
  OneAtATime device;
  for (std::uint64_t i = 0; i < 8; ++i) {
    // Two of the four may be wanted; then some kernel computes two.
    const GraphChecked answer =
        checked("float32 3: 1 2 3; exp2 %0; neg %1; exp2 %2; neg %3", device, i);
    ASSERT_TRUE(answer.wrong);
    EXPECT_EQ(answer.wrong->failure.relation, "graph");
  }
}

// Readers of the old value come before the writer; a swap cannot be ordered.
TEST(GraphCheck, MemoryIsWrittenInPlace) {
  const std::unique_ptr<Device> device = make_interpreted_device();
  for (std::uint64_t i = 0; i < 8; ++i) {
    const GraphChecked one =
        checked("float32 3: 1 2 3; float32 3: 4; add %0 %1; assign %0 %2", *device, i);
    EXPECT_TRUE(one.asked);
    EXPECT_FALSE(one.wrong);
    EXPECT_FALSE(checked("float32 3: 1 2; float32 3: 4; neg %0; neg %1; assign %0 %3; assign %1 "
                         "%2; add %4 %5",
                         *device, i)
                     .wrong);
  }
}

// Each reads the other's old value, one through a reduce, which is computed first.
TEST(GraphCheck, AReduceInMemoryBreaksACycle) {
  const std::unique_ptr<Device> device = make_interpreted_device();
  int asked = 0;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const GraphChecked answer = checked(
        "float32 2,1: 1 2; float32 2,3: 4 5 6; reduce_sum %1 1; assign %0 %2; expand %0 2,3; "
        "assign %1 %4",
        *device, i);
    asked += answer.asked ? 1 : 0;
    EXPECT_FALSE(answer.wrong) << answer.wrong->failure.detail;
  }
  EXPECT_EQ(asked, 16);
}

TEST(GraphCheck, ProgramsOfOtherDevicesAreNotAsked) {
  const std::unique_ptr<Device> device = make_interpreted_device();
  EXPECT_FALSE(checked("float32 3: 1; away %0", *device, 0).asked);
  EXPECT_FALSE(checked("float32 3: 1", *device, 0).asked);
}

}  // namespace
}  // namespace touchstone::fuzz
