#include "touchstone/cli/program/reference.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

// An option or a positional, as manuals and shell completions describe it.
struct OptionWords {
  std::vector<std::string> flags;  // "-n", "--n"; empty for a positional
  std::string name;                // of a positional
  std::string value;               // the type of its argument; empty if none
  std::string text;                // its description
  std::string preset;              // the default argument; may be empty
  std::vector<std::string> choices;
  bool required = false, repeated = false;
};

struct VerbWords {
  std::string name, text, footer;
  std::vector<OptionWords> options;
};

// All of the command line that is not hidden.
struct CommandWords {
  VerbWords command;
  std::vector<VerbWords> verbs;
};

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

CommandWords words_of(const CLI::App& app) {
  CommandWords words{verb_words(app), {}};
  for (const CLI::App* verb : app.get_subcommands({}))
    if (!verb->get_group().empty()) words.verbs.push_back(verb_words(*verb));
  std::ranges::sort(words.verbs, {}, &VerbWords::name);
  return words;
}

// Escapes running text, so that no line starts a troff request.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string title(const std::string& name) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"touchstone {}\" \"User Commands\"\n", troff(upper),
                     TOUCHSTONE_VERSION);
}

std::string section(const char* name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", name, body);
}

std::string synopsis_of(const OptionWords& positional) {
  std::string text =
      fmt::format("\\fI{}\\fR{}", troff(positional.name), positional.repeated ? "..." : "");
  return positional.required ? text : "[" + text + "]";
}

std::string listed(const OptionWords& option) {
  std::vector<std::string> heads;
  for (const std::string& flag : option.flags)
    heads.push_back(fmt::format("\\fB{}\\fR", troff(flag)));
  if (option.flags.empty()) heads.push_back(fmt::format("\\fI{}\\fR", troff(option.name)));
  std::string head = fmt::format("{}", fmt::join(heads, ", "));
  if (!option.flags.empty() && !option.value.empty())
    head += fmt::format(" \\fI{}\\fR{}", troff(option.value), option.repeated ? "..." : "");
  std::string text = troff(option.text);
  if (!option.choices.empty())
    text +=
        fmt::format("\n.br\nOne of {}.", troff(fmt::format("{}", fmt::join(option.choices, ", "))));
  if (!option.preset.empty()) text += fmt::format("\n.br\nDefault: {}.", troff(option.preset));
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

std::string options_of(const VerbWords& verb) {
  std::string text;
  for (const bool flags : {false, true})
    for (const OptionWords& option : verb.options)
      if (option.flags.empty() != flags) text += listed(option);
  return text;
}

// A footer's lines: those from "Example: " to the next heading, and the others.
struct Footer {
  std::string examples, notes;
};

Footer footer_of(const std::string& text) {
  constexpr std::string_view kExample = "Example: ";
  Footer footer;
  bool example = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with(kExample))
      line.erase(0, kExample.size()), example = true;
    else if (!line.starts_with(' '))
      example = false;
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    (example ? footer.examples : footer.notes) +=
        example ? fmt::format(".PP\n.EX\n{}\n.EE\n", troff(line))
                : fmt::format(".PP\n{}\n", troff(line));
  }
  return footer;
}

std::string manual(const CommandWords& words) {
  std::string verbs;
  for (const VerbWords& verb : words.verbs)
    verbs +=
        fmt::format(".TP\n\\fBtouchstone\\-{}\\fR(1)\n{}\n", troff(verb.name), troff(verb.text));
  const Footer footer = footer_of(words.command.footer);
  return title("touchstone") +
         section("NAME", "touchstone \\- judge, simplify, prove and fuzz for tensor backends\n") +
         section("SYNOPSIS",
                 "\\fBtouchstone\\fR [\\fIoption\\fR...] \\fIverb\\fR [\\fIargument\\fR...]\n") +
         section("DESCRIPTION", troff(words.command.text) + ".\n") + section("VERBS", verbs) +
         section("OPTIONS", options_of(words.command)) + section("EXAMPLES", footer.examples) +
         section("NOTES", footer.notes);
}

std::string manual(const VerbWords& verb) {
  std::string usage = fmt::format("\\fBtouchstone {}\\fR [\\fIoption\\fR...]", troff(verb.name));
  for (const OptionWords& option : verb.options)
    if (option.flags.empty()) usage += " " + synopsis_of(option);
  const std::string brief = verb.text.substr(0, verb.text.find_first_of(":\n"));
  const Footer footer = footer_of(verb.footer);
  return title("touchstone-" + verb.name) +
         section("NAME", fmt::format("touchstone\\-{} \\- {}\n", troff(verb.name), troff(brief))) +
         section("SYNOPSIS", usage + "\n") + section("DESCRIPTION", troff(verb.text) + ".\n") +
         section("OPTIONS", options_of(verb)) + section("EXAMPLES", footer.examples) +
         section("NOTES", footer.notes) + section("SEE ALSO", "\\fBtouchstone\\fR(1)\n");
}

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

}  // namespace

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
