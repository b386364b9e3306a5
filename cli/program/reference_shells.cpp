#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/cli/program/reference.h"

namespace touchstone::cli {
namespace {

// The first words of a text, for a list entry.
std::string brief(std::string text) {
  constexpr std::size_t kMost = 72;
  std::ranges::replace(text, '\n', ' ');
  text.erase(std::min(text.find(" ["), text.size()));
  if (text.size() > kMost) text = text.substr(0, text.rfind(' ', kMost)) + " ...";
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Quotes for sh.
std::string quoted_for_sh(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string quoted_for_fish(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::vector<std::string> flags_of(const VerbWords& verb) {
  std::vector<std::string> flags;
  for (const OptionWords& option : verb.options)
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  return flags;
}

std::vector<std::string> names_of(const CommandWords& words) {
  std::vector<std::string> names;
  for (const VerbWords& verb : words.verbs) names.push_back(verb.name);
  return names;
}

// A line such as 'check --profile' for each option with an argument: the words to choose from, if
// any.
std::string bash_values(const std::string& verb, const VerbWords& words) {
  std::string text;
  for (const OptionWords& option : words.options) {
    if (option.flags.empty() || option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& flag : option.flags)
      patterns.push_back(fmt::format("{} {}", verb, flag));
    text += fmt::format("    '{}') words='{}' values=1 ;;\n", fmt::join(patterns, "' | '"),
                        fmt::join(option.choices, " "));
  }
  return text;
}

// A description inside [] of a zsh specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : brief(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_argument(const OptionWords& option) {
  return option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(option.choices, " "));
}

// The arguments of _arguments, one per line.
std::string zsh_options(const VerbWords& verb, const std::string& indent) {
  std::string text;
  for (const OptionWords& option : verb.options) {
    const std::string value = option.value.empty() ? "" : ":argument:" + zsh_argument(option);
    for (const std::string& flag : option.flags)
      text +=
          fmt::format(" \\\n{}{}", indent,
                      quoted_for_sh(fmt::format("*{}[{}]{}", flag, zsh_text(option.text), value)));
  }
  return text;
}

void add_fish(std::string& text, const std::string& condition, const VerbWords& verb) {
  for (const OptionWords& option : verb.options) {
    if (option.flags.empty()) continue;
    std::string line = "complete -c touchstone -n " + quoted_for_fish(condition);
    for (const std::string& flag : option.flags)
      line += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
    if (!option.choices.empty())
      line += fmt::format(" -xa {}",
                          quoted_for_fish(fmt::format("{}", fmt::join(option.choices, " "))));
    else if (!option.value.empty())
      line += " -r";
    text += line + " -d " + quoted_for_fish(brief(option.text)) + "\n";
  }
}

}  // namespace

std::string bash_completion(const CommandWords& words) {
  std::string values = bash_values("", words.command), flags;
  for (const VerbWords& verb : words.verbs) {
    values += bash_values(verb.name, verb);
    flags += fmt::format("    {}) words='{}' ;;\n", verb.name, fmt::join(flags_of(verb), " "));
  }
  return fmt::format(R"(# bash completion for touchstone, made by touchstone itself.
_touchstone() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb='' words='' values='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
    {}) verb=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case "$verb $before" in
{}  esac
  if [[ -z $values ]]; then
    [[ -z $verb || $word == -* ]] || return
    case $verb in
    '') words='{} {}' ;;
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _touchstone touchstone
)",
                     fmt::join(names_of(words), " | "), values, fmt::join(names_of(words), " "),
                     fmt::join(flags_of(words.command), " "), flags);
}

std::string zsh_completion(const CommandWords& words) {
  std::string verbs, cases;
  for (const VerbWords& verb : words.verbs) {
    verbs += fmt::format("      {}\n", quoted_for_sh(verb.name + ":" + zsh_text(verb.text)));
    cases += fmt::format("    {})\n      _arguments{} \\\n        '*:argument:_files'\n      ;;\n",
                         verb.name, zsh_options(verb, "        "));
  }
  return fmt::format(R"(#compdef touchstone
# zsh completion for touchstone, made by touchstone itself.
_touchstone() {{
  local state line
  local -a verbs
  typeset -A opt_args
  _arguments -C{} \
    '1:verb:->verb' '*::argument:->rest'
  case $state in
  verb)
    verbs=(
{}    )
    _describe verb verbs
    ;;
  rest)
    case $line[1] in
{}    esac
    ;;
  esac
}}
_touchstone "$@"
)",
                     zsh_options(words.command, "    "), verbs, cases);
}

std::string fish_completion(const CommandWords& words) {
  std::string text = "# fish completion for touchstone, made by touchstone itself.\n";
  add_fish(text, "__fish_use_subcommand", words.command);
  for (const VerbWords& verb : words.verbs) {
    text += fmt::format("complete -c touchstone -n __fish_use_subcommand -fa {} -d {}\n", verb.name,
                        quoted_for_fish(brief(verb.text)));
    add_fish(text, "__fish_seen_subcommand_from " + verb.name, verb);
  }
  return text;
}

}  // namespace touchstone::cli
