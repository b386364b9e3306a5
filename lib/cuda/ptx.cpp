#include "touchstone/cuda/ptx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>
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

// For sm_90 the assembler of CUDA 13.0 fuses two maxima or minima of 32-bit integers into one
// VIMNMX3 and loses the sign of its second operand if that was negated: max(max(-a, -b), c) becomes
// max(-a, b, c). It widens neg.s16 and abs.s16 to 32 bits without wrapping, and miscompiles min.u16
// beside a comparison. Operands of these therefore pass through an XOR with the block's z
// coordinate. It is 0, which the assembler does not know, so it fuses nothing with the step that
// made them. This is done here and not in C, since clang makes such instructions of selects, casts
// and 64-bit maxima.
struct Hidden {
  std::string_view name, wide, widen;  // in 32 bits; the conversion of a 16-bit operand to them
  std::string_view from = {};          // text before a single operand: what to subtract it from
};
constexpr std::array<Hidden, 8> kHidden = {{{"max.s32", "max.s32", "mov.b32"},
                                            {"min.s32", "min.s32", "mov.b32"},
                                            {"max.s16", "max.s32", "cvt.s32.s16"},
                                            {"min.s16", "min.s32", "cvt.s32.s16"},
                                            {"max.u16", "max.u32", "cvt.u32.u16"},
                                            {"min.u16", "min.u32", "cvt.u32.u16"},
                                            {"neg.s16", "sub.s32", "cvt.s32.s16", ", zero"},
                                            {"abs.s16", "abs.s32", "cvt.s32.s16"}}};

// `operands`: "result, a, b" or, of a negation, "result, a".
std::string hidden(const Hidden& row, std::string_view operands) {
  std::string out = "\t{ .reg .b32 r, zero, x<2>; mov.u32 zero, %ctaid.z; ", taken;
  const std::size_t comma = operands.find(',');
  int count = 0;
  for (const auto part : std::views::split(operands.substr(comma + 1), ',')) {
    std::string_view operand(part.begin(), part.end());
    operand.remove_prefix(operand.find_first_not_of(' '));
    if (operand.front() == '%')
      taken += fmt::format(", x{}", count);
    else if (row.widen == "cvt.u32.u16")  // clang prints a large immediate as a negative number
      taken += fmt::format(", {}", std::stoi(std::string(operand)) & 0xffff);
    else
      taken += fmt::format(", {}", operand);
    if (operand.front() == '%')
      out += fmt::format("{1} x{0}, {2}; xor.b32 x{0}, x{0}, zero; ", count, row.widen, operand);
    ++count;
  }
  return out + fmt::format("{} r{}{}; {} {}, r; }}\n", row.wide, row.from, taken,
                           row.widen == "mov.b32" ? row.widen : "cvt.u16.u32",
                           operands.substr(0, comma));
}

// A 64-bit difference. Of the high half of a product of 32-bit integers less a number whose low
// half is 0 the assembler loses the carry that means "no borrow": it adds the negated number to the
// product before it takes the high half. So it may not see where the difference begins.
std::string apart(std::string_view name, std::string_view operands) {
  const std::size_t comma = operands.find(','), next = operands.find(',', comma + 1);
  const std::string_view target = operands.substr(0, comma);
  std::string_view first = operands.substr(comma + 1, next - comma - 1);
  first.remove_prefix(first.find_first_not_of(' '));
  constexpr std::string_view kBegin =
      "\t{ .reg .b32 z; .reg .b64 zero, x; mov.u32 z, %ctaid.z; cvt.u64.u32 zero, z; ";
  if (name == "neg.s64")
    return fmt::format("{}neg.s64 x, {}; xor.b64 {}, x, zero; }}\n", kBegin, first, target);
  if (first.front() != '%') return fmt::format("\tsub.s64 {};\n", operands);
  return fmt::format("{}xor.b64 x, {}, zero; sub.s64 {}, x{}; }}\n", kBegin, first, target,
                     operands.substr(next));
}

// Mends what the assembler gets wrong. An array in shared memory whose values are unused may also
// lose its place but not its reads, which then are of an illegal address: a volatile read at the
// end of the kernel uses it.
std::string mended(std::string_view ptx) {
  std::string out, uses;
  while (!ptx.empty()) {
    const std::string_view line = ptx.substr(0, std::min(ptx.find('\n'), ptx.size() - 1) + 1),
                           code = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    ptx.remove_prefix(line.size());
    const auto row = std::ranges::find(kHidden, code.substr(0, 7), &Hidden::name);
    if (code.starts_with("ret;")) out += uses;
    if (line.starts_with('}')) uses.clear();
    if (row != kHidden.end())
      out += hidden(*row, code.substr(8, code.find(';') - 8));
    else if (code.starts_with("sub.s64") || code.starts_with("neg.s64"))
      out += apart(code.substr(0, 7), code.substr(8, code.find(';') - 8));
    else
      out += line;
    if (const std::size_t end = code.find_first_of("[;"); code.starts_with(".shared"))
      uses += fmt::format("\t{{ .reg .b16 x; ld.volatile.shared.u8 x, [{}]; }}\n",
                          code.substr(code.rfind(' ', end) + 1, end - code.rfind(' ', end) - 1));
  }
  return out;
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
  return mended(with_block_sizes(read_file(output), source));
}

std::string kept_ptx(clang::ObjectCache& cache, const std::string& source, int capability,
                     const CudaOptions& options) {
  const std::filesystem::path program = compiler_of(options);
  const std::string key = "ptx-hidden-3-" + content_hash(fmt::format(
                                                "{}\n{}\n{}\n{}\n{}", program.string(),
                                                clang::version_of(program, options.compiler_limits),
                                                fmt::join(flags_for(capability, options), " "),
                                                process::tool_environment(), source));
  if (auto ptx = cache.read(key)) return std::move(*ptx);
  std::string ptx = compile_to_ptx(source, capability, options);
  cache.store(std::span(&key, 1), ptx);
  return ptx;
}

}  // namespace touchstone::cuda
