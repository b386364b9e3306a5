#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::cli {

struct TrainOptions {
  std::string network;                         // digits, gpt
  std::vector<std::string> devices;            // empty: the job's, or CLANG
  int data_parallel = 0, tensor_parallel = 0;  // 0: unspecified
  int simulate = 0;                            // that many sleeping devices; 0: none
  int epochs = 0;                              // 0: enough for a first look
  std::int64_t batch = 0;                      // 0: the network's default
  double lr = 0;                               // 0: the network's default
  std::uint64_t seed = 1;
  std::string data;        // for digits, as in the demo
  std::string checkpoint;  // .safetensors
  bool resume = false;
};

/// The processes that train together; by default only this one.
struct TrainJob {
  std::vector<std::string> devices;  // of all ranks, if several
  bool speaks = true;                // prints and writes files: true on one rank
  void (*barrier)() = [] {};         // waits for all ranks
};
/// This program's job; set before a verb runs.
TrainJob& train_job();

/// The batch size, by default the network's.
std::int64_t batch_of(const TrainOptions& options);

/// Prints the time of a step on 1, 2, 4, ... simulated devices. Throws Error for unsupported
/// options.
int run_simulated_training(const TrainOptions& options);

/// Throws Error for bad options or files.
int run_train(const TrainOptions& options);

}  // namespace touchstone::cli
