#include "touchstone/fuzz/areas/call_check.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/areas/tensor_calls.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz {
namespace {

using defined::Array;
using defined::Arrays;
using defined::Near;
using defined::Real;

// Tolerance, as a multiple of the rounding error bound.
constexpr Real kSlack = 4;

// Functions whose results have no gradient.
// clang-format off
constexpr std::string_view kWithoutGradient[] = {
    "detach", "operator+=", "operator-=", "operator*=", "operator/=", "set", "set_index",
    "clip_grad_norm", "clip_grad_value", "backward", "gradients", "SGD", "Adam", "AdamW", "LAMB",
    "mod", "floor_div", "remainder", "assign", "to_", "shard_", "next", "empty", "zeros", "ones", "full", "arange",
    "linspace", "eye", "int_", "long_", "half", "float_", "bool_", "cast", "nonzero",
};
// clang-format on

std::string shown(Real value) { return fmt::format("{}", static_cast<double>(value)); }

std::vector<Real> elements_of(const Tensor& x) {
  std::vector<Real> values;
  with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (const auto value : x.read<T>()) {
      const T stored = value;
      if constexpr (std::is_arithmetic_v<T>)
        values.push_back(static_cast<Real>(stored));
      else
        values.push_back(Scalar::of<T>(stored).to_double());
    }
  });
  return values;
}

std::optional<Checked> form_differs(std::size_t i, const Tensor& got, const Array& wanted) {
  const Shape shape(wanted.shape.begin(), wanted.shape.end());
  if (!got.defined() || got.dtype() != wanted.dtype || got.shape() != shape ||
      got.rank() != wanted.rank() || got.elements() != wanted.size() ||
      got.nbytes() != wanted.size() * static_cast<std::int64_t>(itemsize(wanted.dtype)))
    return Checked::fail("form",
                         fmt::format("result {} is {} {}, wanted {} {}", i, name(got.dtype()),
                                     str(got.shape()), name(wanted.dtype), str(shape)));
  std::vector<int> axes, from_end;
  for (int axis = 0; axis < wanted.rank(); ++axis) {
    axes.push_back(axis);
    from_end.push_back(axis - wanted.rank());
  }
  if (got.normal_axes(from_end) != axes)
    return Checked::fail("form", "axes from the end are not those from the front");
  for (int axis = 0; axis < wanted.rank(); ++axis)
    if (got.size(axis - wanted.rank()) != wanted.shape[static_cast<std::size_t>(axis)] ||
        got.normal_axis(axis - wanted.rank()) != axis)
      return Checked::fail("form", fmt::format("axis {} has another size from the end", axis));
  return std::nullopt;
}

std::optional<Checked> value_differs(const Tensors& got, const Arrays& wanted) {
  if (got.size() != wanted.size())
    return Checked::fail("form", fmt::format("{} results, wanted {}", got.size(), wanted.size()));
  for (std::size_t i = 0; i < got.size(); ++i)
    if (auto wrong = form_differs(i, got[i], wanted[i])) return wrong;
  realize(got);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].node() == nullptr ||
        (got[i].lazy()->realized() == nullptr && !got[i].lazy()->is_const_base()))
      return Checked::fail("form", fmt::format("result {} is realized and has no memory", i));
    const std::vector<Real> values = elements_of(got[i]);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const Near& right = wanted[i].cells[k];
      if (fits(values[k], right, wanted[i].signed_zeros && is_float(wanted[i].dtype))) continue;
      return Checked::fail(
          "value",
          fmt::format("element {} of result {} is {}, defined as {}{}", k, i, shown(values[k]),
                      shown(right.v),
                      right.exact() ? "" : fmt::format(" +- {}", shown(kSlack * right.e))));
    }
  }
  return std::nullopt;
}

double weight_of(std::size_t i) { return 1 + 0.37 * static_cast<double>(i % 5); }

