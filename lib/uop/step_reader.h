#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone {

/// An element of a buffer, or of an array of lanes, that a step reads or writes.
struct StepAccess {
  int memory = -1, index = -1, valid = -1;  // steps; valid: -1 if always
  bool writes = false;
};
std::optional<StepAccess> access_of(const LinearStep& step);

/// Reads the steps of a kernel by number.
class StepReader {
 public:
  explicit StepReader(const LinearKernel& kernel) : kernel_(kernel) {}

 protected:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(kernel_.steps.size()); }
  const LinearStep& uop(int i) const { return kernel_.steps[at(i)]; }
  std::optional<std::int64_t> number(int i) const { return constant_of(uop(i)); }
  /// The number of iterations of a loop from 0 to a constant; nullopt for other steps.
  std::optional<std::int64_t> turns(int loop) const;
  int end_of(int loop) const;
  /// The constant by which an index exceeds the counter of a loop; nullopt for another index.
  std::optional<std::int64_t> beyond(int index, int loop) const;

  const LinearKernel& kernel_;
};

/// Copies the steps of a kernel one by one, with others between.
class StepWriter : public StepReader {
 public:
  using StepReader::StepReader;

 protected:
  int add(LinearStep step) {
    made_.push_back(std::move(step));
    return static_cast<int>(made_.size()) - 1;
  }
  int constant(DType type, std::int64_t value) {
    return add({StepKind::Const, type, {}, Scalar::from_int(type, value)});
  }
  int constant(std::int64_t value) { return constant(DType::Int64, value); }
  int index(IndexOp op, int a, int b) { return add({StepKind::Index, DType::Int64, {a, b}, op}); }
  /// A step with its operands' new numbers.
  LinearStep renumbered(int i) const;
  int copy(int i) { return now_[at(i)] = add(renumbered(i)); }
  /// The kernel with the new steps.
  LinearKernel finish();

  std::vector<LinearStep> made_;
  std::vector<int> now_ = std::vector<int>(kernel_.steps.size(), -1);  // new number of each step
};

}  // namespace touchstone
