// Apart from prover.cpp, because the playground has no solver.
#include "touchstone/prove/prover.h"

namespace touchstone::prove {

bool Proof::accept(Method how, std::string certified, std::string told) {
  verdict = Verdict::Proved;
  method = how;
  certificate = std::move(certified);
  confirmed = std::move(told);
  return true;
}

bool Proof::refute(Method how, std::optional<Counterexample> found) {
  if (!found) return false;
  verdict = Verdict::Refuted;
  method = how;
  counterexample = std::move(found);
  return true;
}

}  // namespace touchstone::prove
