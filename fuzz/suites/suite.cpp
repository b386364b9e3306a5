#include "touchstone/fuzz/suites/suite.h"

#include <algorithm>
#include <cctype>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ranges::replace(out, '_', '-');
  return out;
}

class Suite {
 public:
  explicit Suite(const SuiteOptions& options) : options_(options) {}

  void add(Op op, DType dtype) {
    if (!takes(op, dtype)) return;
    const std::string of = std::string(touchstone::name(dtype));
    if (is_reduce(op)) {
      add(lower(touchstone::name(op)) + "-" + of, reduced(op, load(1, dtype, matrix())));
      if (op == Op::ReduceSum && takes(Op::Mul, dtype))
        add("dot-" + of, reduced(op, LazyOp::binary(Op::Mul, load(1, dtype, matrix()),
                                                    load(2, dtype, matrix()))));
    } else if (op == Op::Cast) {
      for (const DTypeInfo& to : dtype_table) {
        if (to.dtype == dtype) continue;
        const LazyOpPtr x = load(1, dtype, row());
        add("cast-" + of + "-" + std::string(to.name), LazyOp::cast(x, to.dtype));
        if (to.itemsize == info(dtype).itemsize && !is_bool(to.dtype) && !is_bool(dtype))
          add("bitcast-" + of + "-" + std::string(to.name), LazyOp::cast(x, to.dtype, true));
      }
    } else {
      add(lower(touchstone::name(op)) + "-" + of, elementwise(op, dtype));
    }
  }

  std::vector<SuiteCase> take() { return std::move(cases_); }

 private:
  ShapeTracker row() const { return ShapeTracker::contiguous({options_.elements}); }
  ShapeTracker matrix() const {
    const std::int64_t rows = std::clamp<std::int64_t>(options_.elements / 50, 1, 64);
    return ShapeTracker::contiguous({rows, std::max<std::int64_t>(options_.elements / rows, 1)});
  }
  static LazyOpPtr load(int idx, DType dtype, const ShapeTracker& st) {
    return LazyOp::load(idx, dtype, st);
  }
  static LazyOpPtr reduced(Op op, const LazyOpPtr& x) { return LazyOp::reduce(op, x, {1}); }

  LazyOpPtr elementwise(Op op, DType dtype) const {
    const LazyOpPtr x = load(1, dtype, row());
    switch (touchstone::info(op).arity) {
      case 1: return LazyOp::unary(op, x);
      case 2: return LazyOp::binary(op, x, load(2, dtype, row()));
      default: break;
    }
    if (op == Op::Where)
      return LazyOp::ternary(op, load(1, DType::Bool, row()), load(2, dtype, row()),
                             load(3, dtype, row()));
    return LazyOp::ternary(op, x, load(2, dtype, row()), load(3, dtype, row()));
  }

  void add(const std::string& name, const LazyOpPtr& value) {
    for (const ValueFamily family : kValueFamilies) {
      RandomChooser chooser(options_.seed, cases_.size());
      const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
      cases_.push_back({name + "-" + std::string(fuzz::name(family)),
                        {kernel, draw_inputs(chooser, family, kernel)}});
    }
  }

  SuiteOptions options_;
  std::vector<SuiteCase> cases_;
};

}  // namespace

std::vector<SuiteCase> draw_suite(const SuiteOptions& options) {
  std::vector<Op> ops = options.ops;
  for (const Op op : ops)
    if (!is_elementwise(op) && !is_reduce(op))
      throw AstError(fmt::format("{} is neither elementwise nor a reduce", name(op)));
  if (ops.empty())
    for (const OpInfo& row : op_table)
      if (row.op != Op::Noop && (is_elementwise(row.op) || is_reduce(row.op)))
        ops.push_back(row.op);
  std::vector<DType> dtypes = options.dtypes;
  if (dtypes.empty())
    for (const DTypeInfo& row : dtype_table) dtypes.push_back(row.dtype);
  Suite suite(options);
  for (const Op op : ops)
    for (const DType dtype : dtypes) suite.add(op, dtype);
  return suite.take();
}

}  // namespace touchstone::fuzz
