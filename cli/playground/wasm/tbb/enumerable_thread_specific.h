#pragma once

#include <array>

namespace tbb {

template <class T>
class enumerable_thread_specific {
 public:
  T& local() { return only_[0]; }
  auto begin() const { return only_.begin(); }
  auto end() const { return only_.end(); }

 private:
  std::array<T, 1> only_{};
};

}  // namespace tbb
