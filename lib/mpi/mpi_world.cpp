#include "touchstone/mpi/mpi_world.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>
#include <unordered_map>

#include "touchstone/base/hash.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/lazy_op.h"

#ifdef TOUCHSTONE_HAS_MPI
#include "touchstone/mpi/messages.h"
#endif

namespace touchstone {

MpiOptions MpiOptions::from_environment() {
  MpiOptions options;
  const char* const text = std::getenv("TOUCHSTONE_MPI_PATIENCE");
  if (text == nullptr || *text == '\0') return options;
  const std::string_view word(text);
  int seconds = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (error != std::errc() || stop != word.data() + word.size() || seconds < 1)
    throw ParseError(fmt::format(
        "TOUCHSTONE_MPI_PATIENCE is '{}'; give seconds, at least 1, or unset it", word));
  options.patience = std::chrono::seconds(seconds);
  return options;
}

bool under_mpirun() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

#ifndef TOUCHSTONE_HAS_MPI

bool has_mpi() { return false; }
struct MpiWorld::State {};
MpiWorld::MpiWorld(MpiOptions) {
  throw Error("this Touchstone was built without MPI; install libopenmpi-dev and rebuild");
}
MpiWorld::~MpiWorld() = default;
int MpiWorld::rank() const { return 0; }
int MpiWorld::size() const { return 1; }
std::vector<std::string> MpiWorld::devices(std::string_view) const { return {}; }
void MpiWorld::barrier() {}
void MpiWorld::fail(std::string_view) {}

#else

bool has_mpi() { return true; }

namespace {

// The rank in "CLANG@3"; nullopt for devices that every rank has.
std::optional<int> rank_of(std::string_view device) {
  const std::size_t at = device.rfind('@');
  if (at == std::string_view::npos || device.starts_with("DISK:")) return std::nullopt;
  const std::string_view digits = device.substr(at + 1);
  int rank = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return rank;
}

// The allocator of another rank's device: counts bytes without memory.
class RemoteAllocator final : public Allocator {
 public:
  explicit RemoteAllocator(std::string name) : name_(std::move(name)) {}
  void* allocate(std::size_t /*bytes*/) override { return &nothing_; }
  void release(void* /*memory*/, std::size_t /*bytes*/) noexcept override {}
  void copy_in(void* /*memory*/, std::span<const std::byte> /*source*/) override {}
  void copy_out(std::span<std::byte> target, const void* /*memory*/) override {
    if (!target.empty())
      throw BufferError(fmt::format(
          "the values of {} belong to another rank; copy them to CPU, which every rank has",
          name_));
  }

 private:
  std::string name_;
  std::byte nothing_{};
};

class RemoteRunner final : public Runner {
 public:
  double run(std::span<Buffer* const> /*buffers*/, const symbolic::Values& /*values*/) override {
    return 0;
  }
};

class RemoteDevice final : public Device {
 public:
  explicit RemoteDevice(const std::string& name)
      : Device(name, std::make_unique<RemoteAllocator>(name)) {}
  bool elsewhere() const override { return true; }

 private:
  RunnerPtr make_runner(const LazyOpPtr& /*kernel*/) override {
    return std::make_shared<RemoteRunner>();
  }
};

// The hash of a schedule step, equal on every rank.
struct StepPrint {
  std::uint64_t hash = 0;
  std::string text;
};

std::vector<StepPrint> prints(std::span<const ScheduleItem> items) {
  std::unordered_map<const LazyBuffer*, std::uint64_t> number;
  const auto numbered = [&](const LazyBufferPtr& b) {
    return number.emplace(b.get(), number.size()).first->second;
  };
  std::vector<StepPrint> all;
  for (const ScheduleItem& item : items) {
    std::uint64_t h = hash_mix(static_cast<std::uint64_t>(item.kind), numbered(item.out));
    h = hash_mix(h, hash_bytes(item.out->device()));
    h = hash_mix(h, static_cast<std::uint64_t>(item.out->dtype()));
    h = hash_mix(h, static_cast<std::uint64_t>(max_elements(item.out->shape())));
    for (const LazyBufferPtr& input : item.inputs) {
      h = hash_mix(h, numbered(input));
      h = hash_mix(h, hash_bytes(input->device()));
    }
    for (const auto& [name, value] : item.var_vals)
      h = hash_mix(hash_mix(h, hash_bytes(name)), static_cast<std::uint64_t>(value));
    const std::string kernel = item.ast == nullptr ? std::string(name(item.kind)) : str(item.ast);
    h = hash_mix(h, hash_bytes(kernel));
    all.push_back(
        {h, fmt::format("{} on {}, {} {}", item.ast == nullptr ? kernel : kernel_name(item.ast),
                        item.out->device(), name(item.out->dtype()),
                        str(std::span<const sint>(item.out->shape())))});
  }
  return all;
}

}  // namespace

struct MpiWorld::State {
  mpi::Messages messages;

  static State*& current() {
    static State* only = nullptr;
    return only;
  }

