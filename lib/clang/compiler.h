#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/clang/clang_options.h"

namespace touchstone::clang {

/// The compiler was ended because it exceeded ClangOptions::compiler_limits.
class CompilerLimit : public SystemError {
 public:
  using SystemError::SystemError;
};

/// The variables that set ClangOptions::compiler_limits.
inline const process::LimitNames kLimitNames{.time = "TOUCHSTONE_CC_SECONDS",
                                             .output = "TOUCHSTONE_CC_OUTPUT",
                                             .memory = "TOUCHSTONE_CC_MEMORY",
                                             .processor = ""};

/// Finds `wanted`, or a clang if it is empty. Throws SystemError that names the programs
/// tried, `what` is missing and what it is `needed` for.
std::filesystem::path find_compiler(const std::string& wanted, std::string_view what,
                                    std::string_view needed);

/// Returns the output of `program --version`, run once per process and program. Throws SystemError
/// if it cannot be run, CompilerLimit if it exceeds a limit.
std::string version_of(const std::filesystem::path& program, const process::Limits& limits);

/// Compiles C source to `output`, beside which temporary files lie. Throws as Compiler::compile;
/// `purpose`, as " for CUDA", is part of the messages.
void run_compiler(const std::filesystem::path& program, std::vector<std::string> arguments,
                  const std::string& source, const std::filesystem::path& output,
                  const process::Limits& limits, std::string_view purpose = "");

/// A C compiler that makes shared objects.
class Compiler {
 public:
  /// Finds the program and its version (run once per process and program). Throws SystemError
  /// naming the programs tried and how to get one.
  explicit Compiler(const ClangOptions& options);

  const std::filesystem::path& program() const { return program_; }
  /// Everything that an object depends on besides its source: path (a script may add flags),
  /// version, flags, processor, and the environment variables passed on.
  const std::string& identity() const { return identity_; }

  /// Compiles C source to the shared object `output`; temporary files lie beside it. Throws
  /// SystemError with the compiler's message and the numbered source, leaving no `output`. Throws
  /// CompilerLimit if it exceeds a limit, Interrupted (base/interrupt.h) on request.
  void compile(const std::string& source, const std::filesystem::path& output) const;
  /// Returns the assembly of C source. Throws as compile does.
  std::string assembly(const std::string& source) const;

 private:
  // Links without the compiler driver; false if the linker lacks something the driver would supply.
  bool linked(const std::filesystem::path& object, const std::filesystem::path& output) const;
  std::filesystem::path program_;
  std::filesystem::path linker_;  // empty if the compiler links
  process::Limits limits_;
  std::vector<std::string> flags_;
  std::string identity_;
};

}  // namespace touchstone::clang
