// The readers of external input in one program. TOUCHSTONE_FUZZ_AREA or the program's name, such as
// "fuzz_npz", selects the target. Extra options: --unpack FILE FOLDER writes a packed corpus as
// files, --pack FOLDER FILE does the reverse, one input per line.
#include <filesystem>
#include <vector>

#include "packed_corpus.h"
#include "reader_targets.h"
#include "touchstone/interp/device/interpreted.h"

using namespace touchstone;
using namespace touchstone::fuzzers;

namespace {

const ReaderTarget* target = nullptr;

const ReaderTarget* target_named(std::string_view name) {
  for (const auto& table : {library_targets(), command_targets()})
    for (const ReaderTarget& t : table)
      if (t.name == name) return &t;
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::vector<std::string> words(*argv, *argv + *argc);
  if (words.size() == 4 && words[1] == "--unpack") {
    unpack(words[2], words[3]);
    std::exit(0);
  }
  if (words.size() == 4 && words[1] == "--pack") {
    pack(words[2], words[3]);
    std::exit(0);
  }
  const char* const asked = std::getenv("TOUCHSTONE_FUZZ_AREA");
  std::string name = asked != nullptr ? asked : std::filesystem::path(words[0]).filename().string();
  if (name.starts_with("fuzz_")) name.erase(0, 5);
  target = target_named(name);
  if (target == nullptr) {
    fmt::print(stderr, "there is no target '{}'; set TOUCHSTONE_FUZZ_AREA to one of", name);
    for (const auto& table : {library_targets(), command_targets()})
      for (const ReaderTarget& t : table) fmt::print(stderr, " {}", t.name);
    fmt::print(stderr, "\n");
    std::exit(2);
  }
  register_interpreted_device();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->check({reinterpret_cast<const char*>(data), size});
  return 0;
}
