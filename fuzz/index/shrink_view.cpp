// Smaller movement chains.
#include <algorithm>
#include <functional>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {

namespace {

using Kind = MovementOp::Kind;

// Smaller numbers to try in place of one, the least first.
template <class Take>
void lower(const sint& size, std::int64_t least, const Take& take) {
  if (!size.is_int()) {
    take(std::max<std::int64_t>(least, 1));
    return;
  }
  const std::int64_t value = size.as_int();
  for (const std::int64_t v : {least, std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                               std::int64_t{3}, value / 2, value - (value > 0 ? 1 : -1), -value})
    if (v != value && v >= least) take(v);
}

// All combinations of each variable's least and largest value.
std::vector<symbolic::Values> corners(const ViewCase& c) {
  std::vector<symbolic::Values> all = c.all_values();
  std::erase_if(all, [&](const symbolic::Values& values) {
    return std::ranges::any_of(c.variables, [&](const ViewCase::Range& range) {
      const auto& value = values.at(range.name);
      return value != range.low && value != range.high;
    });
  });
  return all;
}

// Mends the operations in order to fit a changed base or changed operations; nullopt if that fails.
std::optional<ViewCase> mended(ViewCase c) {
  try {
    Shape shape = c.base;
    for (MovementOp& op : c.ops) shape = mend(shape, op);
    if (!c.variables.empty()) c = ViewCase::parse(c.str());
    for (const symbolic::Values& values : corners(c)) {
      const ViewCase one = c.bind(values);
      Addresses array = addresses_of(one.base);
      for (const MovementOp& op : one.ops) move(array, op);
    }
    return c;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class SmallerView {
 public:
  explicit SmallerView(const ViewCase& c) : case_(c) {}

  std::vector<std::string> all() {
    bound();
    narrower();
    operations();
    starts();
    joined();
    turned();
    axes();
    numbers();
    sizes();
    starts_smaller();
    steps();
    pairs();
    return std::move(out_);
  }

 private:
  void emit(const ViewCase& c) {
    if (const std::optional<ViewCase> fit = mended(c)) out_.push_back(fit->str());
  }

  template <class Change>
  void with(const Change& change) {
    ViewCase c = case_;
    change(c);
    emit(c);
  }

  // Replaces all variables, or one of several, by numbers.
  void bound() {
    if (case_.variables.empty()) return;
    for (const symbolic::Values& values : case_.all_values())
      out_.push_back(case_.bind(values).str());
    if (case_.variables.size() < 2) return;
    for (const auto& [name, low, high] : case_.variables)
      for (std::int64_t value = low; value <= high; ++value)
        out_.push_back(case_.bind({{name, value}}).str());
  }

  void narrower() {
    for (std::size_t i = 0; i < case_.variables.size(); ++i)
      for (const bool low : {true, false}) {
        ViewCase c = case_;
        ViewCase::Range& range = c.variables[i];
        if (range.low == range.high) continue;
        (low ? range.high : range.low) += low ? -1 : 1;
        out_.push_back(ViewCase::parse(c.str()).str());
      }
  }

  void operations() {
    for (std::size_t i = case_.ops.size(); i-- > 0;) with([&](ViewCase& c) { c.ops.resize(i); });
    for (std::size_t i = 0; i < case_.ops.size(); ++i)
      for (const std::size_t run : {std::size_t{3}, std::size_t{2}, std::size_t{1}}) {
        if (i + run <= case_.ops.size()) with([&](ViewCase& c) { drop(c.ops, i, run); });
      }
  }

  // Starts from a buffer of the shape after some operations.
  void starts() {
    Shape shape = case_.base;
    for (std::size_t i = 0; i < case_.ops.size(); ++i)
      with([&](ViewCase& c) {
        c.base = shape = mend(shape, c.ops[i]);
        drop(c.ops, 0, i + 1);
      });
  }

  // Drops an axis of size 1, from the buffer or a reshape, up to the next reshape.
  void axes() {
    for (std::size_t from = 0; from <= case_.ops.size(); ++from) {
      if (from > 0 && case_.ops[from - 1].kind != Kind::Reshape) continue;
      const Shape& shape = from == 0 ? case_.base : case_.ops[from - 1].shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        ViewCase c = case_;
        drop(from == 0 ? c.base : c.ops[from - 1].shape, axis);
        if (drop_axis(c, from, axis)) emit(c);
      }
    }
  }

  static bool drop_axis(ViewCase& c, std::size_t from, std::size_t axis) {
    for (std::size_t i = from; i < c.ops.size(); ++i) {
      MovementOp& op = c.ops[i];
      switch (op.kind) {
        case Kind::Reshape:
        case Kind::AsStrided: return true;
        case Kind::Expand:
          if (!drop(op.shape, axis)) return false;
          break;
        case Kind::Pad:
        case Kind::Shrink:
          if (!drop(op.ends, axis)) return false;
          break;
        case Kind::Stride:
          if (!drop(op.steps, axis)) return false;
          break;
        case Kind::Permute: {
          const auto found = std::ranges::find(op.order, static_cast<int>(axis));
          if (found == op.order.end()) return false;
          axis = static_cast<std::size_t>(found - op.order.begin());
          const int old = *found;
          op.order.erase(found);
          for (int& o : op.order) o -= o > old ? 1 : 0;
          break;
        }
      }
    }
    return true;
  }

  // Merges two neighbouring operations of one kind.
  void joined() {
    for (std::size_t i = 0; i + 1 < case_.ops.size(); ++i) {
      ViewCase c = case_;
      try {
        if (!join(c.ops[i], c.ops[i + 1])) continue;
      } catch (const OverflowError&) {
        continue;
      }
      drop(c.ops, i + 1);
      emit(c);
    }
  }

  // Composes `next` into `op`.
  static bool join(MovementOp& op, const MovementOp& next) {
    if (op.kind != next.kind || op.order.size() != next.order.size() ||
        op.ends.size() != next.ends.size() || op.steps.size() != next.steps.size())
      return false;
    switch (op.kind) {
      case Kind::Permute: {
        if (!is_order(next.order)) return false;
        const std::vector<int> old = op.order;
        for (std::size_t k = 0; k < old.size(); ++k)
          op.order[k] = old[static_cast<std::size_t>(next.order[k])];
        return true;
      }
      case Kind::Pad:
      case Kind::Shrink:
        for (std::size_t k = 0; k < op.ends.size(); ++k) {
          auto& [a, b] = op.ends[k];
          const auto& [c, d] = next.ends[k];
          b = op.kind == Kind::Pad ? b + d : a + d;
          a = a + c;
        }
        return true;
      case Kind::Stride:
        for (std::size_t k = 0; k < op.steps.size(); ++k)
          if (__builtin_mul_overflow(op.steps[k], next.steps[k], &op.steps[k])) return false;
        return true;
      default: return false;
    }
  }

  // Removes a permute and reorders later operations, up to where the axis order ends.
  void turned() {
    for (std::size_t i = 0; i < case_.ops.size(); ++i) {
      const std::vector<int>& order = case_.ops[i].order;
      if (case_.ops[i].kind != Kind::Permute || !is_order(order)) continue;
      ViewCase c = case_;
      drop(c.ops, i);
      for (std::size_t k = i; k < c.ops.size(); ++k) {
        MovementOp& op = c.ops[k];
        if (op.kind == Kind::Reshape || op.kind == Kind::AsStrided) break;
        if (op.kind == Kind::Permute) {
          if (is_order(op.order) && op.order.size() == order.size())
            for (int& axis : op.order) axis = order[static_cast<std::size_t>(axis)];
          break;
        }
        turn_back(op.shape, order);
        turn_back(op.ends, order);
        turn_back(op.steps, order);
      }
      emit(c);
    }
  }

  /// True if `order` is a permutation of 0, 1, ...
  static bool is_order(std::vector<int> order) {
    std::ranges::sort(order);
    for (std::size_t k = 0; k < order.size(); ++k)
      if (order[k] != static_cast<int>(k)) return false;
    return !order.empty();
  }

  template <class List>
  static void turn_back(List& list, const std::vector<int>& order) {
    if (list.size() != order.size()) return;
    const List old = list;
    for (std::size_t k = 0; k < order.size(); ++k)
      list[static_cast<std::size_t>(order[k])] = old[k];
  }

  /// Pointers to the numbers of a case that are sizes.
  static std::vector<sint*> sizes_of(ViewCase& c) {
    std::vector<sint*> found;
    for (sint& size : c.base) found.push_back(&size);
    for (MovementOp& op : c.ops) {
      for (sint& size : op.shape) found.push_back(&size);
      if (op.kind == Kind::Shrink)
        for (auto& ends : op.ends) found.push_back(&ends.second);
    }
    return found;
  }

  // Decreases all equal sizes together.
  void sizes() {
    ViewCase c = case_;
    std::vector<std::int64_t> values;
    for (const sint* size : sizes_of(c))
      if (size->is_int() && size->as_int() > 2) values.push_back(size->as_int());
    std::ranges::sort(values, std::greater());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const std::int64_t value : values)
      for (const std::int64_t less : {std::int64_t{2}, std::int64_t{3}, value / 2, value - 1}) {
        if (less < 2 || less >= value) continue;
        c = case_;
        for (sint* size : sizes_of(c))
          if (*size == sint(value)) *size = less;
        emit(c);
        if (const auto first = std::ranges::find(c.ops, Kind::Reshape, &MovementOp::kind);
            first != c.ops.end() && c.base.size() == 1) {
          c.base[0] = elements(first->shape);  // provided that earlier operations keep all elements
          emit(c);
        }
      }
  }

  // Any smaller size of an axis of the buffer.
  void starts_smaller() {
    constexpr std::int64_t kMost = 40;
    for (std::size_t i = 0; i < case_.base.size(); ++i)
      for (std::int64_t v = 4; case_.base[i].is_int() && v + 1 < case_.base[i].as_int(); ++v) {
        if (v > kMost) break;
        with([&](ViewCase& c) { c.base[i] = v; });
      }
  }

  // Shorter steps, over buffer axes with room for as many.
  void steps() {
    if (case_.ops.empty() || case_.ops[0].kind != Kind::Stride) return;
    for (std::size_t k = 0; k < std::min(case_.base.size(), case_.ops[0].steps.size()); ++k) {
      const std::int64_t step = case_.ops[0].steps[k], by = step < 0 ? -step : step;
      if (!case_.base[k].is_int() || case_.base[k].as_int() < 1) continue;
      const std::int64_t turns = (case_.base[k].as_int() - 1) / by;
      for (const std::int64_t less : {std::int64_t{1}, std::int64_t{2}, by - 1, by}) {
        if (less < 1 || less > by) continue;
        with([&](ViewCase& c) {
          c.base[k] = turns * less + 1;
          c.ops[0].steps[k] = step < 0 ? -less : less;
        });
      }
    }
  }

  // Decreases any two numbers by one.
  void pairs() {
    constexpr std::size_t kMost = 14;
    const auto numbers = [](ViewCase& c) {
      std::vector<sint*> found;
      for (sint& size : c.base) found.push_back(&size);
      for (MovementOp& op : c.ops) {
        for (sint& size : op.shape) found.push_back(&size);
        for (auto& [a, b] : op.ends) found.insert(found.end(), {&a, &b});
        for (sint& stride : op.strides) found.push_back(&stride);
        if (op.kind == Kind::AsStrided) found.push_back(&op.offset);
      }
      std::erase_if(found, [](const sint* s) { return !s->is_int() || s->as_int() == 0; });
      return found;
    };
    ViewCase c = case_;
    const std::size_t count = numbers(c).size();
    if (count > kMost) return;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j)
        with([&](ViewCase& less) {
          const std::vector<sint*> all = numbers(less);
          for (sint* s : {all[i], all[j]}) *s = s->as_int() - (s->as_int() < 0 ? -1 : 1);
        });
  }

