#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/device/device.h"

namespace touchstone {

/// Makes the device DISK:path: buffers are parts of one file, mapped into memory and read when
/// copied. It runs no kernels and makes no buffers. For Device::get().
std::unique_ptr<Device> make_disk_device(std::string name);

/// Maps `size` elements, starting at byte `offset` of a file, on device DISK:path. The file must
/// not shrink while the buffer lives; changes to it may become visible. Throws SystemError for the
/// file, BufferError if it is too short.
BufferPtr map_file(const std::filesystem::path& path, DType dtype, std::int64_t size,
                   std::int64_t offset);

/// An array in a file, not yet read.
struct DiskArray {
  std::string name;  // empty in a .npy
  std::vector<std::int64_t> shape;
  BufferPtr buffer;  // on DISK:path
};
/// Maps the arrays of a .npy or .safetensors file, in file order. Reads only headers, and bools to
/// check them. Throws as read_array_file, and ParseError for an .npz, whose arrays may be
/// compressed.
std::vector<DiskArray> map_array_file(const std::filesystem::path& path);

}  // namespace touchstone
