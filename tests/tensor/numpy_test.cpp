// Random programs of tensor operations, step by step against NumPy in another process.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <unistd.h>

#include "numpy_program.h"

namespace touchstone::numpy {
namespace {

bool numeric(const Tensor& x) { return !is_bool(x.dtype()); }
bool floating(const Tensor& x) { return is_float(x.dtype()); }
bool ranked(const Tensor& x) { return x.rank() > 0; }
bool full(const Tensor& x) { return x.elements() > 0; }
bool matrix(const Tensor& x) { return x.rank() >= 2; }
int any_axis(const Tensor& x) { return static_cast<int>(any_in(-x.rank(), x.rank() - 1)); }

struct Row {
  const char* name;
  void (*draw)(const char* name, Program& p);
};

template <auto F, auto kSuits>
void unary(const char* name, Program& p) {
  if (const auto x = p.pick(kSuits)) p.step(name, "", {*x}, F(p[*x]));
}
template <auto F, auto kSuits>
void binary(const char* name, Program& p) {
  const auto a = p.pick(kSuits);
  if (!a) return;
  const auto b = p.pick([&](const Tensor& y) {
    if (!kSuits(y)) return false;
    for (int i = 1; i <= std::min(p[*a].rank(), y.rank()); ++i)
      if (p[*a].size(-i) != y.size(-i) && p[*a].size(-i) != 1 && y.size(-i) != 1) return false;
    return true;
  });
  if (b)
    p.step(name,
           fmt::format(R"("dtype": "{}")", touchstone::name(promote(p[*a].dtype(), p[*b].dtype()))),
           {*a, *b}, F(p[*a], p[*b]));
}
template <auto F, auto kSuits, bool kOnEmpty>
void reduction(const char* name, Program& p) {
  const auto x = p.pick([](const Tensor& t) { return kSuits(t) && (kOnEmpty || full(t)); });
  if (!x) return;
  std::vector<int> axes;
  for (int i = 0; i < p[*x].rank(); ++i)
    if (any_in(0, 1) == 0) axes.push_back(any_in(0, 1) == 0 ? i : i - p[*x].rank());
  const KeepDim keep = any_in(0, 1) == 0 ? KeepDim::No : KeepDim::Yes;
  const std::int64_t correction = any_in(0, 1), root = any_in(0, 1);
  Tensor out = [&] {
    if constexpr (std::is_invocable_v<decltype(F), const Tensor&, const std::vector<int>&, KeepDim>)
      return F(p[*x], axes, keep);
    else
      return F(p[*x], axes, keep, correction, root != 0);
  }();
  p.step(name,
         fmt::format(R"("axes": {}, "keep": {}, "correction": {}, "root": {})", json(axes),
                     keep == KeepDim::Yes ? 1 : 0, correction, root),
         {*x}, out);
}
template <auto F, auto kSuits, bool kOnEmpty = true>
void along(const char* name, Program& p) {
  const auto x =
      p.pick([](const Tensor& t) { return ranked(t) && kSuits(t) && (kOnEmpty || full(t)); });
  if (!x) return;
  const int axis = any_axis(p[*x]);
  p.step(name, fmt::format(R"("axis": {})", axis), {*x}, F(p[*x], axis));
}
Slice any_slice() {
  const auto end = [] { return any_in(0, 1) == 0 ? std::nullopt : std::optional(any_in(-6, 6)); };
  return {.begin = end(), .end = end(), .step = any_in(1, 3) * (any_in(0, 1) == 0 ? 1 : -1)};
}
template <auto F>
void triangle(const char* name, Program& p) {
  const std::int64_t k = any_in(-3, 3);
  if (const auto x = p.pick(matrix)) p.step(name, fmt::format(R"("k": {})", k), {*x}, F(p[*x], k));
}

Tensor any_positions(const Shape& shape, std::int64_t size) {
  std::vector<std::int64_t> at;
  for (std::int64_t i = max_elements(shape); i > 0; --i) at.push_back(any_in(-size, size - 1));
  return Tensor::from<std::int64_t>(at, shape);
}

void pad(const char* name, Program& p) {
  const auto x = p.pick([](const Tensor& t) { return ranked(t) && full(t) && numeric(t); });
  if (!x) return;
  constexpr std::array kNames = {"constant", "reflect", "edge", "wrap"};
  const auto mode = static_cast<PadMode>(any_in(0, 3));
  Padding padding;
  std::string pairs;
  for (int i = 0; i < p[*x].rank(); ++i) {
    const std::int64_t most =
        std::min<std::int64_t>(2, mode == PadMode::Reflect ? p[*x].size(i) - 1 : p[*x].size(i));
    const std::int64_t before = any_in(0, most), after = any_in(0, most);
    padding.emplace_back(before, after);
    pairs += fmt::format("{}[{}, {}]", i > 0 ? ", " : "", before, after);
  }
  p.step(name,
         fmt::format(R"("pairs": [{}], "mode": "{}", "value": 3)", pairs,
                     kNames[static_cast<std::size_t>(mode)]),
         {*x}, p[*x].pad(padding, mode, 3));
}
void einsum_any(const char* name, Program& p) {
  struct Use {
    const char* notation;
    std::vector<Shape> shapes;
  };
  const std::int64_t a = any_in(1, 4), b = any_in(1, 4), c = any_in(0, 3);
  const std::vector<Use> uses = {
      {"ij,jk->ik", {{a, b}, {b, c}}},
      {"ij,jk", {{a, b}, {b, c}}},
      {"ii->i", {{a, a}}},
      {"ii", {{a, a}}},
      {"ij->ji", {{a, c}}},
      {"i,j->ij", {{a}, {c}}},
      {"...ij,...jk->...ik", {{b, 1, a, c}, {2, c, b}}},
      {"iij,jk,k->ik", {{a, a, b}, {b, c}, {c}}},
      {"i...->...", {{a, b, c}}},
      {"b...a", {{a, b, c}}},
      {" a b c , a c ", {{a, b, c}, {a, c}}},
      {"ijk,ilm,njm,nlk,abc->", {{1, 2, a}, {1, 2, 2}, {2, 2, 2}, {2, 2, a}, {1, b, 1}}},
      {",i->i", {{}, {a}}}};
  const Use& use =
      uses[static_cast<std::size_t>(any_in(0, static_cast<std::int64_t>(uses.size()) - 1))];
  const DType dtype = any_in(0, 2) == 0 ? DType::Int32 : DType::Float64;
  std::vector<std::size_t> operands;
  Ts given;
  for (const Shape& shape : use.shapes) {
    given.push_back(any_tensor(shape, dtype, false));
    operands.push_back(p.input(given.back()));
  }
  p.step(name, fmt::format(R"("notation": "{}")", use.notation), operands,
         einsum(use.notation, given));
}
void convolve(const char* name, Program& p) {
  const std::int64_t axes = any_in(1, 2), groups = any_in(1, 2), in = any_in(1, 2),
                     out = any_in(1, 2);
  Shape x = {any_in(1, 2), in * groups}, w = {out * groups, in};
  ConvArgs args{.stride = {}, .padding = {}, .dilation = {}, .groups = groups};
  for (std::int64_t i = 0; i < axes; ++i) {
    x.emplace_back(any_in(5, 7));
    w.emplace_back(any_in(1, 3));
    args.stride.push_back(any_in(1, 3));
    args.padding.push_back(any_in(0, 2));
    args.dilation.push_back(any_in(1, 2));
  }
  const DType dtype = any_in(0, 1) == 0 ? DType::Float32 : DType::Float64;
  const Tensor image = any_tensor(x, dtype, false), weight = any_tensor(w, dtype, false);
  const std::vector<std::size_t> operands = {p.input(image), p.input(weight)};
  p.step(name,
         fmt::format(R"("stride": {}, "padding": {}, "dilation": {}, "groups": {})",
                     json(args.stride), json(args.padding), json(args.dilation), groups),
         operands, conv(image, weight, std::nullopt, args));
}
void pooled(const char* name, Program& p) {
  const Tensor x = any_tensor({any_in(1, 2), any_in(1, 2), any_in(3, 6), any_in(3, 6)},
                              DType::Float64, any_in(0, 1) == 0);
  const std::vector<std::int64_t> kernel = {any_in(2, 3), any_in(2, 3)};
  const PoolArgs args = {.stride = {{any_in(1, 3), any_in(1, 3)}},
                         .padding = {any_in(0, 1), any_in(0, 1)}};
  const bool largest = any_in(0, 1) == 0;
  p.step(name,
         fmt::format(R"("max": {}, "kernel": {}, "stride": {}, "padding": {})", largest ? 1 : 0,
                     json(kernel), json(*args.stride), json(args.padding)),
         {p.input(x)}, largest ? max_pool(x, kernel, args) : avg_pool(x, kernel, args));
}
void indexed(const char* name, Program& p) {
  const Tensor x = any_tensor({3, 4, 2}, kTypes[static_cast<std::size_t>(any_in(0, 6))], false);
  const Tensor i = any_positions({2, 1}, 3), j = any_positions({3}, 4), k = any_positions({3}, 2);
  const Tensor mask = any_tensor({3, 4}, DType::Bool, false),
               row = any_tensor({3}, DType::Bool, false);
  const Slice s = any_slice();
  struct Use {
    std::vector<Index> parts;
    std::string text;
    Ts tensors;
  };
  const std::vector<Use> uses = {
      {{i, j}, R"("tensor", "tensor")", {i, j}},
      {{s, j, k}, json(s) + R"(, "tensor", "tensor")", {j, k}},
      {{i, s, k}, R"("tensor", )" + json(s) + R"(, "tensor")", {i, k}},
      {{kEllipsis, k}, R"("...", "tensor")", {k}},
      {{mask}, R"("tensor")", {mask}},
      {{mask, s}, R"("tensor", )" + json(s), {mask}},
      {{row, kNewAxis, s}, R"("tensor", "new", )" + json(s), {row}},
      {{kNewAxis, -1, kEllipsis, s}, R"("new", -1, "...", )" + json(s), {}},
      {{s, 2, kNewAxis}, json(s) + R"(, 2, "new")", {}}};
  const Use& use =
      uses[static_cast<std::size_t>(any_in(0, static_cast<std::int64_t>(uses.size()) - 1))];
  std::vector<std::size_t> operands = {p.input(x)};
  for (const Tensor& t : use.tensors) operands.push_back(p.input(t));
  p.step(name, fmt::format(R"("parts": [{}])", use.text), operands, index(x, use.parts));
}

#define METHOD(name) [](const Tensor& x) { return x.name(); }
#define BINARY(op) [](const Tensor& a, const Tensor& b) { return (a op b); }
#define REDUCE(name) \
  [](const Tensor& x, const std::vector<int>& a, KeepDim k) { return x.name(a, k); }
#define ALONG(name) [](const Tensor& x, int axis) { return x.name(axis); }
Tensor mod_of(const Tensor& a, const Tensor& b) { return mod(a, b); }
Tensor pow_of(const Tensor& a, const Tensor& b) { return pow(a, b); }
Tensor maximum_of(const Tensor& a, const Tensor& b) { return maximum(a, b); }
Tensor minimum_of(const Tensor& a, const Tensor& b) { return minimum(a, b); }
void unsqueezed(const char* name, Program& p) {
  const auto x = p.pick([](const Tensor&) { return true; });
  const int axis = static_cast<int>(any_in(-p[*x].rank() - 1, p[*x].rank()));
  p.step(name, fmt::format(R"("axis": {})", axis), {*x}, p[*x].unsqueeze(axis));
}
constexpr auto any = [](const Tensor&) { return true; };

// clang-format off
constexpr auto kRows = std::to_array<Row>({
  {"neg", unary<[](const Tensor& x) { return -x; }, floating>}, {"exp", unary<METHOD(exp), any>},
  {"exp2", unary<METHOD(exp2), any>}, {"log", unary<METHOD(log), any>}, {"log2", unary<METHOD(log2), any>},
  {"sin", unary<METHOD(sin), any>}, {"cos", unary<METHOD(cos), any>}, {"tan", unary<METHOD(tan), any>},
  {"sqrt", unary<METHOD(sqrt), any>}, {"rsqrt", unary<METHOD(rsqrt), any>},
  {"reciprocal", unary<METHOD(reciprocal), floating>}, {"sigmoid", unary<METHOD(sigmoid), any>},
  {"tanh", unary<METHOD(tanh), any>}, {"softplus", unary<METHOD(softplus), any>}, {"silu", unary<METHOD(silu), any>},
  {"relu", unary<METHOD(relu), numeric>}, {"abs", unary<METHOD(abs), any>}, {"square", unary<METHOD(square), numeric>},
  {"floor", unary<METHOD(floor), floating>}, {"ceil", unary<METHOD(ceil), floating>},
  {"trunc", unary<METHOD(trunc), floating>}, {"round", unary<METHOD(round), floating>},
  {"sign", unary<METHOD(sign), numeric>}, {"isnan", unary<METHOD(isnan), any>}, {"isinf", unary<METHOD(isinf), any>},
  {"isfinite", unary<METHOD(isfinite), any>}, {"logical_not", unary<METHOD(logical_not), any>},
  {"clamp", unary<[](const Tensor& x) { return x.clamp(-1, 2); }, floating>},
  {"cast", [](const char* name, Program& p) {
     const auto x = p.pick(any);
     const DType to = floating(p[*x]) ? (any_in(0, 1) == 0 ? DType::Float32 : DType::Float64) : kTypes[static_cast<std::size_t>(any_in(0, 6))];
     p.step(name, "", {*x}, p[*x].cast(to));
   }},
  {"add", binary<BINARY(+), numeric>}, {"sub", binary<BINARY(-), numeric>}, {"mul", binary<BINARY(*), numeric>},
  {"div", binary<BINARY(/), floating>}, {"fmod", binary<mod_of, floating>}, {"pow", binary<pow_of, floating>},
  {"maximum", binary<maximum_of, any>}, {"minimum", binary<minimum_of, any>},
  {"lt", binary<BINARY(<), any>}, {"le", binary<BINARY(<=), any>}, {"gt", binary<BINARY(>), any>},
  {"ge", binary<BINARY(>=), any>}, {"eq", binary<BINARY(==), any>}, {"ne", binary<BINARY(!=), any>},
  {"where", [](const char* name, Program& p) {
     const auto a = p.pick(any);
     const auto b = p.pick([&](const Tensor& y) { return y.shape() == p[*a].shape(); });
     const std::size_t condition = p.input(any_tensor(p[*a].shape(), DType::Bool, false));
     p.step(name, fmt::format(R"("dtype": "{}")", touchstone::name(promote(p[*a].dtype(), p[*b].dtype()))), {condition, *a, *b}, Tensor::where(p[condition], p[*a], p[*b]));
   }},
  {"sum", reduction<REDUCE(sum), any, true>}, {"mean", reduction<REDUCE(mean), any, true>},
  {"max", reduction<REDUCE(max), any, false>}, {"min", reduction<REDUCE(min), any, false>},
  {"prod", reduction<REDUCE(prod), any, true>}, {"any", reduction<REDUCE(any), any, true>},
  {"all", reduction<REDUCE(all), any, true>},
  {"var", reduction<[](const Tensor& x, const std::vector<int>& a, KeepDim k, std::int64_t c, bool root) { return root ? x.std(a, c, k) : x.var(a, c, k); }, any, true>},
  {"argmax", along<ALONG(argmax), any, false>}, {"argmin", along<ALONG(argmin), any, false>},
  {"cumsum", along<ALONG(cumsum), any>}, {"cumprod", along<ALONG(cumprod), any>},
  {"cummax", along<ALONG(cummax), any>}, {"cummin", along<ALONG(cummin), any>},
  {"logsumexp", along<[](const Tensor& x, int axis) { return x.logsumexp({axis}); }, floating, false>},
  {"softmax", along<softmax, floating, false>}, {"log_softmax", along<log_softmax, floating, false>},
  {"reshape", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t); });
     if (x) p.step(name, fmt::format(R"("shape": [{}])", p[*x].elements()), {*x}, p[*x].reshape({p[*x].elements()}));
   }},
  {"permute", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return t.rank() == 3; });
     if (!x) return;
     const std::vector<int> order = any_in(0, 1) == 0 ? std::vector{2, 0, 1} : std::vector{-1, -2, 0};
     p.step(name, fmt::format(R"("order": {})", json(order)), {*x}, p[*x].permute(order));
   }},
  {"expand", [](const char* name, Program& p) {
     const auto x = p.pick(any);
     Shape shape = p[*x].shape();
     for (sint& s : shape)
       if (s == sint(1)) s = any_in(0, 3);
     shape.insert(shape.begin(), any_in(0, 2));
     p.step(name, fmt::format(R"("shape": {})", json(shape)), {*x}, p[*x].expand(shape));
   }},
  {"pad", pad},
  {"flip", along<[](const Tensor& x, int axis) { return x.flip({axis}); }, any>},
  {"slice", [](const char* name, Program& p) {
     const auto x = p.pick(matrix);
     if (!x) return;
     const Slice a = any_slice(), b = any_slice();
     p.step(name, fmt::format(R"("slices": [{}, {}])", json(a), json(b)), {*x}, p[*x].slice({a, b}));
   }},
  {"roll", [](const char* name, Program& p) {
     const auto x = p.pick(ranked);
     if (!x) return;
     const int axis = any_axis(p[*x]);
     const std::int64_t by = any_in(-6, 6);
     p.step(name, fmt::format(R"("by": {}, "axis": {})", by, axis), {*x}, p[*x].roll(by, axis));
   }},
  {"repeat", [](const char* name, Program& p) {
     const auto x = p.pick(any);
     std::vector<std::int64_t> times;
     for (int i = 0; i < p[*x].rank(); ++i) times.push_back(any_in(0, 2));
     p.step(name, fmt::format(R"("times": {})", json(times)), {*x}, p[*x].repeat(times));
   }},
  {"repeat_interleave", [](const char* name, Program& p) {
     const auto x = p.pick(ranked);
     if (!x) return;
     const int axis = any_axis(p[*x]);
     const std::int64_t times = any_in(0, 3);
     p.step(name, fmt::format(R"("times": {}, "axis": {})", times, axis), {*x}, p[*x].repeat_interleave(times, axis));
   }},
  {"triu", triangle<[](const Tensor& x, std::int64_t k) { return x.triu(k); }>},
  {"tril", triangle<[](const Tensor& x, std::int64_t k) { return x.tril(k); }>},
  {"diagonal", [](const char* name, Program& p) {
     const auto x = p.pick(matrix);
     if (!x) return;
     const int a = any_in(0, 1) == 0 ? 0 : -1, b = a == 0 ? 1 : 0;
     p.step(name, fmt::format(R"("axes": [{}, {}])", a, b), {*x}, p[*x].diagonal(a, b));
   }},
  {"unfold", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t) && t.size(0) > 1; });
     if (!x) return;
     const std::int64_t size = any_in(1, p[*x].size(0)), step = any_in(1, 2);
     p.step(name, fmt::format(R"("axis": 0, "size": {}, "step": {})", size, step), {*x}, p[*x].unfold(0, size, step));
   }},
  {"movedim", [](const char* name, Program& p) {
     const auto x = p.pick(ranked);
     if (!x) return;
     const int from = any_axis(p[*x]), to = any_axis(p[*x]);
     p.step(name, fmt::format(R"("from": {}, "to": {})", from, to), {*x}, p[*x].movedim(from, to));
   }},
  {"unsqueeze", unsqueezed},
  {"squeeze", unary<METHOD(squeeze), any>},
  {"split", [](const char* name, Program& p) {
     const auto x = p.pick(ranked);
     if (!x) return;
     const int axis = any_axis(p[*x]);
     const std::int64_t size = p[*x].size(axis), cut = any_in(0, size), part = any_in(0, 1);
     p.step(name, fmt::format(R"("at": {}, "axis": {}, "part": {})", cut, axis, part), {*x}, p[*x].split({cut, size - cut}, axis)[static_cast<std::size_t>(part)]);
   }},
  {"cat", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t) && numeric(t); });
     if (!x) return;
     const int axis = any_axis(p[*x]);
     const auto y = p.pick([&](const Tensor& t) { return numeric(t) && t.shape() == p[*x].shape(); });
     p.step(name, fmt::format(R"("axis": {}, "dtype": "{}")", axis, touchstone::name(promote(p[*x].dtype(), p[*y].dtype()))), {*x, *y, *x}, Tensor::cat({p[*x], p[*y], p[*x]}, axis));
   }},
  {"stack", [](const char* name, Program& p) {
     const auto x = p.pick(numeric);
     if (!x) return;
     p.step(name, R"("axis": -1)", {*x, *x}, Tensor::stack({p[*x], p[*x]}, -1));
   }},
  {"take", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t) && full(t); });
     if (!x) return;
     const int axis = any_axis(p[*x]);
     const std::size_t at = p.input(any_positions(Program::any_shape(0, 2), p[*x].size(axis)));
     p.step(name, fmt::format(R"("axis": {})", axis), {*x, at}, take(p[*x], p[at], axis));
   }},
  {"gather", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t) && full(t); });
     if (!x) return;
     const int axis = any_axis(p[*x]);
     Shape shape = p[*x].shape();
     shape[static_cast<std::size_t>(p[*x].normal_axis(axis))] = any_in(0, 4);
     const std::size_t at = p.input(any_positions(shape, p[*x].size(axis)));
     p.step(name, fmt::format(R"("axis": {})", axis), {*x, at}, gather(p[*x], axis, p[at]));
   }},
  {"scatter", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return ranked(t) && full(t); });
     if (!x) return;
     const int axis = any_axis(p[*x]);
     Shape shape = p[*x].shape();
     shape[static_cast<std::size_t>(p[*x].normal_axis(axis))] = any_in(1, 4);
     const std::size_t at = p.input(any_positions(shape, p[*x].size(axis))), source = p.input(any_tensor(shape, p[*x].dtype(), false));
     p.step(name, fmt::format(R"("axis": {})", axis), {*x, at, source}, scatter(p[*x], axis, p[at], p[source]));
   }},
  {"index", indexed},
  {"sort", along<[](const Tensor& x, int axis) { return sort(x, axis).values; }, any>},
  {"argsort", along<[](const Tensor& x, int axis) { return argsort(x, axis); }, any>},
  {"one_hot", [](const char* name, Program& p) {
     const auto x = p.pick([](const Tensor& t) { return is_integer(t.dtype()) && t.rank() < 3; });
     if (x) p.step(name, R"("classes": 3)", {*x}, one_hot(p[*x], 3));
   }},
  {"matmul", [](const char* name, Program& p) {
     const std::int64_t k = any_in(0, 4), b = any_in(1, 2);
     Shape left = {b, any_in(1, 3), k}, right = {any_in(0, 1) == 0 ? b : 1, k, any_in(0, 3)};
     left.erase(left.begin(), left.begin() + any_in(0, 2));
     right.erase(right.begin(), right.begin() + any_in(0, 1));
     if (any_in(0, 3) == 0) right = {k};
     const DType dtype = kTypes[static_cast<std::size_t>(any_in(0, 3))];
     const std::size_t x = p.input(any_tensor(left, dtype, false)), y = p.input(any_tensor(right, dtype, false));
     p.step(name, "", {x, y}, p[x].matmul(p[y]));
   }},
  {"einsum", einsum_any}, {"conv", convolve}, {"pool", pooled},
});
// clang-format on

