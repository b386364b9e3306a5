#include "touchstone/clang/compiler.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include <dlfcn.h>

#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"
#include "touchstone/process/room.h"
#include "touchstone/process/run.h"

namespace touchstone::clang {

namespace {

// -ffp-contract=off keeps the two roundings of a * b + c. No errno, so that sqrt is one
// instruction. No SLP vectorisation: clang 19 miscompiles (float)0xffffffff to 1 there. These flags
// must follow -O, because the last of contradicting flags wins. Compilers use half the vector width
// on processors that lower their clock for wide vectors; kernels are mostly vectors and gain more
// than that costs.
constexpr std::string_view base_flags[] = {"-xc",
                                           "-std=c11",
#ifdef __x86_64__
                                           "-mprefer-vector-width=512",
#endif
                                           "-fPIC",
                                           "-ffp-contract=off",
                                           "-fno-math-errno",
                                           "-fno-tree-slp-vectorize",
                                           "-w"};

// The -fsanitize=undefined checks that gcc has too, except the type of a called function.
constexpr const char* kSanitized =
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,bounds,null,alignment";

constexpr std::size_t kShownLines = 60;
constexpr std::size_t kShownOutput = 20'000;

// True if the user's flags do not concern the linker.
bool are_for_the_compiler(const std::vector<std::string>& flags) {
  return std::ranges::all_of(flags, [](const std::string& flag) {
    return flag.starts_with("-D") || flag.starts_with("-std=");
  });
}

// The data that -march=native depends on: model and features of the first processor.
std::string read_processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(info, line) && !line.empty();)
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features"))
      text += line + "\n";
  return text;
}

const std::string& processor() {
  static const std::string read = read_processor();
  return read;
}

// On AMD processors a gather is slower than separate loads: the product of a row and a transposed
// 1024 x 1024 matrix takes 0.89 ms with gathers, 0.59 ms without (Zen 4). gcc and clang before 17
// lack the flag.
bool should_not_gather(const std::string& version) {
#ifdef __x86_64__
  constexpr std::string_view kClang = "clang version ";
  const std::size_t at = version.find(kClang);
  if (at == std::string::npos || processor().find("AMD") == std::string::npos) return false;
  int major = 0;
  std::from_chars(version.data() + at + kClang.size(), version.data() + version.size(), major);
  return major >= 17;
#else
  (void)version;
  return false;
#endif
}

std::size_t first_bad_line(const std::string& message) {
  const std::size_t at = message.find("<stdin>:");
  if (at == std::string::npos) return 1;
  const std::size_t line = std::strtoul(message.c_str() + at + 8, nullptr, 10);
  return line == 0 ? 1 : line;
}

// Numbers the source lines; of a long source, only those around the line in the message.
std::string numbered(const std::string& source, std::size_t around) {
  std::string text;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    ++number;
    if (number + kShownLines > around && number < around + kShownLines)
      text += fmt::format("{:>5} | {}\n", number, source.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::filesystem::path find_compiler(const std::string& wanted, std::string_view what,
                                    std::string_view needed) {
  const std::vector<std::string> names =
      wanted.empty() ? std::vector<std::string>{"clang-19", "clang"} : std::vector{wanted};
  for (const std::string& name : names)
    if (auto program = process::find_program(name); !program.empty()) return program;
  throw SystemError(
      fmt::format("no {}: looked for {} on PATH; install it (apt-get install clang-19) or set "
                  "TOUCHSTONE_CC to {}",
                  what, fmt::join(names, " and "), needed));
}

std::string version_of(const std::filesystem::path& program, const process::Limits& limits) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::string> known;
  const std::scoped_lock lock(mutex);
  if (const auto it = known.find(program); it != known.end()) return it->second;
  const process::Finished result = process::run_program({program, {"--version"}, {}}, {}, limits);
  const std::string limit = result.limit_text(limits, kLimitNames);
  if (result.exceeded != process::Exceeded::Nothing)
    throw CompilerLimit(fmt::format("{} --version was killed: {}", program.string(), limit));
  if (const int status = result.ending.exit_code(); status != 0)
    throw SystemError(fmt::format("{} --version failed with status {}{}; is it a C compiler? {}",
                                  program.string(), status, limit.empty() ? "" : "; " + limit,
                                  result.output.substr(0, kShownOutput)));
  return known.emplace(program, result.output).first->second;
}

Compiler::Compiler(const ClangOptions& options)
    : program_(find_compiler(options.compiler, "C compiler", "a clang or gcc")),
      limits_(options.compiler_limits) {
  flags_.push_back(fmt::format("-O{}", options.opt_level));
  for (const std::string_view f : base_flags) flags_.emplace_back(f);
  flags_.push_back("-march=" + options.march);
  if (should_not_gather(version_of(program_, limits_))) flags_.emplace_back("-mno-gather");
  if (options.codegen.contract) flags_.emplace_back("-DFUSES_PRODUCTS");
  if (options.sanitize) {
    for (const char* const f : {"-g1", kSanitized, "-fsanitize-undefined-trap-on-error"})
      flags_.emplace_back(f);
    if (dlsym(RTLD_DEFAULT, "__asan_init") != nullptr) flags_.emplace_back("-fsanitize=address");
  }
  flags_.insert(flags_.end(), options.extra_flags.begin(), options.extra_flags.end());
  if (!options.sanitize && are_for_the_compiler(options.extra_flags))
    linker_ = process::find_program("ld");
  identity_ = content_hash(fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", program_.string(), version_of(program_, limits_),
      fmt::join(flags_, " "), processor(),
      linker_.empty() ? std::string() : version_of(linker_, limits_), process::tool_environment()));
}

