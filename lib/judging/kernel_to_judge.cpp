// Apart from judging.cpp, because the playground has no files.
#include <filesystem>

#include "touchstone/base/file.h"
#include "touchstone/judging/judging.h"

namespace touchstone {

KernelToJudge kernel_to_judge(KernelFile kernel, const std::filesystem::path& path) {
  KernelToJudge made{std::move(kernel), {}};
  const std::filesystem::path folder = path.parent_path(), file = folder / "judging.json";
  if (std::error_code error; std::filesystem::exists(file, error))
    made.judging = judging_from_json(read_file(file, kMostProfileText), made,
                                     folder.empty() ? "." : folder.string());
  return made;
}

}  // namespace touchstone
