#pragma once

#include <string>

#include "touchstone/codegen/render_c.h"

namespace touchstone::tcc {

/// C compiled by libtcc into memory owned by this object. Reads no header, library or file; the
/// code may call only libm functions and what libtcc itself calls.
class Program {
 public:
  /// Throws SystemError with the compiler's messages, or if built without libtcc.
  explicit Program(const std::string& source);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Throws SystemError if there is no such function.
  KernelFunction function(const std::string& symbol) const;

 private:
  void* state_ = nullptr;
};

}  // namespace touchstone::tcc
