// Calls drawn from signatures and shapes (definitions/calls.h): of the definitions of
// `touchstone kernel --list`, and of functions of the tensor library.
#include <map>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/define/definitions.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"
#include "touchstone/fuzz/draw/draw_call.h"

namespace touchstone::fuzz {
namespace {

using Parameters = std::vector<define::Parameter>;

// Of the tensor library; positions and lists fit.
struct Signature {
  std::string_view names, parameters;
  char types;
  std::string_view inputs;
};
// clang-format off
constexpr Signature kSignatures[] = {
    {"neg relu abs square floor ceil trunc round sign isnan isinf isfinite logical_not half float_ double_ int_ long_ bool_ "
     "contiguous clone detach to to_ relu6 nonzero shard shard_like shard_ exp exp2 log log2 sin cos tan sqrt rsqrt "
     "reciprocal sigmoid tanh expm1 log1p sinh cosh asinh acosh atanh erf erfc log10 asin acos atan cbrt lgamma digamma erfinv quick_gelu silu mish softplus log_sigmoid "
     "softsign selu hardsigmoid hardswish", "(x)", 'A', "*"},
    {"sequential Dropout", "(x)", 'F', "*"},
    {"gelu", "(x, form=tanh)", 'A', "*"},
    {"elu celu", "(x, alpha=1)", 'A', "*"},
    {"leaky_relu", "(x, slope=0.01)", 'A', "*"},
    {"hardtanh", "(x, low=-1, high=1)", 'A', "*"},
    {"sum mean max min prod any all", "(x, axes=all, keep=0)", 'A', "*"},
    {"var std", "(x, axes=all, keep=0, correction=1)", 'A', "*"},
    {"logsumexp", "(x, axes=..., keep=0)", 'A', "*"},
    {"argmax argmin", "(x, axis=all, keep=0)", 'A', "a,*"},
    {"softmax log_softmax", "(x, axis=-1)", 'F', "*"},
    {"layernorm", "(x, axis=-1, eps=1e-5)", 'F', "a,*"},
    {"layer_norm LayerNorm", "(x, w?, b?, axes=last, eps=1e-5)", 'F', "n,.,k;.,k;.,k"},
    {"LayerNorm2d", "(x, w?, b?, eps=1e-5)", 'F', "n,c,a,b;c;c"},
    {"rms_norm RMSNorm", "(x, w?, eps=1e-6)", 'F', "n,.,k;k"},
    {"group_norm GroupNorm", "(x, w?, b?, groups=..., eps=1e-5)", 'F', "n,Gc,.;Gc;Gc"},
    {"instance_norm InstanceNorm", "(x, w?, b?, eps=1e-5)", 'F', "n,c,.;c;c"},
    {"batch_norm", "(x, mean, variance, w?, b?, eps=1e-5)", 'F', "n,c,.;c;c:+;c;c"},
    {"BatchNorm", "(x, mean, variance, w?, b?, eps=1e-5, train=0, momentum=0.1)", 'F', "n,c,.;c;c:+;c;c"},
    {"transpose", "(x, a=-2, b=-1)", 'A', "a,*"},
    {"movedim", "(x, from=..., to=...)", 'A', "a,*"},
    {"shrink", "(x, begin=...)", 'A', "a,*"},
    {"flip", "(x, axes=...)", 'A', "a,*"},
    {"roll", "(x, by=..., axis=0)", 'A', "a,*"},
    {"repeat_interleave", "(x, times=..., axis=0)", 'A', "a,*"},
    {"chunk", "(x, count=..., axis=0)", 'A', "a,*"},
    {"triu tril", "(x, k=...)", 'A', ".,a,b"},
    {"assign", "(x, y)", 'A', "*;*"},
    {"broadcast_shape atan2 hypot", "(x, y)", 'A', "~;~"},
    {"cast", "(x, to=...)", 'A', "*"},
    {"bitcast", "(x, to=...)", 'I', "*"},
    {"cumsum cumprod cummax cummin", "(x, axis=...)", 'A', ".,L"},
    {"reshape expand", "(x, shape=...)", 'A', "*"},
    {"permute", "(x, order=...)", 'A', "*"},
    {"pad", "(x, before=..., after=..., value=0, mode=plain)", 'A', "a,*"},
    {"repeat", "(x, times=...)", 'A', "*"},
    {"unfold", "(x, axis=..., size=..., step=...)", 'A', "a,*"},
    {"diagonal", "(x, a=-2, b=-1)", 'A', "a,b,."},
    {"masked_fill", "(x, mask, value=...)", 'N', "*;~:b"},
    {"pad2d", "(x, padding=..., value=0)", 'A', ".,a,b"},
    {"squeeze", "(x, axis=all)", 'A', "1,*"},
    {"unsqueeze", "(x, axis=...)", 'A', "*"},
    {"flatten", "(x, first=...)", 'A', "a,*"},
    {"pool max_pool avg_pool", "(x, kernel=..., stride=1, padding=0, dilation=1)", 'A', ".,W"},
    {"max_pool2d avg_pool2d", "(x, kernel=..., stride=1)", 'A', "n,.,W"},
    {"conv", "(x, w, b?, stride=1, padding=0, dilation=1, groups=1, before=0, after=0)", 'F', "n,Gc,W;Go,c,S;Go"},
    {"conv1d conv2d Conv1d Conv2d", "(x, w, b?, stride=1, padding=0, dilation=1, groups=1)", 'F', "n,Gc,W;Go,c,S;Go"},
    {"conv_transpose ConvTranspose1d ConvTranspose2d", "(x, w, b?, stride=1, padding=0, output_padding=0, dilation=1, groups=1)", 'F', "n,Gc,O;Gc,o,S;Go"},
    {"interpolate", "(x, sizes=..., mode=nearest, corners=0)", 'F', ".,W"},
    {"gather", "(x, index, axis=-1)", 'A', "*;%:@"},
    {"scatter", "(x, index, updates, axis=-1)", 'A', "*;%:@;%"},
    {"scatter_add", "(x, index, updates, axis=-1)", 'N', "*;%:@;%"},
    {"one_hot", "(x, classes=...)", 'A', "*:K"},
    {"sort argsort", "(x, axis=-1, order=ascending)", 'A', ".,a"},
    {"topk", "(x, k=..., axis=-1, order=descending)", 'A', ".,a"},
    {"linear Linear", "(x, w, b?)", 'F', ".,k;m,k;m"},
    {"Sequential", "(x, w, b)", 'F', ".,k;m,k;m"},
    {"scaled_dot_product_attention", "(q, k, v, mask?, causal=0, scale=0)", 'F', ".,q,d;.,k,d;.,k,e;q,k:m"},
    {"LSTM", "(x, w, u, b, d, h?, c?)", 'F', "n,t,i;4h,i;4h,h;4h;4h;n,h;n,h"},
    {"GRU", "(x, w, u, b, d, h?)", 'F', "n,t,i;3h,i;3h,h;3h;3h;n,h"},
    {"mse_loss l1_loss binary_cross_entropy_with_logits", "(x, target, reduction=mean)", 'F', "*;*"},
    {"huber_loss", "(x, target, delta=1, reduction=mean)", 'F', "*;*"},
    {"binary_cross_entropy", "(x, target, reduction=mean)", 'F', "*:p;*:p"},
    {"nll_loss", "(x, target, reduction=mean)", 'F', "n,K;n:K"},
    {"cross_entropy", "(x, target, smoothing=0, ignore=0, reduction=mean)", 'F', "n,K;n:K"},
};
// clang-format on

class SignatureDrawing {
 public:
  SignatureDrawing(Drawing& d, std::string_view name, Parameters parameters,
                   std::string_view inputs, bool kernel)
      : d_(d), name_(name), parameters_(std::move(parameters)), inputs_(inputs), kernel_(kernel) {}

