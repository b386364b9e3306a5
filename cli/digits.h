#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

/// Handwritten digits: `pixels` holds 64 values of 0 to 16 an image, row-major, `labels` 0 to 9.
struct Digits {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::size_t count() const { return labels.size(); }
};

/// A CSV of 65 integers a line, gzipped or not; the 1,797 images inside the program where `path` is
/// empty (E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI, 1998; CC BY 4.0).
/// Throws SystemError or ParseError naming file, line and what is wrong.
Digits load_digits(const std::string& path);

}  // namespace touchstone::cli
