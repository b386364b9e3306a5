#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "touchstone/clang/clang_options.h"
#include "touchstone/device/device.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::search {

/// A kernel with synthetic inputs and the output of its hand-coded layout.
class FirstRun {
 public:
  /// Runs the kernel and has the oracle judge the output. Throws AstError if it is not legal.
  FirstRun(const LazyOpPtr& kernel, const ClangOptions& options);

  /// Returns the seconds of one run; overwrites the output.
  double run(Runner& runner) const;
  /// Runs it once; true if the output has the same bits.
  bool gives_its_bits(Runner& runner) const;

 private:
  void fill(Buffer& buffer, std::uint64_t seed) const;
  void judge(const LazyOpPtr& kernel, const std::string& profile) const;
  std::vector<std::byte> output() const;

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Buffer>> owned_;
  std::vector<Buffer*> buffers_;  // by buffer number
  std::vector<std::byte> right_;
};

}  // namespace touchstone::search