  void draw() {
    d_.call.name = std::string(kernel_ ? defined::kKernelCall : "") + std::string(name_);
    if ((takes("order") || takes("descending") || takes("k")) && d_.chance(1, 2))
      d_.numbers = Numbers::Ties;
    if (takes("eps") && d_.numbers == Numbers::Ties) d_.call.set("eps", "0.125");
    std::vector<std::string_view> inputs = split(inputs_, ';');
    if (inputs_.starts_with("n,.,k;.,k;") && d_.chance(1, 4)) inputs[0] = inputs[1];
    const bool along = inputs_.find('%') != inputs_.npos;
    whole_ = d_.shape(along || takes("start") ? 1 : 0,
                      takes("axes") || name_ == "broadcast_shape" ? 4 : 3);
    lead_ = d_.shape(0, kernel_ || takes("eps") || name_.starts_with("cum") ? 2 : 1);
    if (along) draw_index_shape();
    if (takes("stride") || name_ == "interpolate") draw_windows();
    if (takes("grid"))
      for (std::int64_t axes = d_.between(2, 3); axes > 0; --axes) {
        spatial_.push_back(d_.between(1, 4));
        counts_.push_back(d_.between(1, 3));
      }
    std::vector<CallSizes> shapes;
    for (const std::string_view input : inputs)
      shapes.push_back(shape_of(input.substr(0, input.find(':'))));
    if (!shapes.empty()) first_ = shapes[0];
    for (const define::Parameter& p : parameters_)
      if (!p.is_array && !d_.call.has(p.name)) draw_argument(p.name, p.fallback);
    for (const std::size_t i : {0U, 1U})
      if (d_.call.whole(i == 0 ? "transpose_a" : "transpose_b", 0) == 1 && shapes[i].size() > 1)
        std::swap(shapes[i].back(), shapes[i][shapes[i].size() - 2]);
    draw_arrays(inputs, shapes);
  }

