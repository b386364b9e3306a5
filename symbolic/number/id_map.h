#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

/// A map from small ids to V. Tables are kept per thread and nesting level and invalidated by a use
/// count, so a look-up is one access and creating a map costs nothing once its table exists.
template <class V>
class IdMap {
 public:
  IdMap() : table_(take()) {
    if (++table_->use == 0) {
      for (Entry& e : table_->entries) e.use = 0;
      table_->use = 1;
    }
  }
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;
  ~IdMap() { idle().push_back(std::move(table_)); }

  const V* find(std::uint32_t id) const {
    const List<Entry>& entries = table_->entries;
    return id < entries.size() && entries[id].use == table_->use ? &entries[id].value : nullptr;
  }
  bool contains(std::uint32_t id) const { return find(id) != nullptr; }
  /// The value of an id that is in the map.
  const V& at(std::uint32_t id) const { return table_->entries[id].value; }
  /// False if the id is already in the map.
  bool emplace(std::uint32_t id, V value) {
    if (contains(id)) return false;
    set(id, std::move(value));
    return true;
  }
  void set(std::uint32_t id, V value) {
    List<Entry>& entries = table_->entries;
    if (id >= entries.size()) entries.resize(2 * (std::size_t{id} + 64));
    entries[id] = {table_->use, std::move(value)};
  }

 private:
  struct Entry {
    std::uint32_t use = 0;
    V value{};
  };
  struct Table {
    List<Entry> entries;
    std::uint32_t use = 0;
  };
  static std::vector<std::unique_ptr<Table>>& idle() {
    static thread_local std::vector<std::unique_ptr<Table>> tables;
    return tables;
  }
  static std::unique_ptr<Table> take() {
    if (idle().empty()) return std::make_unique<Table>();
    std::unique_ptr<Table> table = std::move(idle().back());
    idle().pop_back();
    return table;
  }

  std::unique_ptr<Table> table_;
};

}  // namespace touchstone::symbolic
