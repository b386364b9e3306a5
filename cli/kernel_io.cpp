#include "kernel_io.h"

#include <charconv>

namespace touchstone::cli {

symbolic::Values parse_values(const std::vector<std::string>& words) {
  symbolic::Values values;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    std::int64_t value = 0;
    const char* const end = word.data() + word.size();
    if (equals == std::string::npos || equals == 0 ||
        std::from_chars(word.data() + equals + 1, end, value).ptr != end ||
        equals + 1 == word.size())
      throw ParseError(
          fmt::format("'{}' does not give a variable its value; write it as n=3", word));
    values[word.substr(0, equals)] = value;
  }
  return values;
}

std::vector<HostArray> read_arrays(const KernelFile& kernel, const std::vector<std::string>& paths,
                                   int first) {
  std::vector<HostArray> arrays;
  for (const std::string& path : paths) {
    HostArray array = read_npy(path);
    const int idx = first + static_cast<int>(arrays.size());
    for (const BufferSpec& spec : kernel.buffers) {
      if (spec.idx != idx) continue;
      if (array.dtype != spec.dtype)
        throw ParseError(fmt::format("{}: holds {}, buffer {} of the kernel is {}", path,
                                     name(array.dtype), idx, name(spec.dtype)));
      if (array.size() < spec.size)
        throw ParseError(fmt::format("{}: holds {} elements, buffer {} of the kernel has {}", path,
                                     array.size(), idx, spec.size));
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

BufferPtr to_buffer(Device& device, const HostArray& array) {
  auto buffer = std::make_shared<Buffer>(device, array.dtype, array.size());
  buffer->copy_in(std::as_bytes(std::span(array.bytes)));
  return buffer;
}

}  // namespace touchstone::cli
