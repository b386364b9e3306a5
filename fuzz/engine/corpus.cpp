#include "touchstone/fuzz/engine/corpus.h"

#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/private_folder.h"

namespace touchstone::fuzz {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    from = end + 1;
  }
  return lines;
}

}  // namespace

std::vector<CorpusCase> read_corpus(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error)
    throw SystemError(
        fmt::format("cannot read the corpus {}: {}", folder.string(), error.message()));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : entries)
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<CorpusCase> cases;
  for (const std::filesystem::path& file : files) {
    std::string area = file.stem().string();
    area.resize(std::min(area.find('-'), area.size()));
    const std::vector<std::string> lines = lines_of(read_file(file));
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty() && lines[i][0] != '#')
        cases.push_back({area, lines[i], fmt::format("{}:{}", file.string(), i + 1)});
  }
  return cases;
}

void add_to_corpus(const std::filesystem::path& folder, const std::string& area,
                   const std::string& text, const std::string& comment) {
  make_own_folder(folder);
  const std::filesystem::path file = folder / (area + ".txt");
  std::string all = std::filesystem::exists(file) ? read_file(file) : std::string();
  const std::vector<std::string> lines = lines_of(all);
  if (std::ranges::find(lines, text) != lines.end()) return;
  if (!all.empty() && all.back() != '\n') all += '\n';
  all += "# " + comment + '\n' + text + '\n';
  write_file_atomically(file, all);
}

}  // namespace touchstone::fuzz
