// Smaller movement chains.
#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/area.h"
#include "touchstone/fuzz/view_case.h"

namespace touchstone::fuzz {

namespace {

using Ints = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;

// Operations mended, one after the other, so that they fit a base or operations that have changed:
// reshapes get another size on one axis, ranges are cut. nullopt where that does not do.
std::optional<ViewCase> mended(ViewCase c) {
  try {
    Addresses array = addresses_of(c.base);
    for (MovementOp& op : c.ops) {
      const Ints& shape = array.shape;
      if (op.kind == Kind::Reshape) {
        const std::int64_t count = std::ssize(array.cells);
        for (sint& wanted : op.shape) {
          std::int64_t rest = 1;
          for (const sint& s : op.shape)
            if (&s != &wanted) rest *= s.as_int();
          if (rest * wanted.as_int() == count) break;
          if (rest == 0 || count % rest != 0) continue;
          wanted = count / rest;
          break;
        }
      } else if (op.kind == Kind::Expand && op.shape.size() == shape.size()) {
        for (std::size_t i = 0; i < shape.size(); ++i)
          if (shape[i] != 1) op.shape[i] = shape[i];
      } else if (op.kind == Kind::Shrink && op.ends.size() == shape.size()) {
        for (std::size_t i = 0; i < shape.size(); ++i) {
          op.ends[i].second = std::min(op.ends[i].second.as_int(), shape[i]);
          op.ends[i].first = std::min(op.ends[i].first.as_int(), op.ends[i].second.as_int());
        }
      }
      move(array, op);
    }
    return c;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Smaller {
 public:
  explicit Smaller(const ViewCase& c) : case_(c) {}

  std::vector<std::string> all() {
    if (case_.variable) {
      for (std::int64_t v = case_.variable->low; v <= case_.variable->high; ++v)
        out_.push_back(case_.bind(v).str());
      narrower();
    }
    operations();
    if (case_.variable) return std::move(out_);
    starts();
    axes();
    numbers();
    return std::move(out_);
  }

 private:
  void emit(const ViewCase& c) {
    if (c.variable) {
      out_.push_back(c.str());
    } else if (const std::optional<ViewCase> fit = mended(c)) {
      out_.push_back(fit->str());
    }
  }

  void narrower() {
    for (const bool low : {true, false}) {
      ViewCase c = case_;
      if (c.variable->low == c.variable->high) return;
      (low ? c.variable->high : c.variable->low) += low ? -1 : 1;
      out_.push_back(ViewCase::parse(c.str()).str());
    }
  }

  void operations() {
    for (std::size_t i = case_.ops.size(); i-- > 0;) {
      ViewCase c = case_;
      c.ops.resize(i);
      emit(c);
    }
    for (std::size_t i = 0; i < case_.ops.size(); ++i)
      for (const std::size_t run : {std::size_t{3}, std::size_t{2}, std::size_t{1}}) {
        if (i + run > case_.ops.size()) continue;
        ViewCase c = case_;
        const auto at = c.ops.begin() + static_cast<std::ptrdiff_t>(i);
        c.ops.erase(at, at + static_cast<std::ptrdiff_t>(run));
        emit(c);
      }
  }

  // Begin with a buffer of the shape that stands there after some operations.
  void starts() {
    Addresses array = addresses_of(case_.base);
    for (std::size_t i = 0; i < case_.ops.size(); ++i) {
      move(array, case_.ops[i]);
      ViewCase c = case_;
      c.base.assign(array.shape.begin(), array.shape.end());
      c.ops.erase(c.ops.begin(), c.ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      emit(c);
    }
  }

  // One axis of size 1 less, from the buffer, or from a reshape, on to the next reshape.
  void axes() {
    for (std::size_t from = 0; from <= case_.ops.size(); ++from) {
      if (from > 0 && case_.ops[from - 1].kind != Kind::Reshape) continue;
      const Shape& shape = from == 0 ? case_.base : case_.ops[from - 1].shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        ViewCase c = case_;
        Shape& cut = from == 0 ? c.base : c.ops[from - 1].shape;
        cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(axis));
        if (drop(c, from, axis)) emit(c);
      }
    }
  }

  static bool drop(ViewCase& c, std::size_t from, std::size_t axis) {
    for (std::size_t i = from; i < c.ops.size(); ++i) {
      MovementOp& op = c.ops[i];
      const auto at = static_cast<std::ptrdiff_t>(axis);
      switch (op.kind) {
        case Kind::Reshape:
        case Kind::AsStrided:
          return true;
        case Kind::Expand:
          if (axis >= op.shape.size()) return false;
          op.shape.erase(op.shape.begin() + at);
          break;
        case Kind::Pad:
        case Kind::Shrink:
          if (axis >= op.ends.size()) return false;
          op.ends.erase(op.ends.begin() + at);
          break;
        case Kind::Stride:
          if (axis >= op.steps.size()) return false;
          op.steps.erase(op.steps.begin() + at);
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

  template <class Set>
  void lower(std::int64_t value, std::int64_t least, const Set& set) {
    for (const std::int64_t v :
         {least, std::int64_t{0}, std::int64_t{1}, value / 2, value - (value > 0 ? 1 : -1), -value})
      if (v != value && v >= least) {
        ViewCase c = case_;
        set(c, v);
        emit(c);
      }
  }

  void numbers() {
    for (std::size_t i = 0; i < case_.base.size(); ++i)
      lower(case_.base[i].as_int(), 0, [&](ViewCase& c, std::int64_t v) { c.base[i] = v; });
    for (std::size_t i = 0; i < case_.ops.size(); ++i) {
      const MovementOp& op = case_.ops[i];
      for (std::size_t k = 0; k < op.shape.size(); ++k)
        lower(op.shape[k].as_int(), 0, [&](ViewCase& c, std::int64_t v) { c.ops[i].shape[k] = v; });
      for (std::size_t k = 0; k < op.ends.size(); ++k) {
        lower(op.ends[k].first.as_int(), 0,
              [&](ViewCase& c, std::int64_t v) { c.ops[i].ends[k].first = v; });
        lower(op.ends[k].second.as_int(), 0,
              [&](ViewCase& c, std::int64_t v) { c.ops[i].ends[k].second = v; });
        if (op.kind == Kind::Shrink && op.ends[k].first.as_int() > 0) {
          ViewCase c = case_;  // keep as many, from the first on
          c.ops[i].ends[k] = {0, op.ends[k].second - op.ends[k].first};
          emit(c);
        }
      }
      for (std::size_t k = 0; k < op.steps.size(); ++k)
        lower(op.steps[k], -1, [&](ViewCase& c, std::int64_t v) { c.ops[i].steps[k] = v; });
      for (std::size_t k = 0; k < op.strides.size(); ++k)
        lower(op.strides[k].as_int(), -8,
              [&](ViewCase& c, std::int64_t v) { c.ops[i].strides[k] = v; });
      if (op.kind == Kind::AsStrided)
        lower(op.offset.as_int(), 0, [&](ViewCase& c, std::int64_t v) { c.ops[i].offset = v; });
      if (op.kind == Kind::Permute && !std::ranges::is_sorted(op.order)) {
        for (std::size_t k = 0; k + 1 < op.order.size(); ++k)
          if (op.order[k] > op.order[k + 1]) {
            ViewCase c = case_;
            std::swap(c.ops[i].order[k], c.ops[i].order[k + 1]);
            emit(c);
          }
      }
    }
  }

  const ViewCase& case_;
  std::vector<std::string> out_;
};

std::int64_t magnitude(const sint& s) {
  if (!s.is_int()) return 40 + static_cast<std::int64_t>(s.str().size());
  return s.as_int() < 0 ? 1 - 2 * s.as_int() : 2 * s.as_int();
}

}  // namespace

std::vector<std::string> smaller_views(const ViewCase& c) { return Smaller(c).all(); }

Measure measure_of(const ViewCase& c) {
  Measure m{static_cast<std::int64_t>(c.ops.size()), std::ssize(c.base), 0, 0};
  if (c.variable) {
    m[0] += 2;
    m[2] += c.variable->high - c.variable->low + c.variable->high;
  }
  for (const sint& s : c.base) m[2] += magnitude(s);
  for (const MovementOp& op : c.ops) {
    m[1] +=
        std::ssize(op.shape) + std::ssize(op.order) + std::ssize(op.ends) + std::ssize(op.steps);
    for (const sint& s : op.shape) m[2] += magnitude(s);
    for (const sint& s : op.strides) m[2] += magnitude(s);
    for (const auto& [a, b] : op.ends) m[2] += magnitude(a) + magnitude(b);
    for (const std::int64_t s : op.steps) m[2] += magnitude(s);
    m[2] += magnitude(op.offset);
    for (std::size_t a = 0; a < op.order.size(); ++a)
      for (std::size_t b = a + 1; b < op.order.size(); ++b) m[3] += op.order[a] > op.order[b];
  }
  return m;
}

}  // namespace touchstone::fuzz
