#pragma once

#include <memory>
#include <string>

#include "touchstone/cuda/cuda_options.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// A device on an NVIDIA GPU, without a CUDA toolkit: kernels are C, which clang 19 makes PTX of
/// and the driver, libcuda.so.1, machine code. The first buffer or kernel throws SystemError in one
/// line where there is no driver or no such GPU.
std::unique_ptr<Device> make_cuda_device(std::string name, CudaOptions options = {});

/// The same grids of threads, compiled for the host by clang and run here one thread at a time:
/// slow, and for tests of what make_cuda_device writes.
std::unique_ptr<Device> make_cuda_on_host(std::string name, CudaOptions options = {});

/// Why there is no CUDA device here, in one line; empty where there is one.
std::string no_cuda_reason(int device = 0);

/// The GPU, its compute capability, and the driver: "NVIDIA H200 (9.0), CUDA 13.0". Throws
/// SystemError where there is none.
std::string cuda_text(int device = 0);

/// The C of a kernel under its name, its layout in a comment before it. Throws as Device::runner.
std::string cuda_source(const LazyOpPtr& kernel, const CudaOptions& options = {});

/// The PTX of kernels for a compute capability (90 for 9.0), made without a GPU: one after
/// another, named kernel_0, kernel_1, ... Throws as Device::runner does.
std::string cuda_ptx(std::span<const LazyOpPtr> kernels, int capability,
                     const CudaOptions& options = {});

/// Makes "CUDA" known to Device::get, its options read from the environment when it is first asked
/// for. CUDA:1 is the driver's second GPU.
void register_cuda_device();

}  // namespace touchstone
