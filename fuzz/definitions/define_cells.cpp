// Recurrent cells, complex numbers and rotations of pairs.
#include <cmath>
#include <numbers>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

// x: (.., in) -> W x + b of rows [gate hidden, (gate + 1) hidden) at (.., j).
Near linear_at(const Array& x, const Array& weight, const Array& bias, Sizes at, std::int64_t row) {
  Sum sum;
  for (at.back() = 0; at.back() < weight.shape[1]; ++at.back())
    sum.add(x[at] * weight[{row, at.back()}]);
  return sum.value() + bias[{row}];
}

// x, h and, of an LSTM, c; then weights and biases.
struct Cell {
  Cell(const Arrays& all, std::int64_t gates, std::size_t states) : x(all) {
    want(x.size() == 5 + states && x[0].rank() >= 1 && x[1].rank() >= 1, "weights");
    w = x.data() + 1 + states;
    const std::int64_t rows = gates * hidden();
    want(w[0].shape == Sizes{rows, x[0].shape.back()} && w[1].shape == Sizes{rows, hidden()} &&
             w[2].shape == Sizes{rows} && w[3].shape == w[2].shape,
         "shapes of weights");
  }
  std::int64_t hidden() const { return x[1].shape.back(); }
  Near in(const Sizes& at, std::int64_t gate) const {
    return linear_at(x[0], w[0], w[2], at, gate * hidden() + at.back());
  }
  Near memory(const Array& h, const Sizes& at, std::int64_t gate) const {
    return linear_at(h, w[1], w[3], at, gate * hidden() + at.back());
  }
  Near both(const Sizes& at, std::int64_t gate) const {
    return in(at, gate) + memory(x[1], at, gate);
  }
  Arrays made_of(const std::function<Near(const Sizes& at)>& f) const {
    return {made(x[0].dtype, x[1].shape, f)};
  }
  const Arrays& x;
  const Array* w = nullptr;  // w_ih, w_hh, b_ih, b_hh
};

Arrays rnn_cell_call(const Call& call, const Arrays& x) {
  const Cell cell(x, 1, 1);
  return cell.made_of([&](const Sizes& at) {
    const Near sum = cell.both(at, 0);
    return call.arg("activation") == "relu" ? larger(sum, 0) : tanh(sum);
  });
}
Arrays lstm_cell_call(const Call& call, const Arrays& x) {
  const Cell cell(x, 4, 2);
  return cell.made_of([&](const Sizes& at) {
    const auto gate = [&](std::int64_t i) { return cell.both(at, i); };
    const Near c = sigmoid(gate(1)) * x[2][at] + sigmoid(gate(0)) * tanh(gate(2));
    return call.name == "lstm_cell_c" ? c : sigmoid(gate(3)) * tanh(c);
  });
}
Arrays gru_cell_call(const Call& call, const Arrays& x) {
  const Cell cell(x, 3, 1);
  const auto gate = [&](const Sizes& at, std::int64_t i) { return sigmoid(cell.both(at, i)); };
  const Array reset = cell.made_of([&](const Sizes& at) { return gate(at, 0) * x[1][at]; })[0];
  return cell.made_of([&](const Sizes& at) {
    const Near kept = call.has("reset_first") ? cell.memory(reset, at, 2)
                                              : gate(at, 0) * cell.memory(x[1], at, 2);
    const Near fresh = tanh(cell.in(at, 2) + kept), z = gate(at, 1);
    return (Near(1) - z) * fresh + z * x[1][at];
  });
}

