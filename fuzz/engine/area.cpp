#include "touchstone/fuzz/engine/area.h"

#include <unordered_set>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {

std::string_view name(Ending ending) {
  constexpr std::string_view kNames[] = {"PASS", "WEAK", "SKIPPED", "FAIL"};
  return kNames[static_cast<std::size_t>(ending)];
}

ShrunkCase shrink_case(Area& area, const std::string& text, const StillFails& fails,
                       int most_runs) {
  ShrunkCase result{text, 0};
  Measure size = area.measure(text);
  std::unordered_set<std::string> tried{text};
  // Steps up to the accepted one were just tried: they come last.
  std::size_t from = 0;
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<std::string> candidates = area.smaller(result.text);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const std::size_t i = (from + k) % candidates.size();
      if (!tried.insert(candidates[i]).second) continue;
      Measure smaller{};
      try {
        smaller = area.measure(candidates[i]);
      } catch (const ParseError&) {
        continue;  // no valid case, for example after a divisor became 0
      }
      if (!(smaller < size)) continue;
      if (result.runs == most_runs) return result;
      ++result.runs;
      if (!fails(candidates[i])) continue;
      result.text = std::move(candidates[i]);
      size = smaller;
      from = i + 1;
      progress = true;
      break;
    }
  }
  return result;
}

ShrunkCase shrink_case(Area& area, const std::string& text, const std::string& relation,
                       int most_runs) {
  const auto fails = [&](const std::string& candidate) {
    try {
      const Checked c = area.check_for(candidate, relation);
      return c.ending == Ending::Fail && c.failure.relation == relation;
    } catch (const ParseError&) {
      return false;
    }
  };
  return shrink_case(area, text, fails, most_runs);
}

}  // namespace touchstone::fuzz
