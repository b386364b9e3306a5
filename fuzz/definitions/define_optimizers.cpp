#include <algorithm>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

using Cells = std::vector<Near>;
Near near_of(double value) { return static_cast<Real>(value); }

// The parameter and its gradient in each step.
void want_steps(const Arrays& x) {
  want(x.size() >= 2 && x.size() <= 6, "a parameter and gradients");
  for (const Array& a : x)
    want(is_float(a.dtype) && a.dtype == x[0].dtype && a.shape == x[0].shape, "one shape and type");
}
// The learning rate of step t, from 1 on; a different one from step 2 on if given.
Near rate_at(const Call& call, std::size_t t, double otherwise) {
  const double lr = call.real("lr", otherwise);
  return near_of(t > 1 ? call.real("then", lr) : lr) * near_of(call.real("scale", 1));
}
double decay_of(const Call& call, double otherwise) {
  return call.real("group_decay", call.real("decay", otherwise));
}

// The parameter after the last step, the learning rate, and the number of steps.
Arrays after_steps(const Call& call, const Arrays& x, Array parameter, double otherwise) {
  const std::size_t steps = x.size() - 1;
  const double lr = call.real("lr", otherwise);
  return {std::move(parameter),
          Array{DType::Float64, {}, {near_of(steps > 1 ? call.real("then", lr) : lr)}},
          Array{DType::Int64, {}, {Near(static_cast<Real>(steps))}}};
}

Arrays sgd_call(const Call& call, const Arrays& x) {
  want_steps(x);
  const Near momentum = near_of(call.real("momentum", 0)), decay = near_of(decay_of(call, 0));
  const bool nesterov = call.has("nesterov");
  want(!nesterov || momentum.v != 0, "a momentum");
  Array p = x[0];
  p.signed_zeros = false;
  for (std::size_t i = 0; i < p.cells.size(); ++i) {
    Near velocity = 0;
    for (std::size_t t = 1; t < x.size(); ++t) {
      Near g = x[t].cells[i];
      if (decay.v != 0) g = g + p.cells[i] * decay;
      Near step = g;
      if (momentum.v != 0) {
        velocity = velocity * momentum + g;
        step = nesterov ? g + velocity * momentum : velocity;
      }
      p.cells[i] = p.cells[i] - step * rate_at(call, t, 0.1);
    }
  }
  return after_steps(call, x, p, 0.1);
}

Near norm_of(const Cells& all) {
  Sum squares;
  for (const Near& cell : all) squares.add(cell * cell);
  return sqrt(squares.value());
}

// Adam, AdamW and LAMB differ in their use of the direction.
Arrays adam_call(const Call& call, const Arrays& x) {
  want_steps(x);
  const bool lamb = call.name == "LAMB", decoupled = call.name == "AdamW";
  want(lamb || decoupled || !(call.has("decay") || call.has("group_decay")), "Adam has no decay");
  const Real b1 = static_cast<Real>(call.real("beta1", 0.9)),
             b2 = static_cast<Real>(call.real("beta2", 0.999));
  const Near eps = near_of(call.real("eps", lamb ? 1e-6 : 1e-8)),
             decay = near_of(decay_of(call, 0.01));
  Array p = x[0];
  p.signed_zeros = false;
  Cells m(p.cells.size()), v(p.cells.size()), step(p.cells.size());
  for (std::size_t t = 1; t < x.size(); ++t) {
    const Real steps = static_cast<Real>(t);
    const Near lr = rate_at(call, t, 1e-3), first = rounded(1 - std::pow(b1, steps)),
               second = rounded(1 - std::pow(b2, steps));
    for (std::size_t i = 0; i < m.size(); ++i) {
      const Near g = x[t].cells[i];
      m[i] = m[i] * Near(b1) + g * Near(1 - b1);
      v[i] = v[i] * Near(b2) + g * g * Near(1 - b2);
      step[i] = m[i] / first / (sqrt(v[i] / second) + eps);
      if (lamb) step[i] = step[i] + p.cells[i] * decay;
    }
    Near ratio = 1;
    if (lamb) {
      const Near size = norm_of(p.cells), length = norm_of(step);
      if (size.v > 0 && length.v > 0) ratio = size / length;
      if ((size.e > 0 && size.v <= 2 * size.e) || (length.e > 0 && length.v <= 2 * length.e))
        ratio = anything();  // 0 or not: unknown
    }
    for (std::size_t i = 0; i < m.size(); ++i) {
      Near& value = p.cells[i];
      if (decoupled) value = value * (Near(1) - lr * decay);
      value = value - step[i] * (ratio * lr);
    }
  }
  return after_steps(call, x, p, 1e-3);
}

// Gradients scaled by one factor, and the norm before scaling.
Arrays clip_norm_call(const Call& call, const Arrays& x) {
  const double most = call.real("most", 1);
  want(most > 0 && x.size() <= 3, "a norm");
  Cells all;
  for (const Array& a : x) {
    want(is_float(a.dtype) && a.dtype == x[0].dtype, "floats");
    all.insert(all.end(), a.cells.begin(), a.cells.end());
  }
  const DType wide = itemsize(x[0].dtype) < 4 ? DType::Float32 : x[0].dtype;
  const Near norm = norm_of(all);
  Near scale = near_of(most) / (norm + near_of(1e-6));
  if (scale.v > 1) scale = Near(1, std::fmin(scale.e, Real{1}));
  Arrays out = x;
  for (Array& a : out) {
    a.signed_zeros = false;
    for (Near& cell : a.cells) cell = cell * scale;
  }
  out.push_back(Array{wide, {}, {norm}});
  return out;
}
Arrays clip_value_call(const Call& call, const Arrays& x) {
  const double most = call.real("most", 1);
  want(most > 0 && x.size() <= 3, "a value");
  Arrays out = x;
  for (Array& a : out) {
    want(is_float(a.dtype), "floats");
    a.signed_zeros = false;
    const Near high = as_type(a.dtype, near_of(most));
    for (Near& cell : a.cells) cell = smaller_of(larger(cell, -high), high);
  }
  return out;
}
// The gradient of sum(p g1) + sum(p g2) ..., from grad() and gradients().
Arrays gradient_sum(const Call& call, const Arrays& x) {
  want_steps(x);
  Array out = x[0];
  out.signed_zeros = false;
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    Near all = 0;
    for (std::size_t t = 1; t < x.size(); ++t) all = all + x[t].cells[i];
    out.cells[i] = call.has("cleared") ? x.back().cells[i] : all;
  }
  return {out};
}

const Definition kOptimizers[] = {
    {"SGD", sgd_call},
    {"Adam AdamW LAMB", adam_call},
    {"clip_grad_norm", clip_norm_call},
    {"clip_grad_value", clip_value_call},
    {"backward gradients", gradient_sum},
};

}  // namespace

std::span<const Definition> optimizer_definitions() { return kOptimizers; }

}  // namespace touchstone::fuzz::defined
