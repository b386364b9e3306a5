#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "touchstone/dtype/dtype.h"

namespace touchstone::emit {

/// A type's number in ONNX (TensorProto.DataType) and its name in MLIR.
struct ForeignType {
  std::int64_t onnx;
  std::string_view mlir;
  DType dtype;
};
inline constexpr std::array<ForeignType, 15> foreign_types = {{{1, "f32", DType::Float32},
                                                               {2, "ui8", DType::UInt8},
                                                               {3, "i8", DType::Int8},
                                                               {4, "ui16", DType::UInt16},
                                                               {5, "i16", DType::Int16},
                                                               {6, "i32", DType::Int32},
                                                               {7, "i64", DType::Int64},
                                                               {9, "i1", DType::Bool},
                                                               {10, "f16", DType::Float16},
                                                               {11, "f64", DType::Float64},
                                                               {12, "ui32", DType::UInt32},
                                                               {13, "ui64", DType::UInt64},
                                                               {16, "bf16", DType::BFloat16},
                                                               {17, "f8E4M3FN", DType::Float8E4M3},
                                                               {19, "f8E5M2", DType::Float8E5M2}}};

inline std::optional<DType> dtype_of_onnx(std::int64_t number) {
  for (const ForeignType& t : foreign_types)
    if (t.onnx == number) return t.dtype;
  return std::nullopt;
}
inline const ForeignType& foreign_type(DType dtype) {
  for (const ForeignType& t : foreign_types)
    if (t.dtype == dtype) return t;
  return foreign_types[0];  // every type has a row
}
inline std::int64_t onnx_of_dtype(DType dtype) { return foreign_type(dtype).onnx; }

}  // namespace touchstone::emit
