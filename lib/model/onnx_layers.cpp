// ONNX's operators: convolutions, pooling, normalizations, losses, recurrent cells, transforms.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/model/onnx_texts.h"

namespace touchstone::model {
namespace {

Sizes tail(const Sizes& shape, std::size_t from = 2) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(std::min(from, shape.size())), shape.end()};
}

// Where the windows of an operator lie, along each spatial axis.
struct Windows {
  Sizes size, stride, dilation, before, after;
  Windows(const Step& s, Sizes of) : size(std::move(of)) {
    const std::size_t axes = size.size();
    stride = s.list("strides", Sizes(axes, 1));
    dilation = s.list("dilations", Sizes(axes, 1));
    const Sizes pads = s.list("pads", Sizes(2 * axes, 0));
    if (stride.size() != axes || dilation.size() != axes || pads.size() != 2 * axes ||
        s.shape().size() != axes + 2)
      s.fail("strides, dilations, pads or the kernel's shape do not fit the input's rank");
    before = {pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes)};
    after = tail(pads, axes);
    const std::string automatic = s.text("auto_pad", "NOTSET");
    if (automatic == "VALID") before = after = Sizes(axes, 0);
    if (!automatic.starts_with("SAME")) return;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t x = s.shape().at(i + 2), step = std::max<std::int64_t>(stride[i], 1);
      const std::int64_t total = std::max<std::int64_t>(
          ((x + step - 1) / step - 1) * step + (size[i] - 1) * dilation[i] + 1 - x, 0);
      before[i] = automatic == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
      after[i] = total - before[i];
    }
  }
  std::string steps() const {
    return fmt::format("stride={}, dilation={}", listed(stride), listed(dilation));
  }
  /// The input, padded here if the padding differs at the two ends of an axis; then none is left.
  std::string padded(const std::string& x, const char* outside = "0") {
    if (before == after) return x;
    const std::string text = fmt::format("pad({}, before={}, after={}, value={})", x,
                                         listed(before), listed(after), outside);
    before = after = Sizes(size.size(), 0);
    return text;
  }
};

std::string convolution(Step& s, const std::string& x, const std::string& w, std::size_t weight,
                        std::size_t bias) {
  Windows windows(s, tail(s.shape(weight)));
  const std::string in = windows.padded(x);
  return fmt::format("conv{}d({}, {}{}, padding={}, {}, groups={})", s.rank() - 2, in, w,
                     s.has(bias) ? ", " + s.name(bias) : "", listed(windows.before),
                     windows.steps(), s.whole("group", 1));
}
std::string conv(Step& s) { return convolution(s, s.name(0), s.name(1), 1, 2); }

// The whole result, then a part of it; padding by the specification's equations if output_shape or
// auto_pad is given.
std::string conv_transpose(Step& s) {
  const Sizes x = tail(s.shape()), k = tail(s.shape(1));
  const std::size_t axes = k.size();
  const std::string automatic = s.text("auto_pad", "NOTSET");
  const Sizes stride = s.list("strides", Sizes(axes, 1)),
              dilation = s.list("dilations", Sizes(axes, 1));
  Sizes more = s.list("output_padding", Sizes(axes, 0)), out = s.list("output_shape");
  Sizes pads = s.list("pads", Sizes(2 * axes, 0));
  if (x.size() != axes || stride.size() != axes || dilation.size() != axes || more.size() != axes ||
      pads.size() != 2 * axes)
    s.fail("strides, dilations or pads do not fit the input's rank");
  Sizes whole(axes), begin(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes)),
      end(axes);
  for (std::size_t i = 0; i < axes; ++i)
    whole[i] = stride[i] * (x[i] - 1) + more[i] + (k[i] - 1) * dilation[i] + 1;
  if (out.size() > axes) out = tail(out, out.size() - axes);
  if (automatic.starts_with("SAME") && out.empty()) {
    out.resize(axes);
    for (std::size_t i = 0; i < axes; ++i) out[i] = x[i] * stride[i];
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (out.empty()) {
      end[i] = whole[i] - pads[axes + i];
      continue;
    }
    more[i] += std::max<std::int64_t>(out[i] - whole[i], 0);  // whole is smaller: zeros at the end
    const std::int64_t total = std::max<std::int64_t>(whole[i] - out[i], 0);
    begin[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    end[i] = begin[i] + out[i];
  }
  const std::string text =
      fmt::format("conv_transpose{}d({}, stride={}, output_padding={}, dilation={}, groups={})",
                  axes, fmt::join(s.given(), ", "), listed(stride), listed(more), listed(dilation),
                  s.whole("group", 1));
  return sliced(text, begin, end);
}

