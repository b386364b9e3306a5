#pragma once

#include <string>
#include <vector>

#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

/// What a load takes, by its op: CONST a ConstBuffer, of which the value counts; RAND a RandArg;
/// FROM and CONTIGUOUS one source; CUSTOM a function and its sources; EMPTY nothing.
struct LoadArgs {
  OpArg arg{};
  std::vector<LazyBufferPtr> srcs{};
  CustomFunctionPtr custom{};
};

/// What begins a graph, by its op: LazyBuffer::empty(), constant(), random(), custom(),
/// copy_to_device() (FROM) and contiguous(). Throws what they throw, Error where `op` begins no
/// graph or lacks what it takes, and ShapeError, DTypeError or BufferError where what it gives is
/// not what was asked for.
LazyBufferPtr loadop(Op op, const Shape& shape, DType dtype, const std::string& device,
                     const LoadArgs& args = {});

}  // namespace touchstone
