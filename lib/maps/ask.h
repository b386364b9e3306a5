#pragma once

#include "touchstone/maps/layout.h"
#include "touchstone/maps/why.h"

// Questions about maps by name, for the command, Python and C.

namespace touchstone::maps {

struct Operation {
  std::string_view name;
  int maps;  // how many it takes
  std::string_view meaning;
};
inline constexpr Operation kOperations[] = {
    // clang-format off
    {"show", 1, "the map in every notation that it has, and its counts"},
    {"equal", 2, "the same domain and results? over the same inputs, else by flat index"},
    {"why-not", 2, "if they are not equal: which fact would make them so"},
    {"compose", 2, "the first after the second, as CuTe's `A o B`"},
    {"injective", 1, "do different points have different results?"},
    {"surjective", 1, "is every number of --onto a result? [0 to the largest]"},
    {"bijective", 1, "both: is it a permutation?"},
    {"overlap", 2, "do the two have a result in common?"},
    {"inverse", 1, "the point of each result, and which numbers are results"},
    {"complement", 1, "the layout of the addresses below --size that a layout does not reach [its end]"},
    {"divide", 2, "CuTe's logical_divide: the first in tiles of the second"},
    {"product", 2, "CuTe's logical_product: the first, repeated as the second says"},
    {"coalesce", 1, "the same layout with the fewest modes"},
    {"image", 1, "points, distinct results, the least and the largest"},
    {"preimage", 1, "the points whose results are in --onto"},
    {"footprint", 1, "distinct results of a tile of --tile values of each input"},
    {"intersect", 2, "results that both have"},
    {"difference", 2, "results of the first that the second has not"},
    {"restrict", 1, "the map where --where holds"},
    {"solve", 1, "the least and the largest value of the one input for which a condition holds"},
    // clang-format on
};

struct Options {
  std::optional<Ranges> onto;      // surjective, bijective, preimage
  std::vector<std::int64_t> tile;  // footprint: a size for each input
  std::optional<std::int64_t> size;
  std::string where;
  std::string to;      // the notation of a resulting map; empty: "[i] -> [..]"
  bool steps = false;  // equal: why, step by step
};

/// The notation of each text: a Language, or "view" (a shape and movement operations, `10,10
/// permute 1,0`). Empty: guessed from the text. Throws ParseError.
Map read_map(const symbolic::Question& text, const std::string& from,
             const std::vector<std::string>& symbols);
/// Each map takes the variables that its text names. Throws ParseError for a variable in no text.
std::vector<Map> read_maps(const std::vector<std::string>& texts,
                           const std::vector<std::string>& from, const symbolic::Question& given,
                           const std::vector<std::string>& symbols);

struct Answer {
  std::optional<Verdict> verdict;                          // of a question with yes or no
  std::vector<std::pair<std::string, std::string>> lines;  // names and texts
  std::vector<symbolic::Values> points;                    // that show a no
  std::optional<Map> map;                                  // a result
  std::optional<Why> why;                                  // of a yes, if `steps`
};
/// Throws ParseError if there is no such operation or an option is missing, ShapeError if maps do
/// not fit.
Answer ask(const std::string& operation, const std::vector<Map>& maps, const Options& options);

/// {"operation":..,"answer":"yes","points":[..],..}
std::string answer_json(const std::string& operation, const Answer& answer);

/// "0..7" or "5", for each result, by commas.
Ranges ranges_of(const std::string& text);

}  // namespace touchstone::maps
