#include "touchstone/kernelize/images.h"

#include <algorithm>

#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::kernelize {

std::string why_no_image(const UOpType& image, const ShapeTracker& st) {
  const std::int64_t wanted = image.image_dtype().elements();
  if (st.size() != sint(wanted))
    return fmt::format("it has {} elements, but {} has {}", st.size().str(), image.str(), wanted);
  const auto in_fours = [&](int axis) {
    return floor_mod(st.shape()[static_cast<std::size_t>(axis)], 4) == sint(0);
  };
  if (std::ranges::any_of(unit_stride_axes(st), in_fours)) return "";
  return fmt::format("no axis of {} with stride 1 has a multiple of 4 elements", str(st.shape()));
}

OpSet ops_that_lose_images() {
  OpSet ops;
  for (int i = 0; i < kGraphOpCount; ++i) {
    const auto op = static_cast<GraphOp>(i);
    if (op != GraphOp::Buffer && op != GraphOp::View && op != GraphOp::Const &&
        op != GraphOp::Device)
      ops.add(op);
  }
  return ops;
}

}  // namespace touchstone::kernelize
