#include "touchstone/clang/shared_object.h"

#include <dlfcn.h>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"

namespace touchstone::clang {

SharedObject::SharedObject(const std::filesystem::path& file) : handle_(nullptr) {
  const FpGuard guard;
  handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* const why = ::dlerror();
    throw SystemError(fmt::format("cannot load {}: {}", file.string(), why ? why : "no reason"));
  }
}

SharedObject::~SharedObject() { ::dlclose(handle_); }

bool SharedObject::has(const std::string& symbol) const {
  return ::dlsym(handle_, symbol.c_str()) != nullptr;
}

KernelFunction SharedObject::function(const std::string& symbol) const {
  void* const address = ::dlsym(handle_, symbol.c_str());
  if (address == nullptr)
    throw SystemError(fmt::format("the compiled object has no function {}", symbol));
  return reinterpret_cast<KernelFunction>(address);
}

}  // namespace touchstone::clang
