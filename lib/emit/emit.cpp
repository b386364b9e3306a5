#include "touchstone/emit/emit.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/emit/primitives.h"

namespace touchstone::emit {
namespace {

using Kind = TensorOp::Kind;
using Moves = MovementOp::Kind;

template <Language L>
bool has(std::string_view name, DType dtype) {
  const Primitive* p = primitive(name);
  if (p == nullptr || p->in(L).empty()) return false;
  // ONNX's functions of bfloat16 came late.
  constexpr std::string_view kLate[] = {"sin",   "cos",      "tan",  "asin",  "acos",
                                        "atan",  "sinh",     "cosh", "asinh", "acosh",
                                        "atanh", "softplus", "round"};
  return L != Language::Onnx || dtype != DType::BFloat16 || std::ranges::count(kLate, name) == 0;
}

constexpr Has has_in[] = {has<Language::NumPy>, has<Language::Torch>, has<Language::Jax>,
                          has<Language::StableHlo>, has<Language::Onnx>};

std::string listed(const auto& values) { return fmt::format("{}", fmt::join(values, ", ")); }
/// A tuple of Python.
std::string tuple(const auto& values) {
  return fmt::format("({}{})", listed(values), values.size() == 1 ? "," : "");
}

/// The syntax in which NumPy, PyTorch and JAX differ.
struct Dialect {
  std::string_view imports, module, transpose, flip, broadcast, cast, bitcast, axes, max;
};
constexpr Dialect kDialects[] = {
    {"import numpy as np\n", "np", "np.transpose({}, {})", "np.flip({}, {})",
     "np.broadcast_to({}, {})", "{}.astype({})", "np.asarray({}).view({})",
     "axis={}, keepdims=True", "np.max"},
    {"import torch\n", "torch", "{}.permute({})", "torch.flip({}, {})", "{}.expand({})",
     "{}.to({})", "{}.view({})", "dim={}, keepdim=True", "torch.amax"},
    {"import jax\nimport jax.numpy as jnp\nfrom jax import "
     "lax\n\njax.config.update(\"jax_enable_x64\", "
     "True)\n",
     "jnp", "jnp.transpose({}, {})", "jnp.flip({}, {})", "jnp.broadcast_to({}, {})",
     "{}.astype({})", "lax.bitcast_convert_type({}, {})", "axis={}, keepdims=True", "jnp.max"}};

class PythonWriter {
 public:
  PythonWriter(const TensorProgram& program, Language language)
      : p_(program), language_(language), d_(kDialects[static_cast<std::size_t>(language)]) {}

  std::string write(std::string_view title) {
    std::vector<std::string> inputs, outputs;
    for (const int i : p_.inputs) inputs.push_back(p_.ops[static_cast<std::size_t>(i)].name);
    std::string body;
    for (std::size_t i = 0; i < p_.ops.size(); ++i) {
      const TensorOp& op = p_.ops[i];
      names_.push_back(op.kind == Kind::Input ? op.name : fmt::format("v{}", i));
      if (op.kind != Kind::Input)
        body += fmt::format("    {} = {}\n", names_.back(), expression(op));
    }
    for (const int i : p_.outputs) outputs.push_back(names_[static_cast<std::size_t>(i)]);
    std::string about(title.empty() ? "A kernel." : title);
    std::ranges::replace(about, '\\', '/');
    std::ranges::replace(about, '"', '\'');
    return fmt::format("\"\"\"{}\"\"\"\n{}\n\ndef kernel({}):\n{}    return {}\n", about,
                       d_.imports, fmt::join(inputs, ", "), body, fmt::join(outputs, ", "));
  }

