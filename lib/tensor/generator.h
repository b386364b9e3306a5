#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

enum class Replacement : bool { No, Yes };

/// A stream of random numbers that a seed names (device/threefry.h), and a place in it. Each draw
/// takes the next elements of the stream, so that a program with one seed has one result, the same
/// bits on every device. A function that is noted by a TensorJit takes new ones at each call, with
/// the bits of the function itself; the generator must be there as long as the TensorJit is called.
class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::uint64_t position = 0);
  ~Generator();
  Generator(const Generator& from);
  Generator& operator=(const Generator& from);

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
  /// Uniform in (-b, b) with b = 1 / sqrt(elements), the lineage's start of weights.
  Tensor scaled_uniform(const Shape& shape, const TensorOptions& options = {});
  /// `count` int32 positions along the last axis of weights (..., n), each position as often as its
  /// weight says (they need not add up to 1); without Replacement no position twice, drawn by
  /// exponential keys (Efraimidis and Spirakis, 2006), where a position of weight 0 comes only
  /// after all others. Weights below 0 and rows of zeros give positions of no meaning. Throws
  /// ShapeError where the axis has no elements, or fewer than are drawn without replacement.
  Tensor multinomial(const Tensor& weights, std::int64_t count,
                     Replacement replacement = Replacement::No);
  /// 0, 1, ..., n-1 in random order (Fisher-Yates). Throws Error in a function that is noted by a
  /// TensorJit: numbers of the host would be the same at each replay.
  std::vector<std::int64_t> permutation(std::int64_t n);

  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }  // elements taken so far

  /// Where a generator is; null once it is gone.
  struct Handle {
    Generator* generator;
  };

 private:
  using Draw = std::function<Tensor(Generator&)>;
  /// What `draw` gives, or what a TensorJit drew in its place.
  Tensor drawn(const std::string& what, const Draw& draw);
  std::uint64_t take(std::int64_t count);
  Tensor normal_now(const Shape& shape, double mean, double deviation,
                    const TensorOptions& options);
  Tensor randint_now(const Shape& shape, std::int64_t low, std::uint64_t range,
                     const TensorOptions& options);

  std::uint64_t seed_, position_, number_;  // as of TensorNode
  std::shared_ptr<Handle> handle_;
};

/// The generator of this thread for those who name none; its seed is 0 to begin with.
Generator& default_generator();
/// It begins anew from `seed`.
void manual_seed(std::uint64_t seed);
/// Drawn from it: uniform in [0, 1), and normal.
Tensor rand(const Shape& shape, const TensorOptions& options = {});
Tensor randn(const Shape& shape, const TensorOptions& options = {});
Tensor rand_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
Tensor randn_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);

/// Zeros a part `p` of the elements, [0, 1), drawn from `generator`, and scales the rest by
/// 1 / (1 - p).
Tensor dropout(const Tensor& x, double p, Generator& generator);

}  // namespace touchstone
