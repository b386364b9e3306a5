#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/fuzz/area.h"

namespace touchstone::fuzz {

/// An area that takes part in a hunt: `turn` cases of it are drawn, then it is the next one's turn.
struct HuntArea {
  std::function<std::unique_ptr<Area>()> make;  // called in the child process
  int turn = 64;
};

struct HuntOptions {
  std::uint64_t seed = 0;
  double seconds = 60;                            // until it is given up
  std::int64_t cases = 10'000'000;                // of all areas
  double case_seconds = 20;                       // what takes longer hangs
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes of address space
  int most_shrink_runs = 3000;
  std::function<void()> begin;  // in the child, before anything else: puts a mutant on
  std::function<bool()> reached;
};

/// What came of it.
struct Hunted {
  bool found = false;
  bool reached = true;     // what `reached` said at the end
  std::string area;        // that found it
  std::int64_t cases = 0;  // of all areas, up to the one that failed
  double seconds = 0;      // until then
  std::string relation;    // that does not hold; "crash" or "hang" where it ended the process
  std::string text;        // the case, shrunk where the relation is one
  std::string detail;
  Measure measure{};  // of `text`
  int shrink_runs = 0;
  double shrink_seconds = 0;
};

/// Draws cases of all areas in turn, in a child process, until one fails; shrinks that one. Equal
/// seeds draw equal cases. Throws SystemError where there can be no child.
Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options);

}  // namespace touchstone::fuzz