 private:
  std::string type(DType dtype) const {
    if (language_ == Language::NumPy &&
        (dtype == DType::BFloat16 || (is_float(dtype) && itemsize(dtype) == 1)))
      throw ParseError(fmt::format("NumPy has no {}", name(dtype)));
    std::string text(name(dtype));
    if (is_bool(dtype) && language_ != Language::Torch) text = "bool_";
    if (dtype == DType::Float8E4M3) text += "fn";
    return fmt::format("{}.{}", d_.module, text);
  }
  static std::string number(Scalar value) {
    const std::string text = value.str();
    if (is_bool(value.dtype())) return text == "true" ? "True" : "False";
    return text.find("nan") != text.npos || text.find("inf") != text.npos
               ? fmt::format("float(\"{}\")", text)
               : text;
  }
  // Constants of PyTorch are made where the inputs are.
  std::string made(std::string_view what, DType dtype) const {
    const std::string device =
        language_ != Language::Torch || p_.inputs.empty()
            ? ""
            : fmt::format(", device={}.device",
                          p_.ops[static_cast<std::size_t>(p_.inputs[0])].name);
    return fmt::format("{}, dtype={}{})", what, type(dtype), device);
  }

  std::string moved(const TensorOp& op) const {
    const std::string& x = source(op);
    const MovementOp& m = op.move;
    std::vector<std::string> parts;
    switch (m.kind) {
      case Moves::Reshape: return fmt::format("{}.reshape({})", x, tuple(op.shape));
      case Moves::Permute: return fmt::format(fmt::runtime(d_.transpose), x, tuple(m.order));
      case Moves::Expand: return fmt::format(fmt::runtime(d_.broadcast), x, tuple(op.shape));
      case Moves::Pad:
        if (language_ == Language::Torch) {  // the last axis first
          for (std::size_t i = m.ends.size(); i-- > 0;)
            parts.push_back(
                fmt::format("{}, {}", m.ends[i].first.as_int(), m.ends[i].second.as_int()));
          return fmt::format("torch.constant_pad_nd({}, ({}))", x, listed(parts));
        }
        for (const auto& [before, after] : m.ends)
          parts.push_back(fmt::format("({}, {})", before.as_int(), after.as_int()));
        return fmt::format("{}.pad({}, {})", d_.module, x, tuple(parts));
      case Moves::Shrink:
        for (const auto& [begin, end] : m.ends)
          parts.push_back(fmt::format("{}:{}", begin.as_int(), end.as_int()));
        return fmt::format("{}[{}]", x, listed(parts));
      case Moves::Stride: {
        std::vector<int> axes;
        for (std::size_t i = 0; i < m.steps.size(); ++i) {
          if (m.steps[i] < 0) axes.push_back(static_cast<int>(i));
          parts.push_back(m.steps[i] == 1 || m.steps[i] == -1
                              ? ":"
                              : fmt::format("::{}", std::abs(m.steps[i])));
        }
        const std::string flipped =
            axes.empty() ? x : fmt::format(fmt::runtime(d_.flip), x, tuple(axes));
        return std::ranges::count(parts, ":") == static_cast<std::ptrdiff_t>(parts.size())
                   ? flipped
                   : fmt::format("{}[{}]", flipped, listed(parts));
      }
      case Moves::AsStrided: break;
    }
    throw ParseError("AS_STRIDED cannot be emitted");
  }

  std::string computed(const TensorOp& op) const {
    const std::string_view text = primitive(op.name)->in(language_);
    std::vector<std::string> x;
    for (std::size_t i = 0; i < op.src.size(); ++i) x.push_back(source(op, i));
    if (text.find('{') == text.npos) return fmt::format("{}({})", text, listed(x));
    x.resize(2);
    return fmt::format(fmt::runtime(text), x[0], x[1]);
  }