// NumPy is installed for the system's Python.
std::string python_with_numpy() {
  for (const std::string python : {"/usr/bin/python3", "python3"})
    if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) == 0) return python;
  return "";
}

TEST(Numpy, AgreesWithRandomProgramsOfTensorOperations) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "no python3 has numpy; ./dev installs it";
  register_devices();
  std::string programs;
  int steps = 0;
  const auto draw = [&] {
    // Every row occurs at least twice per batch, for any seed.
    std::size_t row = 0;
    for (int i = 0; i < 60; ++i) {
      Program program;
      for (int s = 0; s < 3; ++s) {
        const Row& r = kRows[row++ % kRows.size()];
        r.draw(r.name, program);
        const Row& other =
            kRows[static_cast<std::size_t>(any_in(0, static_cast<std::int64_t>(kRows.size()) - 1))];
        other.draw(other.name, program);
      }
      programs += program.line() + '\n';
      ++steps;
    }
  };
  expect_holds("programs", 1, draw, false);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("touchstone-numpy-{}.jsonl", ::getpid());
  std::ofstream(file) << programs;
  const std::string command = fmt::format("{} '{}/tests/tensor/numpy_programs.py' < '{}' 2>&1",
                                          python, TOUCHSTONE_SOURCE_DIR, file.string());
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << said;
  std::filesystem::remove(file);
  EXPECT_TRUE(said.starts_with("checked ")) << said;
  if (std::getenv("TOUCHSTONE_FUZZ_CASES") != nullptr) std::cerr << said;
  EXPECT_NE(said.find(fmt::format("of {} programs", steps)), std::string::npos) << said;
}

}  // namespace
}  // namespace touchstone::numpy