std::string average_pool(Step& s) {
  Windows w(s, s.list("kernel_shape"));
  const bool with_padding = s.whole("count_include_pad", 0) != 0;
  const int axes = static_cast<int>(w.size.size());
  bool beyond = w.before != w.after;  // what avg_pool takes
  for (std::size_t i = 0; i < w.size.size(); ++i)
    beyond = beyond || (!with_padding && 2 * w.before[i] > w.size[i]) || w.dilation[i] != 1;
  if (!beyond)
    return fmt::format(
        "avg_pool{}d({}, size={}, padding={}, stride={}, ceil_mode={}, count_include_pad={})", axes,
        s.name(0), listed(w.size), listed(w.before), listed(w.stride), s.whole("ceil_mode", 0),
        with_padding ? 1 : 0);
  if (s.whole("ceil_mode", 0) != 0) return "";
  const auto sums = [&](const std::string& x) {
    return fmt::format("sum(windows(pad({}, before={}, after={}), size={}, {}), axis={})", x,
                       listed(w.before), listed(w.after), listed(w.size), w.steps(),
                       listed(counted(s.rank(), s.rank() + axes)));
  };
  if (with_padding) return fmt::format("{} / {}", sums(s.name(0)), count_of(w.size));
  return fmt::format("{} / {}", sums(s.name(0)),
                     sums(fmt::format("cast({0} == {0}, {1})", s.name(0), s.type())));
}

// Indices count in the whole input, without padding.
Texts max_pool(Step& s) {
  const Sizes size = s.list("kernel_shape"), whole = tail(s.shape());
  const bool narrow = !s.is_float();
  Windows w(s, size);
  const Sizes low = w.before, high = w.after;
  const bool shifts = low != high;
  const std::string x =
      w.padded(narrow ? fmt::format("cast({}, f32)", s.name(0)) : s.name(0), "-inf");
  const auto pool = [&](const char* index) {
    return fmt::format("max_pool{}d{}({}, padding={}, size={}, {}, ceil_mode={})", s.rank() - 2,
                       index, x, listed(w.before), listed(size), w.steps(),
                       s.whole("ceil_mode", 0));
  };
  std::string values = pool(""), place = whole.size() > 2 ? "" : pool("_index");
  if (narrow) values = fmt::format("cast({}, {})", values, s.type());
  if (shifts && whole.size() == 1) place = fmt::format("({} - {})", place, low[0]);
  if (shifts && whole.size() == 2)
    place = fmt::format("(({0} / {1} - {2}) * {3} + {0} % {1} - {4})", place,
                        whole[1] + low[1] + high[1], low[0], whole[1], low[1]);
  if (s.whole("storage_order", 0) != 0 && whole.size() == 2)
    place = fmt::format("({0} % {1} * {2} + {0} / {1})", place, whole[1], whole[0]);
  Sizes planes{s.shape().at(0), s.shape().at(1)};
  const std::string first =
      fmt::format("arange(size={}, dtype=i64) * {}", count_of(planes), count_of(whole));
  planes.resize(s.shape().size(), 1);
  if (!place.empty()) place = fmt::format("{} + {}", place, reshaped(first, planes));
  return {"", {values, place}};
}

std::string lp_pool(Step& s) {
  Windows w(s, s.list("kernel_shape"));
  const std::int64_t p = s.whole("p", 2);
  if ((p != 1 && p != 2) || s.whole("ceil_mode", 0) != 0) return "";
  const std::string x = w.padded(s.name(0)),
                    values = p == 1 ? fmt::format("abs({})", x) : fmt::format("({0} * {0})", x);
  const std::string sum =
      fmt::format("sum(windows(pad({}, before={}, after={}), size={}, {}), axis={})", values,
                  listed(w.before), listed(w.before), listed(w.size), w.steps(),
                  listed(counted(s.rank(), s.rank() + static_cast<int>(w.size.size()))));
  return p == 1 ? sum : fmt::format("sqrt({})", sum);
}

// Positions count in the size that the pool's windows give; output_shape adds to its ends.
std::string max_unpool(Step& s) {
  const Sizes size = s.list("kernel_shape");
  if (size.size() != 2 || s.rank() != 4) return "";
  const Windows w(s, size);
  Sizes out = s.shape(), whole;
  for (std::size_t i = 0; i < 2; ++i)
    whole.push_back((s.shape().at(i + 2) - 1) * w.stride[i] + size[i] - w.before[i] - w.after[i]);
  std::copy(whole.begin(), whole.end(), out.begin() + 2);
  if (s.has(2)) out = s.ints(2);
  if (out.size() != 4) s.fail("the output's shape has another rank");
  const std::int64_t h = whole[0], v = whole[1];
  const std::string place = fmt::format("{0} / {1} * {2} + {0} % {1} / {3} * {4} + {0} % {3}",
                                        s.name(1), h * v, out[2] * out[3], v, out[3]);
  const std::string zeros = s.constant(
      array_of(std::vector<double>(at(count_of(out)), 0.0), {count_of(out)}, s.operand(0).dtype));
  return reshaped(
      fmt::format("scatter({}, {}, {})", zeros, reshaped(place, {-1}), reshaped(s.name(0), {-1})),
      out);
}

Row spatial(std::string_view text) {
  return [text](Step& s) {
    return Texts{"", {fmt::format(fmt::runtime(text), s.name(0), listed(counted(2, s.rank())))}};
  };
}

