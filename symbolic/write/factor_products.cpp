// Factors out what several products of a sum share.
#include <algorithm>
#include <optional>
#include <queue>
#include <span>

#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

namespace {

/// Tracks which terms have each factor; most_shared is the factor of the most remaining terms, the
/// first of equals.
class SharedFactors {
 public:
  SharedFactors(const Context& context, std::span<const Term> terms)
      : c_(context), terms_(terms), left_(terms.size(), true) {
    for (std::size_t i = 0; i < terms.size(); ++i)
      each_factor(i, [&](Id id, std::size_t at) {
        if (places_.emplace(id, factors_.size())) factors_.push_back({id, {}});
        factors_[places_.at(id)].in.push_back({i, at});
      });
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      factors_[f].count = factors_[f].in.size();
      note(f);
    }
  }

  /// nullopt if no two remaining terms share a factor.
  std::optional<Id> most_shared() {
    for (; !queue_.empty(); queue_.pop()) {
      const Entry& top = queue_.top();
      if (top.count == factors_[top.factor].count && left_[top.first.term])
        return factors_[top.factor].id;
    }
    return std::nullopt;
  }

  void remove(std::size_t term) {
    left_[term] = false;
    each_factor(term, [&](Id id, std::size_t) { --factors_[places_.at(id)].count; });
    each_factor(term, [&](Id id, std::size_t) { note(places_.at(id)); });
  }

  bool left(std::size_t term) const { return left_[term]; }
  List<std::size_t> left_with(Id factor) const {
    List<std::size_t> terms;
    for (const Place& p : factors_[places_.at(factor)].in)
      if (left_[p.term]) terms.push_back(p.term);
    return terms;
  }

 private:
  struct Place {
    std::size_t term, at;  // at: index in the product; kAlone for a term that is the factor itself
    auto operator<=>(const Place&) const = default;
  };
  struct Factor {
    Id id;
    List<Place> in;         // terms, in order
    std::size_t count = 0;  // of the remaining ones
    std::size_t gone = 0;   // leading entries of `in` that are removed or not products
  };
  struct Entry {
    std::size_t count, factor;
    Place first;  // first product with the factor
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : other.first < first;
    }
  };
  static constexpr std::size_t kAlone = ~std::size_t{0};

  template <class Visit>
  void each_factor(std::size_t term, const Visit& visit) const {
    const NodeData& n = c_[terms_[term].atom];
    if (n.kind != NodeKind::Product) return visit(terms_[term].atom, kAlone);
    for (std::size_t at = 0; at < n.args.size(); ++at)
      if (std::find(n.args.begin(), n.args.begin() + static_cast<std::ptrdiff_t>(at), n.args[at]) ==
          n.args.begin() + static_cast<std::ptrdiff_t>(at))
        visit(n.args[at], at);
  }

  void note(std::size_t factor) {
    Factor& f = factors_[factor];
    if (f.count < 2) return;
    while (!left_[f.in[f.gone].term] || f.in[f.gone].at == kAlone) ++f.gone;
    queue_.push({f.count, factor, f.in[f.gone]});
  }

  const Context& c_;
  std::span<const Term> terms_;
  List<bool> left_;
  List<Factor> factors_;
  IdMap<std::size_t> places_;
  std::priority_queue<Entry, List<Entry>> queue_;  // entries with outdated counts are skipped
};

}  // namespace

void Extractor::factor_products(Sum& work, Items& items) {
  const auto product = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Product; };
  if (std::ranges::none_of(work.terms, product)) return;
  SharedFactors shared(c_, work.terms);
  while (const std::optional<Id> found = shared.most_shared()) {
    const Id best = *found;
    Items inner;
    Int alone = 0;
    for (const std::size_t i : shared.left_with(best)) {
      shared.remove(i);
      const Term& t = work.terms[i];
      const NodeData& n = c_[t.atom];
      if (t.atom == best || n.args.size() == 1) {
        alone += t.coef;  // a long sum may be a product of itself alone
        continue;
      }
      const auto at = std::ranges::find(n.args, best);
      List<int> forms;
      for (auto f = n.args.begin(); f != n.args.end(); ++f)
        if (f != at) forms.push_back(form_of(*f));
      inner.push_back({t.coef, chained(ExprOp::Mul, forms)});
    }
    items.push_back({1, apply(ExprOp::Mul, {form_of(best), join(std::move(inner), alone)})});
  }
  Sum rest{work.constant, {}};
  for (std::size_t i = 0; i < work.terms.size(); ++i)
    if (shared.left(i)) rest.terms.push_back(work.terms[i]);
  work = std::move(rest);
}

}  // namespace touchstone::symbolic
