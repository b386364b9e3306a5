#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/cli/judging/judging.h"
#include "touchstone/interp/certify/certify.h"

namespace touchstone::cli {

/// The kernel that applies a function to this many elements.
LazyOpPtr certified_kernel(CertifiedOp op, DType dtype, std::int64_t count);

/// Adds the tallies of threads that share the elements [0, count): check(first, elements) each.
template <class Tally, class Check>
Tally add_in_threads(Tally sum, std::size_t count, int threads, const Check& check) {
  std::vector<std::future<Tally>> parts;
  const auto n = static_cast<std::size_t>(threads);
  for (std::size_t t = 0; t < n; ++t)
    parts.push_back(
        std::async(std::launch::async, check, count * t / n, count * (t + 1) / n - count * t / n));
  for (auto& part : parts) sum.add(part.get());
  return sum;
}

/// A foreign backend, asked for a function's outputs block by block.
class CertifiedBackend {
 public:
  /// Starts it. Throws as start_backend does.
  explicit CertifiedBackend(const BackendOptions& options);

  std::string name();
  /// The profile it declares.
  Profile profile();
  /// The output of a kernel of one input, both as bytes. Throws SystemError if there is none.
  std::string run(const LazyOpPtr& kernel, std::string_view input);
  void print_starts() const;

 private:
  std::unique_ptr<foreign::BackendProcess> process_;
};

}  // namespace touchstone::cli
