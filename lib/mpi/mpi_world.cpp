#include "touchstone/mpi/mpi_world.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>
#include <thread>
#include <unordered_map>

#include "touchstone/base/hash.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/interpreted.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/lazy_op.h"

#ifdef TOUCHSTONE_HAS_MPI
#include <mpi.h>
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
  throw Error("this Touchstone was built without MPI; install libopenmpi-dev and build it again");
}
MpiWorld::~MpiWorld() = default;
int MpiWorld::rank() const { return 0; }
int MpiWorld::size() const { return 1; }
std::vector<std::string> MpiWorld::devices(std::string_view) const { return {}; }
void MpiWorld::barrier() {}
void MpiWorld::fail() {}

#else

bool has_mpi() { return true; }

namespace {

// The rank in "CLANG@3"; nullopt for what every rank has for itself.
std::optional<int> rank_of(std::string_view device) {
  const std::size_t at = device.rfind('@');
  if (at == std::string_view::npos || device.starts_with("DISK:")) return std::nullopt;
  const std::string_view digits = device.substr(at + 1);
  int rank = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return rank;
}

// Another rank's: books without pages.
class RemoteAllocator final : public Allocator {
 public:
  explicit RemoteAllocator(std::string name) : name_(std::move(name)) {}
  void* allocate(std::size_t /*bytes*/) override { return &nothing_; }
  void release(void* /*memory*/, std::size_t /*bytes*/) noexcept override {}
  void copy_in(void* /*memory*/, std::span<const std::byte> /*source*/) override {}
  void copy_out(std::span<std::byte> target, const void* /*memory*/) override {
    if (!target.empty())
      throw BufferError(fmt::format(
          "the values of {} are another rank's; copy them to CPU, which every rank has", name_));
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

std::string said(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

// What a step of a schedule is, the same on every rank.
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
  MpiOptions options;
  int rank = 0, size = 1;
  bool failed = false;
  struct Sent {
    MPI_Request request;
    std::vector<std::byte> bytes;  // empty: the memory of the buffer itself
  };
  std::vector<std::unique_ptr<Sent>> sent;

  static State*& current() {
    static State* only = nullptr;
    return only;
  }

  void check(int code, const std::string& what) {
    if (code == MPI_SUCCESS) return;
    failed = true;
    throw Error(fmt::format("rank {}: {}: {}", rank, what, said(code)));
  }

  // Until it is done, or patience ends.
  void wait(MPI_Request& request, const std::string& what) {
    const auto start = std::chrono::steady_clock::now();
    for (int turn = 0;; ++turn) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
      if (done != 0) return;
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited > options.patience) {
        failed = true;
        throw Error(fmt::format(
            "rank {}: {}: nothing came for {} s, so another rank has ended or stands still; look "
            "at its output, or set TOUCHSTONE_MPI_PATIENCE higher",
            rank, what, std::chrono::duration<double>(options.patience).count()));
      }
      // Another rank may need this core; what takes long is not waited for at full speed.
      if (waited > std::chrono::milliseconds(20))
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      else if (turn > 20)
        std::this_thread::yield();
    }
  }

