#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/codegen/fault.h"
#include "touchstone/process/run.h"

namespace touchstone {

/// How the CLANG device compiles and runs.
struct ClangOptions {
  /// A C compiler with clang's or gcc's options, by name or path; empty: clang-19, then clang.
  std::string compiler;
  /// Limits of one run of the compiler, which is ended beyond them: time by the clock on the wall,
  /// output, the address space of each of its processes and the size of any file.
  process::Limits compiler_limits{.time = std::chrono::seconds(120),
                                  .output = std::uint64_t{16} << 20,
                                  .refused = {.memory = std::uint64_t{8} << 30,
                                              .file = std::uint64_t{8} << 30,
                                              .processor = std::chrono::seconds(0)}};
  /// Whether kernels are compiled so that undefined behaviour ends the process (SIGILL), and, where
  /// the program itself runs under AddressSanitizer, an access outside a buffer or array, too.
  bool sanitize = false;
  /// Where compiled kernels are kept, which must be writable; empty: $XDG_CACHE_HOME/touchstone or
  /// ~/.cache/touchstone.
  std::filesystem::path cache_dir;
  /// Bytes on disk that they may take; beyond them the least recently used go. 0: any number.
  std::uint64_t cache_size = std::uint64_t{1} << 30;
  int opt_level = 2;
  std::vector<std::string> extra_flags;
  int threads = 0;  // that share a large kernel; 0: as many as the machine has
  /// Operations from which on a kernel is large.
  std::int64_t parallel_work = std::int64_t{1} << 18;
  /// Whether compiled kernels stay on disk for the next run. If not, one run of the compiler makes
  /// all kernels that are prepared together, they go with their runners, and where it fails those
  /// that it takes are made all the same.
  bool keep = true;
  CodegenOptions codegen;
  /// Other than 0: the opts of each kernel are looked for by beam search (set_opts_chooser), so
  /// many lists wide.
  int beam = 0;
  Fault fault = Fault::None;  // to be put into the code

  /// TOUCHSTONE_CC, TOUCHSTONE_CACHE, TOUCHSTONE_THREADS, TOUCHSTONE_MATH (a MathLevel),
  /// TOUCHSTONE_ORDER (codegen.order: `lanes`, or `source` for one term after the other),
  /// TOUCHSTONE_FMA (1: codegen.contract, also within EXP2, LOG2 and SIN; by default where the
  /// processor does that in one instruction and the order is not the source's), TOUCHSTONE_BEAM and
  /// TOUCHSTONE_KERNEL_SAN (1: sanitize) where they are set, the defaults above elsewhere; likewise
  /// the limits of the compiler, TOUCHSTONE_CC_SECONDS, TOUCHSTONE_CC_OUTPUT and
  /// TOUCHSTONE_CC_MEMORY (MiB), and TOUCHSTONE_CACHE_SIZE (MiB), where 0 lifts one. Throws
  /// ParseError where TOUCHSTONE_THREADS is not a number from 1 to 4096, TOUCHSTONE_BEAM none from
  /// 0 to 64, TOUCHSTONE_FMA or TOUCHSTONE_KERNEL_SAN neither 0 nor 1, TOUCHSTONE_MATH no level,
  /// TOUCHSTONE_ORDER no order, or a limit not one from 0 to 1048576.
  static ClangOptions from_environment();
};

/// Whether this processor multiplies and adds in one instruction.
bool fuses_products_at_once();

/// The options with the default sizes in them made to fit this machine's registers.
CodegenOptions for_this_machine(CodegenOptions options);

}  // namespace touchstone
