#pragma once

#include <string>
#include <string_view>

namespace touchstone::shapetracker {

/// The machine interface: one question, one answer, each a JSON object on a line of its own. A view
/// is [shape, strides, offset, mask], the mask null or a list of [begin, end]; stacks are innermost
/// first, numbers 64-bit integers.
///   {"views":[[[4],[1],0,null],[[2,2],[2,1],0,null]]}
///   {"base":[3,2],"ops":[["permute",[1,0]],["reshape",[6]],["pad",[[0,1]]],["stride",[-2]]]}
/// Both give
///   {"views":[..],"single":V,"why":"..","ns":1850}
/// and where there is no single view its witness, as {"kind":"bend","points":[..],"reads":[..],
/// "needs":[..]}. "invert", "expr" and "real_strides", true, add more after the time.
/// the reduced stack; the one view, in canonical form, that says the same, null where there is none
/// (or it is not decided, which `why` says); and the time of reducing, with operations that of
/// applying them too. Bad input gives {"error":".."}. Members of other names are ignored. Never
/// throws for what a line holds.
/// Addresses of the innermost view may be negative here: a tracker on a buffer has none.
std::string answer_json(std::string_view question);

}  // namespace touchstone::shapetracker
