#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/tensor.h"

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

using Indices = std::vector<std::int64_t>;

/// The images to train with, shuffled, and those held out, a fifth.
std::pair<Indices, Indices> split(const Digits& digits, Generator& generator);

/// Parts of one size, to keep kernels few; the remainder is dropped.
std::vector<Indices> whole_batches(std::span<const std::int64_t> of, std::int64_t size);

struct Batch {
  Tensor x, labels;
};
/// x: (n, 1, 8, 8), 0 to 1. labels: (n).
Batch batch_of(const Digits& digits, std::span<const std::int64_t> which,
               const std::string& device = "CPU");

}  // namespace touchstone::cli
