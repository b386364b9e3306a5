#include "touchstone/fuzz/judge/kernel_case.h"

#include <cstring>

namespace touchstone::fuzz {

LazyOpPtr KernelCase::concrete() const {
  return values.empty() ? kernel : bind_variables(kernel, values);
}

std::vector<BufferPtr> make_buffers(const KernelCase& c, Device& device) {
  const MemBuffer output = c.concrete()->buffer();
  std::vector<BufferPtr> buffers{
      std::make_shared<Buffer>(device, output.dtype, output.st.real_size())};
  for (const HostArray& input : c.inputs) {
    buffers.push_back(std::make_shared<Buffer>(device, input.dtype, input.size()));
    buffers.back()->copy_in(std::as_bytes(std::span(input.bytes)));
  }
  return buffers;
}

HostArray answer_of(const KernelCase& c, Device& device) {
  const RunnerPtr runner = device.runner(c.kernel);
  const std::vector<BufferPtr> buffers = make_buffers(c, device);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  runner->run(raw, c.values);
  const Buffer& out = *buffers[0];
  HostArray answer{out.dtype(), {out.size()}, std::string(out.bytes(), '\0')};
  out.copy_out(std::as_writable_bytes(std::span(answer.bytes)));
  return answer;
}

Verdict run_case(const KernelCase& c, Device& candidate, const Profile& profile) {
  const std::vector<BufferPtr> buffers = make_buffers(c, candidate);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  run_kernel(candidate, c.kernel, raw, c.values);
  return judge(c.kernel, raw, *buffers[0], profile, c.values);
}

std::uint64_t bits_at(const HostArray& array, std::size_t i) {
  std::uint64_t bits = 0;
  const std::size_t width = itemsize(array.dtype);
  std::memcpy(&bits, array.bytes.data() + i * width, width);
  return bits;
}

std::string str(const KernelCase& c) {
  std::string text = str(c.kernel);
  for (const auto& [name, value] : c.values) text += fmt::format("{} = {}\n", name, value);
  for (std::size_t b = 0; b < c.inputs.size(); ++b) {
    const HostArray& input = c.inputs[b];
    text += fmt::format("buffer {} {}[{}]:", b + 1, name(input.dtype), input.size());
    const auto shown = std::min<std::size_t>(16, static_cast<std::size_t>(input.size()));
    for (std::size_t i = 0; i < shown; ++i)
      text += " " + Scalar::from_bits(input.dtype, bits_at(input, i)).str();
    text += input.size() > 16 ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace touchstone::fuzz