Texts layer_norm(Step& s) {
  const auto axis = at(s.axis());
  const std::int64_t inner = count_of(s.shape(), axis);
  const std::string rows = reshaped(s.name(0), {-1, inner}),
                    eps = real_text(s.real("epsilon", 1e-5));
  Sizes outer = s.shape();
  std::fill(outer.begin() + static_cast<std::ptrdiff_t>(axis), outer.end(), 1);
  const bool narrow = itemsize(s.operand(0).dtype) < 4;  // statistics are float32
  const std::string wide = narrow ? fmt::format("cast({}, f32)", rows) : rows;
  std::string weights;
  const Sizes normal = tail(s.shape(), axis);
  for (std::size_t i = 1; i < s.x.size(); ++i) {
    if (!s.has(i)) continue;
    Sizes shape(normal.size() - std::min(normal.size(), s.shape(i).size()), 1);
    shape.insert(shape.end(), s.shape(i).begin(), s.shape(i).end());
    const std::string whole =
        fmt::format("expand({}, shape={})", reshaped(s.name(i), shape), listed(normal));
    weights += ", " + reshaped(whole, {inner});
  }
  return {"",
          {reshaped(fmt::format("layer_norm({}{}, eps={})", rows, weights, eps), s.shape()),
           reshaped(fmt::format("mean({}, axis=1)", wide), outer),
           reshaped(fmt::format("rsqrt(var({}, axis=1) + {})", wide, eps), outer)}};
}

// Up to opset 20 scale and bias may be for groups.
std::string group_norm(Step& s) {
  const std::int64_t groups = s.whole("num_groups", 1), channels = s.shape().at(1);
  const auto weight = [&](std::size_t i) {
    if (s.operand(i).size() == channels || groups < 1 || channels % groups != 0) return s.name(i);
    return reshaped(fmt::format("expand({}, shape=[{},{}])", reshaped(s.name(i), {groups, 1}),
                                groups, channels / groups),
                    {channels});
  };
  return fmt::format("group_norm({}, {}, {}, groups={}, eps={})", s.name(0), weight(1), weight(2),
                     groups, real_text(s.real("epsilon", 1e-5)));
}

std::string rms_norm(Step& s) {
  const std::int64_t inner = count_of(s.shape(), at(s.axis()));
  return reshaped(fmt::format("rms_norm({}, {}, eps={})", reshaped(s.name(0), {-1, inner}),
                              reshaped(s.name(1), {inner}), real_text(s.real("epsilon", 1e-5))),
                  s.shape());
}

Texts batch_norm(Step& s) {
  const std::string x = s.name(0), eps = real_text(s.real("epsilon", 1e-5)),
                    m = real_text(s.real("momentum", 0.9)),
                    rest = real_text(1 - s.real("momentum", 0.9));
  std::string mean = s.name(3), var = s.name(4);
  if (s.rank() < 2 || s.whole("spatial", 1) == 0) return {"", {""}};
  // Before opset 14 further outputs say that it trains; how it counts the variance is open.
  const bool trains = s.version >= 14 ? s.whole("training_mode", 0) != 0 : s.op.outputs.size() > 1;
  if (trains) {
    Sizes axes = counted(0, s.rank());
    axes.erase(axes.begin() + 1);
    mean = fmt::format("mean({}, axis={})", x, listed(axes));
    var = fmt::format("var({}, axis={})", x, listed(axes));
  }
  return {
      "",
      {fmt::format("batch_norm({}, {}, {}, {}, {}, eps={})", x, mean, var, s.name(1), s.name(2),
                   eps),
       fmt::format("{} * {} + {} * {}", s.name(3), m, mean, rest),
       s.version < 14 && trains ? "" : fmt::format("{} * {} + {} * {}", s.name(4), m, var, rest)}};
}

std::string local_response(Step& s) {
  if (s.rank() < 3) return "";
  const std::int64_t size = s.whole("size", 1);
  const std::string x = s.name(0);
  const std::string last = moved(fmt::format("({0} * {0})", x), s.rank(), 1, s.rank() - 1);
  const std::string windows = fmt::format("windows(pad({}, before=[{}], after=[{}]), size=[{}])",
                                          last, (size - 1) / 2, size / 2, size);
  const std::string total =
      moved(fmt::format("sum({}, axis=-1)", windows), s.rank(), s.rank() - 1, 1);
  return fmt::format("{} / pow({} + {} / {} * {}, {})", x, real_text(s.real("bias", 1)),
                     real_text(s.real("alpha", 1e-4)), real_text(static_cast<double>(size)), total,
                     real_text(s.real("beta", 0.75)));
}

Row class_loss(std::string_view name) {
  return [name](Step& s) {
    const std::string ignored = s.is_set("ignore_index")
                                    ? fmt::format(", ignore_index={}", s.whole("ignore_index", 0))
                                    : "";
    return Texts{"",
                 {fmt::format("{}({}, {}{}{}, reduction={})", name, s.name(0), s.name(1),
                              s.has(2) ? ", weight=" + s.name(2) : "", ignored,
                              word_text(s.text("reduction", "mean"))),
                  fmt::format("log_softmax({}, axis=1)", s.name(0))}};
  };
}

// Without the mask of a training step the kept elements are unknown.
Texts dropout(Step& s) {
  const std::string x = s.name(0);
  if (s.op.outputs.size() > 1 && s.version < 10) return {"", {x, ""}};  // a mask of x's type
  const std::string all =
      fmt::format("expand({}, shape={})",
                  s.constant({DType::Bool, Sizes(s.shape().size(), 1), std::string(1, '\1')}),
                  listed(s.shape()));
  const double p = s.has(1) ? s.reals(1).at(0) : s.real("ratio", 0.5);
  const bool trains = s.has(2) && s.reals(2).at(0) != 0;
  if (!trains || p == 0) return {"", {x, all}};
  return {"", {"", ""}};
}

