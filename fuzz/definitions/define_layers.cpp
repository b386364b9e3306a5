#include <algorithm>
#include <optional>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

Array softmax_of(const Array& x, int axis, bool logarithm) {
  Array out = x;
  out.signed_zeros = false;
  const auto along = static_cast<std::size_t>(axis);
  Sizes outer = x.shape;
  if (!outer.empty()) outer[along] = outer[along] > 0 ? 1 : 0;
  each(outer, [&](const Sizes& row) {
    Sizes at = row;
    const std::int64_t size = x.shape.empty() ? 1 : x.shape[along];
    const auto cell = [&](std::int64_t i) {
      if (!at.empty()) at[along] = i;
      return x.place(at);
    };
    Near most = x.cells[cell(0)];
    for (std::int64_t i = 1; i < size; ++i) most = larger(most, x.cells[cell(i)]);
    // Shifting by one of the elements adds no error.
    const Near shift(most.v);
    Sum sum;
    for (std::int64_t i = 0; i < size; ++i) sum.add(exp(x.cells[cell(i)] - shift));
    for (std::int64_t i = 0; i < size; ++i) {
      const Near d = x.cells[cell(i)] - shift;
      out.cells[cell(i)] = logarithm ? d - log(sum.value()) : exp(d) / sum.value();
    }
  });
  return out;
}

Array scores_of(const Array& q, const Array& k, const Array* mask, bool causal, const Near* scale) {
  want(q.rank() >= 2 && k.rank() >= 2, "rows");
  constexpr Real kNever = -std::numeric_limits<Real>::infinity();
  const Near usual = 1 / std::sqrt(real(q.shape.back()));
  const Array before = matmul_of(q, moved_axis(k, k.rank() - 1, k.rank() - 2), q.dtype);
  const Sizes shape = mask == nullptr ? before.shape : broadcast(before.shape, mask->shape);
  return made(q.dtype, shape, [&](const Sizes& at) {
    const Near cell = before[within(at, before.shape)] * (scale != nullptr ? *scale : usual);
    if (causal && at.back() > at[at.size() - 2]) return Near(kNever);
    if (mask == nullptr) return cell;
    const Near& m = (*mask)[within(at, mask->shape)];
    return !is_bool(mask->dtype) ? cell + m : m.v != 0 ? cell : Near(kNever);
  });
}

Array linear_of(const Array& x, const Array& weight, const Array* bias) {
  want(weight.rank() == 2 && x.rank() >= 1 && x.shape.back() == weight.shape[1], "a weight");
  want(bias == nullptr || bias->shape == Sizes{weight.shape[0]}, "a bias");
  Sizes shape = x.shape;
  shape.back() = weight.shape[0];
  return made(x.dtype, shape, [&](const Sizes& at) {
    Sum sum;
    Sizes from = at;
    for (std::int64_t k = 0; k < weight.shape[1]; ++k) {
      from.back() = k;
      sum.add(x[from] * weight[{at.back(), k}]);
    }
    return bias == nullptr ? sum.value() : sum.value() + (*bias)[{at.back()}];
  });
}

namespace {

void want_floats(const Arrays& x, std::size_t least, std::size_t most) {
  want(x.size() >= least && x.size() <= most, "so many tensors");
  for (const Array& a : x) want(is_float(a.dtype) && a.dtype == x[0].dtype, "floats of one type");
}
const Array* nth(const Arrays& x, std::size_t i) { return i < x.size() ? &x[i] : nullptr; }

Arrays linear_call(const Call&, const Arrays& x) {
  want_floats(x, 2, 3);
  return {linear_of(x[0], x[1], nth(x, 2))};
}
Arrays softmax_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 1);
  const std::int64_t axis = call.whole("axis", -1);
  return {softmax_of(x[0], axis_in(axis, std::max(x[0].rank(), 1)), call.name == "log_softmax")};
}

// The index of the first element in an element's group.
using Grouping = std::function<void(Sizes& at)>;

