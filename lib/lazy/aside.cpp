#include "touchstone/lazy/aside.h"

#include "touchstone/device/device.h"
#include "touchstone/lazy/execution_log.h"
#include "touchstone/lazy/realize.h"

namespace touchstone::lazy {

void Aside::run(const ScheduleItem& item) {
  if (item.kind == Op::Noop) {  // on several devices
    std::vector<BufferPtr>& parts = parts_[item.out.get()];
    for (const LazyBufferPtr& input : item.inputs) parts.push_back(memory_of(*input));
    held_.push_back(item.out);
    return;
  }
  Device& device = Device::get(item.out->device());
  const auto target =
      std::make_shared<Buffer>(device, item.out->dtype(), max_elements(item.out->shape()));
  std::vector<Buffer*> buffers{target.get()};
  for (const LazyBufferPtr& input : item.inputs) buffers.push_back(memory_of(*input).get());
  run_step(item, device, buffers);
  made_[item.out.get()] = target;
  held_.push_back(item.out);
}

BufferPtr Aside::made(const LazyBuffer& base) const {
  const auto it = made_.find(&base);
  return it == made_.end() ? nullptr : it->second;
}

std::vector<BufferPtr> Aside::parts(const LazyBuffer& base) const {
  if (const auto it = parts_.find(&base); it != parts_.end()) return it->second;
  std::vector<BufferPtr> all;
  for (const LazyBufferPtr& part : base.parts()) all.push_back(part->realized());
  return all;
}

BufferPtr Aside::memory_of(const LazyBuffer& base) const {
  if (BufferPtr here = made(base)) return here;
  return base.realized();
}

}  // namespace touchstone::lazy
