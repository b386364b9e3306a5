#include "touchstone/cli/program/reference.h"

#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

// The words in braces of a type such as "TEXT:{auto,always}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

OptionWords option_words(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.flags.push_back("--" + name);
  if (words.flags.empty()) words.name = option.get_name(true);
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) words.value = type.substr(0, type.find(':'));
  words.text = option.get_description();
  words.preset = option.get_default_str();
  words.choices = choices_in(type);
  words.required = option.get_required();
  words.repeated = option.get_items_expected_max() > 1;
  return words;
}

VerbWords verb_words(const CLI::App& app) {
  VerbWords words{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options({}))
    if (!option->get_group().empty()) words.options.push_back(option_words(*option));
  return words;
}

}  // namespace

CommandWords words_of(const CLI::App& app) {
  CommandWords words{verb_words(app), {}};
  for (const CLI::App* verb : app.get_subcommands({}))
    if (!verb->get_group().empty()) words.verbs.push_back(verb_words(*verb));
  std::ranges::sort(words.verbs, {}, &VerbWords::name);
  return words;
}

int run_reference(const CLI::App& app, const std::string& folder) {
  const CommandWords words = words_of(app);
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      throw SystemError(fmt::format("{}: {}", path.parent_path().string(), error.message()));
    write_file_atomically(path, text);
  };
  write("man/man1/touchstone.1", manual(words));
  for (const VerbWords& verb : words.verbs)
    write("man/man1/touchstone-" + verb.name + ".1", manual(verb));
  write("bash-completion/completions/touchstone", bash_completion(words));
  write("zsh/vendor-completions/_touchstone", zsh_completion(words));
  write("fish/vendor_completions.d/touchstone.fish", fish_completion(words));
  return kExitOk;
}

}  // namespace touchstone::cli
