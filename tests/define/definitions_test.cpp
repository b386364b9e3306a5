// Every definition against plain loops over indices in long double: in float64 to 12 digits, in
// float32 by the oracle, and bit for bit where all values are small integers.
#include "touchstone/define/definitions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "../interp/kernels.h"
#include "touchstone/define/text.h"
#include "touchstone/interp/verdict.h"

namespace touchstone::define {
namespace {

using Real = long double;
using Index = std::vector<std::int64_t>;

struct Values {
  Sizes shape;
  std::vector<Real> v;

  std::size_t flat(const Index& at) const {
    std::int64_t i = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) i = i * shape[a] + at[a];
    return static_cast<std::size_t>(i);
  }
  Real operator()(const Index& at) const { return v.at(flat(at)); }
};

// A value for each index of a shape, in row-major order.
Values filled(const Sizes& shape, const std::function<Real(const Index&)>& f) {
  Values out{shape, {}};
  std::int64_t count = 1;
  for (const std::int64_t s : shape) count *= s;
  Index at(shape.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t a = shape.size(); a-- > 0;) {
      at[a] = rest % shape[a];
      rest /= shape[a];
    }
    out.v.push_back(f(at));
  }
  return out;
}

using Loops = std::function<Values(const std::vector<Values>&)>;
struct Case {
  std::string text;  // "T" stands for the type of floats
  Loops loops;
};

Loops each(Real (*f)(Real)) {
  return [f](const std::vector<Values>& in) {
    return filled(in[0].shape, [&](const Index& at) { return f(in[0](at)); });
  };
}
Loops both(Real (*f)(Real, Real)) {
  return [f](const std::vector<Values>& in) {
    return filled(in[0].shape, [&](const Index& at) { return f(in[0](at), in[1](at)); });
  };
}

// Rows of the last axis: f(row, place) for each element.
Loops by_rows(std::function<Real(const std::vector<Real>&, std::size_t)> f) {
  return [f](const std::vector<Values>& in) {
    return filled(in[0].shape, [&](const Index& at) {
      std::vector<Real> row;
      Index other = at;
      for (other.back() = 0; other.back() < in[0].shape.back(); ++other.back())
        row.push_back(in[0](other));
      return f(row, static_cast<std::size_t>(at.back()));
    });
  };
}
// The same, one value a row.
Loops of_rows(std::function<Real(const std::vector<Real>&)> f) {
  return [f](const std::vector<Values>& in) {
    const Sizes shape(in[0].shape.begin(), in[0].shape.end() - 1);
    return filled(shape, [&](const Index& at) {
      std::vector<Real> row;
      Index other = at;
      other.push_back(0);
      for (; other.back() < in[0].shape.back(); ++other.back()) row.push_back(in[0](other));
      return f(row);
    });
  };
}

Real total(const std::vector<Real>& row) {
  Real s = 0;
  for (const Real x : row) s += x;
  return s;
}
Real largest(const std::vector<Real>& row) {
  Real m = -INFINITY;
  for (const Real x : row) m = x > m ? x : m;
  return m;
}
Real exponentials(const std::vector<Real>& row) {
  Real s = 0;
  for (const Real x : row) s += std::exp(x);
  return s;
}
Real mean_of(const std::vector<Real>& row) { return total(row) / static_cast<Real>(row.size()); }
Real variance(const std::vector<Real>& row, int correction) {
  Real s = 0;
  for (const Real x : row) s += (x - mean_of(row)) * (x - mean_of(row));
  return s / static_cast<Real>(static_cast<std::int64_t>(row.size()) - correction);
}

// Out-of-range reads are 0: padding.
Real or_zero(const Values& x, const Index& at) {
  for (std::size_t a = 0; a < at.size(); ++a)
    if (at[a] < 0 || at[a] >= x.shape[a]) return 0;
  return x(at);
}

