#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"

// Readers of the file formats; internal to lib/files.

namespace touchstone {

/// Holds the names, types and shapes of a file; reads elements on request.
struct ArrayFile::Reader {
  virtual ~Reader() = default;
  virtual HostArray read(std::size_t i, const Wanted& wanted) const = 0;
  std::vector<std::string> names;
};

/// Bytes in memory, owned by the caller.
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

/// Returns how many bytes of an array are wanted and sets `at` to the shape of that part.
std::size_t wanted_of(ArrayLayout& at, const Wanted& wanted);
/// Returns the wanted elements of an array that is stored plainly in `bytes`.
HostArray elements(const ByteSource& bytes, ArrayLayout at, const Wanted& wanted);

/// Limit on the bytes that describe names, types and shapes.
inline constexpr std::uint64_t kMostDirectory = std::uint64_t{16} << 20;

std::unique_ptr<ArrayFile::Reader> npz_reader(std::unique_ptr<ByteSource> bytes,
                                              const std::string& where);
std::unique_ptr<ArrayFile::Reader> safetensors_reader(std::unique_ptr<ByteSource> bytes,
                                                      const std::string& where);

std::unique_ptr<ArrayFile::Reader> torch_reader(std::unique_ptr<ByteSource> bytes,
                                                const std::string& where);

}  // namespace touchstone
