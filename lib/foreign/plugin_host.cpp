#include "touchstone/foreign/plugin_host.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <unistd.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/descriptor.h"
#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/line_stream.h"
#include "touchstone/dtype/dtype.h"
#include "touchstone/foreign/backend.h"
#include "touchstone/foreign/base64.h"
#include "touchstone/foreign/guarded_memory.h"
#include "touchstone/ops/kernel_json.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOUCHSTONE_SHADOWED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOUCHSTONE_SHADOWED 1
#endif

namespace touchstone::foreign {
namespace {

// A plugin loaded in this process; the caller must expect crashes and hangs.
class Plugin {
 public:
  // Loads it. Throws SystemError or ParseError: no such object, no touchstone_backend_get, a wrong
  // ABI version, missing functions, capabilities that are not a JSON object.
  explicit Plugin(const std::string& path);

  // Its capabilities, formatted as the protocol's first answer.
  const std::string& hello() const { return hello_; }

  // Unsupported: the plugin does not support the kernel. Broken: a call broke the contract.
  struct Unsupported : std::runtime_error {
    using runtime_error::runtime_error;
  };
  struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
  };

  // Returns the output's bytes. Throws SystemError if the plugin reports a failure.
  std::string run(const std::string& kernel, std::span<const std::string> inputs,
                  std::size_t output_bytes, std::size_t itemsize);

  // The host buffers of the current run(); for a signal handler.
  std::span<const GuardedMemory> living() const { return buffers_; }

 private:
  std::string run_once(void* program, std::span<const std::string> inputs, std::size_t output_bytes,
                       std::byte fill, GuardedMemory::Place place);
  std::vector<void*> to_device(std::vector<void*>& held);
  void call(int status, const char* what) const;
  std::string reason() const;

  const touchstone_backend* backend_ = nullptr;
  std::string hello_;
  std::size_t alignment_ = 16;
  std::vector<GuardedMemory> buffers_;
};

constexpr std::byte kFill{0xa5}, kOtherFill{0x5a};

const touchstone_backend* load(const std::string& path) {
  // dlopen would search the system's folders for a bare name.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) throw SystemError(fmt::format("cannot load it: {}", ::dlerror()));
  void* const symbol = ::dlsym(object, "touchstone_backend_get");
  if (symbol == nullptr)
    throw ParseError(fmt::format(
        "{} has no touchstone_backend_get(), which touchstone/backend.h requires", path));
  const auto* const backend =
      reinterpret_cast<const touchstone_backend* (*)()>(reinterpret_cast<std::uintptr_t>(symbol))();
  if (backend == nullptr) throw ParseError("its touchstone_backend_get() returned NULL");
  if (backend->abi != TOUCHSTONE_BACKEND_ABI)
    throw ParseError(
        fmt::format("it has ABI version {}, but this touchstone has {}: build it with the "
                    "touchstone/backend.h of this version",
                    backend->abi, TOUCHSTONE_BACKEND_ABI));
  if (backend->size < sizeof(touchstone_backend))
    throw ParseError(fmt::format("its touchstone_backend has {} bytes, but version {} has {}",
                                 backend->size, TOUCHSTONE_BACKEND_ABI,
                                 sizeof(touchstone_backend)));
  if (backend->compile == nullptr || backend->run == nullptr || backend->capabilities == nullptr)
    throw ParseError("it lacks capabilities, compile or run");
  const bool any = backend->alloc || backend->free || backend->copy_in || backend->copy_out;
  const bool all = backend->alloc && backend->free && backend->copy_in && backend->copy_out;
  if (any != all)
    throw ParseError("it has some of alloc, free, copy_in and copy_out; it must have all or none");
  return backend;
}

nlohmann::json capabilities_of(const touchstone_backend& backend) {
  const std::string_view text = backend.capabilities;
  require_shallow_json(text);
  nlohmann::json said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object()) throw ParseError("its capabilities are not a JSON object");
  said["touchstone_backend"] = 1;
  said["arrays"] = "base64";
  return said;
}

std::size_t alignment_of(const nlohmann::json& capabilities) {
  const auto said = capabilities.find("alignment");
  if (said == capabilities.end()) return 16;
  const bool number = said->is_number_unsigned();
  const std::uint64_t bytes = number ? said->get<std::uint64_t>() : 0;
  if (!std::has_single_bit(bytes) || bytes > 4096)
    throw ParseError("its \"alignment\" must be a power of two of at most 4096");
  return bytes;
}