struct Moments {
  std::vector<Near> mean, variance;  // at a group's first element
};
Moments moments_of(const Array& x, const Grouping& group) {
  std::vector<Sum> sums(x.cells.size()), squares = sums;
  std::vector<Real> count(sums.size(), 0);
  Moments m{std::vector<Near>(sums.size()), std::vector<Near>(sums.size())};
  const auto all = [&](const auto& f) {
    each(x.shape, [&](Sizes at) {
      const Near& cell = x[at];
      group(at);
      f(cell, x.place(at));
    });
  };
  all([&](const Near& cell, std::size_t of) {
    sums[of].add(cell);
    ++count[of];
  });
  for (std::size_t i = 0; i < sums.size(); ++i) m.mean[i] = sums[i].value() / Near(count[i]);
  all([&](const Near& cell, std::size_t of) {
    const Near d = cell - m.mean[of];
    squares[of].add(d * d);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) m.variance[i] = squares[i].value() / Near(count[i]);
  return m;
}
// Moves and scales the elements of each group by its mean and variance, `of` an index.
template <class F>
Array normalised(const Array& x, const Moments& m, double eps, const F& of) {
  return made(x.dtype, x.shape, [&](const Sizes& at) {
    const std::size_t i = of(at);
    return (x[at] - m.mean[i]) * (Near(1) / sqrt(m.variance[i] + Near(static_cast<Real>(eps))));
  });
}
// Times weight plus bias, per channel (axis 1) or over the last axes.
Array affine_of(const Array& x, const Array* weight, const Array* bias, bool channels) {
  const auto part = [&](const Sizes& all, const Array& of) {
    return channels ? Sizes{all[1]} : tail(all, all.size() - of.shape.size());
  };
  for (const Array* of : {weight, bias})
    want(of == nullptr || (of->rank() <= x.rank() && of->shape == part(x.shape, *of)), "a weight");
  return made(x.dtype, x.shape, [&](const Sizes& at) {
    Near value = x[at];
    if (weight != nullptr) value = value * (*weight)[part(at, *weight)];
    if (bias != nullptr) value = value + (*bias)[part(at, *bias)];
    return value;
  });
}
// To mean 0 and variance 1, then times weight plus bias if given.
Arrays normed(const Call& call, const Arrays& x, bool channels, const Grouping& group) {
  const auto of = [&](Sizes at) {
    group(at);
    return x[0].place(at);
  };
  return {affine_of(normalised(x[0], moments_of(x[0], group), call.real("eps", 1e-5), of),
                    nth(x, 1), nth(x, 2), channels)};
}
Arrays layernorm_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 1);
  const std::size_t axis = axis_of(call, x[0], "axis", -1);
  return normed(call, x, false, [&](Sizes& at) { at[axis] = 0; });
}
Arrays layer_norm_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 3);
  const std::int64_t axes = call.whole("axes", 1);
  want(axes >= 1 && axes <= x[0].rank(), "axes");
  for (std::size_t i = 1; i < x.size(); ++i) want(x[i].rank() == axes, "a weight");
  return normed(call, x, false, [&](Sizes& at) { std::fill(at.end() - axes, at.end(), 0); });
}
Arrays layer_norm2d_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 3);
  want(x[0].rank() == 4, "images");
  return normed(call, x, true, [](Sizes& at) { at[1] = 0; });
}
Arrays rms_norm_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 2);
  want(x[0].rank() >= 1, "an axis");
  want(x.size() < 2 || x[1].shape == Sizes{x[0].shape.back()}, "a weight");
  return {made(x[0].dtype, x[0].shape, [&](const Sizes& at) {
    Sum squares;
    Sizes from = at;
    for (from.back() = 0; from.back() < x[0].shape.back(); ++from.back())
      squares.add(x[0][from] * x[0][from]);
    const Near value = x[0][at] / sqrt(squares.value() / Near(real(x[0].shape.back())) +
                                       Near(static_cast<Real>(call.real("eps", 1e-6))));
    return x.size() == 2 ? value * x[1][{at.back()}] : value;
  })};
}
Arrays group_norm_call(const Call& call, const Arrays& x) {
  want_floats(x, 1, 3);
  want(x[0].rank() >= 2, "channels");
  const std::int64_t channels = x[0].shape[1];
  want(call.has("groups") || call.name.find("roup") == std::string::npos, "groups");
  const std::int64_t groups = call.whole("groups", channels);
  want(groups >= 1 && channels % groups == 0, "groups");
  return normed(call, x, true, [&](Sizes& at) {
    at[1] -= at[1] % (channels / groups);
    std::fill(at.begin() + 2, at.end(), 0);
  });
}
// x, mean, variance, weight, bias; in training the updated mean and variance are results too.
Arrays batch_norm_call(const Call& call, const Arrays& x) {
  want_floats(x, 3, 5);
  want(x[0].rank() >= 2, "channels");
  const std::int64_t channels = x[0].shape[1];
  for (const std::size_t i : {1U, 2U}) want(x[i].shape == Sizes{channels}, "a mean");
  const auto batch_normed = [&](const Moments& by) {
    const auto channel = [](const Sizes& at) { return static_cast<std::size_t>(at[1]); };
    return affine_of(normalised(x[0], by, call.real("eps", 1e-5), channel), nth(x, 3), nth(x, 4),
                     true);
  };
  if (!call.has("train")) return {batch_normed({x[1].cells, x[2].cells})};
  const auto momentum = static_cast<Real>(call.real("momentum", 0.1));
  const std::int64_t count = x[0].size() / std::max<std::int64_t>(channels, 1);
  want(count > 0, "a batch");
  Moments all =
              moments_of(x[0], [](Sizes&at) { at = spliced(Sizes(at.size(), 0), 1, 1, {at[1]}); }),
          m;
  for (Sizes at(x[0].shape.size(), 0); at[1] < channels; ++at[1]) {
    m.mean.push_back(all.mean[x[0].place(at)]);
    m.variance.push_back(all.variance[x[0].place(at)]);
  }
  const Near unbiased = real(count) / real(std::max<std::int64_t>(count - 1, 1));
  const auto moved_to = [&](const Array& old, const auto& now) {
    return made(old.dtype, old.shape, [&](const Sizes& at) {
      return old[at] * Near(1 - momentum) + now(static_cast<std::size_t>(at[0])) * Near(momentum);
    });
  };
  return {batch_normed(m), moved_to(x[1], [&](std::size_t c) { return m.mean[c]; }),
          moved_to(x[2], [&](std::size_t c) { return m.variance[c] * unbiased; })};
}