  // Returns false if both devices are local to every rank.
  bool transfer(Buffer& target, const Buffer& source) {
    const std::optional<int> to = rank_of(target.device().name()),
                             from = rank_of(source.device().name());
    if (!to && !from) return false;
    const std::string what = fmt::format("copy of {} bytes from {} to {}", source.bytes(),
                                         source.device().name(), target.device().name());
    const auto own_copy = [&] {
      messages.settle(source, false);
      messages.settle(target, true);
      target.copy_in({static_cast<const std::byte*>(source.memory()), source.bytes()});
    };
    const int rank = messages.rank();
    if (!from || (to && *to == *from)) {  // every rank has it, or one rank has both
      if (*to == rank) own_copy();
    } else if (!to) {
      if (*from == rank) own_copy();
      messages.broadcast(static_cast<std::byte*>(target.memory()), target.bytes(), *from, what);
    } else if (*from == rank) {
      messages.settle(source, false);
      messages.send(source, *to, what);
    } else if (*to == rank) {
      messages.settle(target, true);
      messages.receive(target, *from, what);
    }
    return true;
  }

  // Before a kernel: the first buffer is written, the others are read.
  void settle(std::span<Buffer* const> buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) messages.settle(*buffers[i], i == 0);
  }

  template <class T>
  std::vector<T> gathered(const std::vector<T>& own, const std::string& what) {
    const std::vector<std::byte> bytes =
        messages.gathered(own.data(), own.size() * sizeof(T), what);
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  void compare(std::span<const ScheduleItem> items) {
    const auto of_ranks = [](const LazyBufferPtr& b) {
      return b->device().find('@') != std::string::npos;
    };
    if (std::ranges::none_of(items, [&](const ScheduleItem& item) {
          return of_ranks(item.out) || std::ranges::any_of(item.inputs, of_ranks);
        }))
      return;
    const std::vector<StepPrint> own = prints(items);
    std::uint64_t whole = own.size();
    for (const StepPrint& step : own) whole = hash_mix(whole, step.hash);
    const std::string what = "comparing what the ranks run";
    const std::vector<std::uint64_t> all =
        gathered(std::vector<std::uint64_t>{whole, own.size()}, what);
    std::size_t most = 0;
    int other = -1;  // the first rank that differs from rank 0
    for (int r = 0; r < messages.size(); ++r) {
      const auto at = 2 * static_cast<std::size_t>(r);
      most = std::max<std::size_t>(most, all[at + 1]);
      if (other < 0 && all[at] != all[0]) other = r;
    }
    if (other < 0) return;
    std::vector<std::uint64_t> hashes(most);
    for (std::size_t i = 0; i < own.size(); ++i) hashes[i] = own[i].hash;
    const std::vector<std::uint64_t> steps = gathered(hashes, what);
    std::size_t i = 0;
    while (i < most && steps[i] == steps[static_cast<std::size_t>(other) * most + i]) ++i;
    constexpr std::size_t kText = 160;
    std::vector<char> text(kText, '\0');
    const std::string mine = i < own.size() ? own[i].text : "no further step";
    std::copy_n(mine.data(), std::min(mine.size(), kText - 1), text.data());
    const std::vector<char> texts = gathered(text, what);
    const auto text_of = [&](int r) {
      return std::string(texts.data() + static_cast<std::size_t>(r) * kText);
    };
    const std::string why = fmt::format(
        "the ranks run different graphs: step {} is [{}] on rank 0, [{}] on rank {}; every rank "
        "must run the same program on the same shapes",
        i, text_of(0), text_of(other), other);
    messages.fail(why);
    throw Error(why);
  }
};

MpiWorld::MpiWorld(MpiOptions options) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) throw Error("MPI was started before; a process can have one MpiWorld");
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI failed to start; start the program with mpirun");
  state_ = std::make_unique<State>(mpi::Messages(options.patience));
  for (int r = 0; r < size(); ++r) {
    const bool own = r == rank();
    for (const char* kind : {"CLANG", "CPU"}) {
      const std::string name = fmt::format("{}@{}", kind, r);
      const bool compiled = kind == std::string_view("CLANG");
      Device::add(name, [=]() -> std::unique_ptr<Device> {
        if (!own) return std::make_unique<RemoteDevice>(name);
        if (compiled) return make_clang_device(name, ClangOptions::from_environment());
        return make_interpreted_device(name, 1);
      });
    }
  }
  State::current() = state_.get();
  set_transfer({
      [](Buffer& target, const Buffer& source) {
        return State::current()->transfer(target, source);
      },
      [](std::span<Buffer* const> buffers) { State::current()->settle(buffers); },
      [] { State::current()->messages.settle_all(); },
  });
  set_schedule_gate([](std::span<const ScheduleItem> items) {
    if (State::current() != nullptr) State::current()->compare(items);
  });
}

MpiWorld::~MpiWorld() {
  set_transfer({});
  set_schedule_gate(nullptr);
  State::current() = nullptr;
  mpi::Messages& messages = state_->messages;
  try {
    if (!messages.failed()) {
      messages.settle_all();
      messages.barrier("the end of all ranks");
    }
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  if (messages.failed()) {
    messages.part();
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

int MpiWorld::rank() const { return state_->messages.rank(); }
int MpiWorld::size() const { return state_->messages.size(); }
std::vector<std::string> MpiWorld::devices(std::string_view kind) const {
  std::vector<std::string> all;
  for (int r = 0; r < size(); ++r) all.push_back(fmt::format("{}@{}", kind, r));
  return all;
}
void MpiWorld::barrier() { state_->messages.barrier("waiting for all ranks"); }
void MpiWorld::fail(std::string_view why) { state_->messages.fail(why); }

#endif

}  // namespace touchstone
