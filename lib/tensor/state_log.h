#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "touchstone/tensor/function.h"

namespace touchstone {

/// While it lives, what this thread does to tensors beside computing is noted: what a TensorJit
/// must do again at each replay, or cannot. Logs nest; what the inner notes the outer notes too.
class StateLog {
 public:
  StateLog() : outer_(current_), before_(TensorNode::last_number()) { current_ = this; }
  ~StateLog() { current_ = outer_; }
  StateLog(const StateLog&) = delete;
  StateLog& operator=(const StateLog&) = delete;

  /// The innermost of this thread, null where there is none.
  static StateLog* current() { return current_; }

  /// `node` was given other values.
  void assigned(const std::shared_ptr<TensorNode>& node) {
    if (seen_.insert(node.get()).second) assigned_.push_back(node);
    if (outer_ != nullptr) outer_->assigned(node);
  }
  /// The values of `node` are used.
  void read(const std::shared_ptr<TensorNode>& node) {
    if (node->number > before_) return;
    if (read_seen_.insert(node.get()).second) read_.push_back(node);
    if (outer_ != nullptr) outer_->read(node);
  }
  /// A first gradient was put at `node`.
  void began_gradient(const TensorNode& node) {
    gradients_.insert(&node);
    if (outer_ != nullptr) outer_->began_gradient(node);
  }
  /// Whether the gradient at `node` began since the outermost log did.
  bool knows_gradient(const TensorNode& node) const {
    return outer_ != nullptr ? outer_->knows_gradient(node) : gradients_.contains(&node);
  }

  /// Each once, in the order of their first assignments.
  const std::vector<std::shared_ptr<TensorNode>>& all_assigned() const { return assigned_; }
  /// The same of those that were there before and whose values were used.
  const std::vector<std::shared_ptr<TensorNode>>& all_read() const { return read_; }

 private:
  static inline thread_local StateLog* current_ = nullptr;
  StateLog* outer_;
  std::uint64_t before_;  // number of the last node that was there before
  std::vector<std::shared_ptr<TensorNode>> assigned_, read_;
  std::unordered_set<const TensorNode*> seen_, read_seen_, gradients_;
};

}  // namespace touchstone
