#pragma once

#include <fmt/format.h>

#include "touchstone/cli/program/terminal.h"
#include "touchstone/search/beam.h"

namespace touchstone::cli {

/// Shows the state of a layout search on the progress line.
inline void show_search(Progress& progress, const BeamProgress& now) {
  progress.set_total(static_cast<std::int64_t>(now.of));
  progress.update(static_cast<std::int64_t>(now.tried),
                  now.best == 0 ? std::string()
                                : fmt::format("round {}: {:.3f} ms, hand-coded {:.3f} ms",
                                              now.round, now.best * 1e3, now.hand_coded * 1e3));
}

}  // namespace touchstone::cli
