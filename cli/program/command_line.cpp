#include "touchstone/cli/program/command_line.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>

#include <fmt/format.h>

#include "touchstone/base/suggest.h"
#include "touchstone/base/visible.h"

namespace touchstone::cli {
namespace {

std::string codes_text(std::vector<ExitCode> codes) {
  if (std::ranges::none_of(codes, [](const ExitCode& c) { return c.first == kExitBad; }))
    codes.emplace_back(kExitBad, "bad usage or input");
  std::ranges::stable_sort(codes, {}, &ExitCode::first);
  std::vector<std::string> parts;
  for (const auto& [code, meaning] : codes) parts.push_back(fmt::format("{} {}", code, meaning));
  return fmt::format("Exit codes: {}.", fmt::join(parts, ", "));
}

// The first word that is no global option; empty if there is none.
std::string first_word(const std::vector<std::string>& words) {
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (*word == "--color" && word + 1 != words.rend())
      ++word;
    else if (!word->starts_with('-'))
      return *word;
  }
  return {};
}

// The innermost verb that was given.
const CLI::App& named_verb(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs.front();
}

// Shows the plain program name, because its path may mean nothing to a reader.
std::string help_of(const CLI::App& app, const CLI::App& verb) {
  return &app == &verb ? "`touchstone --help` lists all verbs"
                       : fmt::format("`touchstone {} --help` lists its options", verb.get_name());
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string unknown_words(const CLI::App& app, const CLI::App& verb,
                          const std::vector<std::string>& left) {
  const auto option = std::ranges::find_if(
      left, [](const std::string& w) { return w.size() > 1 && w.front() == '-'; });
  if (option == left.end()) return fmt::format("unexpected argument '{}'", visible(left.front()));
  const std::string word = option->substr(0, option->find('='));
  std::vector<std::string> names = option_names(verb);
  std::ranges::copy(option_names(app), std::back_inserter(names));
  return fmt::format("there is no option '{}'{}", visible(word),
                     did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end())));
}

}  // namespace

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& what,
                   const std::string& example, std::vector<ExitCode> codes,
                   const std::string& more) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->fallthrough();  // --color may follow the verb
  verb->footer((more.empty() ? "" : more + "\n") + "Example: touchstone " + example + "\n" +
               codes_text(std::move(codes)));
  return verb;
}

const WorkLimits* add_work_limits(CLI::App* v) {
  static std::list<WorkLimits> kept;
  return add_work_limits(v, kept.emplace_back(WorkLimits{0, 0}));
}

CLI::Option* add_output(CLI::App* v, std::string& output, const std::string& help) {
  return v->add_option("--out", output, help)->transform([](const std::string& word) {
    const std::size_t equals = word.find('=');
    std::error_code none;
    if (equals == std::string::npos || word.find_first_of("/.") < equals ||
        std::filesystem::exists(word, none))
      return word;
    const std::string file = word.substr(equals + 1);
    if (word.substr(0, equals) == "out" && !file.empty()) return file;
    throw CLI::ValidationError(fmt::format("{}: a kernel's output is named out: write --out out={}",
                                           word, file.empty() ? "FILE" : file));
  });
}

const WorkLimits* add_work_limits(CLI::App* v, WorkLimits& o) {
  add_verdict_limits(v, o, "");
  v->get_option("--timeout")
      ->description("Limit in seconds for the whole run, including files; 0: none");
  return &o;
}

void add_verdict_limits(CLI::App* v, WorkLimits& o, const std::string& of) {
  v->add_option("--" + of + "timeout", o.seconds, "Limit in seconds for one verdict; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e7));
  v->add_option("--" + of + "memory", o.megabytes,
                of.empty() ? "Memory limit in MiB; 0: none"
                           : "Memory limit for the buffers of a kernel, in MiB; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
}

void add_limits(CLI::App* v, BackendOptions& o) {
  v->add_option("--timeout", o.seconds, "Limit in seconds for one kernel on the backend")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  v->add_option("--memory", o.megabytes, "Limit of the backend's address space in MiB; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
}

void add_backend_options(CLI::App* v, BackendOptions& o) {
  v->add_option("--backend", o.command,
                "A command that runs kernels and speaks the protocol of docs/backends.md; or an "
                "included adapter: numpy, onnxruntime, torch, torch-inductor, jax, pocl");
  v->add_option("--plugin", o.plugin,
                "A shared object that runs kernels, with the functions of touchstone/backend.h")
      ->excludes("--backend");
  add_limits(v, o);
}

std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {  // help VERB: VERB --help
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  // Verbs of texts that may begin with a minus: a space before it, which bare() takes off.
  auto verb = std::ranges::find_if(words, [](const std::string& w) {
    return w == "simplify" || w == "prove" || w == "kernel" || w == "map" || w == "check-index";
  });
  const auto options_end = std::find(verb, words.end(), "--");
  for (auto word = verb; word != words.end(); ++word)
    if (word > options_end || (word->size() > 1 && (*word)[1] != '-' && *word != "-h"))
      if (word->starts_with('-')) word->insert(0, " ");
  std::ranges::reverse(words);
  return words;
}

void bare(std::string& word) {
  if (word.starts_with(" -")) word.erase(0, 1);
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& words) {
  const CLI::App& verb = named_verb(app);
  const std::string first = first_word(words);
  if (&verb == &app && !words.empty() && words.back().starts_with("--") &&
      words.back().substr(0, words.back().find('=')) != "--color")
    return unknown_words(app, app, {words.back()}) + "; " + help_of(app, app);
  if (&verb == &app && first.empty()) {
    const std::vector<std::string> left = app.remaining();
    return left.empty() ? "no verb given, as in `touchstone demo`; " + help_of(app, app)
                        : unknown_words(app, app, left) + "; " + help_of(app, app);
  }
  if (&verb == &app) {
    std::vector<std::string_view> names;
    for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
      if (!known->get_group().empty()) names.push_back(known->get_name());
    return fmt::format("there is no verb '{}'{}; {}", visible(first), did_you_mean(first, names),
                       help_of(app, app));
  }
  std::string why = error.what();
  const std::vector<std::string> left = app.remaining(true);
  // The value of an unknown option counts as another argument, which may exclude a known option.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      std::ranges::any_of(left, [](const std::string& w) { return w.starts_with("--"); })) {
    why = unknown_words(app, verb, left);
  } else if (constexpr std::string_view kPrefix = "Could not convert: ";
             why.starts_with(kPrefix)) {  // "--seed = abc"
    const std::size_t equals = why.find(" = ");
    why = fmt::format("{}: '{}' is not a number, or is out of range",
                      why.substr(kPrefix.size(), equals - kPrefix.size()),
                      equals == std::string::npos ? "" : visible(why.substr(equals + 3)));
  }
  return fmt::format("{}; {}", visible_lines(why), help_of(app, verb));
}

}  // namespace touchstone::cli
