#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/define/library.h"
#include "touchstone/define/text.h"

// The ways in which libraries compute a named composite other than as its definition says
// (docs/define.md, "Forms").

namespace touchstone::define {

class Arguments;

/// A way to compute the composites in `of`.
struct CompositeForm {
  std::string_view of;       // names, separated by spaces
  std::string_view name;     // "folded"
  std::string_view formula;  // "x*s + (b - mean*s), s = w*r"
  Way way;
  /// Where given, an array of bool: the form is sound if all elements are true. Without it, it is
  /// always sound.
  Array (*sound)(const Arguments&) = nullptr;
  /// False: legal only if a profile names it, since it is less accurate.
  bool by_default = true;
};
std::span<const CompositeForm> composite_forms();
/// Throws ParseError with the nearest name.
void require_form(std::string_view name);

/// A formula with one form for each of its composites.
struct FormulaForm {
  std::string name;  // "batch_norm: folded"
  LazyOpPtr kernel;
  std::vector<LazyOpPtr> sound;  // kernels of bool; all elements must be true
};
/// The forms of a formula with different kernels, at most `kMostForms`. Without `named`: those that
/// are legal by default, but the definition. Else those with these names, without conditions. Forms
/// that differ from the definition in one composite come first. With `stores`,
/// stages are rounded to these types. Throws ParseError, also for a stage that no composite has.
std::vector<FormulaForm> forms_of(std::string_view text, std::span<const InputShape> shapes,
                                  std::span<const std::string> named = {},
                                  std::span<const std::pair<std::string, DType>> stores = {});
inline constexpr std::size_t kMostForms = 64;
/// The names of the stages of a formula's composites.
std::set<std::string> stages_of(std::string_view text, std::span<const InputShape> shapes);
/// The definition with these stages rounded. Throws ParseError as above.
LazyOpPtr in_stages(std::string_view text, std::span<const InputShape> shapes,
                    std::span<const std::pair<std::string, DType>> stores);

}  // namespace touchstone::define
