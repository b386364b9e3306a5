#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "touchstone/cli/judging/judging.h"
#include "touchstone/interp/certify/certify.h"

namespace touchstone::cli {

Op op_of(CertifiedOp op);

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
