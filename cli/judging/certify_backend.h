#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/cli/judging/judging.h"
#include "touchstone/interp/certify/certify.h"
#include "touchstone/interp/device/scalar_function.h"

namespace touchstone::cli {

/// A function of one operand: of a CertifiedOp or named.
struct Certified {
  std::optional<CertifiedOp> op;
  NamedFunction function = NamedFunction::Exp;

  std::string_view name() const { return op ? touchstone::name(*op) : info(function).name; }
  /// The value at x in double, with its error.
  scalar::Near<double> value(double x) const;
  /// Rounded correctly to float, float16 or bfloat16, with the value in double.
  template <class T>
  std::pair<T, double> answer(T x) const;
};
/// Parses a name in either case. Throws ParseError.
Certified parse_certified(const std::string& name);
/// The kernel that applies a function to this many elements.
LazyOpPtr certified_kernel(const Certified& of, DType dtype, std::int64_t count);

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
