#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// An area in a hunt: in each round, or in one of `every`, `cases` cases are drawn. If the hunt
/// knows its goal (HuntOptions::reached), areas that reach it less often get fewer turns.
struct HuntArea {
  std::string name;                             // of the area, or of its variant
  std::function<std::unique_ptr<Area>()> make;  // called in child processes
  int cases = 64;
  int every = 1;
};

struct HuntOptions {
  std::uint64_t seed = 0;
  double seconds = 60;              // processor time until it gives up
  std::int64_t cases = 10'000'000;  // of all areas
  double case_seconds = 20;         // a case that takes longer counts as hanging
  std::uint64_t memory = 0;         // bytes of address space; 0: no limit, as sanitizers need
  int most_shrink_runs = 1500;
  std::function<void()> begin;  // activates a mutant in a child; empty: none, all failures count
  /// Whether the mutant's place was reached since the last call.
  std::function<bool()> reached;
};

/// The result of a hunt.
struct Hunted {
  bool found = false;
  bool reached = true;     // the mutant's place was reached
  std::string area;        // that found it
  std::int64_t cases = 0;  // of all areas, including the failing one
  double seconds = 0;      // processor time until then
  /// Cases that fail without the mutant as well and are no finds; without a mutant, all failures.
  std::int64_t others = 0;
  std::string relation;  // the broken relation; "crash" or "hang" if the process ended
  std::string drawn;     // the case
  std::string text;      // the case, shrunk
  std::string detail;
  bool alone = true;  // it fails in its own process and could be shrunk
  Extent extent{}, drawn_extent{};
  int shrink_runs = 0;  // each in its own process
  double shrink_seconds = 0;
};

/// Draws cases of all areas in turn in a child process until one fails that passes without the
/// mutant, tested in another child; then shrinks it. Equal seeds draw equal cases. Throws
/// SystemError if no child can be started.
Hunted hunt(const std::vector<HuntArea>& areas, const HuntOptions& options);

/// Checks one case in its own process, with or without the mutant. Returns the broken relation,
/// "crash" or "hang"; empty if all hold. `detail` receives the details. `relation`: the only costly
/// relation to check; empty: all.
std::string check_alone(const HuntArea& area, const HuntOptions& options, bool with,
                        const std::string& text, std::string* detail = nullptr,
                        std::string_view relation = {});

}  // namespace touchstone::fuzz
