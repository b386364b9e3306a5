// Apart from judging.cpp, because the playground has no files.
#include <filesystem>

#include "touchstone/base/file.h"
#include "touchstone/judging/judging.h"

namespace touchstone {

std::filesystem::path judging_path(const std::filesystem::path& kernel) {
  return kernel.parent_path() / (kernel.stem() == "kernel" ? std::filesystem::path("judging.json")
                                                           : kernel.stem().concat(".judging.json"));
}

KernelToJudge kernel_to_judge(KernelFile kernel, const std::filesystem::path& path) {
  KernelToJudge made{std::move(kernel), {}};
  const std::filesystem::path folder = path.parent_path();
  std::error_code error;
  std::filesystem::path file = judging_path(path);
  if (!std::filesystem::exists(file, error)) file = folder / "judging.json";
  if (std::filesystem::exists(file, error))
    made.judging = judging_from_json(read_file(file, kMostProfileText), made,
                                     folder.empty() ? "." : folder.string());
  return made;
}

}  // namespace touchstone
