// One area of fuzz/, driven by bytes: they are draw choices, or, after a '=', the text of a case.
// Extra options: --reduce FILE shrinks an input's case as `touchstone fuzz` does, and --seeds N
// FOLDER writes the bytes that draw N cases.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/interp/device/interpreted.h"

extern const char* const kFuzzedArea;  // set by a one-line file of the program

using namespace touchstone;
using namespace touchstone::fuzz;

namespace {

Area& area() {
  static const std::unique_ptr<Area> it = []() -> std::unique_ptr<Area> {
    const char* const asked = std::getenv("TOUCHSTONE_FUZZ_AREA");
    const std::string name = asked != nullptr ? asked : kFuzzedArea;
    if (name == "symbolic") return make_symbolic_area();
    if (name == "view") return make_view_area();
    if (name == "lazy") return make_lazy_area();
    if (name == "kernelize") return make_kernelize_area();
    if (name == "rewrite") return make_rewrite_area();
    if (name == "tensor") return make_tensor_area();
    KernelBackends b;
    b.candidate = make_device_backend(make_interpreted_device("CPU", 1));
    b.judge_all = true;
    return make_kernel_area(std::move(b));
  }();
  return *it;
}

/// Any text may be a case, except texts that take minutes.
bool too_large(const std::string& text) { return text.size() > 300 || area().name() == "kernel"; }

std::string case_of(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == '=') return {reinterpret_cast<const char*>(data) + 1, size - 1};
  BytesChooser chooser({data, size});
  return area().draw(chooser);
}

/// Records a chooser's draws as the bytes that make BytesChooser repeat them.
class Recorder final : public Chooser {
 public:
  explicit Recorder(Chooser& from) : from_(from) {}
  std::uint64_t below(std::uint64_t n) override {
    const std::uint64_t value = from_.below(n);
    int width = 0;
    for (std::uint64_t range = n - 1; range > 0; range >>= 8) ++width;
    while (width-- > 0) bytes += static_cast<char>(value >> (8 * width));
    return value;
  }
  std::string bytes;

 private:
  Chooser& from_;
};

[[noreturn]] void write_seeds(std::uint64_t count, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomChooser random(0, i);
    Recorder recorder(random);
    const std::string text = area().draw(recorder);
    BytesChooser again(
        {reinterpret_cast<const std::uint8_t*>(recorder.bytes.data()), recorder.bytes.size()});
    if (area().draw(again) != text) {
      fmt::print(stderr, "the bytes of seed {} draw another case\n", i);
      std::exit(1);
    }
    std::string bytes = recorder.bytes;
    if (bytes.starts_with('=')) continue;  // would be read as a text
    write_file_atomically(folder / fmt::format("{:04}", i), bytes);
  }
  std::exit(0);
}

[[noreturn]] void reduce(const std::string& file) {
  const std::string bytes = read_file(file);
  const std::string text =
      case_of(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const Checked c = area().check(text, Effort::Full);
  if (c.ending == Ending::Fail)
    fmt::print("{}\n{}\n", c.failure.relation, shrink_case(area(), text, c.failure.relation).text);
  else
    fmt::print("{}: {}\n", name(c.ending), text);
  std::exit(c.ending == Ending::Fail ? 1 : 0);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string first = *argc > 1 ? (*argv)[1] : "";
  if (first == "--reduce" && *argc == 3) reduce((*argv)[2]);
  if (first == "--seeds" && *argc == 4)
    write_seeds(std::strtoull((*argv)[2], nullptr, 10), (*argv)[3]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool written = size > 0 && data[0] == '=';
  const std::string text = case_of(data, size);
  if (written && too_large(text)) return 0;
  try {
    const Checked c = area().check(text, Effort::Sampled);
    if (c.ending != Ending::Fail) return 0;
    fmt::print(stderr, "{}: {}\n{}\nagain: touchstone fuzz --area {} --case '{}'\n", area().name(),
               c.failure.relation, c.failure.detail, area().name(), text);
    std::abort();
  } catch (const ParseError&) {
    return 0;  // no valid case
  }
}