struct ConvArgs {
  std::int64_t stride, padding, dilation, groups;
};
Loops conv2d_loops(ConvArgs c) {
  return [c](const std::vector<Values>& in) {
    const Values &x = in[0], &w = in[1];
    const auto out = [&](std::size_t axis) {
      return (x.shape[axis] + 2 * c.padding - c.dilation * (w.shape[axis] - 1) - 1) / c.stride + 1;
    };
    return filled({x.shape[0], w.shape[0], out(2), out(3)}, [&](const Index& at) {
      Real s = in.size() > 2 ? in[2]({at[1]}) : 0;
      const std::int64_t group = at[1] / (w.shape[0] / c.groups);
      for (std::int64_t i = 0; i < w.shape[1]; ++i)
        for (std::int64_t a = 0; a < w.shape[2]; ++a)
          for (std::int64_t b = 0; b < w.shape[3]; ++b)
            s += w({at[1], i, a, b}) * or_zero(x, {at[0], group * w.shape[1] + i,
                                                   at[2] * c.stride - c.padding + a * c.dilation,
                                                   at[3] * c.stride - c.padding + b * c.dilation});
      return s;
    });
  };
}
Loops conv1d_loops(ConvArgs c) {
  return [c](const std::vector<Values>& in) {
    const Values &x = in[0], &w = in[1];
    const std::int64_t size =
        (x.shape[2] + 2 * c.padding - c.dilation * (w.shape[2] - 1) - 1) / c.stride + 1;
    return filled({x.shape[0], w.shape[0], size}, [&](const Index& at) {
      Real s = 0;
      const std::int64_t group = at[1] / (w.shape[0] / c.groups);
      for (std::int64_t i = 0; i < w.shape[1]; ++i)
        for (std::int64_t a = 0; a < w.shape[2]; ++a)
          s += w({at[1], i, a}) * or_zero(x, {at[0], group * w.shape[1] + i,
                                              at[2] * c.stride - c.padding + a * c.dilation});
      return s;
    });
  };
}
// Over the last two axes.
Loops pool2d_loops(std::int64_t size, std::int64_t stride, std::int64_t padding, bool maximum) {
  return [=](const std::vector<Values>& in) {
    const Values& x = in[0];
    Sizes shape = x.shape;
    for (std::size_t a = shape.size() - 2; a < shape.size(); ++a)
      shape[a] = (shape[a] + 2 * padding - size) / stride + 1;
    return filled(shape, [&](const Index& at) {
      Real sum = 0, most = -INFINITY;
      for (std::int64_t a = 0; a < size; ++a)
        for (std::int64_t b = 0; b < size; ++b) {
          Index from = at;
          from[at.size() - 2] = at[at.size() - 2] * stride - padding + a;
          from[at.size() - 1] = at[at.size() - 1] * stride - padding + b;
          sum += or_zero(x, from);
          bool inside = true;
          for (std::size_t i = 0; i < from.size(); ++i)
            inside = inside && from[i] >= 0 && from[i] < x.shape[i];
          if (inside) most = std::max(most, x(from));
        }
      return maximum ? most : sum / static_cast<Real>(size * size);
    });
  };
}

Values product(const Values& a, const Values& b, bool ta = false, bool tb = false) {
  const std::int64_t n = a.shape[ta ? 1 : 0], k = a.shape[ta ? 0 : 1], m = b.shape[tb ? 0 : 1];
  return filled({n, m}, [&](const Index& at) {
    Real s = 0;
    for (std::int64_t i = 0; i < k; ++i)
      s += (ta ? a({i, at[0]}) : a({at[0], i})) * (tb ? b({at[1], i}) : b({i, at[1]}));
    return s;
  });
}
Loops product_loops(bool ta, bool tb) {
  return [=](const std::vector<Values>& in) { return product(in[0], in[1], ta, tb); };
}

Values scores(const std::vector<Values>& in, bool causal, Real scale) {
  Values s = product(in[0], in[1], false, true);
  return filled(s.shape, [&](const Index& at) {
    return causal && at[1] > at[0] ? -INFINITY : s(at) * scale;
  });
}
Loops attention_loops(bool causal, std::optional<Real> scale = std::nullopt) {
  return [=](const std::vector<Values>& in) {
    const Real by = scale.value_or(1 / std::sqrt(static_cast<Real>(in[0].shape[1])));
    const Values p = by_rows([](const auto& row, std::size_t i) {
      return std::exp(row[i]) / exponentials(row);
    })({scores(in, causal, by)});
    return product(p, in[2]);
  };
}

Loops read_at(Sizes shape, std::function<Index(const Index&)> from) {
  return [=](const std::vector<Values>& in) {
    return filled(shape, [&](const Index& at) { return or_zero(in[0], from(at)); });
  };
}

Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }

