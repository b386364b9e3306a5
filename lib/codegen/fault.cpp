#include "touchstone/codegen/fault.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "touchstone/base/suggest.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/views.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone {

namespace {

// The view with its first maskable axis starting one later; nullopt if there is none.
std::optional<View> begin_late(const View& view) {
  if (!view.mask() || view.nothing_valid()) return std::nullopt;
  Mask mask = *view.mask();
  const auto usable = [&](std::size_t axis, bool padded_before) {
    const auto& [begin, end] = mask[axis];
    const bool masked = padded_before ? !certainly_eq(begin, 0) : end != view.shape()[axis];
    return masked && certainly_lt(begin, end);
  };
  for (const bool padded_before : {true, false})
    for (std::size_t axis = 0; axis < mask.size(); ++axis)
      if (usable(axis, padded_before)) {
        mask[axis].first = mask[axis].first + 1;
        return View::strided(view.shape(), view.strides(), view.offset(), mask);
      }
  return std::nullopt;
}

// The view with the strides of two axes of equal size exchanged: it reaches the same addresses.
std::optional<View> strides_exchanged(const View& view) {
  const Shape& shape = view.shape();
  for (std::size_t a = 0; a < shape.size(); ++a)
    for (std::size_t b = a + 1; b < shape.size(); ++b) {
      Strides strides = view.strides();
      const bool same_extent = certainly_lt(1, shape[a]) && shape[a] == shape[b] &&
                               (!view.mask() || (*view.mask())[a] == (*view.mask())[b]);
      if (!same_extent || strides[a] == strides[b] || strides[a] == 0 || strides[b] == 0) continue;
      std::swap(strides[a], strides[b]);
      return View::strided(shape, strides, view.offset(), view.mask());
    }
  return std::nullopt;
}

// Puts the fault into the first view, from the outside in, that can have it. Under an outer view
// that skips elements, exchanged strides may exceed the buffer; such a view cannot.
ShapeTracker with_fault(const ShapeTracker& st, Fault fault) {
  const std::int64_t held = st.real_size();
  std::vector<View> views = st.views();
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const auto changed =
        fault == Fault::MaskOffByOne ? begin_late(*view) : strides_exchanged(*view);
    if (!changed) continue;
    const View right = std::exchange(*view, *changed);
    if (ShapeTracker wrong(views); wrong.real_size() <= held) return wrong;
    *view = right;
  }
  return st;
}

// The last axis of a reduce with more than one element; -1 if there is none.
int last_reduced(const LazyOp& reduce) {
  const std::vector<std::size_t> axes = looped_axes(reduce);
  const bool none = axes.empty() || elements(reduce.src()[0]->shape()) == sint(0);
  return none ? -1 : static_cast<int>(axes.back());
}

// The part of a kernel below `root`, without the last element along an axis.
LazyOpPtr without_last(const LazyOpPtr& root, int axis) {
  const auto shorter = [&](const ShapeTracker& st, int first) {
    Mask kept;
    for (const sint& size : st.shape()) kept.emplace_back(0, size);
    sint& end = kept[static_cast<std::size_t>(first) + static_cast<std::size_t>(axis)].second;
    end = end - 1;
    return st.shrink(kept);
  };
  return rebuild(root, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    return with_views(*node, src, shorter);
  });
}

LazyOpPtr drop_last_terms(const LazyOpPtr& kernel) {
  return rebuild(kernel, [](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    const int axis = is_reduce(node->op()) ? last_reduced(*node) : -1;
    if (axis != -1) {
      try {
        return with_src(node, {without_last(src[0], axis)});
      } catch (const ShapeError&) {  // a variable may be 0
      }
    }
    return src == node->src() ? node : with_src(node, src);
  });
}

// True if the fault changes this step.
bool is_faulty(const LinearStep& uop, Fault fault) {
  if (uop.kind != StepKind::Alu) return false;
  const Op op = std::get<Op>(uop.arg);
  if (fault == Fault::IntDivFloors)
    return op == Op::Div && info(uop.dtype).kind == DTypeKind::Signed;
  return fault == Fault::MaxWithoutNan && op == Op::Max && is_float(uop.dtype);
}