Array attention_of(const Array& q, const Array& k, const Array& v, const Array* mask, bool causal,
                   const Near* scale) {
  want(v.rank() >= 2, "rows");
  const Array scores = scores_of(q, k, mask, causal, scale);
  want(scores.shape.back() > 0, "keys");
  Array out = matmul_of(softmax_of(scores, scores.rank() - 1, false), v, q.dtype);
  // An infinite value times a weight of 0, or nearly 0, may be NaN.
  if (std::ranges::any_of(v.cells, [](const Near& cell) { return !std::isfinite(cell.v); }))
    for (Near& cell : out.cells) cell = anything();
  return out;
}
Arrays attention_call(const Call& call, const Arrays& x) {
  want(x.size() == 3 || x.size() == 4, "queries, keys, values and a mask");
  want_floats({x[0], x[1], x[2]}, 3, 3);
  want(x[1].shape.back() == x[0].shape.back(), "keys");
  if (x.size() > 3) want(is_bool(x[3].dtype) || x[3].dtype == x[0].dtype, "a mask");
  const Near scale = static_cast<Real>(call.real("scale", 1));
  return {attention_of(x[0], x[1], x[2], nth(x, 3), call.whole("causal", 0) != 0,
                       call.has("scale") ? &scale : nullptr)};
}
// (n, tokens, size) -> (n, heads, tokens, size / heads)
Array heads_of(const Array& x, std::int64_t heads) {
  Array apart = x;
  apart.shape = {x.shape[0], x.shape[1], heads, x.shape[2] / heads};
  return moved_axis(apart, 2, 1);
}
Arrays multi_head_call(const Call& call, const Arrays& x) {
  want_floats(x, 11, 11);  // q, k, v; weights and biases of query, key, value, out
  const std::int64_t heads = call.whole("heads", 1);
  for (const int i : {0, 1, 2}) want(x[static_cast<std::size_t>(i)].rank() == 3, "tokens");
  const std::int64_t size = x[0].shape[2];
  want(heads >= 1 && size % heads == 0 && size > 0, "heads");
  if (call.name == "next")  // each token attends to itself and earlier ones
    want(call.whole("causal", 0) != 0 && call.inputs[1].values == call.inputs[0].values &&
             call.inputs[2].values == call.inputs[0].values && x[1].shape == x[0].shape &&
             x[2].shape == x[0].shape,
         "one sequence");
  for (std::size_t i = 3; i < 11; i += 2)
    want(x[i].shape == Sizes{size, size} && x[i + 1].shape == Sizes{size}, "weights");
  const Array q = heads_of(linear_of(x[0], x[3], &x[4]), heads),
              k = heads_of(linear_of(x[1], x[5], &x[6]), heads),
              v = heads_of(linear_of(x[2], x[7], &x[8]), heads);
  want(k.shape[2] == v.shape[2] && k.shape[0] == q.shape[0] && v.shape[0] == q.shape[0], "tokens");
  Array mixed =
      moved_axis(attention_of(q, k, v, nullptr, call.whole("causal", 0) != 0, nullptr), 1, 2);
  mixed.shape = {x[0].shape[0], x[0].shape[1], size};
  return {linear_of(mixed, x[9], &x[10])};
}

