#pragma once

#include <memory>
#include <optional>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/expr/expr.h"

struct isl_ctx;

namespace touchstone::symbolic {

/// isl on the same expression: a piecewise quasi-affine function, or a set for a condition, over
/// the variables' box; coalesced, and simplified using the box.
class IslPeer {
 public:
  /// Parses the question; its expression may use + - * // % by constants, comparisons and `and`.
  explicit IslPeer(const Question& question);
  ~IslPeer();
  IslPeer(const IslPeer&) = delete;
  IslPeer& operator=(const IslPeer&) = delete;

  /// One simplification; false if isl exceeded its operation limit.
  bool run();
  /// Operators, variables and constants in isl's printed form of the last result.
  std::size_t size() const { return size_; }

 private:
  struct Work;
  isl_ctx* ctx_;
  Question question_;
  Exprs exprs_;
  Expr root_;
  std::vector<Expr> parts_;
  std::size_t size_ = 0;
};

}  // namespace touchstone::symbolic
