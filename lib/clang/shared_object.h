#pragma once

#include <filesystem>
#include <string>

#include "touchstone/codegen/render_c.h"

namespace touchstone::clang {

/// A loaded shared object, unloaded when its last owner is destroyed.
class SharedObject {
 public:
  /// Throws SystemError with the loader's message.
  explicit SharedObject(const std::filesystem::path& file);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  bool has(const std::string& symbol) const;
  /// Throws SystemError if the object has no such function.
  KernelFunction function(const std::string& symbol) const;

 private:
  void* handle_;
};

}  // namespace touchstone::clang
