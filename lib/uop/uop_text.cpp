// Nodes as text.
#include "touchstone/uop/uop.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {
namespace {

std::string joined(const auto& items, const auto& text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return "(" + all + ")";
}

}  // namespace

std::string UOpType::str() const {
  const std::string of(info(base).short_name);
  switch (form) {
    case Form::None: return "none";
    case Form::Elements: return of;
    case Form::Pointer: return "pointer " + of;
    case Form::Image:
      if (storage == DType::Float16 || storage == DType::Float32)
        return fmt::format("image{}(({}, {}, 4))", storage == DType::Float16 ? 'h' : 'f', height,
                           width);
      return fmt::format("image {} {}x{}", info(storage).short_name, height, width);
  }
  return of;
}

std::string text_of(const UOpArg& arg) {
  struct Visitor {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(const Scalar& s) const { return s.str(); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const std::vector<std::string>& names) const {
      return joined(names, [](const std::string& s) { return s; });
    }
    std::string operator()(const std::vector<int>& axes) const {
      return joined(axes, [](int a) { return std::to_string(a); });
    }
    std::string operator()(const Shape& shape) const {
      return touchstone::str(std::span<const sint>(shape));
    }
    std::string operator()(const Mask& mask) const {
      return joined(mask, [](const auto& p) { return p.first.str() + ":" + p.second.str(); });
    }
    std::string operator()(const ShapeTracker& st) const { return st.str(); }
    std::string operator()(const UOpReduce& r) const {
      return fmt::format("{} {}{}", name(r.op), (*this)(r.axes), r.fused ? " fused" : "");
    }
    std::string operator()(const UOpVariable& v) const {
      return fmt::format("{} in [{}, {}]", v.name, v.min, v.max);
    }
    std::string operator()(const UOpFill& f) const {
      return fmt::format("{} {} {}", f.name, f.id, (*this)(f.shape));
    }
    std::string operator()(NamedFunction f) const { return std::string(info(f).name); }
    std::string operator()(const UOpGather& g) const {
      return g.table.str() + (g.checked ? " checked" : "");
    }
    std::string operator()(const UOpKernelPtr& k) const {
      return k == nullptr ? "no kernel" : std::string(name(k->ast.op()));
    }
  };
  return std::visit(Visitor{}, arg);
}

std::string UOp::line() const {
  if (!*this) return "null";
  std::string text = fmt::format("{} {}", name(op()), dtype().str());
  const std::string more = text_of(arg());
  if (!more.empty()) text += " " + more;
  if (tag()) text += fmt::format(" tag {}", *tag());
  return text;
}

std::string UOp::str() const {
  std::string text;
  UOpMap<std::size_t> number;
  for (const UOp& u : toposort()) {
    text += fmt::format("{:>4} {}", number.size(), u.line());
    for (const UOp& s : u.src()) text += fmt::format(" %{}", *number.find(s));
    number.emplace(u, number.size());
    text += "\n";
  }
  return text;
}

}  // namespace touchstone
