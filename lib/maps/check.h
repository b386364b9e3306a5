#pragma once

#include <nlohmann/json_fwd.hpp>

#include "touchstone/maps/ask.h"
#include "touchstone/maps/index_checks.h"

// The checks of a kernel's index (docs/notations.md), for the command, Python and C.

namespace touchstone::maps {

struct IndexQuestion : IndexChecks {
  symbolic::Translation asked;
};

struct IndexFinding {
  std::string label;               // "int32", "bounds", ..; empty: a heading
  std::optional<Verdict> verdict;  // none: a measure
  std::string text;
  std::map<std::string, symbolic::Int> at;  // a point that fails, or the worst case
  std::string note;
};

/// Throws ParseError on an unknown type or variable.
std::vector<IndexFinding> check_index(const IndexQuestion& question);
/// As check-index exits: No if one is, else Open if one is.
Verdict verdict_of(const std::vector<IndexFinding>& findings);

/// A question about maps or an index as a JSON object:
///   {"operation":"equal","maps":["(4,8):(8,1)","32:1"],"from":"cute","vars":{"i":[0,7]},
///    "assume":["i<n"],"symbols":["n"],"onto":"0..31","tile":[4,8],"size":64,"where":"..","to":"c"}
///   {"operation":"check-index","maps":["i*4"],"vars":{"i":[0,7]},"type":"int32","size":"32",
///    "same":"..","image":true,"vector":"i","lane":"i","lanes":32,"bytes":4,"segment":32,"banks":32,
///    "remedy":true}
/// Throws Error.
std::string answer_question(std::string_view json);
/// The first kind of question, read. Throws Error, or nlohmann::json's of a member of another type.
struct MapQuestion {
  std::string operation;
  std::vector<std::string> texts;
  std::vector<Map> maps;
  Options options;
};
MapQuestion map_question(const nlohmann::ordered_json& question);

}  // namespace touchstone::maps
