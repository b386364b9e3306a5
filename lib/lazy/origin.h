#pragma once

namespace touchstone {

/// The tensor operation that something comes from, for tracing. Names have static lifetime.
struct Origin {
  const char* name = nullptr;  // null: none
  bool gradient = false;       // made by its backward pass
};

/// For its lifetime, LazyBuffers made by this thread have this origin; in nested scopes the
/// outermost applies.
class OriginScope {
 public:
  explicit OriginScope(const char* name) : OriginScope(Origin{name, false}) {}
  explicit OriginScope(Origin origin) : sets_(current_.name == nullptr) {
    if (sets_) current_ = origin;
  }
  ~OriginScope() {
    if (sets_) current_ = {};
  }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

  static Origin current() { return current_; }

 private:
  inline static thread_local Origin current_;
  bool sets_;
};

}  // namespace touchstone
