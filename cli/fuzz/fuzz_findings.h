#pragma once

#include <span>
#include <string>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::cli {

/// Prints a finding with the command that checks it again. Writes a folder for a kernel, and a file
/// for other long cases; prints them if writing fails. `hurried`: runs nothing, because the user
/// wants to stop.
void show_finding(const FuzzOptions& o, const std::string& area, const fuzz::AreaFinding& f,
                  bool hurried);

/// Writes the texts of unshrunk findings to a file in the findings folder, or to standard output if
/// that fails.
void show_unshrunk(const FuzzOptions& o, const std::string& area,
                   std::span<const fuzz::AreaFinding> findings);

/// The outcome of replaying a corpus.
struct CorpusCount {
  int cases = 0, failed = 0, damaged = 0;
};

/// A campaign as one JSON object, with a line end.
std::string fuzz_summary_json(const FuzzOptions& options, const CorpusCount& corpus,
                              const fuzz::RunResult& result);

}  // namespace touchstone::cli
