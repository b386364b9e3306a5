#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

class CanonicalBuilder;
class Extractor;
class Tape;

/// A node equal to `root` at every point whose text parses back to it. Most nodes do already; those
/// that may change, for example with choices, are rendered and parsed until they are stable, and a
/// cycle yields its smallest node. The caller holds the context's lock. `written`, if not null, is
/// the tape of the root. `laid_out`, if not null, is unused so far and lays out the root if needed.
Id stable_form(CanonicalBuilder& builder, Id root, const Tape* written = nullptr,
               Extractor* laid_out = nullptr);

/// The same, memoized. Texts, sizes and code of a node are those of this form.
Node shown_form(Node node);

}  // namespace touchstone::symbolic