  std::string expression(const TensorOp& op) const {
    (void)type(op.dtype);
    switch (op.kind) {
      case Kind::Input: break;
      case Kind::Number:
        return made(
            fmt::format("{}.{}([{}]", d_.module, language_ == Language::Torch ? "tensor" : "array",
                        number(op.value)),
            op.dtype);
      case Kind::Iota: return made(fmt::format("{}.arange({}", d_.module, op.shape[0]), op.dtype);
      case Kind::Move: return moved(op);
      case Kind::Take: return fmt::format("{}[{}]", source(op), source(op, 1));
      case Kind::Compute: return computed(op);
      case Kind::Sum:
        return fmt::format("{}.sum({}, {}, dtype={})", d_.module, source(op), axes(op),
                           type(op.dtype));
      case Kind::Max: return fmt::format("{}({}, {})", d_.max, source(op), axes(op));
      case Kind::Cast: return fmt::format(fmt::runtime(d_.cast), source(op), type(op.dtype));
      case Kind::Bitcast: return fmt::format(fmt::runtime(d_.bitcast), source(op), type(op.dtype));
    }
    return source(op);
  }
  std::string axes(const TensorOp& op) const {
    return fmt::format(fmt::runtime(d_.axes), tuple(op.axes));
  }
  const std::string& source(const TensorOp& op, std::size_t i = 0) const {
    return names_[static_cast<std::size_t>(op.src[i])];
  }

  const TensorProgram& p_;
  Language language_;
  const Dialect& d_;
  std::vector<std::string> names_;
};

class StableHloWriter {
 public:
  explicit StableHloWriter(const TensorProgram& program) : p_(program) {}

  std::string write(std::string_view title) {
    std::vector<std::string> inputs, outputs, types;
    for (const int i : p_.inputs) inputs.push_back(fmt::format("%{}: {}", op(i).name, type(op(i))));
    for (std::size_t i = 0; i < p_.ops.size(); ++i) {
      const TensorOp& o = p_.ops[i];
      names_.push_back(o.kind == Kind::Input ? "%" + o.name : fmt::format("%v{}", i));
      if (o.kind != Kind::Input) operation(o);
    }
    for (const int i : p_.outputs) {
      outputs.push_back(names_[static_cast<std::size_t>(i)]);
      types.push_back(type(op(i)));
    }
    std::string about(title);
    std::ranges::replace(about, '\n', ' ');
    return fmt::format(
        "{}module @kernel {{\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  "
        "}}\n}}\n",
        about.empty() ? "" : fmt::format("// {}\n", about), listed(inputs), listed(types), body_,
        listed(outputs), listed(types));
  }

