#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/device/device.h"

namespace touchstone {

/// The device DISK:path: buffers that are parts of one file, mapped into memory and read when they
/// are copied. It runs no kernels and makes no buffers. For Device::get().
std::unique_ptr<Device> make_disk_device(std::string name);

/// `size` elements from byte `offset` of a file on, on device DISK:path. The file must not shrink
/// while the buffer lives; what is written to it may be seen. Throws SystemError for the file,
/// BufferError where it ends before the elements do.
BufferPtr map_file(const std::filesystem::path& path, DType dtype, std::int64_t size,
                   std::int64_t offset);

/// An array of a file, not yet read.
struct DiskArray {
  std::string name;  // empty in a .npy
  std::vector<std::int64_t> shape;
  BufferPtr buffer;  // on DISK:path
};
/// Arrays of a .npy or .safetensors in the file's order. Only headers are read, and bools, which
/// are checked. Throws what read_array_file throws, and ParseError for a .npz, in which arrays may
/// be packed.
std::vector<DiskArray> map_array_file(const std::filesystem::path& path);

}  // namespace touchstone
