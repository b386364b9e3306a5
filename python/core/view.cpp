#include "convert.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/ask/reason.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/invert/contraction.h"
#include "touchstone/shapetracker/invert/invert.h"
#include "touchstone/shapetracker/invert/movement_ops.h"
#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/view/shapetracker.h"
#include "touchstone/shapetracker/view/variable_table.h"

namespace touchstone::python {
namespace {

using symbolic::Node;

py::tuple tuple_of(std::span<const sint> values) {
  py::tuple out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = python_sint(values[i]);
  return out;
}
py::object pairs_of(const std::optional<Mask>& mask) {
  if (!mask) return py::none();
  py::tuple out(mask->size());
  for (std::size_t i = 0; i < mask->size(); ++i)
    out[i] = py::make_tuple(python_sint((*mask)[i].first), python_sint((*mask)[i].second));
  return out;
}

template <class T>
int normal_axis(const T& t, int axis) {
  if (axis < -t.rank() || axis >= t.rank())
    throw ShapeError(fmt::format("axis {} is outside a view of rank {}", axis, t.rank()));
  return axis < 0 ? axis + t.rank() : axis;
}
template <class T>
std::vector<int> normal_axes(const T& t, std::vector<int> axes) {
  for (int& axis : axes) axis = normal_axis(t, axis);
  return axes;
}
std::int64_t number_at(const sint& s) { return s.as_int(); }

template <class T>
std::optional<std::int64_t> checked_at(const T& t, const std::vector<std::int64_t>& index) {
  const Shape& shape = t.shape();
  if (index.size() != shape.size())
    throw ShapeError(fmt::format("{} indices given for {}", index.size(), str(std::span(shape))));
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] < 0 || index[i] >= number_at(shape[i]))
      throw ShapeError(
          fmt::format("index {} of axis {} is outside {}", index[i], i, str(std::span(shape))));
  return t.at(index);
}

/// Movement methods of both classes; each returns a new value.
template <class T>
void movement(py::class_<T>& c) {
  c.def(
       "permute",
       [](const T& t, const std::vector<int>& order) { return t.permute(normal_axes(t, order)); },
       Free(), py::arg("order"), "New axis i is old axis order[i].")
      .def("expand", &T::expand, Free(), py::arg("shape"),
           "Expands axes of size 1 to those of the shape.")
      .def("pad", &T::pad, Free(), py::arg("padding"), "(before, after) of each axis, in elements.")
      .def("shrink", &T::shrink, Free(), py::arg("keep"), "[begin, end) of each axis.")
      .def(
          "stride",
          [](const T& t, const std::vector<std::int64_t>& steps) { return t.stride(steps); },
          Free(), py::arg("steps"), "Every |n|-th element of each axis; from its end if negative.")
      .def(
          "flip",
          [](const T& t, const std::vector<int>& axes) { return t.flip(normal_axes(t, axes)); },
          Free(), py::arg("axes"), "Reverses these axes.")
      .def("at", &checked_at<T>, Free(), py::arg("index"),
           "The element of the buffer that an index reads; None if it is padding.")
      .def("bind", &T::bind, Free(), py::arg("values"),
           "The view with its variables replaced by numbers, {name: value}.")
      .def_property_readonly(
          "shape", [](const T& t) { return tuple_of(t.shape()); }, "Elements of each axis.")
      .def_property_readonly("rank", &T::rank)
      .def_property_readonly(
          "size", [](const T& t) { return python_sint(t.size()); }, "Elements.")
      .def_property_readonly("is_contiguous", &T::is_contiguous)
      .def(
          "__eq__", [](const T& a, const T& b) { return a == b; }, py::is_operator())
      .def(
          "__ne__", [](const T& a, const T& b) { return !(a == b); }, py::is_operator())
      .def("__hash__", [](const T& t) { return static_cast<Py_hash_t>(t.hash() >> 1); })
      .def("__str__", &T::str, Free())
      .def("__repr__", &T::str, Free());
}

