#pragma once

#include <cstddef>
#include <cstdint>

#include <Eigen/Core>

#include "touchstone/dtype/scalar.h"

// Eigen's traits of the narrow floats, to store and walk them; it never computes with them.
namespace Eigen {
template <>
struct NumTraits<touchstone::float8_e4m3> : GenericNumTraits<float> {
  enum { RequireInitialization = 0 };
};
template <>
struct NumTraits<touchstone::float8_e5m2> : GenericNumTraits<float> {
  enum { RequireInitialization = 0 };
};
template <>
struct NumTraits<touchstone::float16> : GenericNumTraits<float> {
  enum { RequireInitialization = 0 };
};
template <>
struct NumTraits<touchstone::bfloat16> : GenericNumTraits<float> {
  enum { RequireInitialization = 0 };
};
}  // namespace Eigen

namespace touchstone::interp {

template <class T>
using ArrayMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstArrayMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

/// A run of elements of one dtype, in row-major order of the shape they belong to: its own, or a
/// part of somebody else's memory. Reused from run to run: resize keeps the memory.
class Block {
 public:
  void resize(DType dtype, std::int64_t count) {
    foreign_ = nullptr;
    dtype_ = dtype;
    count_ = count;
    const auto bytes = static_cast<Eigen::Index>(static_cast<std::size_t>(count) * itemsize(dtype));
    if (bytes_.size() < bytes) bytes_.resize(bytes);
  }
  /// Reads `count` elements at `memory`, until the next resize; there they must stay as they are.
  void refer(DType dtype, std::int64_t count, const std::byte* memory) {
    foreign_ = memory;
    dtype_ = dtype;
    count_ = count;
  }
  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  std::byte* data() { return reinterpret_cast<std::byte*>(bytes_.data()); }
  const std::byte* data() const {
    return foreign_ != nullptr ? foreign_ : reinterpret_cast<const std::byte*>(bytes_.data());
  }

  template <class T>
  T* begin() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  template <class T>
  const T* begin() const {
    return reinterpret_cast<const T*>(data());
  }

 private:
  DType dtype_ = DType::Bool;
  std::int64_t count_ = 0;
  const std::byte* foreign_ = nullptr;
  Eigen::Array<std::uint8_t, Eigen::Dynamic, 1> bytes_;  // aligned for every type
};

}  // namespace touchstone::interp