std::vector<Case> elementwise_cases() {
  std::vector<Case> all = {
      {"exp2(x[3,5]:T)", each([](Real x) { return std::exp2(x); })},
      {"log2(abs(x[7]:T) + 1)", each([](Real x) { return std::log2(std::abs(x) + 1); })},
      {"sin(x[4]:T)", each([](Real x) { return std::sin(x); })},
      {"sqrt(x[4]:T * x)", each([](Real x) { return std::abs(x); })},
      {"recip(x[9]:T * x + 1)", each([](Real x) { return 1 / (x * x + 1); })},
      {"neg(x[2,1]:T)", each([](Real x) { return -x; })},
      {"-x[2,1]:T", each([](Real x) { return -x; })},
      {"add(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x + y; })},
      {"sub(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x - y; })},
      {"mul(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x * y; })},
      {"div(x[5]:T, y[5]:T*y + 1)", both([](Real x, Real y) { return x / (y * y + 1); })},
      {"mod(x[5]:T, y[5]:T*y + 1)", both([](Real x, Real y) { return std::fmod(x, y * y + 1); })},
      {"xor(cast(x[5]:T, i32), cast(y[5]:T, i32))", both([](Real x, Real y) {
         return static_cast<Real>(static_cast<int>(x) ^ static_cast<int>(y));
       })},
      {"maximum(x[6]:T, y[6]:T)", both([](Real x, Real y) { return x > y ? x : y; })},
      {"minimum(x[6]:T, y[6]:T)", both([](Real x, Real y) { return x < y ? x : y; })},
      {"mulacc(x[6]:T, y[6]:T, x)", both([](Real x, Real y) { return x * y + x; })},
      {"where(cmplt(x[6]:T, y[6]:T), x, 2*y)",
       both([](Real x, Real y) { return x < y ? x : 2 * y; })},
      {"where(cmpeq(x[6]:T, y[6]:T), 1, x)", both([](Real x, Real y) { return x == y ? 1 : x; })},
      {"where(x[9]:T <= y[9]:T, 1.5, x)",
       both([](Real x, Real y) { return x <= y ? Real(1.5) : x; })},
      {"where(x[9]:T >= 0.5, y[9]:T, x)",
       both([](Real x, Real y) { return x >= Real(0.5) ? y : x; })},
      {"where(x[9]:T != 1, y[9]:T, 3)", both([](Real x, Real y) { return x != 1 ? y : 3; })},
      {"where(x[9]:T > y[9]:T, y, -x)", both([](Real x, Real y) { return x > y ? y : -x; })},
      {"abs(x[8]:T)", each([](Real x) { return std::abs(x); })},
      {"exp(x[8]:T)", each([](Real x) { return std::exp(x); })},
      {"log(x[8]:T*x + 2)", each([](Real x) { return std::log(x * x + 2); })},
      {"rsqrt(x[8]:T*x + 2)", each([](Real x) { return 1 / std::sqrt(x * x + 2); })},
      {"sigmoid(x[8]:T)", each(sigmoid_of)},
      {"tanh(x[8]:T)", each([](Real x) { return std::tanh(x); })},
      {"relu(x[8]:T)", each([](Real x) { return x > 0 ? x : 0; })},
      {"silu(x[8]:T)", each([](Real x) { return x * sigmoid_of(x); })},
      {"gelu(x[8]:T)", each([](Real x) {
         return x / 2 *
                (1 +
                 std::tanh(std::sqrt(2 / std::acos(Real(-1))) * (x + Real(0.044715) * x * x * x)));
       })},
      {"cast(cast(x[8]:T, to=i32), T)", each([](Real x) { return std::trunc(x); })},
      {"1 + 2*x[4]:T - (3 - x)/2", each([](Real x) { return 1 + 2 * x - (3 - x) / 2; })},
  };
  return all;
}

std::vector<Case> row_cases() {
  const auto normal = [](Real eps) {
    return [eps](const std::vector<Real>& row, std::size_t i) {
      return (row[i] - mean_of(row)) / std::sqrt(variance(row, 0) + eps);
    };
  };
  std::vector<Case> all;
  for (const char* shape : {"3,5", "1,1", "4,1", "1,7", "2,3,4", "6", "0,4", "2,33"}) {
    const auto add = [&](std::string before, std::string after, Loops loops) {
      all.push_back({before + "x[" + shape + "]:T" + after, std::move(loops)});
    };
    add("sum(", ", axis=-1)", of_rows(total));
    add("max(", ", axis=-1)", of_rows(largest));
    add("min(", ", axis=-1)", of_rows([](const auto& row) {
          Real m = INFINITY;
          for (const Real x : row) m = std::min(m, x);
          return m;
        }));
    add("mean(", ", -1)", of_rows(mean_of));
    add("var(", ", axis=-1)", of_rows([](const auto& row) { return variance(row, 0); }));
    add("logsumexp(", ")", of_rows([](const auto& row) { return std::log(exponentials(row)); }));
    add("softmax(", ")", by_rows([](const auto& row, std::size_t i) {
          return std::exp(row[i]) / exponentials(row);
        }));
    add("log_softmax(", ")", by_rows([](const auto& row, std::size_t i) {
          return row[i] - std::log(exponentials(row));
        }));
    add("layer_norm(", ")", by_rows(normal(1e-5L)));
    add("rms_norm(", ", eps=0.25)", by_rows([](const auto& row, std::size_t i) {
          Real s = 0;
          for (const Real x : row) s += x * x;
          return row[i] / std::sqrt(s / static_cast<Real>(row.size()) + Real(0.25));
        }));
    add("cumsum(", ")", by_rows([](const auto& row, std::size_t i) {
          Real s = 0;
          for (std::size_t j = 0; j <= i; ++j) s += row[j];
          return s;
        }));
    add("flip(", ", axis=-1)",
        by_rows([](const auto& row, std::size_t i) { return row[row.size() - 1 - i]; }));
    add("roll(", ", shift=2)", by_rows([](const auto& row, std::size_t i) {
          return row[(i + 2 * row.size() - 2) % row.size()];
        }));
  }
  all.push_back({"var(x[3,4]:T, axis=-1, correction=1)",
                 of_rows([](const auto& row) { return variance(row, 1); })});
  all.push_back({"layer_norm(x[2,6]:T, w[6]:T, b[6]:T, eps=0.5)", [&](const auto& in) {
                   const Values y = by_rows([](const auto& row, std::size_t i) {
                     return (row[i] - mean_of(row)) / std::sqrt(variance(row, 0) + Real(0.5));
                   })(in);
                   return filled(y.shape, [&](const Index& at) {
                     return y(at) * in[1]({at[1]}) + in[2]({at[1]});
                   });
                 }});
  all.push_back({"sum(x[3,4,2]:T)", [](const auto& in) { return Values{{}, {total(in[0].v)}}; }});
  all.push_back({"sum(x[3,4,2]:T, axis=[0,2], keep=1)", [](const auto& in) {
                   return filled({1, 4, 1}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i < 3; ++i)
                       for (std::int64_t j = 0; j < 2; ++j) s += in[0]({i, at[1], j});
                     return s;
                   });
                 }});
  all.push_back({"softmax(x[4,3]:T, axis=0)", [](const auto& in) {
                   return filled({4, 3}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i < 4; ++i) s += std::exp(in[0]({i, at[1]}));
                     return std::exp(in[0](at)) / s;
                   });
                 }});
  all.push_back({"cumsum(x[4,3]:T, axis=0)", [](const auto& in) {
                   return filled({4, 3}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i <= at[0]; ++i) s += in[0]({i, at[1]});
                     return s;
                   });
                 }});
  all.push_back(
      {"pad(softmax(x[2,3]:T), before=[1,0], after=[0,2])", [](const auto& in) {
         const Values p = by_rows([](const auto& row, std::size_t i) {
           return std::exp(row[i]) / exponentials(row);
         })(in);
         return filled({3, 5}, [&](const Index& at) { return or_zero(p, {at[0] - 1, at[1]}); });
       }});
  return all;
}

