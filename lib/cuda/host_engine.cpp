// Grids in this process: one context per thread of a block, each run in turn up to the next
// barrier.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <ucontext.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/clang/shared_object.h"
#include "touchstone/cuda/engine.h"

namespace touchstone::cuda {

namespace {

// Must match the declaration in generated code.
struct Grid {
  std::uint32_t thread = 0, block = 0, blocks = 1;
  void (*meet)(Grid*) = nullptr;
  void (*meet_warp)(Grid*) = nullptr;
};
using Entry = void (*)(void* const*, const std::int64_t*, Grid*);

constexpr std::size_t kStack = std::size_t{256} << 10;  // bytes per thread

// The threads of one block, which synchronize.
class Block : public Grid {
 public:
  Block(const Launch& launch, Entry entry) : launch_(launch), entry_(entry) {
    meet = [](Grid* grid) { static_cast<Block*>(grid)->leave(State::Waiting); };
    meet_warp = [](Grid* grid) { static_cast<Block*>(grid)->leave(State::WaitingInWarp); };
    const auto count = static_cast<std::size_t>(launch.threads);
    stacks_ = std::make_unique_for_overwrite<std::byte[]>(count * kStack);
    threads_.resize(count);
  }

  void run() {
    for (Thread& t : threads_) t.state = State::Ready;
    std::size_t done = 0;
    while (done < threads_.size()) {
      std::size_t met = 0;
      done = 0;
      const auto count = threads_.size();
      const auto warp = static_cast<std::size_t>(launch_.warp);
      for (std::size_t i = 0; i < count; i += warp) {
        const std::size_t first = block % 2 == 0 ? i : (count - 1 - i) / warp * warp;
        const std::size_t done_of_warp = run_warp(first, std::min(first + warp, count));
        done += done_of_warp;
        met += std::min(first + warp, count) - first - done_of_warp;
      }
      if (done != 0 && met != 0)
        throw SystemError(
            "the threads of a block do not all reach the barrier: some ended before it");
    }
  }

 private:
  enum class State : std::uint8_t { Ready, Waiting, WaitingInWarp, Done };
  struct Thread {
    ucontext_t context{};
    State state = State::Ready;
  };

  // Runs threads [first, end) until each waits for the whole block or is done; returns how many are
  // done.
  std::size_t run_warp(std::size_t first, std::size_t end) {
    const auto in = [&](State state) {
      return static_cast<std::size_t>(
          std::count_if(threads_.begin() + static_cast<std::ptrdiff_t>(first),
                        threads_.begin() + static_cast<std::ptrdiff_t>(end),
                        [&](const Thread& t) { return t.state == state; }));
    };
    do {
      for (std::size_t i = first; i < end; ++i) resume(block % 2 == 0 ? i : end - 1 - (i - first));
      if (in(State::WaitingInWarp) != 0 && in(State::WaitingInWarp) != end - first)
        throw SystemError(
            "the threads of a warp do not all reach the barrier: some are at another one");
    } while (in(State::WaitingInWarp) != 0);
    return in(State::Done);
  }

  void resume(std::size_t turn) {
    Thread& t = threads_[turn];
    thread = static_cast<std::uint32_t>(turn);
    if (t.state == State::Done) return;
    if (t.state == State::Ready) {
      getcontext(&t.context);
      t.context.uc_stack.ss_sp = stacks_.get() + turn * kStack;
      t.context.uc_stack.ss_size = kStack;
      t.context.uc_link = &back_;
      const auto self = reinterpret_cast<std::uintptr_t>(this);
      makecontext(&t.context, reinterpret_cast<void (*)()>(&Block::begin), 2,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    }
    swapcontext(&back_, &t.context);
  }

  static void begin(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Block*>(static_cast<std::uintptr_t>(high) << 32 | low);
    self->entry_(self->launch_.arguments.data(), self->launch_.variables.data(), self);
    self->threads_[self->thread].state = State::Done;
  }

  void leave(State state) {
    Thread& t = threads_[thread];
    t.state = state;
    swapcontext(&t.context, &back_);
  }

  const Launch& launch_;
  Entry entry_;
  std::unique_ptr<std::byte[]> stacks_;
  std::vector<Thread> threads_;
  ucontext_t back_{};
};

class HostProgram final : public KernelModule {
 public:
  explicit HostProgram(const std::filesystem::path& file) : object_(file) {}
  void* function(const std::string& symbol) override {
    return reinterpret_cast<void*>(object_.function(symbol + "_on_host"));
  }

 private:
  clang::SharedObject object_;
};

class HostEngine final : public Engine {
 public:
  explicit HostEngine(const CudaOptions& options) {
    clang_.compiler = options.compiler;
    clang_.compiler_limits = options.compiler_limits;
    clang_.opt_level = options.opt_level;
    clang_.extra_flags = {"-std=gnu11"};
  }

  Target target() const override { return Target::Host; }
  std::unique_ptr<Allocator> allocator() override { return std::make_unique<HostAllocator>(); }

  std::shared_ptr<KernelModule> build(const std::string& source) override {
    const TemporaryDirectory folder("touchstone-grid");
    const std::filesystem::path output = folder.path() / "kernels.so";
    clang::Compiler(clang_).compile(source, output);
    return std::make_shared<HostProgram>(output);
  }

  void launch(KernelModule&, const Launch& launch) override {
    const FpGuard guard;
    const auto entry = reinterpret_cast<Entry>(launch.function);
    if (launch.waits) {
      Block block(launch, entry);
      block.blocks = static_cast<std::uint32_t>(launch.blocks);
      for (std::int64_t i = 0; i < launch.blocks; ++i) {
        block.block = static_cast<std::uint32_t>(i);
        block.run();
      }
      return;
    }
    Grid grid;
    grid.blocks = static_cast<std::uint32_t>(launch.blocks);
    for (std::int64_t i = 0; i < launch.blocks; ++i) {
      grid.block = static_cast<std::uint32_t>(i);
      for (int t = 0; t < launch.threads; ++t) {
        grid.thread = static_cast<std::uint32_t>(i % 2 == 0 ? t : launch.threads - 1 - t);
        entry(launch.arguments.data(), launch.variables.data(), &grid);
      }
    }
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

 private:
  ClangOptions clang_;
};

}  // namespace

std::shared_ptr<Engine> make_host_engine(const CudaOptions& options) {
  return std::make_shared<HostEngine>(options);
}

}  // namespace touchstone::cuda
