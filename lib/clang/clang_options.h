#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/codegen/fault.h"
#include "touchstone/process/run.h"

namespace touchstone {

/// How the CLANG device compiles and runs.
struct ClangOptions {
  /// A C compiler with clang- or gcc-style options, by name or path; empty: clang-19, then clang.
  std::string compiler;
  /// Limits of one compiler run, which is ended beyond them: wall-clock time, output, address space
  /// of each process, size of any file.
  process::Limits compiler_limits{.time = std::chrono::seconds(120),
                                  .output = std::uint64_t{16} << 20,
                                  .refused = {.memory = std::uint64_t{8} << 30,
                                              .file = std::uint64_t{8} << 30,
                                              .processor = std::chrono::seconds(0)}};
  /// Compile kernels so that undefined behaviour ends the process (SIGILL). If this program runs
  /// under AddressSanitizer, accesses outside a buffer or array end it too.
  bool sanitize = false;
  /// The folder for compiled kernels, which must be writable; empty: $XDG_CACHE_HOME/touchstone or
  /// ~/.cache/touchstone.
  std::filesystem::path cache_dir;
  /// Maximum bytes in cache_dir; the least recently used files are removed. 0: no limit.
  std::uint64_t cache_size = std::uint64_t{1} << 30;
  int opt_level = 2;
  std::string march = "native";  // x86-64-v3: held to AVX2
  std::vector<std::string> extra_flags;
  int threads = 0;  // threads sharing a large kernel; 0: one per processor
  /// Minimum number of operations of a large kernel.
  std::int64_t parallel_work = std::int64_t{1} << 18;
  /// Keep compiled kernels on disk for the next run. If false, one compiler run makes all kernels
  /// that are prepared together, and objects are deleted with their runners; if that run fails, the
  /// kernels that do compile are still made.
  bool keep = true;
  CodegenOptions codegen;
  /// Width of the beam search for each kernel's opts (set_opts_chooser); 0: no search.
  int beam = 0;
  Fault fault = Fault::None;  // injected into the code

  /// Options from the environment; unset variables leave the defaults above:
  /// - TOUCHSTONE_CC, TOUCHSTONE_CACHE, TOUCHSTONE_THREADS (1 to 4096), TOUCHSTONE_MATH (a
  ///   MathLevel), TOUCHSTONE_BEAM (0 to 64), TOUCHSTONE_KERNEL_SAN (0 or 1: sanitize);
  /// - TOUCHSTONE_ORDER (codegen.order: `lanes`, or `source` for one term after the other);
  /// - TOUCHSTONE_FMA (0 or 1: codegen.contract, also within EXP2, LOG2 and SIN; by default 1 if
  ///   the processor has such an instruction and the order is not the source's);
  /// - TOUCHSTONE_MARCH (native, or x86-64-v3 if the processor has AVX2);
  /// - TOUCHSTONE_CC_SECONDS, TOUCHSTONE_CC_OUTPUT, TOUCHSTONE_CC_MEMORY and TOUCHSTONE_CACHE_SIZE
  ///   (MiB): 0 (no limit) to 1048576.
  /// Throws ParseError for any other value.
  static ClangOptions from_environment();
};

/// The whole number in an environment variable; nullopt if it is unset or empty. Throws ParseError
/// for anything but `least` to `most`.
std::optional<int> number_from_environment(const char* name, int least, int most);

/// True if this processor has a fused multiply-add instruction.
bool fuses_products_at_once();

/// Returns the options' codegen with default sizes adapted to the processor (machine.h).
CodegenOptions for_this_machine(const ClangOptions& clang);

}  // namespace touchstone