 private:
  bool takes(std::string_view name) const {
    return std::ranges::find(parameters_, name, &define::Parameter::name) != parameters_.end();
  }
  std::int64_t size_of(char letter) {
    static const std::vector<std::int64_t> kSizes = {2, 3, 1, 4, 2, 5, 3, 1, 2, 6, 3, 2};
    const auto [it, is_new] = sizes_.try_emplace(letter, 0);
    if (!is_new) return it->second;
    const bool is_count = letter == 'G' || letter == 'K' || !kernel_;
    it->second = letter == 'L' && d_.chance(1, 24) ? 300  // longer than a chunk of a scan
                 : is_count                        ? d_.between(1, 3)
                 : d_.chance(1, 40)                ? 0
                                                   : d_.chooser.pick(kSizes);
    if (letter == 'G') d_.set("groups", it->second);
    return it->second;
  }
  // Of an index: fewer places on other axes, any number on its own.
  void draw_index_shape() {
    const auto axis = static_cast<std::size_t>(d_.set_axis(whole_));
    sizes_['@'] = whole_[axis] = std::max<std::int64_t>(1, whole_[axis]);
    along_ = whole_;
    for (std::int64_t& size : along_)
      if (d_.chance(1, 4)) size = d_.between(0, size);
    along_[axis] = d_.between(0, 4);
  }
  std::int64_t product_of(std::string_view letters) {
    std::int64_t product = 1, digits = 0;
    for (const char c : letters)
      if (c >= '0' && c <= '9')
        digits = 10 * digits + (c - '0');
      else if (c == 'S')
        for (const std::int64_t size : window_) product *= size;
      else
        product *= size_of(c);
    return product * (digits == 0 ? 1 : digits);
  }
  // The sizes that a word stands for.
  CallSizes sizes_of(std::string_view word) {
    if (word == "*") return whole_;
    if (word == "%") return along_;
    if (word == "~") return d_.part_of(whole_);
    if (word == ".") return lead_;
    if (word == "^") return d_.chance(1, 3) ? CallSizes() : d_.part_of(lead_);
    if (word == "<") return smaller(whole_);
    if (word == "R" || word == "D") return {std::ssize(word == "R" ? whole_ : spatial_)};
    if (word == "W") return spatial_;
    if (word == "S") return window_;
    if (word == "O") return name_ == "fold" ? CallSizes{product(counts_)} : counts_;
    return word == "Z" ? CallSizes() : CallSizes{product_of(word)};
  }
  CallSizes shape_of(std::string_view text) {
    CallSizes shape;
    for (const std::string_view word : split(text, ','))
      for (const std::int64_t size : sizes_of(word)) shape.push_back(size);
    return shape;
  }
  CallSizes smaller(CallSizes sizes) {
    for (std::int64_t& size : sizes) size = d_.between(0, size);
    return sizes;
  }
  static std::int64_t product(const CallSizes& sizes) { return Drawing::count(sizes); }