Plugin::Plugin(const std::string& path) : backend_(load(path)) {
  const nlohmann::json said = capabilities_of(*backend_);
  alignment_ = alignment_of(said);
  hello_ = json_line(said);
}

std::string Plugin::reason() const {
  const char* const text = backend_->error == nullptr ? nullptr : backend_->error();
  return text == nullptr || *text == '\0' ? "it gives no reason" : text;
}

void Plugin::call(int status, const char* what) const {
  if (status != TOUCHSTONE_OK) throw SystemError(fmt::format("{}: {}", what, reason()));
}

std::string Plugin::run(const std::string& kernel, std::span<const std::string> inputs,
                        std::size_t output_bytes, std::size_t itemsize) {
  void* raw = nullptr;
  const int status = backend_->compile(kernel.c_str(), &raw);
  if (status == TOUCHSTONE_UNSUPPORTED) throw Unsupported(reason());
  call(status, "compile");
  const auto release = [this](void* p) {
    if (backend_->release != nullptr) backend_->release(p);
  };
  const std::unique_ptr<void, decltype(release)> program(raw, release);
  using enum GuardedMemory::Place;
  std::string output = run_once(raw, inputs, output_bytes, kFill, AtEnd);
  // Host memory can be guarded at one end only, so run twice.
  std::string second;
  if (backend_->alloc == nullptr) second = run_once(raw, inputs, output_bytes, kOtherFill, AtStart);
  // An element that looks unwritten must show the other fill in the second run.
  const auto unwritten = [&](std::size_t at, const std::string& bytes, std::byte fill) {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at + itemsize),
                       [&](char c) { return static_cast<std::byte>(c) == fill; });
  };
  std::size_t count = 0, first = 0;
  for (std::size_t at = 0; at < output.size(); at += itemsize) {
    if (!unwritten(at, output, kFill)) continue;
    if (second.empty()) second = run_once(raw, inputs, output_bytes, kOtherFill, AtEnd);
    if (unwritten(at, second, kOtherFill) && count++ == 0) first = at / itemsize;
  }
  if (count > 0)
    throw Broken(fmt::format("it left {} of {} elements of its output unwritten, the first is {}",
                             count, output.size() / itemsize, first));
  return output;
}

std::vector<void*> Plugin::to_device(std::vector<void*>& held) {
  for (const GuardedMemory& buffer : buffers_) {
    void* memory = nullptr;
    call(backend_->alloc(buffer.data().size(), &memory), "alloc");
    held.push_back(memory);
    call(backend_->copy_in(memory, buffer.data().data(), buffer.data().size()), "copy_in");
  }
  return held;
}

