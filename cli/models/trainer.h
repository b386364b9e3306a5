#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/cli/models/train_tasks.h"
#include "touchstone/tensor/optim.h"

namespace touchstone::cli {

/// A network and its optimizer on D * T devices. Each group of T consecutive devices holds the
/// network once, sharded if T > 1; each of the D groups learns from its part of every batch. If T
/// is 1, a single group has all devices, and tensors are sharded along the batch.
class Trainer {
 public:
  /// Throws Error if the options' numbers do not fit these devices.
  Trainer(const TrainOptions& options, std::vector<std::string> devices);

  /// Trains on a batch and returns the loss, on CPU. x: [batch, ...], labels: [batch, ...], on CPU.
  /// Throws Error if a batch does not divide.
  Tensor step(const Tensor& x, const Tensor& labels);
  /// The share of correct held-out results, in the largest possible batches; 0 without held-out
  /// data.
  double accuracy(std::int64_t batch) const;

  /// Whole tensors of the network and optimizer, from one group.
  nn::StateDict state() const { return state_of(groups_[0]); }
  /// Loads into every group. Throws as nn::load_state.
  void load(const std::string& file);
  const Task& task() const { return *groups_[0].task; }
  /// "on CLANG CLANG:1, each batch in parts"
  std::string str() const;

 private:
  struct Group {
    std::vector<std::string> devices;
    std::unique_ptr<Task> task;
    std::vector<Tensor> parameters;
    std::unique_ptr<optim::Adam> adam;
  };

  static nn::StateDict state_of(const Group& group);
  Tensor placed(const Tensor& x, const Group& group) const;
  Tensor batch_of(const Tensor& x, std::size_t group) const;
  void add_up_gradients();

  std::vector<std::string> devices_;
  bool batches_in_parts_ = false;  // sharded over a group's devices
  std::vector<Group> groups_;
};

}  // namespace touchstone::cli
