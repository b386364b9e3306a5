#include "touchstone/tensor/generator.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "touchstone/device/threefry.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {
namespace {

void check_float(const char* what, DType dtype) {
  if (!is_float(dtype))
    throw DTypeError(
        fmt::format("{}: draws floats, not {}; draw float32 and cast", what, name(dtype)));
}

struct Fans {
  double in, out;
};
Fans fans(const Shape& shape) {
  if (shape.size() < 2)
    throw ShapeError(
        fmt::format("glorot, kaiming: shape {} has no inputs and outputs; expected (out, in, ...)",
                    str(shape)));
  double each = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) each *= static_cast<double>(shape[i].as_int());
  return {static_cast<double>(shape[1].as_int()) * each,
          static_cast<double>(shape[0].as_int()) * each};
}

std::string described(const char* what, const Shape& shape, const TensorOptions& options) {
  return fmt::format("{} of {} {} on {}", what, name(options.dtype), str(shape), options.device);
}

}  // namespace

Generator::Generator(std::uint64_t seed, std::uint64_t position)
    : Generator(seed, position, TensorNode::next_number()) {}
Generator::Generator(std::uint64_t seed, std::uint64_t position, std::uint64_t number)
    : seed_(seed), position_(position), number_(number), handle_(std::make_shared<Handle>(this)) {}
Generator::~Generator() { handle_->generator = nullptr; }
Generator::Generator(const Generator& from) : Generator(from.seed_, from.position_) {}
Generator& Generator::operator=(const Generator& from) {
  if (this == &from) return *this;
  if (const StateLog* const log = StateLog::current(); log != nullptr && log->was_there(number_))
    throw Error(
        "a function captured by a TensorJit seeds a generator, which a replay would not repeat; "
        "seed it before the call");
  seed_ = from.seed_;
  position_ = from.position_;
  return *this;
}

Tensor Generator::drawn(const std::string& what, const Draw& draw) {
  if (StateLog* const log = StateLog::current(); log != nullptr && log->was_there(number_))
    return log->draw({what, handle_, draw});
  if (StateLog::current() == nullptr && lazy::CacheCollector::current() != nullptr)
    throw Error(
        "jit: the function draws random numbers, which every replay would repeat; capture it with "
        "a TensorJit, or pass them as an input");
  return draw(*this);
}

std::uint64_t Generator::take(std::int64_t count) {
  return std::exchange(position_, position_ + static_cast<std::uint64_t>(count));
}

Tensor Generator::uniform(const Shape& shape, double low, double high,
                          const TensorOptions& options) {
  check_float("uniform", options.dtype);
  Device::require(options.device);
  return drawn(described("uniform", shape, options), [=](Generator& g) {
    const std::int64_t count = max_elements(shape);
    const Tensor unit(LazyBuffer::random({g.seed_, g.take(count)}, shape, options.device));
    const Tensor u = unit.cast(options.dtype);
    return low == 0 && high == 1 ? u : u * (high - low) + low;
  });
}

Tensor Generator::normal(const Shape& shape, double mean, double deviation,
                         const TensorOptions& options) {
  check_float("normal", options.dtype);
  return drawn(described("normal", shape, options),
               [=](Generator& g) { return g.normal_now(shape, mean, deviation, options); });
}

Tensor Generator::normal_now(const Shape& shape, double mean, double deviation,
                             const TensorOptions& options) {
  const auto count = static_cast<std::size_t>(max_elements(shape));
  const std::size_t pairs = (count + 1) / 2;
  std::vector<std::uint32_t> bits(2 * pairs);
  random_bits(seed_, take(static_cast<std::int64_t>(bits.size())), bits);
  std::vector<double> values;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double u = (bits[2 * i] + 1.0) / 4294967296.0;  // in (0, 1]
    const double angle = 2 * std::numbers::pi * (bits[2 * i + 1] / 4294967296.0);
    const double radius = deviation * std::sqrt(-2 * std::log(u));
    values.push_back(mean + radius * std::cos(angle));
    values.push_back(mean + radius * std::sin(angle));
  }
  values.resize(count);
  return with_storage(options.dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<T> stored;
    for (const double v : values) stored.push_back(convert<T>(v));
    return Tensor::from<T>(stored, shape, options.device);
  });
}

Tensor Generator::randint(const Shape& shape, std::int64_t low, std::int64_t high,
                          const TensorOptions& options) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (low >= high || range > std::uint64_t{1} << 32)
    throw Error(fmt::format("randint: [{}, {}) is empty or has more than 2^32 numbers", low, high));
  if (!is_integer(options.dtype))
    throw DTypeError(
        fmt::format("randint: integers as {}; say {{DType::Int32, device}}, or cast "
                    "the result",
                    name(options.dtype)));
  if (Scalar::from_int(options.dtype, low).to_double() != static_cast<double>(low) ||
      Scalar::from_int(options.dtype, high - 1).to_double() != static_cast<double>(high - 1))
    throw DTypeError(
        fmt::format("randint: {} cannot represent the numbers of [{}, {}); use a wider integer",
                    name(options.dtype), low, high));
  return drawn(described("randint", shape, options),
               [=](Generator& g) { return g.randint_now(shape, low, range, options); });
}

