// Options of the verbs that run suites of kernels on backends.
#include "command_line.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

void add_suite_options(CLI::App* v, SuiteWords& o) {
  v->add_option("--ops", o.ops, "Elementwise operations and reduces, as exp2,reduce_sum [all]")
      ->delimiter(',');
  v->add_option("--dtypes", o.dtypes, "Element types, as f32,bfloat16 [all]")->delimiter(',');
  v->add_option("-n,--n", o.elements, "Elements of each input")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  v->add_option("--seed", o.seed, "The same seed draws the same inputs")->capture_default_str();
}

// For verbs whose suites include whole kernels.
void add_kernel_suite_options(CLI::App* v, SuiteWords& o) {
  add_suite_options(v, o);
  v->add_option("--suite", o.suite,
                "ops, single operations; kernels, whole ones: softmax, convolutions, masked reads; "
                "or all [all; where --ops or --kernels names some, those]")
      ->check(CLI::IsMember({"ops", "kernels", "all"}));
  v->add_option("--kernels", o.kernels,
                "Whole kernels in which these definitions occur, as softmax,conv2d [all]")
      ->delimiter(',');
  v->add_option("--model", o.model,
                "The kernels of a model of `touchstone kernels` instead, on inputs drawn for each")
      ->excludes("--suite")
      ->excludes("--ops")
      ->excludes("--kernels")
      ->excludes("--dtypes");
  v->add_flag("--backward", o.backward, "Of that model with the gradients of mean(output^2)")
      ->needs("--model");
}

Verb emit_verb(CLI::App& app) {
  static EmitOptions o;
  CLI::App* v =
      add_verb(app, "emit", "Write kernels and inputs for another backend",
               "emit suite --ops exp2,div --dtypes f32,f16 --seed 1", {{kExitOk, "done"}});
  v->add_option("folder", o.folder, "A new folder")->required();
  v->add_option("--op", o.op,
                "A kernel as text, 'softmax(x[64,128])', on inputs drawn for it, instead");
  v->add_option("--in", o.arrays,
                "Arrays whose sizes and types its inputs have, buffer 1 first, as of check")
      ->needs("--op");
  add_kernel_suite_options(v, o.suite);
  v->add_option(
       "--format", o.format,
       "npy, a file for each input, in1.npy and on; or npz, safetensors: all in one, in.npz")
      ->capture_default_str()
      ->check(CLI::IsMember({"npy", "npz", "safetensors"}));
  return {v, [] { return run_emit(o); }, add_work_limits(v, o.limits)};
}

Verb judge_verb(CLI::App& app) {
  static JudgeOptions o;
  CLI::App* v = add_verb(app, "judge",
                         "Judge the outputs written into the folders of emit, or a backend that "
                         "runs the kernels",
                         "judge suite --profile cuda\n         touchstone judge --backend "
                         "'python3 mine.py' --ops exp2,div --dtypes f32",
                         {{kExitOk, "PASS"},
                          {kExitNo, "FAIL"},
                          {kExitBad, "UNUSABLE, bad usage or input"},
                          {kExitWeak, "WEAK"},
                          {kExitNothing, "nothing was checked"},
                          {kExitSuspect, "SUSPECT"}});
  v->add_option(
      "folder", o.folder,
      "What emit wrote, outputs beside the inputs [with a backend: a suite drawn for it]");
  v->add_option("--profile", o.profile, "As of check [what the backend declares, else glibc]");
  add_backend_options(v, o.backend);
  add_kernel_suite_options(v, o.suite);
  v->add_option("--out", o.output, "What each output is called")->capture_default_str();
  v->add_flag("--all", o.all, "A line for kernels that pass, too");
  v->add_flag("--json", o.json, "One JSON object a kernel and nothing else");
  v->add_option("--log", o.log,
                "A file of JSON lines: the verdict on each kernel, at once; -: standard output");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  add_verdict_limits(v, o.verdict, "verdict-");
  return {v, [] { return run_judge(o); }};
}

Verb league_verb(CLI::App& app) {
  static LeagueOptions o;
  CLI::App* v = add_verb(app, "league", "How far backends are from the right answers, as Markdown",
                         "league --backend 'python3 mine.py' --plugin ./yours.so",
                         {{kExitOk, "done"}, {kExitNothing, "nothing was checked"}});
  v->add_option("--backend", o.commands, "As of judge; may be given again")
      ->allow_extra_args(false);
  v->add_option("--plugin", o.plugins, "As of judge; may be given again")->allow_extra_args(false);
  add_limits(v, o.limits);
  add_suite_options(v, o.suite);
  v->add_option(
      "--log", o.log,
      "A file of JSON lines: how each backend did on each kernel, at once; -: standard output");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  v->add_flag("--quiet", o.quiet, "No line a kernel on standard error");
  v->add_flag("--json", o.json, "One JSON object a backend, operation and type and nothing else");
  return {v, [] { return run_league(o); }};
}

Verb plugin_host_verb(CLI::App& app) {
  static std::string plugin;
  CLI::App* v = app.add_subcommand("plugin-host", "The process that a plugin lives in");
  v->group("");  // for our own use
  v->add_option("plugin", plugin)->required();
  return {v, [] { return run_plugin_host(plugin); }};
}

}  // namespace

std::vector<Verb> suite_verbs(CLI::App& app) {
  return {emit_verb(app), judge_verb(app), league_verb(app), plugin_host_verb(app)};
}

}  // namespace touchstone::cli
