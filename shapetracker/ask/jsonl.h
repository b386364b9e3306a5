#pragma once

#include <string>
#include <string_view>

namespace touchstone::shapetracker {

/// The JSON Lines interface: one question and one answer, each a JSON object on its own line. A
/// view is [shape, strides, offset, mask], the mask null or a list of [begin, end]; stacks are
/// innermost first, numbers are 64-bit integers. A question is one of
///   {"views":[[[4],[1],0,null],[[2,2],[2,1],0,null]]}
///   {"base":[3,2],"ops":[["permute",[1,0]],["reshape",[6]],["pad",[[0,1]]],["stride",[-2]]]}
/// and its answer
///   {"views":[..],"single":V,"why":"..","ns":1850}
/// has the reduced stack; the equivalent single view in canonical form, null if there is none or
/// the merge is undecided (see `why`); and the time to reduce, including applying the operations.
/// Without a single view it also has a witness,
/// {"kind":"bend","points":[..],"reads":[..],"needs":[..]}. "invert", "expr" and "real_strides", if
/// true, add members after the time. Unknown members are ignored. Bad input gives {"error":".."},
/// never an exception. Innermost views may have negative addresses here, unlike in a tracker.
std::string answer_json(std::string_view question);

}  // namespace touchstone::shapetracker