View made_view(const Shape& shape, const std::optional<Strides>& strides, const sint& offset,
               const std::optional<Mask>& mask) {
  const Released released;
  return View::strided(shape, strides ? *strides : row_major_strides(shape), offset, mask);
}

// The parts of a Movement as Python values.
py::tuple of_movement(const MovementOp& op) {
  using Kind = MovementOp::Kind;
  const auto pairs = [&] {
    py::tuple out(op.ends.size());
    for (std::size_t i = 0; i < op.ends.size(); ++i)
      out[i] = py::make_tuple(python_sint(op.ends[i].first), python_sint(op.ends[i].second));
    return out;
  };
  switch (op.kind) {
    case Kind::Reshape: return py::make_tuple("reshape", tuple_of(op.shape));
    case Kind::Permute: return py::make_tuple("permute", py::tuple(py::cast(op.order)));
    case Kind::Expand: return py::make_tuple("expand", tuple_of(op.shape));
    case Kind::Pad: return py::make_tuple("pad", pairs());
    case Kind::Shrink: return py::make_tuple("shrink", pairs());
    case Kind::Stride: return py::make_tuple("stride", py::tuple(py::cast(op.steps)));
    case Kind::AsStrided: break;
  }
  return py::make_tuple("as_strided", py::make_tuple(tuple_of(op.shape), tuple_of(op.strides),
                                                     python_sint(op.offset)));
}

std::string merge_words(const ShapeTracker& t) { return shapetracker::reason(t.views()).text; }

std::pair<Node, Node> index_pair(const ShapeTracker& t,
                                 const std::optional<std::vector<Operand>>& indices) {
  std::vector<Node> given;
  if (indices)
    for (const Operand& o : *indices) given.push_back(o.node);
  const IndexExpr e = indices ? expr_idxs(t, given) : expr_idxs(t);
  return {e.index, e.valid};
}

}  // namespace

