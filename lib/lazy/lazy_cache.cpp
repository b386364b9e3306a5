#include "touchstone/lazy/lazy_cache.h"

#include <unordered_map>

#include "touchstone/base/hash.h"

namespace touchstone::lazy {
namespace {

struct Entry {
  const LazyBuffer* address;
  std::weak_ptr<LazyBuffer> made;
};

struct Table {
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, Entry> entries;
};

Table& table() {
  static auto* const only = new Table;  // outlives every static LazyBuffer
  return *only;
}

std::uint64_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

bool same(const LazyBuffer& a, const LazyBuffer& b) {
  if (a.is_base() != b.is_base() || a.dtype() != b.dtype() || a.st() != b.st()) return false;
  if (!a.is_base()) return &a.base() == &b.base();
  return a.op() == b.op() && a.srcs() == b.srcs() && a.arg() == b.arg() && a.device() == b.device();
}

}  // namespace

std::uint64_t cache_key(const LazyBuffer& made) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(made.dtype()), made.st().hash());
  if (!made.is_base()) return hash_mix(h, address(&made.base()));
  h = hash_mix(hash_mix(h, static_cast<std::uint64_t>(made.op())), hash_of(made.arg()));
  for (const LazyBufferPtr& source : made.srcs()) h = hash_mix(h, address(source.get()));
  return h;
}

LazyBufferPtr remembered(const LazyBufferPtr& made) {
  std::vector<LazyBufferPtr> held;  // released after the lock: one may be the last owner
  LazyBufferPtr found;
  const std::uint64_t key = cache_key(*made);
  {
    Table& t = table();
    const std::scoped_lock lock(t.mutex);
    const auto [begin, end] = t.entries.equal_range(key);
    for (auto it = begin; it != end && !found; ++it) {
      LazyBufferPtr candidate = it->second.made.lock();
      if (candidate != nullptr && same(*candidate, *made)) found = candidate;
      held.push_back(std::move(candidate));
    }
    if (!found) t.entries.emplace(key, Entry{made.get(), made});
  }
  return found ? found : made;
}

void forget(const LazyBuffer& made) noexcept {
  const std::uint64_t key = cache_key(made);
  Table& t = table();
  const std::scoped_lock lock(t.mutex);
  const auto [begin, end] = t.entries.equal_range(key);
  for (auto it = begin; it != end; ++it)
    if (it->second.address == &made) {
      t.entries.erase(it);
      return;
    }
}

std::mutex& family_mutex() { return table().mutex; }

}  // namespace touchstone::lazy
