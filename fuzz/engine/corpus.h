#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace touchstone::fuzz {

/// A case of a corpus and where it stands, as "tests/corpus/view.txt:3".
struct CorpusCase {
  std::string area;
  std::string text;
  std::string where;
};

/// The cases of a folder: in each file AREA.txt, or AREA-anything.txt, a case a line; blank lines
/// and lines that begin with # are left out. Files of other names are not looked at. By file name,
/// then by line. Throws SystemError where the folder or a file cannot be read.
std::vector<CorpusCase> read_corpus(const std::filesystem::path& folder);

/// Adds a case to AREA.txt of the folder, which is made where there is none, unless it is there.
/// The file is replaced as a whole (write_file_atomically). Throws SystemError.
void add_to_corpus(const std::filesystem::path& folder, const std::string& area,
                   const std::string& text, const std::string& comment);

}  // namespace touchstone::fuzz
