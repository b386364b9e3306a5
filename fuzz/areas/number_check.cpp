#include "touchstone/fuzz/areas/number_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/definitions/number_formats.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

class CastDraw {
 public:
  CastDraw(Chooser& chooser, DType from, DType to)
      : chooser_(chooser), from_(info(from)), to_(info(to)) {}

  std::uint64_t bits() {
    const int width = 8 * from_.itemsize;
    const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    if (is_bool(from_.dtype)) return chooser_.below(2);
    if (chooser_.chance(1, 4)) return any(64) & all;
    return (is_float(from_.dtype) ? number() : integer()) & all;
  }

 private:
  std::uint64_t any(int count) {
    return count == 0 ? 0 : chooser_.below(UINT64_MAX) >> (64 - count);
  }
  // One below, at or above the midpoint of two multiples of 2^low; the lower one is drawn below
  // 2^high, often as all ones.
  std::uint64_t halfway(int low, int high) {
    const std::uint64_t upper =
        chooser_.chance(1, 4) ? (std::uint64_t{1} << (high - low)) - 1 : any(high - low);
    const std::uint64_t middle = low == 0 ? 0 : std::uint64_t{1} << (low - 1);
    return (upper << low) + middle + chooser_.below(3) - 1;
  }

  std::uint64_t number() {
    const int stored = from_.digits - 1, exponents = 8 * from_.itemsize - 1 - stored;
    const std::uint64_t sign = chooser_.below(2) << (stored + exponents);
    const std::uint64_t last = (std::uint64_t{1} << exponents) - 1;
    if (chooser_.chance(1, 8)) {  // infinity, or a NaN with one bit of payload
      const std::uint64_t place = chooser_.below(static_cast<std::uint64_t>(stored) + 1);
      return sign | last << stored | (place == 0 ? 0 : std::uint64_t{1} << (place - 1));
    }
    // Bits that the result drops; more of them below its least normal number.
    const int fewer = is_float(to_.dtype) ? from_.digits - to_.digits : 0;
    const bool least = is_float(to_.dtype) && chooser_.chance(1, 2);
    const int exponent =
        least ? to_.min_exponent -
                    static_cast<int>(chooser_.below(static_cast<std::uint64_t>(to_.digits) + 3))
        : is_float(to_.dtype) && chooser_.chance(1, 2)
            ? to_.max_exponent + static_cast<int>(chooser_.below(2))
            : static_cast<int>(chooser_.between(-2, 66));
    const int below = fewer + (least ? std::max(to_.min_exponent - exponent, 0) : 0);
    const int low = chooser_.chance(3, 4) ? below : static_cast<int>(chooser_.below(64));
    const std::uint64_t mantissa = halfway(std::clamp(low, 0, stored), stored);
    const std::int64_t field = std::int64_t{exponent} - from_.min_exponent + 1;
    const auto biased = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(field, 0, static_cast<std::int64_t>(last) - 1));
    return (sign | biased << stored) + mantissa;
  }

  std::uint64_t integer() {
    const int length = static_cast<int>(chooser_.between(1, from_.digits));  // of the number
    const int held = is_float(to_.dtype) ? to_.digits : is_bool(to_.dtype) ? 0 : to_.digits;
    const int low = chooser_.chance(3, 4) ? length - held : static_cast<int>(chooser_.below(64));
    const std::uint64_t number =
        halfway(std::clamp(low, 0, length - 1), length - 1) + (std::uint64_t{1} << (length - 1));
    return chooser_.chance(1, 2) ? number : 0 - number;
  }

  Chooser& chooser_;
  const DTypeInfo from_, to_;
};

KernelCase kernel_of(const LazyOpPtr& value, HostArray input) {
  return {LazyOp::store(ShapeTracker::contiguous(value->shape()), value), {std::move(input)}, {}};
}

std::optional<std::string> not_right(const KernelCase& c, const HostArray& answer) {
  const Reply reply = untrue(c, answer);
  if (!reply.what) return std::nullopt;
  return fmt::format("{}, of\n{}", *reply.what, str(c));
}
std::optional<std::string> not_right(const KernelCase& c) {
  static const std::unique_ptr<Device> reference = make_interpreted_device("NUMBERS", 1);
  reference->forget_runners();
  return not_right(c, answer_of(c, *reference));
}