  void numbers() {
    for (std::size_t i = 0; i < case_.base.size(); ++i)
      lower(case_.base[i], 0, [&](std::int64_t v) { with([&](ViewCase& c) { c.base[i] = v; }); });
    for (std::size_t i = 0; i < case_.ops.size(); ++i)
      for (MovementOp& op : simpler(case_.ops[i]))
        with([&](ViewCase& c) { c.ops[i] = std::move(op); });
  }

  const ViewCase& case_;
  std::vector<std::string> out_;
};

std::int64_t rank_of(const sint& s) {
  if (!s.is_int()) return 40 + static_cast<std::int64_t>(s.str().size());
  return s.as_int() < 0 ? 1 - 2 * s.as_int() : 2 * s.as_int();
}

}  // namespace

std::vector<MovementOp> simpler(const MovementOp& op) {
  std::vector<MovementOp> out;
  const auto with = [&](const auto& set) {
    return [&out, &op, set](std::int64_t v) {
      out.push_back(op);
      set(out.back(), v);
    };
  };
  for (std::size_t k = 0; k < op.shape.size(); ++k)
    lower(op.shape[k], 0, with([k](MovementOp& o, std::int64_t v) { o.shape[k] = v; }));
  for (std::size_t k = 0; k < op.ends.size(); ++k) {
    lower(op.ends[k].first, 0, with([k](MovementOp& o, std::int64_t v) { o.ends[k].first = v; }));
    lower(op.ends[k].second, 0, with([k](MovementOp& o, std::int64_t v) { o.ends[k].second = v; }));
    if (op.kind == Kind::Shrink && !certainly_eq(op.ends[k].first, 0)) {
      out.push_back(op);  // the same count from the start
      out.back().ends[k] = {0, op.ends[k].second - op.ends[k].first};
    }
  }
  for (std::size_t k = 0; k < op.steps.size(); ++k)
    lower(op.steps[k], -1, with([k](MovementOp& o, std::int64_t v) { o.steps[k] = v; }));
  for (std::size_t k = 0; k < op.strides.size(); ++k)
    lower(op.strides[k], -8, with([k](MovementOp& o, std::int64_t v) { o.strides[k] = v; }));
  if (op.kind == Kind::AsStrided)
    lower(op.offset, 0, with([](MovementOp& o, std::int64_t v) { o.offset = v; }));
  for (std::size_t k = 0; k + 1 < op.order.size(); ++k)
    if (op.order[k] > op.order[k + 1]) {
      out.push_back(op);
      std::swap(out.back().order[k], out.back().order[k + 1]);
    }
  return out;
}

std::vector<std::string> smaller_views(const ViewCase& c) { return SmallerView(c).all(); }

Measure measure_of(const ViewCase& c) {
  Measure m{static_cast<std::int64_t>(c.ops.size()), std::ssize(c.base), 0, 0};
  for (const ViewCase::Range& range : c.variables) {
    m[0] += 2;
    m[2] += range.high - range.low + range.high;
  }
  for (const sint& s : c.base) m[2] += rank_of(s);
  for (const MovementOp& op : c.ops) {
    m[1] +=
        std::ssize(op.shape) + std::ssize(op.order) + std::ssize(op.ends) + std::ssize(op.steps);
    for (const sint& s : op.shape) m[2] += rank_of(s);
    for (const sint& s : op.strides) m[2] += rank_of(s);
    for (const auto& [a, b] : op.ends) m[2] += rank_of(a) + rank_of(b);
    for (const std::int64_t s : op.steps) m[2] += rank_of(s);
    m[2] += rank_of(op.offset);
    for (std::size_t a = 0; a < op.order.size(); ++a)
      for (std::size_t b = a + 1; b < op.order.size(); ++b) m[3] += op.order[a] > op.order[b];
  }
  return m;
}

}  // namespace touchstone::fuzz
