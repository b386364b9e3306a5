#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"

// Writes ONNX's wire format: protocol buffers, with the numbers of the fields in onnx.proto.

namespace touchstone::emit {

void put(std::string& to, int field, std::string_view block);
void put(std::string& to, int field, std::int64_t value);
std::string field_of(int field, std::string_view block);
/// A ValueInfoProto.
std::string value_info(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape);
/// A TensorProto of these bytes.
std::string tensor(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape,
                   std::string_view bytes);
/// A ModelProto of a graph.
std::string model(std::string_view graph, int opset);

}  // namespace touchstone::emit