// The weighted sum of all elements of float results.
Real weighted(const Call& call, const Arrays& inputs, std::size_t results) {
  Real sum = 0;
  const Arrays out = defined::define(call, inputs);
  for (std::size_t i = 0; i < results && i < out.size(); ++i)
    if (is_float(out[i].dtype))
      for (std::size_t k = 0; k < out[i].cells.size(); ++k) {
        const Near& cell = out[i].cells[k];
        if (std::isinf(cell.e)) return std::numeric_limits<Real>::quiet_NaN();
        sum += cell.v * static_cast<Real>(weight_of(k));
      }
  return sum;
}

// A derivative on which two-sided differences at two distances agree; nothing elsewhere.
struct Slope {
  Real value, off;
};
std::optional<Slope> slope_of(const Call& call, Arrays inputs, std::size_t which, std::size_t k,
                              std::size_t results) {
  constexpr Real kStep = 1.0L / 4096;
  const Real x = inputs[which].cells[k].v, f = weighted(call, inputs, results);
  const auto at = [&](Real offset) {
    inputs[which].cells[k] = Near(x + offset);
    try {
      return weighted(call, inputs, results);
    } catch (const ParseError&) {
      return std::numeric_limits<Real>::quiet_NaN();  // outside the domain
    }
  };
  const Real up = at(kStep), down = at(-kStep), up2 = at(kStep / 2), down2 = at(-kStep / 2);
  const Real wide = (up - down) / (2 * kStep), narrow = (up2 - down2) / kStep;
  const Real value = (4 * narrow - wide) / 3;
  const Real bend = std::fabs((up - f) / kStep - (f - down) / kStep);
  if (!std::isfinite(value) || !std::isfinite(f) || bend > 0.02L * (1 + std::fabs(value)) ||
      std::fabs(wide - narrow) > 1e-4L * (1 + std::fabs(value)))
    return std::nullopt;
  // Large results lose their last bits.
  return Slope{value, std::fabs(wide - narrow) + std::ldexp(std::fabs(f) / kStep, -60)};
}

std::optional<Checked> gradient_differs(const Call& call, const std::string& text, Effort effort,
                                        const Arrays& arrays, const std::string& device) {
  if (std::ranges::find(kWithoutGradient, call.name) != std::end(kWithoutGradient))
    return std::nullopt;
  for (const CallInput& x : call.inputs)
    if (is_float(x.dtype) && x.dtype != DType::Float64) return std::nullopt;
  for (const Array& x : arrays)
    for (const Near& cell : x.cells)
      if (!std::isfinite(cell.v)) return std::nullopt;
  if (call.name == "sort" || call.name == "topk") {  // at a tie the slope is that of one side
    std::vector<Real> seen;
    for (const Near& cell : arrays[0].cells) seen.push_back(cell.v);
    std::ranges::sort(seen);
    if (std::ranges::adjacent_find(seen) != seen.end()) return std::nullopt;
  }
  if (call.name == "std") {  // no root is smooth at 0
    const Arrays roots = defined::define(call, arrays);
    for (const Near& cell : roots[0].cells)
      if (!(cell.v > 1e-6L)) return std::nullopt;
  }
  Tensors inputs = tensors_of(call, device);
  for (Tensor& x : inputs)
    if (is_float(x.dtype())) x.set_requires_grad();
  Tensors out = called(call, inputs);
  // BatchNorm's updated statistics are no differentiable function of the batch.
  const std::size_t results = call.name == "BatchNorm" ? 1 : out.size();
  Tensor loss = Tensor::zeros({}, {DType::Float64, device});
  for (std::size_t i = 0; i < results; ++i) {
    if (!is_float(out[i].dtype())) continue;
    std::vector<double> weights;
    for (std::int64_t k = 0; k < out[i].elements(); ++k)
      weights.push_back(weight_of(static_cast<std::size_t>(k)));
    loss = loss + (out[i] * Tensor::from(weights, out[i].shape(), device)).sum();
  }
  if (!loss.requires_grad() || !std::isfinite(loss.item<double>())) return std::nullopt;
  loss.backward();
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    if (!is_float(inputs[which].dtype())) continue;
    const std::size_t n = arrays[which].cells.size();
    const std::optional<Tensor> gradient = inputs[which].grad();
    const std::vector<double> told =
        gradient ? gradient->read<double>() : std::vector<double>(n, 0.0);
    if (told.size() != n)
      return Checked::fail("gradient", fmt::format("input {} has {} elements, its gradient {}",
                                                   which, n, told.size()));
    for (std::size_t k = 0; k < n; ++k) {
      if (effort == Effort::Sampled && n > 2 && hash_mix(hash_bytes(text), 64 * which + k) % n > 1)
        continue;
      const std::optional<Slope> right = slope_of(call, arrays, which, k, results);
      if (!right) continue;
      const Real most = 1e-6L * (1 + std::fabs(right->value)) + 4 * right->off;
      if (std::fabs(told[k] - right->value) <= most) continue;
      return Checked::fail("gradient",
                           fmt::format("d/d(element {} of input {}) is {}, by differences of the "
                                       "definition {}",
                                       k, which, told[k], shown(right->value)));
    }
  }
  return std::nullopt;
}

