#include "touchstone/lazy/realize.h"

#include <map>
#include <utility>

#include "touchstone/device/threefry.h"

namespace touchstone {
namespace {

thread_local ExecutionObserver* current_observer = nullptr;

// All kernels of a device at once: a compiler is started once for them.
void prepare_devices(std::span<const ScheduleItem> items) {
  std::map<std::string, std::vector<LazyOpPtr>> kernels;
  for (const ScheduleItem& item : items)
    if (item.kind == Op::Store) kernels[item.out->device()].push_back(item.ast);
  for (const auto& [device, asts] : kernels) Device::get(device).prepare(asts);
}

void fill_random(Buffer& buffer, const RandArg& arg) {
  std::vector<float> values(static_cast<std::size_t>(buffer.size()));
  random_uniform(arg.seed, arg.first, values);
  buffer.write<float>(values);
}

void run(ScheduleItem& item) {
  Device& device = Device::get(item.out->device());
  const auto target =
      std::make_shared<Buffer>(device, item.out->dtype(), max_elements(item.out->shape()));
  std::vector<Buffer*> buffers{target.get()};
  for (const LazyBufferPtr& input : item.inputs) buffers.push_back(input->realized().get());
  double seconds = 0;
  if (item.kind == Op::Store)
    seconds = run_kernel(device, item.ast, buffers, item.var_vals);
  else if (item.kind == Op::From)
    copy(*target, *buffers[1]);
  else if (item.kind == Op::Rand)
    fill_random(*target, std::get<RandArg>(item.out->arg()));
  else if (item.kind == Op::Custom)
    item.out->custom_function()->run(*target, std::span(buffers).subspan(1));
  if (current_observer != nullptr) current_observer->ran(item, device, buffers, seconds);
  const LazyBufferPtr old = item.out->assigns_to();
  if (old == nullptr) return item.out->set_realized(target);
  const BufferPtr place = old->realized();
  place->exchange(*target);
  old->set_realized(target);  // what still reads the old value finds it there
  item.out->set_realized(place);
}

}  // namespace

ObserverScope::ObserverScope(ExecutionObserver& observer)
    : previous_(std::exchange(current_observer, &observer)) {}
ObserverScope::~ObserverScope() { current_observer = previous_; }

void run_schedule(std::vector<ScheduleItem> items) {
  prepare_devices(items);
  for (ScheduleItem& item : items) {
    run(item);
    item = {};  // lets go of buffers nobody else needs
  }
}

void realize(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values) {
  run_schedule(schedule(outputs, values));
}

}  // namespace touchstone
