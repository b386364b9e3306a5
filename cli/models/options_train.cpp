// Options of train.
#include "touchstone/cli/models/train.h"
#include "touchstone/cli/program/command_line.h"

namespace touchstone::cli {

Verb train_verb(CLI::App& app) {
  static TrainOptions o;
  CLI::App* v = add_verb(app, "train", "Train a small network on one or several devices",
                         "train digits --devices CLANG:0,CLANG:1", {{kExitOk, "trained"}},
                         "Under mpirun, in a build with MPI, the devices are those of the ranks.");
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
