#include "touchstone/fuzz/judge/probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostPoints = std::int64_t{1} << 22;  // points of a view to walk

// The row and the place of each element of a buffer.
struct Rows {
  std::vector<std::int64_t> row, place;  // -1: in no row
  std::int64_t terms = 1;
};

// A LOAD and the reduces above it, outermost first.
struct Use {
  const LazyOp* load;
  std::vector<const LazyOp*> reduces;
};

// The uses of each buffer; for a LOAD reached in several ways, the first.
std::map<int, std::vector<Use>> uses_of(const LazyOpPtr& kernel) {
  std::map<int, std::vector<Use>> uses;
  std::map<const LazyOp*, bool> seen;
  std::vector<Use> open{{kernel.get(), {}}};
  while (!open.empty()) {
    Use use = std::move(open.back());
    open.pop_back();
    if (!seen.emplace(use.load, true).second) continue;
    const LazyOp& node = *use.load;
    if (node.op() == Op::Load) uses[node.buffer().idx].push_back(use);
    if (is_reduce(node.op())) use.reduces.push_back(&node);
    for (auto s = node.src().rbegin(); s != node.src().rend(); ++s)
      open.push_back({s->get(), use.reduces});
  }
  return uses;
}

// Integer buffers compared by CMPEQ, perhaps after a CAST: indices into something.
std::set<const LazyOp*> compared_loads(const LazyOpPtr& kernel) {
  std::set<const LazyOp*> found;
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (node->op() != Op::CmpEq) continue;
    for (const LazyOpPtr& operand : node->src()) {
      const LazyOp* at = operand.get();
      while (at->op() == Op::Cast) at = at->src()[0].get();
      if (at->op() == Op::Load && is_integer(at->dtype())) found.insert(at);
    }
  }
  return found;
}

// Integer LOADs that form a GATHER's position, and the number of rows it selects from.
std::map<const LazyOp*, std::int64_t> position_loads(const LazyOpPtr& kernel) {
  std::map<const LazyOp*, std::int64_t> found;
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (node->op() != Op::Gather) continue;
    for (const LazyOpPtr& below : toposort(node->src()[0]))
      if (below->op() == Op::Load && is_integer(below->dtype()))
        found[below.get()] = node->buffer().st.shape()[0].as_int();
  }
  return found;
}

// Whether the outermost view's address changes along an axis.
bool moves_along(const LazyOp& load, std::size_t axis) {
  const View& top = load.buffer().st.views().back();
  return top.shape()[axis].as_int() > 1 && top.strides()[axis] != sint(0);
}

bool reads_along(const LazyOp& load, const LazyOp& reduce) {
  return std::ranges::any_of(reduce.reduce_arg().axes, [&](int axis) {
    return moves_along(load, static_cast<std::size_t>(axis));
  });
}

// The number of places a LOAD is compared with: the terms of the reduce above it, or the last axis
// along which it is constant.
std::int64_t places_of(const Use& use) {
  std::int64_t places = 0;
  for (const LazyOp* reduce : use.reduces)
    if (!reads_along(*use.load, *reduce))
      for (const int axis : reduce->reduce_arg().axes)
        places =
            std::max(places, reduce->src()[0]->shape()[static_cast<std::size_t>(axis)].as_int());
  if (places > 1) return places;
  const Shape& shape = use.load->shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis].as_int() > 1 && !moves_along(*use.load, axis)) places = shape[axis].as_int();
  return places;
}

// The rows that a reduce forms of a LOAD's elements; nullopt if there are too many to walk.
std::optional<Rows> rows_of(const LazyOp& load, const LazyOp& reduce, std::int64_t size) {
  const ShapeTracker& st = load.buffer().st;
  const std::vector<std::int64_t> shape = concrete(st.shape());
  const std::vector<int>& axes = reduce.reduce_arg().axes;
  std::vector<std::size_t> kept, reduced;
  std::int64_t points = 1;
  Rows rows{std::vector<std::int64_t>(static_cast<std::size_t>(size), -1),
            std::vector<std::int64_t>(static_cast<std::size_t>(size), -1), 1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return rows;
    if (!moves_along(load, axis)) continue;
    const bool is_reduced = std::ranges::find(axes, static_cast<int>(axis)) != axes.end();
    (is_reduced ? reduced : kept).push_back(axis);
    points *= shape[axis];
    if (points > kMostPoints) return std::nullopt;
    if (is_reduced) rows.terms *= shape[axis];
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t rest = point;
    for (const auto* list : {&reduced, &kept})
      for (auto axis = list->rbegin(); axis != list->rend(); ++axis) {
        index[*axis] = rest % shape[*axis];
        rest /= shape[*axis];
      }
    const auto at = st.at(index);
    if (!at || rows.row[static_cast<std::size_t>(*at)] >= 0) continue;
    rows.row[static_cast<std::size_t>(*at)] = point / rows.terms;
    rows.place[static_cast<std::size_t>(*at)] = point % rows.terms;
  }
  return rows;
}

