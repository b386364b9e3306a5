#pragma once

#include <span>
#include <string_view>

#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop.h"

namespace touchstone {

/// Which graphs are checked: those of tensors, or what a kernel computes.
enum class SpecLevel : std::uint8_t { Tensor, Kernel };

/// A law that nodes of some kinds keep. `holds` says what is wrong, or nothing.
struct SpecRule {
  std::string_view name;
  OpSet ops;
  std::string (*holds)(const UOp& node);
};
/// The laws of a level, in the order in which they are asked.
std::span<const SpecRule> spec(SpecLevel level);

/// Checks every node below `sink`. Throws AstError naming the law, the node by its place in
/// toposort order, its op, type, argument and sources, and what is wrong with it.
void type_verify(const UOp& sink, SpecLevel level);

/// Checks what every pass makes of a graph of tensors, while a RecorderScope has it; the error
/// names the pass. What was told before is told all the same.
class SpecRecorder final : public RewriteRecorder {
 public:
  SpecRecorder() : before_(RecorderScope::current()) {}
  void begins(std::string_view pass, const UOp& sink) override;
  void rewrote(const Rule& rule, const UOp& before, const UOp& after) override;
  void rebuilt(const UOp& before, const UOp& after) override;
  void ends(std::string_view pass, const UOp& sink) override;
  int passes() const { return passes_; }  // that were checked

 private:
  RewriteRecorder* before_;  // outlives this
  int passes_ = 0;
};

}  // namespace touchstone