Tensor Generator::randint_now(const Shape& shape, std::int64_t low, std::uint64_t range,
                              const TensorOptions& options) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(max_elements(shape)));
  random_bits(seed_, take(static_cast<std::int64_t>(bits.size())), bits);
  return with_storage(options.dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<T> values;
    // The high word of the product; a range of 2^32 would need a 65th bit.
    for (const std::uint32_t b : bits) {
      const std::uint64_t at = (range >> 32) != 0 ? b : (b * range) >> 32;
      values.push_back(convert<T>(low + static_cast<std::int64_t>(at)));
    }
    return Tensor::from<T>(values, shape, options.device);
  });
}

Tensor Generator::glorot_uniform(const Shape& shape, const TensorOptions& options) {
  const Fans f = fans(shape);
  const double bound = std::sqrt(6 / (f.in + f.out));
  return uniform(shape, -bound, bound, options);
}
Tensor Generator::glorot_normal(const Shape& shape, const TensorOptions& options) {
  const Fans f = fans(shape);
  return normal(shape, 0, std::sqrt(2 / (f.in + f.out)), options);
}
Tensor Generator::kaiming_uniform(const Shape& shape, const TensorOptions& options) {
  const double bound = std::sqrt(6 / fans(shape).in);
  return uniform(shape, -bound, bound, options);
}
Tensor Generator::kaiming_normal(const Shape& shape, const TensorOptions& options) {
  return normal(shape, 0, std::sqrt(2 / fans(shape).in), options);
}

Tensor Generator::scaled_uniform(const Shape& shape, const TensorOptions& options) {
  const double bound = 1 / std::sqrt(static_cast<double>(max_elements(shape)));
  return uniform(shape, -bound, bound, options);
}

Tensor Generator::multinomial(const Tensor& weights, std::int64_t count, Replacement replacement) {
  if (weights.rank() < 1 || weights.size(-1) < 1 || count < 0 ||
      (replacement == Replacement::No && count > weights.size(-1)))
    throw ShapeError(
        fmt::format("multinomial: {} positions of weights {}; expected 0 or more, and without "
                    "replacement at most the size of the last axis, which is 1 or more",
                    count, str(weights.shape())));
  const Tensor wide = weights.detach().cast(DType::Float64);
  const std::string& device = weights.device();
  Shape shape = weights.shape();
  if (replacement == Replacement::No) {
    const Tensor exponential = -(1 - uniform(shape, 0, 1, {DType::Float64, device})).log();
    return topk((exponential / wide).contiguous(), count, -1, Order::Ascending).indices;
  }
  shape.back() = count;
  // u < 1 has 24 bits, so in float64 u * total stays below the total and in its interval.
  const Tensor ends = wide.cumsum(-1).contiguous();
  const Tensor at =
      uniform(shape, 0, 1, {DType::Float64, device}) * ends.narrow(-1, wide.size(-1) - 1, 1);
  const Tensor passed = (at.unsqueeze(-1) >= ends.unsqueeze(-2)).cast(DType::Int32).sum({-1});
  // A total of 0, below 0 or infinite would pass all of the ends.
  return minimum(passed, weights.size(-1) - 1);
}

std::vector<std::int64_t> Generator::permutation(std::int64_t n) {
  if (const StateLog* const log = StateLog::current(); log != nullptr && log->was_there(number_))
    throw Error(
        "permutation: a function captured by a TensorJit draws numbers on the host, which would be "
        "the same at each replay; draw them outside and pass them as an input");
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::uint32_t> bits(order.size());
  random_bits(seed_, take(n), bits);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[(std::uint64_t{bits[i - 1]} * i) >> 32]);
  return order;
}

Generator& default_generator() {
  // Number 0: older than any log, also if a captured function is its first user.
  static thread_local Generator generator(0, 0, 0);
  return generator;
}
void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }
Tensor rand(const Shape& shape, const TensorOptions& options) {
  return default_generator().uniform(shape, 0, 1, options);
}
Tensor randn(const Shape& shape, const TensorOptions& options) {
  return default_generator().normal(shape, 0, 1, options);
}
Tensor rand_like(const Tensor& x, std::optional<DType> dtype) {
  return rand(x.shape(), {dtype.value_or(x.dtype()), x.device()});
}
Tensor randn_like(const Tensor& x, std::optional<DType> dtype) {
  return randn(x.shape(), {dtype.value_or(x.dtype()), x.device()});
}

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  if (!(p >= 0 && p < 1))
    throw Error(fmt::format("dropout: a part of {} cannot be dropped; expected 0 <= p < 1", p));
  const Tensor keep = generator.uniform(x.shape(), 0, 1, {DType::Float32, x.device()}) >= p;
  return x * keep.cast(x.dtype()) * (1 / (1 - p));
}

}  // namespace touchstone
