#pragma once

#include "touchstone/uop/uop.h"

namespace touchstone {

// Building blocks of small test graphs.
inline const UOp kHost = UOp::device("HOST");
inline UOp buffer(std::int64_t n = 4, DType d = DType::Float32) {
  return UOp::new_buffer(kHost, n, d);
}
inline UOp number(double v) { return UOp::constant(Scalar::from_double(DType::Float32, v)); }
inline UOp add(const UOp& a, const UOp& b) { return a.alu(GraphOp::Add, {b}); }
inline UOp mul(const UOp& a, const UOp& b) { return a.alu(GraphOp::Mul, {b}); }

}  // namespace touchstone
