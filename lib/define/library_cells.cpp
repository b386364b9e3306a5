// Recurrent cells.
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

Array logistic(const Array& x) { return Array::call(NamedFunction::Sigmoid, {x}); }
Array tanh(const Array& x) { return Array::call(NamedFunction::Tanh, {x}); }

CellWeights wide(const CellWeights& weights) {
  return {wide(weights.w_ih), wide(weights.w_hh), wide(weights.b_ih), wide(weights.b_hh)};
}

void require_cell(std::string_view what, const Array& x, const Array& h, const CellWeights& w,
                  std::int64_t gates) {
  require_float(x, what);
  require_rank(x, 1, what, "x");
  require_rank(h, 1, what, "h");
  const std::int64_t in = x.size(-1), hidden = h.size(-1), rows = checked_mul(gates, hidden);
  const auto require = [&](const Array& a, const Sizes& wanted, std::string_view of) {
    if (a.shape() != wanted)
      throw ShapeError(fmt::format("{}: {} is {}; x {} and h {} need {}", what, of, str(a.shape()),
                                   str(x.shape()), str(h.shape()), str(wanted)));
  };
  require(w.w_ih, {rows, in}, "w_ih");
  require(w.w_hh, {rows, hidden}, "w_hh");
  if (w.b_ih) require(*w.b_ih, {rows}, "b_ih");
  if (w.b_hh) require(*w.b_hh, {rows}, "b_hh");
}

// The linear parts of gate i: its rows of the weights.
struct Gates {
  const CellWeights& w;
  std::int64_t hidden;
  const Way& way;

  Array linear_of(const Array& v, const Array& weight, const std::optional<Array>& bias,
                  std::int64_t i) const {
    const std::pair<std::int64_t, std::int64_t> rows{i * hidden, (i + 1) * hidden};
    const auto part = bias ? std::optional(bias->shrink({rows})) : std::nullopt;
    return stage(linear(v, weight.shrink({rows, {0, weight.size(1)}}), part), way, "gates");
  }
  Array of_x(const Array& x, std::int64_t i) const { return linear_of(x, w.w_ih, w.b_ih, i); }
  Array of_h(const Array& h, std::int64_t i) const { return linear_of(h, w.w_hh, w.b_hh, i); }
  // W x + U h + biases as one sum, since libraries join them in several ways.
  Array of(const Array& x, const Array& h, std::int64_t i) const {
    const Sizes lead(x.shape().begin(), x.shape().end() - 1);
    if (way.stored || lead != Sizes(h.shape().begin(), h.shape().end() - 1))
      return stage(of_x(x, i) + of_h(h, i), way, "gates");
    const std::pair<std::int64_t, std::int64_t> rows{i * hidden, (i + 1) * hidden};
    const auto products = [&](const Array& v, const Array& weight) {
      return with_axis(v, v.rank() - 1) * weight.shrink({rows, {0, weight.size(1)}});
    };
    Array terms = concat(products(x, w.w_ih), products(h, w.w_hh), -1);
    Sizes column = lead;
    column.insert(column.end(), {hidden, 1});
    for (const auto& bias : {w.b_ih, w.b_hh})
      if (bias) terms = concat(terms, bias->shrink({rows}).reshape({hidden, 1}).expand(column), -1);
    return sum(terms, {-1});
  }
};

}  // namespace

Array rnn_cell(const Array& x, const Array& h, const CellWeights& weights, bool with_relu,
               const Way& way) {
  if (is_narrow(x, way))
    return narrowed(rnn_cell(wide(x), wide(h), wide(weights), with_relu, in_stages(way, x)),
                    x.dtype());
  require_cell("rnn_cell", x, h, weights, 1);
  const Array sum = Gates{weights, h.size(-1), way}.of(x, h, 0);
  return with_relu ? relu(sum) : tanh(sum);
}

Array lstm_cell(const Array& x, const Array& h, const Array& c, const CellWeights& weights,
                bool gives_c, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(lstm_cell(wide(x), wide(h), wide(c), wide(weights), gives_c, in_stages(way, x)),
                    x.dtype());
  require_cell("lstm_cell", x, h, weights, 4);
  if (c.shape() != h.shape())
    throw ShapeError(fmt::format("lstm_cell: h is {} and c {}; they must agree", str(h.shape()),
                                 str(c.shape())));
  const Gates gates{weights, h.size(-1), way};
  const auto gate = [&](std::int64_t i) { return gates.of(x, h, i); };
  const Array next = logistic(gate(1)) * c + logistic(gate(0)) * tanh(gate(2));
  return gives_c ? next : logistic(gate(3)) * tanh(stage(next, way, "c"));
}

Array gru_cell(const Array& x, const Array& h, const CellWeights& weights, bool linear_before_reset,
               const Way& way) {
  if (is_narrow(x, way))
    return narrowed(
        gru_cell(wide(x), wide(h), wide(weights), linear_before_reset, in_stages(way, x)),
        x.dtype());
  require_cell("gru_cell", x, h, weights, 3);
  const Gates gates{weights, h.size(-1), way};
  const Array r = logistic(gates.of(x, h, 0)), z = logistic(gates.of(x, h, 1));
  const Array memory = linear_before_reset ? r * gates.of_h(h, 2) : gates.of_h(r * h, 2);
  const Array n = tanh(gates.of_x(x, 2) + memory);
  return (1 - z) * n + z * h;
}

}  // namespace touchstone::define
