#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "touchstone/clang/clang_options.h"
#include "touchstone/codegen/layout.h"

namespace touchstone {

struct BeamProgress {
  int round = 0;
  std::size_t tried = 0, of = 0;  // candidates tried so far; total including this round
  double best = 0;                // seconds per run
  double hand_coded = 0;
};

/// Options of a search for opts.
struct BeamOptions {
  int width = 4;         // lists kept per round
  int rounds = 12;       // maximum; stops early without improvement
  double seconds = 120;  // for the whole search; 0: no limit
  /// Called before each batch of candidates, and at the end.
  std::function<void(const BeamProgress&)> progress;
};

/// The result of a search.
struct BeamResult {
  Opts opts;
  double seconds = 0;     // per run with `opts`: minimum of several, on synthetic inputs
  double hand_coded = 0;  // per run with hand_coded_optimizations
  std::size_t tried = 0;  // candidates compiled and timed now; other times were cached
  /// Lists that gave another output than the hand-coded one, crashed or hung; empty unless code
  /// generation has a bug.
  std::vector<std::string> wrong;
};

/// Searches for the list of opts with which the CLANG device runs a kernel fastest: a beam search
/// over `neighbours`, starting from the hand-coded list and the empty one. Candidates are compiled
/// and timed in a child process. All use the same order of sums, so each must give the hand-coded
/// list's bits in its first run; the oracle judges that output (interp/oracle/verdict.h), at every
/// element of a small kernel, otherwise at 32. Times are kept in the folder of compiled kernels,
/// one file per kernel and machine, so an interrupted search can continue. Kernels with variables,
/// without elements, or with checked positions that synthetic inputs violate keep their hand-coded
/// opts. Throws AstError if the oracle rejects the hand-coded output, SystemError as
/// Device::runner, Interrupted.
BeamResult search_opts(const LazyOpPtr& kernel, const ClangOptions& clang,
                       const BeamOptions& options = {});

/// Makes CLANG devices with a beam option search for the opts of each kernel, reporting to
/// `progress`.
void install_search(std::function<void(const BeamProgress&)> progress = {});

}  // namespace touchstone