std::string quantized_conv(Step& s) {
  std::string x = fmt::format("(cast({}, i32) - cast({}, i32))", s.name(0), s.name(2)),
              zero = s.name(5), scale = s.name(4);
  Sizes by_channel(s.shape(3).size(), 1), of_output(s.shape().size(), 1);
  by_channel[0] = of_output[1] = -1;
  if (count_of(s.shape(5)) > 1) zero = reshaped(zero, by_channel);
  if (count_of(s.shape(4)) > 1) scale = reshaped(scale, of_output);
  const std::string w = fmt::format("(cast({}, i32) - cast({}, i32))", s.name(3), zero);
  return fmt::format("quantize(cast({}, f32) * ({} * {}), {}, {}, to={})",
                     convolution(s, x, w, 3, 8), s.name(1), scale, s.name(6), s.name(7), s.type(7));
}
std::string integer_conv(Step& s) {
  const auto less = [&](std::size_t x, std::size_t zero) {
    if (s.has(zero) && s.operand(zero).size() > 1) {
      Sizes by_channel(s.shape(x).size(), 1);
      by_channel[0] = -1;
      return fmt::format("(cast({}, i32) - cast({}, i32))", s.name(x),
                         reshaped(s.name(zero), by_channel));
    }
    return s.has(zero) ? fmt::format("(cast({}, i32) - cast({}, i32))", s.name(x), s.name(zero))
                       : fmt::format("cast({}, i32)", s.name(x));
  };
  return convolution(s, less(0, 2), less(1, 3), 1, 99);
}

// What each element counts along an axis, [size, elements], by the specification's equations; a
// row of NaN is outside.
std::vector<double> resize_weights(const Step& s, std::size_t axis, std::int64_t size, double scale,
                                   const std::vector<double>& roi) {
  const std::int64_t length = s.shape().at(axis);
  const auto n = static_cast<double>(length), out = static_cast<double>(size);
  const std::string kind = s.text("mode", "nearest"),
                    how = s.text(
                        "coordinate_transformation_mode",
                        s.op.kind == "Upsample" || s.version == 10 ? "asymmetric" : "half_pixel"),
                    tie = s.text("nearest_mode", s.version == 10 || s.op.kind == "Upsample"
                                                     ? "floor"
                                                     : "round_prefer_floor");
  const double start = roi[axis], end = roi[axis + s.shape().size()];
  std::vector<double> weights(at(size * length), 0.0);
  for (std::int64_t row = 0; row < size; ++row) {
    const auto i = static_cast<double>(row);
    double x = (i + 0.5) / scale - 0.5;
    if (how == "pytorch_half_pixel" && size == 1) x = 0;
    if (how == "half_pixel_symmetric") x += n / 2 * (1 - out / (n * scale));
    if (how == "tf_half_pixel_for_nn") x = (i + 0.5) / scale;
    if (how == "asymmetric") x = i / scale;
    if (how == "align_corners") x = i * (n - 1) / std::max(out - 1, 1.0);
    if (how == "tf_crop_and_resize")
      x = size > 1 ? start * (n - 1) + i * (end - start) * (n - 1) / (out - 1)
                   : (start + end) * (n - 1) / 2;
    double* const to = weights.data() + row * length;
    if (how == "tf_crop_and_resize" && (x < 0 || x > n - 1)) {
      std::fill(to, to + length, std::nan(""));
      continue;
    }
    const auto add = [&](double tap, double weight) {
      to[static_cast<std::int64_t>(std::clamp(tap, 0.0, n - 1))] += weight;
    };
    if (kind == "nearest") {
      add(tie == "floor"               ? std::floor(x)
          : tie == "ceil"              ? std::ceil(x)
          : tie == "round_prefer_ceil" ? std::floor(x + 0.5)
                                       : std::ceil(x - 0.5),
          1);
      continue;
    }
    const double a = s.real("cubic_coeff_a", -0.75);
    double taps[6], by[6], total = 0;
    for (int t = 0; t < 6; ++t) {
      taps[t] = std::floor(x) + t - 2;
      const double d = std::fabs(x - taps[t]);
      by[t] = kind != "cubic" ? std::max(1 - d, 0.0)
              : d < 1         ? ((a + 2) * d - a - 3) * d * d + 1
              : d < 2         ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                              : 0;
      if (s.whole("exclude_outside", 0) != 0 && (taps[t] < 0 || taps[t] > n - 1)) by[t] = 0;
      total += by[t];
    }
    for (int t = 0; t < 6; ++t)
      add(taps[t], s.whole("exclude_outside", 0) != 0 ? by[t] / total : by[t]);
  }
  return weights;
}

