#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::cli {

struct TrainOptions {
  std::string network;                         // digits, gpt
  std::vector<std::string> devices;            // empty: those of the job, or CLANG
  int data_parallel = 0, tensor_parallel = 0;  // 0: not said
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

/// Throws Error for bad options or files.
int run_train(const TrainOptions& options);

}  // namespace touchstone::cli
