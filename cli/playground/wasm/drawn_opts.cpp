// Opts drawn at random are of campaigns, which the page has none of: their code stays out of it.
#include "touchstone/base/error.h"
#include "touchstone/codegen/plan.h"

namespace touchstone::codegen {

Opts drawn(const LazyOpPtr&, const LazyOpPtr&, const CodegenOptions&) {
  throw Error("this build draws no opts");
}

}  // namespace touchstone::codegen
