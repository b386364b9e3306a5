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

/// Seconds a run of each list of opts that was measured, of one kernel on one machine, on disk.
class Times {
 public:
  /// Of a list whose output was wrong.
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Reads what is known; nothing, and nothing is kept, where the folder of compiled kernels cannot
  /// be used.
  Times(const LazyOpPtr& kernel, const ClangOptions& options);

  bool knows(const std::string& opts) const { return known_.contains(opts); }
  double of(const std::string& opts) const;  // kNever where it is not known
  std::pair<std::string, double> best() const;
  void add(const std::string& opts, double seconds) { known_[opts] = seconds; }
  /// Writes all of them. Does nothing where it cannot.
  void keep() const;

 private:
  void read(const std::string& text);

  std::string file_;
  std::unique_ptr<PrivateFolder> folder_;
  std::map<std::string, double> known_;
};

}  // namespace touchstone::search
