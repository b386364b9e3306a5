#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "touchstone/base/checked.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone {

/// An int or a symbolic expression, used for sizes, strides and offsets. A constant expression is
/// stored as an int, so equal values are equal objects. Arithmetic on two ints is checked.
class sint {
 public:
  sint(std::int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  sint(int value) : value_(value) {}               // NOLINT(google-explicit-constructor)
  sint(symbolic::Node node);                       // NOLINT(google-explicit-constructor)

  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  /// The int. Throws ShapeError naming the expression if it is symbolic.
  std::int64_t as_int() const {
    if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
    refuse();
  }
  symbolic::Node node() const;
  /// Sound inclusive bounds; nullopt if open or beyond 64 bits.
  std::optional<std::int64_t> min() const;
  std::optional<std::int64_t> max() const;
  /// The value at a point.
  std::int64_t evaluate(const symbolic::Values& values) const;
  std::string str() const;
  std::uint64_t hash() const;

  bool operator==(const sint&) const = default;

 private:
  [[noreturn]] void refuse() const;

  std::variant<std::int64_t, symbolic::Node> value_;
};

sint operator+(const sint& a, const sint& b);
sint operator-(const sint& a, const sint& b);
sint operator*(const sint& a, const sint& b);
sint floor_div(const sint& a, const sint& b);
sint floor_mod(const sint& a, const sint& b);

/// True if the relation holds for all values of the variables; false if it may fail.
bool certainly_lt(const sint& a, const sint& b);
bool certainly_le(const sint& a, const sint& b);
bool certainly_eq(const sint& a, const sint& b);

}  // namespace touchstone
