#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// The schedule of a program, by config.scheduler; nothing is computed.
struct ProgramKernels {
  std::vector<LazyOpPtr> kernels;  // computing kernels; null if they lack some op
  std::int64_t copies = 0, loads = 0, stores = 0, flops = 0;

  /// Counts the buffers it reads, once per kernel, the buffer it writes, and its operations.
  void add(const LazyOpPtr& kernel);
};

/// True if `--program` names a file: a program starts with the element type of an input and a
/// colon.
bool is_file(const std::string& program);
/// The program that `--program` names: its text, a file, or - for standard input.
std::string program_text(const std::string& program);

/// text: in the notation of fuzz/cases/uop_program.h. Throws ParseError, AstError.
ProgramKernels program_kernels(std::string_view text, const Config& config);

/// {"program": .., "options": {"FUSE_CONV_BW": 1}} -> {"kernels": n, "copies": m, "loads": ..,
/// "stores": .., "flops": ..} or {"error": ..}, as one line each.
std::string program_answer(std::string_view line, const Config& config);

}  // namespace touchstone::cli