 private:
  const TensorOp& op(int i) const { return p_.ops[static_cast<std::size_t>(i)]; }
  static std::string type(DType dtype, const Sizes& shape) {
    return fmt::format("tensor<{}{}{}>", fmt::join(shape, "x"), shape.empty() ? "" : "x",
                       foreign_type(dtype).mlir);
  }
  static std::string type(const TensorOp& o) { return type(o.dtype, o.shape); }
  const std::string& source(const TensorOp& o, std::size_t i = 0) const {
    return names_[static_cast<std::size_t>(o.src[i])];
  }
  void line(const std::string& name, std::string_view text) {
    body_ += fmt::format("    {} = {}\n", name, text);
  }
  std::string constant(const std::string& name, Scalar value, const Sizes& shape) {
    std::string text = value.str();
    if (text.find("nan") != text.npos || text.find("inf") != text.npos)
      text = fmt::format("0x{:0{}X}", value.bits(), 2 * itemsize(value.dtype()));
    else if (is_float(value.dtype()) && text.find('.') == text.npos)
      text.insert(std::min(text.find('e'), text.size()), ".0");
    line(name, fmt::format("stablehlo.constant dense<{}> : {}", text, type(value.dtype(), shape)));
    return name;
  }
  std::string zero(DType dtype) {
    return constant(names_.back() + "_zero", Scalar::from_bits(dtype, 0), {});
  }
  // "(T) -> T".
  std::string types(const TensorOp& o) const {
    return fmt::format("({}) -> {}", type(op(o.src[0])), type(o));
  }
  void moved(const TensorOp& o) {
    const std::string &x = source(o), &to = names_.back();
    const MovementOp& m = o.move;
    switch (m.kind) {
      case Moves::Reshape: return line(to, fmt::format("stablehlo.reshape {} : {}", x, types(o)));
      case Moves::Permute:
        return line(to, fmt::format("stablehlo.transpose {}, dims = [{}] : {}", x, listed(m.order),
                                    types(o)));
      case Moves::Expand: {
        std::vector<std::size_t> axes;
        for (std::size_t i = 0; i < o.shape.size(); ++i) axes.push_back(i);
        return line(to, fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : {}", x,
                                    listed(axes), types(o)));
      }
      case Moves::Pad: {
        Sizes low, high;
        for (const auto& [before, after] : m.ends) {
          low.push_back(before.as_int());
          high.push_back(after.as_int());
        }
        const std::string z = zero(o.dtype);
        return line(to,
                    fmt::format("stablehlo.pad {}, {}, low = [{}], high = [{}], interior = [{}] "
                                ": ({}, {}) -> {}",
                                x, z, listed(low), listed(high), listed(Sizes(low.size(), 0)),
                                type(op(o.src[0])), type(o.dtype, {}), type(o)));
      }
      case Moves::Shrink: {
        std::vector<std::string> parts;
        for (const auto& [begin, end] : m.ends)
          parts.push_back(fmt::format("{}:{}", begin.as_int(), end.as_int()));
        return line(to, fmt::format("stablehlo.slice {} [{}] : {}", x, listed(parts), types(o)));
      }
      case Moves::Stride: {
        const Sizes& from = op(o.src[0]).shape;
        std::vector<std::string> parts;
        std::vector<std::size_t> axes;
        for (std::size_t i = 0; i < m.steps.size(); ++i) {
          if (m.steps[i] < 0) axes.push_back(i);
          parts.push_back(fmt::format("0:{}:{}", from[i], std::abs(m.steps[i])));
        }
        std::string flipped = x;
        if (!axes.empty()) {
          flipped = to + "_flipped";
          line(flipped, fmt::format("stablehlo.reverse {}, dims = [{}] : {}", x, listed(axes),
                                    type(op(o.src[0]))));
        }
        return line(to,
                    fmt::format("stablehlo.slice {} [{}] : {}", flipped, listed(parts), types(o)));
      }
      case Moves::AsStrided: break;
    }
    throw ParseError("StableHLO cannot say AS_STRIDED");
  }
  void computed(const TensorOp& o) {
    std::vector<std::string> x;
    for (std::size_t i = 0; i < o.src.size(); ++i) x.push_back(source(o, i));
    const std::string_view kind = primitive(o.name)->stablehlo;
    const TensorOp& last = op(o.src.back());
    std::string end = type(o);
    if (kind.starts_with("compare"))
      end = fmt::format("({0}, {0}) -> {1}", type(last), type(o));
    else if (kind == "select")
      end = fmt::format("{}, {}", type(op(o.src[0])), type(o));
    else if (kind.starts_with("chlo."))
      end = fmt::format("{} -> {}", type(last), type(o));
    const std::string_view sign = !kind.starts_with("compare")                     ? ""
                                  : is_float(last.dtype)                           ? ",  FLOAT"
                                  : is_bool(last.dtype) || is_unsigned(last.dtype) ? ",  UNSIGNED"
                                                                                   : ",  SIGNED";
    line(names_.back(), fmt::format("{}{} {}{} : {}", kind.starts_with("chlo.") ? "" : "stablehlo.",
                                    kind, listed(x), sign, end));
  }
  void reduced(const TensorOp& o) {
    const std::string& to = names_.back();
    const bool is_sum = o.kind == Kind::Sum;
    Scalar first = Scalar::from_bits(o.dtype, 0);
    if (!is_sum && is_float(o.dtype)) first = Scalar::parse(o.dtype, "-inf");
    if (!is_sum && !is_float(o.dtype) && !is_bool(o.dtype) && !is_unsigned(o.dtype))
      first = Scalar::from_bits(o.dtype, std::uint64_t{1} << (8 * itemsize(o.dtype) - 1));
    const std::string init = constant(to + "_first", first, {});
    Sizes left;
    for (std::size_t i = 0; i < o.shape.size(); ++i)
      if (std::ranges::count(o.axes, static_cast<int>(i)) == 0) left.push_back(o.shape[i]);
    line(
        to + "_flat",
        fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = [{}] : "
                    "({}, {}) -> {}",
                    source(o), init,
                    is_sum             ? "add"
                    : is_bool(o.dtype) ? "or"
                                       : "maximum",
                    listed(o.axes), type(op(o.src[0])), type(o.dtype, {}), type(o.dtype, left)));
    line(to,
         fmt::format("stablehlo.reshape {}_flat : ({}) -> {}", to, type(o.dtype, left), type(o)));
  }
  void operation(const TensorOp& o) {
    const std::string& to = names_.back();
    switch (o.kind) {
      case Kind::Input: return;
      case Kind::Number: (void)constant(to, o.value, {1}); return;
      case Kind::Iota: return line(to, fmt::format("stablehlo.iota dim = 0 : {}", type(o)));
      case Kind::Move: return moved(o);
      case Kind::Take:
        return line(
            to, fmt::format(
                    "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = "
                    "#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
                    "index_vector_dim = {}>, indices_are_sorted = false, slice_sizes = array<i64: "
                    "1>}}> : ({}, {}) -> {}",
                    source(o), source(o, 1), o.shape.size(), type(op(o.src[0])), type(op(o.src[1])),
                    type(o)));
      case Kind::Compute: return computed(o);
      case Kind::Sum:
      case Kind::Max: return reduced(o);
      case Kind::Cast:
        return line(to, fmt::format("stablehlo.convert {} : {}", source(o), types(o)));
      case Kind::Bitcast:
        return line(to, fmt::format("stablehlo.bitcast_convert {} : {}", source(o), types(o)));
    }
  }

