#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone {

inline constexpr int kKernelJsonVersion = 1;

/// One kernel as it travels: the AST and the sizes of the buffers it runs on.
struct KernelFile {
  LazyOpPtr ast;
  std::vector<BufferSpec> buffers;  // by number, output first
};

/// A kernel over buffers of the least size that holds its views.
KernelFile kernel_file(LazyOpPtr ast);

/// Canonical text, format in docs/kernel-json.md: equal kernels give equal text. One node a line.
std::string to_json(const KernelFile& kernel);
/// Hash of the canonical text (32 hexadecimal digits): the kernel's name across machines.
std::string kernel_hash(const KernelFile& kernel);

/// Reads what to_json wrote, or a hand-written equivalent. Throws ParseError or AstError naming the
/// node and what is wrong: not JSON, another version, an unknown op, wrong arity, shapes or dtypes
/// that disagree, a mask outside its axis, a view that leaves its buffer, a node that nothing
/// uses, a hash that does not match.
KernelFile kernel_from_json(std::string_view text);

}  // namespace touchstone
