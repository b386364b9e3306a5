#include "touchstone/interp/device/gather.h"

#include <cstdlib>
#include <type_traits>

#include "touchstone/base/error.h"
#include "touchstone/interp/device/block.h"

namespace touchstone::interp {
namespace {

using Eigen::Dynamic;
using Eigen::Index;

// Calls f with an unsigned type of the elements' width: they are copied as bits.
template <class F>
void with_width(std::size_t itemsize, F f) {
  switch (itemsize) {
    case 1: return f(std::type_identity<std::uint8_t>{});
    case 2: return f(std::type_identity<std::uint16_t>{});
    case 4: return f(std::type_identity<std::uint32_t>{});
    default: return f(std::type_identity<std::uint64_t>{});
  }
}

template <class T>
using StridedMap =
    Eigen::Map<const Eigen::Array<T, Dynamic, 1>, Eigen::Unaligned, Eigen::InnerStride<Dynamic>>;
// Column-major: the first axis varies fastest.
template <class T, class Stride>
using Box = Eigen::Map<T, Eigen::Unaligned, Stride>;

// The number of runs with equal length and stride whose bases are `step` apart, if that is less
// than the stride; else 1.
struct Rows {
  std::size_t count = 1;
  std::int64_t step = 0;
};
Rows rows_at(std::span<const AddressRun> runs) {
  const AddressRun& first = runs[0];
  if (runs.size() < 2 || !first.valid() || !runs[1].valid() || first.count == 1) return {};
  Rows rows{1, runs[1].base - first.base};
  if (std::abs(rows.step) >= std::abs(first.stride) || std::abs(first.stride) == 1) return {};
  std::int64_t base = first.base;
  for (; rows.count < runs.size(); ++rows.count)
    if (runs[rows.count] != AddressRun{first.count, base += rows.step, first.stride}) break;
  return rows;
}

template <class T>
void copy_row(const T* memory, const AddressRun& run, T* to) {
  ArrayMap<T> out(to, run.count);
  if (!run.valid())
    out.setZero();
  else if (run.stride == 1)
    out = ConstArrayMap<T>(memory + run.base, run.count);
  else if (run.stride == 0)
    out.setConstant(memory[run.base]);
  else
    out = StridedMap<T>(memory + run.base, run.count, Eigen::InnerStride<Dynamic>(run.stride));
}

// Copies rows that are closer to each other than their elements are, across the rows: each cache
// line is read once for all rows.
template <class T>
void copy_across(const T* memory, const AddressRun& run, const Rows& rows, T* to) {
  using Matrix = Eigen::Array<T, Dynamic, Dynamic, Eigen::ColMajor>;
  using Stride = Eigen::Stride<Dynamic, Dynamic>;
  const auto count = static_cast<Index>(rows.count);
  Box<Matrix, Stride> out(to, count, run.count, Stride(1, run.count));
  out =
      Box<const Matrix, Stride>(memory + run.base, count, run.count, Stride(run.stride, rows.step));
}

}  // namespace

void gather(std::size_t itemsize, const void* memory, std::span<const AddressRun> runs, void* to) {
  with_width(itemsize, [&]<class T>(std::type_identity<T>) {
    const T* from = static_cast<const T*>(memory);
    T* out = static_cast<T*>(to);
    for (std::size_t i = 0; i < runs.size();) {
      const AddressRun& run = runs[i];
      const Rows rows = rows_at(runs.subspan(i));
      rows.count > 1 ? copy_across(from, run, rows, out) : copy_row(from, run, out);
      out += run.count * static_cast<std::int64_t>(rows.count);
      i += rows.count;
    }
  });
}

void spread(std::size_t itemsize, std::uint64_t bits, std::span<const AddressRun> runs, void* to) {
  with_width(itemsize, [&]<class T>(std::type_identity<T>) {
    T* out = static_cast<T*>(to);
    for (const AddressRun& run : runs) {
      ArrayMap<T>(out, run.count).setConstant(run.valid() ? static_cast<T>(bits) : T{0});
      out += run.count;
    }
  });
}

void check_runs(std::span<const AddressRun> runs, const Buffer& buffer, int number) {
  for (const AddressRun& run : runs)
    if (run.valid() && run.most() >= buffer.size())
      throw BufferError(fmt::format("a LOAD accesses element {} of buffer {}, which has {}",
                                    run.most(), number, buffer.size()));
}

}  // namespace touchstone::interp
