#include "touchstone/cuda/driver.h"

#include <array>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone::cuda {

namespace {

constexpr int kMajor = 75, kMinor = 76, kMultiprocessors = 16;  // CUdevice_attribute

class Opened {
 public:
  Opened() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why_ =
          "no CUDA driver: libcuda.so.1 was not found; install NVIDIA's driver, or use CPU or "
          "CLANG";
      return;
    }
    find(library, driver_.init, "cuInit");
    find(library, driver_.driver_version, "cuDriverGetVersion");
    find(library, driver_.device_count, "cuDeviceGetCount");
    find(library, driver_.device, "cuDeviceGet");
    find(library, driver_.device_name, "cuDeviceGetName");
    find(library, driver_.device_attribute, "cuDeviceGetAttribute");
    find(library, driver_.retain_context, "cuDevicePrimaryCtxRetain");
    find(library, driver_.set_context, "cuCtxSetCurrent");
    find(library, driver_.allocate, "cuMemAlloc_v2");
    find(library, driver_.release, "cuMemFree_v2");
    find(library, driver_.copy_in, "cuMemcpyHtoD_v2");
    find(library, driver_.copy_out, "cuMemcpyDtoH_v2");
    find(library, driver_.copy, "cuMemcpyDtoD_v2");
    find(library, driver_.fill, "cuMemsetD8_v2");
    find(library, driver_.load, "cuModuleLoadDataEx");
    find(library, driver_.unload, "cuModuleUnload");
    find(library, driver_.function, "cuModuleGetFunction");
    find(library, driver_.launch, "cuLaunchKernel");
    find(library, driver_.wait, "cuStreamSynchronize");
    find(library, driver_.error_name, "cuGetErrorName");
    find(library, driver_.error_text, "cuGetErrorString");
  }

  const Driver& driver() const {
    if (!why_.empty()) throw SystemError(why_);
    return driver_;
  }

 private:
  template <class Function>
  void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && why_.empty())
      why_ = fmt::format("libcuda.so.1 has no function {}: the driver is too old", name);
  }

  Driver driver_{};
  std::string why_;
};

}  // namespace

const Driver& Driver::get() {
  static const Opened opened;
  return opened.driver();
}

void Driver::check(Result result, const char* call) const {
  if (result != 0) throw SystemError(text(result, call));
}

std::string Driver::text(Result result, const char* call) const {
  const char *name = nullptr, *text = nullptr;
  error_name(result, &name);
  error_text(result, &text);
  return fmt::format("{}: {} ({})", call, name == nullptr ? "an unknown error" : name,
                     text == nullptr ? fmt::to_string(result).c_str() : text);
}

GpuFacts gpu_facts(int device) {
  const Driver& driver = Driver::get();
  driver.check(driver.init(0), "cuInit");
  int count = 0;
  driver.check(driver.device_count(&count), "cuDeviceGetCount");
  if (device >= count)
    throw SystemError(fmt::format("there is no GPU {}; the CUDA driver reports {}", device, count));
  Driver::Ordinal ordinal = 0;
  driver.check(driver.device(&ordinal, device), "cuDeviceGet");
  GpuFacts facts;
  std::array<char, 256> name{};
  driver.check(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, ordinal),
               "cuDeviceGetName");
  facts.name = name.data();
  int major = 0, minor = 0;
  driver.check(driver.device_attribute(&major, kMajor, ordinal), "cuDeviceGetAttribute");
  driver.check(driver.device_attribute(&minor, kMinor, ordinal), "cuDeviceGetAttribute");
  driver.check(driver.device_attribute(&facts.multiprocessors, kMultiprocessors, ordinal),
               "cuDeviceGetAttribute");
  facts.capability = 10 * major + minor;
  driver.check(driver.driver_version(&facts.driver_version), "cuDriverGetVersion");
  return facts;
}

}  // namespace touchstone::cuda
