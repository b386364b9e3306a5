#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/draw_kernel.h"
#include "touchstone/fuzz/expression_case.h"
#include "touchstone/fuzz/kernel_case.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/fuzz/values.h"
#include "touchstone/fuzz/view_case.h"

// What `touchstone fuzz` draws, for RapidCheck:
//
//   rc::check("my backend is legal", [](const touchstone::testing::Kernel& k) {
//     RC_ASSERT(k.judge(mine(k)).outcome != touchstone::Outcome::Fail);
//   });
//
// Cases are drawn and made smaller by the campaign's own generators and steps. The sizes of
// RapidCheck play no part: every case is drawn from all there are.

namespace touchstone::testing {

/// A kernel with its inputs and the values of its variables, of area `kernel`; it has an answer:
/// positions of a GATHER that are checked, and may be outside, are not drawn.
struct Kernel : fuzz::KernelCase {
  static constexpr const char* kArea = "kernel";
  /// Throws ParseError, as `of` of the others.
  static Kernel of(const std::string& text) { return {fuzz::case_from_json(text)}; }
  static std::unique_ptr<fuzz::Area> area() { return fuzz::make_kernel_area({}); }
  static std::string draw(fuzz::Area& /*area*/, fuzz::Chooser& chooser) {
    return fuzz::case_to_json(fuzz::draw_kernel_case(chooser));
  }
  std::string text() const { return fuzz::case_to_json(*this); }
  /// The oracle's verdict on an answer, in the type and shape of the kernel's output.
  Verdict judge(const HostArray& output, const Profile& profile = {}) const {
    return fuzz::judge({*this, output, {}}, profile);
  }
};

/// An index expression with the ranges of its variables and assumptions, of area `symbolic`.
struct Expression : fuzz::ExpressionCase {
  static constexpr const char* kArea = "symbolic";
  static Expression of(const std::string& text) { return {parse(text)}; }
  static std::unique_ptr<fuzz::Area> area() { return fuzz::make_symbolic_area(); }
  static std::string draw(fuzz::Area& area, fuzz::Chooser& chooser) { return area.draw(chooser); }
  std::string text() const { return str(); }
};

/// A shape and movement operations, of area `view`.
struct Chain : fuzz::ViewCase {
  static constexpr const char* kArea = "view";
  static Chain of(const std::string& text) { return {parse(text)}; }
  static std::unique_ptr<fuzz::Area> area() { return fuzz::make_view_area(); }
  static std::string draw(fuzz::Area& area, fuzz::Chooser& chooser) { return area.draw(chooser); }
  std::string text() const { return str(); }
  /// The buffer seen through the operations, of a chain without variables, `bind` takes which.
  ShapeTracker tracker() const {
    ShapeTracker st = ShapeTracker::contiguous(base);
    for (const MovementOp& op : ops) st = apply(st, op);
    return st;
  }
};

/// A program over tensors, of area `lazy`.
struct Program : fuzz::Program {
  static constexpr const char* kArea = "lazy";
  static Program of(const std::string& text) { return {parse(text)}; }
  static std::unique_ptr<fuzz::Area> area() { return fuzz::make_lazy_area(); }
  static std::string draw(fuzz::Area& area, fuzz::Chooser& chooser) { return area.draw(chooser); }
  std::string text() const { return str(); }
};

/// For RapidCheck: the text of the case, and how `touchstone fuzz` checks it.
template <class Case>
void show_case(const Case& c, std::ostream& os) {
  std::string quoted;
  for (const char letter : c.text()) letter == '\'' ? quoted += "'\\''" : quoted += letter;
  os << c.text() << "\n  touchstone fuzz --area " << Case::kArea << " --case '" << quoted << "'";
}
inline void showValue(const Kernel& c, std::ostream& os) { show_case(c, os); }
inline void showValue(const Expression& c, std::ostream& os) { show_case(c, os); }
inline void showValue(const Chain& c, std::ostream& os) { show_case(c, os); }
inline void showValue(const Program& c, std::ostream& os) { show_case(c, os); }

namespace detail {

/// What all cases that one was made smaller to have in common: no text is tried twice, and steps up
/// to the one that was taken come last, as in fuzz::shrink_case.
struct Shrinking {
  std::unique_ptr<fuzz::Area> area;
  std::unordered_set<std::string> tried;
};

template <class Case>
class CaseShrinkable {
 public:
  CaseShrinkable(std::string text, std::shared_ptr<Shrinking> shared, std::size_t from)
      : text_(std::move(text)), shared_(std::move(shared)), from_(from) {}
  Case value() const { return Case::of(text_); }
  rc::Seq<rc::Shrinkable<Case>> shrinks() const {
    return rc::makeSeq<Steps>(shared_, shared_->area->smaller(text_), shared_->area->measure(text_),
                              from_);
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
        return shared_->area->measure(text) < size_;
      } catch (const ParseError&) {
        return false;  // no case at all, as where a divisor became 0
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

/// Cases as a campaign draws them, and its steps to smaller ones.
template <class Case>
rc::Gen<Case> cases() {
  return [](const rc::Random& random, int) {
    rc::Random source = random;
    fuzz::RandomChooser chooser(source.next(), 0);
    auto shared = std::make_shared<detail::Shrinking>();
    shared->area = Case::area();
    std::string text = Case::draw(*shared->area, chooser);
    shared->tried.insert(text);
    return rc::makeShrinkable<detail::CaseShrinkable<Case>>(std::move(text), std::move(shared),
                                                            std::size_t{0});
  };
}

/// Views of buffers, through up to five movement operations, whose shape this is.
inline rc::Gen<ShapeTracker> views(std::vector<std::int64_t> shape) {
  return [shape = std::move(shape)](const rc::Random& random, int) {
    rc::Random source = random;
    fuzz::RandomChooser chooser(source.next(), 0);
    return rc::shrinkable::just(fuzz::draw_view(chooser, shape));
  };
}

/// Inputs for every buffer that a concrete kernel reads, of all families; input by input they
/// shrink to zeros.
inline rc::Gen<std::vector<HostArray>> inputs(LazyOpPtr kernel) {
  return [kernel = std::move(kernel)](const rc::Random& random, int) {
    rc::Random source = random;
    fuzz::RandomChooser chooser(source.next(), 0);
    const fuzz::ValueFamily family = fuzz::draw_family(chooser);
    return rc::shrinkable::shrinkRecur(fuzz::draw_inputs(chooser, family, kernel),
                                       [](const std::vector<HostArray>& all) {
                                         std::vector<std::vector<HostArray>> smaller;
                                         for (std::size_t i = 0; i < all.size(); ++i) {
                                           std::vector<HostArray> zeros = all;
                                           zeros[i].bytes.assign(all[i].bytes.size(), '\0');
                                           if (zeros[i].bytes != all[i].bytes)
                                             smaller.push_back(std::move(zeros));
                                         }
                                         return rc::seq::fromContainer(std::move(smaller));
                                       });
  };
}

}  // namespace touchstone::testing

namespace rc {

template <>
struct Arbitrary<touchstone::testing::Kernel> {
  static Gen<touchstone::testing::Kernel> arbitrary() {
    return touchstone::testing::cases<touchstone::testing::Kernel>();
  }
};
template <>
struct Arbitrary<touchstone::testing::Expression> {
  static Gen<touchstone::testing::Expression> arbitrary() {
    return touchstone::testing::cases<touchstone::testing::Expression>();
  }
};
template <>
struct Arbitrary<touchstone::testing::Chain> {
  static Gen<touchstone::testing::Chain> arbitrary() {
    return touchstone::testing::cases<touchstone::testing::Chain>();
  }
};
template <>
struct Arbitrary<touchstone::testing::Program> {
  static Gen<touchstone::testing::Program> arbitrary() {
    return touchstone::testing::cases<touchstone::testing::Program>();
  }
};

}  // namespace rc
