#pragma once

#include <map>
#include <memory>
#include <string>

#include "touchstone/symbolic/number/integer.h"

namespace touchstone::process {
class Child;
}

namespace touchstone::prove {

enum class Answer : std::uint8_t { Unsat, Sat, Unknown };

struct Reply {
  Answer answer = Answer::Unknown;
  std::map<std::string, symbolic::Int> model;  // if Sat
  std::string reason;                          // if Unknown
  double seconds = 0;                          // CPU time of the child
};

/// Z3 in a child process, started at the first question and ended when it exceeds a limit or the
/// solver is destroyed. Each question gets a fresh solver, so that answers do not depend on earlier
/// questions.
class Solver {
 public:
  Solver();
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  /// Decides whether a script of SMT-LIB declarations, definitions and assertions is satisfiable.
  /// Z3 gives up after `effort` of its own steps, the same on every machine. The child is killed
  /// after `seconds` of CPU time, after twenty times that of wall-clock time, and when Interrupted
  /// is thrown (interrupt.h). Throws SystemError if no child can be started.
  Reply ask(const std::string& script, unsigned effort, double seconds);

 private:
  void start();
  void stop();
  std::unique_ptr<process::Child> child_;
};

/// The version of the linked Z3, "4.8.12".
std::string solver_version();

}  // namespace touchstone::prove
