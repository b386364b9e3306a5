#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "touchstone/clang/clang_options.h"
#include "touchstone/device/device.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::search {

/// A kernel with made-up inputs, and the output that its hand-coded layout gives for them.
class FirstRun {
 public:
  /// Runs it, and has the oracle judge what it gave. Throws AstError where that is not legal.
  FirstRun(const LazyOpPtr& kernel, const ClangOptions& options);

  /// Seconds of one run on the inputs; the output is written over.
  double run(Runner& runner) const;
  /// Runs it once: whether the output has the same bits.
  bool gives_its_bits(Runner& runner) const;

 private:
  void fill(Buffer& buffer, std::uint64_t seed) const;
  void judge(const LazyOpPtr& kernel, const std::string& profile) const;
  std::vector<std::byte> output() const;

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Buffer>> owned_;
  std::vector<Buffer*> buffers_;  // by number
  std::vector<std::byte> right_;
};

}  // namespace touchstone::search