// interpolate where it has the coordinates, which are PyTorch's of sizes alone; else products with
// weights.
std::string resize(Step& s) {
  const std::size_t rank = s.shape().size();
  std::vector<double> scales, roi(2 * rank, 0.0);
  std::fill(roi.begin() + static_cast<std::ptrdiff_t>(rank), roi.end(), 1.0);
  const Sizes axes = s.list("axes", counted(0, s.rank()));
  if (s.text("keep_aspect_ratio_policy", "stretch") != "stretch" || s.whole("antialias", 0) != 0)
    return "";
  const std::size_t scale_at = s.op.kind == "Upsample" || s.version == 10 ? 1 : 2;
  std::vector<double> given_scales =
      s.has(scale_at) && s.operand(scale_at).size() > 0 ? s.reals(scale_at) : std::vector<double>();
  if (const auto it = s.op.attributes.find("scales"); it != s.op.attributes.end())  // Upsample 7
    if (const auto* v = std::get_if<std::vector<double>>(&it->second)) given_scales = *v;
  if (std::ranges::count(s.shape(), 0) > 0) return "";
  if (scale_at == 2 && s.has(1) && s.is_float(1) &&
      s.operand(1).size() == static_cast<std::int64_t>(2 * axes.size())) {
    const std::vector<double> r = s.reals(1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = at(s.axis_of(axes[i], s.rank()));
      roi[axis] = r[i], roi[axis + rank] = r[axes.size() + i];
    }
  }
  Sizes out = s.shape();
  scales.assign(rank, 1.0);
  const Sizes sizes = s.has(3) && s.operand(3).size() > 0 ? s.ints(3) : Sizes();
  if ((sizes.empty() ? given_scales.size() : sizes.size()) != axes.size())
    s.fail("its sizes or scales do not fit the input's rank");
  bool exact = true;  // sizes are scales times sizes
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = at(s.axis_of(axes[i], s.rank()));
    const auto length = static_cast<double>(out[axis]);
    scales[axis] = sizes.empty() ? given_scales[i] : static_cast<double>(sizes[i]) / length;
    const double wanted =
        sizes.empty() ? length *
                            (s.text("coordinate_transformation_mode", "") == "tf_crop_and_resize"
                                 ? roi[axis + rank] - roi[axis]
                                 : 1.0) *
                            given_scales[i]
                      : static_cast<double>(sizes[i]);
    if (!(wanted >= 0) || wanted > 1e6) s.fail("its sizes are negative or too large");
    out[axis] = static_cast<std::int64_t>(std::floor(wanted));
    exact = exact && wanted == std::floor(wanted);
  }
  const std::string kind = s.text("mode", "nearest"),
                    how = s.text("coordinate_transformation_mode",
                                 scale_at == 1 ? "asymmetric" : "half_pixel");
  const bool corners = how == "align_corners";
  bool ties = corners;  // nearest_exact rounds up
  for (std::size_t i = 0; i < rank; ++i)
    for (std::int64_t k = 0; k < out[i]; ++k)
      ties = ties || ((2 * k + 1) * s.shape().at(i)) % (2 * out[i]) == 0;
  const std::string mode = kind == "linear"  ? "bilinear"
                           : kind == "cubic" ? "bicubic"
                           : ties            ? ""
                                             : "nearest_exact";
  const bool outer = rank > 2 && out[0] == s.shape().at(0) && out[1] == s.shape().at(1);
  if (!mode.empty() && outer && rank == 4 && (how == "half_pixel" || corners) &&
      s.whole("exclude_outside", 0) == 0 &&
      s.text("nearest_mode", "round_prefer_floor") == "round_prefer_floor" &&
      !s.is_set("cubic_coeff_a") && (corners || exact) && s.is_float())
    return fmt::format("interpolate({}, size={}, mode={}, align_corners={})", s.name(0),
                       listed(tail(out)), word_text(mode), corners ? 1 : 0);
  std::int64_t dense = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) dense += out[axis] * s.shape().at(axis);
  if (dense > 20'000'000 || count_of(out) > 50'000'000) s.fail("its result is too large");
  if (kind == "nearest" && how != "tf_crop_and_resize") {
    std::string picked = s.name(0);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::vector<double> weights = resize_weights(s, axis, out[axis], scales[axis], roi);
      const std::int64_t length = s.shape().at(axis);
      Sizes from;
      for (std::int64_t i = 0; i < out[axis]; ++i) {
        const auto row = weights.begin() + i * length;
        from.push_back(std::find(row, row + length, 1.0) - row);
      }
      if (from != counted(0, static_cast<int>(length)))
        picked = fmt::format("index_select({}, {}, axis={})", picked,
                             s.constant(array_of(from, {out[axis]})), axis);
    }
    return picked;
  }
  std::string text = fmt::format("cast({}, f64)", s.name(0));
  std::vector<double> outside(at(count_of(out)), 0.0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::vector<double> weights = resize_weights(s, axis, out[axis], scales[axis], roi);
    const std::int64_t length = s.shape().at(axis), inner = count_of(out, axis + 1);
    bool same = out[axis] == length;
    std::vector<double> turned(weights.size());
    for (std::int64_t i = 0; i < out[axis]; ++i)
      for (std::int64_t k = 0; k < length; ++k) {
        const double w = weights[at(i * length + k)];
        same = same && w == (i == k ? 1.0 : 0.0);
        turned[at(k * out[axis] + i)] = std::isnan(w) ? 0 : w;
      }
    for (std::int64_t e = 0; e < count_of(out); ++e)
      if (length > 0 && std::isnan(weights[at(e / inner % out[axis] * length)])) outside[at(e)] = 1;
    if (same) continue;
    const int last = s.rank() - 1, from = static_cast<int>(axis);
    const std::string by = s.constant(array_of(turned, {length, out[axis]}, DType::Float64));
    text = moved(fmt::format("({} @ {})", moved(text, s.rank(), from, last), by), s.rank(), last,
                 from);
  }
  const std::string type = s.type();
  text =
      fmt::format("cast({}, {})",
                  s.is_float() || kind == "nearest" ? text : fmt::format("round({})", text), type);
  if (std::ranges::count(outside, 1.0) == 0) return text;
  return fmt::format("where({}, {}, {})", s.constant(array_of(outside, out, DType::Bool)),
                     real_text(s.real("extrapolation_value", 0)), text);
}

