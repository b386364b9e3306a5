#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace touchstone::cuda {

/// The functions used from the CUDA driver API in libcuda.so.1, as declared in CUDA 13's
/// documentation ("CUDA Driver API", docs.nvidia.com/cuda/cuda-driver-api).
struct Driver {
  using Result = int;
  using Ordinal = int;
  using Address = unsigned long long;
  using Handle = void*;  // of a context, module, function or stream

  Result (*init)(unsigned flags);
  Result (*driver_version)(int* version);
  Result (*device_count)(int* count);
  Result (*device)(Ordinal* device, int number);
  Result (*device_name)(char* name, int length, Ordinal device);
  Result (*device_attribute)(int* value, int attribute, Ordinal device);
  Result (*retain_context)(Handle* context, Ordinal device);
  Result (*set_context)(Handle context);
  Result (*allocate)(Address* address, std::size_t bytes);
  Result (*release)(Address address);
  Result (*copy_in)(Address to, const void* from, std::size_t bytes);
  Result (*copy_out)(void* to, Address from, std::size_t bytes);
  Result (*copy)(Address to, Address from, std::size_t bytes);
  Result (*fill)(Address to, unsigned char value, std::size_t bytes);
  Result (*load)(Handle* module, const void* image, unsigned options, int* names, void** values);
  Result (*unload)(Handle module);
  Result (*function)(Handle* function, Handle module, const char* name);
  Result (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   Handle stream, void** arguments, void** extra);
  Result (*wait)(Handle stream);
  Result (*error_name)(Result result, const char** text);
  Result (*error_text)(Result result, const char** text);

  /// Opens the library once per process. Throws a one-line SystemError if it is missing.
  static const Driver& get();
  /// Throws SystemError with text() unless `result` is 0.
  void check(Result result, const char* call) const;
  /// "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (...)".
  std::string text(Result result, const char* call) const;
};

/// Properties of a GPU as the driver reports them.
struct GpuFacts {
  std::string name;
  int capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int driver_version = 0;  // 13000 for CUDA 13.0
};

/// Throws a one-line SystemError if there is no driver or no such GPU.
GpuFacts gpu_facts(int device);

}  // namespace touchstone::cuda
