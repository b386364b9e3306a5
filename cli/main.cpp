#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "orderly_end.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/visible.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

// The options of every verb, in one place; what they do is one file a verb.

namespace touchstone::cli {
namespace {

constexpr char kEnvironment[] =
    "Compiled kernels: TOUCHSTONE_CC is the compiler, TOUCHSTONE_CACHE the folder where they are "
    "kept, which must be yours alone, TOUCHSTONE_THREADS how many threads share a large one. A run "
    "of the compiler is ended after TOUCHSTONE_CC_SECONDS (120), or when it has printed more than "
    "TOUCHSTONE_CC_OUTPUT (16) MiB; none of its processes gets more than TOUCHSTONE_CC_MEMORY "
    "(8192) MiB of addresses, and no file more. 0 lifts a limit.";
constexpr char kFooter[] =
    "Exit codes: 0 done or PASS, 1 FAIL or a goal missed, 2 bad usage or input (also UNUSABLE), 3 "
    "WEAK, 4 nothing was checked, 5 SUSPECT.\n"
    "Colour: on a terminal only; NO_COLOR, CLICOLOR_FORCE and --color are honoured.";

struct Verb {
  CLI::App* app;
  std::function<int()> run;
};

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& what,
                   const std::string& example) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->fallthrough();  // --color may stand after the verb
  verb->footer("Example: touchstone " + example + "\n" + kFooter);
  return verb;
}

// The words of the command line. An expression or a law may begin with a minus, which is no option
// then: a space before it says so.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto verb = std::ranges::find_if(
      words, [](const std::string& w) { return w == "simplify" || w == "prove" || w == "kernel"; });
  for (; verb != words.end(); ++verb)
    if (verb->size() > 1 && verb->front() == '-' && (*verb)[1] != '-' && *verb != "-h")
      verb->insert(0, " ");
  std::ranges::reverse(words);  // as CLI11 takes them
  return words;
}

// The word without that space, so that columns are counted as the user does.
void bare(std::string& word) {
  if (word.starts_with(" -")) word.erase(0, 1);
}

void add_scheduler(CLI::App& v, std::string& scheduler) {
  v.add_option("--scheduler", scheduler,
               "lazy, by fusion; kernelize, by rewriting; ranges, with any number of reduces in a "
               "kernel [TOUCHSTONE_SCHEDULER, or lazy]")
      ->check(CLI::IsMember({"lazy", "kernelize", "ranges"}));
}

Verb demo(CLI::App& app) {
  static DemoOptions o;
  CLI::App* v =
      add_verb(app, "demo", "Train a small network on real digits and judge every kernel it runs",
               "demo --plant mask-off-by-one");
  v->add_option("--plant", o.plant,
                "Put a fault into the compiled code: drop-last-reduce, mask-off-by-one, "
                "stride-swapped, int-div-floors, max-without-nan");
  v->add_option("--data", o.data,
                "CSV of 64 pixels (0 to 16) and a label a line, gzipped or not [the digits inside "
                "the program]");
  v->add_option("--epochs", o.epochs,
                "Passes over the training images [40; 1 with a planted fault]")
      ->check(CLI::Range(1, 1000));
  v->add_option("--seed", o.seed, "Of the split, the weights and the order of images")
      ->capture_default_str();
  add_scheduler(*v, o.scheduler);
  v->add_option("--reproducer", o.reproducer, "Where a failing kernel is written")
      ->capture_default_str();
  return {v, [] { return run_demo(o); }};
}