  bool may_be_left_out(std::string_view key) {
    return !kernel_ && (key == "stride" || key == "output_padding") && d_.chance(1, 3);
  }
  // One number where all are equal, or a list.
  void set_sizes(std::string_view key, const CallSizes& sizes) {
    const bool equal = std::ranges::all_of(sizes, [&](std::int64_t s) { return s == sizes[0]; });
    if (!takes(key) || may_be_left_out(key)) return;
    if (kernel_ && equal && !sizes.empty() && name_ != "interpolate" &&
        name_ != "select_and_scatter" && d_.chance(1, 2))
      d_.set(key, sizes[0]);
    else
      d_.call.set(key, sizes);
  }
  void draw_windows() {
    const std::string_view name = name_;
    const auto digit = name.find_first_of("123");
    const std::int64_t axes = digit != name.npos && name[digit + 1] == 'd' ? name[digit] - '0'
                              : name == "fold" || name == "unfold"         ? 2
                              : name == "windows"                          ? 1
                                                                           : d_.between(1, 2);
    const bool pools = name_.find("pool") != name_.npos && name_ != "pool",
               transposed = takes("output_padding"), ceil = takes("ceil_mode") && d_.chance(1, 2);
    CallSizes stride, padding, dilation, more;
    for (std::int64_t i = 0; i < axes; ++i) {
      const bool equal = i > 0 && d_.chance(1, 2);
      const auto as_before = [&](const CallSizes& all, std::int64_t drawn) {
        return equal ? all.back() : drawn;
      };
      window_.push_back(as_before(window_, d_.between(1, 3)));
      stride.push_back(as_before(stride, d_.between(1, 3)));
      dilation.push_back(takes("dilation") ? as_before(dilation, d_.between(1, 2)) : 1);
      const std::int64_t reach = dilation.back() * (window_.back() - 1) + 1;
      const std::int64_t most = pools || name == "select_and_scatter" ? window_.back() / 2
                                : transposed                          ? (reach - 1) / 2
                                                                      : 2;
      padding.push_back(takes("padding") ? std::min(most, as_before(padding, d_.between(0, most)))
                                         : 0);
      more.push_back(d_.between(0, std::max(stride.back(), dilation.back()) - 1));
      spatial_.push_back(std::max<std::int64_t>(1, reach - 2 * padding.back() + d_.between(0, 4)));
      counts_.push_back(transposed
                            ? d_.between(1, 3)
                            : (spatial_.back() + 2 * padding.back() - reach) / stride.back() + 1);
    }
    set_sizes("stride", stride);
    set_sizes("padding", padding);
    set_sizes("dilation", dilation);
    set_sizes("output_padding", more);
    set_sizes("output_size", spatial_);
    if (ceil) d_.set("ceil_mode", 1);
    if (name == "conv" && d_.chance(1, 3)) {
      d_.call.set("before", padding);
      for (std::int64_t& size : padding) size += d_.between(0, 1);
      d_.call.set("after", padding);
    }
    set_sizes("kernel", window_);
    if (name != "interpolate") return set_sizes("size", window_);
    set_sizes(kernel_ ? "size" : "sizes", some(axes));
    const auto kind = d_.between(0, kernel_ ? 3 : 2);
    d_.call.set("mode", kind == 0               ? "nearest"
                        : kind == 1 && kernel_  ? "nearest_exact"
                        : axes == 1 || !kernel_ ? "linear"
                        : kind == 2             ? "bilinear"
                                                : "bicubic");
    if (kind > 1 && d_.chance(1, 2)) d_.set(kernel_ ? "align_corners" : "corners", 1);
  }