// x, weight_ih, weight_hh, bias_ih, bias_hh and, if given, the hidden state and the cell.
template <bool kCell>
Arrays recurrent_call(const Call&, const Arrays& x) {
  want_floats(x, 5, kCell ? 7 : 6);
  want(x[0].rank() == 3 && x[2].rank() == 2 && x[0].shape[1] > 0, "steps");
  want(!kCell || x.size() != 6, "a hidden state and a cell");
  const std::int64_t n = x[0].shape[0], steps = x[0].shape[1], hidden = x[2].shape[1];
  const auto zero = [](const Sizes&) { return Near(); };
  Array h = made(x[0].dtype, {n, hidden}, zero), c = h,
        outputs = made(x[0].dtype, {n, steps, hidden}, zero);
  for (std::size_t i = 5; i < x.size(); ++i) {
    want(x[i].shape == h.shape, "a state");
    (i == 5 ? h : c) = x[i];
  }
  for (std::int64_t t = 0; t < steps; ++t) {
    Arrays of = {made(x[0].dtype, {n, x[0].shape[2]},
                      [&](const Sizes& at) {
                        return x[0][{at[0], t, at[1]}];
                      }),
                 h};
    if (kCell) of.push_back(c);
    of.insert(of.end(), x.begin() + 1, x.begin() + 5);
    h = chained(kCell ? "lstm_cell" : "gru_cell", of);
    if (kCell) c = chained("lstm_cell_c", of);
    each(h.shape, [&](const Sizes& at) { outputs[{at[0], t, at[1]}] = h[at]; });
  }
  return kCell ? Arrays{outputs, h, c} : Arrays{outputs, h};
}

const Definition kLayers[] = {
    {"linear Linear", linear_call},
    {"Sequential",  // relu, then a linear layer
     [](const Call& call, const Arrays& x) {
       want_floats(x, 3, 3);
       Arrays positive = x;
       for (Near& cell : positive[0].cells)
         if (cell.v < 0) cell = 0;
       return linear_call(call, positive);
     }},
    {"softmax log_softmax", softmax_call},
    {"layernorm", layernorm_call},
    {"layer_norm LayerNorm", layer_norm_call},
    {"LayerNorm2d", layer_norm2d_call},
    {"rms_norm RMSNorm", rms_norm_call},
    {"group_norm GroupNorm instance_norm InstanceNorm", group_norm_call},
    {"batch_norm BatchNorm", batch_norm_call},
    {"scaled_dot_product_attention", attention_call},
    {"MultiHeadAttention next", multi_head_call},
    {"LSTM", recurrent_call<true>},
    {"GRU", recurrent_call<false>},
    {"Dropout",
     [](const Call&, const Arrays& x) -> Arrays {
       want_floats(x, 1, 1);
       return {x[0]};
     }},
};

}  // namespace

std::span<const Definition> layer_definitions() { return kLayers; }

}  // namespace touchstone::fuzz::defined
