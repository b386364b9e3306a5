#pragma once

#include <array>
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

/// A broken relation: its name, which shrinking keeps, and values and points for a
/// person.
struct Failure {
  std::string relation;
  std::string detail;
};

enum class Ending : std::uint8_t {
  Pass,
  Weak,     // a verdict without power
  Skipped,  // the case says nothing: undefined everywhere, or not for this backend
  Fail
};
std::string_view name(Ending ending);

struct Checked {
  Ending ending = Ending::Pass;
  Failure failure{};  // of a Fail
  /// Relations that were asked for and say nothing of this case, or ended in an error that is no
  /// fault: they are counted.
  std::vector<std::string_view> passed_over{};

  static Checked fail(std::string relation, std::string detail) {
    return {Ending::Fail, {std::move(relation), std::move(detail)}, {}};
  }
};

/// Costly relations are checked of every case, or of a sample that the case's own text chooses.
enum class Effort : std::uint8_t { Sampled, Full };

/// How large a case is, most important first; every accepted shrink lowers it.
using Measure = std::array<std::int64_t, 5>;

/// How large a case looks to a person.
struct Extent {
  std::int64_t ops = 0;  // operators, operations, nodes that compute: not constants, not inputs
  std::int64_t dim = 0;  // the largest size of an axis of what it begins with, if any
};

/// The coverage of a part of a case: one number a dimension of the area, its
/// place among the dimension's values; -1 where it has none.
using CoverageRow = std::vector<int>;
struct Dimension {
  std::string name;
  std::vector<std::string> values;
};

/// A part of the project under test, as a fuzzer sees it. A case is a text: one line, complete in
/// itself, independent of how it was drawn, so that it means the same for ever. Objects are used by
/// one thread; what `check` says of a text is a function of the text (and of the backend) alone.
class Area {
 public:
  virtual ~Area() = default;
  virtual std::string_view name() const = 0;
  /// A case; equal choices draw equal cases.
  virtual std::string draw(Chooser& chooser) = 0;
  /// Told of cases that will be checked next, where it is cheaper to compile them together.
  virtual void prepare(std::span<const std::string> /*cases*/) {}
  /// Throws ParseError where the text is no case of this area, saying what is wrong.
  virtual Checked check(const std::string& text, Effort effort) = 0;
  /// The same with all costly relations, of which only `relation` has to be checked.
  virtual Checked check_for(const std::string& text, std::string_view /*relation*/) {
    return check(text, Effort::Full);
  }
  /// Cases that may be smaller, the boldest first. Throws as `check`.
  virtual std::vector<std::string> smaller(const std::string& text) = 0;
  virtual Measure measure(const std::string& text) = 0;
  virtual Extent extent(const std::string& /*text*/) { return {}; }

  /// The dimensions of the coverage report; none by default.
  virtual std::vector<Dimension> dimensions() const { return {}; }
  /// Whether a row, -1 where it says nothing, can occur.
  virtual bool feasible(std::span<const int> /*row*/) const { return true; }
  virtual std::vector<CoverageRow> coverage(const std::string& /*text*/, Ending /*ending*/) {
    return {};
  }
};

/// Whether a candidate still fails in the same way.
using StillFails = std::function<bool(const std::string& text)>;

struct ShrunkCase {
  std::string text;
  int runs = 0;  // calls of `fails`
};
/// Takes the first smaller case that still fails, until there is none or `most_runs` are used up.
/// Every step lowers the measure, no case is tried twice, and equal input gives equal output.
ShrunkCase shrink_case(Area& area, const std::string& text, const StillFails& fails,
                       int most_runs = 2000);
/// The same for a case that breaks `relation` in this process.
ShrunkCase shrink_case(Area& area, const std::string& text, const std::string& relation,
                       int most_runs = 2000);

}  // namespace touchstone::fuzz
