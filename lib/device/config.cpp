#include "touchstone/device/config.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

thread_local const Config* innermost = nullptr;

// A variable that is set and not empty.
struct Setting {
  std::string variable;
  const char* text;
};
std::optional<Setting> set_to(std::string variable) {
  const char* const text = std::getenv(variable.c_str());
  if (text == nullptr || *text == '\0') return std::nullopt;
  return Setting{std::move(variable), text};
}

bool with_short_names() {
  const std::optional<Setting> s = set_to("TOUCHSTONE_LINEAGE_ENV");
  if (!s || std::string_view(s->text) == "0") return false;
  if (std::string_view(s->text) == "1") return true;
  throw ParseError(fmt::format("{} is '{}'; give 0 or 1, or unset it", s->variable, s->text));
}

std::optional<Setting> setting(std::string_view option) {
  std::optional<Setting> s = set_to(fmt::format("TOUCHSTONE_{}", option));
  return !s && with_short_names() ? set_to(std::string(option)) : s;
}

constexpr OptionInfo flag(std::string_view name) { return {name, 0, 1, false, false, {}}; }

bool takes(const OptionInfo& option, std::int64_t value) {
  return (value >= option.least && value <= option.most) || (option.or_zero && value == 0);
}

std::string taken(const OptionInfo& option) {
  return fmt::format("give {}a number from {}{}", option.or_zero ? "0 or " : "", option.least,
                     option.most == INT64_MAX ? "" : fmt::format(" to {}", option.most));
}

// The option's value from the environment.
std::optional<std::int64_t> number(const OptionInfo& option) {
  const std::optional<Setting> s = setting(option.name);
  if (!s) return std::nullopt;
  const std::string_view text(s->text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !takes(option, value))
    throw ParseError(fmt::format("{} is '{}'; {}, or unset it", s->variable, text, taken(option)));
  return value;
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

Config& Config::set(const OptionInfo& option, std::int64_t value) {
  if (!takes(option, value))
    throw ParseError(fmt::format("{} is {}; {}", option.name, value, taken(option)));
  const auto put = [&]<class Owner, class T>(Owner& owner, T Owner::*member) {
    owner.*member = static_cast<T>(value);
  };
  struct Visitor {
    decltype(put)& to;
    Config& config;
    void operator()(bool Config::*m) const { to(config, m); }
    void operator()(int Config::*m) const { to(config, m); }
    void operator()(std::int64_t Config::*m) const { to(config, m); }
    void operator()(bool KernelizeOptions::*m) const { to(config.kernelize, m); }
    void operator()(int KernelizeOptions::*m) const { to(config.kernelize, m); }
    void operator()(std::int64_t KernelizeOptions::*m) const { to(config.kernelize, m); }
  };
  std::visit(Visitor{put, *this}, option.member);
  return *this;
}

Config Config::from_environment() {
  constexpr OptionInfo kOpt{"OPT", 0, kMostOpt, false, false, {}};
  const auto level = number(kOpt);
  bool asks_for_fusion = level.has_value();
  Config config(static_cast<int>(level.value_or(kDefaultOpt)));
  for (const SwitchInfo& row : switch_table)
    if (const auto value = number(flag(row.name))) {
      config.set(row.id, *value != 0);
      asks_for_fusion = true;
    }
  config.scheduler = asks_for_fusion ? Scheduler::Lazy : Scheduler::Ranges;
  for (const OptionInfo& row : option_table)
    if (const auto value = number(row)) config.set(row, *value);
  if (const auto s = setting("SCHEDULER")) config.scheduler = scheduler_named(s->text);
  if (const auto s = setting("GRAPH")) config.graph = s->text;
  if (const auto s = setting("TRACE")) config.trace = s->text;
  return config;
}

bool Config::is_set(std::string_view option) { return setting(option).has_value(); }

const Config& Config::current() {
  if (innermost != nullptr) return *innermost;
  static const Config program = from_environment();
  return program;
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
  throw ParseError(fmt::format("there is no scheduler '{}'; known: {}", name, all));
}

std::optional<Switch> switch_named(std::string_view name) {
  for (const SwitchInfo& row : switch_table)
    if (row.name == name) return row.id;
  return std::nullopt;
}

const OptionInfo* option_named(std::string_view name) {
  const auto row = std::ranges::find(option_table, name, &OptionInfo::name);
  return row == option_table.end() ? nullptr : &*row;
}

}  // namespace touchstone
