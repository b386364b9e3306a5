#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "touchstone/base/private_folder.h"
#include "touchstone/clang/clang_options.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::search {

/// The measured seconds per run of each list of opts, for one kernel on one machine, on disk.
class Times {
 public:
  /// The time of a list with a wrong output.
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Reads the stored times; stores nothing if the folder of compiled kernels is unusable.
  Times(const LazyOpPtr& kernel, const ClangOptions& options);

  bool knows(const std::string& opts) const { return known_.contains(opts); }
  double of(const std::string& opts) const;  // kNever if unknown
  std::pair<std::string, double> best() const;
  void add(const std::string& opts, double seconds) { known_[opts] = seconds; }
  /// Writes all times; does nothing on failure.
  void keep() const;

 private:
  void read(const std::string& text);

  std::string file_;
  std::unique_ptr<PrivateFolder> folder_;
  std::map<std::string, double> known_;
};

}  // namespace touchstone::search