  // MPI counts in int: large messages go in pieces.
  template <class F>
  static void in_pieces(std::size_t bytes, const F& piece) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t at = 0; at < bytes; at += kMost)
      piece(at, static_cast<int>(std::min(kMost, bytes - at)));
  }

  static std::byte* memory(const Buffer& b) { return static_cast<std::byte*>(b.memory()); }

  void send(const Buffer& from, int to, const std::string& what) {
    std::erase_if(sent, [](const std::unique_ptr<Sent>& s) {
      int done = 0;
      return MPI_Test(&s->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
    });
    // Small ones go on their way while kernels run; the memory of large ones is waited for.
    constexpr std::size_t kAside = std::size_t{1} << 20, kMostAside = 64;
    const bool aside = from.bytes() <= kAside && sent.size() < kMostAside;
    auto message = std::make_unique<Sent>();
    if (aside) message->bytes.assign(memory(from), memory(from) + from.bytes());
    std::byte* const data = aside ? message->bytes.data() : memory(from);
    in_pieces(from.bytes(), [&](std::size_t at, int count) {
      check(MPI_Isend(data + at, count, MPI_BYTE, to, 0, MPI_COMM_WORLD, &message->request), what);
      if (!aside) wait(message->request, what);
    });
    if (aside && from.bytes() > 0) sent.push_back(std::move(message));
  }

  void receive(const Buffer& target, int from, const std::string& what) {
    in_pieces(target.bytes(), [&](std::size_t at, int count) {
      MPI_Request request;
      check(MPI_Irecv(memory(target) + at, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request),
            what);
      wait(request, what);
    });
  }

  void broadcast(std::byte* data, std::size_t bytes, int from, const std::string& what) {
    in_pieces(bytes, [&](std::size_t at, int count) {
      MPI_Request request;
      check(MPI_Ibcast(data + at, count, MPI_BYTE, from, MPI_COMM_WORLD, &request), what);
      wait(request, what);
    });
  }

  // False where both are devices of each rank's own.
  bool transfer(Buffer& target, const Buffer& source) {
    const std::optional<int> to = rank_of(target.device().name()),
                             from = rank_of(source.device().name());
    if (!to && !from) return false;
    const std::string what = fmt::format("copy of {} bytes from {} to {}", source.bytes(),
                                         source.device().name(), target.device().name());
    if (!from) {  // every rank has it
      if (*to == rank) target.copy_in({memory(source), source.bytes()});
    } else if (!to) {
      if (*from == rank) target.copy_in({memory(source), source.bytes()});
      broadcast(memory(target), target.bytes(), *from, what);
    } else if (*to == *from) {
      if (*to == rank) target.copy_in({memory(source), source.bytes()});
    } else if (*from == rank) {
      send(source, *to, what);
    } else if (*to == rank) {
      receive(target, *from, what);
    }
    return true;
  }

  template <class T>
  std::vector<T> gathered(const std::vector<T>& own, const std::string& what) {
    std::vector<T> all(own.size() * static_cast<std::size_t>(size));
    const int bytes = static_cast<int>(own.size() * sizeof(T));
    MPI_Request request;
    check(MPI_Iallgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD,
                         &request),
          what);
    wait(request, what);
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
    const std::string what = "comparing what ranks are to run";
    const std::vector<std::uint64_t> all =
        gathered(std::vector<std::uint64_t>{whole, own.size()}, what);
    std::size_t most = 0;
    int other = -1;  // the first that differs from rank 0
    for (int r = 0; r < size; ++r) {
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
    const std::string mine = i < own.size() ? own[i].text : "nothing more";
    std::copy_n(mine.data(), std::min(mine.size(), kText - 1), text.data());
    const std::vector<char> texts = gathered(text, what);
    const auto text_of = [&](int r) {
      return std::string(texts.data() + static_cast<std::size_t>(r) * kText);
    };
    failed = true;
    throw Error(fmt::format(
        "ranks are to run different graphs: step {} is [{}] on rank 0, [{}] on rank {}; every rank "
        "must run the same program on the same shapes",
        i, text_of(0), text_of(other), other));
  }
};

MpiWorld::MpiWorld(MpiOptions options) : state_(std::make_unique<State>()) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) throw Error("MPI was started before; one MpiWorld lives in a process");
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI cannot be started; start the program by mpirun");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  state_->options = options;
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
  for (int r = 0; r < state_->size; ++r) {
    const bool own = r == state_->rank;
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
  set_transfer([](Buffer& target, const Buffer& source) {
    return State::current() != nullptr && State::current()->transfer(target, source);
  });
  set_schedule_gate([](std::span<const ScheduleItem> items) {
    if (State::current() != nullptr) State::current()->compare(items);
  });
}

MpiWorld::~MpiWorld() {
  set_transfer(nullptr);
  set_schedule_gate(nullptr);
  State::current() = nullptr;
  if (state_->failed) MPI_Abort(MPI_COMM_WORLD, 1);
  try {
    for (const auto& s : state_->sent) state_->wait(s->request, "the last messages");
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    state_->wait(request, "the end of all ranks");
    MPI_Finalize();
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int MpiWorld::rank() const { return state_->rank; }
int MpiWorld::size() const { return state_->size; }
std::vector<std::string> MpiWorld::devices(std::string_view kind) const {
  std::vector<std::string> all;
  for (int r = 0; r < state_->size; ++r) all.push_back(fmt::format("{}@{}", kind, r));
  return all;
}
void MpiWorld::barrier() {
  MPI_Request request;
  state_->check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "waiting for all ranks");
  state_->wait(request, "waiting for all ranks");
}
void MpiWorld::fail() { state_->failed = true; }

#endif

}  // namespace touchstone
