#pragma once

#include <mutex>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// Hash of a LazyBuffer's identity: a view of `base`, or op and argument over `srcs`.
std::uint64_t cache_key(const LazyBuffer& made);

/// Returns an existing LazyBuffer equal to `made`; if there is none, adds and returns `made`, which
/// stays in the cache until forget() or its destruction. Thread-safe.
LazyBufferPtr remembered(const LazyBufferPtr& made);
/// Removes it from the cache, if present.
void forget(const LazyBuffer& made) noexcept;

/// Guards the cache table and every LazyBuffer's lists of children and views.
std::mutex& family_mutex();

}  // namespace touchstone::lazy
