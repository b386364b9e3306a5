#pragma once

#include <memory>
#include <string>

#include "touchstone/cuda/cuda_options.h"
#include "touchstone/device/device.h"

namespace touchstone {

/// Makes a device on an NVIDIA GPU without a CUDA toolkit: clang 19 compiles kernels from C to PTX,
/// and the driver, libcuda.so.1, to machine code. The first buffer or kernel throws a one-line
/// SystemError if there is no driver or no such GPU.
std::unique_ptr<Device> make_cuda_device(std::string name, CudaOptions options = {});

/// Makes a device that compiles the same grids for the host with clang and runs one thread at a
/// time: slow; for testing the output of make_cuda_device.
std::unique_ptr<Device> make_cuda_on_host(std::string name, CudaOptions options = {});

/// Returns in one line why there is no CUDA device; empty if there is one.
std::string no_cuda_reason(int device = 0);

/// Returns the GPU, its compute capability, and the driver: "NVIDIA H200 (9.0), CUDA 13.0". Throws
/// SystemError if there is none.
std::string cuda_text(int device = 0);

/// Returns the C source of a kernel under its name, preceded by its layout in a comment. Throws as
/// Device::runner.
std::string cuda_source(const LazyOpPtr& kernel, const CudaOptions& options = {});

/// Compiles kernels to PTX for a compute capability (90 for 9.0) without a GPU; named kernel_0,
/// kernel_1, ... in order. Throws as Device::runner.
std::string cuda_ptx(std::span<const LazyOpPtr> kernels, int capability,
                     const CudaOptions& options = {});

/// Registers "CUDA" with Device::get; its options are read from the environment at first use.
/// CUDA:1 is the driver's second GPU.
void register_cuda_device();

}  // namespace touchstone
