#include <algorithm>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/view_check.h"
#include "touchstone/fuzz/engine/last_parsed.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

class ViewArea final : public Area {
 public:
  std::string_view name() const override { return "view"; }
  std::string draw(Chooser& chooser) override { return draw_chain(chooser); }
  Checked check(const std::string& text, Effort effort) override {
    return check_views(cases_.of(text), text, effort);
  }
  std::vector<std::string> smaller(const std::string& text) override {
    return smaller_views(cases_.of(text));
  }
  Measure measure(const std::string& text) override { return measure_of(cases_.of(text)); }
  Extent extent(const std::string& text) override {
    const ViewCase& c = cases_.of(text);
    const ViewCase at = c.bind(c.largest());
    Extent extent{std::ssize(c.ops), 0};
    for (const sint& size : at.base) extent.dim = std::max(extent.dim, size.as_int());
    return extent;
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string> ops = {"reshape", "permute", "expand",    "pad",
                                          "shrink",  "stride",  "as_strided"};
    std::vector<std::string> before = ops;
    before.emplace_back("the buffer");
    return {{"op", ops},
            {"after", before},
            {"after that", before},
            {"rank", {"0", "1", "2", "3", "4", "5 or more"}},
            {"feature",
             {"plain", "mask", "no elements", "size 1", "negative stride", "variable",
              "two variables or more"}},
            {"views", {"1", "2", "3 or more"}}};
  }

  std::vector<CoverageRow> coverage(const std::string& text, Ending /*ending*/) override {
    const ViewCase& c = cases_.of(text);
    std::vector<CoverageRow> rows;
    ShapeTracker tracker = ShapeTracker::contiguous(c.base);
    int before = 7, earlier = 7;
    for (const MovementOp& op : c.ops) {
      const int rank = std::min(tracker.rank(), 5);
      tracker = apply(tracker, op);
      const int which = static_cast<int>(op.kind);
      const int views = static_cast<int>(std::min<std::size_t>(tracker.views().size(), 3)) - 1;
      std::vector<bool> has(7, false);
      for (const View& v : tracker.views()) {
        has[1] = has[1] || v.mask();
        for (const sint& s : v.shape()) {
          has[2] = has[2] || s == sint(0);
          has[3] = has[3] || s == sint(1);
        }
        for (const sint& s : v.strides()) has[4] = has[4] || s.max().value_or(0) < 0;
        has[5] = has[5] || !v.is_concrete();
      }
      has[6] = has[5] && c.variables.size() > 1;
      has[0] = std::ranges::none_of(has, std::identity{});
      for (int f = 0; f < 7; ++f)
        if (has[static_cast<std::size_t>(f)])
          rows.push_back({which, before, earlier, rank, f, views});
      earlier = before;
      before = which;
    }
    return rows;
  }

 private:
  LastParsed<ViewCase> cases_;
};

}  // namespace

std::unique_ptr<Area> make_view_area() { return std::make_unique<ViewArea>(); }

}  // namespace touchstone::fuzz
