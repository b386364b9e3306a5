#include "touchstone/interp/oracle/declared_profile.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/visible.h"

namespace touchstone {
namespace {

using DeclaredJson = nlohmann::ordered_json;

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// A name that cannot be mistaken for anything else on the line that shows it.
bool is_plain_name(std::string_view name) {
  constexpr std::size_t kMost = 40;
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(" _.+-").find(c) != std::string_view::npos;
  };
  return !letters_of(name).empty() && name.size() <= kMost && std::ranges::all_of(name, plain);
}

std::string within(const DeclaredJson& error) {
  const auto number = [](const DeclaredJson& n) { return fmt::format("{:g}", n.get<double>()); };
  if (error.is_number()) return number(error) + " ULP";
  return fmt::format("{} ULP and {} more for each unit of |x|", number(error[0]), number(error[1]));
}

}  // namespace

bool is_builtin_name(std::string_view name) {
  return std::ranges::any_of(builtin_profiles(),
                             [&](const Profile& p) { return letters_of(name) == p.name; });
}

std::string profile_words(const Profile& profile) {
  const auto mine = DeclaredJson::parse(profile.to_json());
  const auto usual = DeclaredJson::parse(Profile().to_json());
  std::vector<std::string> words;
  for (const auto& [key, value] : mine.items()) {
    if (key == "name" || value == usual.value(key, DeclaredJson())) continue;
    if (key != "ulp") {
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      std::erase(text, '"');
      words.push_back(visible(key + " " + text));
      continue;
    }
    for (const auto& [function, error] : value.items())
      if (error != usual[key].value(function, DeclaredJson()))
        words.push_back(fmt::format("{} within {}", function, within(error)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

Profile declared_profile(std::string_view said) {
  if (said.empty()) return {};
  if (!said.starts_with('{')) return Profile::named(said);
  Profile profile = Profile::from_json(said);
  for (Profile known : builtin_profiles()) {
    const std::string name = std::exchange(known.name, profile.name);
    if (profile == known) return Profile::named(name);  // that profile, whatever its name
  }
  const std::string own = "its own: " + profile_words(profile);
  const bool named = is_plain_name(profile.name) && !is_builtin_name(profile.name) &&
                     letters_of(profile.name) != "custom";
  profile.name = named ? fmt::format("{} ({})", profile.name, own) : own;
  return profile;
}

}  // namespace touchstone
