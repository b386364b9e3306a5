#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/cli/models/digits.h"
#include "touchstone/cli/models/train.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/state.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone::cli {

/// A network and its training data.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::StateDict state() const = 0;
  /// The axis along which a parameter is sharded in sharded layers; nullopt: replicated.
  virtual std::optional<int> axis_of(const std::string& name) const = 0;
  virtual Tensor loss(const Batch& batch) const = 0;
  virtual Tensor logits(const Tensor& x) const = 0;
  virtual std::string_view goal() const = 0;

  /// The training data in an order drawn from the seed, in whole batches; the remainder is dropped.
  std::vector<Batch> epoch(std::uint64_t seed, std::int64_t batch) const;
  std::vector<Batch> held_out(std::int64_t batch) const { return batches(test_, batch); }
  std::int64_t held_out_size() const { return static_cast<std::int64_t>(test_.size()); }

 protected:
  virtual std::vector<Batch> batches(const std::vector<std::int64_t>& of,
                                     std::int64_t batch) const = 0;
  std::vector<std::int64_t> train_, test_;
};

/// The task that the options name, on CPU, with weights drawn from the seed. Throws Error for bad
/// data.
std::unique_ptr<Task> make_task(const TrainOptions& options);

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
