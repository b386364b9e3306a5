#pragma once

#include <string>

#include "touchstone/codegen/render_c.h"

namespace touchstone::tcc {

/// C compiled by libtcc into memory owned by this object. Reads no header, library or file; the
/// code may call only libm functions and what libtcc itself calls.
class CompiledC {
 public:
  /// Throws SystemError with the compiler's messages, or if built without libtcc.
  explicit CompiledC(const std::string& source);
  ~CompiledC();
  CompiledC(const CompiledC&) = delete;
  CompiledC& operator=(const CompiledC&) = delete;

  /// Throws SystemError if there is no such function.
  KernelFunction function(const std::string& symbol) const;

 private:
  void* state_ = nullptr;
};

}  // namespace touchstone::tcc
