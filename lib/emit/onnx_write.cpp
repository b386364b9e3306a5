#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/emit/onnx_wire.h"
#include "touchstone/emit/primitives.h"

namespace touchstone::emit {
namespace {

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}

}  // namespace

void put(std::string& to, int field, std::string_view block) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(to, block.size());
  to += block;
}
void put(std::string& to, int field, std::int64_t value) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3);
  put_varint(to, static_cast<std::uint64_t>(value));
}
std::string field_of(int field, std::string_view block) {
  std::string out;
  put(out, field, block);
  return out;
}

std::string value_info(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape) {
  std::string sizes, tensor, info;
  for (const std::int64_t size : shape) {
    std::string dim;
    put(dim, 1, size);
    put(sizes, 1, dim);
  }
  put(tensor, 1, onnx_of_dtype(dtype));
  put(tensor, 2, sizes);
  put(info, 1, name);
  put(info, 2, field_of(1, tensor));
  return info;
}

std::string tensor(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape,
                   std::string_view bytes) {
  std::string out;
  for (const std::int64_t size : shape) put(out, 1, size);
  put(out, 2, onnx_of_dtype(dtype));
  put(out, 8, name);
  put(out, 9, bytes);
  return out;
}

std::string model(std::string_view graph, int opset) {
  std::string imports, out;
  put(imports, 1, "");
  put(imports, 2, std::int64_t{opset});
  put(out, 1, std::int64_t{opset < 19 ? 8 : opset < 21 ? 9 : 10});
  put(out, 2, "touchstone");
  put(out, 8, imports);
  put(out, 7, graph);
  return out;
}

namespace {

using Kind = TensorOp::Kind;
using Moves = MovementOp::Kind;

class OnnxWriter {
 public:
  explicit OnnxWriter(const TensorProgram& program) : p_(program) {
    for (const TensorOp& op : p_.ops) {
      if (const Primitive* prim = op.kind == Kind::Compute ? primitive(op.name) : nullptr)
        opset_ = std::max(opset_, prim->opset);
      if (itemsize(op.dtype) == 1 && is_float(op.dtype)) {
        if (op.kind != Kind::Cast && op.kind != Kind::Input &&
            !(op.kind == Kind::Move && op.move.kind == Moves::Reshape))
          throw ParseError(fmt::format("ONNX cannot say operations on {}", name(op.dtype)));
        opset_ = std::max(opset_, 19);
      }
    }
  }

  std::string write(std::string_view title) {
    for (std::size_t i = 0; i < p_.ops.size(); ++i) {
      const auto at = std::ranges::find(p_.outputs, static_cast<int>(i));
      out_ = at == p_.outputs.end()
                 ? fmt::format("v{}", i)
                 : fmt::format("out{}", p_.outputs.size() == 1
                                            ? ""
                                            : std::to_string(at - p_.outputs.begin() + 1));
      names_.push_back(p_.ops[i].kind == Kind::Input ? p_.ops[i].name : out_);
      operation(p_.ops[i]);
    }
    put(graph_, 2, title.empty() ? "kernel" : title);
    for (const int i : p_.inputs) {
      const TensorOp& op = p_.ops[static_cast<std::size_t>(i)];
      put(graph_, 11, value_info(op.name, op.dtype, op.shape));
    }
    std::set<int> given;
    for (const int i : p_.outputs) {
      const TensorOp& op = p_.ops[static_cast<std::size_t>(i)];
      std::string name = names_[static_cast<std::size_t>(i)];
      if (op.kind == Kind::Input || op.kind == Kind::Number || op.kind == Kind::Iota) {
        out_ = "out";
        node("Identity", {name});
        name = out_;
      }
      if (given.insert(i).second) put(graph_, 12, value_info(name, op.dtype, op.shape));
    }
    return model(graph_, opset_);
  }

