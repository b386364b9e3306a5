#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

/// A broken relation: its name, which shrinking keeps, and details for a person.
struct Failure {
  std::string relation;
  std::string detail;
};

enum class Ending : std::uint8_t {
  Pass,
  Weak,     // a verdict without power
  Skipped,  // no result: undefined everywhere, or not for this backend
  Fail
};
std::string_view name(Ending ending);

struct Checked {
  Ending ending = Ending::Pass;
  Failure failure{};  // of a Fail
  /// Relations that were asked for but did not apply to this case, or ended in an error that is no
  /// fault; they are counted.
  std::vector<std::string_view> passed_over{};

  static Checked fail(std::string relation, std::string detail) {
    return {Ending::Fail, {std::move(relation), std::move(detail)}, {}};
  }
};

/// Costly relations are checked on every case, or on a sample chosen by the case's text.
enum class Effort : std::uint8_t { Sampled, Full };

/// The size of a case, most important first; every accepted shrink lowers it.
using Measure = std::array<std::int64_t, 5>;

/// The size of a case as a person sees it.
struct Extent {
  std::int64_t ops = 0;  // operators, operations, computing nodes; no constants or inputs
  std::int64_t dim = 0;  // the largest axis of its inputs, if any
};

/// The coverage of a part of a case: for each dimension of the area, the place of its value; -1 if
/// it has none.
using CoverageRow = std::vector<int>;
struct Dimension {
  std::string name;
  std::vector<std::string> values;
};

/// A part of the project under test, as a fuzzer sees it. A case is a one-line text, complete in
/// itself and independent of how it was drawn, so that its meaning never changes. An object belongs
/// to one thread; `check` depends only on the text (and the backend).
class Area {
 public:
  virtual ~Area() = default;
  virtual std::string_view name() const = 0;
  /// Draws a case; equal choices draw equal cases.
  virtual std::string draw(Chooser& chooser) = 0;
  /// Announces the next cases, in case compiling them together is cheaper.
  virtual void prepare(std::span<const std::string> /*cases*/) {}
  /// Throws ParseError, saying what is wrong, if the text is no case of this area.
  virtual Checked check(const std::string& text, Effort effort) = 0;
  /// The same with all costly relations, of which only `relation` must be checked.
  virtual Checked check_for(const std::string& text, std::string_view /*relation*/) {
    return check(text, Effort::Full);
  }
  /// Candidates for smaller cases, the boldest first. Throws as `check`.
  virtual std::vector<std::string> smaller(const std::string& text) = 0;
  virtual Measure measure(const std::string& text) = 0;
  virtual Extent extent(const std::string& /*text*/) { return {}; }

  /// The dimensions of the coverage report; none by default.
  virtual std::vector<Dimension> dimensions() const { return {}; }
  /// Whether a row, -1 for no value, can occur.
  virtual bool feasible(std::span<const int> /*row*/) const { return true; }
  virtual std::vector<CoverageRow> coverage(const std::string& /*text*/, Ending /*ending*/) {
    return {};
  }
};

/// Removes entries of a list, for a smaller case; false if they are not there.
template <class List>
bool drop(List& list, std::size_t from, std::size_t count = 1) {
  if (from + count > list.size()) return false;
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(from);
  list.erase(at, at + static_cast<std::ptrdiff_t>(count));
  return true;
}

/// Whether a candidate fails in the same way.
using StillFails = std::function<bool(const std::string& text)>;

struct ShrunkCase {
  std::string text;
  int runs = 0;  // calls of `fails`
};
/// Takes the first smaller case that still fails until there is none or `most_runs` are used up.
/// Every step lowers the measure, no case is tried twice, and equal input gives equal output.
ShrunkCase shrink_case(Area& area, const std::string& text, const StillFails& fails,
                       int most_runs = 2000);
/// The same for a case that breaks `relation` in this process.
ShrunkCase shrink_case(Area& area, const std::string& text, const std::string& relation,
                       int most_runs = 2000);

}  // namespace touchstone::fuzz
