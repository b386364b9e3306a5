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
  Scalar low, high;  // if `number`
  bool number = false, nan = false, any = false, apart = false;
  bool accepts(const Scalar& x) const;
  std::string str() const;  // "0x3f800000 (1.0)", "[.., ..] or NaN", "anything"
};

/// One node on which an element depends.
struct ExplainedNode {
  std::string text;   // "%2 = MUL(%0, %1) float32"
  LazyOpPtr node;     // in the kernel of the element
  Scalar reference;   // with every node below correctly rounded once
  std::string exact;  // no node rounded, to 25 digits; empty if integers wrap or divide
  LegalScalars legal;
  /// The radius by the rules of the radius form, |legal - value| <= radius, and its summands,
  /// largest first; nullopt if they make no claim, or if one value is legal.
  std::optional<double> radius;
  struct Term {
    std::string what;
    double amount;
  };
  std::vector<Term> terms;
};

/// Derives the legal values of element `at` (an index for each axis) of a kernel's output: its
/// nodes, operands first, without the operands of reduces. `inputs` as for judge, on the host.
/// Throws ShapeError if there is no such element, BufferError if the inputs do not fit, AstError
/// for more than 1,000 nodes.
std::vector<ExplainedNode> explain(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                   std::span<const std::int64_t> at, const Profile& profile = {});

}  // namespace touchstone
