#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/view_story.h"
#include "touchstone/ops/lazy_op.h"

// The explorer's answers, one function per question. They throw Error on a bad question.

namespace touchstone::explore {

using Json = nlohmann::ordered_json;

/// A member of a question; throws ParseError naming it if it is missing or of another kind.
std::string text_in(const Json& question, const char* name);
std::vector<std::string> texts_in(const Json& question, const char* name);  // [] where missing

/// {"ask":"translate","from":"c","in":"x >> 2","assume":[]}: the text in the project's notation:
/// `results`, one or more, with `vars`, `assume` and `notes` of what is taken for granted.
Json translate_answer(const Json& question);

/// {"ask":"steps","vars":{"x":[0,99]},"assume":[],"in":"x//4*4 + x%4"}: the derivation. `given`
/// holds bounds and assumptions; `steps`, in order, each have the whole `before` and `after` as
/// [left, changed, right], the `rule` and its `law`, `bindings`, `facts`; then follow `result` and
/// the checker's `verdict`, with `good` if it found no flaw. `line`: the question.
Json steps_answer(std::string_view line);

/// {"ask":"values","written":"..","short":"..","assume":[],"over":[["x",0,9],["y",0,9]],
/// "at":{"n":3}}: both forms at all points, the last variable of `over` varying fastest. Values are
/// numbers, text beyond 2^53, and null if a division by zero decides. `asked` is 1 where the
/// assumptions hold; `agree` tells whether the forms are equal there wherever the written one has a
/// value. At most kMostPoints points.
Json values_answer(const Json& question);
inline constexpr std::size_t kMostPoints = 20'000;

/// {"ask":"prove","claim":"x//-2 -> -(x//2)","within":[-9,9]}: a claim, or a rule by name. Tests
/// all points if the condition bounds the variables to few; else decides a claim as decide/decide.h
/// does without Z3; else tests the points with every variable in `within`, narrowed until there are
/// few, then searches among larger ones. `verdict` is "proved", "refuted" or "open" (no
/// counterexample found).
Json prove_answer(const Json& question);

/// {"ask":"rules"}: {"rules":[{"name","title","claim"}]}.
Json rules_answer();

/// {"ask":"view","words":"4,6 permute 1,0","vars":["n=2..9"],"start":{"strides":"1,4"}}: the story
/// of a chain, as on the page of `touchstone view --html`.
Json view_answer(const Json& question);
Json story_json(const std::string& title, const ViewStory& story);

/// {"ask":"map","operation":"equal","maps":["(4,8):(8,1)","32:1"],"from":["cute","c"],"vars":{},
/// "assume":[],"symbols":[],"by":"bank","banks":32,"bytes":4}: the answer of `touchstone map
/// --json`, of equal maps with its steps, and `drawing`, HTML of the maps and the resulting one, or
/// `undrawn`, why there is none.
Json map_answer(const Json& question);

/// A text's kernels with the values of all buffers, for questions about single elements.
struct KernelRun;
/// Runs the kernels of a formula, such as "softmax(x[8,33])" (docs/define.md), or of a program in
/// the fuzzer's notation, on the reference. inputs: values of a formula's inputs by name, repeated
/// over the elements; missing inputs are drawn, always alike. Throws ParseError, AstError; Error if
/// it would take too long for a page.
std::shared_ptr<const KernelRun> run_kernels(const std::string& text, const Json& inputs);

/// {"ask":"kernel","text":"..","inputs":{"x":"1 2 nan"},"profile":"ieee"}: `profile` and
/// `profile_from`, by default the text's usual ones, and `kernels` in execution order. Each has the
/// lines of its `ast`, `uops` and `c` and their relation: the `node` of each AST line, and the
/// `nodes` entry and C line (`lines`) of each UOp, -1 if none; `output` and `inputs` with `shape`,
/// `dtype` and the first kMostShown elements as [text, bits], for the output with their legal
/// numbers.
Json kernel_answer(const KernelRun& run, const std::string& profile);
inline constexpr std::int64_t kMostShown = 1024;

/// `ast`, `node`, `uops`, `nodes`, `c` and `lines` of a kernel; without C code, a comment gives the
/// reason.
Json code_json(const LazyOpPtr& kernel);

/// {"ask":"element","text":..,"inputs":..,"kernel":0,"at":[3,7],"profile":".."}: how one element is
/// computed, as `touchstone explain` prints it.
Json element_answer(const KernelRun& run, const Json& question, const std::string& profile);

}  // namespace touchstone::explore
