// Options of the verbs that run suites of kernels on backends.
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/foreign/plugin_host.h"

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
                "Cases: ops, single operations; kernels, whole ones: softmax, convolutions, masked "
                "reads; or all [all; those that --ops or --kernels selects, if given]")
      ->check(CLI::IsMember({"ops", "kernels", "all"}));
  v->add_option("--kernels", o.kernels,
                "Kernels in which these definitions occur, as softmax,conv2d [all]")
      ->delimiter(',');
  v->add_option("--model", o.model,
                "Instead of a suite: the kernels of a model (see `touchstone kernels`), each on "
                "drawn inputs")
      ->excludes("--suite", "--ops", "--kernels", "--dtypes");
  v->add_flag("--backward", o.backward, "With --model: include the gradients of mean(output^2)")
      ->needs("--model");
}

Verb emit_verb(CLI::App& app) {
  static EmitOptions o;
  CLI::App* v =
      add_verb(app, "emit", "Write kernels and inputs for another backend",
               "emit suite --ops exp2,div --dtypes f32,f16 --seed 1", {{kExitOk, "done"}});
  v->add_option("folder", o.folder, "A new folder")->required();
  v->add_option("--op", o.op,
                "Instead of a suite: a kernel as text, 'softmax(x[64,128])', on drawn inputs");
  v->add_option("--in", o.arrays,
                "Arrays that give the inputs their sizes and types, buffer 1 first, as in check")
      ->needs("--op");
  v->add_option("--profile", o.profile, "As in check; written to judging.json");
  add_kernel_suite_options(v, o.suite);
  v->add_option(
       "--format", o.format,
       "npy: one file per input, in1.npy, in2.npy, ...; npz, safetensors: all in one, in.npz")
      ->capture_default_str()
      ->check(CLI::IsMember({"npy", "npz", "safetensors"}));
  v->add_option("--as", o.languages,
                "Write each kernel as a program, too: onnx, stablehlo, torch, jax, numpy")
      ->delimiter(',');
  return {v, [] { return run_emit(o); }, add_work_limits(v, o.limits)};
}

Verb judge_verb(CLI::App& app) {
  static JudgeOptions o;
  CLI::App* v = add_verb(
      app, "judge", "Judge the outputs in the folders of emit, or a backend that runs the kernels",
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
      "Folder that emit wrote, with the outputs beside the inputs [with a backend: a drawn suite]");
  v->add_option("--profile", o.profile,
                "As in check [the backend's; if it declares none, the folder's, else glibc]");
  add_backend_options(v, o.backend);
  add_kernel_suite_options(v, o.suite);
  add_output(v, o.output, "File name of each output")->capture_default_str();
  v->add_flag("--all", o.all, "Also print a line for kernels that pass");
  v->add_flag("--all-elements", o.all_elements, "As in check");
  v->add_flag("--json", o.json, "Print one JSON object per kernel and nothing else");
  v->add_option(
      "--log", o.log,
      "Write the verdict on each kernel at once to this file as JSON lines; -: standard output");
  v->add_flag("--resume", o.resume, "Continue where the log ends");
  add_verdict_limits(v, o.verdict, "verdict-");
  return {v, [] { return run_judge(o); }};
}

Verb league_verb(CLI::App& app) {
  static LeagueOptions o;
  CLI::App* v =
      add_verb(app, "league", "Measure how far backends are from the correct results, as Markdown",
               "league --backend 'python3 mine.py' --plugin ./yours.so",
               {{kExitOk, "done"}, {kExitNothing, "nothing was checked"}});
  v->add_option("--backend", o.commands, "As in judge; may be repeated")->allow_extra_args(false);
  v->add_option("--plugin", o.plugins, "As in judge; may be repeated")->allow_extra_args(false);
  add_limits(v, o.limits);
  add_suite_options(v, o.suite);
  v->add_option("--log", o.log,
                "Write the result of each backend on each kernel at once to this file as JSON "
                "lines; -: standard output");
  v->add_flag("--resume", o.resume, "Continue where the log ends");
  v->add_flag("--quiet", o.quiet, "Omit the line per kernel on standard error");
  v->add_flag("--json", o.json,
              "Print one JSON object per backend, operation and type and nothing else");
  return {v, [] { return run_league(o); }};
}

Verb plugin_host_verb(CLI::App& app) {
  static std::string plugin;
  CLI::App* v = app.add_subcommand("plugin-host", "The child process of a plugin");
  v->group("");  // started by us, not by people
  v->add_option("plugin", plugin)->required();
  return {v, [] { return foreign::host_plugin(plugin); }};
}

}  // namespace

std::vector<Verb> suite_verbs(CLI::App& app) {
  return {emit_verb(app), judge_verb(app), league_verb(app), plugin_host_verb(app)};
}

}  // namespace touchstone::cli