void bind_view(py::module_& m) {
  py::class_<View> view(
      m, "View",
      "A map from an index to an element of a buffer, offset + sum(index * strides), and whether "
      "it may be read. Immutable; sizes are ints or expressions.");
  view.def(py::init(&made_view), py::arg("shape"), py::arg("strides") = py::none(),
           py::arg("offset") = 0, py::arg("mask") = py::none(),
           "shape: elements per axis. strides: in elements, row-major if None. mask: a pair "
           "[begin, end) per axis, outside of which nothing is read. Raises ShapeError.");
  movement(view);
  view.def_property_readonly(
          "strides", [](const View& v) { return tuple_of(v.strides()); },
          "In elements; 0 along axes where at most one index is valid.")
      .def_property_readonly("offset", [](const View& v) { return python_sint(v.offset()); })
      .def_property_readonly(
          "mask", [](const View& v) { return pairs_of(v.mask()); },
          "A pair [begin, end) per axis, or None.")
      .def("reshape", &View::reshape, Free(), py::arg("shape"),
           "One view of the same elements, if the strides allow it; else None.")
      .def("minify", &View::minify, Free(), "The same elements over the fewest axes.")
      .def(
          "__add__", [](const View& inner, const View& outer) { return merge(inner, outer); },
          Free(), py::is_operator(), "`outer` seen through `inner` as one view, or None.")
      .def(
          "invert", [](const View& v, const Shape& shape) { return invert(v, shape); }, Free(),
          py::arg("shape"), "The view of that shape that undoes this one, or None.")
      .def("__reduce__", [](const View& v) {
        return py::make_tuple(py::type::of<View>(),
                              py::make_tuple(tuple_of(v.shape()), tuple_of(v.strides()),
                                             python_sint(v.offset()), pairs_of(v.mask())));
      });

  py::class_<ShapeTracker> tracker(m, "ShapeTracker",
                                   "A stack of views, the first next to the buffer, the last one "
                                   "visible. Immutable: movement returns a new one.");
  tracker
      .def(py::init([](std::vector<View> views) {
             const Released r;
             return ShapeTracker(std::move(views));
           }),
           py::arg("views"), "Raises ShapeError if a view can leave the one below it.")
      .def_static(
          "from_shape",
          [](const Shape& shape, const std::optional<Strides>& strides) {
            return strides ? ShapeTracker::from_shape(shape, *strides)
                           : ShapeTracker::from_shape(shape);
          },
          Free(), py::arg("shape"), py::arg("strides") = py::none(),
          "Row-major if no strides are given.");
  movement(tracker);
  tracker
      .def("reshape", &ShapeTracker::reshape, Free(), py::arg("shape"),
           "The same elements in row-major order.")
      .def("as_strided", &ShapeTracker::as_strided, Free(), py::arg("shape"), py::arg("strides"),
           py::arg("offset") = 0, "The elements at offset + sum(index * strides).")
      .def(
          "__add__",
          [](const ShapeTracker& inner, const ShapeTracker& outer) { return inner + outer; },
          Free(), py::is_operator(), "`outer` on top.")
      .def_property_readonly("views", &ShapeTracker::views, "The first is next to the buffer.")
      .def_property_readonly("masked", &ShapeTracker::masked, "Whether some view has a mask.")
      .def("real_size", &ShapeTracker::real_size, Free(),
           "Elements of the smallest buffer that it reads from.")
      .def(
          "simplify", [](const ShapeTracker& t) { return simplify(t); }, Free(),
          "The fewest views found for the same elements.")
      .def(
          "invert", [](const ShapeTracker& t) { return invert(t).tracker; }, Free(),
          "A tracker that inverts this one, or None.")
      .def("expr_idxs", &index_pair, Free(), py::arg("indices") = py::none(),
           "(element of the buffer, condition for reading it: 1 is always), as functions of one "
           "expression per axis, by default idx0, idx1, ...")
      .def(
          "expr_node",
          [](const ShapeTracker& t, const std::optional<Operand>& flat) {
            const IndexExpr e = flat ? expr_node(t, flat->node) : expr_node(t);
            return std::pair(e.index, e.valid);
          },
          Free(), py::arg("index") = py::none(),
          "The same as functions of one flat index, by default idx.")
      .def(
          "real_strides",
          [](const ShapeTracker& t, bool ignore_valid) {
            std::vector<std::optional<sint>> strides;
            {
              const Released r;
              strides = real_strides(t, ignore_valid);
            }
            return py::tuple(py::cast(strides));
          },
          py::arg("ignore_valid") = false,
          "The stride of the element along each axis; None if there is none.")
      .def(
          "unit_stride_axes", [](const ShapeTracker& t) { return unit_stride_axes(t); }, Free(),
          "Axes along which neighbours are adjacent in memory.")
      .def(
          "axis_is_masked", [](const ShapeTracker& t, int axis) { return axis_is_masked(t, axis); },
          Free(), py::arg("axis"), "Whether the valid elements depend on its index.")
      .def(
          "to_movement_ops",
          [](const ShapeTracker& t) {
            std::vector<MovementOp> ops;
            {
              const Released r;
              ops = to_movement_ops(t);
            }
            py::list out;
            for (const MovementOp& op : ops) out.append(of_movement(op));
            return out;
          },
          "(name, argument) of operations that make it from a flat buffer of real_size().")
      .def("vars", &ShapeTracker::vars, Free(), "The variables in it, by name.")
      .def("explain", &merge_words, Free(), "Why it is, or is not, one view, in a sentence.")
      .def("__reduce__", [](const ShapeTracker& t) {
        return py::make_tuple(py::type::of<ShapeTracker>(), py::make_tuple(t.views()));
      });
  m.def(
      "get_contraction",
      [](const Shape& from, const Shape& to) { return get_contraction(from, to); },
      py::arg("old_shape"), py::arg("new_shape"),
      "For each new axis the old axes that it consists of, or None.");
}

}  // namespace touchstone::python
