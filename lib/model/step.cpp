#include "touchstone/model/step.h"

#include <cstring>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone::model {
namespace {

Scalar element(const HostArray& array, std::int64_t i) {
  std::uint64_t bits = 0;
  const std::size_t size = itemsize(array.dtype);
  std::memcpy(&bits, array.bytes.data() + static_cast<std::size_t>(i) * size, size);
  return Scalar::from_bits(array.dtype, bits);
}

}  // namespace

std::vector<double> reals_of(const HostArray& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < array.size(); ++i) out.push_back(element(array, i).to_double());
  return out;
}

std::vector<long double> exact_of(const HostArray& array) {
  std::vector<long double> out;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const Scalar v = element(array, i);
    out.push_back(array.dtype == DType::UInt64 ? static_cast<long double>(v.bits())
                  : is_float(array.dtype)      ? static_cast<long double>(v.to_double())
                                               : static_cast<long double>(v.to_int64()));
  }
  return out;
}

HostArray array_of(const Sizes& numbers, Sizes shape) {
  HostArray out{DType::Int64, std::move(shape), {}};
  for (const std::int64_t v : numbers) out.bytes.append(reinterpret_cast<const char*>(&v), 8);
  return out;
}
HostArray array_of(const std::vector<double>& numbers, Sizes shape, DType dtype) {
  HostArray out{dtype, std::move(shape), {}};
  for (const double v : numbers) {
    const std::uint64_t bits = Scalar::from_double(dtype, v).bits();
    out.bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
  }
  return out;
}

void Step::fail(const std::string& why) const { throw ParseError(op.place + ": " + why); }

const HostArray& Step::operand(std::size_t i) const {
  if (!has(i)) fail(fmt::format("input {} is missing", i + 1));
  return *x[i];
}
std::string Step::type(std::size_t i) const {
  return std::string(info(operand(i).dtype).short_name);
}

std::vector<std::string> Step::given(std::size_t begin) const {
  std::vector<std::string> out;
  for (std::size_t i = begin; i < x.size(); ++i)
    if (has(i)) out.push_back(names[i]);
  return out;
}

Sizes Step::ints(std::size_t i) const {
  const HostArray& array = operand(i);
  if (!is_integer(array.dtype))
    fail(fmt::format("input {} is of {}, not of integers", i + 1, touchstone::name(array.dtype)));
  if (array.size() > 1'000'000) fail(fmt::format("input {} has too many numbers", i + 1));
  Sizes out;
  for (std::int64_t k = 0; k < array.size(); ++k) {
    out.push_back(element(array, k).to_int64());
  }
  return out;
}
std::vector<double> Step::reals(std::size_t i) const { return reals_of(operand(i)); }

namespace {

template <class T>
const T* attribute(const Step& step, std::string_view name, std::string_view kind) {
  const auto it = step.op.attributes.find(name);
  if (it == step.op.attributes.end()) return nullptr;
  if (const T* value = std::get_if<T>(&it->second)) return value;
  step.fail(fmt::format("attribute '{}' is not {}", name, kind));
}

}  // namespace

std::int64_t Step::whole(std::string_view name, std::int64_t fallback) const {
  const auto* value = attribute<std::int64_t>(*this, name, "a whole number");
  return value == nullptr ? fallback : *value;
}
double Step::real(std::string_view name, double fallback) const {
  const auto* value = attribute<double>(*this, name, "a number");
  return value == nullptr ? fallback : *value;
}
std::string Step::text(std::string_view name, std::string_view fallback) const {
  const auto* value = attribute<std::string>(*this, name, "a text");
  return value == nullptr ? std::string(fallback) : *value;
}
Sizes Step::list(std::string_view name, Sizes fallback) const {
  const auto* value = attribute<Sizes>(*this, name, "a list of whole numbers");
  return value == nullptr ? std::move(fallback) : *value;
}
const HostArray* Step::tensor(std::string_view name) const {
  return attribute<HostArray>(*this, name, "a tensor");
}
int Step::axis_of(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) fail(fmt::format("axis {} of an array of {} axes", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
std::string Step::constant(HostArray array) {
  std::string name = fmt::format("const{}__{}", constants.size() + 1, id);
  constants.emplace_back(name, std::move(array));
  return name;
}

}  // namespace touchstone::model
