// Scans: element i of the result is a reduction of elements 0..i.
#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {
namespace {

constexpr std::int64_t kChunk = 16, kDirect = 64;

// A scan by windows: reduces all windows that end at an element. Long axes are scanned in chunks,
// whose totals are scanned in turn.
struct Scan {
  Tensor (*reduce)(const Tensor& x);  // over the last axis
  Tensor (*combine)(const Tensor& a, const Tensor& b);
  Number neutral;

  // Pads an axis with neutral elements before and after.
  Tensor padded(const Tensor& x, int axis, std::int64_t before, std::int64_t after) const {
    Padding padding(static_cast<std::size_t>(x.rank()), {0, 0});
    padding[static_cast<std::size_t>(axis)] = {before, after};
    return x.pad(padding, PadMode::Constant, neutral);
  }

  Tensor along(const Tensor& x, int axis) const {
    const std::int64_t size = x.size(axis);
    if (size <= 1) return x;
    if (size <= kDirect) return reduce(padded(x, axis, size - 1, 0).unfold(axis, size));
    const std::int64_t chunks = ceil_div(size, kChunk);
    const Tensor inner =
        along(padded(x, axis, 0, chunks * kChunk - size).unflatten(axis, {chunks, kChunk}),
              axis + 1)
            .contiguous();
    const Tensor totals = along(inner.narrow(axis + 1, kChunk - 1, 1).squeeze(axis + 1), axis);
    const Tensor carried = padded(totals, axis, 1, 0).narrow(axis, 0, chunks).unsqueeze(axis + 1);
    Shape whole = x.shape();
    whole[static_cast<std::size_t>(axis)] = chunks * kChunk;
    return combine(inner, carried).reshape(whole).narrow(axis, 0, size);
  }

  Tensor operator()(const Tensor& x, int axis) const { return along(x, x.normal_axis(axis)); }
};

}  // namespace

Tensor Tensor::cumsum(int axis) const {
  const OriginScope origin("cumsum");
  const Tensor wide = is_float(dtype()) ? *this : cast(sum_accumulator(dtype()));
  const Scan scan = {[](const Tensor& x) { return x.sum({-1}); },
                     [](const Tensor& a, const Tensor& b) { return a + b; }, 0};
  return scan(wide, axis);
}

Tensor Tensor::cummax(int axis) const {
  const OriginScope origin("cummax");
  const Scan scan = {[](const Tensor& x) { return x.max({-1}); },
                     [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
                     least_number(dtype())};
  return scan(*this, axis);
}

Tensor Tensor::cummin(int axis) const {
  const OriginScope origin("cummin");
  if (is_float(dtype())) return -(-*this).cummax(axis);
  const Number ones = is_bool(dtype()) ? Number(true) : Number(-1);
  const auto complement = [&](const Tensor& x) {
    return Tensor(LazyBuffer::e(Op::Xor, {x.lazy(), full_like(x, ones).lazy()}));
  };
  return complement(complement(*this).cummax(axis));
}

Tensor Tensor::cumprod(int axis) const {
  const OriginScope origin("cumprod");
  const int at = normal_axis(axis);
  Tensor x = (is_float(dtype()) ? *this : cast(sum_accumulator(dtype()))).movedim(at, -1);
  const std::int64_t size = x.size(-1);
  // Each round doubles the number of elements in the products.
  int round = 0;
  for (std::int64_t reach = 1; reach < size; reach *= 2) {
    Padding padding(static_cast<std::size_t>(x.rank()), {0, 0});
    padding.back().first = reach;
    x = x * x.narrow(-1, 0, size - reach).pad(padding, PadMode::Constant, 1);
    if (++round % 3 == 0) x = x.contiguous();
  }
  return x.movedim(-1, at);
}

}  // namespace touchstone