  CallSizes some(std::int64_t count, std::int64_t low = 1, std::int64_t high = 6) {
    CallSizes all;
    for (; count > 0; --count) all.push_back(d_.between(low, high));
    return all;
  }
  // clang-format off
  void draw_argument(const std::string& name, const std::string& fallback) {
    static constexpr std::string_view kWords[][2] = {
        {"eps", "0.125 1e-05 0.001"}, {"slope", "0.25 -0.5"}, {"alpha", "0.3 1.5"}, {"low", "-0.75 0"},
        {"high", "0.5 1.25"}, {"beta", "0.5 1.75"}, {"delta", "0.5 1.75"}, {"empty", "zero nan"}, {"p=0.5", "0.25 0.5"},
        {"p=2", "1 3 0.5"}, {"lambd", "0.25 1.0"}, {"bias", "0.5 -0.25"}, {"form", "erf tanh"}, {"nan", "0.5 2.0"}, {"posinf", "64.0 8.0"}, {"neginf", "-64.0 -8.0"},
        {"activation", "relu tanh"}, {"reduce", "none add max min mul"}, {"label_smoothing", "0.25 0.5"},
        {"smoothing", "0.25 0.5"}, {"ignore", "0 1 -1"}, {"ignore_index", "0 1 -1"}, {"divisor_override", "3 1"},
        {"quant_min", "-8 0 -128"}, {"quant_max", "7 100"}, {"mode=mean", "sum mean max"}, {"mode=dcr", "dcr crd"}, {"mode=bilinear", "nearest bicubic"},
        {"mode=constant", "reflect edge wrap symmetric"}, {"mode=plain", "constant reflect replicate circular"}, {"padding_mode", "border reflection"}, {"scale", "0.5 2.0"},
        {"margin", "0.25 1.5"}, {"k=1", "2.0 0.5"},
        {"p=1", "2 1"}, {"train", "1"}, {"momentum", "0.5 0.25"}, {"order=ascending", "descending ascending"}, {"order=descending", "descending ascending"}, {"reduction", "mean sum none"}, {"dtype", "int32 float16 float32 int64 uint8"}};
    struct Range {
      std::string_view name;
      std::int64_t low = 0, high = 1;
    };
    static constexpr Range kRanges[] = {
        {"keep"}, {"full"}, {"log_input"}, {"last"}, {"descending"}, {"largest"}, {"causal"}, {"count_include_pad"}, {"log_target"},
        {"interleaved"}, {"linear_before_reset"}, {"align_corners"}, {"aligned"}, {"right"}, {"batch_dims"}, {"sampling_ratio", 1, 3}, {"transpose_a"}, {"transpose_b"},
        {"correction", 0, 2}, {"shift", -4, 4}, {"times", 0, 3}, {"diagonal", -3, 3}, {"by", -7, 7}, {"count", 1, 4}, {"step", 1, 3}};
    // clang-format on
    const std::int64_t rank = std::ssize(first_);
    if (takes("axes") && name != "axes" && !d_.call.has("axes")) return;
    if (const auto* words = std::ranges::find_if(
            kWords, [&](const auto& w) { return w[0] == name || w[0] == name + "=" + fallback; });
        words != std::end(kWords)) {
      if ((fallback == "..." || d_.chance(1, 2)) && !(name == "mode" && d_.call.has("value")))
        d_.call.set(name, std::string(d_.chooser.pick(split((*words)[1], ' '))));
      if (name_ == "kl_div" && d_.chance(1, 4)) d_.call.set("reduction", "batchmean");
    } else if (name_ == "tile" || (name_ == "repeat" && !kernel_)) {
      d_.call.set("times", kernel_ ? d_.shape(0, 3)
                                   : d_.shape(static_cast<int>(rank), static_cast<int>(rank) + 1));
    } else if (name_ == "interpolate") {  // drawn with the windows
    } else if (const auto* range = std::ranges::find(kRanges, name, &Range::name);
               range != std::end(kRanges)) {
      if ((!name.starts_with("transpose") || rank > 1) && (fallback == "..." || d_.chance(1, 2)))
        d_.set(name, d_.between(range->low, range->high));
    } else if (name == "axis" && fallback == "all") {
      if (d_.chance(1, 4)) return;
      if (name_.starts_with("arg") || name_ == "squeeze")
        d_.set_axis(first_);
      else
        d_.call.set("axis", d_.axes(first_.size()));
    } else if (name == "axis") {
      d_.set("axis", name_ == "concat" || (takes("scale") && d_.chance(1, 2)) ? rank - 1
                     : takes("index")                                         ? 0
                                      : d_.axis(first_.size() + (name_ == "unsqueeze" ? 1 : 0)));
    } else if (name == "axes" && fallback == "last") {
      d_.set("axes", std::ssize(lead_) + 1);
    } else if (name == "axes") {
      if (fallback == "..." || d_.chance(3, 4)) d_.call.set("axes", d_.axes(first_.size()));
    } else if (name == "first" || name == "from" || (name == "to" && takes("from"))) {
      d_.set_axis(first_, name);
    } else if (name == "k" && !takes("axis")) {
      d_.set("k", d_.between(-3, 3));
    } else if (name == "k") {
      const std::int64_t axis = d_.set_axis(first_);
      d_.set("k", d_.between(0, first_[static_cast<std::size_t>(axis)]));
    } else if (name == "accumulate") {
      if (is_float(d_.dtype) && itemsize(d_.dtype) < 4) d_.maybe(name, {"float32", "float64"});
    } else if (name == "to") {
      draw_to();
    } else if (name == "size" && takes("k")) {
      d_.set("size", d_.between(1, 4));
    } else if (name == "size") {
      d_.call.set("size", name_ == "center_crop_pad"               ? some(d_.between(0, rank))
                          : takes("start")                         ? smaller(first_)
                          : takes("theta")                         ? some(first_[1])
                          : takes("rois") || name_.ends_with("2d") ? some(2)
                                                                   : some(1));
    } else if (name == "block" && fallback == "...") {
      d_.set("block", size_of('K'));
    } else if (name == "time_axis" && inputs_.starts_with('n')) {
      d_.set("time_axis", 1);
      d_.set("batch_axis", 0);
    } else if (name == "classes" || name == "segments") {
      d_.set(name, size_of(kernel_ ? 'k' : 'K'));
    } else if (name == "shape") {
      draw_shape();
    } else if (name == "order") {
      CallSizes order;
      for (std::int64_t i = 0; i < rank; ++i) {
        const std::int64_t place = d_.between(0, i);
        order.insert(order.begin() + place, i - (d_.chance(1, 4) ? rank : 0));
      }
      d_.call.set("order", order);
    } else if (name == "a" || name == "b") {
      if (d_.chance(1, 2)) d_.set(name, d_.axis(first_.size()));
    } else if (name == "padding" && fallback == "...") {
      d_.call.set(name, some(4, -1, 2));
    } else if (fallback == "..." && (name == "before" || name == "after")) {
      d_.call.set(name, some(rank, 0, 2));
    } else if (name == "begin") {
      CallSizes begin, end;
      for (const std::int64_t size : first_) {
        const std::int64_t least = size > 0 && !d_.chance(1, 8) ? 1 : 0;  // seldom nothing
        begin.push_back(d_.between(0, size - least));
        end.push_back(d_.between(begin.back() + least, size));
      }
      d_.call.set("begin", begin);
      d_.call.set("end", end);
    } else if (name == "steps") {
      CallSizes steps = some(rank, 1, 3);
      for (std::int64_t& step : steps) step = d_.chance(1, 3) ? -step : step;
      d_.call.set("steps", steps);
    } else if (name == "threshold" || (name == "value" && (fallback == "..." || d_.chance(1, 2)))) {
      d_.call.set(name, is_bool(d_.dtype) || is_unsigned(d_.dtype) ? "1"
                        : is_float(d_.dtype) && d_.chance(1, 2)    ? "-0.5"
                                                                   : "3");
    }
  }
  void draw_to() {
    static const std::vector<DType> kLevels = {DType::UInt8,  DType::Int8,       DType::Int16,
                                               DType::UInt16, DType::Float8E4M3, DType::Float8E5M2};
    DType to = d_.chooser.pick(kLevels);
    if (name_ != "quantize") {
      const DType from = d_.dtype;
      d_.any_type();
      to = d_.dtype;
      d_.dtype = from;
      for (const DTypeInfo& info : dtype_table)
        if (name_ == "bitcast" && is_integer(info.dtype) && info.dtype != from &&
            info.itemsize == static_cast<int>(itemsize(from)))
          to = info.dtype;
    }
    d_.call.set("to", std::string(touchstone::name(to)));
  }
  // Of expand, reshape and as_strided.
  void draw_shape() {
    CallSizes shape = first_;
    if (name_ == "expand") {
      for (std::int64_t& size : shape)
        size = size == 1 && d_.chance(1, 2)  ? d_.between(0, 3)
               : !kernel_ && d_.chance(1, 4) ? -1
                                             : size;
      const CallSizes more = d_.shape(0, 2);
      shape.insert(shape.begin(), more.begin(), more.end());
    } else if (name_ == "reshape") {
      std::int64_t left = product(first_);
      shape.clear();
      for (const std::int64_t by : {2, 3, 2})
        if (left % by == 0 && d_.chance(1, 2)) {
          shape.push_back(by);
          left /= by;
        }
      const std::int64_t place = d_.between(0, std::ssize(shape));
      if (left != 1 || d_.chance(1, 2))
        shape.insert(shape.begin() + place, left > 0 && d_.chance(1, 3) ? -1 : left);
    } else {
      shape = d_.shape(0, 3);
      CallSizes strides;
      std::int64_t low = 0, high = 0, n = product(first_);
      for (const std::int64_t size : shape) {
        strides.push_back(d_.between(-3, 3));
        (strides.back() < 0 ? low : high) += strides.back() * std::max<std::int64_t>(size - 1, 0);
      }
      d_.call.set("strides", strides);
      d_.set("offset", std::max<std::int64_t>(-low, 0) +
                           (n > high - low ? d_.between(0, n - 1 - high + low) : 0));
    }
    d_.call.set("shape", shape);
  }