std::vector<Case> product_cases() {
  return {
      {"matmul(a[3,4]:T, b[4,5]:T)", product_loops(false, false)},
      {"matmul(a[1,1]:T, b[1,1]:T)", product_loops(false, false)},
      {"matmul(a[3,0]:T, b[0,2]:T)", product_loops(false, false)},
      {"matmul(a[0,3]:T, b[3,2]:T)", product_loops(false, false)},
      {"matmul(a[4,3]:T, b[4,5]:T, transpose_a=1)", product_loops(true, false)},
      {"matmul(a[3,4]:T, b[5,4]:T, transpose_b=1)", product_loops(false, true)},
      {"matmul(a[2,3,4]:T, b[4,2]:T)",
       [](const auto& in) {
         return filled({2, 3, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], at[1], i}) * in[1]({i, at[2]});
           return s;
         });
       }},
      {"matmul(a[2,1,3,4]:T, b[3,4,2]:T)",
       [](const auto& in) {
         return filled({2, 3, 3, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i)
             s += in[0]({at[0], 0, at[2], i}) * in[1]({at[1], i, at[3]});
           return s;
         });
       }},
      {"matmul(a[4]:T, b[4]:T)",
       [](const auto& in) {
         Real s = 0;
         for (std::int64_t i = 0; i < 4; ++i) s += in[0]({i}) * in[1]({i});
         return Values{{}, {s}};
       }},
      {"matmul(a[2,4]:T, b[4]:T)",
       [](const auto& in) {
         return filled({2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], i}) * in[1]({i});
           return s;
         });
       }},
      {"matmul(a[4]:T, b[4,2]:T)",
       [](const auto& in) {
         return filled({2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({i}) * in[1]({i, at[0]});
           return s;
         });
       }},
      {"linear(x[3,4]:T, w[2,4]:T, b[2]:T)",
       [](const auto& in) {
         return filled({3, 2}, [&](const Index& at) {
           Real s = in[2]({at[1]});
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], i}) * in[1]({at[1], i});
           return s;
         });
       }},
      {"relu(matmul(a[3,2]:T, b[2,4]:T) + c[4]:T)",
       [](const auto& in) {
         const Values p = product(in[0], in[1]);
         return filled({3, 4},
                       [&](const Index& at) { return std::max(p(at) + in[2]({at[1]}), Real(0)); });
       }},
      {"attention_scores(q[3,4]:T, k[5,4]:T)",
       [](const auto& in) { return scores(in, false, Real(0.5)); }},
      {"attention(q[3,4]:T, k[5,4]:T, v[5,2]:T)", attention_loops(false)},
      {"attention(q[4,2]:T, k[4,2]:T, v[4,3]:T, causal=1)", attention_loops(true)},
      {"attention(q[1,1]:T, k[1,1]:T, v[1,1]:T, causal=1, scale=0.25)",
       attention_loops(true, Real(0.25))},
      {"softmax(attention_scores(q[4,2]:T, k[4,2]:T, causal=1))",
       [](const auto& in) {
         return by_rows([](const auto& row, std::size_t i) {
           return std::exp(row[i]) / exponentials(row);
         })({scores(in, true, 1 / std::sqrt(Real(2)))});
       }},
      {"cross_entropy(x[5,4]:T, target[5]:i32)",
       [](const auto& in) {
         return filled({5}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += std::exp(in[0]({at[0], i}));
           const auto target = static_cast<std::int64_t>(in[1](at));
           // No class is that: no term of the sum is left.
           return target < 0 || target >= 4 ? Real(0) : std::log(s) - in[0]({at[0], target});
         });
       }},
  };
}

