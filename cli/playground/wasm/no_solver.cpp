// The page holds no Z3: it decides claims without.
namespace touchstone::process {
class Child {};
}  // namespace touchstone::process

#include "touchstone/prove/prover.h"

namespace touchstone::prove {

Solver::Solver() = default;
Solver::~Solver() = default;

Proof Prover::prove(const Claim&) { return {}; }
bool Prover::claims_nothing(const Claim&) { return false; }

}  // namespace touchstone::prove
