#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

class StateLog;

enum class Replacement : bool { No, Yes };

/// A random stream named by a seed (device/threefry.h), and a position in it. Each draw takes the
/// next elements, so a program with one seed has the same result, bit for bit, on every device. A
/// function captured by a TensorJit draws new numbers at each call, the same that the function
/// itself would draw; the generator must outlive the TensorJit.
class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::uint64_t position = 0);
  ~Generator();
  Generator(const Generator& from);
  Generator& operator=(const Generator& from);

  /// Uniform in [low, high), lazily: low + (high - low) * u with u of 24 random bits. Floats only;
  /// types other than float32 are cast from float32.
  Tensor uniform(const Shape& shape, double low = 0, double high = 1,
                 const TensorOptions& options = {});
  /// Normal, by the Box-Muller transform in double on the host, written to the device at once.
  /// Takes an even number of stream elements.
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1,
                const TensorOptions& options = {});
  /// Integers in [low, high), written to the device at once; uniform up to the resolution of 32
  /// random bits. Throws Error if the range is empty or has more than 2^32 numbers, DTypeError if
  /// the type is not an integer or cannot hold the range.
  Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high,
                 const TensorOptions& options = {.dtype = DType::Int32});
  /// Initial weights of shape (out, in, ...); in and out are multiplied by the sizes after them.
  /// Glorot and Bengio (AISTATS 2010): variance 2 / (in + out); He et al. (ICCV 2015), for relu:
  /// variance 2 / in. Throws ShapeError below rank 2.
  Tensor glorot_uniform(const Shape& shape, const TensorOptions& options = {});
  Tensor glorot_normal(const Shape& shape, const TensorOptions& options = {});
  Tensor kaiming_uniform(const Shape& shape, const TensorOptions& options = {});
  Tensor kaiming_normal(const Shape& shape, const TensorOptions& options = {});
  /// Uniform in (-b, b) with b = 1 / sqrt(elements), the lineage's initial weights.
  Tensor scaled_uniform(const Shape& shape, const TensorOptions& options = {});
  /// Draws `count` int32 positions along the last axis of weights (..., n), with probability
  /// proportional to weight (weights need not add up to 1). Without Replacement positions are
  /// distinct, drawn by exponential keys (Efraimidis and Spirakis, 2006); a position of weight 0
  /// then comes only after all others. Negative weights and all-zero rows give meaningless
  /// positions. Throws ShapeError if the axis is empty or too small to draw without replacement.
  Tensor multinomial(const Tensor& weights, std::int64_t count,
                     Replacement replacement = Replacement::No);
  /// 0, 1, ..., n-1 in random order (Fisher-Yates). Throws Error in a function captured by a
  /// TensorJit, which would replay the same host numbers.
  std::vector<std::int64_t> permutation(std::int64_t n);

  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }  // elements taken so far

  /// Points to a generator; null once it is destroyed.
  struct Handle {
    Generator* generator;
  };

 private:
  friend class StateLog;
  friend Generator& default_generator();
  Generator(std::uint64_t seed, std::uint64_t position, std::uint64_t number);
  using Draw = std::function<Tensor(Generator&)>;
  /// The result of `draw`, or the tensor that a TensorJit drew in its place.
  Tensor drawn(const std::string& what, const Draw& draw);
  std::uint64_t take(std::int64_t count);
  Tensor normal_now(const Shape& shape, double mean, double deviation,
                    const TensorOptions& options);
  Tensor randint_now(const Shape& shape, std::int64_t low, std::uint64_t range,
                     const TensorOptions& options);

  std::uint64_t seed_, position_, number_;  // number_: numbered as TensorNode
  std::shared_ptr<Handle> handle_;
};

/// This thread's default generator; its initial seed is 0.
Generator& default_generator();
/// Restarts the default generator from `seed`.
void manual_seed(std::uint64_t seed);
/// Draws from the default generator: uniform in [0, 1), and normal.
Tensor rand(const Shape& shape, const TensorOptions& options = {});
Tensor randn(const Shape& shape, const TensorOptions& options = {});
Tensor rand_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
Tensor randn_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);

/// Zeros a random fraction `p`, in [0, 1), of the elements and scales the rest by 1 / (1 - p).
Tensor dropout(const Tensor& x, double p, Generator& generator);

}  // namespace touchstone