Verb eval(CLI::App& app) {
  static EvalOptions o;
  CLI::App* v = add_verb(app, "eval", "Run one kernel.json on a device",
                         "eval kernel.json --in a.npy b.npy --device CLANG --out y.npy");
  v->add_option("kernel", o.kernel, "The kernel");
  v->add_option("--op", o.op, "Instead: the kernel as text, 'softmax(x[64,128])' (docs/define.md)")
      ->excludes("kernel");
  v->add_option("--in", o.inputs,
                "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME [small "
                "integers drawn from --seed]");
  v->add_option("--out", o.output,
                "Write the output: FILE.npy, .npz or .safetensors [print the first elements]");
  v->add_option("--device", o.device, "CPU (the reference) or CLANG")->capture_default_str();
  v->add_option("--seed", o.seed, "Of the inputs where none are given")->capture_default_str();
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_flag("--source", o.show_source, "Print the code that runs");
  return {v, [] { return run_eval(o); }};
}

// `of`: of a verb whose --timeout and --memory are a backend's.
void add_work_limits(CLI::App* v, WorkLimits& o, const std::string& of) {
  v->add_option("--" + of + "timeout", o.seconds, "Seconds that one verdict may take; 0: no limit")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e7));
  v->add_option("--" + of + "memory", o.megabytes,
                of.empty() ? "MiB of memory that may be taken; 0: no limit"
                           : "MiB that the buffers of a kernel may take; 0: no limit")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
}

Verb check(CLI::App& app) {
  static CheckOptions o;
  CLI::App* v = add_verb(app, "check", "Judge an output against the legal results",
                         "check kernel.json --in a.npy b.npy --out y.npy");
  v->add_option("file", o.file, "A kernel.json, or a reproducer, which holds its own arrays");
  v->add_option("--op", o.op, "Instead: the kernel as text, 'softmax(x[64,128])' (docs/define.md)")
      ->excludes("file");
  v->add_option("--in", o.inputs,
                "Inputs, buffer 1 first: FILE.npy, FILE.npz:NAME or FILE.safetensors:NAME, or a "
                "file with arrays in1, in2, ...");
  v->add_option("--out", o.output, "The candidate's output, in the same ways");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile,
                "What the candidate declares of its arithmetic: ieee, glibc, cuda, opencl, vulkan, "
                "fastmath, tensorcore, or a JSON file (docs/oracle.md)")
      ->capture_default_str();
  v->add_flag("--find-order", o.find_order,
              "Also say in which order the candidate summed, and what a profile may declare");
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  add_work_limits(v, o.limits, "");
  return {v, [] { return run_check(o); }};
}

Verb explain(CLI::App& app) {
  static ExplainOptions o;
  CLI::App* v = add_verb(app, "explain",
                         "One element: its exact value, every rounding, why results are legal",
                         "explain kernel.json --in a.npy b.npy --out y.npy --at 3,7");
  v->add_option("file", o.file, "A kernel.json");
  v->add_option("--op", o.op, "Instead: the kernel as text, 'softmax(x[64,128])' (docs/define.md)")
      ->excludes("file");
  v->add_option("--in", o.inputs, "Inputs, as of check");
  v->add_option("--out", o.output, "The candidate's output, in the same ways");
  v->add_option("--at", o.at,
                "The element: an index per axis, those of size 1 at the end left out or not")
      ->required();
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile, "As of check")->capture_default_str();
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_explain(o); }};
}

void add_suite_options(CLI::App* v, SuiteWords& o) {
  v->add_option("--ops", o.ops, "Elementwise operations and reduces, as exp2,reduce_sum [all]")
      ->delimiter(',');
  v->add_option("--dtypes", o.dtypes, "Element types, as f32,bfloat16 [all]")->delimiter(',');
  v->add_option("-n,--n", o.elements, "Elements of each input")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  v->add_option("--seed", o.seed, "The same seed draws the same inputs")->capture_default_str();
}

// Of those verbs whose suites go on to whole kernels.
void add_kernel_suite_options(CLI::App* v, SuiteWords& o) {
  add_suite_options(v, o);
  v->add_option("--suite", o.suite,
                "ops, single operations; kernels, whole ones: softmax, convolutions, masked reads; "
                "or all [all; where --ops or --kernels names some, those]")
      ->check(CLI::IsMember({"ops", "kernels", "all"}));
  v->add_option("--kernels", o.kernels,
                "Whole kernels in which these definitions occur, as softmax,conv2d [all]")
      ->delimiter(',');
}