// Replaces some steps with several.
class Replanting : StepWriter {
 public:
  using StepWriter::StepWriter;

  LinearKernel run(Fault fault) {
    for (int i = 0; i < count(); ++i) {
      const LinearStep step = renumbered(i);
      now_[at(i)] = !is_faulty(step, fault)        ? add(step)
                    : fault == Fault::IntDivFloors ? floored_quotient(step)
                                                   : greater(step);
    }
    return finish();
  }

 private:
  int alu(Op op, DType type, Operands src) { return add({StepKind::Alu, type, src, op}); }
  int greater(const LinearStep& step) {
    const int a = step.src[0], b = step.src[1];
    const int is_greater = alu(Op::CmpLt, DType::Bool, {b, a});
    return alu(Op::Where, step.dtype, {is_greater, a, b});
  }

  // a / b - 1 if the remainder is not 0 and the signs differ.
  int floored_quotient(const LinearStep& step) {
    const int a = step.src[0], b = step.src[1];
    const DType type = step.dtype;
    const int none = constant(type, 0), one = constant(type, 1);
    const int quotient = alu(Op::Div, type, {a, b});
    const int rest = alu(Op::Mod, type, {a, b});
    const int below = alu(Op::CmpLt, DType::Bool, {rest, none});
    const int divides_below = alu(Op::CmpLt, DType::Bool, {b, none});
    const int differ = alu(Op::Xor, DType::Bool, {below, divides_below});
    const int exact = alu(Op::CmpEq, DType::Bool, {rest, none});
    const int lower = alu(Op::Sub, type, {quotient, one});
    const int floored = alu(Op::Where, type, {differ, lower, quotient});
    return alu(Op::Where, type, {exact, quotient, floored});
  }
};

}  // namespace

Fault parse_fault(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const FaultInfo& row : fault_table) {
    if (row.name == wanted) return row.fault;
    names.push_back(row.name);
  }
  throw ParseError(fmt::format("there is no fault '{}'{} (known: {})", wanted,
                               did_you_mean(wanted, names), fmt::join(names, ", ")));
}

bool holds_fault(const LazyOpPtr& kernel, Fault fault) {
  switch (fault) {
    case Fault::None: return false;
    case Fault::DropLastReduce:
    case Fault::MaskOffByOne:
    case Fault::StrideSwapped: return !same(kernel, plant_fault(kernel, fault));
    case Fault::IntDivFloors:
      return std::ranges::any_of(toposort(kernel), [](const auto& n) {
        return n->op() == Op::Div && info(n->dtype()).kind == DTypeKind::Signed;
      });
    case Fault::MaxWithoutNan:
      return std::ranges::any_of(toposort(kernel), [](const auto& n) {
        return (n->op() == Op::Max || n->op() == Op::ReduceMax) && is_float(n->dtype());
      });
  }
  return false;
}

LazyOpPtr plant_fault(const LazyOpPtr& kernel, Fault fault) {
  if (fault == Fault::DropLastReduce) return drop_last_terms(kernel);
  if (fault != Fault::MaskOffByOne && fault != Fault::StrideSwapped) return kernel;
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (node->op() == Op::Load)
      return LazyOp::load(node->buffer().idx, node->dtype(), with_fault(node->buffer().st, fault));
    return src == node->src() ? node : with_src(node, src);
  });
}

LinearKernel linearize_with(Fault fault, const LazyOpPtr& kernel, const CodegenOptions& options) {
  if (fault == Fault::None) return linearize(kernel, options);
  LinearKernel linear = linearize(plant_fault(kernel, fault), options);
  linear.name = kernel_name(kernel);
  linear.buffers = buffers_of(kernel);
  return Replanting(linear).run(fault);
}

}  // namespace touchstone
