#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/ask/question.h"

// Index expressions and layouts as other projects write them, and back (docs/notations.md).

namespace touchstone::symbolic {

enum class Language : std::uint8_t {
  Touchstone,
  C,
  Python,
  Sympy,
  Jax,
  Tvm,
  Halide,
  Mlir,
  Isl,
  Cute,
  Triton,
  Strides,
  Einops,
};

struct LanguageInfo {
  Language language;
  std::string_view name;
  std::string_view others;  // other names, each between spaces
  std::string_view meaning;
  bool writes;
};

// clang-format off
inline constexpr std::array kLanguages = {
    LanguageInfo{Language::Touchstone, "touchstone", "", "as `touchstone simplify` writes: // and % floor", true},
    LanguageInfo{Language::C, "c", " c++ cpp cuda opencl ", "/ and % truncate; & | ^ ~ << >> && || ! ?:, casts, statements", true},
    LanguageInfo{Language::Python, "python", " tinygrad numpy ", "// and % floor; & | ^ ~ << >> **, a if c else b, chained comparisons", true},
    LanguageInfo{Language::Sympy, "sympy", " inductor pytorch ", "floor(x/4), Mod, FloorDiv, ModularIndexing, Min, Max, Eq, Piecewise", true},
    LanguageInfo{Language::Jax, "jax", "", "symbolic dimensions: floordiv, mod, max, min", true},
    LanguageInfo{Language::Tvm, "tvm", " tir ", "TVM script: T.floordiv, T.truncmod, T.if_then_else, T.min", true},
    LanguageInfo{Language::Halide, "halide", "", "/ and % floor; select, min, max, clamp", true},
    LanguageInfo{Language::Mlir, "mlir", " affine ", "floordiv, ceildiv, mod; affine_map<..>, affine_set<..>, memref<..>", true},
    LanguageInfo{Language::Isl, "isl", "", "{ [i, j] -> [i mod 4, floor(j/2)] : 0 <= i < 8 }", true},
    LanguageInfo{Language::Cute, "cute", " cutlass ", "layouts: (4,(2,8)):(1,(64,4)), A o B, Swizzle<3,3,3> o A; of the index i", false},
    LanguageInfo{Language::Triton, "triton", " linear ", "linear layouts: lane=1 -> (0, 1), a line or more for each input", false},
    LanguageInfo{Language::Strides, "strides", " memory ", "shape=(4, 8), strides=(8, 1), offset=0; itemsize=4 for strides in bytes", false},
    LanguageInfo{Language::Einops, "einops", " rearrange ", "b (h w) -> b h w, h=4, w=8: of the output's index", false},
};
// clang-format on

constexpr bool language_rows_follow_enum() {
  for (std::size_t i = 0; i < kLanguages.size(); ++i)
    if (kLanguages[i].language != static_cast<Language>(i)) return false;
  return static_cast<std::size_t>(Language::Einops) + 1 == kLanguages.size();
}
static_assert(language_rows_follow_enum(),
              "kLanguages needs one row per Language, in the order of Language");

constexpr const LanguageInfo& info(Language l) { return kLanguages[static_cast<std::size_t>(l)]; }

/// A language by its name. Throws ParseError that lists the names.
Language parse_language(std::string_view name);
/// The language of a text that can be no other; nullopt if it may be several.
std::optional<Language> guess_language(std::string_view text);

/// What a text in another language asks, in the project's own notation.
struct Translation {
  Language language = Language::Touchstone;
  /// One for each result, as of an affine_map. Variables that the text bounds have its bounds,
  /// unless they are given; its conditions are assumptions.
  std::vector<Question> questions;
  /// The name in the text of each variable whose name there is no identifier, as blockIdx.x.
  std::map<std::string, std::string> spelled;
  /// What the translation takes for granted.
  std::vector<std::string> notes;
  /// The results of the operators of the text, in the project's notation, with the conditions under
  /// which each is computed; only the first kMostParts.
  static constexpr std::size_t kMostParts = 500;
  std::vector<GuardedPart> parts;
  /// Variables that the text names as unknown numbers, not as indices: affine_map<(d0)[s0] -> ..>.
  std::vector<std::string> symbols;
  /// The sizes of a CuTe layout's modes; its variable i is their flat index.
  std::vector<Int> modes;
};

/// Translates the text of `given`; its variables may have the names of the text, its assumptions
/// are in the same language. Numbers are integers of any size; a cast to less than 32 bits, or of a
/// number that certainly leaves the type, wraps around.
/// Throws ParseError with the column and what to write instead.
Translation translate(const Question& given, Language from);

/// Writes an answer's text in another language, for the variables and assumptions of `question`,
/// which decide where C's quotients need a correction. Throws Error if the language has no word for
/// a part, or if the sign of a divisor is unknown.
std::string written(std::string_view text, const Question& question, Language to,
                    const std::map<std::string, std::string>& spelled = {});
/// The same for several results: one affine_map, isl map or list. `symbols`: unknown numbers among
/// the variables, [s0] there. isl has the assumptions, too.
std::string written(const std::vector<std::string>& texts, const Question& question, Language to,
                    const std::map<std::string, std::string>& spelled,
                    const std::vector<std::string>& symbols);

}  // namespace touchstone::symbolic