bool holds_nothing(const Array& x) { return x.cells.empty(); }

// A label outside the classes is refused, in a jit only if the host knows it; else the loss is NaN.
bool has_label_outside(const Call& call, const Arrays& inputs) {
  if (call.name != "nll_loss" && call.name != "cross_entropy") return false;
  return std::ranges::any_of(inputs[1].cells, [&](const Near& label) {
    return label.v < 0 || label.v >= static_cast<Real>(inputs[0].shape[1]);
  });
}

// True if the definition evaluated no position: there are none, or x is unchanged. Then a position
// outside may be refused.
bool chooses_nothing(const Call& call, const Arrays& inputs, const Arrays& wanted) {
  const auto same = [](Real a, Real b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (call.name == "set_index" || call.name == "set")
    return std::ranges::equal(wanted[0].cells, inputs[0].cells, same, &Near::v, &Near::v);
  return (call.name == "index" || call.name == "take" || call.name == "gather") &&
         std::ranges::all_of(wanted, holds_nothing);
}
bool may_be_refused(const Call& call, const Arrays& inputs, const Arrays& wanted) {
  return has_label_outside(call, inputs) || chooses_nothing(call, inputs, wanted);
}

// A number for an integer input: any small one, or one at the end of an axis of the call's tensors,
// counted from the front or the back.
std::int64_t number_about(const Call& call, std::uint64_t hash) {
  std::vector<std::int64_t> sizes;
  for (const CallInput& x : call.inputs) sizes.insert(sizes.end(), x.shape.begin(), x.shape.end());
  if (sizes.empty() || hash % 4 == 0) return static_cast<std::int64_t>(hash / 4 % 12) - 5;
  const std::int64_t n = sizes[hash / 16 % sizes.size()];
  const std::int64_t ends[] = {n, n - 1, -n, -n - 1};
  return ends[hash / 4 % 4];
}

// The call with one element of an integer input changed, if it has any. If no definition is left,
// as for a position outside, the call must be refused, unless nothing is read there.
std::optional<Checked> outside_differs(const Call& call, std::uint64_t hash,
                                       const std::string& device) {
  std::vector<std::size_t> integers;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (is_integer(call.inputs[i].dtype) && call.inputs[i].size() > 0) integers.push_back(i);
  if (integers.empty()) return std::nullopt;
  Call changed = call;
  CallInput& x = changed.inputs[integers[hash % integers.size()]];
  std::int64_t number = number_about(call, hash_mix(hash, 1));
  if (is_unsigned(x.dtype)) number = std::abs(number);
  const std::size_t place = hash_mix(hash, 2) % x.values.size();
  if (static_cast<std::int64_t>(place) >= x.size()) return std::nullopt;
  if (Scalar::from_int(x.dtype, number).to_int64() != number) return std::nullopt;
  x.values[place] = fmt::format("{}", number);
  if (hash_mix(hash, 3) % 2 == 0) x.via = "computed";  // computed by a kernel, unknown to the host
  const Arrays inputs = defined::inputs_of(changed);
  std::optional<Arrays> wanted;
  try {
    wanted = defined::define(changed, inputs);
  } catch (const ParseError&) {  // no call
  }
  try {
    const Tensors got = called(changed, tensors_of(changed, device));
    if (wanted) return value_differs(got, *wanted);
    realize(got);
    if (std::ranges::all_of(got, [](const Tensor& x) { return x.elements() == 0; }))
      return std::nullopt;
  } catch (const Error& e) {
    if (!wanted || may_be_refused(changed, inputs, *wanted)) return std::nullopt;
    return Checked::fail("refused", fmt::format("{}: {}", changed.str(), e.what()));
  }
  return Checked::fail("outside", fmt::format("{} is taken", changed.str()));
}

}  // namespace

