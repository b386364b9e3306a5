#include "touchstone/device/device.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <optional>

#include "touchstone/base/suggest.h"
#include "touchstone/device/disk.h"

namespace touchstone {
namespace {

// The kind in "KIND:7" if the number is not 0; otherwise nullopt.
std::optional<std::string> numbered(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon + 1 == name.size() || name.size() - colon > 5)
    return std::nullopt;
  const auto digits = std::string_view(name).substr(colon + 1);
  if (digits[0] == '0' || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return name.substr(0, colon);
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::function<std::unique_ptr<Device>()>> factories;
  std::map<std::string, std::unique_ptr<Device>> devices;

  // The factory of a canonical name or its kind; end() if none.
  auto factory_of(const std::string& key) {
    const auto factory = factories.find(key);
    if (factory != factories.end()) return factory;
    const std::optional<std::string> kind = numbered(key);
    return kind ? factories.find(*kind) : factory;
  }
  [[noreturn]] void refuse(std::string_view wanted) const {
    std::vector<std::string_view> known;
    for (const auto& [name, f] : factories) known.push_back(name);
    const bool of_a_rank = wanted.find('@') != std::string_view::npos;
    throw Error(fmt::format("there is no device '{}'{} (known: {})", wanted,
                            of_a_rank ? ": it belongs to another rank of an MPI job (mpirun -n), "
                                        "which this process is not part of"
                                      : did_you_mean(Device::canonical(wanted), known),
                            fmt::join(known, ", ")));
  }
};

Registry& registry() {
  static auto* const only = new Registry;  // outlives every static Buffer
  return *only;
}

void check_buffers(const Device& device, std::span<const BufferSpec> specs,
                   std::span<Buffer* const> buffers) {
  for (const BufferSpec& spec : specs) {
    const auto idx = static_cast<std::size_t>(spec.idx);
    if (idx >= buffers.size() || buffers[idx] == nullptr)
      throw BufferError(fmt::format("the kernel needs buffer {}, which was not given", idx));
    const Buffer& b = *buffers[idx];
    if (b.dtype() != spec.dtype)
      throw BufferError(fmt::format("buffer {} contains {}, but the kernel needs {}", idx,
                                    name(b.dtype()), name(spec.dtype)));
    if (b.size() < spec.size)
      throw BufferError(fmt::format("buffer {} has {} elements, but the kernel accesses element {}",
                                    idx, b.size(), spec.size - 1));
    if (&b.device() != &device)
      throw BufferError(fmt::format("buffer {} is on {}, but the kernel runs on {}; copy it first",
                                    idx, b.device().name(), device.name()));
  }
}

void check_values(std::span<const symbolic::Node> variables, const symbolic::Values& values) {
  for (const symbolic::Node& v : variables) {
    const std::string& name = symbolic::variable_name(v);
    const auto it = values.find(name);
    if (it == values.end())
      throw AstError(fmt::format("variable '{}' has no value; bind it", name));
    const std::int64_t low = v.min().value_or(INT64_MIN), high = v.max().value_or(INT64_MAX);
    if (it->second < low || it->second > high)
      throw AstError(
          fmt::format("variable '{}' = {} is outside [{}, {}]", name, it->second, low, high));
  }
}

void complete(PreparedKernel& made, const LazyOpPtr& kernel) {
  made.variables = variables_of(kernel);
  if (!made.variables.empty()) return;
  made.buffers = buffers_of(kernel);
  const FlopCounter cost = get_lazyop_info(kernel);
  made.ops = cost.flops.as_int();
  made.mem = cost.total_mem().as_int();
}

}  // namespace

void GlobalCounters::reset() {
  const std::int64_t used = mem_used;
  *this = {};
  mem_used = mem_peak = used;
}

GlobalCounters& counters() {
  static GlobalCounters only;
  return only;
}

Device::Device(std::string name, std::unique_ptr<Allocator> allocator)
    : name_(std::move(name)), allocator_(std::move(allocator)) {}

Device::Entry& Device::entry(const LazyOpPtr& kernel) {
  if (const auto it = runners_.find(kernel); it != runners_.end()) return it->second;
  validate_kernel(kernel);
  return runners_.emplace(kernel, Entry{{make_runner(kernel), {}, {}}}).first->second;
}

const PreparedKernel& Device::prepared(const LazyOpPtr& kernel) {
  Entry& found = entry(kernel);
  if (!std::exchange(found.complete, true)) complete(found.kernel, kernel);
  return found.kernel;
}

// After kSweep new kernels, those not launched since the last time are dropped; a launch of one of
// the others completes it again.
void Device::prepare(std::span<const LazyOpPtr> kernels) {
  constexpr std::size_t kSweep = 1024;
  if (runners_.size() >= kept_ + kSweep) {
    for (auto it = runners_.begin(); it != runners_.end();)
      it = std::exchange(it->second.complete, false) ? std::next(it) : runners_.erase(it);
    kept_ = runners_.size();
  }
  std::vector<LazyOpPtr> missing;
  std::unordered_map<LazyOpPtr, bool, LazyOpHash, LazyOpSame> wanted;
  for (const LazyOpPtr& kernel : kernels) {
    if (runners_.contains(kernel) || !wanted.emplace(kernel, true).second) continue;
    validate_kernel(kernel);
    missing.push_back(kernel);
  }
  if (missing.empty()) return;
  const std::vector<RunnerPtr> made = make_runners(missing);
  for (std::size_t i = 0; i < missing.size(); ++i)
    runners_.emplace(missing[i], Entry{{made[i], {}, {}}});
}

RunnerPtr Device::make_runner(const LazyOpPtr& kernel) {
  return make_runners(std::span(&kernel, 1)).front();
}

std::vector<RunnerPtr> Device::make_runners(std::span<const LazyOpPtr> kernels) {
  std::vector<RunnerPtr> made;
  for (const LazyOpPtr& kernel : kernels) made.push_back(make_runner(kernel));
  return made;
}

std::string Device::canonical(std::string_view name) {
  std::string out(name);
  const auto upper = [](unsigned char c) { return static_cast<char>(std::toupper(c)); };
  constexpr std::string_view kDisk = "DISK:";
  std::string start = out.substr(0, kDisk.size());
  std::ranges::transform(start, start.begin(), upper);
  if (start == kDisk) return start + out.substr(kDisk.size());
  std::ranges::transform(out, out.begin(), upper);
  for (std::size_t at = 0; (at = out.find(":0", at)) != std::string::npos;)
    if (at + 2 == out.size() || out[at + 2] == ',')
      out.erase(at, 2);
    else
      ++at;
  return out;
}

std::vector<std::string> Device::names_in(std::string_view name) {
  if (name.starts_with("DISK:")) return {std::string(name)};
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    all.emplace_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

std::string Device::tuple(std::span<const std::string> names) {
  std::string all;
  std::vector<std::string> seen;
  for (const std::string& name : names) {
    seen.push_back(canonical(name));
    if (std::find(seen.begin(), seen.end() - 1, seen.back()) != seen.end() - 1)
      throw Error(fmt::format("devices: {} is given twice in ({}); name each once", seen.back(),
                              fmt::join(names, ", ")));
    if (seen.back().starts_with("DISK:") && names.size() > 1)
      throw Error(fmt::format("devices: {} is a file and cannot be one of several devices", name));
    all += (all.empty() ? "" : ",") + seen.back();
  }
  if (seen.empty()) throw Error("devices: none given; name one or more");
  return all;
}

Device& Device::get(std::string_view wanted) {
  const std::string key = canonical(wanted);
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  if (const auto it = r.devices.find(key); it != r.devices.end()) return *it->second;
  if (names_in(key).size() > 1)
    throw Error(fmt::format("'{}' is several devices, but one is needed", key));
  const auto factory = r.factory_of(key);
  if (factory == r.factories.end() && key.starts_with("DISK:"))
    return *r.devices.emplace(key, make_disk_device(key)).first->second;
  if (factory == r.factories.end()) r.refuse(wanted);
  std::unique_ptr<Device> made = factory->second();
  made->name_ = key;
  return *r.devices.emplace(key, std::move(made)).first->second;
}

void Device::require(std::string_view wanted) {
  if (const std::vector<std::string> all = names_in(canonical(wanted)); all.size() > 1) {
    (void)tuple(all);
    for (const std::string& name : all) require(name);
    return;
  }
  const std::string key = canonical(wanted);
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  if (!r.devices.contains(key) && !key.starts_with("DISK:") &&
      r.factory_of(key) == r.factories.end())
    r.refuse(wanted);
}

void Device::add(const std::string& wanted, std::function<std::unique_ptr<Device>()> factory) {
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  r.factories.insert_or_assign(canonical(wanted), std::move(factory));
}

std::vector<std::string> Device::names() {
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  std::vector<std::string> out;
  for (const auto& [name, f] : r.factories) out.push_back(name);
  return out;
}

double run_kernel(Device& device, const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                  const symbolic::Values& values) {
  const PreparedKernel& prepared = device.prepared(kernel);
  std::int64_t ops = prepared.ops, mem = prepared.mem;
  if (prepared.variables.empty()) {
    check_buffers(device, prepared.buffers, buffers);
  } else {
    check_values(prepared.variables, values);
    const LazyOpPtr concrete = bind_variables(kernel, values);
    check_buffers(device, buffers_of(concrete), buffers);
    const FlopCounter cost = get_lazyop_info(concrete);
    ops = cost.flops.as_int();
    mem = cost.total_mem().as_int();
  }
  const double seconds = prepared.runner->run(buffers, values);
  GlobalCounters& c = counters();
  c.kernels += 1;
  c.ops += ops;
  c.mem += mem;
  c.seconds += seconds;
  return seconds;
}

namespace {

Transfer between_processes;

}  // namespace

void set_transfer(const Transfer& transfer) { between_processes = transfer; }

void settle_transfers(std::span<Buffer* const> buffers) {
  if (between_processes.settle != nullptr) between_processes.settle(buffers);
}

void settle_all_transfers() {
  if (between_processes.settle_all != nullptr) between_processes.settle_all();
}

void copy(Buffer& target, const Buffer& source) {
  if (target.dtype() != source.dtype() || target.size() != source.size())
    throw BufferError(
        fmt::format("cannot copy {} elements of {} into a buffer of {} elements of {}",
                    source.size(), name(source.dtype()), target.size(), name(target.dtype())));
  if (between_processes.copy != nullptr && between_processes.copy(target, source)) return;
  // Copies directly if the host reaches one of the two memories, else through a host buffer.
  if (source.device().host_memory())
    return target.copy_in({static_cast<const std::byte*>(source.memory()), source.bytes()});
  if (target.device().host_memory())
    return source.copy_out({static_cast<std::byte*>(target.memory()), target.bytes()});
  std::vector<std::byte> through(source.bytes());
  source.copy_out(through);
  target.copy_in(through);
}

}  // namespace touchstone
