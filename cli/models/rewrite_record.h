#pragma once

#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::cli {

/// Records every rewrite of every pass while a RecorderScope uses it. Each node is kept once.
class RewriteRecord final : public RewriteRecorder {
 public:
  struct Match {
    std::size_t rule = 0;               // in `rules`
    std::size_t before = 0, after = 0;  // in `nodes`
  };
  struct Pass {
    std::string name;
    std::size_t start = 0, end = 0;  // the root, in `nodes`
    std::vector<Match> matches;
  };
  struct UsedRule {
    std::string name, why;
  };
  struct Kernel {
    LazyOpPtr ast;
    std::string origin;
  };

  void begins(std::string_view pass, const UOp& sink) override;
  void rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) override;
  void rebuilt(const UOp& before, const UOp& after) override;
  void ends(std::string_view pass, const UOp& sink) override;

  std::vector<Pass> passes;
  std::vector<UsedRule> rules;
  std::vector<Kernel> kernels;

  /// Nodes by number; includes all sources of every node.
  std::vector<UOp> nodes() const;
  std::size_t number(const UOp& node) const { return *numbers_.find(node); }
  /// The tensor operations that a node comes from: "exp2 %3, sum %4"; may be empty.
  std::string origin(std::size_t node) const;

 private:
  std::size_t add(const UOp& node);
  void follow(const UOp& before, const UOp& after);

  UOpMap<std::size_t> numbers_;
  std::vector<UOpMetadata> origins_;
  std::vector<std::size_t> open_;  // nested passes
};

/// The record as a page, with graphs of the first `most_graphs` matches. Throws as
/// StepReport::html.
std::string rewrite_html(const std::string& title, const RewriteRecord& record,
                         std::size_t most_graphs);

}  // namespace touchstone::cli
