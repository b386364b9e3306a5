#include "touchstone/cuda/ptx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/process/run.h"

namespace touchstone::cuda {

namespace {

constexpr std::array<int, 9> kCapabilities = {50, 60, 61, 70, 75, 80, 86, 89, 90};

std::filesystem::path compiler_of(const CudaOptions& options) {
  return clang::find_compiler(options.compiler, "compiler for CUDA kernels",
                              "a clang with the target nvptx64");
}

// No 16-bit vectors: clang 19 cannot select comparisons of 16-bit integer pairs. -ffp-contract=off
// keeps the two roundings of a * b + c; by default divisions and roots round correctly and
// subnormals are kept.
std::vector<std::string> flags_for(int capability, const CudaOptions& options) {
  const auto known = std::ranges::upper_bound(kCapabilities, capability);
  if (known == kCapabilities.begin())
    throw SystemError(fmt::format("compute capability {}.{} is below 5.0, the lowest supported",
                                  capability / 10, capability % 10));
  return {"-xc",
          "-std=gnu11",
          "--target=nvptx64-nvidia-cuda",
          "-nocudalib",
          fmt::format("-march=sm_{}", *(known - 1)),
          fmt::format("-O{}", options.opt_level),
          "-ffp-contract=off",
          "-fno-math-errno",
          "-fno-slp-vectorize",
          "-fno-vectorize",
          "-w",
          "-S"};
}

// Adds the block size of each kernel, KERNEL(n) in the source, which C for this target cannot
// express: without it the assembler may use more registers per thread than a block that large can
// have.
std::string with_block_sizes(std::string ptx, std::string_view source) {
  constexpr std::string_view mark = "\nKERNEL(";
  for (std::size_t at = source.find(mark); at != std::string_view::npos;
       at = source.find(mark, at + 1)) {
    const std::size_t number = at + mark.size(), close = source.find(") ", number);
    const std::string_view threads = source.substr(number, close - number),
                           name = source.substr(close + 2, source.find('(', close) - close - 2);
    const std::size_t entry = ptx.find(fmt::format(".entry {}(", name));
    if (entry == std::string::npos) continue;
    ptx.insert(ptx.find(')', entry) + 1, fmt::format("\n.maxntid {}, 1, 1", threads));
  }
  return ptx;
}

}  // namespace

std::string compile_to_ptx(const std::string& source, int capability, const CudaOptions& options) {
  std::vector<std::string> arguments = flags_for(capability, options);
  const TemporaryDirectory folder("touchstone-ptx");
  const std::filesystem::path output = folder.path() / "kernels.ptx";
  const std::filesystem::path program = compiler_of(options);
  arguments.insert(arguments.end(), {"-o", output.string(), "-"});
  clang::run_compiler(program, std::move(arguments), source, output, options.compiler_limits,
                      " for CUDA");
  return with_block_sizes(read_file(output), source);
}

std::string kept_ptx(clang::ObjectCache& cache, const std::string& source, int capability,
                     const CudaOptions& options) {
  const std::filesystem::path program = compiler_of(options);
  const std::string key =
      "ptx-" + content_hash(fmt::format("{}\n{}\n{}\n{}\n{}", program.string(),
                                        clang::version_of(program, options.compiler_limits),
                                        fmt::join(flags_for(capability, options), " "),
                                        process::tool_environment(), source));
  if (auto ptx = cache.read(key)) return std::move(*ptx);
  std::string ptx = compile_to_ptx(source, capability, options);
  cache.store(std::span(&key, 1), ptx);
  return ptx;
}

}  // namespace touchstone::cuda
