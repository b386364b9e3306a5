#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

class CanonicalBuilder;
class Extractor;
class Tape;

/// A node equal to `root` at every point that renders and parses back to itself. Most nodes do
/// already; those that may change, for example with choices, are rendered and parsed until they are
/// stable, and a cycle yields its smallest node. The caller holds the context's lock. `written` is
/// the tape of the root, `builder` its builder. `laid_out`, if not null, is unused so far and lays
/// out the root if needed.
Id stable_form(Context& context, Id root, const Tape& written, CanonicalBuilder& builder,
               Extractor* laid_out = nullptr);

}  // namespace touchstone::symbolic
