#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace touchstone::cli {

/// An option or a positional, as manuals and shell completions describe it.
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

/// All of the command line that is not hidden.
struct CommandWords {
  VerbWords command;
  std::vector<VerbWords> verbs;
};
CommandWords words_of(const CLI::App& app);

/// The manual page of the command, or of one verb, in troff's macros `man`.
std::string manual(const CommandWords& words);
std::string manual(const VerbWords& verb);
std::string bash_completion(const CommandWords& words);
std::string zsh_completion(const CommandWords& words);
std::string fish_completion(const CommandWords& words);

/// Writes all of them into a folder laid out like /usr/share and returns the exit code. Throws
/// SystemError.
int run_reference(const CLI::App& app, const std::string& folder);

}  // namespace touchstone::cli
