#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// The legal values of one element of one node.
struct LegalScalars {
  Scalar low, high;  // where `number`
  bool number = false, nan = false, any = false;
  bool accepts(const Scalar& x) const;
  std::string str() const;  // "0x3f800000 (1.0)", "[.., ..] or NaN", "anything"
};

/// One node on the way to an element.
struct ExplainedNode {
  std::string text;   // "%2 = MUL(%0, %1) float32"
  Scalar reference;   // every node below rounded once, correctly
  std::string exact;  // no node rounded, to 25 digits; empty where integers wrap or divide
  LegalScalars legal;
  /// |legal - value| <= radius by the rules of the radius form, and the terms that it is the sum
  /// of, largest first; nothing where those make no claim, or where one value is legal.
  std::optional<double> radius;
  struct Term {
    std::string what;
    double amount;
  };
  std::vector<Term> terms;
};

/// How the legal values of element `at` (an index per axis) of a kernel's output come about: its
/// nodes, operands first; what a reduce reduces is not among them. `inputs` as for judge, on the
/// host. Throws ShapeError where there is no such element, BufferError where the inputs do not fit,
/// AstError where there are more than 1,000 nodes.
std::vector<ExplainedNode> explain(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                   std::span<const std::int64_t> at, const Profile& profile = {});

}  // namespace touchstone
