#include "touchstone/ops/decompose.h"

#include "touchstone/ops/formulas.h"

namespace touchstone {

template <>
struct formulas::Builder<LazyOpPtr> {
  static LazyOpPtr apply(Op op, const std::vector<LazyOpPtr>& operands) {
    return LazyOp::make(op, operands, {});
  }
  static LazyOpPtr number(const LazyOpPtr& like, double x) {
    const Shape& shape = like->shape();
    return LazyOp::constant(Scalar::from_double(like->dtype(), x),
                            ShapeTracker::contiguous(Shape(shape.size(), sint(1))).expand(shape));
  }
  static LazyOpPtr call(NamedFunction f, const LazyOpPtr& x) { return LazyOp::function(f, {x}); }
};

LazyOpPtr decomposed(NamedFunction function, const std::vector<LazyOpPtr>& operands) {
  if (info(function).arity != 1) return nullptr;
  const auto cast = [](const LazyOpPtr& x, DType to) { return LazyOp::cast(x, to); };
  return formulas::formula(function, operands.at(0), cast).value_or(nullptr);
}

namespace {

LazyOpPtr replaced(const LazyOpPtr& kernel, bool keeps) {
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    const LazyOpPtr made = src == node->src() ? node : with_src(node, src);
    if (made->op() != Op::Function || made->function_arg().or_last) return made;
    const NamedFunction function = made->function_arg().function;
    LazyOpPtr formula = decomposed(function, src);
    const bool calls = function == NamedFunction::Gelu || function == NamedFunction::GeluTanh;
    if (formula != nullptr && calls) formula = replaced(formula, keeps);
    if (!keeps) {
      if (formula != nullptr) return formula;
      throw AstError(fmt::format("this device has no code for {}", info(function).name));
    }
    if (formula == nullptr || info(function).exact) return made;
    std::vector<LazyOpPtr> both = src;
    both.push_back(std::move(formula));
    return LazyOp::make(Op::Function, std::move(both), FunctionArg{function, true});
  });
}

}  // namespace

LazyOpPtr without_functions(const LazyOpPtr& kernel) { return replaced(kernel, false); }
LazyOpPtr with_decompositions(const LazyOpPtr& kernel) { return replaced(kernel, true); }

}  // namespace touchstone
