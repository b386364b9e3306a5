#include "touchstone/symbolic/node/sint.h"

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone {

sint::sint(symbolic::Node node) {
  if (const auto value = node.constant())
    value_ = *value;
  else
    value_ = node;
}

void sint::refuse() const {
  throw ShapeError(fmt::format("{} is not a number; bind its variables first", str()));
}

symbolic::Node sint::node() const {
  if (is_int()) return symbolic::Node(std::get<std::int64_t>(value_));
  return std::get<symbolic::Node>(value_);
}

std::optional<std::int64_t> sint::min() const {
  return is_int() ? std::get<std::int64_t>(value_) : std::get<symbolic::Node>(value_).min();
}

std::optional<std::int64_t> sint::max() const {
  return is_int() ? std::get<std::int64_t>(value_) : std::get<symbolic::Node>(value_).max();
}

std::int64_t sint::evaluate(const symbolic::Values& values) const {
  return is_int() ? std::get<std::int64_t>(value_)
                  : symbolic::evaluate(std::get<symbolic::Node>(value_), values);
}

std::string sint::str() const {
  return is_int() ? std::to_string(std::get<std::int64_t>(value_))
                  : symbolic::render(std::get<symbolic::Node>(value_));
}

std::uint64_t sint::hash() const {
  if (is_int()) return hash_mix(1, static_cast<std::uint64_t>(std::get<std::int64_t>(value_)));
  const symbolic::Node& n = std::get<symbolic::Node>(value_);
  return hash_mix(2, (*n.context())[n.id()].hash);
}

sint operator+(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return checked_add(a.as_int(), b.as_int());
  return a.node() + b.node();
}

sint operator-(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return checked_sub(a.as_int(), b.as_int());
  return a.node() - b.node();
}

sint operator*(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return checked_mul(a.as_int(), b.as_int());
  return a.node() * b.node();
}

sint floor_div(const sint& a, const sint& b) {
  if (b == sint(0)) throw Error("floor_div: division by zero; the divisor must not be 0");
  if (a.is_int() && b.is_int())
    return b.as_int() == -1 ? checked_sub(0, a.as_int()) : floor_div(a.as_int(), b.as_int());
  return symbolic::floor_div(a.node(), b.node());
}

sint floor_mod(const sint& a, const sint& b) {
  if (b == sint(0)) throw Error("floor_mod: modulo by zero; the divisor must not be 0");
  if (a.is_int() && b.is_int()) return b.as_int() == -1 ? 0 : floor_mod(a.as_int(), b.as_int());
  return symbolic::floor_mod(a.node(), b.node());
}

bool certainly_lt(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return a.as_int() < b.as_int();
  return symbolic::lt(a.node(), b.node()).constant() == 1;
}

bool certainly_le(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return a.as_int() <= b.as_int();
  return symbolic::le(a.node(), b.node()).constant() == 1;
}

bool certainly_eq(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
  return symbolic::eq(a.node(), b.node()).constant() == 1;
}

}  // namespace touchstone
