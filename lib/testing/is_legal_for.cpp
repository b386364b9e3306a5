// The matcher's implementation that does not need GoogleTest.
#include "touchstone/testing/is_legal_for.h"

#include <cstring>
#include <memory>
#include <ostream>

#include "touchstone/interp/device/interpreted.h"

namespace touchstone {

void PrintTo(const HostArray& array, std::ostream* out) {
  constexpr std::size_t kShown = 16;
  const std::size_t width = itemsize(array.dtype), count = array.bytes.size() / width;
  *out << fmt::format("{}({})", name(array.dtype), fmt::join(array.shape, ", "));
  for (std::size_t i = 0; i < std::min(count, kShown); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, array.bytes.data() + i * width, width);
    *out << ' ' << Scalar::from_bits(array.dtype, bits).str();
  }
  if (count > kShown) *out << " ...";
}

namespace testing {
namespace {

BufferPtr buffer_of(Device& device, const HostArray& array) {
  auto buffer = std::make_shared<Buffer>(device, array.dtype, array.size());
  buffer->copy_in(std::as_bytes(std::span(array.bytes)));
  return buffer;
}

}  // namespace

HostArray as_host_array(const HostArray& array) { return array; }

HostArray as_host_array(const Buffer& buffer) {
  HostArray array{buffer.dtype(), {buffer.size()}, std::string(buffer.bytes(), '\0')};
  buffer.copy_out(std::as_writable_bytes(std::span(array.bytes)));
  return array;
}

HostArray as_host_array(const BufferPtr& buffer) {
  if (!buffer) throw BufferError("no buffer: the pointer is null");
  return as_host_array(*buffer);
}

HostArray as_host_array(const std::vector<bool>& values) {
  HostArray array{DType::Bool, {static_cast<std::int64_t>(values.size())}, {}};
  for (const bool value : values) array.bytes += static_cast<char>(value);
  return array;
}

Verdict IsLegalFor::judge(const HostArray& output) const {
  const std::unique_ptr<Device> host = make_interpreted_device();
  const BufferPtr candidate = buffer_of(*host, output);
  std::vector<BufferPtr> buffers{nullptr};
  for (const HostArray& input : inputs_) buffers.push_back(buffer_of(*host, input));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  return touchstone::judge(kernel_.ast, raw, *candidate, kernel_.judging);
}

void IsLegalFor::DescribeTo(std::ostream* out) const {
  *out << "is legal for " << kernel_name(kernel_.ast) << ' ' << kernel_.judging.str();
}

void IsLegalFor::DescribeNegationTo(std::ostream* out) const {
  *out << "is not legal for " << kernel_name(kernel_.ast) << ' ' << kernel_.judging.str();
}

}  // namespace testing
}  // namespace touchstone