bool fits(Real got, const Near& wanted, bool signed_zeros) {
  if (std::isinf(wanted.e)) return true;
  if (std::isnan(wanted.v)) return std::isnan(got);
  if (wanted.exact() || std::isinf(wanted.v))
    return got == wanted.v &&
           (!signed_zeros || got != 0 || std::signbit(got) == std::signbit(wanted.v));
  return std::fabs(got - wanted.v) <= kSlack * wanted.e;
}

void require_call(const Call& call) { (void)defined::define(call, defined::inputs_of(call)); }

std::vector<std::string> differing_calls(const std::vector<std::string>& texts,
                                         const std::string& device) {
  std::vector<Arrays> wanted;
  std::vector<Tensors> results;
  Tensors all;
  for (const std::string& text : texts) {
    const Call call = Call::parse(text);
    wanted.push_back(defined::define(call, defined::inputs_of(call)));
    results.push_back(called(call, tensors_of(call, device)));
    all.insert(all.end(), results.back().begin(), results.back().end());
  }
  realize(all);
  std::vector<std::string> differing;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (const auto wrong = value_differs(results[i], wanted[i]))
      differing.push_back(fmt::format("{}: {}", texts[i], wrong->failure.detail));
  return differing;
}

Checked check_call(const Call& call, const std::string& text, Effort effort,
                   const std::string& device) {
  if (is_kernel_call(call)) return check_definition(call, text, effort);
  const Arrays inputs = defined::inputs_of(call), wanted = defined::define(call, inputs);
  try {
    const std::uint64_t hash = hash_bytes(text);
    if (auto wrong = value_differs(called(call, tensors_of(call, device)), wanted)) return *wrong;
    if (effort == Effort::Full || hash % 2 == 0) {
      Config config = Config::current();
      config.reduceop_split_threshold = 2;  // few elements take the path of very many
      const ConfigScope scope(config);
      if (auto wrong = value_differs(called(call, tensors_of(call, device)), wanted)) return *wrong;
    }
    if (auto wrong = outside_differs(call, hash, device)) return *wrong;
    constexpr std::uint64_t kMany =
        24;  // so that a fault that one text shows smaller ones show, too
    for (std::uint64_t i = 1; effort == Effort::Full && i < kMany; ++i)
      if (auto wrong = outside_differs(call, hash_mix(hash, i), device)) return *wrong;
    if (auto wrong = gradient_differs(call, text, effort, inputs, device)) return *wrong;
  } catch (const Error& e) {
    if (!may_be_refused(call, inputs, wanted)) return Checked::fail("refused", e.what());
  }
  return {};
}

}  // namespace touchstone::fuzz
