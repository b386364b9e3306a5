#include "touchstone/fuzz/areas/view_check.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/areas/relation.h"
#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/ask/jsonl.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/plain_index.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/invert/contraction.h"
#include "touchstone/shapetracker/invert/invert.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::fuzz {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;

Ints unravel(std::int64_t flat, const Ints& shape) {
  Ints index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

ShapeTracker applied(ShapeTracker tracker, std::span<const MovementOp> ops) {
  for (const MovementOp& op : ops) tracker = apply(tracker, op);
  return tracker;
}

/// The addresses that a chain must have for one assignment of its variables.
class Point {
 public:
  Point(const ViewCase& c, symbolic::Values values) : values_(std::move(values)) {
    run(c.bind(values_));
  }

  const symbolic::Values& values() const { return values_; }
  const Addresses& right() const { return right_; }
  std::int64_t elements() const { return elements_; }  // of the buffer

  /// Returns a description of where the tracker disagrees with the array.
  std::optional<std::string> differs(const ShapeTracker& tracker) const {
    const Addresses got = addresses_of(tracker.views());
    if (got == right_) return std::nullopt;
    if (got.shape != right_.shape)
      return fmt::format("{} has the shape ({}), not ({})", tracker.str(),
                         fmt::join(got.shape, ", "), fmt::join(right_.shape, ", "));
    for (std::size_t i = 0;; ++i)
      if (got.cells[i] != right_.cells[i])
        return fmt::format("{} at ({}) reads {}, not {} (-1: padding)", tracker.str(),
                           fmt::join(unravel(static_cast<std::int64_t>(i), right_.shape), ", "),
                           got.cells[i], right_.cells[i]);
  }

 private:
  void run(const ViewCase& chain) {
    right_ = addresses_of(chain.base);
    elements_ = std::ssize(right_.cells);
    for (const MovementOp& op : chain.ops) move(right_, op);
  }

  symbolic::Values values_;
  std::int64_t elements_ = 0;
  Addresses right_;
};

class ViewCheck {
 public:
  ViewCheck(const ViewCase& c, const std::string& text, Effort effort)
      : case_(c), hash_(hash_bytes(text)), full_(effort == Effort::Full) {
    for (symbolic::Values& values : case_.all_values())
      points_.emplace_back(case_, std::move(values));
  }

  Checked run() {
    try {
      tracker_ = applied(ShapeTracker::contiguous(case_.base), case_.ops);
      if (auto wrong = agrees(tracker_, "address", [] { return ""; })) return *wrong;
      if (auto wrong = rest()) return *wrong;
    } catch (const Interrupted&) {
      throw;
    } catch (const TooManyCells&) {  // in an inner view
      return {Ending::Skipped, {}};
    } catch (const Error& e) {
      return Checked::fail("refused", e.what());
    }
    return {};
  }

 private:
  // Whether a variable takes values that a symbolic merge does not sample.
  bool is_wide() const {
    return std::ranges::any_of(case_.variables, [](const auto& v) { return v.high - v.low >= 6; });
  }
  static std::string at(const Point& p) {
    std::string text;
    for (const auto& [name, value] : p.values())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
    return text.empty() ? text : text + ": ";
  }
  static std::optional<std::string> differs(const ShapeTracker& tracker, const Point& p) {
    return p.differs(p.values().empty() ? tracker : tracker.bind(p.values()));
  }

  // A failure where the tracker disagrees with the array; `what`: how it was made.
  template <class What>
  std::optional<Checked> agrees(const ShapeTracker& tracker, const char* relation,
                                const What& what) const {
    for (const Point& p : points_)
      if (auto wrong = differs(tracker, p)) return Checked::fail(relation, at(p) + what() + *wrong);
    return std::nullopt;
  }

  std::optional<Checked> rest() const {
    using C = const ViewCheck;
    static constexpr auto kVaries = [](C& c) { return !c.case_.variables.empty(); };
    static constexpr auto kFixed = [](C& c) { return c.case_.variables.empty(); };
    static constexpr Relation<C> kRelations[] = {
        {"merged", 4, 1, [](C& c) { return c.merged(); }, nullptr,
         [](C& c) { return c.is_wide(); }},
        {"composed", 8, 2, [](C& c) { return c.composed(); }},
        {"expression", 32, 3, [](C& c) { return c.expressions(); }},
        {"movement", 32, 6, [](C& c) { return c.movement(); }},
        {"substituted", 8, 14, [](C& c) { return c.substituted(); }, kVaries},
        {"strides", 16, 4, [](C& c) { return c.strides(c.points_[0]); }, kFixed},
        {"address", 16, 8, [](C& c) { return c.by_index(c.points_[0]); }, kFixed},
        {"accepted", 16, 9, [](C& c) { return c.accepted(); }, kFixed},
        {"contraction", 8, 10, [](C& c) { return c.contraction(); }, kFixed},
        {"inverse", 32, 5, [](C& c) { return c.inverse(c.points_[0]); }, kFixed},
        {"text", 64, 7, [](C& c) { return c.text(c.points_[0]); }, kFixed},
    };
    return first_broken(kRelations, *this, [&](auto, std::uint64_t every, std::uint64_t salt) {
      return full_ || hash_mix(hash_, salt) % every == 0;
    });
  }

  std::optional<Checked> merged() const {
    ShapeTracker on_the_way = ShapeTracker::contiguous(case_.base);
    for (const MovementOp& op : case_.ops) on_the_way = merge_outermost(apply(on_the_way, op));
    if (auto wrong = agrees(on_the_way, "merged", [] { return "on the way "; })) return wrong;
    const ShapeTracker simple = simplify(tracker_);
    if (simple == tracker_) return std::nullopt;  // already checked
    if (simple.views().size() > tracker_.views().size())
      return Checked::fail("merged", fmt::format("{} became {}", tracker_.str(), simple.str()));
    if (simplify(simple) != simple)
      return Checked::fail("merged", fmt::format("{} became {}, and then {}", tracker_.str(),
                                                 simple.str(), simplify(simple).str()));
    return agrees(simple, "merged", [&] { return tracker_.str() + " became "; });
  }

  std::optional<Checked> composed() const {
    if (case_.ops.size() < 2) return std::nullopt;
    const std::size_t half = 1 + hash_mix(hash_, 10) % (case_.ops.size() - 1);
    const std::span<const MovementOp> ops(case_.ops);
    const ShapeTracker inner = applied(ShapeTracker::contiguous(case_.base), ops.subspan(0, half));
    const ShapeTracker outer = applied(ShapeTracker::contiguous(inner.shape()), ops.subspan(half));
    return agrees(inner + outer, "composed",
                  [&] { return fmt::format("{} + {}: ", inner.str(), outer.str()); });
  }

  // Replaces one variable, or each, by another minus a number; a replacement that may leave the
  // bounds must be refused.
  std::optional<Checked> substituted() const {
    const std::uint64_t bits = hash_mix(hash_, 15);
    const std::int64_t less = static_cast<std::int64_t>(bits % 3);
    const std::size_t only = bits / 3 % (2 * case_.variables.size());  // beyond the variables: each
    const auto new_name = [](const std::string& name) { return "new_" + name; };
    const auto by = [&](std::int64_t more) {
      std::map<std::string, symbolic::Node> made;
      for (std::size_t i = 0; i < case_.variables.size(); ++i) {
        const auto& v = case_.variables[i];
        if (only < case_.variables.size() && i != only) continue;
        made.emplace(
            v.name,
            symbolic::variable(new_name(v.name), v.low + less, v.high + less + more) - less);
      }
      return made;
    };
    const auto same = by(0);
    const ShapeTracker other = tracker_.substitute(same);
    for (const Point& p : points_) {
      symbolic::Values values;
      for (const auto& [name, value] : p.values())
        values[same.contains(name) ? new_name(name) : name] =
            value + (same.contains(name) ? less : 0);
      if (auto wrong = p.differs(other.bind(values)))
        return Checked::fail("substituted",
                             fmt::format("{}{} became {}", at(p), tracker_.str(), *wrong));
    }
    const auto beyond = by(1);
    const bool known = std::ranges::any_of(tracker_.vars(), [&](const symbolic::Node& v) {
      return beyond.contains(symbolic::variable_name(v));
    });
    try {
      const ShapeTracker wide = tracker_.substitute(beyond);
      if (known)
        return Checked::fail("substituted", fmt::format("{} became {}, beyond its bounds",
                                                        tracker_.str(), wide.str()));
    } catch (const ShapeError&) {
      if (!known) throw;
    }
    return std::nullopt;
  }

  // Evaluates address and validity, as text, by the definitions.
  std::optional<Checked> expressions() const {
    using symbolic::Int;
    enum class Way : std::uint8_t { Flat, Axes, Shortest, Plain };
    for (const Way way : {Way::Flat, Way::Axes, Way::Shortest, Way::Plain}) {
      if (!full_ && static_cast<std::uint64_t>(way) != hash_ % 4) continue;
      const bool by_flat = way == Way::Flat;
      std::string index, valid;
      if (way == Way::Plain) {
        const shapetracker::PlainIndex plain = shapetracker::plain_index(tracker_.views());
        index = render(plain.exprs, plain.index);
        valid = render(plain.exprs, plain.valid);
      } else {
        const IndexExpr expr = by_flat ? expr_node(tracker_)
                               : way == Way::Axes
                                   ? expr_idxs(tracker_)
                                   : shapetracker::shortest_idxs(tracker_, axis_indices(tracker_));
        index = render(expr.index);
        valid = render(expr.valid);
      }
      for (const Point& p : points_) {
        const Ints& shape = p.right().shape;
        const std::int64_t cells = std::ssize(p.right().cells);
        PointValues values;
        values.begin(static_cast<std::size_t>(cells));
        const auto add = [&](const std::string& name, const auto& value_at) {
          Column& column = values.add_variable(name);
          for (std::int64_t cell = 0; cell < cells; ++cell)
            column.set(static_cast<std::size_t>(cell), value_at(cell));
        };
        if (by_flat) add(index_prefix(tracker_), [](std::int64_t cell) { return cell; });
        std::int64_t step = 1;  // elements from one index of the axis to the next
        for (std::size_t a = by_flat ? 0 : shape.size(); a-- > 0; step *= shape[a])
          add(fmt::format("{}{}", index_prefix(tracker_), a),
              [&](std::int64_t cell) { return cell / step % shape[a]; });
        for (const auto& variable : p.values())
          add(variable.first, [&](std::int64_t) { return variable.second; });
        const Column reads = values.evaluate(valid);
        const Column& address = values.evaluate(index);
        for (std::size_t cell = 0; cell < p.right().cells.size(); ++cell) {
          const std::int64_t right = p.right().cells[cell];
          const bool same =
              reads.defined(cell) && reads.is_zero(cell) == (right < 0) &&
              (right < 0 || (address.defined(cell) && address.at(cell) == Int(right)));
          if (!same)
            return Checked::fail(
                "expression",
                fmt::format("{}{}: {} where {}: at ({}) it reads {} (-1: padding), not {} where {}",
                            at(p), tracker_.str(), index, valid,
                            fmt::join(unravel(static_cast<std::int64_t>(cell), shape), ", "), right,
                            address.defined(cell) ? address.at(cell).str() : "nothing",
                            reads.defined(cell) ? reads.at(cell).str() : "undefined"));
        }
      }
    }
    return std::nullopt;
  }

  std::optional<Checked> strides(const Point& p) const {
    const Addresses& right = p.right();
    const auto wrong = [&](const std::string& what) {
      return Checked::fail("strides", fmt::format("{}: {}", tracker_.str(), what));
    };
    std::int64_t highest = -1;
    for (const std::int64_t cell : right.cells) highest = std::max(highest, cell);
    if (tracker_.real_size() != highest + 1)
      return wrong(fmt::format("real_size is {}, not {}", tracker_.real_size(), highest + 1));
    if (tracker_.views().size() == 1 && highest >= 0) {
      std::int64_t lowest = highest;
      for (const std::int64_t cell : right.cells)
        if (cell >= 0) lowest = std::min(lowest, cell);
      const auto [low, high] = address_range(tracker_.views().front());
      if (low != sint(lowest) || high != sint(highest))
        return wrong(fmt::format("addresses are from {} to {}, not from {} to {}", lowest, highest,
                                 low.str(), high.str()));
    }
    const std::vector<std::optional<sint>> told = real_strides(tracker_);
    if (told.size() != right.shape.size()) return wrong("real_strides has another rank");
    std::int64_t step = 1;
    for (std::size_t axis = right.shape.size(); axis-- > 0; step *= right.shape[axis]) {
      if (right.cells.empty()) break;
      const bool masked = axis_is_masked(tracker_, static_cast<int>(axis));
      for (std::int64_t cell = 0; cell < std::ssize(right.cells); ++cell) {
        if (cell / step % right.shape[axis] + 1 >= right.shape[axis]) continue;
        const std::int64_t a = right.cells[static_cast<std::size_t>(cell)],
                           b = right.cells[static_cast<std::size_t>(cell + step)];
        if (((a < 0) != (b < 0)) && (told[axis] || !masked))
          return wrong(fmt::format("axis {} is told to have {}, but {} and {} are neighbours", axis,
                                   told[axis] ? "stride " + told[axis]->str() : "no mask", a, b));
        if (told[axis] && a >= 0 && b >= 0 && sint(b - a) != *told[axis])
          return wrong(fmt::format("axis {} has stride {}, but {} and {} are neighbours", axis,
                                   told[axis]->str(), a, b));
      }
    }
    return std::nullopt;
  }

  std::optional<Checked> by_index(const Point& p) const {
    const Addresses& right = p.right();
    for (std::int64_t cell = 0; cell < std::ssize(right.cells); ++cell) {
      const Ints index = unravel(cell, right.shape);
      const std::int64_t reads = tracker_.at(index).value_or(-1);
      if (reads != right.cells[static_cast<std::size_t>(cell)])
        return Checked::fail("address", fmt::format("{} at ({}) is {}, not {} (-1: padding)",
                                                    tracker_.str(), fmt::join(index, ", "), reads,
                                                    right.cells[static_cast<std::size_t>(cell)]));
    }
    return std::nullopt;
  }

  // Changes a number in one operation of the chain.
  std::optional<Checked> accepted() const {
    if (case_.ops.empty()) return std::nullopt;
    const std::size_t i = hash_mix(hash_, 11) % case_.ops.size();
    const std::span<const MovementOp> before(case_.ops.data(), i);
    Addresses array = addresses_of(case_.base);
    for (const MovementOp& op : before) move(array, op);
    const ShapeTracker tracker = applied(ShapeTracker::contiguous(case_.base), before);
    for (std::uint64_t turn = 0; turn < (full_ ? 8 : 2); ++turn) {
      const MovementOp op = changed(case_.ops[i], hash_mix(hash_, 12 + turn));
      bool fits = true, taken = true;
      Addresses moved = array;
      try {
        fits = try_move(moved, op);
      } catch (const ParseError&) {
        fits = false;
      }
      try {
        (void)apply(tracker, op);
      } catch (const ShapeError&) {
        taken = false;
      }
      if (fits != taken)
        return Checked::fail("accepted", fmt::format("{} {} {}", tracker.str(),
                                                     taken ? "takes" : "refuses", op.str()));
    }
    return std::nullopt;
  }

  static MovementOp changed(MovementOp op, std::uint64_t bits) {
    const auto place = [&](std::size_t size) { return bits / 8 % std::max<std::size_t>(size, 1); };
    const sint by = bits % 2 == 0 ? 1 : -1;
    if (!op.shape.empty() && op.kind != Kind::AsStrided) {
      sint& size = op.shape[place(op.shape.size())];
      size = size + by;
    }
    if (!op.order.empty()) op.order[place(op.order.size())] += bits % 2 == 0 ? 1 : -1;
    if (!op.steps.empty()) op.steps[place(op.steps.size())] = 0;
    if (!op.ends.empty()) {
      auto& [begin, end] = op.ends[place(op.ends.size())];
      if (bits % 8 < 3)
        std::swap(begin, end);
      else
        (bits % 8 < 6 ? begin : end) = (bits % 8 < 6 ? begin : end) + by;
    }
    if (op.kind == Kind::AsStrided) op.offset = op.offset + by * 1000;
    return op;
  }

  std::optional<Checked> inverse(const Point& p) const {
    const Inverse inverse = invert(tracker_);
    const Addresses& right = p.right();
    std::int64_t size = 0, valid = 0;
    for (const std::int64_t cell : right.cells) size = std::max(size, cell + 1);
    std::vector<bool> read(static_cast<std::size_t>(size), false);
    bool once = true;
    for (const std::int64_t cell : right.cells) {
      if (cell < 0) continue;
      ++valid;
      once = once && !read[static_cast<std::size_t>(cell)];
      read[static_cast<std::size_t>(cell)] = true;
    }
    const bool bijection = once && valid == size;
    const auto wrong = [&](const std::string& what) {
      return Checked::fail("inverse", fmt::format("{}: {}", tracker_.str(), what));
    };
    if (inverse.bijection != bijection)
      return wrong(bijection ? "is a bijection, which invert denies" : "is no bijection");
    if (!inverse.tracker) return std::nullopt;
    if (inverse.tracker->size() != size) return wrong("the inverse has another size");
    for (std::int64_t y = 0; y < size; ++y) {
      const std::int64_t at = address_of(inverse.tracker->views(), y);
      if (at < 0 || at >= std::ssize(right.cells) || right.cells[static_cast<std::size_t>(at)] != y)
        return wrong(fmt::format("the inverse {} takes {} to {}", inverse.tracker->str(), y, at));
    }
    return std::nullopt;
  }

  // True if old[from, ...) can be cut into groups whose products are made[i, ...), with non-empty
  // groups for reduced axes.
  static bool groups_exist(const Ints& old, const Ints& made, const std::vector<bool>& reduced,
                           std::size_t i, std::size_t from) {
    if (i == made.size())
      return made.empty() ? std::ranges::all_of(old, [](std::int64_t n) { return n == 1; })
                          : from == old.size();
    std::int64_t product = 1;
    for (std::size_t end = from;; ++end) {
      if (product == made[i] && (end > from || !reduced[i]) &&
          groups_exist(old, made, reduced, i + 1, end))
        return true;
      if (end == old.size()) return false;
      product *= old[end];
    }
  }

  std::optional<Checked> contraction() const {
    Shape shape = case_.base;
    for (MovementOp op : case_.ops) {
      const Ints old = concrete(shape);
      shape = mend(shape, op);
      if (op.kind != MovementOp::Kind::Reshape) continue;
      const Ints made = concrete(shape);
      std::vector<int> axes;
      std::vector<bool> reduced(made.size(), false);
      for (std::size_t i = 0; i < made.size(); ++i)
        if ((hash_ >> i % 64 & 1) != 0) axes.push_back(static_cast<int>(i)), reduced[i] = true;
      const auto groups = get_contraction_with_reduce(Shape(old.begin(), old.end()), shape, axes);
      bool right = groups.has_value() == groups_exist(old, made, reduced, 0, 0);
      std::size_t next = 0;
      for (std::size_t i = 0; groups && i < made.size(); ++i) {
        std::int64_t product = 1;
        for (const int a : (*groups)[i]) {
          right = right && static_cast<std::size_t>(a) == next++;
          product *= old[static_cast<std::size_t>(a) % old.size()];
        }
        right = right && product == made[i] && (!reduced[i] || !(*groups)[i].empty());
      }
      if (!right || (groups && !made.empty() && next != old.size()))
        return Checked::fail("contraction",
                             fmt::format("from {} to {} where axes ({}) are reduced: {}",
                                         str(Shape(old.begin(), old.end())), str(shape),
                                         fmt::join(axes, ", "), groups ? "wrong groups" : "none"));
    }
    return std::nullopt;
  }

  // The operations that rebuild the tracker; with variables there may be none that hold for all
  // their values.
  std::optional<Checked> movement() const {
    const bool variables = !case_.variables.empty();
    const std::int64_t size = variables ? tracker_.real_size() : points_[0].elements();
    std::vector<MovementOp> ops;
    try {
      ops = to_movement_ops(tracker_, size);
    } catch (const ShapeError&) {
      if (!variables) throw;
      return std::nullopt;
    }
    const ShapeTracker again = applied(ShapeTracker::contiguous({size}), ops);
    return agrees(again, "movement", [&] { return tracker_.str() + " made again: "; });
  }

  std::optional<Checked> text(const Point& p) const {
    using nlohmann::json;
    json views = json::array();
    for (const View& v : tracker_.views()) {
      json mask = nullptr;
      if (v.mask()) {
        mask = json::array();
        for (const Range& r : *v.mask()) mask.push_back({r.first.as_int(), r.second.as_int()});
      }
      views.push_back({concrete(v.shape()), concrete(v.strides()), v.offset().as_int(), mask});
    }
    const json answer = json::parse(shapetracker::answer_json(json{{"views", views}}.dump()));
    if (!answer.contains("views"))
      return Checked::fail("text", fmt::format("{}: {}", tracker_.str(), answer.dump()));
    std::vector<View> read;
    for (const json& v : answer["views"]) {
      std::optional<Mask> mask;
      if (!v[3].is_null()) {
        mask.emplace();
        for (const json& r : v[3])
          mask->emplace_back(r[0].get<std::int64_t>(), r[1].get<std::int64_t>());
      }
      const Ints shape = v[0], steps = v[1];
      read.push_back(View::strided({shape.begin(), shape.end()}, {steps.begin(), steps.end()},
                                   v[2].get<std::int64_t>(), mask));
    }
    if (auto wrong = p.differs(ShapeTracker(read)))
      return Checked::fail("text", fmt::format("{} reads back: {}", tracker_.str(), *wrong));
    return std::nullopt;
  }

  const ViewCase& case_;
  std::uint64_t hash_;
  bool full_;
  std::vector<Point> points_;
  ShapeTracker tracker_;
};

}  // namespace

Checked check_views(const ViewCase& c, const std::string& text, Effort effort) {
  return ViewCheck(c, text, effort).run();
}

}  // namespace touchstone::fuzz