void add_limits(CLI::App* v, BackendOptions& o) {
  v->add_option("--timeout", o.seconds, "Seconds that the backend may take for one kernel")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  v->add_option("--memory", o.megabytes,
                "MiB of address space that the backend may take; 0: no limit")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
}

void add_backend_options(CLI::App* v, BackendOptions& o) {
  v->add_option("--backend", o.command,
                "A command that runs kernels, spoken to by the lines of docs/backends.md");
  v->add_option("--plugin", o.plugin,
                "A shared object that does, with the functions of touchstone/backend.h")
      ->excludes("--backend");
  add_limits(v, o);
}

Verb blame(CLI::App& app) {
  static BlameOptions o;
  CLI::App* v = add_verb(app, "blame", "Which node of a failing kernel a backend gets wrong",
                         "blame kernel.json --in a.npy b.npy --backend 'python3 mine.py'");
  v->add_option("file", o.file, "A kernel.json, or a reproducer, which holds its own inputs");
  v->add_option("--op", o.op, "Instead: the kernel as text, 'softmax(x[64,128])' (docs/define.md)")
      ->excludes("file");
  v->add_option("--in", o.inputs, "Inputs, as of check");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile, "As of check [what the backend declares, else glibc]");
  add_backend_options(v, o.backend);
  v->add_option("--held", o.held,
                "What the candidate held at a node, in row-major order, as 4=exp.npy: instead of "
                "running it");
  v->add_flag("--nodes", o.nodes, "List the nodes and their numbers");
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_blame(o); }};
}

Verb league(CLI::App& app) {
  static LeagueOptions o;
  CLI::App* v = add_verb(app, "league", "How far backends are from the right answers, as Markdown",
                         "league --backend 'python3 mine.py' --plugin ./yours.so");
  v->add_option("--backend", o.commands, "As of judge; may be given again")
      ->allow_extra_args(false);
  v->add_option("--plugin", o.plugins, "As of judge; may be given again")->allow_extra_args(false);
  add_limits(v, o.limits);
  add_suite_options(v, o.suite);
  v->add_option("--log", o.log,
                "A file of JSON lines: how each backend did on each kernel, at once");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  v->add_flag("--quiet", o.quiet, "No line a kernel on standard error");
  return {v, [] { return run_league(o); }};
}

Verb emit(CLI::App& app) {
  static EmitOptions o;
  CLI::App* v = add_verb(app, "emit", "Write kernels and inputs for another backend",
                         "emit suite --ops exp2,div --dtypes f32,f16 --seed 1");
  v->add_option("folder", o.folder, "A new folder")->required();
  v->add_option("--op", o.op,
                "A kernel as text, 'softmax(x[64,128])', on inputs drawn for it, instead");
  add_kernel_suite_options(v, o.suite);
  v->add_option(
       "--format", o.format,
       "npy, a file for each input, in1.npy and on; or npz, safetensors: all in one, in.npz")
      ->capture_default_str()
      ->check(CLI::IsMember({"npy", "npz", "safetensors"}));
  return {v, [] { return run_emit(o); }};
}

Verb judge(CLI::App& app) {
  static JudgeOptions o;
  CLI::App* v = add_verb(app, "judge",
                         "Judge the outputs written into the folders of emit, or a backend that "
                         "runs the kernels",
                         "judge suite --profile cuda\n         touchstone judge --backend "
                         "'python3 mine.py' --ops exp2,div --dtypes f32");
  v->add_option(
      "folder", o.folder,
      "What emit wrote, outputs beside the inputs [with a backend: a suite drawn for it]");
  v->add_option("--profile", o.profile, "As of check [what the backend declares, else glibc]");
  add_backend_options(v, o.backend);
  add_kernel_suite_options(v, o.suite);
  v->add_option("--out", o.output, "What each output is called")->capture_default_str();
  v->add_flag("--all", o.all, "A line for kernels that pass, too");
  v->add_flag("--json", o.json, "One JSON object a kernel and nothing else");
  v->add_option("--log", o.log, "A file of JSON lines: the verdict on each kernel, at once");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  add_work_limits(v, o.verdict, "verdict-");
  return {v, [] { return run_judge(o); }};
}

