#include "touchstone/codegen/fault.h"

#include <algorithm>
#include <utility>

#include "touchstone/base/suggest.h"

namespace touchstone {

namespace {

// The view with its first masked axis beginning one later; nullopt where no axis can.
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

// The view with the strides of two axes of the same extent exchanged: the set of addresses stays.
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

// The first view, from the outside in, that can hold the fault takes it. Behind an outer view that
// leaves elements out, exchanged strides may reach further than the buffer goes: such a view
// cannot.
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

bool drops_a_term(const LazyOp& node) {
  if (!is_reduce(node.op())) return false;
  const Shape& shape = node.src()[0]->shape();
  if (elements(shape) == sint(0)) return false;
  return std::ranges::any_of(node.reduce_arg().axes, [&](int axis) {
    return shape[static_cast<std::size_t>(axis)] != sint(1);
  });
}

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
    case Fault::None:
      return false;
    case Fault::MaskOffByOne:
    case Fault::StrideSwapped:
      return !same(kernel, plant_view_fault(kernel, fault));
    case Fault::DropLastReduce:
      return std::ranges::any_of(toposort(kernel), [](const auto& n) { return drops_a_term(*n); });
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

LazyOpPtr plant_view_fault(const LazyOpPtr& kernel, Fault fault) {
  if (fault != Fault::MaskOffByOne && fault != Fault::StrideSwapped) return kernel;
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    if (node->op() == Op::Load)
      return LazyOp::load(node->buffer().idx, node->dtype(), with_fault(node->buffer().st, fault));
    return src == node->src() ? node : with_src(node, src);
  });
}

}  // namespace touchstone
