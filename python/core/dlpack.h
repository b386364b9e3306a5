#pragma once

#include <cstdint>

// The structures of DLPack 0.8, as its documentation has them (https://dmlc.github.io/dlpack).

namespace touchstone::python::dlpack {

struct Device {
  std::int32_t type;  // 1: host, 3: CUDA-pinned host memory
  std::int32_t id;
};
struct DataType {
  std::uint8_t code;  // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool; 10 e4m3fn, 12 e5m2
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

inline constexpr std::int32_t kHost = 1, kPinned = 3;

}  // namespace touchstone::python::dlpack
