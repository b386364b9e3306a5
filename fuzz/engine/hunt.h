#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// An area that takes part in a hunt: in each round, or in one of `every`, `cases` cases are drawn.
/// Where a hunt knows what it wants to come to (HuntOptions::reached), areas whose turns come to it
/// less often than those of others get fewer turns.
struct HuntArea {
  std::string name;  // of the area, or of what tells it from another of its kind
  std::function<std::unique_ptr<Area>()> make;  // called in child processes
  int cases = 64;
  int every = 1;
};

struct HuntOptions {
  std::uint64_t seed = 0;
  double seconds = 60;              // of processor time until it is given up
  std::int64_t cases = 10'000'000;  // of all areas
  double case_seconds = 20;         // a case that takes longer hangs
  std::uint64_t memory = 0;         // bytes of address space; 0: no limit, as sanitizers need it
  int most_shrink_runs = 1500;
  std::function<void()> begin;  // puts a mutant on, in a child; empty: none, and all failures count
  /// Whether the mutant's place was come to since it was last asked.
  std::function<bool()> reached;
};

/// The result of a hunt.
struct Hunted {
  bool found = false;
  bool reached = true;     // the mutant's place was come to
  std::string area;        // that found it
  std::int64_t cases = 0;  // of all areas, up to the one that failed
  double seconds = 0;      // of processor time, until then
  /// Cases that fail without the mutant as well, which are no finds; where no mutant is put on, all
  /// that failed.
  std::int64_t others = 0;
  std::string relation;  // that does not hold; "crash" or "hang" where it ends the process
  std::string drawn;     // the case
  std::string text;      // the case, shrunk
  std::string detail;
  bool alone = true;  // it fails in a process of its own, and could be shrunk
  Extent extent{}, drawn_extent{};
  int shrink_runs = 0;  // each in a process of its own
  double shrink_seconds = 0;
};

/// Draws cases of all areas in turn, in a child process, until one fails that passes with no mutant
/// on, which another child process tells; shrinks that one. Equal seeds draw equal cases. Throws
/// SystemError where there can be no child.
Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options);

/// Looks at one case in a process of its own, with the mutant on or without: the relation that does
/// not hold, "crash" or "hang"; empty where all hold. `detail` says more. `relation`: the only one
/// of the costly relations that has to be checked; empty: all.
std::string check_alone(const HuntArea& area, const HuntOptions& options, bool with,
                        const std::string& text, std::string* detail = nullptr,
                        std::string_view relation = {});

}  // namespace touchstone::fuzz
