#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "touchstone/dtype/dtype.h"

namespace touchstone::model {

/// TensorProto.DataType.
struct OnnxType {
  std::int64_t number;
  DType dtype;
};
inline constexpr std::array<OnnxType, 15> onnx_types = {{{1, DType::Float32},
                                                         {2, DType::UInt8},
                                                         {3, DType::Int8},
                                                         {4, DType::UInt16},
                                                         {5, DType::Int16},
                                                         {6, DType::Int32},
                                                         {7, DType::Int64},
                                                         {9, DType::Bool},
                                                         {10, DType::Float16},
                                                         {11, DType::Float64},
                                                         {12, DType::UInt32},
                                                         {13, DType::UInt64},
                                                         {16, DType::BFloat16},
                                                         {17, DType::Float8E4M3},
                                                         {19, DType::Float8E5M2}}};

inline std::optional<DType> dtype_of_onnx(std::int64_t number) {
  for (const OnnxType& t : onnx_types)
    if (t.number == number) return t.dtype;
  return std::nullopt;
}
inline std::int64_t onnx_of_dtype(DType dtype) {
  for (const OnnxType& t : onnx_types)
    if (t.dtype == dtype) return t.number;
  return 0;
}

}  // namespace touchstone::model