void Compiler::compile(const std::string& source, const std::filesystem::path& output) const {
  std::vector<std::string> arguments = flags_;
  if (!linker_.empty()) {
    std::filesystem::path object = output;
    object += ".o";
    arguments.insert(arguments.end(), {"-c", "-o", object.string(), "-"});
    run_compiler(program_, std::move(arguments), source, object, limits_);
    if (linked(object, output)) return;
    arguments = flags_;
  }
  // No start-up files, so that loading runs no code.
  arguments.insert(arguments.end(),
                   {"-shared", "-nostartfiles", "-o", output.string(), "-", "-lm"});
  run_compiler(program_, std::move(arguments), source, output, limits_);
}

// A driver that compiles and links restarts itself for each step: twice the time for a small
// kernel.
bool Compiler::linked(const std::filesystem::path& object,
                      const std::filesystem::path& output) const {
  const process::Finished result = process::run_program(
      {linker_,
       {"-shared", "-z", "defs", "-o", output.string(), object.string(), "-lm", "-lc"},
       {"TMPDIR=" + output.parent_path().string()},
       process::Inherits::Tool,
       process::room_in(output.parent_path())},
      {}, limits_);
  std::error_code ignored;
  std::filesystem::remove(object, ignored);
  if (result.exceeded == process::Exceeded::Nothing && result.ending.exit_code() == 0 &&
      std::filesystem::exists(output, ignored))
    return true;
  std::filesystem::remove(output, ignored);
  return false;
}

std::string Compiler::assembly(const std::string& source) const {
  const TemporaryDirectory folder("touchstone-compile");
  const std::filesystem::path output = folder.path() / "kernel.s";
  std::vector<std::string> arguments = flags_;
  arguments.insert(arguments.end(),
                   {"-S", "-fno-asynchronous-unwind-tables", "-o", output.string(), "-"});
  run_compiler(program_, std::move(arguments), source, output, limits_);
  return read_file(output);
}

void run_compiler(const std::filesystem::path& program, std::vector<std::string> arguments,
                  const std::string& source, const std::filesystem::path& output,
                  const process::Limits& limits, std::string_view purpose) {
  const process::Finished result =
      process::run_program({program,
                            std::move(arguments),
                            {"TMPDIR=" + output.parent_path().string()},
                            process::Inherits::Tool,
                            process::room_in(output.parent_path())},
                           source, limits);
  const int status = result.ending.exit_code();
  const bool ended_by_us = result.exceeded != process::Exceeded::Nothing;
  std::error_code ignored;
  if (status == 0 && !ended_by_us && std::filesystem::exists(output, ignored)) return;
  if (status == 0 && !ended_by_us)
    throw SystemError(
        fmt::format("{} produced no object file; is it a C compiler?", program.string()));
  std::filesystem::remove(output, ignored);
  const std::string limit = result.limit_text(limits, kLimitNames);
  if (ended_by_us)
    throw CompilerLimit(
        fmt::format("{} was killed while compiling{}: {}", program.string(), purpose, limit));
  throw SystemError(fmt::format("{} failed with status {}{} while compiling{}:\n{}\nin\n{}",
                                program.string(), status, limit.empty() ? "" : "; " + limit,
                                purpose, result.output.substr(0, kShownOutput),
                                numbered(source, first_bad_line(result.output))));
}

}  // namespace touchstone::clang
