// Options of the verbs about models and their kernels.
#include <cstdlib>

#include "command_line.h"
#include "installed.h"
#include "touchstone/base/error.h"
#include "verbs.h"

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
        "build it again");
  };
  return verb;
}

Verb kernels_verb(CLI::App& app) {
  static KernelsOptions o;
  CLI::App* v = add_verb(app, "kernels", "List the kernels that a model is scheduled into",
                         "kernels lenet --backward", {{kExitOk, "done"}});
  v->add_option("model", o.models, "One or more models [a table of all]");
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_flag("--source", o.source, "Print each AST and its C");
  v->add_flag("--json", o.json, "One kernel a line; without a model one model a line");
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
  v->add_option("--html", o.html,
                "Write a page to this file, - for standard output: of each kernel its AST, steps "
                "and C, what belongs together lit")
      ->excludes("--json", "--jsonl", "--index-stats");
  return {v, [] { return run_kernels(o); }, add_work_limits(v)};
}

void add_graphs(CLI::App& v, RewritingOptions& o) {
  v.add_option("--graphs", o.graphs,
               "Matches of which the page has graphs, which take Graphviz some milliseconds each")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
}

Verb rewrite_verb(CLI::App& app) {
  static RewritingOptions o;
  CLI::App* v = add_verb(app, "rewrite", "Every rewrite of a graph on its way to kernels",
                         "rewrite lenet --backward --html lenet.html", {{kExitOk, "done"}});
  v->add_option("model", o.model, "A model of `touchstone kernels`");
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_option("--program", o.program,
                "Of a program instead: its text, a file of one, or - for standard input")
      ->excludes("model");
  v->add_option("--scheduler", o.scheduler, "One that rewrites [kernelize]")
      ->check(CLI::IsMember({"kernelize", "ranges"}));
  v->add_option("--html", o.html,
                "Write a page that steps through all of them to this file, - for standard output");
  add_graphs(*v, o);
  return {v, [] { return run_rewrite(o); }, add_work_limits(v)};
}

// The page of `rewrite --html`, as a verb of its own.
Verb steps_verb(CLI::App& app) {
  static RewritingOptions o;
  CLI::App* v = add_verb(app, "steps", "A page that steps through what becomes of a graph",
                         "steps softmax -o report.html", {{kExitOk, "done"}},
                         "Passes and their matches by arrow keys, the graph before and after each, "
                         "and of every kernel its AST, steps and C. One file, which needs no "
                         "network.");
  v->add_option("model", o.model, "A model of `touchstone kernels`");
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_option("--program", o.program,
                "Of a program instead: its text, a file of one, or - for standard input")
      ->excludes("model");
  v->add_option("--scheduler", o.scheduler, "One that rewrites [kernelize]")
      ->check(CLI::IsMember({"kernelize", "ranges"}));
  v->add_option("-o,--output", o.html, "The page, - for standard output")->required();
  add_graphs(*v, o);
  return {v, [] { return run_rewrite(o); }, add_work_limits(v)};
}

Verb schedule_verb(CLI::App& app) {
  static ScheduleOptions o;
  CLI::App* v = add_verb(app, "schedule", "What runs for a model, in order, as text or picture",
                         "schedule lenet --html lenet.html", {{kExitOk, "done"}});
  v->add_option("model", o.model, "A model of `touchstone kernels`")->required();
  v->add_flag("--backward", o.backward, "With the gradients of mean(output^2)");
  v->add_option("--opt", o.opt, "How much is fused (docs/lazy.md) [TOUCHSTONE_OPT, or 2]")
      ->check(CLI::Range(0, 4));
  add_scheduler(*v, o.scheduler);
  v->add_option("--html", o.html,
                "Write a page to this file, - for standard output: the picture, and of each kernel "
                "its AST and C");
  v->add_option("--svg", o.svg, "Write the picture alone");
  v->add_option("--dot", o.dot, "Write it for Graphviz");
  v->add_option("--json", o.json, "Write it with all kernels");
  return {v, [] { return run_schedule(o); }, add_work_limits(v)};
}

Verb export_verb(CLI::App& app) {
  static ExportOptions o;
  CLI::App* v = add_verb(app, "export", "A model as C files that need nothing of Touchstone",
                         "export lenet lenet-c", {{kExitOk, "done"}});
  v->add_option("model", o.model, "A model of `touchstone kernels`")->required();
  v->add_option("folder", o.folder, "Where the files are written, made where it is needed")
      ->required();
  return {v, [] { return run_export(o); }, add_work_limits(v)};
}

}  // namespace

std::vector<Verb> model_verbs(CLI::App& app) {
  return {demo_verb(app),     train_verb_or_mpi(app), kernels_verb(app), rewrite_verb(app),
          schedule_verb(app), steps_verb(app),        export_verb(app)};
}

}  // namespace touchstone::cli