class Elements {
 public:
  Elements(DType dtype, std::int64_t count)
      : array_{
            dtype, {count}, std::string(static_cast<std::size_t>(count) * itemsize(dtype), '\0')} {}
  void set(std::int64_t i, std::uint64_t bits) {
    const std::size_t width = itemsize(array_.dtype);
    std::memcpy(&array_.bytes[static_cast<std::size_t>(i) * width], &bits, width);
  }
  LazyOpPtr load() const {
    return LazyOp::load(1, array_.dtype, ShapeTracker::contiguous({array_.shape[0]}));
  }
  HostArray take() { return std::move(array_); }

 private:
  HostArray array_;
};

}  // namespace

std::optional<std::string> cast_not_right(std::uint64_t choice) {
  constexpr int kCasts = 4;
  constexpr std::int64_t kElements = 24;
  RandomChooser chooser(choice, 1);
  const auto type = [&] { return static_cast<DType>(chooser.below(kDTypeCount)); };
  for (int cast = 0; cast < kCasts; ++cast) {
    const DType from = type(), to = type();
    CastDraw draw(chooser, from, to);
    Elements elements(from, kElements), each(to, kElements);
    for (std::int64_t i = 0; i < kElements; ++i) {
      const std::uint64_t bits = draw.bits();
      elements.set(i, bits);
      each.set(i, convert(Scalar::from_bits(from, bits), to).bits());
    }
    const LazyOpPtr value = LazyOp::cast(elements.load(), to);
    const KernelCase c = kernel_of(value, elements.take());
    if (auto what = not_right(c)) return what;
    if (auto what = not_right(c, each.take())) return "one by one, " + *what;
  }
  return std::nullopt;
}

namespace {

KernelCase drawn_sum(Chooser& chooser) {
  constexpr DType kTypes[] = {DType::Float32, DType::Float64, DType::Float32, DType::Float16,
                              DType::BFloat16};
  const DType dtype = kTypes[chooser.below(std::size(kTypes))];
  const int digits = info(dtype).digits;
  const auto up_to = [&](std::uint64_t n) { return static_cast<int>(chooser.below(n)); };
  const int first = dtype == DType::Float16 ? up_to(16) - 4 : up_to(60) - 30;
  std::vector<double> terms;
  const auto number = [&](int exponent) {
    const double drawn = 1 + static_cast<double>(chooser.below(std::uint64_t{1} << 52)) * 0x1p-52;
    const double value = definition::rounded(std::ldexp(drawn, exponent), dtype);
    return chooser.chance(1, 2) ? value : -value;
  };
  terms.push_back(number(first));
  if (chooser.chance(3, 4))
    terms.push_back(std::ldexp(chooser.chance(1, 2) ? 1 : -1, first - digits));
  if (chooser.chance(1, 2)) terms.push_back(number(first - digits - 1 - up_to(80)));
  if (chooser.chance(1, 2)) {  // two that cancel except for the last bit
    terms.push_back(number(first - 2 - up_to(40)));
    const std::uint64_t bits = definition::bits_of_float(dtype, terms.back());
    terms.push_back(-definition::float_of_bits(dtype, bits ^ 1));
  }
  for (std::uint64_t pairs = chooser.below(3); pairs > 0; --pairs) {
    terms.push_back(number(first + up_to(50)));
    terms.push_back(-terms.back());
  }
  const std::int64_t zeros = chooser.chance(1, 2) ? 0 : chooser.between(0, 300);
  terms.resize(terms.size() + static_cast<std::size_t>(zeros), 0);
  for (std::size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[chooser.below(i)]);
  const std::int64_t count = std::ssize(terms);
  Elements elements(dtype, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double term = definition::rounded(terms[static_cast<std::size_t>(i)], dtype);
    elements.set(i, definition::bits_of_float(dtype, std::isfinite(term) ? term : 0));
  }
  const LazyOpPtr value = LazyOp::reduce(Op::ReduceSum, elements.load(), {0});
  return kernel_of(value, elements.take());
}

}  // namespace

std::optional<std::string> sum_not_right(std::uint64_t choice) {
  constexpr int kSums = 4;
  RandomChooser chooser(choice, 2);
  for (int sum = 0; sum < kSums; ++sum)
    if (auto what = not_right(drawn_sum(chooser))) return what;
  return std::nullopt;
}

}  // namespace touchstone::fuzz