// cell(step, "x, h", c, weights) -> (h, c). The cell has the gates of ONNX in this order.
struct Cell {
  std::vector<std::int64_t> order;
  bool has_state;  // c
  std::pair<std::string, std::string> (*step)(Step&, const std::string& xh, const std::string& c,
                                              const std::string& weights);
};

// The steps of a recurrent layer in one direction.
class Recurrence {
 public:
  /// One formula for each step, where Y is known.
  std::vector<Texts>& slices() { return slices_; }
  Recurrence(Step& s, const Cell& cell, std::int64_t direction, bool reverse)
      : s_(s), cell_(cell), direction_(direction), reverse_(reverse) {
    batch_first_ = s.whole("layout", 0) != 0;
    steps_ = s.shape().at(batch_first_ ? 1 : 0), batch_ = s.shape().at(batch_first_ ? 0 : 1);
    inputs_ = s.shape().at(2), size_ = s.shape(2).at(2);
    const auto count = static_cast<std::int64_t>(cell.order.size());
    weights_ = {gates(1, {inputs_}, 0), gates(2, {size_}, 0)};
    if (s.has(3)) {
      weights_.push_back(gates(3, {}, 0));
      weights_.push_back(gates(3, {}, count * size_));
    }
  }

  /// Gives the weights names.
  void name_weights(std::string& parts) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::string name = fmt::format("weight{}_{}__{}", i, direction_, s_.id);
      parts += fmt::format("{} = {}; ", name, weights_[i]);
      weights_[i] = name;
    }
  }

  /// Y's part (steps, 1, batch, size), and the last h and c (1, batch, size), each in the layout of
  /// the outputs. `y`: the name of Y where its value is known.
  std::array<std::string, 3> run(std::string& parts, const std::string& y) {
    std::string h = state(5), c = cell_.has_state ? state(6) : h;
    std::vector<std::string> all(at(steps_));
    if (!y.empty()) slices_.resize(at(steps_));
    for (std::int64_t k = 0; k < steps_; ++k) {
      const std::int64_t t = reverse_ ? steps_ - 1 - k : k;
      auto [next, next_c] = cell_.step(s_, fmt::format("{}, {}", x_at(t), h), c, weights());
      all[at(t)] = next;
      if (s_.settle) {  // each step is computed once
        all[at(t)] = next = s_.settle(next);
        if (cell_.has_state) next_c = s_.settle(next_c);
      } else {
        const std::string name = fmt::format("step{}_{}__{}", k, direction_, s_.id);
        if (!y.empty())
          slices_[at(t)] = {parts,
                            {reshaped(next, batch_first_ ? Sizes{batch_, 1, 1, size_}
                                                         : Sizes{1, 1, batch_, size_})}};
        if (cell_.has_state) {
          parts += fmt::format("{}_c = {}; ", name, next_c);
          next_c = name + "_c";
        }
        if (y.empty()) parts += fmt::format("{} = {}; ", name, next);
        next = y.empty() ? name : y_at(y, t);
      }
      h = next;
      if (cell_.has_state) c = next_c;
    }
    if (s_.settle) {
      std::string bytes;
      for (const std::string& step : all)
        for (const auto& [name, array] : s_.constants)
          if (name == step) bytes += array.bytes;
      return {laid_out(s_.constant({s_.operand(0).dtype, {steps_, 1, batch_, size_}, bytes})),
              last(h), last(c)};
    }
    if (!y.empty()) return {"", last(h), last(c)};
    for (std::string& step : all) step = reshaped(step, {1, 1, batch_, size_});
    return {laid_out(joined(all, 0)), last(h), last(c)};
  }

  /// The same where Y is known and there is no other state: all steps as one.
  std::array<std::string, 3> at_once(const std::string& y) {
    const std::string h = reshaped(state(5), {1, batch_, size_}),
                      d = batch_first_ ? permuted(y, {1, 2, 0, 3}) : y;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return reshaped(sliced(d, {begin, direction_, 0, 0}, {end, direction_ + 1, batch_, size_}),
                      {end - begin, batch_, size_});
    };
    const std::string before = steps_ == 1 ? h  // h of the step before, for each step
                               : reverse_
                                   ? fmt::format("concat({}, {}, axis=0)", part(1, steps_), h)
                                   : fmt::format("concat({}, {}, axis=0)", h, part(0, steps_ - 1));
    const std::string x = batch_first_ ? permuted(s_.name(0), {1, 0, 2}) : s_.name(0), none;
    const std::string all = reshaped(
        cell_
            .step(s_,
                  fmt::format("{}, {}", reshaped(x, {-1, inputs_}), reshaped(before, {-1, size_})),
                  none, weights())
            .first,
        {steps_, 1, batch_, size_});
    return {laid_out(all), last(y_at(y, reverse_ ? 0 : steps_ - 1)), ""};
  }

 private:
  // (steps, 1, batch, size) as the output has it.
  std::string laid_out(const std::string& y) const {
    return batch_first_ ? permuted(y, {2, 0, 1, 3}) : y;
  }
  std::string last(const std::string& x) const {
    return reshaped(x, batch_first_ ? Sizes{batch_, 1, size_} : Sizes{1, batch_, size_});
  }
  // The gates' rows from `begin` on, of an operand (directions, rows, columns...).
  std::string gates(std::size_t operand, const Sizes& columns, std::int64_t begin) const {
    std::vector<std::string> parts;
    for (const std::int64_t g : cell_.order) {
      Sizes from(columns.size() + 2, 0), to = columns, shape = columns;
      from[0] = direction_, from[1] = begin + g * size_;
      to.insert(to.begin(), {direction_ + 1, begin + (g + 1) * size_});
      shape.insert(shape.begin(), size_);
      parts.push_back(reshaped(sliced(s_.name(operand), from, to), shape));
    }
    return nested("concat", parts);
  }
  std::string weights() const { return fmt::format("{}", fmt::join(weights_, ", ")); }
  std::string x_at(std::int64_t t) const {
    const std::string x = batch_first_ ? sliced(s_.name(0), {0, t, 0}, {batch_, t + 1, inputs_})
                                       : sliced(s_.name(0), {t, 0, 0}, {t + 1, batch_, inputs_});
    return reshaped(x, {batch_, inputs_});
  }
  std::string y_at(const std::string& y, std::int64_t t) const {
    const std::int64_t d = direction_;
    return reshaped(batch_first_ ? sliced(y, {0, t, d, 0}, {batch_, t + 1, d + 1, size_})
                                 : sliced(y, {t, d, 0, 0}, {t + 1, d + 1, batch_, size_}),
                    {batch_, size_});
  }
  std::string state(std::size_t operand) {
    const std::int64_t d = direction_;
    if (s_.has(operand))
      return reshaped(batch_first_ ? sliced(s_.name(operand), {0, d, 0}, {batch_, d + 1, size_})
                                   : sliced(s_.name(operand), {d, 0, 0}, {d + 1, batch_, size_}),
                      {batch_, size_});
    return s_.constant(array_of(std::vector<double>(at(batch_ * size_), 0.0), {batch_, size_},
                                s_.operand(0).dtype));
  }

  Step& s_;
  const Cell& cell_;
  std::int64_t direction_, steps_ = 0, batch_ = 0, inputs_ = 0, size_ = 0;
  bool reverse_, batch_first_ = false;
  std::vector<std::string> weights_;
  std::vector<Texts> slices_;
};

