// Options of the verbs about models and their kernels.
#include <cstdlib>

#include "touchstone/base/error.h"
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

// Under mpirun, replaces this program by its MPI sibling.
Verb train_verb_or_mpi(CLI::App& app) {
  Verb verb = train_verb(app);
  verb.run = [run = verb.run] {
    if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return run();
    become_sibling("touchstone-mpi");
    throw Error(
        "train under mpirun: this Touchstone was built without MPI; install libopenmpi-dev and "
        "rebuild");
  };
  verb.limits = add_work_limits(verb.app);
  return verb;
}

Verb demo_within_limits(CLI::App& app) {
  Verb verb = demo_verb(app);
  verb.limits = add_work_limits(verb.app);
  return verb;
}

Verb model_verb(CLI::App& app) {
  static ModelOptions o;
  CLI::App* v = add_verb(app, "model",
                         "Run a model of ONNX or StableHLO, or judge every value that it computes",
                         "model judge net.onnx --backend onnxruntime",
                         {{kExitOk, "done, or every verdict is PASS"},
                          {kExitNo, "FAIL; of show: an operator is not supported"},
                          {kExitWeak, "WEAK"},
                          {kExitNothing, "a value was not judged"},
                          {kExitSuspect, "SUSPECT"}},
                         "Each value is judged by the values that the candidate had for the "
                         "operands, so that one fault makes one FAIL. Values that the candidate "
                         "does not show are composed: the operations between two of its values "
                         "are judged as one.");
  v->add_option("action", o.action, "show, run or judge")
      ->required()
      ->check(CLI::IsMember({"show", "run", "judge"}));
  v->add_option("file", o.file,
                "The model: FILE.onnx, of opset 7 or later, or FILE.mlir, of StableHLO")
      ->required();
  v->add_option("--in", o.inputs,
                "Inputs: NAME=FILE.npy, or FILE.npz with arrays by name [others are drawn]");
  v->add_option("--size", o.sizes, "Size that the model leaves open, for inputs drawn: batch=2");
  v->add_option("--seed", o.seed, "Seed of the inputs drawn")->capture_default_str();
  v->add_option("--out", o.output, "run: write the outputs to FILE.npz or FILE.safetensors");
  v->add_option("--device", o.device, "run: CPU (the reference) or CLANG")->capture_default_str();
  v->add_flag("--values", o.all_values, "run: write all values, not only the outputs");
  v->add_option("--actual", o.actual,
                "judge: the candidate's values, NAME=FILE.npy or FILE.npz with arrays by name");
  v->add_option("--backend", o.backend,
                "judge: onnxruntime, or a command that is called with a model that shows all its "
                "values, a file of inputs and the file of values to write (.npz)")
      ->excludes("--actual");
  v->add_option("--backend-timeout", o.backend_seconds, "Its time, s")->capture_default_str();
  v->add_option("--profile", o.profile, "As in check");
  v->add_flag("--all-elements,--all", o.all_elements, "As in check");
  v->add_flag("--first", o.first, "judge: end at the first FAIL");
  v->add_flag("--verbose", o.verbose, "judge: print each verdict, also PASS");
  v->add_option("--keep", o.keep,
                "judge: write the first wrong operation to this folder: model.onnx, its inputs "
                "and outputs");
  v->add_option("--html", o.html, "judge: write a page to this file: the graph and each verdict");
  v->add_option("--junit", o.junit, "judge: write a test report to this file, for CI");
  v->add_flag("--json", o.json, "Print JSON lines");
  o.verdict.seconds = 60;
  add_verdict_limits(v, o.verdict, "verdict-");
  return {v, [] { return run_model(o); }, add_work_limits(v, o.limits)};
}

Verb kernels_verb(CLI::App& app) {
  static KernelsOptions o;
  CLI::App* v = add_verb(app, "kernels", "List the kernels of a model's schedule",
                         "kernels lenet --backward", {{kExitOk, "done"}});
  v->add_option("model", o.models, "One or more models [a table of all]");
  v->add_flag("--backward", o.backward, "Include the gradients of mean(output^2)");
  v->add_flag("--source", o.source, "Print each AST and its C");
  v->add_flag("--json", o.json, "Print one kernel per line; without a model one model per line");
  v->add_flag("--jsonl", o.jsonl,
              "Print one JSON object per model: kernels, loads, stores and flops");
  v->add_flag(
       "--why", o.why,
       "Print each layout for CLANG, and the registers and caches that its sizes follow from")
      ->needs("model")
      ->excludes("--json", "--jsonl");
  v->add_option("--opt", o.opt, "Level of fusion (docs/lazy.md) [TOUCHSTONE_OPT, or 2]")
      ->check(CLI::Range(0, 4));
  v->add_flag(
      "--index-stats", o.index_stats,
      "Count views, divisions and modulos of all accesses: as composed, merged, simplified");
  add_scheduler(*v, o.scheduler);
  v->add_option("--program", o.program,
                "Instead of a model, a program: 'float32 2,3: 1 2; exp2 %0', a file with one, or - "
                "for standard input; with --jsonl one object per line, {\"program\": ..}")
      ->excludes("model");
  v->add_option("--html", o.html,
                "Write a page to this file, - for standard output: AST, steps and C of each "
                "kernel, with related parts highlighted")
      ->excludes("--json", "--jsonl", "--index-stats");
  return {v, [] { return run_kernels(o); }, add_work_limits(v)};
}

