#include <span>

#include "touchstone/base/error.h"
#include "touchstone/capi/guard.h"
#include "touchstone/shapetracker/ask/reason.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/simplify.h"

using touchstone::Shape;
using touchstone::ShapeTracker;
using touchstone::View;
using touchstone::capi::guarded;
using touchstone::capi::guarded_text;
using touchstone::capi::require;

struct touchstone_view {
  ShapeTracker tracker;
  std::string text;
};

namespace {

constexpr std::size_t kMostAxes = 4096;
constexpr std::size_t kMostShownParts = 1'000'000;  // in one expression

// `each`: how many numbers per axis.
template <class T>
std::span<const T> numbers(const T* given, std::size_t rank, std::string_view name,
                           std::size_t each = 1) {
  if (rank > kMostAxes)
    throw touchstone::ShapeError(
        fmt::format("{}: {} axes; the limit is {}", name, rank, kMostAxes));
  if (rank != 0) require(given, name);
  return {given, rank * each};
}

Shape shape_of(const std::int64_t* given, std::size_t rank, std::string_view name) {
  const auto sizes = numbers(given, rank, name);
  return {sizes.begin(), sizes.end()};
}

std::vector<touchstone::Range> pairs(const std::int64_t* given, std::size_t rank,
                                     std::string_view name) {
  const auto flat = numbers(given, rank, name, 2);
  std::vector<touchstone::Range> made;
  for (std::size_t i = 0; i < flat.size(); i += 2) made.emplace_back(flat[i], flat[i + 1]);
  return made;
}

template <class Move>
touchstone_status moved(touchstone_view* view, const Move& move) {
  return guarded([&] {
    require(view, "view");
    view->tracker = move(view->tracker);
  });
}

const View& part_of(const touchstone_view& view, std::size_t part) {
  if (part >= view.tracker.views().size())
    throw touchstone::ShapeError(fmt::format("there is no part {} in a stack of {}; count from 0",
                                             part, view.tracker.views().size()));
  return view.tracker.views()[part];
}

}  // namespace

touchstone_status touchstone_view_new(const int64_t* shape, size_t rank, touchstone_view** view) {
  return guarded([&] {
    require(view, "view");
    *view = new touchstone_view{ShapeTracker::contiguous(shape_of(shape, rank, "shape")), {}};
  });
}

touchstone_status touchstone_view_strided(const int64_t* shape, const int64_t* strides, size_t rank,
                                          int64_t offset, touchstone_view** view) {
  return guarded([&] {
    require(view, "view");
    const auto steps = numbers(strides, rank, "strides");
    View made = View::strided(shape_of(shape, rank, "shape"), {steps.begin(), steps.end()}, offset);
    *view = new touchstone_view{ShapeTracker({std::move(made)}), {}};
  });
}

touchstone_status touchstone_view_copy(const touchstone_view* view, touchstone_view** copy) {
  return guarded([&] {
    require(view, "view");
    require(copy, "copy");
    *copy = new touchstone_view{view->tracker, {}};
  });
}

void touchstone_view_free(touchstone_view* view) { delete view; }

touchstone_status touchstone_view_reshape(touchstone_view* view, const int64_t* shape,
                                          size_t rank) {
  return moved(view,
               [&](const ShapeTracker& t) { return t.reshape(shape_of(shape, rank, "shape")); });
}

touchstone_status touchstone_view_expand(touchstone_view* view, const int64_t* shape, size_t rank) {
  return moved(view,
               [&](const ShapeTracker& t) { return t.expand(shape_of(shape, rank, "shape")); });
}

touchstone_status touchstone_view_permute(touchstone_view* view, const int* order, size_t rank) {
  return moved(view,
               [&](const ShapeTracker& t) { return t.permute(numbers(order, rank, "order")); });
}

touchstone_status touchstone_view_pad(touchstone_view* view, const int64_t* padding, size_t rank) {
  return moved(view, [&](const ShapeTracker& t) { return t.pad(pairs(padding, rank, "padding")); });
}

touchstone_status touchstone_view_shrink(touchstone_view* view, const int64_t* ranges,
                                         size_t rank) {
  return moved(view,
               [&](const ShapeTracker& t) { return t.shrink(pairs(ranges, rank, "ranges")); });
}

touchstone_status touchstone_view_stride(touchstone_view* view, const int64_t* steps, size_t rank) {
  return moved(view,
               [&](const ShapeTracker& t) { return t.stride(numbers(steps, rank, "steps")); });
}

touchstone_status touchstone_view_simplify(touchstone_view* view) {
  return moved(view, [](const ShapeTracker& t) { return simplify(t); });
}

size_t touchstone_view_parts(const touchstone_view* view) {
  return view == nullptr ? 0 : view->tracker.views().size();
}

size_t touchstone_view_rank(const touchstone_view* view, size_t part) {
  return part < touchstone_view_parts(view) ? view->tracker.views()[part].shape().size() : 0;
}

touchstone_status touchstone_view_part(const touchstone_view* view, size_t part, int64_t* shape,
                                       int64_t* strides, int64_t* offset, int64_t* mask) {
  return guarded([&] {
    require(view, "view");
    const View& asked = part_of(*view, part);
    for (std::size_t i = 0; i < asked.shape().size(); ++i) {
      if (shape != nullptr) shape[i] = asked.shape()[i].as_int();
      if (strides != nullptr) strides[i] = asked.strides()[i].as_int();
      if (mask != nullptr) {
        mask[2 * i] = asked.mask() ? (*asked.mask())[i].first.as_int() : 0;
        mask[2 * i + 1] =
            asked.mask() ? (*asked.mask())[i].second.as_int() : asked.shape()[i].as_int();
      }
    }
    if (offset != nullptr) *offset = asked.offset().as_int();
  });
}

touchstone_status touchstone_view_at(const touchstone_view* view, const int64_t* index, size_t rank,
                                     int64_t* element) {
  return guarded([&] {
    require(view, "view");
    require(element, "element");
    const auto at = numbers(index, rank, "index");
    const Shape& shape = view->tracker.shape();
    if (rank != shape.size())
      throw touchstone::ShapeError(fmt::format("{} indices given for {}", rank, str(shape)));
    for (std::size_t i = 0; i < rank; ++i)
      if (at[i] < 0 || at[i] >= shape[i].as_int())
        throw touchstone::ShapeError(
            fmt::format("index {} of axis {} is outside {}", at[i], i, str(shape)));
    *element = view->tracker.at(at).value_or(-1);
  });
}

const char* touchstone_view_index(touchstone_view* view) {
  if (view == nullptr) return nullptr;
  return guarded_text(view->text, [&] {
    return touchstone::bounded_text(expr_idxs(view->tracker).index, kMostShownParts);
  });
}

const char* touchstone_view_valid(touchstone_view* view) {
  if (view == nullptr) return nullptr;
  return guarded_text(view->text, [&] {
    return touchstone::bounded_text(expr_idxs(view->tracker).valid, kMostShownParts);
  });
}

const char* touchstone_view_reason(touchstone_view* view) {
  if (view == nullptr) return nullptr;
  return guarded_text(view->text,
                      [&] { return touchstone::shapetracker::reason(view->tracker.views()).text; });
}
