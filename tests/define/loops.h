// Definitions as plain loops over indices in long double.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/define/definitions.h"

namespace touchstone::define {

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
inline Values filled(const Sizes& shape, const std::function<Real(const Index&)>& f) {
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

inline Loops each(Real (*f)(Real)) {
  return [f](const std::vector<Values>& in) {
    return filled(in[0].shape, [&](const Index& at) { return f(in[0](at)); });
  };
}
inline Loops both(Real (*f)(Real, Real)) {
  return [f](const std::vector<Values>& in) {
    return filled(in[0].shape, [&](const Index& at) { return f(in[0](at), in[1](at)); });
  };
}

// f(row, place) for each element, over rows of the last axis.
inline Loops by_rows(std::function<Real(const std::vector<Real>&, std::size_t)> f) {
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
// The same with one value per row.
inline Loops of_rows(std::function<Real(const std::vector<Real>&)> f) {
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

inline Real total(const std::vector<Real>& row) {
  Real s = 0;
  for (const Real x : row) s += x;
  return s;
}
inline Real largest(const std::vector<Real>& row) {
  Real m = -INFINITY;
  for (const Real x : row) m = x > m ? x : m;
  return m;
}
inline Real exponentials(const std::vector<Real>& row) {
  Real s = 0;
  for (const Real x : row) s += std::exp(x);
  return s;
}
inline Real mean_of(const std::vector<Real>& row) {
  return total(row) / static_cast<Real>(row.size());
}
inline Real variance(const std::vector<Real>& row, int correction) {
  Real s = 0;
  for (const Real x : row) s += (x - mean_of(row)) * (x - mean_of(row));
  return s / static_cast<Real>(static_cast<std::int64_t>(row.size()) - correction);
}

// Out-of-range reads are 0: padding.
inline Real or_zero(const Values& x, const Index& at) {
  for (std::size_t a = 0; a < at.size(); ++a)
    if (at[a] < 0 || at[a] >= x.shape[a]) return 0;
  return x(at);
}

struct ConvArgs {
  std::int64_t stride, padding, dilation, groups;
};
inline Loops conv2d_loops(ConvArgs c) {
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
inline Loops conv1d_loops(ConvArgs c) {
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
inline Loops pool2d_loops(std::int64_t size, std::int64_t stride, std::int64_t padding,
                          bool maximum) {
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

inline Values product(const Values& a, const Values& b, bool ta = false, bool tb = false) {
  const std::int64_t n = a.shape[ta ? 1 : 0], k = a.shape[ta ? 0 : 1], m = b.shape[tb ? 0 : 1];
  return filled({n, m}, [&](const Index& at) {
    Real s = 0;
    for (std::int64_t i = 0; i < k; ++i)
      s += (ta ? a({i, at[0]}) : a({at[0], i})) * (tb ? b({at[1], i}) : b({i, at[1]}));
    return s;
  });
}
inline Loops product_loops(bool ta, bool tb) {
  return [=](const std::vector<Values>& in) { return product(in[0], in[1], ta, tb); };
}

inline Values scores(const std::vector<Values>& in, bool causal, Real scale) {
  Values s = product(in[0], in[1], false, true);
  return filled(s.shape, [&](const Index& at) {
    return causal && at[1] > at[0] ? -INFINITY : s(at) * scale;
  });
}
inline Loops attention_loops(bool causal, std::optional<Real> scale = std::nullopt) {
  return [=](const std::vector<Values>& in) {
    const Real by = scale.value_or(1 / std::sqrt(static_cast<Real>(in[0].shape[1])));
    const Values p = by_rows([](const auto& row, std::size_t i) {
      return std::exp(row[i]) / exponentials(row);
    })({scores(in, causal, by)});
    return product(p, in[2]);
  };
}

inline Loops read_at(Sizes shape, std::function<Index(const Index&)> from) {
  return [=](const std::vector<Values>& in) {
    return filled(shape, [&](const Index& at) { return or_zero(in[0], from(at)); });
  };
}

inline Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }

}  // namespace touchstone::define
