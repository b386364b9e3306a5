#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"

// How a file of each format is read; of use to lib/device alone.

namespace touchstone {

/// Knows names, types and shapes; reads elements when they are asked for.
struct ArrayFile::Reader {
  virtual ~Reader() = default;
  virtual HostArray read(std::size_t i, const Wanted& wanted) const = 0;
  std::vector<std::string> names;
};

/// Bytes that are in memory already and stay there.
class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  using ByteSource::read;
  void read(std::uint64_t at, std::span<char> to) const override {
    bytes_.copy(to.data(), to.size(), static_cast<std::size_t>(at));
  }

 private:
  std::string_view bytes_;
};

/// Bytes of the elements that are wanted of an array; `at` then has the shape of those.
std::size_t wanted_of(ArrayLayout& at, const Wanted& wanted);
/// The elements that are wanted of an array that lies in `bytes` as it is.
HostArray elements(const ByteSource& bytes, ArrayLayout at, const Wanted& wanted);

/// Bytes that tell of names, types and shapes.
inline constexpr std::uint64_t kMostDirectory = std::uint64_t{16} << 20;

std::unique_ptr<ArrayFile::Reader> npz_reader(std::unique_ptr<ByteSource> bytes,
                                              const std::string& where);
std::unique_ptr<ArrayFile::Reader> safetensors_reader(std::unique_ptr<ByteSource> bytes,
                                                      const std::string& where);

std::unique_ptr<ArrayFile::Reader> torch_reader(std::unique_ptr<ByteSource> bytes,
                                                const std::string& where);

}  // namespace touchstone