std::vector<Case> window_cases() {
  return {
      {"conv2d(x[2,3,5,6]:T, w[4,3,2,3]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(x[1,2,5,5]:T, w[2,2,3,3]:T, b[2]:T, padding=1)", conv2d_loops({1, 1, 1, 1})},
      {"conv2d(x[1,4,6,5]:T, w[6,2,2,2]:T, stride=2, padding=1, groups=2)",
       conv2d_loops({2, 1, 1, 2})},
      {"conv2d(x[2,2,7,7]:T, w[2,1,2,2]:T, stride=3, padding=2, dilation=2, groups=2)",
       conv2d_loops({3, 2, 2, 2})},
      {"conv2d(x[1,1,1,1]:T, w[1,1,1,1]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(x[0,1,3,3]:T, w[1,1,2,2]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(relu(x[1,2,4,4]:T), w[1,2,2,2]:T, padding=1)",
       [](const auto& in) {
         std::vector<Values> cut = in;
         for (Real& x : cut[0].v) x = std::max(x, Real(0));
         return conv2d_loops({1, 1, 1, 1})(cut);
       }},
      {"conv1d(x[2,3,7]:T, w[2,3,3]:T)", conv1d_loops({1, 0, 1, 1})},
      {"conv1d(x[1,4,8]:T, w[4,1,2]:T, stride=2, padding=1, dilation=3, groups=4)",
       conv1d_loops({2, 1, 3, 4})},
      {"avg_pool2d(x[2,4,5]:T, size=2)", pool2d_loops(2, 1, 0, false)},
      {"avg_pool2d(x[1,2,6,6]:T, size=3, stride=2, padding=1)", pool2d_loops(3, 2, 1, false)},
      {"max_pool2d(x[2,4,5]:T, size=2)", pool2d_loops(2, 1, 0, true)},
      {"max_pool2d(x[1,2,6,6]:T, size=[3,3], stride=[2,2], padding=[1,1])",
       pool2d_loops(3, 2, 1, true)},
      {"max_pool1d(x[2,7]:T, size=3, stride=2)",
       [](const auto& in) {
         return filled({2, 3}, [&](const Index& at) {
           Real m = -INFINITY;
           for (std::int64_t i = 0; i < 3; ++i) m = std::max(m, in[0]({at[0], at[1] * 2 + i}));
           return m;
         });
       }},
      {"avg_pool1d(x[2,7]:T, size=4, stride=3)",
       [](const auto& in) {
         return filled({2, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], at[1] * 3 + i});
           return s / 4;
         });
       }},
      {"windows(x[3,8]:T, size=3, stride=2, dilation=2)",
       read_at({3, 2, 3},
               [](const Index& at) {
                 return Index{at[0], at[1] * 2 + at[2] * 2};
               })},
  };
}

