#include <algorithm>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

Arrays loss_of(const Call& call, const Array& losses, const Near& count) {
  const std::string_view reduction = call.arg("reduction").value_or("mean");
  if (reduction == "none") return {losses};
  Sum sum;
  for (const Near& cell : losses.cells) sum.add(cell);
  Near all = sum.value();
  if (reduction == "mean") {
    all = all / count;
    all = rounded(all.v, all.e, 2);
  }
  return {Array{losses.dtype, {}, {all}}};
}

Near log_at_least(const Near& p) {
  const Near l = log(p);
  return l.v < -100 ? Near(-100) : Near(l.v, l.e);
}

template <class F>
Arrays pairwise(const Call& call, const Arrays& x, F f) {
  want(
      x.size() == 2 && x[0].shape == x[1].shape && x[0].dtype == x[1].dtype && is_float(x[0].dtype),
      "two of one shape and type");
  const Array losses =
      made(x[0].dtype, x[0].shape, [&](const Sizes& at) { return f(x[0][at], x[1][at]); });
  return loss_of(call, losses, static_cast<Real>(losses.size()));
}
Near magnitude(const Near& x) { return {std::fabs(x.v), x.e}; }

Arrays mse_call(const Call& call, const Arrays& x) {
  return pairwise(call, x, [](const Near& a, const Near& b) { return (a - b) * (a - b); });
}
Arrays l1_call(const Call& call, const Arrays& x) {
  return pairwise(call, x, [](const Near& a, const Near& b) { return magnitude(a - b); });
}
Arrays huber_call(const Call& call, const Arrays& x) {
  const auto delta = static_cast<Real>(call.real("delta", 1));
  want(delta > 0, "delta");
  return pairwise(call, x, [&](const Near& a, const Near& b) {
    const Near d = magnitude(a - b);
    return d.v < delta ? d * d * Near(0.5L) : (d - Near(delta / 2)) * Near(delta);
  });
}
Arrays kl_call(const Call& call, const Arrays& x) {
  return pairwise(call, x, [&](const Near& v, const Near& t) {
    if (call.has("log_target")) return exp(t) * (t - v);
    return (t.v == 0 ? Near(0) : t * log(t)) - t * v;
  });
}
Arrays bce_call(const Call& call, const Arrays& x) {
  for (const Array& a : x)
    for (const Near& cell : a.cells) want(cell.v >= 0 && cell.v <= 1, "shares");
  return pairwise(call, x, [](const Near& p, const Near& y) {
    return -(y * log_at_least(p) + (Near(1) - y) * log_at_least(Near(1) - p));
  });
}
Arrays bce_logits_call(const Call& call, const Arrays& x) {
  return pairwise(call, x, [](const Near& v, const Near& y) {
    const auto softplus = [](Real r) {
      return std::fmax(r, 0) + std::log1p(std::exp(-std::fabs(r)));
    };
    // At an infinite logit, its share times infinity; 0 for a share of 0.
    const Real share = v.v > 0 ? 1 - y.v : y.v;
    if (std::isinf(v.v) && !std::isnan(y.v))
      return share == 0 ? Near(0) : Near(share * std::fabs(v.v));
    return through(softplus, v, 6) - v * y;
  });
}

// log_p, or logits: (n, classes), and more axes if `nd`; labels: (n, ...), with a NaN loss outside
// the classes, or the probabilities of all; weights of the classes.
Arrays nll_call(const Call& call, const Arrays& x) {
  want(x.size() >= 2 && x[0].rank() >= 2 && is_float(x[0].dtype), "labels");
  want(call.has("nd") ? x.size() < 4 : x.size() == 2 && x[0].rank() == 2, "an axis or a weight");
  Sizes places = x[0].shape;
  places.erase(places.begin() + 1);
  const bool shares = is_float(x[1].dtype) && call.has("nd") && call.name == "cross_entropy";
  want(shares ? x[1].shape == x[0].shape : is_integer(x[1].dtype) && x[1].shape == places,
       "labels");
  const std::int64_t classes = x[0].shape[1];
  want(classes > 0, "classes");
  const bool logits = call.name == "cross_entropy";
  const Array log_p = logits ? softmax_of(x[0], 1, true) : x[0];
  const Near share = static_cast<Real>(call.real("smoothing", 0));
  want(share.v >= 0 && share.v <= 1, "a share");
  Array losses{x[0].dtype, places, {}};
  Near counted = 0;
  const auto weighted = [&](const Sizes& at, std::int64_t c) {
    Sizes from = at;
    from.insert(from.begin() + 1, c);
    const Near p = x.size() > 2 ? log_p[from] * x[2][{c}] : log_p[from];
    const Near part = (Near(1) - share), rest = share / Near(static_cast<Real>(classes));
    return !shares ? p : p * (share.v > 0 ? x[1][from] * part + rest : x[1][from]);
  };
  each(places, [&](const Sizes& at) {
    if (shares) {
      Sum all;
      for (std::int64_t c = 0; c < classes; ++c) all.add(weighted(at, c));
      counted.v += 1;
      losses.cells.push_back(-all.value());
      return;
    }
    const std::int64_t label = x[1].whole(at);
    if (call.has("ignore") && label == call.whole("ignore", 0)) {
      losses.cells.emplace_back(0);
      return;
    }
    if (label < 0 || label >= classes) {
      counted.v += 1;
      losses.cells.emplace_back(std::numeric_limits<Real>::quiet_NaN());
      return;
    }
    counted = x.size() > 2 ? counted + x[2][{label}] : Near(counted.v + 1);
    Near loss = -weighted(at, label);
    if (share.v > 0) {
      Sum all;
      for (std::int64_t c = 0; c < classes; ++c) all.add(weighted(at, c));
      loss = loss * (Near(1) - share) - all.value() / Near(static_cast<Real>(classes)) * share;
    }
    losses.cells.push_back(loss);
  });
  return loss_of(call, losses, counted);
}

const Definition kLosses[] = {
    {"mse_loss", mse_call},
    {"l1_loss", l1_call},
    {"huber_loss", huber_call},
    {"binary_cross_entropy", bce_call},
    {"binary_cross_entropy_with_logits", bce_logits_call},
    {"kl_div", kl_call},
    {"nll_loss cross_entropy", nll_call},
};

}  // namespace

std::span<const Definition> loss_definitions() { return kLosses; }

}  // namespace touchstone::fuzz::defined
