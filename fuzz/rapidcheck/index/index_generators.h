#pragma once

#include <rapidcheck.h>

#include <memory>
#include <ostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/view_case.h"

// RapidCheck generators of index expressions and movement chains as `touchstone fuzz` draws them;
// the cases of all areas are drawn and shrunk by the campaign's own generators. RapidCheck's size
// has no effect.

namespace touchstone::testing {

/// An index expression of area `symbolic`, with ranges of its variables and assumptions.
struct Expression : fuzz::ExpressionCase {
  static constexpr const char* kArea = "symbolic";
  static Expression of(const std::string& text) { return {parse(text)}; }
  static std::string draw(fuzz::Chooser& chooser) { return fuzz::draw_expression(chooser); }
  static std::vector<std::string> smaller(const std::string& text) {
    return fuzz::smaller_expressions(parse(text));
  }
  static fuzz::Measure measure(const std::string& text) {
    return fuzz::measure_of(parse(text), text.size());
  }
  std::string text() const { return str(); }
};

/// A shape and movement operations, of area `view`.
struct Chain : fuzz::ViewCase {
  static constexpr const char* kArea = "view";
  static Chain of(const std::string& text) { return {parse(text)}; }
  static std::string draw(fuzz::Chooser& chooser) { return fuzz::draw_chain(chooser); }
  static std::vector<std::string> smaller(const std::string& text) {
    return fuzz::smaller_views(parse(text));
  }
  static fuzz::Measure measure(const std::string& text) { return fuzz::measure_of(parse(text)); }
  std::string text() const { return str(); }
  /// The buffer viewed through the operations.
  ShapeTracker tracker() const {
    ShapeTracker st = ShapeTracker::contiguous(base);
    for (const MovementOp& op : ops) st = apply(st, op);
    return st;
  }
};

/// A chain whose numbers contain one to four variables.
struct VariableChain : Chain {
  static VariableChain of(const std::string& text) { return {Chain::of(text)}; }
  static std::string draw(fuzz::Chooser& chooser) { return fuzz::draw_symbolic_chain(chooser); }
};

/// For RapidCheck: prints the case's text and the `touchstone fuzz` command that checks it.
template <class Case>
void show_case(const Case& c, std::ostream& os) {
  std::string quoted;
  for (const char letter : c.text()) letter == '\'' ? quoted += "'\\''" : quoted += letter;
  os << c.text() << "\n  touchstone fuzz --area " << Case::kArea << " --case '" << quoted << "'";
}
inline void showValue(const Expression& c, std::ostream& os) { show_case(c, os); }
inline void showValue(const Chain& c, std::ostream& os) { show_case(c, os); }

namespace detail {

/// Shared by all shrinks of one case: no text is tried twice, and steps up to the last accepted one
/// come last, as in fuzz::shrink_case.
struct Shrinking {
  std::unordered_set<std::string> tried;
};

template <class Case>
class CaseShrinkable {
 public:
  CaseShrinkable(std::string text, std::shared_ptr<Shrinking> shared, std::size_t from)
      : text_(std::move(text)), shared_(std::move(shared)), from_(from) {}
  Case value() const { return Case::of(text_); }
  rc::Seq<rc::Shrinkable<Case>> shrinks() const {
    return rc::makeSeq<Steps>(shared_, Case::smaller(text_), Case::measure(text_), from_);
  }

 private:
  class Steps {
   public:
    Steps(std::shared_ptr<Shrinking> shared, std::vector<std::string> texts, fuzz::Measure size,
          std::size_t from)
        : shared_(std::move(shared)), texts_(std::move(texts)), size_(size), from_(from) {}

    rc::Maybe<rc::Shrinkable<Case>> operator()() {
      while (next_ < texts_.size()) {
        const std::size_t i = (from_ + next_++) % texts_.size();
        if (!shared_->tried.insert(texts_[i]).second || !is_smaller(texts_[i])) continue;
        return rc::makeShrinkable<CaseShrinkable>(texts_[i], shared_, i + 1);
      }
      return rc::Nothing;
    }

   private:
    bool is_smaller(const std::string& text) const {
      try {
        return Case::measure(text) < size_;
      } catch (const ParseError&) {
        return false;  // not a case, for example because a divisor became 0
      }
    }

    std::shared_ptr<Shrinking> shared_;
    std::vector<std::string> texts_;
    fuzz::Measure size_;
    std::size_t from_, next_ = 0;
  };

  std::string text_;
  std::shared_ptr<Shrinking> shared_;
  std::size_t from_;
};

}  // namespace detail

/// Cases drawn by `draw` from a Chooser, shrunk by the campaign's steps.
template <class Case, class Draw>
rc::Gen<Case> cases(Draw draw) {
  return [draw = std::move(draw)](const rc::Random& random, int) {
    rc::Random source = random;
    fuzz::RandomChooser chooser(source.next(), 0);
    auto shared = std::make_shared<detail::Shrinking>();
    std::string text = draw(chooser);
    shared->tried.insert(text);
    return rc::makeShrinkable<detail::CaseShrinkable<Case>>(std::move(text), std::move(shared),
                                                            std::size_t{0});
  };
}
/// Cases drawn as in a campaign.
template <class Case>
rc::Gen<Case> cases() {
  return cases<Case>(&Case::draw);
}
/// Chains of one kind.
inline rc::Gen<Chain> chains(fuzz::ChainKind kind) {
  return cases<Chain>(
      [kind = std::move(kind)](fuzz::Chooser& c) { return fuzz::draw_chain(c, kind); });
}

}  // namespace touchstone::testing

namespace rc {

template <class Case>
requires requires { Case::kArea; }
struct Arbitrary<Case> {
  static Gen<Case> arbitrary() { return touchstone::testing::cases<Case>(); }
};

}  // namespace rc