std::vector<Case> read_cases() {
  return {
      {"reshape(x[4,6]:T, [3,-1])", read_at({3, 8},
                                            [](const Index& at) {
                                              const std::int64_t flat = at[0] * 8 + at[1];
                                              return Index{flat / 6, flat % 6};
                                            })},
      {"reshape(transpose(x[4,6]:T), [8,3])", read_at({8, 3},
                                                      [](const Index& at) {
                                                        const std::int64_t flat = at[0] * 3 + at[1];
                                                        return Index{flat % 4, flat / 4};
                                                      })},
      {"permute(x[2,3,4]:T, order=[2,0,1])", read_at({4, 2, 3},
                                                     [](const Index& at) {
                                                       return Index{at[1], at[2], at[0]};
                                                     })},
      {"transpose(x[3,2]:T)", read_at({2, 3},
                                      [](const Index& at) {
                                        return Index{at[1], at[0]};
                                      })},
      {"transpose(x[3,2,4]:T, a=0, b=2)", read_at({4, 2, 3},
                                                  [](const Index& at) {
                                                    return Index{at[2], at[1], at[0]};
                                                  })},
      {"expand(x[3,1]:T, shape=[2,3,4])", read_at({2, 3, 4},
                                                  [](const Index& at) {
                                                    return Index{at[1], 0};
                                                  })},
      {"pad(x[3,2]:T, before=[1,0], after=[2,3])", read_at({6, 5},
                                                           [](const Index& at) {
                                                             return Index{at[0] - 1, at[1]};
                                                           })},
      {"pad(x[4]:T, before=2, after=1, value=7)",
       [](const auto& in) {
         return filled({7}, [&](const Index& at) {
           return at[0] < 2 || at[0] >= 6 ? Real(7) : in[0]({at[0] - 2});
         });
       }},
      {"slice(x[5,6]:T, begin=[1,2], end=[4,6])", read_at({3, 4},
                                                          [](const Index& at) {
                                                            return Index{at[0] + 1, at[1] + 2};
                                                          })},
      {"slice(x[5,6]:T, begin=2, end=2)", read_at({5, 0}, [](const Index& at) { return at; })},
      {"stride(x[5,7]:T, steps=[2,-3])", read_at({3, 3},
                                                 [](const Index& at) {
                                                   return Index{at[0] * 2, 6 - at[1] * 3};
                                                 })},
      {"flip(x[3,4]:T)", read_at({3, 4},
                                 [](const Index& at) {
                                   return Index{2 - at[0], 3 - at[1]};
                                 })},
      {"roll(x[5,2]:T, shift=-1, axis=0)", read_at({5, 2},
                                                   [](const Index& at) {
                                                     return Index{(at[0] + 1) % 5, at[1]};
                                                   })},
      {"repeat(x[3,2]:T, times=3)", read_at({3, 6},
                                            [](const Index& at) {
                                              return Index{at[0], at[1] / 3};
                                            })},
      {"repeat(x[3,2]:T, times=2, axis=0)", read_at({6, 2},
                                                    [](const Index& at) {
                                                      return Index{at[0] / 2, at[1]};
                                                    })},
      {"concat(x[2,3]:T, y[4,3]:T)",
       [](const auto& in) {
         return filled({6, 3}, [&](const Index& at) {
           return at[0] < 2 ? in[0](at) : in[1]({at[0] - 2, at[1]});
         });
       }},
      {"concat(x[2,1]:T, exp(y[2,3]:T), axis=-1)",
       [](const auto& in) {
         return filled({2, 4}, [&](const Index& at) {
           return at[1] < 1 ? in[0](at) : std::exp(in[1]({at[0], at[1] - 1}));
         });
       }},
      {"as_strided(x[4,5]:T, shape=[3,4], strides=[6,-1], offset=3)",
       read_at({3, 4},
               [](const Index& at) {
                 const std::int64_t flat = 3 + at[0] * 6 - at[1];
                 return Index{flat / 5, flat % 5};
               })},
      {"diagonal(x[4,6]:T)", read_at({4},
                                     [](const Index& at) {
                                       return Index{at[0], at[0]};
                                     })},
      {"sum(diagonal(exp(x[5,3]:T)))",
       [](const auto& in) {
         Real s = 0;
         for (std::int64_t i = 0; i < 3; ++i) s += std::exp(in[0]({i, i}));
         return Values{{}, {s}};
       }},
      {"tril(x[4,5]:T)",
       [](const auto& in) {
         return filled({4, 5}, [&](const Index& at) { return at[1] <= at[0] ? in[0](at) : 0; });
       }},
      {"tril(x[2,3,4]:T, diagonal=-1)",
       [](const auto& in) {
         return filled({2, 3, 4},
                       [&](const Index& at) { return at[2] <= at[1] - 1 ? in[0](at) : 0; });
       }},
      {"triu(x[4,3]:T, diagonal=1)",
       [](const auto& in) {
         return filled({4, 3}, [&](const Index& at) { return at[1] >= at[0] + 1 ? in[0](at) : 0; });
       }},
      {"triu(x[2,2]:T, diagonal=-9)", [](const auto& in) { return in[0]; }},
      {"tril(x[2,2]:T, diagonal=-9)",
       [](const auto&) {
         return filled({2, 2}, [](const Index&) { return Real(0); });
       }},
      {"arange(size=5, dtype=T) * x[1]:T",
       [](const auto& in) {
         return filled({5}, [&](const Index& at) { return static_cast<Real>(at[0]) * in[0].v[0]; });
       }},
      {"one_hot(index[4]:i32, classes=3, dtype=T)",
       [](const auto& in) {
         return filled({4, 3}, [&](const Index& at) {
           return in[0]({at[0]}) == static_cast<Real>(at[1]) ? 1 : 0;
         });
       }},
      {"gather(table[5,3]:T, index[2,4]:i32)",
       [](const auto& in) {
         return filled({2, 4, 3}, [&](const Index& at) {
           const auto row = static_cast<std::int64_t>(in[1]({at[0], at[1]}));
           return row < 0 || row >= 5 ? 0 : in[0]({row, at[2]});
         });
       }},
  };
}

