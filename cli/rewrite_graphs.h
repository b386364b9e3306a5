#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report.h"
#include "rewrite_record.h"

namespace touchstone::cli {

/// The graphs round each match of a record, before and after it.
class RewriteGraphs {
 public:
  RewriteGraphs(const RewriteRecord& record, StepReport& report);

  /// The numbers of the graphs before and after match `match` of a pass, in the report. Matches of
  /// a pass are asked for in order.
  std::pair<std::size_t, std::size_t> around(std::size_t pass, std::size_t match);
  /// Those at the start and the end of a pass.
  std::pair<std::size_t, std::size_t> of(std::size_t pass);
  /// A node in the report, by its number in the record.
  std::size_t node(std::size_t number);

 private:
  using Id = std::size_t;
  using Map = std::unordered_map<Id, Id>;
  struct Node {
    std::size_t line;  // in lines_
    std::vector<Id> src;
    std::size_t origin;  // a node of the record
  };
  Id over(Id id, std::vector<Id> src);
  /// What a node has become after some matches: itself where nothing below it has.
  Id became(Id root, const Map& replaced, Map& known);
  std::vector<Id> reach(Id root) const;
  std::set<Id> near(const std::vector<Id>& order, Id focus) const;
  std::size_t draw(Id root, Id focus, const std::unordered_map<Id, Mark>& marks);

  const RewriteRecord& record_;
  StepReport& report_;
  std::vector<std::string> lines_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::size_t, std::vector<Id>>, Id> interned_;
  std::size_t pass_ = ~std::size_t{0}, done_ = 0;  // matches of the pass that are in replaced_
  Map replaced_;
};

}  // namespace touchstone::cli
