#include "touchstone/lazy/run_custom.h"

#include <memory>
#include <vector>

#include "touchstone/device/device.h"

namespace touchstone::lazy {

void run_custom(const CustomFunction& function, Buffer& out, std::span<Buffer* const> in) {
  std::vector<std::unique_ptr<Buffer>> copies;
  const auto on_host = [&](Buffer& buffer) -> Buffer* {
    if (buffer.device().host_memory()) return &buffer;
    copies.push_back(std::make_unique<Buffer>(Device::get("CPU"), buffer.dtype(), buffer.size()));
    return copies.back().get();
  };
  std::vector<Buffer*> operands;
  for (Buffer* const source : in) {
    operands.push_back(on_host(*source));
    if (operands.back() != source) copy(*operands.back(), *source);
  }
  Buffer* const made = on_host(out);
  function.run(*made, operands);
  if (made != &out) copy(out, *made);
}

}  // namespace touchstone::lazy
