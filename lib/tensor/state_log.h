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

/// While it lives, what this thread does to tensors beside computing is noted: what a TensorJit
/// must do again at each replay, or cannot. Logs nest; what the inner notes the outer notes too.
class StateLog {
 public:
  /// Random numbers that were drawn, and may be drawn again.
  struct Draw {
    std::string what;
    std::shared_ptr<Generator::Handle> from;
    std::function<Tensor(Generator&)> draw;

    /// The next numbers; those of the log that is open where there is one. Throws Error where the
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
  /// Whether something with this number was there before.
  bool was_there(std::uint64_t number) const { return number <= before_; }
  /// Draws, or takes the next of what was played.
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
  /// From now on these are what is drawn.
  using Played = std::vector<std::pair<std::string, LazyBufferPtr>>;
  void play(const Played& drawn) { played_ = &drawn; }
  const std::vector<Draw>& all_draws() const { return draws_; }

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
  std::vector<Draw> draws_;
  const Played* played_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace touchstone
