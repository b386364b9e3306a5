#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "touchstone/base/hash.h"

namespace touchstone {

class LazyOp;

/// A map from node addresses to values in one array, for many lookups per node. Insertion
/// invalidates references.
template <class Value>
class NodeMap {
 public:
  /// `expected`: number of nodes to reserve for.
  explicit NodeMap(std::size_t expected = 16) {
    std::size_t size = 32;
    while (size < 2 * expected) size *= 2;
    slots_.resize(size);
  }

  /// Inserts the value unless the node is present; returns the stored value and whether it is new.
  std::pair<Value*, bool> emplace(const LazyOp* node, Value value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(node)];
    const bool fresh = slot.node == nullptr;
    if (fresh) {
      slot = {node, std::move(value)};
      ++count_;
    }
    return {&slot.value, fresh};
  }

  /// Null if absent.
  Value* find(const LazyOp* node) {
    Slot& slot = slots_[place_of(node)];
    return slot.node == nullptr ? nullptr : &slot.value;
  }
  const Value* find(const LazyOp* node) const { return const_cast<NodeMap*>(this)->find(node); }

  /// The node must be present.
  const Value& operator[](const LazyOp* node) const { return slots_[place_of(node)].value; }

 private:
  struct Slot {
    const LazyOp* node = nullptr;
    Value value{};
  };

  std::size_t place_of(const LazyOp* node) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_mix(0, reinterpret_cast<std::uintptr_t>(node)) & mask;
    while (slots_[at].node != nullptr && slots_[at].node != node) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.node != nullptr) slots_[place_of(slot.node)] = std::move(slot);
  }

  std::vector<Slot> slots_;  // their number is a power of 2
  std::size_t count_ = 0;
};

}  // namespace touchstone
