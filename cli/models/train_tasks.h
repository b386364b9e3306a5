#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/cli/models/digits.h"
#include "touchstone/cli/models/train.h"
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

}  // namespace touchstone::cli