Verb kernel(CLI::App& app) {
  static KernelOptions o;
  CLI::App* v = add_verb(app, "kernel", "Write a kernel.json for a formula of named operations",
                         "kernel 'softmax(x[64,128])' --out kernel.json");
  v->add_option(
      "text", o.text,
      "Inputs with sizes and types, x[64,128]:f16; definitions, + - * / % @ and comparisons");
  v->add_option("--out", o.output, "Where it is written [standard output]");
  v->add_flag("--list", o.list, "Print the definitions with their arguments");
  v->add_flag("--tree", o.tree, "Print it as a tree instead");
  return {v, [] {
            bare(o.text);
            return run_kernel(o);
          }};
}

Verb probe(CLI::App& app) {
  static ProbeOptions o;
  CLI::App* v = add_verb(app, "probe", "Inputs for one kernel, and which faults each would show",
                         "probe --op 'softmax(x[16,33])' --out probes");
  v->add_option("file", o.file, "A kernel.json");
  v->add_option("--op", o.op, "Instead: the kernel as text (docs/define.md)")->excludes("file");
  v->add_option("--out", o.folder,
                "A new folder for them: kernel.json and in1.npy and on in a folder a family");
  v->add_option("--var", o.variables, "Value of a symbolic size, n=3");
  v->add_option("--profile", o.profile, "As of check")->capture_default_str();
  v->add_option("--seed", o.seed, "The same seed draws the same inputs")->capture_default_str();
  v->add_option("--seconds", o.seconds, "For finding out what the inputs would show; 0: do not")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  v->add_flag("--json", o.json, "One JSON object and nothing else");
  return {v, [] { return run_probe(o); }};
}

Verb kernels(CLI::App& app) {
  static KernelsOptions o;
  CLI::App* v = add_verb(app, "kernels", "List the kernels that a model is scheduled into",
                         "kernels lenet --backward");
  v->add_option("model", o.models, "One or more models [a table of all]");
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_flag("--source", o.source, "Print each AST and its C");
  v->add_flag("--json", o.json, "One kernel a line");
  v->add_flag("--jsonl", o.jsonl, "One object a model: kernels, loads, stores and flops");
  v->add_option("--opt", o.opt, "How much is fused (docs/lazy.md) [TOUCHSTONE_OPT, or 2]")
      ->check(CLI::Range(0, 4));
  v->add_flag(
      "--index-stats", o.index_stats,
      "Count views, divisions and modulos of all accesses: as composed, merged, simplified");
  add_scheduler(*v, o.scheduler);
  v->add_option("--program", o.program,
                "Of a program instead: 'float32 2,3: 1 2; exp2 %0', a file of one, or - for "
                "standard input; with --jsonl one object a line, {\"program\": ..}")
      ->excludes("model");
  return {v, [] { return run_kernels(o); }};
}

Verb rewrite(CLI::App& app) {
  static RewritingOptions o;
  CLI::App* v = add_verb(app, "rewrite", "Every rewrite of a graph on its way to kernels",
                         "rewrite lenet --backward --html lenet.html");
  v->add_option("model", o.model, "A model of `touchstone kernels`");
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_option("--program", o.program,
                "Of a program instead: its text, a file of one, or - for standard input")
      ->excludes("model");
  v->add_option("--scheduler", o.scheduler, "One that rewrites [kernelize]")
      ->check(CLI::IsMember({"kernelize", "ranges"}));
  v->add_option("--html", o.html,
                "Write a page that steps through all of them to this file, - for standard output");
  return {v, [] { return run_rewrite(o); }};
}

