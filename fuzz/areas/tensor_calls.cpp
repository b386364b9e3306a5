#include "touchstone/fuzz/areas/tensor_calls.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"

namespace touchstone::fuzz {

TensorOptions options_of(const Call& call, const Tensors& x) {
  TensorOptions options;
  options.device = x[0].device();
  if (call.has("dtype")) options.dtype = parse_dtype(call.required("dtype"));
  return options;
}
int int_in(const Call& call, std::string_view key, std::int64_t otherwise) {
  return static_cast<int>(call.whole(key, otherwise));
}
Number number_in(const Call& call, std::string_view key, std::string_view otherwise) {
  const std::string_view text = call.arg(key).value_or(otherwise);
  if (text.find_first_of(".einf") == text.npos) return Number(number(text));
  return Number(Scalar::parse(DType::Float64, text).to_double());
}
Shape shape_in(const Call& call, std::string_view key) {
  const std::vector<std::int64_t> sizes = call.list(key);
  return {sizes.begin(), sizes.end()};
}
Padding pairs_in(const Call& call) {
  const auto before = call.list("before"), after = call.list("after");
  Padding padding;
  for (std::size_t i = 0; i < before.size() && i < after.size(); ++i)
    padding.emplace_back(before[i], after[i]);
  return padding;
}
std::vector<Slice> slices_in(std::string_view parts) {
  std::vector<Slice> slices;
  for (std::string_view text : split(parts, ',')) {
    std::optional<std::int64_t> part[3];
    for (auto& p : part) {
      const std::size_t colon = std::min(text.find(':'), text.size());
      if (colon > 0) p = number(text.substr(0, colon));
      text.remove_prefix(std::min(colon + 1, text.size()));
    }
    slices.push_back({part[0], part[1], part[2].value_or(1)});
  }
  return slices;
}

namespace {

Tensor stored(const CallInput& input, const std::string& device) {
  const Shape shape(input.shape.begin(), input.shape.end());
  return with_storage(input.dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<T> values;
    for (std::int64_t i = 0, n = input.size(); i < n; ++i) values.push_back(input.at(i).as<T>());
    return Tensor::from<T>(values, shape, device);
  });
}

// The input's elements in the memory layout that `via` names.
Tensor stored_as(const CallInput& input, const std::string& device) {
  const Tensor x = stored(input, device);
  const int rank = x.rank();
  if (input.via == "turned") {
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.rbegin(), order.rend(), 0);
    return x.permute(order).contiguous().realize().permute(order);
  }
  if (input.via == "flipped") {
    std::vector<int> axes(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    return x.flip(axes).contiguous().realize().flip(axes);
  }
  if (input.via == "cut") {
    Padding around(static_cast<std::size_t>(rank), {1, 2});
    Mask inside;
    for (const std::int64_t size : input.shape) inside.emplace_back(1, 1 + size);
    return x.pad(around).contiguous().realize().shrink(inside);
  }
  if (input.via == "wide" && rank > 0) {  // broadcast along the first axis
    if (x.shape()[0] == sint(0)) return x;
    const Tensor first = x.narrow(0, 0, 1).contiguous().realize();
    return first.expand(x.shape());
  }
  if (input.via == "computed") return Tensor::where(Tensor::zeros_like(x, DType::Bool), x, x);
  return x;
}

KeepDim keep_of(const Call& call) {
  return call.whole("keep", 0) != 0 ? KeepDim::Yes : KeepDim::No;
}
std::vector<int> ints_in(const Call& call, std::string_view key = "axes") {
  const auto all = call.list(key);
  return {all.begin(), all.end()};
}
std::vector<int> axes_or_all(const Call& call, const Tensor& x) {
  std::vector<int> axes = ints_in(call);
  for (int axis = 0; !call.has("axes") && axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}
PadMode mode_of(const Call& call) {
  const std::string_view mode = call.arg("mode").value_or("constant");
  return mode == "reflect"     ? PadMode::Reflect
         : mode == "replicate" ? PadMode::Replicate
         : mode == "circular"  ? PadMode::Circular
                               : PadMode::Constant;
}
std::optional<DType> dtype_of_call(const Call& call) {
  return call.has("dtype") ? std::optional(parse_dtype(call.required("dtype"))) : std::nullopt;
}

// Two tensors, or one and a number, on the right or on the side that the call says.
template <class Op>
Tensors with_right(const Call& call, const Tensors& x) {
  return {call.has("number") ? Op()(x[0], number_in(call, "number")) : Op()(x[0], x[1])};
}
template <class Op>
Tensors paired(const Call& call, const Tensors& x) {
  if (call.arg("side") == "left") return {Op()(number_in(call, "number"), x[0])};
  return with_right<Op>(call, x);
}
template <class Op>
Tensors updated(const Call& call, const Tensors& x) {
  Tensor y = x[0].clone();
  call.has("number") ? Op()(y, number_in(call, "number")) : Op()(y, x[1]);
  return {y};
}
// x on two devices.
Tensor sharded_twice(const Tensor& x) {
  return Tensor::stack({x, x}).shard({x.device(), x.device() + ":1"}, 0);
}
Tensor from_second(const Tensor& both, const Tensor& x) {
  return both.to(x.device()).narrow(0, 1, 1).reshape(x.shape());
}

// clang-format off
#define TOUCHSTONE_METHOD(name) {#name, [](const Call&, const Tensors& x) { return Tensors{x[0].name()}; }}
#define TOUCHSTONE_REDUCE(name) TOUCHSTONE_CALL(#name, call.has("axes") ? x[0].name(ints_in(call), keep_of(call)) : x[0].name())
#define TOUCHSTONE_SPREAD(name) TOUCHSTONE_CALL(#name, !call.has("axes") && !call.has("correction") ? x[0].name() : x[0].name(axes_or_all(call, x[0]), call.whole("correction", 1), keep_of(call)))
#define TOUCHSTONE_PLACE(name) TOUCHSTONE_CALL(#name, call.has("axis") ? x[0].name(int_in(call, "axis"), keep_of(call)) : x[0].name())
#define TOUCHSTONE_SCAN(name) TOUCHSTONE_CALL(#name, x[0].name(int_in(call, "axis")))

constexpr TensorFunction kPlain[] = {
    TOUCHSTONE_METHOD(exp), TOUCHSTONE_METHOD(exp2), TOUCHSTONE_METHOD(log), TOUCHSTONE_METHOD(log2),
    TOUCHSTONE_METHOD(sin), TOUCHSTONE_METHOD(cos), TOUCHSTONE_METHOD(tan), TOUCHSTONE_METHOD(sqrt),
    TOUCHSTONE_METHOD(rsqrt), TOUCHSTONE_METHOD(reciprocal), TOUCHSTONE_METHOD(relu), TOUCHSTONE_METHOD(sigmoid),
    TOUCHSTONE_METHOD(tanh), TOUCHSTONE_METHOD(expm1), TOUCHSTONE_METHOD(log1p), TOUCHSTONE_METHOD(sinh),
    TOUCHSTONE_METHOD(cosh), TOUCHSTONE_METHOD(asinh), TOUCHSTONE_METHOD(acosh), TOUCHSTONE_METHOD(atanh),
    TOUCHSTONE_METHOD(erfc), TOUCHSTONE_METHOD(log10), TOUCHSTONE_METHOD(asin), TOUCHSTONE_METHOD(acos),
    TOUCHSTONE_METHOD(atan), TOUCHSTONE_METHOD(cbrt), TOUCHSTONE_METHOD(lgamma), TOUCHSTONE_METHOD(digamma), TOUCHSTONE_METHOD(erfinv),
    TOUCHSTONE_METHOD(erf), TOUCHSTONE_METHOD(abs), TOUCHSTONE_METHOD(square), TOUCHSTONE_METHOD(quick_gelu),
    TOUCHSTONE_METHOD(silu), TOUCHSTONE_METHOD(mish), TOUCHSTONE_METHOD(softplus), TOUCHSTONE_METHOD(log_sigmoid),
    TOUCHSTONE_METHOD(softsign), TOUCHSTONE_METHOD(selu), TOUCHSTONE_METHOD(relu6), TOUCHSTONE_METHOD(hardsigmoid),
    TOUCHSTONE_METHOD(hardswish), TOUCHSTONE_METHOD(floor), TOUCHSTONE_METHOD(ceil), TOUCHSTONE_METHOD(trunc),
    TOUCHSTONE_METHOD(round), TOUCHSTONE_METHOD(sign), TOUCHSTONE_METHOD(isnan), TOUCHSTONE_METHOD(isinf),
    TOUCHSTONE_METHOD(isfinite), TOUCHSTONE_METHOD(logical_not), TOUCHSTONE_METHOD(contiguous), TOUCHSTONE_METHOD(clone),
    TOUCHSTONE_METHOD(detach), TOUCHSTONE_METHOD(half), TOUCHSTONE_METHOD(float_), TOUCHSTONE_METHOD(double_),
    TOUCHSTONE_METHOD(int_), TOUCHSTONE_METHOD(long_), TOUCHSTONE_METHOD(bool_),
    {"operator+", paired<std::plus<>>},
    {"operator-", paired<std::minus<>>},
    {"operator*", paired<std::multiplies<>>},
    {"operator/", paired<std::divides<>>},
    {"operator^", paired<std::bit_xor<>>},
    {"operator&", with_right<std::bit_and<>>},
    {"bit_or", with_right<std::bit_or<>>},
    {"floor_div", paired<decltype([](const auto& a, const auto& b) { return floor_div(a, b); })>},
    {"remainder", paired<decltype([](const auto& a, const auto& b) { return remainder(a, b); })>},
    {"pow", paired<decltype([](const auto& a, const auto& b) { return pow(a, b); })>},
    {"operator<", with_right<std::less<>>},
    {"operator<=", with_right<std::less_equal<>>},
    {"operator>", with_right<std::greater<>>},
    {"operator>=", with_right<std::greater_equal<>>},
    {"operator==", with_right<std::equal_to<>>},
    {"operator!=", with_right<std::not_equal_to<>>},
    {"atan2", [](const Call&, const Tensors& x) { return Tensors{atan2(x[0], x[1])}; }},
    {"hypot", [](const Call&, const Tensors& x) { return Tensors{hypot(x[0], x[1])}; }},
    {"maximum", with_right<decltype([](const Tensor& a, const auto& b) { return maximum(a, b); })>},
    {"minimum", with_right<decltype([](const Tensor& a, const auto& b) { return minimum(a, b); })>},
    {"mod", with_right<decltype([](const Tensor& a, const auto& b) { return mod(a, b); })>},
    {"operator+=", updated<decltype([](Tensor& y, const auto& by) { y += by; })>},
    {"operator-=", updated<decltype([](Tensor& y, const auto& by) { y -= by; })>},
    {"operator*=", updated<decltype([](Tensor& y, const auto& by) { y *= by; })>},
    {"operator/=", updated<decltype([](Tensor& y, const auto& by) { y /= by; })>},
    TOUCHSTONE_REDUCE(sum), TOUCHSTONE_REDUCE(mean), TOUCHSTONE_REDUCE(max), TOUCHSTONE_REDUCE(min),
    TOUCHSTONE_REDUCE(prod), TOUCHSTONE_REDUCE(any), TOUCHSTONE_REDUCE(all), TOUCHSTONE_SPREAD(var),
    TOUCHSTONE_SPREAD(std), TOUCHSTONE_PLACE(argmax), TOUCHSTONE_PLACE(argmin),
    TOUCHSTONE_SCAN(cumsum), TOUCHSTONE_SCAN(cumprod), TOUCHSTONE_SCAN(cummax), TOUCHSTONE_SCAN(cummin),
    TOUCHSTONE_CALL("neg", -x[0]),
    TOUCHSTONE_CALL("gelu", x[0].gelu(call.arg("form") == "erf" ? GeluForm::Erf : GeluForm::Tanh)),
    TOUCHSTONE_CALL("elu", x[0].elu(call.real("alpha", 1))),
    TOUCHSTONE_CALL("celu", x[0].celu(call.real("alpha", 1))),
    TOUCHSTONE_CALL("leaky_relu", x[0].leaky_relu(call.real("slope", 0.01))),
    TOUCHSTONE_CALL("hardtanh", x[0].hardtanh(call.real("low", -1), call.real("high", 1))),
    TOUCHSTONE_CALL("clamp", x[0].clamp(number_in(call, "low"), number_in(call, "high"))),
    TOUCHSTONE_CALL("pow_int", call.has("real") ? x[0].pow(static_cast<double>(call.whole("exponent", 2))) : x[0].pow(int_in(call, "exponent", 2))),
    TOUCHSTONE_CALL("pow_real", x[0].pow(call.real("exponent", 0.5))),
    {"where", [](const Call& call, const Tensors& x) -> Tensors {
       const bool a = call.has("a"), b = call.has("b");
       if (a && b) return {Tensor::where(x[0], number_in(call, "a"), number_in(call, "b"))};
       if (a) return {Tensor::where(x[0], number_in(call, "a"), x[1])};
       if (b) return {Tensor::where(x[0], x[1], number_in(call, "b"))};
       return {Tensor::where(x[0], x[1], x[2])};
     }},
    TOUCHSTONE_CALL("cast", x[0].cast(parse_dtype(call.required("to")))),
    TOUCHSTONE_CALL("bitcast", x[0].bitcast(parse_dtype(call.required("to")))),
    TOUCHSTONE_CALL("to", x[0].to(x[0].device() + ":1").to(x[0].device())),
    {"to_", [](const Call&, const Tensors& x) -> Tensors {
       Tensor y = x[0].clone();
       const std::string home = y.device();
       y.to_(home + ":1").to_(home);
       return {y};
     }},
    {"shard", [](const Call&, const Tensors& x) -> Tensors {
       const Tensor y = sharded_twice(x[0]);
       return {from_second(y.shard(y.devices(), y.shard_axis().value_or(0)), x[0])};
     }},
    TOUCHSTONE_CALL("shard_like", from_second(Tensor::stack({x[0], x[0]}).shard_like(sharded_twice(x[0])), x[0])),
    {"shard_", [](const Call&, const Tensors& x) -> Tensors {
       Tensor y = Tensor::stack({x[0], x[0]}).detach();
       return {from_second(y.shard_({x[0].device(), x[0].device() + ":1"}, 0), x[0])};
     }},
    TOUCHSTONE_CALL("sequential", x[0].sequential({[](const Tensor& t) { return t.relu(); }, [](const Tensor& t) { return -t; }})),
    TOUCHSTONE_CALL("logsumexp", x[0].logsumexp(ints_in(call), keep_of(call))),
    TOUCHSTONE_CALL("matmul", x[0].matmul(x[1])),
    TOUCHSTONE_CALL("reshape", x[0].reshape(shape_in(call, "shape"))),
    TOUCHSTONE_CALL("permute", x[0].permute(ints_in(call, "order"))),
    TOUCHSTONE_CALL("transpose", x[0].transpose(int_in(call, "a", -2), int_in(call, "b", -1))),
    TOUCHSTONE_CALL("movedim", x[0].movedim(int_in(call, "from"), int_in(call, "to"))),
    TOUCHSTONE_CALL("expand", x[0].expand(shape_in(call, "shape"))),
    TOUCHSTONE_CALL("pad", call.has("mode") || call.has("value") ? x[0].pad(pairs_in(call), mode_of(call), number_in(call)) : x[0].pad(pairs_in(call))),
    TOUCHSTONE_CALL("pad2d", x[0].pad2d(call.list("padding"), number_in(call))),
    {"shrink", [](const Call& call, const Tensors& x) -> Tensors {
       const auto begin = call.list("begin"), end = call.list("end");
       Mask keep;
       for (std::size_t i = 0; i < begin.size(); ++i) keep.emplace_back(begin[i], end[i]);
       return {x[0].shrink(keep)};
     }},
    TOUCHSTONE_CALL("flip", x[0].flip(ints_in(call))),
    TOUCHSTONE_CALL("slice", x[0].slice(slices_in(call.arg("parts").value_or("")))),
    TOUCHSTONE_CALL("narrow", x[0].narrow(int_in(call, "axis"), call.whole("begin", 0), call.whole("size", 1))),
    TOUCHSTONE_CALL("unsqueeze", x[0].unsqueeze(int_in(call, "axis"))),
    TOUCHSTONE_CALL("squeeze", call.has("axis") ? x[0].squeeze(int_in(call, "axis")) : x[0].squeeze()),
    TOUCHSTONE_CALL("flatten", x[0].flatten(int_in(call, "first"))),
    TOUCHSTONE_CALL("unflatten", x[0].unflatten(int_in(call, "axis"), shape_in(call, "sizes"))),
    {"split", [](const Call& call, const Tensors& x) {
       const int axis = int_in(call, "axis");
       return call.has("sizes") ? x[0].split(call.list("sizes"), axis) : x[0].split(call.whole("size", 1), axis);
     }},
    {"chunk", [](const Call& call, const Tensors& x) { return x[0].chunk(call.whole("count", 1), int_in(call, "axis")); }},
    TOUCHSTONE_CALL("repeat", x[0].repeat(call.list("times"))),
    TOUCHSTONE_CALL("repeat_interleave", x[0].repeat_interleave(call.whole("times", 1), int_in(call, "axis"))),
    TOUCHSTONE_CALL("roll", x[0].roll(call.whole("by", 1), int_in(call, "axis"))),
    TOUCHSTONE_CALL("unfold", x[0].unfold(int_in(call, "axis"), call.whole("size", 1), call.whole("step", 1))),
    TOUCHSTONE_CALL("triu", x[0].triu(call.whole("k", 0))),
    TOUCHSTONE_CALL("tril", x[0].tril(call.whole("k", 0))),
    TOUCHSTONE_CALL("diagonal", x[0].diagonal(int_in(call, "a", -2), int_in(call, "b", -1))),
    TOUCHSTONE_CALL("cat", Tensor::cat(x, int_in(call, "axis"))),
    TOUCHSTONE_CALL("stack", Tensor::stack(x, int_in(call, "axis"))),
    TOUCHSTONE_CALL("full", Tensor::full(shape_in(call, "shape"), number_in(call), options_of(call, x))),
    TOUCHSTONE_CALL("zeros", Tensor::zeros(shape_in(call, "shape"), options_of(call, x))),
    TOUCHSTONE_CALL("ones", Tensor::ones(shape_in(call, "shape"), options_of(call, x))),
    TOUCHSTONE_CALL("empty", Tensor::empty(shape_in(call, "shape"), options_of(call, x))),
    TOUCHSTONE_CALL("full_like", Tensor::full_like(x[0], number_in(call), dtype_of_call(call))),
    TOUCHSTONE_CALL("zeros_like", Tensor::zeros_like(x[0], dtype_of_call(call))),
    TOUCHSTONE_CALL("ones_like", Tensor::ones_like(x[0], dtype_of_call(call))),
    TOUCHSTONE_CALL("empty_like", Tensor::empty_like(x[0], dtype_of_call(call))),
    {"arange", [](const Call& call, const Tensors& x) -> Tensors {
       TensorOptions options = options_of(call, x);
       if (call.has("fractions")) return {Tensor::arange(call.real("begin", 0), call.real("end", 0), call.real("step", 1), options)};
       if (!call.has("dtype")) options.dtype = DType::Int32;
       return {Tensor::arange(call.whole("begin", 0), call.whole("end", 0), call.whole("step", 1), options)};
     }},
    TOUCHSTONE_CALL("linspace", Tensor::linspace(call.real("begin", 0), call.real("end", 1), call.whole("count", 1), options_of(call, x))),
    TOUCHSTONE_CALL("eye", Tensor::eye(call.whole("n", 1), options_of(call, x))),
    {"assign", [](const Call&, const Tensors& x) -> Tensors {
       Tensor y = x[0].clone();
       const Tensor other = y;
       y.assign(x[1]);
       return {other};
     }},
    {"bind", [](const Call& call, const Tensors& x) -> Tensors {  // the first elements of an axis, their number a variable
       const int axis = int_in(call, "axis");
       const std::int64_t count = call.whole("count", 1);
       Mask keep;
       for (const sint& size : x[0].shape()) keep.emplace_back(0, size);
       keep[static_cast<std::size_t>(axis)].second = symbolic::variable("n", std::min<std::int64_t>(count, 1), x[0].size(axis));
       const Tensor open = -x[0].shrink(keep);
       return {open.bind({{"n", count}}), open.sum({axis}).bind({{"n", count}})};
     }},
    {"broadcast_shape", [](const Call&, const Tensors& x) -> Tensors {
       const auto sizes = concrete(broadcast_shape(x[0].shape(), x[1].shape()));
       return {Tensor::from<std::int64_t>(sizes, {static_cast<std::int64_t>(sizes.size())}, x[0].device())};
     }},
    {"set", [](const Call& call, const Tensors& x) {
       return written(call, x, [&](Tensor& y, const auto& value) { y.set(slices_in(call.arg("parts").value_or("")), value); });
     }},
};
// clang-format on

}  // namespace

std::span<const TensorFunction> plain_functions() { return kPlain; }

Tensors tensors_of(const Call& call, const std::string& device) {
  Tensors all;
  for (const CallInput& input : call.inputs) all.push_back(stored_as(input, device));
  return all;
}

Tensors called(const Call& call, const Tensors& inputs) {
  static const std::map<std::string_view, const TensorFunction*> known = [] {
    std::map<std::string_view, const TensorFunction*> rows;
    for (const auto& table : {plain_functions(), network_functions(), training_functions()})
      for (const TensorFunction& row : table) rows.emplace(row.name, &row);
    return rows;
  }();
  const auto row = known.find(call.name);
  if (row == known.end())
    throw ParseError(fmt::format("there is no function '{}'", call.name.substr(0, 40)));
  return row->second->of(call, inputs);
}

}  // namespace touchstone::fuzz