// The role of a buffer in the kernel.
struct Role {
  BufferSpec spec;
  std::optional<Rows> rows;  // of its outermost reduce
  bool under_max = false;    // under a maximum, or beside one
  std::int64_t places = 0;   // range of integers that are compared for equality
};

class ProbeDrawer {
 public:
  ProbeDrawer(const LazyOpPtr& kernel, std::uint64_t seed) : kernel_(kernel), seed_(seed) {
    const auto uses = uses_of(kernel);
    const std::set<const LazyOp*> compared = compared_loads(kernel);
    const auto positions = position_loads(kernel);
    for (const LazyOpPtr& node : toposort(kernel))
      any_exp2_ = any_exp2_ || node->op() == Op::Exp2 || node->op() == Op::Function;
    for (const BufferSpec& spec : buffers_of(kernel)) {
      if (spec.idx == 0) continue;
      Role role{spec, std::nullopt, false, 0};
      if (const auto found = uses.find(spec.idx); found != uses.end()) {
        find_rows(found->second, role);
        for (const Use& use : found->second) {
          if (compared.contains(use.load)) role.places = std::max(role.places, places_of(use));
          if (const auto at = positions.find(use.load); at != positions.end())
            role.places = std::max(role.places, at->second);
        }
      }
      any_max_ = any_max_ || (role.under_max && is_float(spec.dtype));
      any_rows_ = any_rows_ || (role.rows && role.rows->terms > 1 && is_float(spec.dtype));
      any_float_ = any_float_ || is_float(spec.dtype);
      if (role.rows && role.rows->terms > 1 && is_float(spec.dtype)) ++arrays_in_rows_;
      roles_.push_back(std::move(role));
    }
  }

  bool means_something(ProbeFamily family) const {
    switch (family) {
      case ProbeFamily::Powers: return any_float_;
      case ProbeFamily::Deep: return any_rows_ && any_exp2_;
      case ProbeFamily::OneHot:
      case ProbeFamily::Balanced:
      case ProbeFamily::Offset: return any_rows_;
      default: return true;
    }
  }

  std::vector<HostArray> draw(ProbeFamily family) const {
    RandomChooser chooser(seed_, static_cast<std::uint64_t>(family));
    if (const auto plain = value_family(family)) {
      std::vector<HostArray> inputs = draw_inputs(chooser, *plain, kernel_);
      if (family != ProbeFamily::Edges && family != ProbeFamily::Zeros)
        draw_places(chooser, inputs);
      return inputs;
    }
    // Integer inputs are drawn as such.
    std::vector<HostArray> inputs = draw_inputs(chooser, ValueFamily::Integers, kernel_);
    bool first = true;
    for (const Role& role : roles_) {
      if (!is_float(role.spec.dtype)) continue;
      HostArray& array = inputs[static_cast<std::size_t>(role.spec.idx) - 1];
      fill(family, role, first, chooser, array);
      first = false;
    }
    draw_places(chooser, inputs);
    return inputs;
  }

 private:
  // The family of that name.
  static std::optional<ValueFamily> value_family(ProbeFamily family) {
    for (const ValueFamily v : kValueFamilies)
      if (name(v) == name(family)) return v;
    return std::nullopt;
  }

  static void find_rows(const std::vector<Use>& uses, Role& role) {
    for (const Use& use : uses)
      for (const LazyOp* reduce : use.reduces) {
        if (!reads_along(*use.load, *reduce)) continue;
        role.under_max = role.under_max || reduce->op() == Op::ReduceMax;
        if (role.rows) continue;
        role.rows = rows_of(*use.load, *reduce, role.spec.size);
      }
  }

  // Places that exist, including the last one, and sometimes one that does not.
  void draw_places(Chooser& chooser, std::vector<HostArray>& inputs) const {
    for (const Role& role : roles_) {
      if (role.places < 2) continue;
      for (std::int64_t i = 0; i < role.spec.size; ++i) {
        const std::int64_t place =
            i % 4 == 1 ? role.places - 1 : chooser.between(0, role.places - 1);
        set(inputs[static_cast<std::size_t>(role.spec.idx) - 1], i,
            static_cast<double>(i % 7 == 6 ? role.places : place));
      }
    }
  }

  static void set(HostArray& array, std::int64_t i, double x) {
    const std::uint64_t bits = Scalar::from_double(array.dtype, x).bits();
    const std::size_t width = itemsize(array.dtype);
    for (std::size_t b = 0; b < width; ++b)
      array.bytes[static_cast<std::size_t>(i) * width + b] = static_cast<char>(bits >> (8 * b));
  }

  static double full(Chooser& chooser, double low) {  // [low, 2 low), all digits
    return low * (1 + static_cast<double>(chooser.below(1ULL << 52)) * 0x1p-52);
  }
  static double signed_full(Chooser& chooser) {
    const double x = full(chooser, 0.75);
    return chooser.chance(1, 2) ? -x : x;
  }
  static double power(Chooser& chooser, bool signs) {
    const double x = std::ldexp(1, static_cast<int>(chooser.between(-2, 2)));
    return signs && chooser.chance(1, 2) ? -x : x;
  }

