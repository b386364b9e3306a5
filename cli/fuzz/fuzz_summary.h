#pragma once

#include <string>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::cli {

/// The outcome of replaying a corpus.
struct CorpusCount {
  int cases = 0, failed = 0, damaged = 0;
};

/// A campaign as one JSON object, with a line end.
std::string fuzz_summary_json(const FuzzOptions& options, const CorpusCount& corpus,
                              const fuzz::RunResult& result);

}  // namespace touchstone::cli
