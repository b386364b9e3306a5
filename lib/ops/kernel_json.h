#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

inline constexpr int kKernelJsonVersion = 1;

/// A kernel file: the AST and the sizes of its buffers.
struct KernelFile {
  LazyOpPtr ast;
  std::vector<BufferSpec> buffers;  // by number, output first
};

/// Makes a kernel file with the smallest buffers that hold the views.
KernelFile kernel_file(LazyOpPtr ast);

/// Canonical text (docs/kernel-json.md), one node per line: equal kernels have equal text.
std::string to_json(const KernelFile& kernel);
/// Hash of the canonical text (32 hexadecimal digits); names the kernel on every machine.
std::string kernel_hash(const KernelFile& kernel);

/// Parses kernel.json. Throws ParseError or AstError naming the node and the fault: not JSON,
/// unsupported version, unknown op, wrong arity, inconsistent shapes or dtypes, mask outside its
/// axis, view outside its buffer, unused node, wrong hash.
KernelFile kernel_from_json(std::string_view text);

}  // namespace touchstone
