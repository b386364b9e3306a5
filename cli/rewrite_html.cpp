// The page of `touchstone rewrite --html`: data/rewrite.html with the record put in.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "page.h"
#include "rewrite_record.h"
#include "touchstone/explore/answers.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/kernel_json.h"

extern const unsigned char rewrite_page[];
extern const std::size_t rewrite_page_size;

namespace touchstone::cli {
namespace {

using nlohmann::ordered_json;

ordered_json kernel_json(const RewriteRecord::Kernel& kernel) {
  return {{"name", kernel_name(kernel.ast)},
          {"origin", kernel.origin},
          {"code", explore::code_json(kernel.ast)}};
}

}  // namespace

std::string rewrite_html(const std::string& title, const RewriteRecord& record) {
  // Origins are few, nodes many: a node says the number of its own.
  ordered_json nodes = ordered_json::array(), origins = ordered_json::array(),
               passes = ordered_json::array(), rules = ordered_json::array(),
               kernels = ordered_json::array();
  std::map<std::string, std::size_t> places;
  const std::vector<UOp> all = record.nodes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string origin = record.origin(i);
    const auto [place, fresh] = places.emplace(origin, places.size());
    if (fresh) origins.push_back(origin);
    ordered_json src = ordered_json::array();
    for (const UOp& s : all[i].src()) src.push_back(record.number(s));
    nodes.push_back({all[i].line(), std::move(src), place->second});
  }
  for (const RewriteRecord::UsedRule& r : record.rules) rules.push_back({r.name, r.why});
  for (const RewriteRecord::Pass& p : record.passes) {
    ordered_json matches = ordered_json::array();
    for (const RewriteRecord::Match& m : p.matches) matches.push_back({m.rule, m.before, m.after});
    passes.push_back(
        {{"name", p.name}, {"start", p.start}, {"end", p.end}, {"matches", std::move(matches)}});
  }
  for (const RewriteRecord::Kernel& k : record.kernels) kernels.push_back(kernel_json(k));
  const ordered_json data = {{"title", title}, {"nodes", nodes},   {"origins", origins},
                             {"rules", rules}, {"passes", passes}, {"kernels", kernels}};
  return page_with(rewrite_page, rewrite_page_size, "/*RECORD*/",
                   data.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
}

}  // namespace touchstone::cli