  // Scales or zero points of x.
  CallSizes scale_shape() {
    const auto axis = static_cast<std::size_t>(
        defined::axis_in(d_.call.whole("axis", 1), static_cast<int>(first_.size())));
    if (blocked_ < 0) blocked_ = d_.between(0, 2);
    if (blocked_ == 0) return {};
    if (blocked_ == 1) return {first_[axis]};
    CallSizes shape = first_;
    if (!d_.call.has("block")) d_.set("block", d_.between(1, 3));
    const std::int64_t block = d_.call.whole("block", 1);
    shape[axis] = (shape[axis] + block - 1) / block;
    return shape;
  }

  void draw_arrays(const std::vector<std::string_view>& inputs, std::vector<CallSizes>& shapes) {
    const DType dtype = d_.dtype;
    const bool may_omit = name_ == "clamp" || name_ == "attention";
    std::size_t next = 0;
    std::vector<std::string> omitted;
    bool stops = false;
    for (const define::Parameter& p : parameters_) {
      if (!p.is_array) continue;
      if (p.name == "scale" && !p.required && !name_.starts_with("dequantize")) {
        d_.maybe("scale", {"0.5", "2.0"});
        if (may_omit && !d_.call.has("scale")) omitted.emplace_back("scale");
        continue;
      }
      if (p.name == "pos_weight") {
        d_.maybe("pos_weight", {"3.0", "0.5"});
        continue;
      }
      if (next >= inputs.size()) return;
      std::string_view kind = inputs[next];
      CallSizes shape = shapes[next++];
      if (!p.required && (stops || d_.chance(1, 3))) {
        if (may_omit) omitted.push_back(p.name);
        stops = !may_omit;
        continue;
      }
      if (kind.starts_with('Z')) shape = scale_shape();
      const std::size_t colon = kind.find(':');
      draw_values(shape, dtype, colon == kind.npos ? ' ' : kind[colon + 1]);
    }
    if (!omitted.empty()) d_.call.set("omit", fmt::format("{}", fmt::join(omitted, ",")));
  }
  void draw_values(const CallSizes& shape, DType dtype, char kind) {
    if (kind == 'b' || (kind == 'm' && d_.chance(1, 2))) {
      d_.mask(shape);
      for (std::size_t i = 0; kind == 'm' && !kernel_ && i < d_.call.inputs.back().values.size();
           i += 2)
        d_.call.inputs.back().values[i] = "1";  // no row without a key
      return;
    }
    if (kind == 'i') {  // of the other operand's type
      d_.positions(shape, 40, false);
      d_.call.inputs.back().dtype = dtype;
      return;
    }
    if (std::string_view(" +pgmdusfz").find(kind) == std::string_view::npos)
      return draw_positions(shape, kind);
    const bool either = d_.chance(1, 2);
    CallInput& x = d_.input(shape, kind == 'u'   ? DType::UInt8
                                   : kind == 's' ? DType::Int8
                                   : kind == 'z' ? (either ? DType::Int8 : DType::UInt8)
                                   : kind == 'f' ? (either ? DType::Float16 : DType::Float32)
                                                 : dtype);
    if (kind == '+') d_.in_range(0.25, 3);
    if (kind == 'p') d_.in_range(0, 1);
    if (kind == 'g' && either) d_.in_range(-1.3, 1.2);
    if (kind != 'd') return;
    for (std::string& v : x.values) v = d_.chance(1, 3) ? "0.0" : "2.0";
    x.via = "";
  }
  // Below a size, some counted from the end and some outside.
  void draw_positions(const CallSizes& shape, char letter) {
    static const std::vector<DType> kTypes = {DType::Int64, DType::Int32, DType::Int8, DType::UInt8,
                                              DType::Int16};
    const std::int64_t size = size_of(letter);
    if (!kernel_) return d_.positions(shape, size, letter == '@');
    d_.input(shape, d_.chooser.pick(kTypes));
    CallInput& at = d_.call.inputs.back();
    at.via = at.via == "wide" ? "" : at.via;
    for (std::string& v : at.values) {
      std::int64_t p = d_.chance(1, 4) ? size : 0;  // counted from the end
      p = d_.chance(1, 12) ? d_.between(-size - 2, size + 2)
          : size == 0      ? 0
                           : d_.between(0, size - 1) - p;
      if (is_unsigned(at.dtype)) p = std::abs(p);
      v = fmt::format("{}", p);
    }
  }