struct Complex {
  Near real{}, imag{};
};
Complex operator*(const Complex& a, const Complex& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
Complex complex_at(const Array& x, Sizes at) {
  at.push_back(0);
  const Near real = x[at];
  at.back() = 1;
  return {real, x[at]};
}
struct ComplexSum {
  void add(const Complex& a, const Complex& b) {
    real.add(a.real * b.real);
    real.add(-(a.imag * b.imag));
    imag.add(a.real * b.imag);
    imag.add(a.imag * b.real);
  }
  Complex value(Real divisor = 1) const {
    return divisor == 1 ? Complex{real.value(), imag.value()}
                        : Complex{real.value() / Near(divisor), imag.value() / Near(divisor)};
  }
  Sum real{}, imag{};
};
// f of the index of each number, as a pair.
template <class F>
Arrays pairs_of(const Array& like, Sizes shape, F f) {
  shape.push_back(2);
  return {made(like.dtype, shape, [&](const Sizes& at) -> Near {
    const Complex z = f(Sizes(at.begin(), at.end() - 1));
    return at.back() == 0 ? z.real : z.imag;
  })};
}
Sizes without_last(const Sizes& shape) {
  want(!shape.empty() && shape.back() == 2, "pairs");
  return {shape.begin(), shape.end() - 1};
}

Arrays complex_mul_call(const Call&, const Arrays& x) {
  const Sizes a = without_last(x[0].shape), b = without_last(x[1].shape);
  return pairs_of(x[0], broadcast(a, b), [&](const Sizes& at) {
    return complex_at(x[0], within(at, a)) * complex_at(x[1], within(at, b));
  });
}
Near sine(const Near& x) {
  return through([](Real v) { return std::sin(v); }, x);
}
Near cosine(const Near& x) {
  return through([](Real v) { return std::cos(v); }, x);
}
Arrays complex_exp_call(const Call&, const Arrays& x) {
  return pairs_of(x[0], without_last(x[0].shape), [&](const Sizes& at) {
    const Complex z = complex_at(x[0], at);
    return Complex{exp(z.real) * cosine(z.imag), exp(z.real) * sine(z.imag)};
  });
}
Arrays complex_abs_call(const Call&, const Arrays& x) {
  return {made(x[0].dtype, without_last(x[0].shape), [&](const Sizes& at) -> Near {
    const Complex z = complex_at(x[0], at);
    return rounded(std::hypot(z.real.v, z.imag.v), 0, 4);
  })};
}
Arrays complex_matmul_call(const Call&, const Arrays& x) {
  const Sizes a = without_last(x[0].shape), b = without_last(x[1].shape);
  want(a.size() == 2 && b.size() == 2 && a[1] == b[0], "matrices");
  return pairs_of(x[0], {a[0], b[1]}, [&](const Sizes& at) {
    ComplexSum sum;
    for (std::int64_t k = 0; k < a[1]; ++k)
      sum.add(complex_at(x[0], {at[0], k}), complex_at(x[1], {k, at[1]}));
    return sum.value();
  });
}
Arrays dft_call(const Call& call, const Arrays& x) {
  want(x[0].rank() >= 2, "rows of pairs");
  const std::int64_t n = x[0].shape[x[0].shape.size() - 2];
  want(n >= 1, "a point");
  const bool inverse = call.name == "idft";
  return pairs_of(x[0], without_last(x[0].shape), [&](const Sizes& at) {
    ComplexSum sum;
    Sizes from = at;
    for (from.back() = 0; from.back() < n; ++from.back()) {
      // Of a turn in eighths, so that zeros and ones are exact.
      const std::int64_t turn = (inverse ? 1 : n - 1) * at.back() % n * from.back() % n;
      const std::int64_t quarter = (8 * turn + n) / (2 * n);
      const Real angle = 2 * std::numbers::pi_v<Real> *
                         (static_cast<Real>(4 * turn - quarter * n) / static_cast<Real>(4 * n));
      const Real c = std::cos(angle), s = std::sin(angle), parts[] = {c, -s, -c, s};
      const auto q = static_cast<std::size_t>(quarter);
      sum.add(complex_at(x[0], from), {rounded(parts[q % 4]), rounded(parts[(q + 3) % 4])});
    }
    return sum.value(inverse ? static_cast<Real>(n) : 1);
  });
}

// x, cos, sin
Arrays rope_call(const Call& call, const Arrays& x) {
  const std::int64_t half = x[0].shape.back() / 2;
  const bool adjacent = call.has("interleaved");
  return {made(x[0].dtype, x[0].shape, [&](const Sizes& at) {
    const std::int64_t i = at.back(), pair = adjacent ? i / 2 : i % half;
    const bool is_first = adjacent ? i % 2 == 0 : i < half;
    Sizes other = at;
    other.back() = adjacent ? i ^ 1 : (i + half) % (2 * half);
    const auto factor = [&](const Array& a) {
      Sizes from = within(at, a.shape);
      from.back() = a.shape.back() == half ? pair : i;
      return a[from];
    };
    const Near turned = x[0][other] * factor(x[2]);
    return x[0][at] * factor(x[1]) + (is_first ? -turned : turned);
  })};
}

const Definition kCells[] = {
    // clang-format off
    {"rnn_cell", rnn_cell_call}, {"lstm_cell lstm_cell_c", lstm_cell_call},
    {"gru_cell", gru_cell_call}, {"complex_mul", complex_mul_call},
    {"complex_exp", complex_exp_call}, {"complex_abs", complex_abs_call},
    {"complex_matmul", complex_matmul_call}, {"dft idft", dft_call}, {"rope", rope_call},
    // clang-format on
};

}  // namespace

std::span<const Definition> cell_definitions() { return kCells; }

}  // namespace touchstone::fuzz::defined