Row recurrent(Cell cell) {
  return [cell](Step& s) {
    Texts out{"", std::vector<std::string>(s.op.outputs.size())};
    const std::string direction = s.text("direction", "forward");
    const bool batch_first = s.whole("layout", 0) != 0;
    const std::int64_t directions = s.shape(1).at(0), steps = s.shape().at(batch_first ? 1 : 0);
    if (s.has(7) || directions != (direction == "bidirectional" ? 2 : 1) ||
        s.is_set("activations") || s.is_set("clip") || s.whole("input_forget", 0) != 0 ||
        steps == 0)
      return out;
    if (s.has(4) && s.ints(4) != Sizes(at(s.shape().at(batch_first ? 0 : 1)), steps)) return out;
    const std::string y = s.own.empty() || s.own[0] == nullptr ? "" : s.constant(*s.own[0]);
    // Without Y each state is computed anew by all that follow.
    if (!s.settle && y.empty() && steps > 2) return out;
    std::array<std::string, 3> all;
    std::string chain;  // of states between steps
    const int axes[] = {batch_first ? 2 : 1, batch_first ? 1 : 0, batch_first ? 1 : 0};
    for (std::int64_t d = 0; d < directions; ++d) {
      Recurrence r(s, cell, d, d == 1 || direction == "reverse");
      if (!s.settle) r.name_weights(out.parts);
      std::string states;
      const auto made = y.empty() || cell.has_state ? r.run(states, y) : r.at_once(y);
      chain += states;
      for (std::size_t i = 0; i < 3; ++i)
        all[i] =
            d == 0 ? made[i] : fmt::format("concat({}, {}, axis={})", all[i], made[i], axes[i]);
      if (d == 0)
        out.slices = std::move(r.slices());
      else
        for (std::size_t k = 0; k < out.slices.size(); ++k) {
          Texts& slice = out.slices[k];
          slice.parts += r.slices()[k].parts;
          slice.outputs[0] = fmt::format("concat({}, {}, axis={})", slice.outputs[0],
                                         r.slices()[k].outputs[0], axes[0]);
        }
    }
    out.axis = batch_first ? 1 : 0;
    for (std::size_t i = 0; i < out.outputs.size() && i < (cell.has_state ? 3 : 2); ++i)
      if (!all[i].empty()) out.outputs[i] = chain + all[i];
    if (!out.slices.empty()) out.outputs[0] = "";
    return out;
  };
}

