#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/fuzz/rapidcheck/index/index_generators.h"

// RapidCheck generators of what `touchstone fuzz` draws:
//
//   rc::check("my backend is legal", [](const touchstone::testing::Kernel& k) {
//     RC_ASSERT(k.judge(mine(k)).outcome != touchstone::Outcome::Fail);
//   });
//
// Index expressions and movements are in index_generators.h.

namespace touchstone::testing {

/// A kernel of area `kernel` with inputs and values of its variables. Checked GATHER positions,
/// which may be out of range, are not drawn, so it always has a result.
struct Kernel : fuzz::KernelCase {
  static constexpr const char* kArea = "kernel";
  /// Throws ParseError, as `of` in the other types.
  static Kernel of(const std::string& text) { return {fuzz::case_from_json(text)}; }
  static fuzz::Area& area() {
    static const std::unique_ptr<fuzz::Area> area = fuzz::make_kernel_area({});
    return *area;
  }
  static std::string draw(fuzz::Chooser& chooser) {
    return fuzz::case_to_json(fuzz::draw_kernel_case(chooser));
  }
  static std::vector<std::string> smaller(const std::string& text) { return area().smaller(text); }
  static fuzz::Measure measure(const std::string& text) { return area().measure(text); }
  std::string text() const { return fuzz::case_to_json(*this); }
  /// The oracle's verdict on a result, in the type and shape of the kernel's output.
  Verdict judge(const HostArray& output, const Profile& profile = {}) const {
    return fuzz::judge({*this, output, {}}, profile);
  }
};

/// A tensor program of area `lazy`.
struct TensorProgram : fuzz::TensorProgram {
  static constexpr const char* kArea = "lazy";
  static TensorProgram of(const std::string& text) { return {parse(text)}; }
  static fuzz::Area& area() {
    static const std::unique_ptr<fuzz::Area> area = fuzz::make_lazy_area();
    return *area;
  }
  static std::string draw(fuzz::Chooser& chooser) { return area().draw(chooser); }
  static std::vector<std::string> smaller(const std::string& text) { return area().smaller(text); }
  static fuzz::Measure measure(const std::string& text) { return area().measure(text); }
  std::string text() const { return str(); }
};

inline void showValue(const Kernel& c, std::ostream& os) { show_case(c, os); }
inline void showValue(const TensorProgram& c, std::ostream& os) { show_case(c, os); }

/// Views of buffers with this shape, through up to five movement operations.
inline rc::Gen<ShapeTracker> views(std::vector<std::int64_t> shape) {
  return [shape = std::move(shape)](const rc::Random& random, int) {
    rc::Random source = random;
    fuzz::RandomChooser chooser(source.next(), 0);
    return rc::shrinkable::just(fuzz::draw_view(chooser, shape));
  };
}

/// Inputs, of all families, for every buffer that a concrete kernel reads; each input shrinks to
/// zeros.
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
