#pragma once

#include <map>
#include <optional>
#include <string>

#include "touchstone/process/child.h"
#include "touchstone/symbolic/number/integer.h"

namespace touchstone::prove {

enum class Answer : std::uint8_t { Unsat, Sat, Unknown };

struct Reply {
  Answer answer = Answer::Unknown;
  std::map<std::string, symbolic::Int> model;  // of a Sat
  std::string reason;                          // of an Unknown
  double seconds = 0;                          // processor time of the child
};

/// Z3 in a child process, which is started when it is first asked and ended when it takes too long
/// or the solver goes. Each question gets a solver of its own, so that answers do not depend on
/// what was asked before.
class Solver {
 public:
  /// Whether a script of SMT-LIB declarations, definitions and assertions can be satisfied. Z3
  /// gives up after `effort` of its own steps, which are the same on every machine; after `seconds`
  /// of processor time, or twenty times that by the clock on the wall, the child is killed, as it
  /// is where Interrupted is thrown (interrupt.h). Throws SystemError where no child can be
  /// started.
  Reply ask(const std::string& script, unsigned effort, double seconds);

 private:
  void start();
  void stop() { child_.reset(); }
  std::optional<process::Child> child_;
};

/// The version of the Z3 that is linked, "4.8.12".
std::string solver_version();

}  // namespace touchstone::prove
