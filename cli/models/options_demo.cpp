// Options of the demo, and one that it shares with others.
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {

void add_scheduler(CLI::App& v, std::string& scheduler) {
  v.add_option("--scheduler", scheduler,
               "lazy: by fusion; kernelize: by rewriting; ranges: any number of reduces per kernel "
               "[TOUCHSTONE_SCHEDULER, or ranges; with --opt lazy]")
      ->check(CLI::IsMember({"lazy", "kernelize", "ranges"}));
}

Verb demo_verb(CLI::App& app) {
  static DemoOptions o;
  CLI::App* v =
      add_verb(app, "demo", "Train a small network on real digits and judge every kernel it runs",
               "demo --plant mask-off-by-one",
               {{kExitOk, "the goal is reached and no kernel fails"},
                {kExitNo, "FAIL, or the goal is missed"}});
  v->add_option("--device", o.device, "Device to train on: CLANG, CPU or CUDA")
      ->capture_default_str();
  v->add_option("--model", o.models,
                "Instead of training: judge the output and one step of gradient descent of these "
                "models (see `touchstone kernels`), or all")
      ->delimiter(',');
  v->add_option("--plant", o.plant,
                "Plant a fault into the compiled code: drop-last-reduce, mask-off-by-one, "
                "stride-swapped, int-div-floors, max-without-nan");
  v->add_option("--data", o.data,
                "CSV with 64 pixels (0 to 16) and a label per line, optionally gzipped [the "
                "built-in digits]");
  v->add_option("--epochs", o.epochs,
                "Passes over the training images [40; 1 with a planted fault]")
      ->check(CLI::Range(1, 1000));
  v->add_option("--seed", o.seed, "Seed of the split, the weights and the order of images")
      ->capture_default_str();
  add_scheduler(*v, o.scheduler);
  v->add_option("--reproducer", o.reproducer, "Write a failing kernel to this file")
      ->capture_default_str();
  v->add_flag("--json", o.json,
              "Write the result and the table as one JSON object to standard output, the rest to "
              "standard error");
  return {v, [] { return run_demo(o); }};
}

}  // namespace touchstone::cli
