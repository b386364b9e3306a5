#include "touchstone/dtype/scalar.h"

#include <cmath>

namespace touchstone {

Scalar Scalar::from_bits(DType dtype, std::uint64_t bits) {
  if (itemsize(dtype) < 8) bits &= (std::uint64_t{1} << (8 * itemsize(dtype))) - 1;
  if (is_bool(dtype)) bits = bits != 0 ? 1 : 0;
  return Scalar(dtype, bits);
}

Scalar Scalar::from_double(DType dtype, double value) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) {
    return Scalar::of(touchstone::convert<T>(value));
  });
}

Scalar Scalar::from_int(DType dtype, std::int64_t value) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) {
    return Scalar::of(touchstone::convert<T>(value));
  });
}

double Scalar::to_double() const {
  return with_storage(
      dtype_, [&]<class T>(std::type_identity<T>) { return touchstone::convert<double>(as<T>()); });
}

std::int64_t Scalar::to_int64() const {
  return with_storage(dtype_, [&]<class T>(std::type_identity<T>) {
    return touchstone::convert<std::int64_t>(as<T>());
  });
}

bool Scalar::is_nan() const { return is_float(dtype_) && std::isnan(to_double()); }

Scalar convert(const Scalar& x, DType to) {
  return with_storage(x.dtype(), [&]<class From>(std::type_identity<From>) {
    return with_storage(to, [&]<class To>(std::type_identity<To>) {
      return Scalar::of(convert<To>(x.as<From>()));
    });
  });
}

Scalar bitcast(const Scalar& x, DType to) {
  if (itemsize(x.dtype()) != itemsize(to))
    throw DTypeError(fmt::format("bitcast: {} has {} bytes, {} has {}; sizes must agree",
                                 name(x.dtype()), itemsize(x.dtype()), name(to), itemsize(to)));
  return Scalar::from_bits(to, x.bits());
}

}  // namespace touchstone
