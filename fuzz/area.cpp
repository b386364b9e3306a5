#include "touchstone/fuzz/area.h"

#include <unordered_set>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {

std::string_view name(Ending ending) {
  constexpr std::string_view kNames[] = {"PASS", "WEAK", "SKIPPED", "FAIL"};
  return kNames[static_cast<std::size_t>(ending)];
}

bool sampled(const std::string& text, std::uint64_t every) {
  return hash_mix(0x5a17, hash_bytes(text)) % every == 0;
}

ShrunkCase shrink_case(Area& area, const std::string& text, const StillFails& fails,
                       int most_runs) {
  ShrunkCase result{text, 0};
  Measure size = area.measure(text);
  std::unordered_set<std::string> tried{text};
  for (bool progress = true; progress;) {
    progress = false;
    for (std::string& candidate : area.smaller(result.text)) {
      if (!tried.insert(candidate).second) continue;
      Measure smaller{};
      try {
        smaller = area.measure(candidate);
      } catch (const ParseError&) {
        continue;  // no case at all, as where a divisor became 0
      }
      if (!(smaller < size)) continue;
      if (result.runs == most_runs) return result;
      ++result.runs;
      if (!fails(candidate)) continue;
      result.text = std::move(candidate);
      size = smaller;
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
      const Checked c = area.check(candidate, Effort::Full);
      return c.ending == Ending::Fail && c.failure.relation == relation;
    } catch (const ParseError&) {
      return false;
    }
  };
  return shrink_case(area, text, fails, most_runs);
}

}  // namespace touchstone::fuzz
