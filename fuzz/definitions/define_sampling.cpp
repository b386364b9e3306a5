// Samples at positions between elements: each is the sum of the elements near it, times weights.
// The formulas among the definitions.
#include "touchstone/fuzz/definitions/given_arrays.h"

namespace touchstone::fuzz::defined {

Real weight_of(Real d, Kernel kernel) {
  d = std::fabs(d);
  const Real a = -0.75L;
  if (kernel == Kernel::Nearest) return d < 0.5L ? 1 : 0;
  if (kernel == Kernel::Hat) return std::fmax(1 - d, 0);
  return d <= 1  ? ((a + 2) * d - (a + 3)) * d * d + 1
         : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                 : 0;
}

namespace {

// Narrow floats are computed in float32.
GivenArrays widened(const GivenArrays& g) {
  GivenArrays wide = g;
  for (auto& [name, array] : wide.arrays)
    if (is_float(array.dtype) && itemsize(array.dtype) < 4) array = cast_to(DType::Float32, array);
  return wide;
}
template <auto F>
Array in_float32(const GivenArrays& g) {
  const DType dtype = g.arrays[0].second.dtype;
  const Rounding of(dtype == DType::Float64 ? dtype : DType::Float32);
  return cast_to(dtype, F(widened(g)));
}

// A position on an axis, and the error of computing it.
struct Place {
  Real at = 0, error = 0;
};
// The sample of the last axes of x at these places. Beyond an end are zeros, or the last elements.
Near sample(const Array& x, const Sizes& lead, const std::vector<Place>& places, Kernel kernel,
            bool extends) {
  const Real reach = kernel == Kernel::Nearest ? 0.5L : kernel == Kernel::Hat ? 1 : 2;
  Sum sum;
  bool open = false;
  each(Sizes(places.size(), 5), [&](const Sizes& tap) {
    Sizes from = lead;
    Real weight = 1, error = 0;
    bool near = true, maybe = true, inside = true;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t n = x.shape[lead.size() + i];
      const auto k = static_cast<std::int64_t>(std::floor(places[i].at)) - 2 + tap[i];
      const Real d = std::fabs(places[i].at - real(k)), off = places[i].error;
      near = near && d < reach - off;
      maybe = maybe && d < reach + off;
      const Real w = weight_of(d, kernel);
      error = error * (std::fabs(w) + 2 * off) + 2 * off * std::fabs(weight);
      weight *= w;
      inside = inside && (extends || (k >= 0 && k < n));
      from.push_back(std::clamp<std::int64_t>(k, 0, n - 1));
    }
    if (!maybe || !inside) return;
    const Real v = x[from].v;
    if (!near && (kernel == Kernel::Nearest || !std::isfinite(v))) open = true;
    if (kernel == Kernel::Nearest)
      sum.add(x[from]);
    else
      sum.add(std::isfinite(v) ? Near(v) * Near(weight, error + 8 * Rounding::unit)
                               : Near(v * weight));
  });
  return open ? anything() : sum.value();
}

Place error_of(Real at, Real size) {
  return {at, 16 * Rounding::unit * (1 + std::fabs(at) + size)};
}

// Steps back at the ends until it is inside.
Real reflected(Real at, Real n, bool corners) {
  const Real low = corners ? 0 : -0.5L, high = corners ? n - 1 : n - 0.5L;
  while (high > low && (at < low || at > high)) at = at < low ? 2 * low - at : 2 * high - at;
  return at;
}
Array grid_sample(const GivenArrays& g) {
  const Array &x = g["x"], &grid = g["grid"];
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  const std::string_view mode = g.word("mode"), border = g.word("padding_mode");
  const Kernel kernel = mode == "nearest"   ? Kernel::Nearest
                        : mode == "bicubic" ? Kernel::Keys
                                            : Kernel::Hat;
  const bool corners = g.is("align_corners"), cubic = kernel == Kernel::Keys;
  want((axes == 2 || axes == 3) && grid.rank() == x.rank() && grid.shape[0] == x.shape[0] &&
           grid.shape.back() == x.rank() - 2 && x.dtype == grid.dtype,
       "a grid");
  want(!cubic || (axes == 2 && border != "reflection"), "cubic samples");
  Sizes shape(x.shape.begin(), x.shape.begin() + 2);
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return made(x.dtype, shape, [&](const Sizes& at) -> Near {
    std::vector<Place> places;
    bool known = true, outside = false;
    for (std::size_t i = 0; i < axes; ++i) {
      const Real n = real(x.shape[2 + i]);
      Sizes from = at;
      from.erase(from.begin() + 1);
      from.push_back(static_cast<std::int64_t>(axes - 1 - i));
      const Real v = grid[from].v;
      outside = outside || std::isnan(v) || n == 0;
      known = known && std::isfinite(v) && std::fabs(v) < 1e6L;
      if (outside || !known) continue;
      Place place =
          error_of(corners ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2, n * (1 + std::fabs(v)));
      if (border == "reflection") place.at = reflected(place.at, n, corners);
      if (border != "zeros" && !cubic) place.at = std::clamp<Real>(place.at, 0, n - 1);
      places.push_back(place);
    }
    if (outside || !known) return outside && known ? Near(0) : anything();
    return sample(x, {at[0], at[1]}, places, kernel, border != "zeros");
  });
}
// theta times the position (.., row, column, 1), the last axis first.
Array affine_grid(const GivenArrays& g) {
  const Array& theta = g["theta"];
  const Sizes size = g.call.list("size");
  const auto axes = static_cast<std::int64_t>(size.size());
  want(theta.rank() == 3 && theta.shape[1] == axes && theta.shape[2] == axes + 1 &&
           std::ranges::min(size) >= 1,
       "sizes");
  Sizes shape = {theta.shape[0]};
  shape.insert(shape.end(), size.begin(), size.end());
  shape.push_back(axes);
  return made(theta.dtype, shape, [&](const Sizes& at) {
    Sum sum;
    bool finite = true;
    for (std::int64_t k = 0; k <= axes; ++k) {
      const Near v = theta[{at[0], at.back(), k}];
      finite = finite && std::isfinite(v.v);
      const auto axis = static_cast<std::size_t>(axes - 1 - k);
      Real place = 1;
      if (k < axes) {
        const Real n = real(size[axis]), i = real(at[1 + axis]);
        place = !g.is("align_corners") ? (2 * i + 1) / n - 1 : n > 1 ? 2 * i / (n - 1) - 1 : 0;
      }
      sum.add({v.v * place, 8 * Rounding::unit * std::fabs(v.v) + Rounding::least});
    }
    return finite ? sum.value() : anything();
  });
}
// Samples outside by more than one element are 0, others are moved inside.
Array roi_align(const GivenArrays& g) {
  const Array &x = g["x"], &rois = g["rois"], &batch = g["batch"];
  Sizes bins = g.call.list("size");
  if (bins.size() == 1) bins.push_back(bins[0]);
  const std::int64_t samples = g.call.whole("sampling_ratio", 1);
  const auto scale = static_cast<Real>(g.call.real("scale", 1));
  want(x.rank() == 4 && rois.rank() == 2 && rois.shape[1] == 4 && bins.size() == 2 &&
           batch.shape == Sizes{rois.shape[0]} && samples >= 1 && std::ranges::min(bins) >= 1,
       "boxes");
  const bool aligned = g.is("aligned");
  return made(x.dtype, {rois.shape[0], x.shape[1], bins[0], bins[1]}, [&](const Sizes& at) -> Near {
    std::int64_t image = batch.whole({at[0]});
    image += image < 0 ? x.shape[0] : 0;
    Sum sum;
    bool known = true;
    if (image < 0 || image >= x.shape[0]) return 0;
    each({samples, samples}, [&](const Sizes& s) {
      std::vector<Place> places;
      bool outside = false;
      for (std::size_t i = 0; i < 2; ++i) {
        const Real n = real(x.shape[2 + i]);
        const auto corner = [&](std::int64_t k) {
          return rois[{at[0], k - static_cast<std::int64_t>(i)}].v * scale - (aligned ? 0.5L : 0);
        };
        const Real begin = corner(1), end = corner(3),
                   length = aligned ? end - begin : std::fmax(end - begin, 1);
        known = known && std::isfinite(begin) && std::isfinite(end);
        if (!known) return;
        Place place = error_of(begin + (real(at[2 + i]) + (real(s[i]) + 0.5L) / real(samples)) *
                                           length / real(bins[i]),
                               std::fabs(begin) + std::fabs(end));
        known =
            known && std::fabs(place.at + 1) > place.error && std::fabs(place.at - n) > place.error;
        outside = outside || place.at < -1 || place.at > n || n == 0;
        place.at = std::clamp<Real>(place.at, 0, std::fmax(n - 1, 0));
        places.push_back(place);
      }
      if (known && !outside) sum.add(sample(x, {image, at[1]}, places, Kernel::Hat, false));
    });
    return known ? sum.value() / Near(real(samples * samples)) : anything();
  });
}

// ---- formulas, from the mathematics: of the elements, and of numbers by their names

using Cells = std::vector<Near>;
struct Named {
  const GivenArrays& g;
  Real operator[](std::string_view name) const {
    const double given = g.call.real(name, 0);
    return g.arrays[0].second.dtype == DType::Float64 ? given : static_cast<float>(given);
  }
};
template <auto F>
Array each_of(const GivenArrays& g) {
  Sizes shape;
  for (const auto& [name, x] : g.arrays) shape = broadcast(shape, x.shape);
  return made(g.arrays[0].second.dtype, shape, [&](const Sizes& at) -> Near {
    Cells v;
    for (const auto& [name, x] : g.arrays) v.push_back(x[within(at, x.shape)]);
    return F(v, Named{g});
  });
}
template <auto F>
constexpr auto kOf = in_float32<each_of<F>>;

Near lerp(const Cells& v, const Named&) {
  for (const Near& x : v)
    if (std::isnan(x.v)) return x;
  const Near up = v[0] + v[2] * (v[1] - v[0]), down = v[1] - (Near(1) - v[2]) * (v[1] - v[0]);
  const Real off = up.e + down.e;
  return std::isfinite(off) && std::isfinite(v[2].v) && std::isfinite(up.v) ? Near(up.v, off)
                                                                            : anything();
}
Near logaddexp(const Cells& v, const Named&) {
  const Near most = larger(v[0], v[1]);
  if (!std::isfinite(most.v)) return most;
  const Real least = std::fmin(v[0].v, v[1].v);
  return rounded(most.v + std::log1p(std::exp(least - most.v)), 8 * Rounding::unit, 8);
}
Array l2_norm(const GivenArrays& g) { return g.by("square; sum axes={axis} keep={keep}; sqrt"); }
Array normalize(const GivenArrays& g) {
  return g.by("square; sum axes={axis} keep=1; sqrt; clamp low={eps} high=inf; operator/ %0 $");
}
Array mean_variance_normalization(const GivenArrays& g) {
  return g.by(
      "mean axes={axis} keep=1; operator- %0 $; std axes={axis} correction=0 keep=1 %0; "
      "operator+ number=1e-9; operator/ %2 $");
}

template <auto F>
Array loss_each(const GivenArrays& g) {
  return reduced(g, each_of<F>(g));
}
template <auto F>
constexpr auto kLoss = in_float32<loss_each<F>>;
Near at_least_zero(const Near& x) { return larger(x, Near(0)); }

Near poisson(const Cells& v, const Named& n) {
  const Near &x = v[0], &t = v[1];
  const bool of_log = n["log_input"] == 1, full = n["full"] == 1 && t.v > 1;
  const Near loss = of_log ? exp(x) - t * x : x - t * log(x + Near(n["eps"]));
  const Real two_pi = 2 * std::acos(Real{-1});
  return full ? loss + (t * log(t) - t + Near(0.5L) * log(Near(two_pi) * t)) : loss;
}
Near gaussian(const Cells& v, const Named& n) {
  const Near d = v[0] - v[1], var = larger(v[2], Near(n["eps"]));
  const Real half_log = std::log(2 * std::acos(Real{-1})) / 2;
  return Near(0.5L) * (log(var) + d * d / var) + Near(n["full"] == 1 ? half_log : 0, 0);
}
// Sums over the last axis of products of two arrays.
Near along_last(const Array& x, const Array& y, Sizes at) {
  Sum sum;
  at.push_back(0);
  for (; at.back() < x.shape.back(); ++at.back()) sum.add(x[at] * y[at]);
  return sum.value();
}
Array cosine_embedding(const GivenArrays& g) {
  const Array &x = g["x"], &y = g["y"], &target = g["target"];
  const Named n{g};
  return reduced(g, made(x.dtype, target.shape, [&](const Sizes& at) -> Near {
                   const Near least(1e-12L);
                   const Near cosine = along_last(x, y, at) / sqrt((along_last(x, x, at) + least) *
                                                                   (along_last(y, y, at) + least));
                   const Real t = target[at].v;
                   return t == 1    ? Near(1) - cosine
                          : t == -1 ? at_least_zero(cosine - Near(n["margin"]))
                                    : Near(0);
                 }));
}
Array distance(const GivenArrays& g, const char* other, bool keep) {
  return chained(
      fmt::format("operator- %0 %1; operator+ number={}; square; sum axes=-1 keep={}; sqrt",
                  g.word("eps"), keep ? 1 : 0),
      {g["x"], g[other]});
}
Array pairwise_distance(const GivenArrays& g) { return distance(g, "y", g.is("keep")); }
Array triplet_margin(const GivenArrays& g) {
  const Array far = distance(g, "negative", false), near = distance(g, "positive", false);
  const Named n{g};
  return reduced(g, made(near.dtype, near.shape, [&](const Sizes& at) {
                   return at_least_zero(Near(n["margin"]) + near[at] - far[at]);
                 }));
}
Near of_logits(const Near& x) {
  return through([](Real r) { return std::fmax(r, 0) + std::log1p(std::exp(-std::fabs(r))); }, x,
                 6);
}
Array multilabel_soft_margin(const GivenArrays& g) {
  const Array &x = g["x"], &t = g["target"];
  return reduced(g, chained("mean axes=-1", {made(x.dtype, x.shape, [&](const Sizes& at) {
                              return t[at] * of_logits(-x[at]) +
                                     (Near(1) - t[at]) * of_logits(x[at]);
                            })}));
}
Array multi_margin(const GivenArrays& g) {
  const Array &x = g["x"], &target = g["target"];
  const Named n{g};
  return reduced(g, made(x.dtype, target.shape, [&](const Sizes& at) -> Near {
                   const std::int64_t label = target.whole(at), classes = x.shape[1];
                   const Near right = label >= 0 && label < classes ? x[{at[0], label}] : Near(0);
                   Sum sum;
                   for (std::int64_t c = 0; c < classes; ++c) {
                     const Near d = at_least_zero(Near(n["margin"]) - right + x[{at[0], c}]);
                     if (c != label) sum.add(n["p"] == 2 ? d * d : d);
                   }
                   return sum.value() / Near(static_cast<Real>(classes));
                 }));
}
Array response_norm(const GivenArrays& g) {
  const Array& x = g["x"];
  const Named n{g};
  const std::int64_t size = g.call.whole("size", 1);
  return made(x.dtype, x.shape, [&](const Sizes& at) {
    Sum sum;
    Sizes from = at;
    for (std::int64_t k = 0; k < size; ++k) {
      from[1] = at[1] - size / 2 + k;
      if (from[1] >= 0 && from[1] < x.shape[1]) sum.add(x[from] * x[from]);
    }
    const Near mean = sum.value() / Near(static_cast<Real>(size));
    const Real beta = n["beta"];
    return x[at] / through([&](Real v) { return std::pow(v, beta); },
                           Near(n["k"]) + Near(n["alpha"]) * mean, 6);
  });
}

// clang-format off
constexpr KernelLoops kSampling[] = {
    {"grid_sample", 'F', "n,c,W;n,O,D:g", "", in_float32<grid_sample>},
    {"affine_grid", 'F', "n,2,3", "", in_float32<affine_grid>},
    {"affine_grid", 'F', "n,3,4", "", in_float32<affine_grid>},
    {"roi_align", 'F', "k,c,h,w;n,4;n:k", "", in_float32<roi_align>},

    {"square", 'A', "*", "square"},
    {"isnan", 'A', "*", "isnan"},
    {"isinf isfinite", 'F', "*", "{name}"},
    {"nan_to_num", 'F', "*", "", kOf<[](const Cells& v, const Named& n) {
       return std::isfinite(v[0].v) ? v[0] : Near(n[std::isnan(v[0].v) ? "nan" : v[0].v > 0 ? "posinf" : "neginf"]);
     }>},
    {"frac", 'F', "*", "", kOf<[](const Cells& v, const Named&) { return Near(v[0].v - std::trunc(v[0].v)); }>},
    {"lerp", 'F', "~;~;~", "", kOf<lerp>},
    {"heaviside", 'F', "~;~", "", kOf<[](const Cells& v, const Named&) {
       return std::isnan(v[0].v) ? v[0] : v[0].v == 0 ? v[1] : Near(v[0].v > 0);
     }>},
    {"xlogy", 'F', "~;~", "", kOf<[](const Cells& v, const Named&) {
       return std::isnan(v[1].v) ? v[1] : v[0].v == 0 ? Near(0) : v[0] * log(v[1]);
     }>},
    {"logaddexp", 'F', "~;~", "", kOf<logaddexp>},
    {"logit", 'F', "*:p", "", kOf<[](const Cells& v, const Named&) {
       return rounded(std::log(v[0].v / (1 - v[0].v)), 8 * Rounding::unit, 4);
     }>},
    {"quick_gelu", 'F', "*", "quick_gelu"},
    {"tanhshrink", 'F', "*", "", kOf<[](const Cells& v, const Named&) { return v[0] - tanh(v[0]); }>},
    {"hardshrink", 'F', "*", "", kOf<[](const Cells& v, const Named& n) {
       return std::fabs(v[0].v) <= n["lambd"] ? Near(0) : v[0];
     }>},
    {"softshrink", 'F', "*", "", kOf<[](const Cells& v, const Named& n) {
       return std::fabs(v[0].v) <= n["lambd"] ? Near(0) : v[0] - Near(std::copysign(n["lambd"], v[0].v));
     }>},
    {"shrink", 'F', "*", "", kOf<[](const Cells& v, const Named& n) {
       return n["lambd"] < std::fabs(v[0].v) ? v[0] - Near(v[0].v < 0 ? -n["bias"] : n["bias"]) : Near(0);
     }>},
    {"thresholded_relu", 'F', "*", "", kOf<[](const Cells& v, const Named& n) {
       return n["alpha"] < v[0].v ? v[0] : Near(0);
     }>},
    {"softmin", 'F', ".,a", "neg; softmax axis={axis}"},
    {"l1_norm", 'F', "*", "abs; sum axes={axis} keep={keep}"},
    {"l2_norm", 'F', "*", "", in_float32<l2_norm>},
    {"normalize", 'F', ".,a", "", in_float32<normalize>},
    {"mean_variance_normalization", 'F', ".,a", "", in_float32<mean_variance_normalization>},
    {"cosine_similarity", 'F', "n,d,a;n,d,a", "", in_float32<[](const GivenArrays& g) {
       return g.by("operator* %0 %1; sum axes={axis}; square %0; sum axes={axis}; sqrt; clamp low={eps} high=inf; "
                   "square %1; sum axes={axis}; sqrt; clamp low={eps} high=inf; operator* %7 $; operator/ %3 $");
     }>},
    {"pairwise_distance", 'F', ".,a;.,a", "", in_float32<pairwise_distance>},
    {"local_response_norm", 'F', "n,c,a", "", in_float32<response_norm>},
    {"hinge_embedding_loss", 'F', "~;~", "", kLoss<[](const Cells& v, const Named& n) {
       return (v[1].v == 1 ? Near(0) : at_least_zero(Near(n["margin"]) - v[0])) + (v[1].v == -1 ? Near(0) : v[0]);
     }>},
    {"margin_ranking_loss", 'F', "~;~;~", "", kLoss<[](const Cells& v, const Named& n) {
       return at_least_zero(Near(n["margin"]) - v[2] * (v[0] - v[1]));
     }>},
    {"soft_margin_loss", 'F', "~;~", "", kLoss<[](const Cells& v, const Named&) {
       return of_logits(-(v[1] * v[0]));
     }>},
    {"poisson_nll_loss", 'F', "~;~", "", kLoss<poisson>},
    {"gaussian_nll_loss", 'F', "~;~;~", "", [](const GivenArrays& given) {
       GivenArrays g = given;
       const Sizes& of = g["x"].shape;
       Sizes& var = g.arrays[2].second.shape;
       if (var.size() + 1 == of.size() && var == head(of, var.size())) var.push_back(1);
       return kLoss<gaussian>(g);
     }},
    {"triplet_margin_loss", 'F', ".,a;.,a;.,a", "", in_float32<triplet_margin>},
    {"cosine_embedding_loss", 'F', "n,a;n,a;n", "", in_float32<cosine_embedding>},
    {"multilabel_soft_margin_loss", 'F', "n,a;n,a", "", in_float32<multilabel_soft_margin>},
    {"multi_margin_loss", 'F', "n,c;n:c", "", in_float32<multi_margin>},
    {"trace", 'N', "a,b", "diagonal a=0 b=1; sum; cast to={x}"},
};
// clang-format on

}  // namespace

std::span<const KernelLoops> sampling_and_formula_loops() { return kSampling; }

}  // namespace touchstone::fuzz::defined
