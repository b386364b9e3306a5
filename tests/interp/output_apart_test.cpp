#include "touchstone/device/output_apart.h"

#include <gtest/gtest.h>

#include "touchstone/interp/device/interpreted.h"

namespace touchstone {
namespace {

TEST(OutputApart, IsAnotherBufferOnlyWhereItsMemoryIsAnInputs) {
  const auto device = make_interpreted_device();
  Buffer out(*device, DType::Float32, 4), in(*device, DType::Float32, 4);
  Buffer* const two[] = {&out, &in, nullptr};
  EXPECT_EQ(OutputApart(two).buffers()[0], &out);
  Buffer* const one[] = {&out, nullptr, &out};
  EXPECT_NE(OutputApart(one).buffers()[0], &out);
  Buffer none(*device, DType::Float32, 0);
  Buffer* const empty[] = {&none, &none};
  OutputApart apart(empty);
  EXPECT_EQ(apart.buffers()[0], &none);
  apart.finish();
  EXPECT_TRUE(OutputApart({}).buffers().empty());
}

TEST(OutputApart, IsTheAnswerAfterTheRunAndKeepsWhatIsNotWritten) {
  const auto device = make_interpreted_device();
  Buffer both(*device, DType::Int32, 3);
  both.write<std::int32_t>(std::vector<std::int32_t>{1, 2, 3});
  Buffer* const buffers[] = {&both, &both};
  OutputApart apart(buffers);
  static_cast<std::int32_t*>(apart.buffers()[0]->memory())[2] = 9;
  EXPECT_EQ(both.read<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(apart.buffers()[1], &both);
  apart.finish();
  EXPECT_EQ(both.read<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 9}));
}

}  // namespace
}  // namespace touchstone
