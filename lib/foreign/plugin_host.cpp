#include "touchstone/foreign/plugin_host.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/descriptor.h"
#include "touchstone/base/error.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/line_stream.h"
#include "touchstone/dtype/dtype.h"
#include "touchstone/foreign/base64.h"
#include "touchstone/foreign/plugin.h"

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
