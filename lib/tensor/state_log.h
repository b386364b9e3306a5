#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/generator.h"

namespace touchstone {

/// For its lifetime, records what this thread does to tensors besides computing, for a TensorJit to
/// repeat or reject. Logs nest; an outer log also records what an inner one does.
class StateLog {
 public:
  /// A repeatable draw of random numbers.
  struct Draw {
    std::string what;
    std::shared_ptr<Generator::Handle> from;
    std::function<Tensor(Generator&)> draw;

    /// Draws the next numbers, recorded in the open log if there is one. Throws Error if the
    /// generator is gone.
    Tensor again() const {
      if (from->generator == nullptr)
        throw Error(fmt::format(
            "jit: the generator of the {} that the function draws was destroyed; keep it", what));
      return current_ != nullptr ? current_->draw(*this) : draw(*from->generator);
    }
  };

  StateLog() : outer_(current_), before_(TensorNode::last_number()) { current_ = this; }
  ~StateLog() { current_ = outer_; }
  StateLog(const StateLog&) = delete;
  StateLog& operator=(const StateLog&) = delete;

  /// This thread's innermost log; null if none.
  static StateLog* current() { return current_; }

  /// Records that `node` was assigned to.
  void assigned(const std::shared_ptr<TensorNode>& node) {
    if (seen_.insert(node.get()).second) assigned_.push_back(node);
    if (outer_ != nullptr) outer_->assigned(node);
  }
  /// Records that the values of `node` are used.
  void read(const std::shared_ptr<TensorNode>& node) {
    if (node->number > before_) return;
    if (read_seen_.insert(node.get()).second) read_.push_back(node);
    if (outer_ != nullptr) outer_->read(node);
  }
  /// True if the node or generator of this number existed before the log.
  bool was_there(std::uint64_t number) const { return number <= before_; }
  /// Draws, or takes the next of the numbers set by play().
  Tensor draw(const Draw& wanted) {
    if (played_ != nullptr) {
      if (next_ == played_->size() || (*played_)[next_].first != wanted.what)
        throw Error(
            fmt::format("jit: the function draws {} in this call, but not in its first; it must "
                        "draw the same in every call",
                        wanted.what));
      return Tensor((*played_)[next_++].second);
    }
    Tensor made = outer_ != nullptr ? outer_->draw(wanted) : wanted.draw(*wanted.from->generator);
    draws_.push_back(wanted);
    return made;
  }
  /// From now on draw() returns these.
  using Played = std::vector<std::pair<std::string, LazyBufferPtr>>;
  void play(const Played& drawn) { played_ = &drawn; }
  const std::vector<Draw>& all_draws() const { return draws_; }

  /// Records that `node` got its first gradient.
  void began_gradient(const TensorNode& node) {
    gradients_.insert(&node);
    if (outer_ != nullptr) outer_->began_gradient(node);
  }
  /// True if the gradient at `node` began within the outermost log.
  bool knows_gradient(const TensorNode& node) const {
    return outer_ != nullptr ? outer_->knows_gradient(node) : gradients_.contains(&node);
  }

  /// Each once, in order of first assignment.
  const std::vector<std::shared_ptr<TensorNode>>& all_assigned() const { return assigned_; }
  /// Nodes older than the log whose values were used; each once, in order.
  const std::vector<std::shared_ptr<TensorNode>>& all_read() const { return read_; }

 private:
  static inline thread_local StateLog* current_ = nullptr;
  StateLog* outer_;
  std::uint64_t before_;  // number of the last older node
  std::vector<std::shared_ptr<TensorNode>> assigned_, read_;
  std::unordered_set<const TensorNode*> seen_, read_seen_, gradients_;
  std::vector<Draw> draws_;
  const Played* played_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace touchstone
