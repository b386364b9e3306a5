#include "touchstone/device/config.h"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

thread_local const Config* innermost = nullptr;

// The variable's value; null where it is unset or empty.
const char* text_of(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::optional<std::int64_t> number(std::string_view name, std::int64_t low, std::int64_t high) {
  const char* const text = text_of(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view whole(text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text, text + whole.size(), value);
  if (error != std::errc() || stop != text + whole.size() || value < low || value > high)
    throw ParseError(
        high == INT64_MAX
            ? fmt::format("{} is '{}'; give a number from {}, or unset it", name, whole, low)
            : fmt::format("{} is '{}'; give a number from {} to {}, or unset it", name, whole, low,
                          high));
  return value;
}

void read_flag(std::string_view name, bool& flag) {
  if (const auto value = number(name, 0, 1)) flag = *value != 0;
}

void read_kernelize(KernelizeOptions& options) {
  read_flag("FUSE_ARANGE", options.fuse_arange);
  read_flag("FUSE_CONV_BW", options.fuse_conv_bw);
  read_flag("SPLIT_REDUCEOP", options.split_reduceop);
  read_flag("DONT_REALIZE_EXPAND", options.dont_realize_expand);
  read_flag("DONT_GROUP_REDUCES", options.dont_group_reduces);
  if (const auto size = number("REDUCEOP_SPLIT_SIZE", 1, 40))
    options.reduceop_split_size = static_cast<int>(*size);
  const auto most = number("MAX_KERNEL_BUFFERS", 0, 1 << 20);
  if (most && *most > 0 && *most < 3)
    throw ParseError(fmt::format(
        "MAX_KERNEL_BUFFERS is {}; give at least 3, an output and two inputs, or 0 for no limit",
        *most));
  if (most) options.max_kernel_buffers = static_cast<int>(*most);
}

}  // namespace

Config::Config(int level) : opt(level) {
  if (level < 0 || level > kMostOpt)
    throw Error(fmt::format("OPT is {}; give a level from 0 to {}", level, kMostOpt));
  for (const SwitchInfo& row : switch_table) set(row.id, row.level <= level);
}

Config& Config::set(Switch s, bool to) {
  const std::uint32_t bit = 1U << static_cast<unsigned>(s);
  switches = to ? switches | bit : switches & ~bit;
  return *this;
}

Config Config::from_environment() {
  Config config(static_cast<int>(number("OPT", 0, kMostOpt).value_or(kDefaultOpt)));
  for (const SwitchInfo& row : switch_table)
    if (const auto value = number(row.name, 0, 1)) config.set(row.id, *value != 0);
  read_flag("LAZY", config.lazy);
  read_flag("LAZYCACHE", config.lazycache);
  read_flag("MEMORY_PLANNER", config.memory_planner);
  read_flag("LRU", config.lru);
  read_flag("JIT", config.jit);
  if (const auto least = number("REDUCEOP_SPLIT_THRESHOLD", 1, INT64_MAX))
    config.reduceop_split_threshold = *least;
  if (const auto level = number("DEBUG", 0, 6)) config.debug = static_cast<int>(*level);
  if (const char* const name = text_of("SCHEDULER")) config.scheduler = scheduler_named(name);
  read_kernelize(config.kernelize);
  if (const char* const file = text_of("GRAPH")) config.graph = file;
  if (const char* const file = text_of("TRACE")) config.trace = file;
  return config;
}

const Config& Config::current() {
  static const Config defaults;
  return innermost != nullptr ? *innermost : defaults;
}

ConfigScope::ConfigScope(Config config)
    : config_(std::move(config)), previous_(std::exchange(innermost, &config_)) {}
ConfigScope::~ConfigScope() { innermost = previous_; }

Scheduler scheduler_named(std::string_view name) {
  std::string all;
  for (std::size_t i = 0; i < scheduler_names.size(); ++i) {
    if (scheduler_names[i] == name) return static_cast<Scheduler>(i);
    all += (i == 0 ? "" : ", ") + std::string(scheduler_names[i]);
  }
  throw ParseError(fmt::format("there is no scheduler '{}'; there are {}", name, all));
}

std::optional<Switch> switch_named(std::string_view name) {
  for (const SwitchInfo& row : switch_table)
    if (row.name == name) return row.id;
  return std::nullopt;
}

}  // namespace touchstone
