#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

class CanonicalBuilder;
class Extractor;
class Tape;

/// The node that stays when its text is read again, starting from `root`: equal to it at every
/// point. Most nodes stay as they are; those of which the parts could meet in another form, as
/// choices may, are written and read until they do. Of nodes that read back as each other the
/// smallest is taken. The caller holds the context's lock. `written` is the tape that gave the
/// root, and `builder` what built it. `laid_out`, which may be null and has laid out nothing, lays
/// the root out where that is needed.
Id stable_form(Context& context, Id root, const Tape& written, CanonicalBuilder& builder,
               Extractor* laid_out = nullptr);

}  // namespace touchstone::symbolic
