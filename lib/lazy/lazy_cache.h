#pragma once

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::lazy {

/// Hash of what makes a LazyBuffer what it is: a view of `base`, or op and argument over `srcs`.
std::uint64_t cache_key(const LazyBuffer& made);

/// The living LazyBuffer that is the same as `made`, or `made` itself, which is then found in its
/// place until forget() or its end. Any thread may ask.
LazyBufferPtr remembered(const LazyBufferPtr& made);
/// No-op where it is not remembered.
void forget(const LazyBuffer& made) noexcept;

/// One lock for the table and for what every LazyBuffer knows of those above it.
class FamilyLock {
 public:
  FamilyLock();
  ~FamilyLock();
  FamilyLock(const FamilyLock&) = delete;
  FamilyLock& operator=(const FamilyLock&) = delete;
};

}  // namespace touchstone::lazy