void add_graph_to_rewrite(CLI::App& v, RewritingOptions& o) {
  v.add_option("model", o.model, "A model of `touchstone kernels`");
  v.add_flag("--backward", o.backward, "Include the gradients of mean(output^2)");
  v.add_option("--program", o.program,
               "Instead of a model, a program: its text, a file with one, or - for standard input")
      ->excludes("model");
  v.add_option("--scheduler", o.scheduler, "A scheduler that rewrites [kernelize]")
      ->check(CLI::IsMember({"kernelize", "ranges"}));
}

void add_graphs(CLI::App& v, RewritingOptions& o) {
  v.add_option("--graphs", o.graphs,
               "Matches drawn as graphs in the page; each takes Graphviz some milliseconds")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
}

Verb rewrite_verb(CLI::App& app) {
  static RewritingOptions o;
  CLI::App* v = add_verb(app, "rewrite", "Record every rewrite of a graph on its way to kernels",
                         "rewrite lenet --backward --html lenet.html", {{kExitOk, "done"}});
  add_graph_to_rewrite(*v, o);
  v->add_option("--html", o.html,
                "Write a page that steps through all rewrites to this file, - for standard output");
  add_graphs(*v, o);
  return {v, [] { return run_rewrite(o); }, add_work_limits(v)};
}

// The page of `rewrite --html`, as a verb of its own.
Verb steps_verb(CLI::App& app) {
  static RewritingOptions o;
  CLI::App* v =
      add_verb(app, "steps", "Write a page that steps through the rewrites of a graph",
               "steps softmax -o report.html", {{kExitOk, "done"}},
               "Passes and their matches by arrow keys, the graph before and after each, and the "
               "AST, steps and C of every kernel. The page is one file and needs no network.");
  add_graph_to_rewrite(*v, o);
  v->add_option("-o,--output", o.html, "The page, - for standard output")->required();
  add_graphs(*v, o);
  return {v, [] { return run_rewrite(o); }, add_work_limits(v)};
}

Verb schedule_verb(CLI::App& app) {
  static ScheduleOptions o;
  CLI::App* v = add_verb(app, "schedule", "Show the schedule of a model, as text or picture",
                         "schedule lenet --html lenet.html", {{kExitOk, "done"}});
  v->add_option("model", o.model, "A model of `touchstone kernels`")->required();
  v->add_flag("--backward", o.backward, "Include the gradients of mean(output^2)");
  v->add_option("--opt", o.opt, "Level of fusion (docs/lazy.md) [TOUCHSTONE_OPT, or 2]")
      ->check(CLI::Range(0, 4));
  add_scheduler(*v, o.scheduler);
  v->add_option("--html", o.html,
                "Write a page to this file, - for standard output: the picture, and AST and C of "
                "each kernel");
  v->add_option("--svg", o.svg, "Print the picture alone");
  v->add_option("--dot", o.dot, "Print it in Graphviz format");
  v->add_option("--json", o.json, "Print it with all kernels");
  return {v, [] { return run_schedule(o); }, add_work_limits(v)};
}

Verb export_verb(CLI::App& app) {
  static ExportOptions o;
  CLI::App* v = add_verb(app, "export", "Export a model as self-contained C files",
                         "export lenet lenet-c", {{kExitOk, "done"}});
  v->add_option("model", o.model, "A model of `touchstone kernels`")->required();
  v->add_option("folder", o.folder, "Folder for the files, created if needed")->required();
  return {v, [] { return run_export(o); }, add_work_limits(v)};
}

}  // namespace

std::vector<Verb> model_verbs(CLI::App& app) {
  return {demo_within_limits(app), train_verb_or_mpi(app), model_verb(app), kernels_verb(app),
          rewrite_verb(app),       schedule_verb(app),     steps_verb(app), export_verb(app)};
}

}  // namespace touchstone::cli
