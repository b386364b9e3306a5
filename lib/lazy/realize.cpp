#include "touchstone/lazy/realize.h"

#include <map>
#include <utility>

#include "touchstone/device/config.h"
#include "touchstone/device/threefry.h"
#include "touchstone/lazy/check_schedulers.h"
#include "touchstone/lazy/execution_log.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/lazy/memory_plan.h"
#include "touchstone/lazy/on_several.h"
#include "touchstone/lazy/run_custom.h"

namespace touchstone {
namespace {

thread_local ExecutionObserver* current_observer = nullptr;

// Compiles all kernels of each device at once, to start its compiler only once.
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

// Allocates from a plan; creates a block when its first part is needed.
class Blocks {
 public:
  explicit Blocks(MemoryPlan plan) : plan_(std::move(plan)) {}

  BufferPtr buffer_for(std::size_t i, Device& device, const LazyBuffer& out) {
    const std::int64_t size = max_elements(out.shape());
    const bool planned = i < plan_.places.size() && plan_.places[i] && device.host_memory();
    if (!planned) return std::make_shared<Buffer>(device, out.dtype(), size);
    BufferPtr& block = blocks_[device.name()];
    if (block == nullptr)
      block = std::make_shared<Buffer>(device, DType::UInt8, plan_.blocks.at(device.name()));
    auto* const first = static_cast<std::byte*>(block->memory()) + plan_.places[i]->offset;
    return std::make_shared<Buffer>(device, out.dtype(), size, first, block);
  }

 private:
  MemoryPlan plan_;
  std::map<std::string, BufferPtr> blocks_;
};

void record(const ScheduleItem& item, Device& device, const BufferPtr& target,
            const BufferPtr& exchanged) {
  lazy::CacheCollector* const collector = lazy::CacheCollector::current();
  if (collector == nullptr) return;
  lazy::CapturedStep step;
  step.kind = item.kind;
  step.device = &device;
  step.ast = item.ast;
  step.buffers.push_back(target);
  for (const LazyBufferPtr& input : item.inputs) step.buffers.push_back(input->realized());
  step.custom = item.out->custom_function();
  step.exchanged = exchanged;
  step.values = item.var_vals;
  collector->add(std::move(step));
}

void run(ScheduleItem& item, std::size_t i, Blocks& blocks) {
  if (item.kind == Op::Noop) return item.out->set_parts(item.inputs, item.axis);
  Device& device = Device::get(item.out->device());
  const BufferPtr target = blocks.buffer_for(i, device, *item.out);
  std::vector<Buffer*> buffers{target.get()};
  for (const LazyBufferPtr& input : item.inputs) buffers.push_back(input->realized().get());
  const double seconds = lazy::run_step(item, device, buffers);
  if (current_observer != nullptr) current_observer->ran(item, device, buffers, seconds);
  const LazyBufferPtr old = item.out->assigns_to();
  const BufferPtr place = old ? old->realized() : nullptr;
  record(item, device, target, place);
  if (old == nullptr) return item.out->set_realized(target);
  Buffer* const written[] = {place.get()};
  settle_transfers(written);
  place->exchange(*target);
  old->set_realized(target);  // readers of the old value use it
  item.out->set_realized(place);
}

}  // namespace

double lazy::run_step(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers) {
  const ExecutionTimer timer;
  double seconds = 0;
  if (item.kind != Op::From) settle_transfers(buffers);
  if (item.kind == Op::Store)
    seconds = run_kernel(device, item.ast, buffers, item.var_vals);
  else if (item.kind == Op::From)
    copy(*buffers[0], *buffers[1]);
  else if (item.kind == Op::Rand)
    fill_random(*buffers[0], std::get<RandArg>(item.out->arg()));
  else if (item.kind == Op::Custom && !device.elsewhere())
    lazy::run_custom(*item.out->custom_function(), *buffers[0], buffers.subspan(1));
  log_run({item.kind, item.ast, item.var_vals, device, buffers[0], buffers.size()}, seconds, timer);
  return seconds;
}

ObserverScope::ObserverScope(ExecutionObserver& observer)
    : previous_(std::exchange(current_observer, &observer)) {}
ObserverScope::~ObserverScope() { current_observer = previous_; }

namespace {

ScheduleGate schedule_gate = nullptr;

}  // namespace

void set_schedule_gate(ScheduleGate gate) { schedule_gate = gate; }

void run_schedule(std::vector<ScheduleItem> items) {
  if (items.empty()) return;
  if (schedule_gate != nullptr) schedule_gate(items);
  const Config& config = Config::current();
  prepare_devices(items);
  MemoryPlan plan;
  if (config.memory_planner) plan = plan_memory(items);
  lazy::log_schedule(items, plan);
  Blocks blocks(std::move(plan));
  for (std::size_t i = 0; i < items.size(); ++i) {
    run(items[i], i, blocks);
    items[i] = {};  // releases buffers without other owners
  }
  settle_all_transfers();
  lazy::flush_log();
}

LazyBufferPtr lazy::at_hand(const LazyBufferPtr& x) {
  const std::string first = x->devices()[0];
  const bool of_a_rank = !first.starts_with("DISK:") && first.find('@') != std::string::npos;
  return of_a_rank ? x->copy_to_device("CPU") : x->several() ? x->copy_to_device(first) : x;
}

BufferPtr lazy::host_values(const LazyBufferPtr& x) {
  const LazyBufferPtr whole = at_hand(x)->contiguous();
  touchstone::realize({&whole, 1});
  const BufferPtr& values = whole->realized();
  if (CacheCollector* const collector = CacheCollector::current(); collector && values)
    collector->seen(values);
  return values;
}

HostArray to_host(const LazyBufferPtr& x) {
  HostArray array;
  array.dtype = x->dtype();
  for (const sint& s : x->shape()) {
    if (!s.is_int())
      throw ShapeError(fmt::format("to_host: shape {} is symbolic; shrink it to a size",
                                   str(std::span<const sint>(x->shape()))));
    array.shape.push_back(s.as_int());
  }
  const BufferPtr buffer = lazy::host_values(x);
  if (buffer == nullptr) return array;  // no elements
  array.bytes.resize(buffer->bytes());
  buffer->copy_out(std::as_writable_bytes(std::span(array.bytes)));
  return array;
}

void realize(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values) {
  if (Config::current().scheduler == Scheduler::Check && !lazy::needs_several(outputs))
    lazy::realize_checked(outputs, values);
  else
    run_schedule(schedule(outputs, values));
}

}  // namespace touchstone
