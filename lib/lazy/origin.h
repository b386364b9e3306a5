#pragma once

namespace touchstone {

/// The tensor operation that something was made by, for those who watch a graph on its way to
/// kernels. Names live as long as the program.
struct Origin {
  const char* name = nullptr;  // null: none
  bool gradient = false;       // made by its backward pass
};

/// While one lives, LazyBuffers that this thread makes come from an operation: of several the one
/// that was called first.
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
