#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

/// Handwritten digits: `pixels` holds 64 values from 0 to 16 per image, row-major; `labels` 0 to 9.
struct Digits {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::size_t count() const { return labels.size(); }
};

/// Reads a CSV of 65 integers per line, possibly gzipped; the built-in 1,797 images if `path` is
/// empty (E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI, 1998; CC BY 4.0).
/// Throws SystemError or ParseError naming file, line and error.
Digits load_digits(const std::string& path);

}  // namespace touchstone::cli
