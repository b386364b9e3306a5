#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "touchstone/base/hash.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

/// A map from nodes to values, iterated in insertion order. Keeps its keys alive, so that addresses
/// are not reused. Insertion invalidates pointers to values.
template <class Value>
class UOpMap {
 public:
  using Entry = std::pair<UOp, Value>;

  /// Inserts the value unless the node is present; returns the stored value and whether it is new.
  std::pair<Value*, bool> emplace(const UOp& node, Value value) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    std::uint32_t& slot = slots_[place_of(node)];
    if (slot != 0) return {&entries_[slot - 1].second, false};
    entries_.emplace_back(node, std::move(value));
    slot = static_cast<std::uint32_t>(entries_.size());
    return {&entries_.back().second, true};
  }
  void set(const UOp& node, Value value) {
    const auto [at, fresh] = emplace(node, value);
    if (!fresh) *at = std::move(value);
  }
  /// Null if absent.
  const Value* find(const UOp& node) const {
    if (slots_.empty()) return nullptr;
    const std::uint32_t slot = slots_[place_of(node)];
    return slot == 0 ? nullptr : &entries_[slot - 1].second;
  }
  Value* find(const UOp& node) {
    return const_cast<Value*>(static_cast<const UOpMap&>(*this).find(node));
  }
  bool has(const UOp& node) const { return find(node) != nullptr; }
  /// The value of the node; inserts a default if absent.
  Value& operator[](const UOp& node) { return *emplace(node, Value()).first; }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::size_t place_of(const UOp& node) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_mix(0, reinterpret_cast<std::uintptr_t>(node.address())) & mask;
    while (slots_[at] != 0 && entries_[slots_[at] - 1].first != node) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 32 : 2 * slots_.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      slots_[place_of(entries_[i].first)] = static_cast<std::uint32_t>(i + 1);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // their number is a power of 2; 1 + index of an entry
};

/// A set of nodes, iterated in insertion order.
class UOpSet {
 public:
  bool add(const UOp& node) { return map_.emplace(node, {}).second; }  // true if new
  bool has(const UOp& node) const { return map_.has(node); }
  std::size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  /// Calls f(node) for each.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& entry : map_) f(entry.first);
  }

 private:
  struct Nothing {};
  UOpMap<Nothing> map_;
};

}  // namespace touchstone