Verb schedule(CLI::App& app) {
  static ScheduleOptions o;
  CLI::App* v = add_verb(app, "schedule", "What runs for a model, in order, as text or picture",
                         "schedule lenet --svg lenet.svg");
  v->add_option("model", o.model, "A model of `touchstone kernels`")->required();
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_option("--opt", o.opt, "How much is fused (docs/lazy.md) [TOUCHSTONE_OPT, or 2]")
      ->check(CLI::Range(0, 4));
  add_scheduler(*v, o.scheduler);
  v->add_option("--svg", o.svg, "Write a picture to this file, - for standard output");
  v->add_option("--dot", o.dot, "Write it for Graphviz");
  v->add_option("--json", o.json, "Write it with all kernels");
  return {v, [] { return run_schedule(o); }};
}

Verb fuzz(CLI::App& app) {
  static FuzzOptions o;
  CLI::App* v = add_verb(app, "fuzz", "Draw random cases, check them, shrink what fails",
                         "fuzz --area symbolic,view --cases 100000 --seed 7");
  v->footer(
      "Exit code 0: nothing failed. 1: something did. 2: it could not run, or was ended "
      "early. 4: every case was skipped.\nA campaign is named by its seed: the same cases for any "
      "number of jobs. "
      "Ctrl-C ends it with a summary.\n" +
      v->get_footer());
  v->add_option("--area", o.areas,
                "symbolic, view, kernel, lazy, kernelize, rewrite, tensor, or all, separated by "
                "commas [kernel]")
      ->delimiter(',');
  v->add_option(
       "--backend", o.backend,
       "What runs the kernels of area kernel: tiers (tcc for each, clang -O2 for one in 64), "
       "tcc, clang (-O0 for each, -O2 for one in 64), clang-O2 (for each), cpu (the "
       "reference itself), numpy, pocl, a plugin X.so, or a command (docs/backends.md)")
      ->capture_default_str();
  v->add_option("--cases", o.cases, "Of each area [1000, or what --time allows]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  v->add_option("--time", o.time, "For each area: 60s, 5m, 2h");
  v->add_option("--jobs", o.jobs, "Worker processes [one a core]")->check(CLI::Range(1, 1024));
  v->add_option("--seed", o.seed, "Names the campaign: the same seed draws the same cases")
      ->capture_default_str();
  v->add_option("--shard", o.shard, "Of N machines this is number W, from 0: W/N");
  v->add_option("--log", o.log, "A file of JSON lines: what was done, and each finding at once");
  v->add_flag("--resume", o.resume, "Go on where the log ends");
  v->add_option("--corpus", o.corpus,
                "A folder of cases that are checked first, and to which findings are added");
  v->add_option(
       "--findings", o.findings,
       "A folder, made where it is needed: of each kernel that fails a folder with all that "
       "belongs to it, and other cases too long to be shown")
      ->capture_default_str();
  v->add_option("--coverage", o.coverage,
                "Count what was reached: a table, and a page in this file")
      ->type_name("FILE.html");
  v->add_option("--case", o.one, "Check this one case, or @FILE with it, of the one area named");
  v->add_flag("--shrink", o.shrink, "And make it smaller, where it fails");
  v->add_option("--timeout", o.case_seconds, "Seconds after which a case hangs")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  v->add_option(
       "--memory", o.megabytes,
       "MiB of address space that a worker may take, and a backend of somebody else's; 0: no "
       "limit [none for workers, 8192 for a backend]")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
  v->add_option("--plant", o.plant, "Put a fault into the code that clang gets (see demo)");
  v->add_option("--mutant", o.mutant,
                "Put a fault into the project itself (touchstone mutants --list); a build of the "
                "preset mutants holds them");
  v->add_flag("--index-stats", o.index_stats,
              "Count views, divisions and modulos of all accesses of kernels instead");
  return {v, [] {
            if (o.one) bare(*o.one);
            return run_fuzz(o);
          }};
}

Verb mutants(CLI::App& app) {
  static MutantsOptions o;
  CLI::App* v = add_verb(app, "mutants", "Find the faults that a build with mutants holds",
                         "mutants --area symbolic --seeds 5");
  v->description(v->get_description() + ": whether the fuzzer is awake (./dev mutants)");
  v->add_option("mutant", o.names, "Which [all]");
  v->add_flag("--list", o.list, "Name them, with their areas, places and what goes wrong");
  v->add_option("--area", o.area, "Only those of this table: symbolic, views, lazy ...");
  v->add_option("--with", o.with,
                "Areas that hunt: symbolic, view, lazy, kernelize, rewrite, tensor, tcc or clang "
                "(kernels there), "
                "separated by commas [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  v->add_flag("--history", o.history, "Only those that repeat a mistake that was really made");
  v->add_option("--seeds", o.seeds, "How often each is looked for, with other cases")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  v->add_option("--seed", o.seed, "The first seed")->capture_default_str();
  v->add_option("--log", o.log, "A file that gets a JSON object a hunt: all that is known of it");
  v->add_option("--seconds", o.seconds, "Of processor time, until one is given up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--cases", o.cases, "Cases of all areas until one is given up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  v->add_option("--jobs", o.jobs, "How many at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  return {v, [] { return run_mutants(o); }};
}

Verb simplify(CLI::App& app) {
  static SimplifyOptions o;
  CLI::App* v = add_verb(app, "simplify", "Simplify an index expression",
                         "simplify '(a*4 + b)//4' --var a=0..10 b=0..3");
  v->add_option("expression", o.expression,
                "Python-like: + - * // % comparisons and or not min() max() where()");
  v->add_option("--var", o.variables,
                "A variable and its bounds, a=0..10, both inclusive; an end left out is open");
  v->add_option("--assume", o.assumptions, "What is known to hold, as 'a<b'");
  v->add_flag("--steps", o.steps, "Show every step: its rule, what was known, what changed");
  v->add_option("--format", o.format, "How the steps are written (and show them)")
      ->check(CLI::IsMember({"text", "json", "html", "latex"}));
  v->add_option("--replay", o.replay,
                "Check the steps in this file, which --format json wrote, without the simplifier");
  v->add_flag("--jsonl", o.jsonl,
              "Read questions, a JSON object a line, from standard input and write an answer a "
              "line: {\"vars\":{\"a\":[0,8]},\"assume\":[\"a<3\"],\"in\":\"a//2*2\"}");
  return {v, [] {
            bare(o.expression);
            for (std::string& a : o.assumptions) bare(a);
            return run_simplify(o);
          }};
}

Verb repl(CLI::App& app) {
  CLI::App* v =
      add_verb(app, "repl", "Simplify expressions one after the other, with history", "repl");
  return {v, [] { return run_repl(); }};
}

Verb prove(CLI::App& app) {
  static ProveOptions o;
  CLI::App* v = add_verb(app, "prove", "Prove rules for all integers, or refute them",
                         "prove '(c*x + y)//c -> x ; 0 <= y and y < c'");
  v->footer(
      "Exit code 0: proved. 1: refuted, or a condition is needless. 3: unknown.\n"
      "A rule claims: where its condition holds and LHS divides by no 0, RHS does not either, and "
      "is\n"
      "equal. Variables are any integers that the condition allows.\n"
      "Example: touchstone prove div.split\n" +
      v->get_footer());
  v->add_option("rule", o.what,
                "Names of rules, or rules of your own: 'LHS -> RHS' or 'LHS -> RHS ; CONDITION' [a "
                "table of all rules]; after -- where one begins with a minus");
  v->add_flag("--all", o.all, "Every rule of the simplifier and of its bounds");
  v->add_option(
      "--witness", o.witness,
      "How to write a number, for a rule of your own: 'x = c*q + r' or 'x = c*(d*q + s) + "
      "r', with new names q, r, s [found by itself]");
  v->add_flag("--necessity", o.necessity, "Refute the rule without each of its conditions");
  v->add_flag("--mutants", o.mutants,
              "Decide what becomes of the rule when a sign, an operator or a number is changed");
  v->add_flag("--smt2", o.smt2, "Print the questions to the solver, in SMT-LIB");
  v->add_flag("--json", o.json, "One JSON object a rule");
  v->add_flag("--docs", o.docs, "Print the page of all rules, docs/rules.md");
  return {v, [] {
            for (std::string& w : o.what) bare(w);
            return run_prove(o);
          }};
}

Verb bits(CLI::App& app) {
  static BitsOptions o;
  CLI::App* v = add_verb(app, "bits", "The right bits of single operations",
                         "bits < questions    # sin<TAB>float32<TAB>3f800000 gives 3f576aa4");
  v->description(v->get_description() +
                 ": a line op<TAB>dtype<TAB>in[,in...] from standard input, an answer a line");
  v->add_flag("--docs", o.docs, "Print docs/semantics.md: what every op gives, with examples");
  v->add_flag("--names", o.names, "Print the names of all operations, and how similar ones differ");
  return {v, [] { return run_bits(o); }};
}

Verb certify(CLI::App& app) {
  static CertifyOptions o;
  CLI::App* v =
      add_verb(app, "certify", "Check every input of a function of one float type",
               "certify exp2 f32    # hours of one core at most; ends and goes on at will");
  v->description(
      v->get_description() +
      ": the correctly rounded outputs against a second path that shares nothing with "
      "the first, and MPFR. What was checked is kept in a file; the same command goes on");
  v->add_option("op", o.op, "exp2, log2, sin, sqrt or recip")->required();
  v->add_option("dtype", o.dtype, "float32, float16 or bfloat16")->required();
  v->add_option("--out", o.output, "The certificate, complete or not yet [OP-DTYPE.json]");
  v->add_option("--with", o.parts, "Take over what these records of other runs hold")
      ->allow_extra_args(false);
  v->add_option("--from", o.from, "The first input: its bits in hexadecimal, the first of a block");
  v->add_option("--to", o.to, "The input after the last");
  v->add_option("--shard", o.shard, "Of N machines this is number W, from 0: W/N");
  v->add_option("--threads", o.threads, "How many [one a core]")->check(CLI::Range(1, 1024));
  v->add_flag("--fresh", o.fresh, "Begin anew, whatever the file holds");
  return {v, [] { return run_certify(o); }};
}

Verb view(CLI::App& app) {
  static ViewOptions o;
  CLI::App* v = add_verb(app, "view", "Follow a shape through movement operations",
                         "view 10,10 permute 1,0 reshape 5,2,5,2 reshape 100");
  v->add_option("words", o.words,
                "A shape, then operations: permute 1,0  reshape 100  expand 4,3  pad 1:1,0:2  "
                "shrink 0:2,1:3  stride -1,2  flip 0  as_strided 2,3:1,2:0");
  v->add_option("--var", o.variables,
                "Range of a symbolic size, n=2..9; then sizes may be written with it, as n,2*n")
      ->allow_extra_args(false);
  v->add_option("--strides", o.strides, "How the shape lies at first, as 4,1 [row-major]");
  v->add_option("--offset", o.offset, "The element that its first index reads [0]");
  v->add_option("--mask", o.mask, "What is readable of each axis at first, as 0:2,1:3 [all]");
  v->add_flag("--jsonl", o.jsonl,
              "Read questions, a JSON object a line, from standard input and write an answer a "
              "line: {\"views\":[[shape,strides,offset,mask],..]} or "
              "{\"base\":[3,2],\"ops\":[[\"permute\",[1,0]],..]}");
  v->add_option("--html", o.html,
                "Draw the steps: a page that needs nothing else, into this file [standard output]")
      ->expected(0, 1)
      ->type_name("FILE");
  v->allow_extras(false);
  return {v, [] { return run_view(o); }};
}

Verb serve(CLI::App& app) {
  CLI::App* v = add_verb(app, "serve", "Verdicts", "serve < questions");
  v->description(v->get_description() +
                 ": a line {\"kernel\":..,\"inputs\":[..],\"output\":..} from standard input, a "
                 "verdict a line");
  static WorkLimits o{60, 8192};
  add_work_limits(v, o, "");
  return {v, [] { return run_serve(o); }};
}

Verb plugin_host(CLI::App& app) {
  static std::string plugin;
  CLI::App* v = app.add_subcommand("plugin-host", "The process that a plugin lives in");
  v->group("");  // started by us, not by people
  v->add_option("plugin", plugin)->required();
  return {v, [] { return run_plugin_host(plugin); }};
}

int run(int argc, char** argv) {
  CLI::App app(
      "Touchstone: a reference device, an index-arithmetic toolkit and a fuzzer for tensor "
      "backends",
      "touchstone");
  app.set_version_flag("--version", "touchstone " TOUCHSTONE_VERSION);
  app.footer(std::string(kFooter) + "\n" + kEnvironment);
  app.require_subcommand(1);
  std::string color = "auto";
  app.add_option("--color", color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  const Verb verbs[] = {demo(app),   eval(app),     check(app),      explain(app), blame(app),
                        kernel(app), probe(app),    kernels(app),    rewrite(app), schedule(app),
                        fuzz(app),   simplify(app), prove(app),      repl(app),    view(app),
                        bits(app),   emit(app),     judge(app),      certify(app), league(app),
                        serve(app),  mutants(app),  plugin_host(app)};
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kExitOk : kExitBad;
  }
  set_color(color == "always"  ? ColorChoice::Always
            : color == "never" ? ColorChoice::Never
                               : ColorChoice::Auto);
  register_interpreted_device();
  register_clang_device();
  for (const Verb& verb : verbs)
    if (verb.app->parsed()) return verb.run();
  return kExitBad;
}

}  // namespace
}  // namespace touchstone::cli

namespace {

// A signal that ends the process takes its temporary directories with it. It is waited for by a
// thread of its own, where anything may be called; all other threads leave it blocked.
void tidy_up_on_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      sigaddset(&ending, signal);  // signals ignored by nohup and the like stay so
  }
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  std::thread([ending] {
    int signal = 0;
    if (sigwait(&ending, &signal) != 0) return;
    touchstone::cli::OrderlyEnd::take(signal);
    touchstone::cli::end_by(signal);
  }).detach();
}

// A signal came, and another thread ends us by it. What a verb made of backends and compilers that
// the signal ended is no result.
void leave_to_signal() {
  while (touchstone::cli::OrderlyEnd::wanted()) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a reader that leaves ends us quietly
  std::string why;
  try {
    tidy_up_on_signals();
    const int code = touchstone::cli::run(argc, argv);
    leave_to_signal();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    why = fmt::format("cannot write to standard output: {}", std::strerror(errno));
  } catch (const touchstone::Interrupted& e) {
    why = e.what();
  } catch (const touchstone::Error& e) {
    why = e.what();
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  } catch (const std::system_error& e) {  // fmt could not write
    why = e.what();
  } catch (const std::exception& e) {
    why = fmt::format("internal error: {}", e.what());
  }
  leave_to_signal();
  std::fputs(("touchstone: " + touchstone::visible_lines(why) + "\n").c_str(),
             stderr);  // unlike fmt it never throws
  return touchstone::cli::kExitBad;
}
