#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace touchstone::fuzz {

/// A case of a corpus and its location, such as "tests/corpus/view.txt:3".
struct CorpusCase {
  std::string area;
  std::string text;
  std::string where;
};

/// Reads the cases of a folder: one per line in each AREA.txt or AREA-anything.txt. Blank lines,
/// lines that begin with # and other files are ignored. Ordered by file name, then line. Throws
/// SystemError if the folder or a file cannot be read.
std::vector<CorpusCase> read_corpus(const std::filesystem::path& folder);

/// Adds a case to AREA.txt in the folder, creating the file if needed, unless the case is there.
/// Replaces the file as a whole (write_file_atomically). Throws SystemError.
void add_to_corpus(const std::filesystem::path& folder, const std::string& area,
                   const std::string& text, const std::string& comment);

}  // namespace touchstone::fuzz