std::string Plugin::run_once(void* program, std::span<const std::string> inputs,
                             std::size_t output_bytes, std::byte fill, GuardedMemory::Place place) {
  buffers_.clear();
  buffers_.reserve(inputs.size() + 1);
  buffers_.emplace_back(output_bytes, alignment_, place);
  std::ranges::fill(buffers_[0].data(), fill);
  for (const std::string& input : inputs) {
    buffers_.emplace_back(input.size(), alignment_, place);
    std::ranges::copy(std::as_bytes(std::span(input)), buffers_.back().data().begin());
    buffers_.back().make_read_only();
  }
  std::vector<void*> on_device;
  const auto free_all = [this](std::vector<void*>* all) {
    for (void* memory : *all) backend_->free(memory);
  };
  const std::unique_ptr<std::vector<void*>, decltype(free_all)> held(&on_device, free_all);
  std::vector<void*> passed;
  std::vector<std::size_t> sizes;
  for (const GuardedMemory& buffer : buffers_) {
    passed.push_back(buffer.data().data());
    sizes.push_back(buffer.data().size());
  }
  const bool has_memory = backend_->alloc != nullptr;
  if (has_memory) passed = to_device(on_device);
  call(backend_->run(program, passed.data(), sizes.data(), passed.size()), "run");
  const std::span<std::byte> output = buffers_[0].data();
  if (has_memory) {
    const std::int64_t copied = backend_->copy_out(output.data(), on_device[0], output.size());
    if (copied < 0) call(TOUCHSTONE_FAILED, "copy_out");
    if (copied != static_cast<std::int64_t>(output.size()))
      throw Broken(fmt::format("copy_out returned {} of {} bytes", copied, output.size()));
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (const std::string where = buffers_[i].damage(); !where.empty())
      throw Broken(fmt::format("it wrote to buffer {} {}", i, where));
  std::string bytes(output.size(), '\0');
  std::memcpy(bytes.data(), output.data(), output.size());
  buffers_.clear();
  return bytes;
}

using nlohmann::json;

// State for the signal handler.
struct UnderWay {
  const Plugin* plugin = nullptr;
  std::int64_t id = 0;
  int out = -1;
};
UnderWay under_way;

const char* kind_of_access([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto* const c = static_cast<const ucontext_t*>(context);
  return (c->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "wrote" : "read";
#else
  return "reached out";
#endif
}

// Reports which buffer the plugin overran, if any; then the signal takes its default action.
void on_fault(int signal, siginfo_t* info, void* context) {
  ::signal(signal, SIG_DFL);
  if (under_way.plugin != nullptr) {
    int number = 0;
    for (const GuardedMemory& buffer : under_way.plugin->living()) {
      std::array<char, 120> where;
      if (buffer.describe(info->si_addr, number++, where.data(), where.size())) {
        std::array<char, 240> line;
        const int n = std::snprintf(
            line.data(), line.size(), "{\"id\":%lld,\"broken\":\"it %s %s\"}\n",
            static_cast<long long>(under_way.id), kind_of_access(context), where.data());
        write_all(under_way.out, {line.data(), static_cast<std::size_t>(n)});
        ::_exit(1);
      }
    }
  }
  ::raise(signal);
}

// On its own stack: the plugin may have exhausted the normal one.
void watch_for_faults() {
  static std::array<char, 65536> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS}) ::sigaction(signal, &action, nullptr);
}

std::size_t count_of(const json& shape) {
  std::int64_t count = 1;
  for (const json& size : shape) count = checked_mul(count, size.get<std::int64_t>());
  if (count < 0) throw ParseError("a negative size");
  return static_cast<std::size_t>(count);
}

// Returns the output's bytes of an answer.
std::string run(Plugin& plugin, const json& question) {
  std::vector<std::string> inputs;
  for (const json& input : question.at("inputs")) {
    std::optional<std::string> bytes = from_base64(input.at("base64").get<std::string>());
    if (!bytes) throw ParseError("an input that is not valid base64");
    inputs.push_back(*std::move(bytes));
  }
  const json& output = question.at("output");
  const std::size_t width = itemsize(parse_dtype(output.at("dtype").get<std::string>()));
  return plugin.run(question.at("kernel").dump(), inputs, count_of(output.at("shape")) * width,
                    width);
}

std::string answer(Plugin* plugin, const std::string& refusal, std::string_view line, int out) {
  json said = json::object();
  try {
    const json question = json::parse(line);
    if (question.contains("touchstone_backend"))
      return plugin != nullptr ? plugin->hello() : json{{"error", refusal}}.dump();
    if (plugin == nullptr) throw ParseError(refusal);
    said["id"] = question.at("id");
    under_way = {plugin, question.at("id").get<std::int64_t>(), out};
    said["output"] = to_base64(run(*plugin, question));
  } catch (const Plugin::Unsupported& e) {
    said["unsupported"] = e.what();
  } catch (const Plugin::Broken& e) {
    said["broken"] = e.what();
  } catch (const std::exception& e) {
    said["error"] = e.what();
  }
  under_way = {};
  return json_line(said);
}

}  // namespace

int host_plugin(const std::string& path) {
  // The plugin may use standard input and output; the protocol moves to other descriptors.
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (in < 0 || out < 0 || !nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw SystemError(fmt::format("cannot set up the plugin's process: {}", std::strerror(errno)));
  nothing.close();
  watch_for_faults();
  std::unique_ptr<Plugin> plugin;
  std::string refusal;
  try {
    plugin = std::make_unique<Plugin>(path);
  } catch (const std::exception& e) {
    refusal = e.what();
  }
  LineStream stream([&](std::string_view line) { return answer(plugin.get(), refusal, line, out); },
                    [&](std::string_view text) { write_all(out, text); });
  std::vector<char> piece(std::size_t{1} << 16);
  for (ssize_t n = 0; (n = read_some(in, piece)) > 0;)
    stream.take({piece.data(), static_cast<std::size_t>(n)});
  // Skips the plugin's exit handlers, which could crash.
  std::fflush(nullptr);
  ::_exit(0);
}

bool has_shadow_memory() {
#ifdef TOUCHSTONE_SHADOWED
  return true;
#else
  return false;
#endif
}

Limits plugin_limits(Limits limits) {
  if (has_shadow_memory()) limits.memory = 0;
  return limits;
}

std::vector<std::string> plugin_command(const std::string& path) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw SystemError(fmt::format("cannot find this program: {}", error.message()));
  return {self.string(), "plugin-host", path};
}

}  // namespace touchstone::foreign