std::string with_type(std::string text, const std::string& type) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto part_of_word = [&](std::size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0);
    };
    if (text[i] == 'T' && !part_of_word(i + 1) && (i == 0 || !part_of_word(i - 1)))
      text.replace(i, 1, type);
  }
  return text;
}

// The inputs of a formula, of fractions that float32 and float64 hold alike, and of integers.
struct Inputs {
  std::vector<BufferPtr> buffers;
  std::vector<Values> values;
};

struct Shaped {
  Sizes shape;
  DType dtype;
};
void find_inputs(const ArrayNode& node, std::map<int, Shaped>& found) {
  if (node.op == Op::Load) found[node.buffer] = {node.shape, node.dtype};
  for (const auto& s : node.src) find_inputs(*s, found);
}

Inputs draw(const Formula& formula, bool integers, unsigned seed) {
  std::map<int, Shaped> shapes;
  find_inputs(*formula.value.node(), shapes);
  Inputs drawn;
  unsigned state = seed;
  for (const auto& [number, shaped] : shapes) {
    Values values = filled(shaped.shape, [&](const Index&) {
      state = state * 1664525U + 1013904223U;
      const auto small = static_cast<int>(state >> 24) % 49 - 24;
      return is_float(shaped.dtype) && !integers ? static_cast<Real>(small) / 8
                                                 : static_cast<Real>(small % 5);
    });
    auto buffer = test::buffer(shaped.dtype, static_cast<std::int64_t>(values.v.size()));
    std::string bytes;
    for (const Real x : values.v) {
      const std::uint64_t bits = Scalar::from_double(shaped.dtype, static_cast<double>(x)).bits();
      bytes.append(reinterpret_cast<const char*>(&bits), itemsize(shaped.dtype));
    }
    buffer->copy_in(std::as_bytes(std::span(bytes)));
    drawn.buffers.push_back(std::move(buffer));
    drawn.values.push_back(std::move(values));
  }
  return drawn;
}

