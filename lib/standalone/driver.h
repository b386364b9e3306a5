#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "touchstone/dtype/dtype.h"

namespace touchstone::standalone {

/// An input or output array of the program.
struct Array {
  DType dtype;
  std::string shape;
  std::size_t bytes = 0;
};

/// A kernel call; buffers by number, as C expressions.
struct KernelCall {
  std::string function;
  std::vector<std::string> buffers;
  std::vector<std::int64_t> variables;
  bool checks = false;
};

struct Copy {
  std::string to, from;
  std::size_t bytes = 0;
};

struct EmittedProgram {
  std::string name;
  std::vector<Array> inputs, outputs;
  std::string preamble, functions;
  std::vector<KernelCall> calls;
  std::vector<Copy> copies;  // after the calls
  std::string weights;
  std::size_t workspace = 0;  // bytes
};

/// Returns the files by name.
std::map<std::string, std::string> files(const EmittedProgram& program);

}  // namespace touchstone::standalone
