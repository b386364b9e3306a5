#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "touchstone/cli/program/verbs.h"

// The command line: its verbs with their options, and the user's words.

namespace touchstone::cli {

struct Verb {
  CLI::App* app;
  std::function<int()> run;
  const WorkLimits* limits = nullptr;  // on all its work; null: limits of its own, or none
};

/// An exit status of a verb and its meaning, as {0, "PASS"}.
using ExitCode = std::pair<int, std::string_view>;

/// Adds a verb with its exit codes and an example below its options; `more` is text that does not
/// fit the list of all verbs. {2, bad usage or input} may be omitted.
CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& what,
                   const std::string& example, std::vector<ExitCode> codes,
                   const std::string& more = {});

Verb demo_verb(CLI::App& app);
Verb train_verb(CLI::App& app);
// By topic, in the order of --help.
std::vector<Verb> model_verbs(CLI::App& app);
std::vector<Verb> oracle_verbs(CLI::App& app);
std::vector<Verb> suite_verbs(CLI::App& app);
std::vector<Verb> fuzz_verbs(CLI::App& app);
std::vector<Verb> index_verbs(CLI::App& app);

/// A group of verbs under its heading.
struct VerbGroup {
  const char* name;
  std::vector<Verb> verbs;
};
/// The verbs of this program: all, or only the demo's (program_demo.cpp).
std::vector<VerbGroup> verbs_of_program(CLI::App& app);
/// Registers its devices besides CPU and CLANG.
void register_devices_of_program();

/// Adds --out of a verb about one kernel: FILE, or by name, out=FILE.
CLI::Option* add_output(CLI::App* v, std::string& output, const std::string& help);
/// Adds --scheduler.
void add_scheduler(CLI::App& v, std::string& scheduler);
/// Adds --timeout and --memory to a verb; its Verb takes the result.
const WorkLimits* add_work_limits(CLI::App* v, WorkLimits& o);
/// The same for a verb that does not read them; unlimited by default.
const WorkLimits* add_work_limits(CLI::App* v);
/// The same for one verdict; `of` is a prefix if they are a backend's: "verdict-".
void add_verdict_limits(CLI::App* v, WorkLimits& o, const std::string& of);
/// Adds --timeout and --memory of a backend.
void add_limits(CLI::App* v, BackendOptions& o);
/// Adds --backend, --plugin and the limits above.
void add_backend_options(CLI::App* v, BackendOptions& o);

/// The words of the command line, last to first, as CLI11 takes them. An expression or a law may
/// begin with a minus; a space in front keeps CLI11 from reading it as an option.
std::vector<std::string> words_of(int argc, char** argv);
/// Removes that space, so that columns are the user's.
void bare(std::string& word);

/// Explains why CLI11 refused the words: what, where, and the nearest name.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words);

}  // namespace touchstone::cli
