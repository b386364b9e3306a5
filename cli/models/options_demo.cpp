// Options of the demo, and one that it shares with others.
// Options of train.
#include "touchstone/cli/models/train.h"
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

Verb train_verb(CLI::App& app) {
  static TrainOptions o;
  CLI::App* v = add_verb(app, "train", "Train a small network on one or several devices",
                         "train digits --devices CLANG:0,CLANG:1", {{kExitOk, "trained"}},
                         "In a build with MPI, each rank of mpirun is one of the devices.");
  v->add_option("network", o.network,
                "digits, a convolutional network; gpt, which learns to add numbers")
      ->required()
      ->check(CLI::IsMember({"digits", "gpt"}));
  v->add_option("--devices", o.devices,
                "Devices, as CLANG:0,CLANG:1 [CLANG; under mpirun CLANG@0,CLANG@1,...]")
      ->delimiter(',');
  v->add_option("--data-parallel", o.data_parallel,
                "Split each batch into this many parts [devices / tensor-parallel]")
      ->check(CLI::Range(1, 4096));
  v->add_option("--tensor-parallel", o.tensor_parallel,
                "Split each layer into this many parts; the product with --data-parallel is the "
                "number of devices [1]")
      ->check(CLI::Range(1, 4096));
  v->add_option("--simulate", o.simulate,
                "Instead of training: time a step on 1, 2, 4, ... up to this many simulated "
                "devices, which sleep for the time that kernels and messages would take")
      ->check(CLI::Range(1, 1024));
  v->add_option("--epochs", o.epochs, "Passes over the data [10; gpt 20]")
      ->check(CLI::Range(1, 100'000));
  v->add_option("--batch", o.batch, "Batch size [60; gpt 100]")->check(CLI::Range(1, 100'000));
  v->add_option("--lr", o.lr, "The learning rate of Adam [0.004]")->check(CLI::PositiveNumber);
  v->add_option("--seed", o.seed,
                "Seed of the weights, the held-out data and the order of the data")
      ->capture_default_str();
  v->add_option("--data", o.data, "For digits: as in demo");
  v->add_option("--checkpoint", o.checkpoint,
                "Write the network and the optimizer to this .safetensors after each epoch");
  v->add_flag("--resume", o.resume, "Continue from the checkpoint");
  return {v, [] { return run_train(o); }};
}

}  // namespace touchstone::cli
