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
  std::size_t tried = 0, of = 0;  // candidates of this search so far, and with those of this round
  double best = 0;                // seconds a run
  double hand_coded = 0;
};

/// How opts are searched for.
struct BeamOptions {
  int width = 4;         // lists that a round starts from
  int rounds = 12;       // at most; it ends where none brought anything
  double seconds = 120;  // of the whole search; 0: as long as it takes
  /// Called before each batch of candidates, and at the end.
  std::function<void(const BeamProgress&)> progress;
};

/// The outcome of a search.
struct BeamResult {
  Opts opts;
  double seconds = 0;     // a run with them, least of several, on made-up inputs
  double hand_coded = 0;  // with hand_coded_optimizations
  std::size_t tried = 0;  // candidates that were compiled and timed now; others were known
  /// Lists whose output was not that of the hand-coded ones, or that crashed or hung: none, unless
  /// code generation is wrong.
  std::vector<std::string> wrong;
};

/// Looks for the list of opts with which the CLANG device runs a kernel fastest, from the
/// hand-coded one and from none, by beam search over `neighbours`. Candidates are compiled and
/// timed in a child process. The sums of all of them meet their terms in the same order, so that
/// each must give the bits of the hand-coded one on its first run; and that one is judged by the
/// oracle (interp/oracle/verdict.h), at every element where the kernel is small, at 32 of them
/// elsewhere. Times are kept in the folder of compiled kernels, a file a kernel and machine, and
/// not measured again: a search that was interrupted goes on where it was. Kernels with variables,
/// of no elements, or whose checked positions no made-up ones meet, have their hand-coded opts.
/// Throws AstError where the oracle refuses the hand-coded output, SystemError as Device::runner,
/// Interrupted.
BeamResult search_opts(const LazyOpPtr& kernel, const ClangOptions& clang,
                       const BeamOptions& options = {});

/// From now on CLANG devices whose options have a beam look for the opts of each kernel they make,
/// and tell `progress` of it.
void install_search(std::function<void(const BeamProgress&)> progress = {});

}  // namespace touchstone