Sizes without_ones(const Sizes& shape) {
  Sizes out;
  for (const std::int64_t s : shape)
    if (s != 1) out.push_back(s);
  return out;
}

// The elements that the reference gives, as doubles.
std::vector<double> by_reference(const LazyOpPtr& ast, Inputs& in, BufferPtr& out) {
  std::int64_t size = 1;
  for (const sint& s : ast->shape()) size *= s.as_int();
  out = test::buffer(ast->dtype(), size);
  std::vector<Buffer*> raw{out.get()};
  for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
  run_kernel(test::reference(), ast, raw);
  std::string bytes(static_cast<std::size_t>(size) * itemsize(ast->dtype()), '\0');
  out->copy_out(std::as_writable_bytes(std::span(bytes)));
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(i) * itemsize(ast->dtype()),
                itemsize(ast->dtype()));
    values.push_back(Scalar::from_bits(ast->dtype(), bits).to_double());
  }
  return values;
}

bool close(double got, Real wanted, double digits) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(wanted)) return got == static_cast<double>(wanted);
  return std::abs(static_cast<Real>(got) - wanted) <= digits * std::max<Real>(1, std::abs(wanted));
}

void check(const Case& c) {
  for (const bool integers : {false, true}) {
    SCOPED_TRACE(c.text + (integers ? " of integers" : ""));
    const Formula formula = parse(with_type(c.text, "f64"));
    Inputs in = draw(formula, integers, 7);
    const Values wanted = c.loops(in.values);
    ASSERT_EQ(formula.value.shape(), wanted.shape);
    const LazyOpPtr ast = formula.kernel();
    ASSERT_EQ(without_ones(concrete(ast->shape())), without_ones(wanted.shape));
    BufferPtr out;
    const std::vector<double> got = by_reference(ast, in, out);
    ASSERT_EQ(got.size(), wanted.v.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(close(got[i], wanted.v[i], 1e-12))
          << "element " << i << ": " << got[i] << ", not " << static_cast<double>(wanted.v[i]);
  }
  // float32: loops in long double, rounded once, are near enough to any legal order.
  const Formula formula = parse(with_type(c.text, "f32"));
  Inputs in = draw(formula, false, 11);
  const Values wanted = c.loops(in.values);
  const LazyOpPtr ast = formula.kernel();
  BufferPtr out;
  const std::vector<double> got = by_reference(ast, in, out);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(close(got[i], wanted.v[i], 1e-5)) << c.text << " element " << i;
  std::vector<Buffer*> raw{out.get()};
  for (const BufferPtr& b : in.buffers) raw.push_back(b.get());
  const Verdict verdict = judge(ast, raw, *out);
  EXPECT_NE(verdict.outcome, Outcome::Fail) << c.text << ": " << verdict.str();
}

TEST(Definitions, ElementwiseOnesAreWhatLoopsGive) {
  for (const Case& c : elementwise_cases()) check(c);
}
TEST(Definitions, ReducesAndRowsAreWhatLoopsGive) {
  for (const Case& c : row_cases()) check(c);
}
TEST(Definitions, ProductsAreWhatLoopsGive) {
  for (const Case& c : product_cases()) check(c);
}
TEST(Definitions, WindowsAreWhatLoopsGive) {
  for (const Case& c : window_cases()) check(c);
}
TEST(Definitions, ReadsAreWhatLoopsGive) {
  for (const Case& c : read_cases()) check(c);
}

TEST(Definitions, EachHasACaseHere) {
  std::string texts;
  for (const auto& cases :
       {elementwise_cases(), row_cases(), product_cases(), window_cases(), read_cases()})
    for (const Case& c : cases) texts += c.text + " ";
  for (const Definition& d : definitions()) {
    if (d.name() == "bitcast") continue;  // below
    const std::string call = std::string(d.name()) + "(";
    EXPECT_NE((" " + texts).find(call), std::string::npos) << d.signature;
  }
}

TEST(Definitions, ABitcastKeepsTheBits) {
  const Formula formula = parse("bitcast(x[3]:f32, to=i32)");
  const std::vector<std::int32_t> got = test::run<std::int32_t>(
      formula.kernel()->src()[0], {test::buffer<float>({1.0F, -0.0F, 0.5F})});
  EXPECT_EQ(got, (std::vector<std::int32_t>{0x3f800000, INT32_MIN, 0x3f000000}));
}

}  // namespace
}  // namespace touchstone::define