  const TensorProgram& p_;
  std::vector<std::string> names_;
  std::string body_;
};

}  // namespace

Language parse_language(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LanguageInfo& l : languages) {
    if (l.name == name) return l.language;
    names.push_back(l.name);
  }
  const std::string nearest = did_you_mean(name, names);
  throw ParseError(fmt::format("unknown language '{}'{}{}choose from: {}", name, nearest,
                               nearest.empty() ? "; " : " Else ", fmt::join(names, ", ")));
}

std::vector<EmitInput> flat_inputs(const LazyOpPtr& kernel) {
  std::vector<EmitInput> inputs;
  for (const BufferSpec& b : buffers_of(kernel)) {
    if (b.idx == 0) continue;
    const auto i = static_cast<std::size_t>(b.idx);
    while (inputs.size() < i) inputs.push_back({DType::Float32, {0}});  // a number that is not read
    inputs[i - 1] = {b.dtype, {b.size}};
  }
  return inputs;
}

std::string python_text(const TensorProgram& program, Language language, std::string_view title) {
  return PythonWriter(program, language).write(title);
}
std::string stablehlo_text(const TensorProgram& program, std::string_view title) {
  return StableHloWriter(program).write(title);
}

std::string emitted(const LazyOpPtr& kernel, std::span<const EmitInput> inputs, Language language,
                    std::string_view title) {
  Lowering to(has_in[static_cast<std::size_t>(language)], std::string(info(language).title));
  std::vector<int> buffers;
  for (const EmitInput& in : inputs)
    buffers.push_back(to.input(fmt::format("in{}", buffers.size() + 1), in.dtype, in.shape));
  const TensorProgram program = to.done({to.kernel(kernel, buffers)});
  switch (language) {
    case Language::Onnx: return onnx_bytes(program, title);
    case Language::StableHlo: return stablehlo_text(program, title);
    case Language::NumPy:
    case Language::Torch:
    case Language::Jax: break;
  }
  return python_text(program, language, title);
}

}  // namespace touchstone::emit
