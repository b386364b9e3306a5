#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "touchstone/base/hash.h"

namespace touchstone {

class LazyOp;

/// Values by the address of a node, in one array: a kernel's nodes are looked up many times over.
/// References end with the next insertion.
template <class Value>
class NodeMap {
 public:
  /// `expected`: nodes that there is room for at once.
  explicit NodeMap(std::size_t expected = 16) {
    std::size_t size = 32;
    while (size < 2 * expected) size *= 2;
    slots_.resize(size);
  }

  /// The value of the node and whether it is new; where it was there it stays as it is.
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

  /// Null where there is none.
  Value* find(const LazyOp* node) {
    Slot& slot = slots_[place_of(node)];
    return slot.node == nullptr ? nullptr : &slot.value;
  }
  const Value* find(const LazyOp* node) const { return const_cast<NodeMap*>(this)->find(node); }

  /// Of a node that is there.
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

  std::vector<Slot> slots_;  // a power of 2 of them
  std::size_t count_ = 0;
};

}  // namespace touchstone
