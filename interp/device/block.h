#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <Eigen/Core>

#include "touchstone/dtype/scalar.h"

// Eigen traits of the narrow floats, only for storage and iteration; Eigen never computes with
// them.
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

/// A run of elements of one dtype in row-major order of their shape, in its own memory or referring
/// to other memory. Reused between runs: resize keeps the memory.
class Block {
 public:
  Block() = default;
  Block(const Block& other) { *this = other; }
  Block(Block&&) = default;
  ~Block() = default;
  Block& operator=(Block&&) = default;
  // Eigen would copy bytes one by one.
  Block& operator=(const Block& other) {
    if (this == &other) return *this;
    resize(other.dtype_, other.count_);
    foreign_ = other.foreign_;
    if (foreign_ == nullptr && count_ > 0)
      std::memcpy(data(), other.data(), static_cast<std::size_t>(count_) * itemsize(dtype_));
    return *this;
  }

  void resize(DType dtype, std::int64_t count) {
    foreign_ = nullptr;
    dtype_ = dtype;
    count_ = count;
    const auto bytes = static_cast<Eigen::Index>(static_cast<std::size_t>(count) * itemsize(dtype));
    if (bytes_.size() < bytes) bytes_.resize(bytes);
  }
  /// Refers to `count` elements at `memory`, which must stay unchanged until the next resize.
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
