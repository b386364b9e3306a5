// Only campaigns draw random opts, and the page has none: a stub keeps their code out.
#include "touchstone/base/error.h"
#include "touchstone/codegen/plan.h"

namespace touchstone::codegen {

Opts drawn(const LazyOpPtr&, const LazyOpPtr&, const CodegenOptions&) {
  throw Error("this build draws no opts");
}

}  // namespace touchstone::codegen
