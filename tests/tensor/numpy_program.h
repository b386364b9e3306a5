#pragma once

#include <array>
#include <limits>
#include <optional>

#include "tensor_check.h"

// Programs of tensor operations, in the format of tests/tensor/numpy_programs.py.
namespace touchstone::numpy {

using Ts = std::vector<Tensor>;

inline constexpr std::array kTypes = {DType::Float64, DType::Float32, DType::Float64, DType::Int32,
                                      DType::Int64,   DType::UInt8,   DType::Bool};

inline std::string json(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
inline std::string json(const std::vector<int>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
inline std::string json(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const sint& s : shape) sizes.push_back(s.as_int());
  return json(sizes);
}

inline std::string json(const std::optional<std::int64_t>& n) {
  return n ? fmt::format("{}", *n) : "null";
}
inline std::string json(const Slice& s) {
  return fmt::format("[{}, {}, {}]", json(s.begin), json(s.end), s.step);
}

inline std::string hex(const Tensor& x) {
  std::string text;
  with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const auto value : x.read<T>()) {
      const T stored = value;
      for (const std::byte b : std::as_bytes(std::span(&stored, 1)))
        text += fmt::format("{:02x}", std::to_integer<int>(b));
    }
  });
  return text;
}

inline Tensor any_tensor(const Shape& shape, DType dtype, bool special) {
  Doubles values = some(max_elements(shape), -4, 4, static_cast<std::uint64_t>(any_in(1, 100000)));
  constexpr std::array kSpecial = {0.0,
                                   -0.0,
                                   1.0,
                                   -2.5,
                                   0.5,
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
  if (special && is_float(dtype))
    for (double& v : values)
      if (any_in(0, 3) == 0) v = kSpecial[static_cast<std::size_t>(any_in(0, 7))];
  if (!is_float(dtype))
    for (double& v : values)
      v = is_unsigned(dtype) ? std::floor(std::abs(v))
          : is_bool(dtype)   ? std::floor(std::abs(v) / 2)
                             : std::floor(v);
  return Tensor::from<double>(values, shape).cast(dtype).contiguous().realize();
}

// A growing program. A draw without suitable operands does nothing.
class Program {
 public:
  Program() {
    const bool special = any_in(0, 2) == 0;
    for (std::int64_t i = any_in(2, 4); i > 0; --i)
      values_.push_back(
          any_tensor(any_shape(), kTypes[static_cast<std::size_t>(any_in(0, 6))], special));
  }

  static Shape any_shape(int low = 0, int high = 3) {
    Shape shape;
    for (std::int64_t rank = any_in(low, high); rank > 0; --rank)
      shape.emplace_back(any_in(0, 9) == 0 ? 0 : any_in(1, 4));
    return shape;
  }

  template <class Suits>
  std::optional<std::size_t> pick(Suits suits) const {
    const auto start =
        static_cast<std::size_t>(any_in(0, static_cast<std::int64_t>(values_.size()) - 1));
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (const std::size_t at = (start + i) % values_.size(); suits(values_[at])) return at;
    return std::nullopt;
  }
  const Tensor& operator[](std::size_t i) const { return values_[i]; }
  std::size_t input(const Tensor& x) {
    values_.push_back(x);
    return values_.size() - 1;
  }
  void step(std::string_view op, const std::string& args, const std::vector<std::size_t>& operands,
            const Tensor& result) {
    if (result.elements() > 3000) return;
    values_.push_back(result);
    steps_.push_back(fmt::format(R"({{"op": "{}", "args": {{{}}}, "in": [{}], "out": {}}})", op,
                                 args, fmt::join(operands, ", "), values_.size() - 1));
    last_ = values_.size() - 1;
  }

  // One line. The last result is also computed in one piece: its bits equal the stepwise ones.
  std::string line() const {
    const std::string whole = last_ ? hex(values_[*last_]) : "";
    std::vector<Tensor> stored;
    for (const Tensor& v : values_) stored.push_back(v.contiguous());
    realize(stored);
    std::string text;
    for (const Tensor& v : stored) {
      const std::string bits = hex(v);
      text += fmt::format(R"({}{{"dtype": "{}", "shape": {}, "hex": "{}"}})",
                          text.empty() ? "" : ", ", name(v.dtype()), json(v.shape()), bits);
      if (last_ == static_cast<std::size_t>(&v - stored.data())) {
        EXPECT_EQ(bits, whole) << "of " << steps_.back();
      }
    }
    return fmt::format(R"({{"values": [{}], "steps": [{}]}})", text, fmt::join(steps_, ", "));
  }

 private:
  Ts values_;
  std::vector<std::string> steps_;
  std::optional<std::size_t> last_;  // of the steps' results, index into the values
};

}  // namespace touchstone::numpy
