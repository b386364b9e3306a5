// Runs a fuzz target as a plain test: over files, every file of a folder or input of a packed
// corpus (.txt), and, with --random N, over N inputs (TOUCHSTONE_FUZZ_CASES overrides N),
// alternating random bytes and a mutated file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "packed_corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

int count = 0;

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  ++count;
}

// Up to 160 bytes, a quarter of them small, like typical choices.
std::string random_bytes(std::uint64_t seed) {
  std::string bytes(touchstone::hash_mix(seed, 0) % 160, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t r = touchstone::hash_mix(seed, i + 1);
    bytes[i] = static_cast<char>(r % 4 == 0 ? r >> 60 : r >> 56);
  }
  return bytes;
}

// A file with a piece removed or some bytes replaced.
std::string changed(std::string bytes, std::uint64_t seed) {
  std::uint64_t drawn = 0;
  const auto draw = [&](std::uint64_t below) {
    return touchstone::hash_mix(seed, ++drawn) % below;
  };
  if (draw(4) == 0 && !bytes.empty()) {
    const std::uint64_t from = draw(bytes.size());
    bytes.erase(from, 1 + draw(8));
  }
  for (std::uint64_t times = 1 + draw(6); times > 0 && !bytes.empty(); --times) {
    const std::uint64_t at = draw(bytes.size());
    bytes[at] = static_cast<char>(draw(256));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (&LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  std::uint64_t wanted = 0;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--random" && i + 1 < argc) {
      const char* const asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
      wanted = std::strtoull(asked != nullptr ? asked : argv[i + 1], nullptr, 10);
      ++i;
    } else if (std::filesystem::is_directory(word)) {
      for (const auto& entry : std::filesystem::directory_iterator(word))
        files.push_back(touchstone::read_file(entry.path()));
    } else if (word.ends_with(".txt")) {
      for (std::string& bytes : touchstone::fuzzers::unpacked_inputs(touchstone::read_file(word)))
        files.push_back(std::move(bytes));
    } else {
      files.push_back(touchstone::read_file(word));
    }
  }
  std::ranges::sort(files);  // folders are unordered
  for (const std::string& file : files) run(file);
  for (std::uint64_t n = 0; n < wanted; ++n)
    run(n % 2 == 0 || files.empty() ? random_bytes(n) : changed(files[n / 2 % files.size()], n));
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
