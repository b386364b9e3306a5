#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace touchstone::cli {

/// An option or a positional, as manuals and shells are told of it.
struct OptionWords {
  std::vector<std::string> flags;  // "-n", "--n"; empty for a positional
  std::string name;                // of a positional
  std::string value;               // the type of its argument; empty where it takes none
  std::string text;                // what it does
  std::string preset;              // the argument where it is left out; may be empty
  std::vector<std::string> choices;
  bool required = false, repeated = false;
};

struct VerbWords {
  std::string name, text, footer;
  std::vector<OptionWords> options;
};

/// Everything that the command line takes and that is not hidden.
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

/// Writes all of them into a folder laid out as /usr/share is, and returns the exit code. Throws
/// SystemError.
int run_reference(const CLI::App& app, const std::string& folder);

}  // namespace touchstone::cli
