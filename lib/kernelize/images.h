#pragma once

#include "touchstone/uop/uop.h"

namespace touchstone::kernelize {

/// Returns why a node of image type with layout `st` is not an image, or nothing if it is one: it
/// has another number of elements, or no axis of a multiple of four elements that are adjacent in
/// memory. Throws DTypeError or ShapeError if there is no such image type.
std::string why_no_image(const UOpType& image, const ShapeTracker& st);

/// The ops whose nodes lose an image type that does not fit: all except BUFFER, VIEW, CONST and
/// DEVICE.
OpSet ops_that_lose_images();

}  // namespace touchstone::kernelize