  // In these families one factor of a product carries the signal and the others preserve it.
  void fill(ProbeFamily family, const Role& role, bool first, Chooser& chooser,
            HostArray& array) const {
    const bool tells = role.rows && role.rows->terms > 1 &&
                       (family != ProbeFamily::Deep || !any_max_ ? first : role.under_max);
    if (family == ProbeFamily::Powers || role.spec.size == 0 || !role.rows) {
      for (std::int64_t i = 0; i < role.spec.size; ++i)
        set(array, i, power(chooser, family == ProbeFamily::Powers));
      return;
    }
    for (std::int64_t i = 0; i < role.spec.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      set(array, i,
          tells ? telling(family, role, role.rows->row[at], role.rows->place[at], i, chooser)
                : other(family, *role.rows, at, chooser));
    }
  }

  // Factors beside the signal: if that has one element per row, the deep one is selected by it, as
  // queries select keys.
  double other(ProbeFamily family, const Rows& rows, std::size_t at, Chooser& chooser) const {
    if (family == ProbeFamily::Deep && any_max_)
      return rows.row[at] >= 0 && rows.place[at] == rows.row[at] % rows.terms ? 1 : 0;
    if (family == ProbeFamily::OneHot || family == ProbeFamily::Deep) return signed_full(chooser);
    return power(chooser, false);
  }

  double telling(ProbeFamily family, const Role& role, std::int64_t row, std::int64_t place,
                 std::int64_t element, Chooser& chooser) const {
    const std::int64_t terms = role.rows->terms;
    if (row < 0) row = element;  // unread, or read by another view
    const auto mixed = static_cast<std::int64_t>(
        (static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15U + seed_) >> 33);
    if (family == ProbeFamily::OneHot || family == ProbeFamily::Deep) {
      const std::int64_t one = row % 4 == 0 ? terms - 1 : mixed % terms;
      const std::int64_t two = row % 3 == 0 ? one : (one + 1 + mixed / terms % (terms - 1)) % terms;
      const bool hot = place == one || place == two;
      if (family == ProbeFamily::OneHot) return hot ? signed_full(chooser) : 0.0;
      return hot ? -full(chooser, std::ldexp(1, static_cast<int>(chooser.between(-3, 1))))
                 : depth(role, row);
    }
    // As many above the centre as below; of an odd count one at the centre.
    const double up = (place + row) % 2 == 0 ? 1 : -1;
    const double sign = terms % 2 == 1 && place == terms - 1 ? 0 : up;
    const int digits = info(role.spec.dtype).digits;
    const double centre = family == ProbeFamily::Balanced
                              ? static_cast<double>(mixed % 7 - 3)
                              : std::ldexp(1, digits / 2) + static_cast<double>(mixed % 3);
    const double off =
        family == ProbeFamily::Balanced ? std::ldexp(1, static_cast<int>(mixed / 7 % 5) - 2) : 1;
    return centre + sign * off;
  }

  // Makes 2^x vanish: exactly for an infinity, in every other row if nothing multiplies the array;
  // otherwise within a device's tolerance.
  double depth(const Role& role, std::int64_t row) const {
    if (row % 2 == 0 && arrays_in_rows_ == 1) return -std::numeric_limits<double>::infinity();
    return -std::min(10'000.0, std::ldexp(1, info(role.spec.dtype).max_exponent));
  }

  LazyOpPtr kernel_;
  std::uint64_t seed_;
  std::vector<Role> roles_;
  bool any_max_ = false, any_rows_ = false, any_float_ = false, any_exp2_ = false;
  int arrays_in_rows_ = 0;
};

}  // namespace

std::string_view name(ProbeFamily family) {
  constexpr std::string_view kNames[] = {"integers", "powers", "one-hot", "deep",  "balanced",
                                         "offset",   "full",   "edges",   "zeros", "random"};
  return kNames[static_cast<std::size_t>(family)];
}

std::string_view shows(ProbeFamily family) {
  constexpr std::string_view kShows[] = {
      "terms left out, doubled or of another row: small integers, so that sums are exact",
      "wrong factors and exponents: powers of two, so that products are exact",
      "errors of the terms of a sum: rows that are zero except for one or two elements",
      "errors of 2^x, and of its divisor: rows in which all but one or two vanish",
      "errors behind a mean or a variance: rows c + d, c - d, whose means are exact",
      "means and variances that cancel: such rows, far from zero",
      "operands cut to fewer digits, accumulators that are too narrow: full significands",
      "NaN, infinities, overflow, ties: operands on which implementations differ",
      "initial values of an accumulator: zeros of both signs",
      "the rest: floats over a few binades"};
  return kShows[static_cast<std::size_t>(family)];
}

std::vector<Probe> draw_probes(const LazyOpPtr& kernel, std::uint64_t seed) {
  const ProbeDrawer drawer(kernel, seed);
  std::vector<Probe> probes;
  for (int i = 0; i <= static_cast<int>(ProbeFamily::Random); ++i) {
    Interrupt::poll();
    const auto family = static_cast<ProbeFamily>(i);
    if (drawer.means_something(family)) probes.push_back({family, drawer.draw(family)});
  }
  return probes;
}

}  // namespace touchstone::fuzz
