#include "touchstone/device/disk.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/descriptor.h"
#include "touchstone/files/array_file.h"

namespace touchstone {
namespace {

constexpr std::string_view kPrefix = "DISK:";

// A mapped file, unmapped with its last owner.
class Mapping {
 public:
  explicit Mapping(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0)
      throw SystemError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
    if (!S_ISREG(facts.st_mode))
      throw SystemError(fmt::format("cannot map '{}': it is not a regular file", path.string()));
    size_ = static_cast<std::size_t>(facts.st_size);
    if (size_ > 0) memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory_ == MAP_FAILED)
      throw SystemError(fmt::format("cannot map '{}': {}", path.string(), std::strerror(errno)));
  }
  ~Mapping() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(memory_), size_}; }
  std::byte* at(std::int64_t offset) const { return static_cast<std::byte*>(memory_) + offset; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

class DiskAllocator final : public HostAllocator {
 public:
  void* allocate(std::size_t) override {
    throw BufferError("DISK cannot allocate buffers; save arrays to a file instead");
  }
  void copy_in(void*, std::span<const std::byte>) override {
    throw BufferError("a buffer on DISK is read-only; save arrays to another file");
  }
};

class DiskDevice final : public Device {
 public:
  explicit DiskDevice(std::string name)
      : Device(std::move(name), std::make_unique<DiskAllocator>()) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr&) override {
    throw Error(
        fmt::format("{} cannot run kernels; copy the tensor to another device first", name()));
  }
};

BufferPtr part(const std::filesystem::path& path, const std::shared_ptr<const Mapping>& mapping,
               DType dtype, std::int64_t size, std::int64_t offset) {
  const auto held = static_cast<std::int64_t>(mapping->bytes().size());
  if (size < 0 || offset < 0 || offset > held ||
      size > (held - offset) / static_cast<std::int64_t>(itemsize(dtype)))
    throw BufferError(
        fmt::format("'{}' has {} bytes, too few for {} elements of {} from byte {} on",
                    path.string(), held, size, name(dtype), offset));
  Device& device = Device::get(std::string(kPrefix) + path.string());
  return std::make_shared<Buffer>(device, dtype, size, mapping->at(offset), mapping);
}

}  // namespace

std::unique_ptr<Device> make_disk_device(std::string name) {
  if (name.size() <= kPrefix.size()) throw Error("DISK: needs the path of a file behind the colon");
  return std::make_unique<DiskDevice>(std::move(name));
}

BufferPtr map_file(const std::filesystem::path& path, DType dtype, std::int64_t size,
                   std::int64_t offset) {
  return part(path, std::make_shared<const Mapping>(path), dtype, size, offset);
}

std::vector<DiskArray> map_array_file(const std::filesystem::path& path) {
  std::vector<DiskArray> arrays;
  const auto mapping = std::make_shared<const Mapping>(path);
  const auto add = [&](const ArrayLayout& a) {
    arrays.push_back({a.name, a.shape,
                      part(path, mapping, a.dtype, a.size(), static_cast<std::int64_t>(a.offset))});
  };
  const std::string extension = path.extension().string();
  if (extension == ".npy") {
    add(npy_layout(mapping->bytes(), path.string()));
  } else if (extension == ".safetensors") {
    for (const ArrayLayout& a : safetensors_layout(mapping->bytes(), path.string())) add(a);
  } else if (extension == ".npz") {
    throw ParseError(fmt::format(
        "'{}' cannot be mapped, since a .npz may be compressed; read it, or save a .safetensors",
        path.string()));
  } else {
    read_array_file(path);  // throws, because of the extension
  }
  return arrays;
}

}  // namespace touchstone
