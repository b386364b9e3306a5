#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/view_story.h"
#include "touchstone/ops/lazy_op.h"

// The answers of the explorer, one function a question. They throw Error on a bad question.

namespace touchstone::explore {

using Json = nlohmann::ordered_json;

/// The member of a question; throws ParseError that names it where it is missing or is of another
/// kind.
std::string text_in(const Json& question, const char* name);
std::vector<std::string> texts_in(const Json& question, const char* name);  // [] where missing

/// {"ask":"steps","vars":{"x":[0,99]},"assume":[],"in":"x//4*4 + x%4"}: the derivation. `given` are
/// bounds and assumptions, `steps` in order, each with the whole `before` and `after` as
/// [left, changed, right], the `rule` and its `law`, `bindings`, `facts`; then `result`, and the
/// checker's `verdict`, `good` where it has nothing to say against it. `line`: the question.
Json steps_answer(std::string_view line);

/// {"ask":"values","written":"..","short":"..","assume":[],"over":[["x",0,9],["y",0,9]],
/// "at":{"n":3}}: both forms at all points, the last variable of `over` the fastest: numbers, as
/// text where they exceed 2^53, null where a division by zero decides; `asked` has 1 where the
/// assumptions hold; `agree` whether the forms are equal there wherever the written one has a
/// value. At most kMostPoints points.
Json values_answer(const Json& question);
inline constexpr std::size_t kMostPoints = 20'000;

/// {"ask":"prove","claim":"x//-2 -> -(x//2)","within":[-9,9]}: a claim, or a rule by its name. All
/// points are looked at where its condition bounds the variables and they are few; else those with
/// every variable in `within`, narrowed until there are few, then a search among larger ones.
/// `verdict` is "proved", "refuted" or "open", where no point refutes it.
Json prove_answer(const Json& question);

/// {"ask":"rules"}: {"rules":[{"name","title","claim"}]}.
Json rules_answer();

/// {"ask":"view","words":"4,6 permute 1,0","vars":["n=2..9"],"start":{"strides":"1,4"}}: the story
/// of a chain, as the page of `touchstone view --html` has it.
Json view_answer(const Json& question);
Json story_json(const std::string& title, const ViewStory& story);

/// A text's kernels with the values of all their buffers, for questions about single elements.
struct KernelRun;
/// The kernels of a formula, as "softmax(x[8,33])" (docs/define.md), or of a program in the
/// notation of the fuzzer, run by the reference. inputs: values of a formula's inputs by name,
/// given out in turn over the elements; those left out are drawn, the same every time. Throws
/// ParseError, AstError; Error where it would take too long for a page.
std::shared_ptr<const KernelRun> run_kernels(const std::string& text, const Json& inputs);

/// {"ask":"kernel","text":"..","inputs":{"x":"1 2 nan"},"profile":"glibc"}: `kernels` in the order
/// in which they run. Each has lines of its `ast`, `uops` and `c`, and what belongs together: of
/// each line of the AST its `node`, of each UOp its `nodes` entry and its line of C in `lines`, -1
/// where there is none; `output` and `inputs` with `shape`, `dtype` and the first kMostShown
/// elements as [text, bits], those of the output also with their legal numbers.
Json kernel_answer(const KernelRun& run, const std::string& profile);
inline constexpr std::int64_t kMostShown = 1024;

/// `ast`, `node`, `uops`, `nodes`, `c` and `lines` of a kernel; where there is no C, a comment that
/// says why.
Json code_json(const LazyOpPtr& kernel);

/// {"ask":"element","text":..,"inputs":..,"kernel":0,"at":[3,7],"profile":".."}: how one element
/// comes about, as `touchstone explain` says it.
Json element_answer(const KernelRun& run, const Json& question, const std::string& profile);

}  // namespace touchstone::explore
