#pragma once

#include "touchstone/uop/uop.h"

namespace touchstone::kernelize {

/// Why a node of image type that lies as `st` says is no image, or nothing where it is one: it has
/// another number of elements, or no axis of a multiple of four elements along which neighbours
/// meet in memory. Throws DTypeError or ShapeError where there is no such image.
std::string why_no_image(const UOpType& image, const ShapeTracker& st);

/// The ops whose nodes lose the type of an image that they are not: all but BUFFER, VIEW, CONST and
/// DEVICE.
OpSet ops_that_lose_images();

}  // namespace touchstone::kernelize
