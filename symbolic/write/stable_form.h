#pragma once

#include <map>
#include <string>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {

class Extractor;
class Tape;

/// The node that stays when its text is read again, starting from `root`: equal to it at every
/// point. Most nodes stay as they are; those of which the parts could meet in another form, as
/// choices may, are written and read until they do. Of nodes that read back as each other the
/// smallest is taken. `names` are what the node was read with. The caller holds the context's lock.
/// `written` is the tape that gave the root. `laid_out`, which may be null and has laid out
/// nothing, lays the root out where that is needed.
Id stable_form(Context& context, Id root, const std::map<std::string, Node>& names,
               const Tape& written, Extractor* laid_out = nullptr);

}  // namespace touchstone::symbolic
