// Runs a fuzz target over files, over every file of a folder, and, with --random N, over N strings
// of random bytes, as a plain test.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

int count = 0;

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  ++count;
}

// Of any length up to 160, one byte in four small, as choices often are.
std::string random_bytes(std::uint64_t seed) {
  std::string bytes(touchstone::hash_mix(seed, 0) % 160, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t r = touchstone::hash_mix(seed, i + 1);
    bytes[i] = static_cast<char>(r % 4 == 0 ? r >> 60 : r >> 56);
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (&LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--random" && i + 1 < argc) {
      const std::uint64_t wanted = std::strtoull(argv[++i], nullptr, 10);
      for (std::uint64_t n = 0; n < wanted; ++n) run(random_bytes(n));
    } else if (std::filesystem::is_directory(word)) {
      for (const auto& entry : std::filesystem::directory_iterator(word))
        run(touchstone::read_file(entry.path()));
    } else {
      run(touchstone::read_file(word));
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
