#include "touchstone/shapetracker/index/plain_index.h"

#include "touchstone/shapetracker/index/index_expr.h"

namespace touchstone::shapetracker {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;

/// Writes the expressions of a stack of views, outermost first.
class Writer {
 public:
  explicit Writer(Exprs& exprs) : e_(exprs), valid_(exprs.constant(1)) {}

  /// The flat index into the view below, for one expression per axis.
  Expr through(const View& view, std::span<const Expr> index) {
    if (view.nothing_valid() || certainly_eq(view.size(), 0)) {
      valid_ = e_.constant(0);
      return e_.constant(0);
    }
    Expr total = number(view.offset());
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (view.mask()) require(index[axis], (*view.mask())[axis], view.shape()[axis]);
      total = plus(total, times(index[axis], view.strides()[axis]));
    }
    return total;
  }

  /// One expression per axis, for a flat index.
  std::vector<Expr> apart(const View& view, Expr flat) {
    const Shape& shape = view.shape();
    std::vector<Expr> index(shape.size(), e_.constant(0));
    if (certainly_eq(view.size(), 0)) return index;
    sint weight = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (shape[axis] == sint(1)) continue;
      const bool used = !(view.strides()[axis] == sint(0)) || view.mask();
      if (used) index[axis] = digit(flat, weight, shape[axis], first_of(shape) == axis);
      weight = weight * shape[axis];
    }
    return index;
  }

  Expr valid() const { return valid_; }

 private:
  static std::size_t first_of(const Shape& shape) {
    std::size_t axis = 0;
    while (shape[axis] == sint(1)) ++axis;
    return axis;
  }

  Expr number(const sint& value) {
    return value.is_int() ? e_.constant(value.as_int()) : symbolic::parse_expr(e_, value.str());
  }
  Expr digit(Expr flat, const sint& weight, const sint& size, bool top) {
    const Expr quotient = weight == sint(1) ? flat : e_.apply(ExprOp::Div, {flat, number(weight)});
    return top ? quotient : e_.apply(ExprOp::Mod, {quotient, number(size)});
  }
  Expr times(Expr factor, const sint& stride) {
    if (stride == sint(0)) return e_.constant(0);
    return stride == sint(1) ? factor : e_.apply(ExprOp::Mul, {factor, number(stride)});
  }
  Expr plus(Expr a, Expr b) {
    if (e_.is_constant(a, 0)) return b;
    return e_.is_constant(b, 0) ? a : e_.apply(ExprOp::Add, {a, b});
  }
  void require(Expr value, const Range& range, const sint& size) {
    if (!(range.first == sint(0))) also(e_.apply(ExprOp::Ge, {value, number(range.first)}));
    if (!(range.second == size)) also(e_.apply(ExprOp::Lt, {value, number(range.second)}));
  }
  void also(Expr condition) {
    valid_ = e_.is_constant(valid_, 1) ? condition : e_.apply(ExprOp::And, {valid_, condition});
  }

  Exprs& e_;
  Expr valid_;
};

void count(ExprOp op, IndexCost& total) {
  total.divisions += op == ExprOp::Div;
  total.modulos += op == ExprOp::Mod;
  ++total.steps;
}

}  // namespace

PlainIndex plain_index(std::span<const View> views) {
  if (views.empty()) throw ShapeError("index: no views; give at least one");
  return plain_index(views, index_prefix(ShapeTracker::trusted({views.begin(), views.end()})));
}

PlainIndex plain_index(std::span<const View> views, const std::string& prefix) {
  if (views.empty()) throw ShapeError("index: no views; give at least one");
  PlainIndex plain;
  Writer writer(plain.exprs);
  std::vector<Expr> index;
  for (int axis = 0; axis < views.back().rank(); ++axis) {
    plain.indices.push_back(fmt::format("{}{}", prefix, axis));
    index.push_back(plain.exprs.variable(plain.indices.back()));
  }
  for (std::size_t v = views.size(); v-- > 0;) {
    plain.index = writer.through(views[v], index);
    if (v > 0) index = writer.apart(views[v - 1], plain.index);
  }
  plain.valid = writer.valid();
  return plain;
}

std::string bounded_text(const Exprs& exprs, Expr root, std::size_t most) {
  const std::size_t size = exprs.size(root);
  return size <= most ? render(exprs, root) : fmt::format("({} parts: too long to print)", size);
}

IndexCost& IndexCost::operator+=(const IndexCost& other) {
  divisions += other.divisions;
  modulos += other.modulos;
  steps += other.steps;
  return *this;
}

IndexCost cost(const PlainIndex& plain) {
  IndexCost total;
  for (const Expr root : {plain.index, plain.valid})
    for (const Expr part : plain.exprs.parts(root)) count(plain.exprs.op(part), total);
  return total;
}

IndexCost cost(const IndexExpr& expr) {
  IndexCost total;
  for (const symbolic::Node& root : {expr.index, expr.valid})
    for (const symbolic::LoweredStep& step : symbolic::lower(root)) count(step.op, total);
  return total;
}

}  // namespace touchstone::shapetracker