 private:
  // The node of out_; attributes as AttributeProtos.
  void node(std::string_view kind, const std::vector<std::string>& inputs,
            const std::vector<std::string>& attributes = {}, std::string_view output = {}) {
    std::string n;
    for (const std::string& in : inputs) put(n, 1, in);
    put(n, 2, output.empty() ? std::string_view(out_) : output);
    put(n, 4, kind);
    for (const std::string& a : attributes) put(n, 5, a);
    put(graph_, 1, n);
  }
  static std::string attribute(std::string_view name, std::int64_t value) {
    std::string a;
    put(a, 1, name);
    put(a, 3, value);
    put(a, 20, std::int64_t{2});
    return a;
  }
  static std::string attribute(std::string_view name, std::string_view text) {
    std::string a;
    put(a, 1, name);
    put(a, 4, text);
    put(a, 20, std::int64_t{3});
    return a;
  }
  template <class List>
  static std::string attributes(std::string_view name, const List& list) {
    std::string a;
    put(a, 1, name);
    for (const auto i : list) put(a, 8, static_cast<std::int64_t>(i));
    put(a, 20, std::int64_t{7});
    return a;
  }
  std::string initializer(DType dtype, const Sizes& shape, const std::string& bytes) {
    const std::string key =
        fmt::format("{}:{}:{}", onnx_of_dtype(dtype), shape.empty() ? -1 : shape[0], bytes);
    const auto [it, is_new] = constants_.emplace(key, fmt::format("c{}", constants_.size()));
    if (is_new) put(graph_, 5, tensor(it->second, dtype, shape, bytes));
    return it->second;
  }
  std::string ints(const Sizes& values) {
    return initializer(
        DType::Int64, {static_cast<std::int64_t>(values.size())},
        std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8));
  }
  static std::string bytes_of(Scalar value) {
    const std::uint64_t bits = value.bits();
    return {reinterpret_cast<const char*>(&bits), itemsize(value.dtype())};
  }
  const std::string& source(const TensorOp& op, std::size_t i = 0) const {
    return names_[static_cast<std::size_t>(op.src[i])];
  }
  void slice(const std::string& x, const Sizes& begin, const Sizes& end, const Sizes& steps) {
    Sizes axes;
    for (std::size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    node("Slice", {x, ints(begin), ints(end), ints(axes), ints(steps)});
  }

  void moved(const TensorOp& op) {
    const std::string& x = source(op);
    const MovementOp& m = op.move;
    switch (m.kind) {
      case Moves::Reshape:  // a 0 would mean the operand's size
        return node("Reshape", {x, ints(op.shape)},
                    std::ranges::count(op.shape, 0) > 0
                        ? std::vector{attribute("allowzero", std::int64_t{1})}
                        : std::vector<std::string>{});
      case Moves::Permute: return node("Transpose", {x}, {attributes("perm", m.order)});
      case Moves::Expand: return node("Expand", {x, ints(op.shape)});
      case Moves::Pad: {
        Sizes before, after;
        for (const auto& [b, a] : m.ends) {
          before.push_back(b.as_int());
          after.push_back(a.as_int());
        }
        before.insert(before.end(), after.begin(), after.end());
        return node("Pad", {x, ints(before),
                            initializer(op.dtype, {}, bytes_of(Scalar::from_bits(op.dtype, 0)))});
      }
      case Moves::Shrink: {
        Sizes begin, end;
        for (const auto& [b, e] : m.ends) {
          begin.push_back(b.as_int());
          end.push_back(e.as_int());
        }
        return slice(x, begin, end, Sizes(begin.size(), 1));
      }
      case Moves::Stride: {
        constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
        Sizes begin, end;
        for (const std::int64_t step : m.steps) {
          begin.push_back(step < 0 ? kEnd : 0);
          end.push_back(step < 0 ? -kEnd : kEnd);
        }
        return slice(x, begin, end, m.steps);
      }
      case Moves::AsStrided: break;
    }
    throw ParseError("ONNX cannot say AS_STRIDED");
  }

  void reduced(const TensorOp& op) {
    const bool is_sum = op.kind == Kind::Sum;
    std::string x = source(op);
    if (is_bool(op.dtype)) {  // the greatest of 0 and 1
      node("Cast", {x}, {attribute("to", onnx_of_dtype(DType::Int32))}, out_ + "_wide");
      x = out_ + "_wide";
    }
    const std::string result = is_bool(op.dtype) ? out_ + "_most" : out_;
    const Sizes axes(op.axes.begin(), op.axes.end());
    if (is_sum || opset_ >= 18)
      node(is_sum ? "ReduceSum" : "ReduceMax", {x, ints(axes)},
           {attribute("keepdims", std::int64_t{1})}, result);
    else
      node("ReduceMax", {x}, {attribute("keepdims", std::int64_t{1}), attributes("axes", axes)},
           result);
    if (is_bool(op.dtype)) node("Cast", {result}, {attribute("to", onnx_of_dtype(DType::Bool))});
  }

  void operation(const TensorOp& op) {
    switch (op.kind) {
      case Kind::Input: return;
      case Kind::Number: names_.back() = initializer(op.dtype, {1}, bytes_of(op.value)); return;
      case Kind::Iota: {
        Sizes values;
        for (std::int64_t i = 0; i < op.shape[0]; ++i) values.push_back(i);
        names_.back() = ints(values);
        return;
      }
      case Kind::Move: return moved(op);
      case Kind::Take:
        return node("Gather", {source(op), source(op, 1)}, {attribute("axis", std::int64_t{0})});
      case Kind::Compute: {
        std::vector<std::string> inputs, attributes;
        for (std::size_t i = 0; i < op.src.size(); ++i) inputs.push_back(source(op, i));
        std::string_view kind = primitive(op.name)->onnx;
        if (kind == "Mod") attributes.push_back(attribute("fmod", std::int64_t{1}));
        if (kind == "Gelu tanh") {
          kind = "Gelu";
          attributes.push_back(attribute("approximate", "tanh"));
        }
        return node(kind, inputs, attributes);
      }
      case Kind::Sum:
      case Kind::Max: return reduced(op);
      case Kind::Cast: {
        std::vector<std::string> attributes{attribute("to", onnx_of_dtype(op.dtype))};
        if (op.dtype == DType::Float8E5M2)  // ours has infinities
          attributes.push_back(attribute("saturate", std::int64_t{0}));
        return node("Cast", {source(op)}, attributes);
      }
      case Kind::Bitcast: break;
    }
    throw ParseError("ONNX cannot say a bitcast");
  }

  const TensorProgram& p_;
  int opset_ = 17;
  std::string graph_, out_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> constants_;
};

}  // namespace

std::string onnx_bytes(const TensorProgram& program, std::string_view title) {
  return OnnxWriter(program).write(title);
}

}  // namespace touchstone::emit
