#include "touchstone/fuzz/engine/shrink_findings.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/engine/worker.h"

namespace touchstone::fuzz {
namespace {

/// Whether a case breaks its relation when checked from its text, or as drawn.
bool fails_as(const std::string& text, Area& area, const AreaFinding& f) {
  try {
    const Checked c = area.check_for(text_of_case(area, text), f.failure.relation);
    return c.ending == Ending::Fail && c.failure.relation == f.failure.relation;
  } catch (const ParseError&) {
    return false;
  }
}

/// Shrinks one finding in its own process; one that ends its worker uses a process per try.
void shrink_finding(const AreaPlan& plan, const RunOptions& options, AreaFinding& f) {
  const bool ends = f.failure.relation == "crash" || f.failure.relation == "hang";
  if (ends && f.text.starts_with('#')) return;
  // Each try of a hanging case takes as long, and short campaigns must end.
  constexpr int kMostHangs = 12;
  const double hangs = options.seconds / options.case_seconds;
  const int tries =
      options.seconds <= 0 ? kMostHangs : static_cast<int>(std::min<double>(hangs, kMostHangs));
  if (f.failure.relation == "hang" && tries < 1) return;
  double limit = ends ? options.case_seconds : 2 * options.case_seconds;
  // A hanging backend hangs at each try.
  constexpr double kLeast = 5;
  if (!ends && options.seconds > 0) limit = std::min(limit, std::max(options.seconds, kLeast));
  std::string ended;
  if (!ends) {
    const auto work = [&] {
      const std::unique_ptr<Area> area = plan.make(0);
      if (f.text.starts_with('#') || !fails_as(f.text, *area, f)) {
        f.only_drawn = fails_as(drawn_case(options.seed, f.index), *plan.make(0), f);
        f.unsteady = !f.only_drawn;
      } else {
        const ShrunkCase s = shrink_case(*area, f.text, f.failure.relation, plan.most_shrink_runs);
        const Checked c = area->check_for(s.text, f.failure.relation);
        f.shrunk = s.text;
        f.runs = s.runs;
        if (c.failure.relation == f.failure.relation) f.failure.detail = c.failure.detail;
      }
      return line_of({f.shrunk, f.runs, f.failure, f.only_drawn, f.unsteady});
    };
    if (const auto told = in_child(work, limit, options.memory, ended))
      std::tie(f.shrunk, f.runs, f.failure, f.only_drawn, f.unsteady) =
          nlohmann::json::parse(*told).get<std::tuple<std::string, int, Failure, bool, bool>>();
    return;
  }
  const auto fails = [&](const std::string& text) {
    const auto work = [&] {
      (void)plan.make(0)->check_for(text, {});
      return std::string();
    };
    std::string how;
    if (in_child(work, limit, options.memory, how)) return false;
    return (how == "hang") == (f.failure.relation == "hang") && !how.starts_with("exception");
  };
  if (!fails(f.text)) return;  // not reproducible: it depends on earlier cases or chance
  const std::unique_ptr<Area> area = plan.make(0);
  const ShrunkCase s =
      shrink_case(*area, f.text, fails, f.failure.relation == "hang" ? tries : 200);
  f.shrunk = s.text;
  f.runs = s.runs;
}

}  // namespace

std::string drawn_case(std::uint64_t seed, std::int64_t index) {
  return fmt::format("#{}:{}", seed, index);
}

std::string text_of_case(Area& area, const std::string& text) {
  if (!text.starts_with('#')) return text;
  std::uint64_t seed = 0;
  std::int64_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [colon, bad] = std::from_chars(text.data() + 1, end, seed);
  const char* const second = colon == end ? end : colon + 1;
  const auto [rest, worse] = std::from_chars(second, end, index);
  if (bad != std::errc() || worse != std::errc() || *colon != ':' || rest != end || index < 0)
    throw ParseError(fmt::format("a drawn case is written #SEED:INDEX, as #7:123, not '{}'", text));
  RandomChooser chooser(seed, case_key(area.name(), index));
  return area.draw(chooser);
}

void shrink_findings(const AreaPlan& plan, const RunOptions& options, const std::atomic<bool>& stop,
                     RunLog& log, AreaResult& result) {
  std::vector<AreaFinding> kept;
  int shrunk = 0;
  for (AreaFinding& f : result.findings) {
    if (shrunk >= std::min(options.most_shrunk, plan.most_shrunk) || stop.load()) {
      ++result.unshrunk;
      kept.push_back(std::move(f));
      continue;
    }
    ++shrunk;
    try {
      shrink_finding(plan, options, f);
    } catch (const Interrupted&) {
      ++result.unshrunk;
      kept.push_back(std::move(f));
      continue;
    }
    try {
      log.shrunk(plan.name, f);
    } catch (const SystemError&) {  // the disk is full: keep the result so far
      f.times = 1;
      const auto place = &f - result.findings.data();
      result.findings.erase(result.findings.begin(), result.findings.begin() + place);
      result.unshrunk += std::ssize(result.findings) - 1;
      std::ranges::move(result.findings, std::back_inserter(kept));
      result.findings = std::move(kept);
      throw;
    }
    const auto same = std::ranges::find_if(kept, [&](const AreaFinding& k) {
      return k.shrunk == f.shrunk && k.failure.relation == f.failure.relation;
    });
    if (same != kept.end())
      ++same->times;
    else
      kept.push_back(std::move(f));
  }
  result.findings = std::move(kept);
}

}  // namespace touchstone::fuzz