  Drawing& d_;
  const std::string_view name_;
  const Parameters parameters_;
  const std::string_view inputs_;
  const bool kernel_;
  CallSizes whole_, along_, lead_, first_, window_, spatial_, counts_;
  std::map<char, std::int64_t> sizes_;
  std::int64_t blocked_ = -1;
};

// Another type until it is one of `types` (KernelLoops).
void of_type(Drawing& d, char types) {
  types = static_cast<char>(types & ~0x20);
  const auto fits = [&] {
    return types == 'A' || (types == 'F' && is_float(d.dtype)) ||
           (types == 'I' && is_integer(d.dtype)) || (types == 'B' && !is_float(d.dtype)) ||
           (types == 'N' && !is_bool(d.dtype));
  };
  for (int tries = 0; tries < 8 && !fits(); ++tries) d.any_type(types == 'F');
  if (!fits()) d.dtype = types == 'F' ? DType::Float32 : DType::Int32;
}

void draw_signature_call(Drawing& d) {
  const std::string name = std::exchange(d.call.name, {});
  const Signature& row = *std::ranges::find_if(kSignatures, [&](const Signature& s) {
    return std::ranges::count(split(s.names, ' '), name) > 0;
  });
  of_type(d, row.types);
  SignatureDrawing(d, name,
                   define::parameters({"", name + std::string(row.parameters), "", nullptr}),
                   row.inputs, false)
      .draw();
}

}  // namespace

std::span<const DrawnCall> drawn_signatures() {
  static const std::vector<DrawnCall> all = [] {
    std::vector<DrawnCall> rows;
    for (const Signature& s : kSignatures)
      rows.push_back({s.names, draw_signature_call, s.types == 'F'});
    return rows;
  }();
  return all;
}

Call draw_kernel_call(Chooser& chooser) {
  const auto rows = defined::kernel_loops();
  const defined::KernelLoops& row = rows[chooser.below(rows.size())];
  return drawn(chooser, "call kernel.neg | float64 (): 1", [&](Drawing& d) {
    d.any_type((row.types | 0x20) == 'f');
    of_type(d, row.types);
    SignatureDrawing(d, row.name, define::parameters(define::definition(row.name)), row.inputs,
                     true)
        .draw();
    for (CallInput& x : d.call.inputs) x.via = "";
  });
}

}  // namespace touchstone::fuzz
