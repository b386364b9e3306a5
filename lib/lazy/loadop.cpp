#include "touchstone/lazy/loadop.h"

#include <utility>

#include "touchstone/device/device.h"

namespace touchstone {
namespace {

template <class T>
const T& argument(Op op, const OpArg& arg, std::string_view what) {
  const T* const found = std::get_if<T>(&arg);
  if (found == nullptr) throw Error(fmt::format("loadop: {} takes {} as argument", name(op), what));
  return *found;
}

void check_type(Op op, DType made, DType wanted) {
  if (made != wanted)
    throw DTypeError(
        fmt::format("loadop: {} gives {}, not {}; cast it", name(op), name(made), name(wanted)));
}

// The only source, which is to be of this shape and dtype.
const LazyBufferPtr& only(Op op, std::span<const LazyBufferPtr> srcs, const Shape& shape,
                          DType dtype) {
  if (srcs.size() != 1)
    throw Error(fmt::format("loadop: {} takes 1 source, {} given", name(op), srcs.size()));
  if (srcs[0]->shape() != shape)
    throw ShapeError(fmt::format("loadop: {} of shape {} from a source of shape {}; reshape it",
                                 name(op), str(shape), str(srcs[0]->shape())));
  check_type(op, srcs[0]->dtype(), dtype);
  return srcs[0];
}

}  // namespace

LazyBufferPtr loadop(Op op, const Shape& shape, DType dtype, const std::string& device,
                     const LoadArgs& args) {
  const std::vector<LazyBufferPtr>& srcs = args.srcs;
  switch (op) {
    case Op::From:
      return only(op, srcs, shape, dtype)->copy_to_device(device);
    case Op::Contiguous: {
      const LazyBufferPtr& source = only(op, srcs, shape, dtype);
      if (source->device() != Device::canonical(device))
        throw BufferError(fmt::format("loadop: CONTIGUOUS on {} of a source on {}; FROM copies",
                                      Device::canonical(device), source->device()));
      return source->contiguous();
    }
    case Op::Custom:
      if (args.custom == nullptr) throw Error("loadop: CUSTOM takes a function");
      return LazyBuffer::custom(args.custom, srcs, shape, dtype, device);
    default:
      break;
  }
  if (!srcs.empty())
    throw Error(fmt::format("loadop: {} takes no sources, {} given", name(op), srcs.size()));
  switch (op) {
    case Op::Empty:
      return LazyBuffer::empty(shape, dtype, device);
    case Op::LoadConst: {
      const Scalar& value = argument<ConstBuffer>(op, args.arg, "a value").value;
      check_type(op, value.dtype(), dtype);
      return LazyBuffer::constant(value, shape, device);
    }
    case Op::Rand:
      check_type(op, DType::Float32, dtype);
      return LazyBuffer::random(argument<RandArg>(op, args.arg, "a seed and a place in its stream"),
                                shape, device);
    default:
      throw Error(fmt::format(
          "loadop: {} begins no graph; want EMPTY, CONST, RAND, FROM, CONTIGUOUS or CUSTOM",
          name(op)));
  }
}

}  // namespace touchstone
