#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {

/// A kernel of a suite: a single operation on n elements of one family of values.
struct SuiteCase {
  std::string name;  // "exp2-float32-edges", "cast-float32-int8-random"; a file name
  KernelCase run;
};

struct SuiteOptions {
  std::vector<Op> ops;        // elementwise ops and reduces; empty: all
  std::vector<DType> dtypes;  // of the operands; empty: all
  std::int64_t elements = 500;
  std::uint64_t seed = 0;
};

/// Every op in every type it takes, on every family of values (values.h). CAST gives a case per
/// result type, as a conversion and as a bitcast; REDUCE_SUM one more of products ("dot"). Reduces
/// are over rows of a matrix of about n elements. Equal options give equal cases. Throws AstError
/// if an op is neither elementwise nor a reduce.
std::vector<SuiteCase> draw_suite(const SuiteOptions& options);

}  // namespace touchstone::fuzz
