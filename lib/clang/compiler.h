#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/clang/clang_options.h"

namespace touchstone::clang {

/// A compiler was ended since it took more than ClangOptions::compiler_limits allow.
class CompilerLimit : public SystemError {
 public:
  using SystemError::SystemError;
};

/// What `program --version` says, asked once a process for each. Throws SystemError where it cannot
/// be asked, CompilerLimit where it takes too much.
std::string version_of(const std::filesystem::path& program, const process::Limits& limits);

/// A C compiler that turns source into shared objects.
class Compiler {
 public:
  /// Finds the program and asks for its version (once a process for each program). Throws
  /// SystemError saying what was looked for and how to get it.
  explicit Compiler(const ClangOptions& options);

  const std::filesystem::path& program() const { return program_; }
  /// All that an object depends on besides its source: path (a script may add flags), version,
  /// flags, processor, and the variables of the environment that it gets.
  const std::string& identity() const { return identity_; }

  /// Writes the shared object of a C file to `output`; what the compiler needs on the way lies
  /// beside it. Throws SystemError with the compiler's message and the numbered source; nothing is
  /// left at `output` then. Throws CompilerLimit where it takes too much, Interrupted
  /// (base/interrupt.h) where that is asked for.
  void compile(const std::string& source, const std::filesystem::path& output) const;
  /// The assembly of a C file, as text. Throws as compile does.
  std::string assembly(const std::string& source) const;

 private:
  // Made by the linker alone; false where it lacks something that the compiler knows of.
  bool linked(const std::filesystem::path& object, const std::filesystem::path& output) const;
  void run(std::vector<std::string> arguments, const std::string& source,
           const std::filesystem::path& output) const;
  std::filesystem::path program_;
  std::filesystem::path linker_;  // empty where the compiler links
  process::Limits limits_;
  std::vector<std::string> flags_;
  std::string identity_;
};

}  // namespace touchstone::clang
