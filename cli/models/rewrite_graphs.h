#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "touchstone/cli/models/rewrite_record.h"
#include "touchstone/cli/program/report.h"

namespace touchstone::cli {

/// The graphs around each match of a record, before and after it.
class RewriteGraphs {
 public:
  RewriteGraphs(const RewriteRecord& record, StepReport& report);

  /// The numbers, in the report, of the graphs before and after match `match` of a pass. Ask for a
  /// pass's matches in order.
  std::pair<std::size_t, std::size_t> around(std::size_t pass, std::size_t match);
  /// The same at the start and the end of a pass.
  std::pair<std::size_t, std::size_t> of(std::size_t pass);
  /// The report's number of a node, by its number in the record.
  std::size_t node(std::size_t number);

 private:
  using Id = std::size_t;
  using Map = std::unordered_map<Id, Id>;
  struct Node {
    std::size_t line;  // in lines_
    std::vector<Id> src;
    std::size_t origin;  // node number in the record
  };
  Id over(Id id, std::vector<Id> src);
  /// The node after some matches: itself if nothing below it changed.
  Id became(Id root, const Map& replaced, Map& known);
  std::vector<Id> reach(Id root) const;
  std::set<Id> near(const std::vector<Id>& order, Id focus) const;
  std::size_t draw(Id root, Id focus, const std::unordered_map<Id, Mark>& marks);

  const RewriteRecord& record_;
  StepReport& report_;
  std::vector<std::string> lines_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::size_t, std::vector<Id>>, Id> interned_;
  std::size_t pass_ = ~std::size_t{0}, done_ = 0;  // matches of the pass applied in replaced_
  Map replaced_;
};

}  // namespace touchstone::cli
