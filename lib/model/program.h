#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "touchstone/files/npy.h"

namespace touchstone::model {

struct Graph;

/// A constant argument of an operation.
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, HostArray, std::shared_ptr<const Graph>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// One operation of a program. Values have the names of the source; an empty one is left out.
struct Operation {
  std::string kind;   // "Conv", or "DOMAIN.KIND" outside the dialect's own operators
  std::string place;  // of messages: "node 3 'conv1'", "line 12"
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
  std::string source;  // as it stands in the file
  int version = 0;     // of its operator, in a function with an opset of its own; 0: the program's
};

/// An input: its type and sizes if the source gives them. A size without a number is 'batch', or
/// '?'.
struct Argument {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::variant<std::int64_t, std::string>>> shape;
};

/// Operations in an order in which each follows the producers of its inputs.
struct Graph {
  std::vector<Argument> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, HostArray, std::less<>> constants;
  std::vector<Operation> operations;
  std::map<std::string, DType, std::less<>> types;  // of values, where the source gives them
};

inline constexpr std::size_t kMostOperations = 100'000;  // of one program

/// A program of named operations, read from a file.
struct ModelProgram {
  Graph graph;
  std::string dialect;  // "onnx" or "stablehlo"
  int version = 0;      // of its operators: ONNX's opset
};

/// Reads an ONNX model, opset 7 or later. Functions of the model are expanded. Elements outside the
/// file are read from `folder` or below, nowhere else; an empty `folder` refuses them. Throws
/// ParseError or SystemError that begins with `where` and names the node.
ModelProgram parse_onnx(std::string_view bytes, const std::string& where,
                        const std::string& folder);
/// Reads a module of StableHLO or CHLO operations as MLIR prints it; the program is its function
/// 'main', with calls expanded. Complex arrays have their parts on a further axis of size 2. Throws
/// ParseError that begins with `where` and names the line.
ModelProgram parse_stablehlo(std::string_view text, const std::string& where);
/// Reads FILE.onnx, of at most 2 GiB, or FILE.mlir. Throws as above.
ModelProgram read_model(const std::string& path);
/// As parse_onnx, of a file of at most 2 GiB.
ModelProgram read_onnx(const std::string& path);
/// The same model with the named values as additional outputs.
std::string exposing(std::string_view onnx, const std::vector<std::string>& values);
/// A model of one operation, whose inputs have these types and sizes.
std::string single_node(const ModelProgram& program, const Operation& operation,
                        const std::map<std::string, const HostArray*>& inputs);

}  // namespace touchstone::model
