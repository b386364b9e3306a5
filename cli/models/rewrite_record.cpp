#include "touchstone/cli/models/rewrite_record.h"

#include <algorithm>

namespace touchstone::cli {

std::size_t RewriteRecord::add(const UOp& node) {
  if (const std::size_t* known = numbers_.find(node)) return *known;
  for (const UOp& u : node.toposort([&](const UOp& u) { return !numbers_.has(u); })) {
    numbers_.set(u, numbers_.size());
    const auto metadata = u.metadata();
    origins_.push_back(metadata == nullptr ? UOpMetadata() : *metadata);
  }
  return *numbers_.find(node);
}

// A replacement and the new nodes below it inherit the node's origin.
void RewriteRecord::follow(const UOp& before, const UOp& after) {
  const UOpMetadata from = origins_[add(before)];
  const std::size_t known = origins_.size(), number = add(after);
  for (std::size_t i = known; i < origins_.size(); ++i)
    if (origins_[i].empty()) origins_[i] = from;
  UOpMetadata& to = origins_[number];
  for (const UOpOrigin& o : from)
    if (std::ranges::find(to, o) == to.end()) to.push_back(o);
}

void RewriteRecord::begins(std::string_view pass, const UOp& sink) {
  open_.push_back(passes.size());
  const std::size_t root = add(sink);
  passes.push_back({std::string(pass), root, root, {}});
}

void RewriteRecord::ends(std::string_view /*pass*/, const UOp& sink) {
  passes[open_.back()].end = add(sink);
  open_.pop_back();
}

void RewriteRecord::rewrote(const Rule& rule, const UOp& before, const UOp& after) {
  if (open_.empty()) return;
  const auto known = std::ranges::find_if(
      rules, [&](const UsedRule& r) { return r.name == rule.name && r.why == rule.why; });
  const auto number = static_cast<std::size_t>(known - rules.begin());
  if (known == rules.end()) rules.push_back({rule.name, rule.why});
  follow(before, after);
  passes[open_.back()].matches.push_back({number, add(before), add(after)});
}

void RewriteRecord::rebuilt(const UOp& before, const UOp& after) { follow(before, after); }

std::vector<UOp> RewriteRecord::nodes() const {
  std::vector<UOp> all;
  for (const auto& entry : numbers_) all.push_back(entry.first);
  return all;
}

std::string RewriteRecord::origin(std::size_t node) const {
  constexpr std::size_t kMost = 4;
  const UOpMetadata& of = origins_[node];
  std::string text;
  for (std::size_t i = 0; i < std::min(of.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + of[i].name + (of[i].caller.empty() ? "" : " " + of[i].caller);
  if (of.size() > kMost) text += fmt::format(" and {} more", of.size() - kMost);
  return text;
}

}  // namespace touchstone::cli
