#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/define/forms.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone {

/// The arithmetic allowed, and who chose it.
struct ChosenProfile {
  Profile profile;
  std::string from = "the default";  // or "named by --profile", ...

  /// "under library (the formula names library functions)".
  std::string str() const;
  /// The verdict's line; a FAIL for its elements ends with `str()`.
  std::string str(const Verdict& verdict) const;
  bool operator==(const ChosenProfile&) const = default;
};

/// How the results of a kernel are judged.
struct Judging : ChosenProfile {
  struct Input {
    std::string name;
    DType dtype = DType::Float32;
    define::Sizes shape;
    bool operator==(const Input&) const = default;
  };
  std::string definition;     // a formula or a definition's name; empty: the kernel's nodes
  std::vector<Input> inputs;  // of a formula: buffers 1, 2, ...
  Sampling sampling = {};

  /// Of a definition, under its usual profile (docs/oracle.md).
  static Judging of(std::string definition, bool is_loose);
  /// Throws ParseError if the profile names an unknown form.
  Judging under(const std::optional<ChosenProfile>& chosen) const;
  bool operator==(const Judging&) const = default;
};

/// True if the definition is a formula, not only a name.
bool has_formula(const Judging& judging);
/// The shapes of the formula's inputs.
std::vector<define::InputShape> shapes_of(const Judging& judging);
/// The output's shape as the definition has it; without a formula, as the kernel has it, whose
/// sizes are numbers.
define::Sizes output_shape(const Judging& judging, const LazyOpPtr& kernel);

struct KernelToJudge : KernelFile {
  Judging judging;
};

/// As define::parse.
KernelToJudge formula_to_judge(std::string_view text,
                               std::span<const define::InputShape> shapes = {});

/// The kernel, or its formula with the stages rounded that the profile stores ("stores").
LazyOpPtr in_stages(const LazyOpPtr& kernel, const Judging& judging);

/// The flat index of an element of the output: `at` has the axes that the user sees; those of size
/// 1 at the end may be left out. Throws ShapeError.
std::int64_t element_at(const LazyOpPtr& kernel, std::span<const std::int64_t> at,
                        const Judging& judging);
/// As `explain` of explain.h, at `element_at`; a node that is a stage of a composite
/// (docs/define.md) says so.
std::vector<ExplainedNode> explain(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                                   std::span<const std::int64_t> at, const Judging& judging);

/// Judges as `judge` of verdict.h. Returns the verdict under the definition, or the first PASS
/// under one of its forms. A FAIL has the user's axes and operands, and its cause where one is
/// known.
Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Judging& judging, const symbolic::Values& values = {});

/// A profile from JSON. Throws ParseError, also if it has the name of a different built-in one.
Profile own_profile(std::string_view json);

/// Where the judging of a kernel's file is: judging.json beside kernel.json, x.judging.json beside
/// x.json (docs/kernel-json.md).
std::filesystem::path judging_path(const std::filesystem::path& kernel);
/// The text of a judging.json.
std::string judging_json(const KernelToJudge& kernel);
/// The judging in that text, unless it is for another kernel. `folder`: where the text was read.
/// Throws ParseError.
Judging judging_from_json(std::string_view text, const KernelFile& kernel, std::string_view folder);
/// The kernel with the judging of `judging_path`, or of a judging.json beside it, if there is one.
/// Throws ParseError or SystemError.
KernelToJudge kernel_to_judge(KernelFile kernel, const std::filesystem::path& path);

}  // namespace touchstone
