#pragma once

#include <cstdint>
#include <string>

namespace touchstone::tcc {

/// A compiled kernel, as lib/codegen/render_c.h describes its parameters.
using KernelFunction = void (*)(void* const* bufs, const std::int64_t* vars, std::int64_t part,
                                std::int64_t parts);

/// C compiled by libtcc into memory of this process, which goes with it. No header, library or file
/// is read: what the code may call is libm's functions and what libtcc itself calls.
class Program {
 public:
  /// Throws SystemError with the compiler's messages, or where libtcc was not built in.
  explicit Program(const std::string& source);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Throws SystemError where there is no such function.
  KernelFunction function(const std::string& symbol) const;

 private:
  void* state_ = nullptr;
};

}  // namespace touchstone::tcc
