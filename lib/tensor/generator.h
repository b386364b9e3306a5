#pragma once

#include <cstdint>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A stream of random numbers that a seed names (device/threefry.h), and a place in it. Each draw
/// takes the next elements of the stream, so that a program with one seed has one result, the same
/// bits on every device.
class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::uint64_t position = 0)
      : seed_(seed), position_(position) {}

  /// Uniform in [low, high), lazily: low + (high - low) * u with u of 24 random bits.
  /// Floats only; others than float32 are cast from it.
  Tensor uniform(const Shape& shape, double low = 0, double high = 1,
                 const TensorOptions& options = {});
  /// Normal, by the Box-Muller transform in double on the host, written to the device at once.
  /// Takes an even number of elements of the stream.
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1,
                const TensorOptions& options = {});
  /// Integers in [low, high), written to the device at once; as even as 32 random bits make them.
  /// Throws Error where the range is empty or has more than 2^32 numbers, DTypeError for a type
  /// that is no integer or does not hold it.
  Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high,
                 const TensorOptions& options = {.dtype = DType::Int32});
  /// Weights of shape (out, in, ...), where in and out are multiplied by the sizes behind them.
  /// Glorot and Bengio (AISTATS 2010): variance 2 / (in + out); He et al. (ICCV 2015), for relu:
  /// variance 2 / in. Throws ShapeError below rank 2.
  Tensor glorot_uniform(const Shape& shape, const TensorOptions& options = {});
  Tensor glorot_normal(const Shape& shape, const TensorOptions& options = {});
  Tensor kaiming_uniform(const Shape& shape, const TensorOptions& options = {});
  Tensor kaiming_normal(const Shape& shape, const TensorOptions& options = {});
  /// 0, 1, ..., n-1 in random order (Fisher-Yates).
  std::vector<std::int64_t> permutation(std::int64_t n);

  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }  // elements taken so far

 private:
  std::uint64_t take(std::int64_t count);
  std::uint64_t seed_, position_;
};

/// Zeros a part `p` of the elements, [0, 1), drawn from `generator`, and scales the rest by
/// 1 / (1 - p).
Tensor dropout(const Tensor& x, double p, Generator& generator);

}  // namespace touchstone
