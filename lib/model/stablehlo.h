#pragma once

#include <string_view>
#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/model/onnx_texts.h"

namespace touchstone::model {

/// "tensor<2x3xf32>". A complex type has its parts on a further axis of size 2; -1 is an open size.
struct TensorType {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  bool is_complex = false;
};
/// Throws ParseError.
TensorType tensor_type(std::string_view text);
/// The elements of "dense<...>". Throws ParseError.
HostArray dense_elements(std::string_view text, const TensorType& type);

std::vector<NamedRow> stablehlo_rows();

}  // namespace touchstone::model
