#include <limits>
#include <span>
#include <type_traits>

#include "touchstone/interp/device/exact_sum.h"
#include "touchstone/interp/device/fxn_for_op.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone::interp {
namespace {

template <class T>
class FloatSum : public Reducer {
 public:
  explicit FloatSum(DType accumulator) : accumulator_(accumulator) {}
  void feed(const Block& in, std::int64_t first, std::int64_t count) override {
    sum_.add(std::span(in.begin<T>() + first, static_cast<std::size_t>(count)));
  }
  void finish(Block& out, std::int64_t at) override {
    using Usual = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T& result = out.begin<T>()[at];
    if (accumulator_ == dtype_v<Usual>)
      result = convert<T>(sum_.template result<Usual>());
    else
      result = convert(sum_.round_to(accumulator_), dtype_v<T>).template as<T>();
    sum_ = {};
  }
  std::unique_ptr<Reducer> clone() const override { return std::make_unique<FloatSum>(*this); }
  void merge(const Reducer& other) override {
    sum_.merge(static_cast<const FloatSum&>(other).sum_);
  }

 private:
  DType accumulator_;
  ExactSum<T> sum_;
};

// Wrapping at 2^64 and then narrowing equals wrapping at the accumulator's width throughout.
template <class T>
class IntegerSum : public Reducer {
 public:
  explicit IntegerSum(DType accumulator) : accumulator_(accumulator) {}
  void feed(const Block& in, std::int64_t first, std::int64_t count) override {
    const T* values = in.begin<T>() + first;
    for (std::int64_t i = 0; i < count; ++i) sum_ += static_cast<std::uint64_t>(values[i]);
  }
  void finish(Block& out, std::int64_t at) override {
    const Scalar sum = convert(Scalar::of(sum_), accumulator_);
    out.begin<T>()[at] = convert(sum, dtype_v<T>).template as<T>();
    sum_ = 0;
  }
  std::unique_ptr<Reducer> clone() const override { return std::make_unique<IntegerSum>(*this); }
  void merge(const Reducer& other) override { sum_ += static_cast<const IntegerSum&>(other).sum_; }

 private:
  DType accumulator_;
  std::uint64_t sum_ = 0;
};

template <class T>
constexpr T least() {
  if constexpr (is_float_storage<T>)
    return convert<T>(-std::numeric_limits<float>::infinity());
  else
    return std::numeric_limits<T>::min();
}

template <class T>
class Maximum : public Reducer {
 public:
  void feed(const Block& in, std::int64_t first, std::int64_t count) override {
    const T* values = in.begin<T>() + first;
    for (std::int64_t i = 0; i < count; ++i) max_ = scalar::max(max_, values[i]);
  }
  void finish(Block& out, std::int64_t at) override {
    out.begin<T>()[at] = max_;
    max_ = least<T>();
  }
  std::unique_ptr<Reducer> clone() const override { return std::make_unique<Maximum>(*this); }
  void merge(const Reducer& other) override {
    max_ = scalar::max(max_, static_cast<const Maximum&>(other).max_);
  }

 private:
  T max_ = least<T>();
};

}  // namespace

std::unique_ptr<Reducer> reducer_for_op(Op op, DType dtype, DType accumulator) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<Reducer> {
    if (op == Op::ReduceMax) return std::make_unique<Maximum<T>>();
    if constexpr (is_float_storage<T>)
      return std::make_unique<FloatSum<T>>(accumulator);
    else
      return std::make_unique<IntegerSum<T>>(accumulator);
  });
}

}  // namespace touchstone::interp
