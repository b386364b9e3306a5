#pragma once

#include <span>
#include <string_view>

#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

/// The kinds of graphs to check: tensors, or the work of a kernel.
enum class SpecLevel : std::uint8_t { Tensor, Kernel };

/// A rule for nodes of some kinds. `holds` returns the fault, or "".
struct SpecRule {
  std::string_view name;
  OpSet ops;
  std::string (*holds)(const UOp& node);
};
/// The rules of a level in the order in which they are checked.
std::span<const SpecRule> spec(SpecLevel level);

/// Checks every node below `sink`. Throws AstError naming the rule, the node by its number in
/// toposort order, its op, type, argument and sources, and the fault.
void type_verify(const UOp& sink, SpecLevel level);

/// A recorder that checks the tensor graph after every pass; errors name the pass. Forwards
/// everything to the previous recorder.
class SpecRecorder final : public RewriteRecorder {
 public:
  SpecRecorder() : before_(RecorderScope::current()) {}
  void begins(std::string_view pass, const UOp& sink) override;
  void rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) override;
  void rebuilt(const UOp& before, const UOp& after) override;
  void ends(std::string_view pass, const UOp& sink) override;
  int passes() const { return passes_; }  // checked so far

 private:
  RewriteRecorder* before_;  // outlives this
  int passes_ = 0;
};

}  // namespace touchstone
