#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/lazy/jit.h"
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
    std::uint64_t position = 0;  // of the generator before it

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

  /// Records that `node` was assigned to; one made within the log needs no record.
  void assigned(const std::shared_ptr<TensorNode>& node) {
    if (was_there(node->number) && seen_.insert(node.get()).second) assigned_.push_back(node);
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
  Tensor draw(Draw wanted) {
    if (played_ != nullptr && next_ < played_->size() &&
        (*played_)[next_].first.what == wanted.what && (*played_)[next_].first.from == wanted.from)
      return Tensor((*played_)[next_++].second);
    const bool late = wanted.from->generator->number_ > first_call_ && outer_ == nullptr;
    if (played_ != nullptr && !late) stop_playing("draws " + wanted.what);
    wanted.position = wanted.from->generator->position();
    Tensor made = outer_ != nullptr ? outer_->draw(wanted) : wanted.draw(*wanted.from->generator);
    draws_.push_back(std::move(wanted));
    return made;
  }
  /// From now on draw() returns these, except for generators made since the first call.
  using Played = std::vector<std::pair<Draw, LazyBufferPtr>>;
  void play(const Played& drawn, std::uint64_t first_call) {
    played_ = &drawn;
    first_call_ = first_call;
  }
  /// Ends it. Throws Error if numbers are left, unless the host has read values, on which draws may
  /// depend: then it takes those back.
  void end_play() {
    if (played_ != nullptr && next_ < played_->size())
      stop_playing("does not draw " + (*played_)[next_].first.what);
  }
  /// Moves the generators back to where they were before these.
  static void take_back(std::span<const std::pair<Draw, LazyBufferPtr>> drawn) {
    for (std::size_t i = drawn.size(); i-- > 0;)
      if (Generator* const g = drawn[i].first.from->generator)
        g->position_ = drawn[i].first.position;
  }
  /// Draws that were not played.
  const std::vector<Draw>& all_draws() const { return draws_; }
  /// True if numbers were taken back.
  bool draws_differ() const { return draws_differ_; }

  /// The gradient of a tensor that existed before the log; `set`: by zero_grad() or set_grad()
  /// first, so that an earlier one does not matter.
  struct Gradient {
    std::shared_ptr<TensorNode> node;
    bool set = false;
  };
  void changed_gradient(const std::shared_ptr<TensorNode>& node, bool set) {
    gradients_.insert(node.get());
    if (was_there(node->number) && changed_.insert(node.get()).second)
      all_gradients_.push_back({node, set});
    if (outer_ != nullptr) outer_->changed_gradient(node, set);
  }
  /// Each once, in order of first change.
  const std::vector<Gradient>& all_gradients() const { return all_gradients_; }
  /// True if the gradient at `node` began within the outermost log.
  bool knows_gradient(const TensorNode& node) const {
    return outer_ != nullptr ? outer_->knows_gradient(node) : gradients_.contains(&node);
  }

  /// Each once, in order of first assignment.
  const std::vector<std::shared_ptr<TensorNode>>& all_assigned() const { return assigned_; }
  /// Nodes older than the log whose values were used; each once, in order.
  const std::vector<std::shared_ptr<TensorNode>>& all_read() const { return read_; }

 private:
  void stop_playing(const std::string& what) {
    const auto* const captures = lazy::CacheCollector::current();
    if (outer_ != nullptr || captures == nullptr || !captures->host_read())
      throw Error(
          fmt::format("jit: the function {} in this call, but not in its first; it must draw the "
                      "same in every call",
                      what));
    take_back(std::span(*played_).subspan(next_));
    played_ = nullptr;
    draws_differ_ = true;
  }

  static inline thread_local StateLog* current_ = nullptr;
  StateLog* outer_;
  std::uint64_t before_;  // number of the last older node
  std::vector<std::shared_ptr<TensorNode>> assigned_, read_;
  std::unordered_set<const TensorNode*> seen_, read_seen_, gradients_, changed_;
  std::vector<Gradient> all_gradients_;
  std::vector<Draw> draws_;
  bool draws_differ_ = false;
  const Played* played_ = nullptr;
  std::uint64_t first_call_ = 0;
  std::size_t next_ = 0;
};

}  // namespace touchstone
