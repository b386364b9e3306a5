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

std::optional<Switch> switch_named(std::string_view name) {
  for (const SwitchInfo& row : switch_table)
    if (row.name == name) return row.id;
  return std::nullopt;
}

}  // namespace touchstone