std::string dft(Step& s) {
  const int axis = s.axis_of(
      s.version >= 20 && s.has(2) ? s.ints(2).at(0) : s.whole("axis", s.version >= 20 ? -2 : 1),
      s.rank());
  if (s.whole("onesided", 0) != 0 || (s.has(1) && s.ints(1).at(0) != s.shape().at(at(axis))))
    return "";
  const std::string x =
      s.shape().back() == 2 ? s.name(0) : fmt::format("pad({}, before=[0], after=[1])", s.name(0));
  return fmt::format("transpose({}dft(transpose({}, a={}, b=-2)), a={}, b=-2)",
                     s.whole("inverse", 0) != 0 ? "i" : "", x, axis, axis);
}

std::string stft(Step& s) {
  const std::int64_t size = s.has(2) ? s.operand(2).size() : s.ints(3).at(0),
                     stride = s.ints(1).at(0);
  if ((s.rank() != 3 && s.rank() != 2) || stride < 1) return "";
  if (s.rank() == 3 && s.shape().at(2) != 1) return "";
  const std::int64_t batch = s.shape().at(0), length = s.shape().at(1),
                     frames = (length - size) / stride + 1;
  const std::int64_t bins = s.whole("onesided", 1) != 0 ? size / 2 + 1 : size;
  const std::string windows =
      fmt::format("windows({}, size=[{}], stride=[{}]){}", reshaped(s.name(0), {batch, length}),
                  size, stride, s.has(2) ? " * " + s.name(2) : "");
  return sliced(fmt::format("dft(pad({}, before=[0], after=[1]))",
                            reshaped(windows, {batch, frames, size, 1})),
                {0, 0}, {bins, 2});
}

}  // namespace

std::vector<NamedRow> layer_rows() {
  return {
      {"Conv", one(conv)},
      {"ConvTranspose", one(conv_transpose)},
      {"ConvInteger", one(integer_conv)},
      {"QLinearConv", one(quantized_conv)},
      {"AveragePool", one(average_pool)},
      {"MaxPool", max_pool},
      {"LpPool", one(lp_pool)},
      {"MaxUnpool", one(max_unpool)},
      {"GlobalAveragePool", spatial("mean({}, axis={}, keep=1)")},
      {"GlobalMaxPool", spatial("max({}, axis={}, keep=1)")},
      {"GlobalLpPool",
       [](Step& s) {
         const std::int64_t p = s.whole("p", 2);
         if (p != 1 && p != 2) return Texts{"", {""}};
         return spatial(p == 1 ? "l1_norm({}, axis={}, keep=1)"
                               : "l2_norm({}, axis={}, keep=1)")(s);
       }},
      {"LayerNormalization", layer_norm},
      {"RMSNormalization", one(rms_norm)},
      {"BatchNormalization", batch_norm},
      {"LRN", one(local_response)},
      {"MeanVarianceNormalization",
       formula("mean_variance_normalization({0}, axis={axes=[0,2,3]})")},
      {"InstanceNormalization", formula("instance_norm({0}, {1}, {2}, eps={epsilon=1.0e-5})")},
      {"GroupNormalization", one(group_norm)},
      {"NegativeLogLikelihoodLoss", class_loss("nll_loss")},
      {"SoftmaxCrossEntropyLoss", class_loss("cross_entropy")},
      {"Dropout", dropout},
      {"Resize", one(resize)},
      {"Upsample", one(resize)},
      {"RNN",
       recurrent({{0},
                  false,
                  [](Step&, const std::string& xh, const std::string& c, const std::string& w) {
                    return std::pair(fmt::format("rnn_cell({}, {})", xh, w), c);
                  }})},
      {"GRU",
       recurrent({{1, 0, 2},
                  false,
                  [](Step& s, const std::string& xh, const std::string& c, const std::string& w) {
                    return std::pair(fmt::format("gru_cell({}, {}, linear_before_reset={})", xh, w,
                                                 s.whole("linear_before_reset", 0)),
                                     c);
                  }})},
      {"LSTM",
       recurrent({{0, 2, 3, 1},
                  true,
                  [](Step&, const std::string& xh, const std::string& c, const std::string& w) {
                    return std::pair(fmt::format("lstm_cell({}, {}, {})", xh, c, w),
                                     fmt::format("lstm_cell_c({}, {}, {})", xh, c, w));
                  }})},
      {"DFT", one(dft)},
      {"STFT", one(stft)},
      {"GridSample",
       formula("grid_sample({0}, {1}, mode={mode=bilinear}, padding_mode={padding_mode=zeros}, "
               "align_corners={align_corners=0})")},
      {"RoiAlign",
       [](Step& s) {
         if (s.text("mode", "avg") != "avg") return Texts{"", {""}};
         return Texts{
             "",
             {fmt::format(
                 "roi_align({}, {}, {}, size=[{},{}], scale={}, sampling_ratio={}, aligned={})",
                 s.name(0), s.name(1), s.name(2), s.whole("output_height", 1),
                 s.whole("output_width", 1), real_text(s.real("spatial_scale", 1)),
                 s.whole("sampling_ratio", 0),
                 s.text("coordinate_transformation_mode",
                        s.version < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel"
                     ? 1
                     : 0)}};
       }},
  };
}

}  // namespace touchstone::model
