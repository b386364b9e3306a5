#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::cli {

struct TrainOptions {
  std::string network;                         // digits, gpt
  std::vector<std::string> devices;            // empty: those of the job, or CLANG
  int data_parallel = 0, tensor_parallel = 0;  // 0: not said
  int simulate = 0;                            // so many devices that sleep; 0: none
  int epochs = 0;                              // 0: enough for a first look
  std::int64_t batch = 0;                      // 0: the network's
  double lr = 0;                               // 0: the network's
  std::uint64_t seed = 1;
  std::string data;        // of digits, as of the demo
  std::string checkpoint;  // .safetensors
  bool resume = false;
};

/// The processes that train together, by default this one alone.
struct TrainJob {
  std::vector<std::string> devices;  // of all ranks, where there are any
  bool speaks = true;                // prints and writes files: one rank does
  void (*barrier)() = [] {};         // waits for all ranks
};
/// Of this program; set before a verb runs.
TrainJob& train_job();

/// The size of a batch, where it is not said the network's.
std::int64_t batch_of(const TrainOptions& options);

/// The table of a step on 1, 2, 4, ... simulated devices. Throws Error for options it does not
/// take.
int run_simulated_training(const TrainOptions& options);

/// Throws Error for bad options or files.
int run_train(const TrainOptions& options);

}  // namespace touchstone::cli
