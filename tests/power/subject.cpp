#include "subject.h"

#include <fmt/format.h>

namespace touchstone::power {
namespace {

LazyOpPtr store(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

Subject reduce_of(Op op, bool dot, DType d, std::int64_t size) {
  const ShapeTracker st = ShapeTracker::contiguous({kRows, size});
  LazyOpPtr x = LazyOp::load(1, d, st);
  if (dot) x = LazyOp::binary(Op::Mul, x, LazyOp::load(2, d, st));
  return {op, dot, d, d, size, store(LazyOp::reduce(op, x, {1}))};
}

Subject map_of(Op op, DType d, std::int64_t size) {
  const ShapeTracker st = ShapeTracker::contiguous({size});
  std::vector<LazyOpPtr> src;
  for (int i = 0; i < info(op).arity; ++i)
    src.push_back(LazyOp::load(i + 1, op == Op::Where && i == 0 ? DType::Bool : d, st));
  const LazyOpPtr value = LazyOp::make(op, src, {});
  return {op, false, d, value->dtype(), size, store(value)};
}

Subject cast_of(DType d, DType to, std::int64_t size) {
  const LazyOpPtr x = LazyOp::load(1, d, ShapeTracker::contiguous({size}));
  return {Op::Cast, false, d, to, size, store(LazyOp::cast(x, to))};
}

}  // namespace

std::string Subject::str() const {
  const std::string to_part = op == Op::Cast ? fmt::format("->{}", name(to)) : std::string();
  return fmt::format("{} {}{} {}", dot ? "DOT" : name(op), name(dtype), to_part, size);
}

// Many faults cannot occur in 8 bits (nothing overflows to infinity, no operand is too long for
// bfloat16), and no other tool has a tolerance for them.
bool is_measured(DType d) { return !is_float(d) || itemsize(d) > 1; }

std::vector<Subject> all_subjects(const std::vector<std::int64_t>& sizes) {
  std::vector<Subject> out;
  for (const std::int64_t size : sizes)
    for (const DTypeInfo& d : dtype_table)
      for (const OpInfo& row : op_table) {
        if (row.op == Op::Noop || !(is_elementwise(row.op) || is_reduce(row.op))) continue;
        if (!takes(row.op, d.dtype) || !is_measured(d.dtype)) continue;
        if (is_reduce(row.op)) {
          out.push_back(reduce_of(row.op, false, d.dtype, size));
          if (row.op == Op::ReduceSum && takes(Op::Mul, d.dtype))
            out.push_back(reduce_of(row.op, true, d.dtype, size));
        } else if (row.op == Op::Cast) {
          for (const DTypeInfo& to : dtype_table)
            if (to.dtype != d.dtype && is_measured(to.dtype))
              out.push_back(cast_of(d.dtype, to.dtype, size));
        } else {
          out.push_back(map_of(row.op, d.dtype, size));
        }
      }
  return out;
}

}  // namespace touchstone::power
