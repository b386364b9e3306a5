#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/tensor/optim.h"
#include "train_tasks.h"

namespace touchstone::cli {

/// A network and its optimizer on devices. Of D * T devices T in a row are a group that has the
/// network once, in parts where T > 1; each of the D groups learns from its part of every batch.
/// With T = 1 one group has all devices, and tensors are in parts along the batch.
class Trainer {
 public:
  /// As the options say, on these devices. Throws Error where their numbers do not fit.
  Trainer(const TrainOptions& options, std::vector<std::string> devices);

  /// The loss of a step, on CPU. x: [batch, ...] and labels: [batch, ...], on CPU. Throws Error
  /// where a batch does not divide.
  Tensor step(const Tensor& x, const Tensor& labels);
  /// Of what is held out, in batches as large as there can be; 0 of it where there are none.
  double accuracy(std::int64_t batch) const;

  /// Whole tensors of the network and of the optimizer, as one group has them.
  nn::StateDict state() const { return state_of(groups_[0]); }
  /// Into every group. Throws what nn::load_state throws.
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
  bool batches_in_parts_ = false;  // along the devices of a group
  std::vector<Group> groups_;
};

}  // namespace touchstone::cli
