#include "touchstone/fuzz/judge/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include "touchstone/base/error.h"
#include "touchstone/ops/node_map.h"

namespace touchstone::fuzz {

std::int64_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

namespace {

constexpr std::int64_t kMostSmall = 7;

// Cached for good: every other kernel needs them.
const std::vector<Operands>& known_edges(Op op, DType of, DType to) {
  thread_local std::unordered_map<int, std::vector<Operands>> known;
  const int key = (static_cast<int>(op) * kDTypeCount + static_cast<int>(of)) * kDTypeCount +
                  static_cast<int>(to);
  const auto [it, fresh] = known.try_emplace(key);
  if (fresh) it->second = edge_operands(op, of, to);
  return it->second;
}

// Kernel properties that determine the draws.
struct Needs {
  Op reduce = Op::Noop;    // its first reduce, if any
  std::int64_t terms = 1;  // of the longest
  int digits = 53;         // of the narrowest float in it
  bool sums_products = false;
  struct Operation {
    Op op;
    DType of, to;  // of the last operand; of the result
  };
  std::vector<Operation> elementwise;
};

void record(const LazyOp& node, Needs& needs) {
  if (is_float(node.dtype())) needs.digits = std::min(needs.digits, info(node.dtype()).digits);
  if (is_reduce(node.op())) {
    std::int64_t terms = 1;
    for (const int axis : node.reduce_arg().axes)
      terms *= std::max<std::int64_t>(
          node.src()[0]->shape()[static_cast<std::size_t>(axis)].as_int(), 1);
    needs.terms = std::max(needs.terms, terms);
    if (needs.reduce == Op::Noop || node.op() == Op::ReduceSum) needs.reduce = node.op();
    if (node.op() == Op::ReduceSum && node.src()[0]->op() == Op::Mul) needs.sums_products = true;
  } else if ((is_elementwise(node.op()) || node.op() == Op::Function) && !node.src().empty()) {
    needs.elementwise.push_back({node.op(), node.src().back()->dtype(), node.dtype()});
  }
}

Needs needs_of(const LazyOpPtr& kernel) {
  Needs needs;
  NodeMap<bool> seen;
  std::vector<const LazyOp*> open{kernel.get()};
  while (!open.empty()) {
    const LazyOp* node = open.back();
    open.pop_back();
    if (!seen.emplace(node, true).second) continue;
    record(*node, needs);
    for (const LazyOpPtr& s : node->src()) open.push_back(s.get());
  }
  return needs;
}

// The largest integers with exact sums; where signs cancel, below 2^digits.
std::int64_t integer_bound(const Needs& needs) {
  const auto terms = static_cast<double>(needs.terms);
  for (std::int64_t bound = kMostSmall; bound > 1; --bound) {
    const auto term = static_cast<double>(needs.sums_products ? bound * bound : bound);
    if (2 * term * std::sqrt(terms) < std::ldexp(1, needs.digits) && term * terms < 0x1p24)
      return bound;
  }
  return 1;
}

// Sets the elements of one array in sequence.
class Filler {
 public:
  Filler(DType dtype, std::int64_t size) : array_{dtype, {size}, {}}, width_(itemsize(dtype)) {
    array_.bytes.resize(static_cast<std::size_t>(size) * width_);
  }
  void set(std::int64_t i, const Scalar& x) {
    char* const to = array_.bytes.data() + static_cast<std::size_t>(i) * width_;
    const std::uint64_t bits = x.bits();
    switch (width_) {  // a copy of constant size is one store
      case 1: std::memcpy(to, &bits, 1); return;
      case 2: std::memcpy(to, &bits, 2); return;
      case 4: std::memcpy(to, &bits, 4); return;
      default: std::memcpy(to, &bits, 8);
    }
  }
  DType dtype() const { return array_.dtype; }
  std::int64_t size() const { return array_.shape[0]; }
  HostArray take() { return std::move(array_); }

 private:
  HostArray array_;
  std::size_t width_;
};

class Drawer {
 public:
  Drawer(Chooser& chooser, ValueFamily family, Needs needs, int draw)
      : chooser_(chooser),
        family_(family),
        needs_(std::move(needs)),
        draw_(draw),
        bound_(integer_bound(needs_)) {
    // In a plain reduce, perhaps of products, rows matter most.
    const std::size_t others = needs_.elementwise.size() - (needs_.sums_products ? 1 : 0);
    edges_in_rows_ = is_reduce(needs_.reduce) &&
                     (others == 0 || (family == ValueFamily::Edges && chooser_.chance(1, 2)));
  }

  /// `place` is the kernel's input number, from 0.
  void fill(Filler& out, int place) {
    switch (family_) {
      case ValueFamily::Integers: return fill_integers(out, place);
      case ValueFamily::Full: return fill_full(out, place);
      case ValueFamily::Edges:
        return edges_in_rows_ ? fill_edge_rows(out, place) : fill_edges(out, place);
      case ValueFamily::Zeros:
        for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, zero(out.dtype()));
        return;
      case ValueFamily::Random:
        for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random(out.dtype()));
        return;
      case ValueFamily::Neutral: return fill_neutral(out);
    }
  }

 private:
  // 0, 1, -1, 2, -2 ...
  Scalar small(DType d) {
    if (is_bool(d)) return Scalar::of(chooser_.below(2) == 1);
    const bool one_sided = info(d).kind == DTypeKind::Unsigned;
    std::int64_t x = chooser_.between(0, 2 * bound_);
    if (x == 0 && chooser_.chance(3, 4)) x = chooser_.between(1, 2);  // zeros hide much
    return integer(d, one_sided ? x : x % 2 == 0 ? -x / 2 : (x + 1) / 2);
  }
  // Of [-kMostSmall, 2 * kMostSmall], converted once per type.
  static const Scalar& integer(DType d, std::int64_t x) {
    constexpr std::size_t kCount = 3 * kMostSmall + 1;
    static const auto table = [] {
      std::array<std::array<Scalar, kCount>, kDTypeCount> all;
      for (int type = 0; type < kDTypeCount; ++type)
        for (std::size_t i = 0; i < kCount; ++i)
          all[static_cast<std::size_t>(type)][i] =
              Scalar::from_int(static_cast<DType>(type), static_cast<std::int64_t>(i) - kMostSmall);
      return all;
    }();
    return table[static_cast<std::size_t>(d)][static_cast<std::size_t>(x + kMostSmall)];
  }
  Scalar zero(DType d) {
    return Scalar::from_double(d, is_float(d) && chooser_.below(2) == 1 ? -0.0 : 0.0);
  }
  Scalar random(DType d) {
    if (is_bool(d)) return Scalar::of(chooser_.below(2) == 1);
    if (!is_float(d))
      return Scalar::from_int(d, static_cast<std::int64_t>(chooser_.below(UINT64_MAX)));
    const double fraction = 1 + static_cast<double>(chooser_.below(1ULL << 52)) * 0x1p-52;
    const double magnitude = std::ldexp(fraction, static_cast<int>(chooser_.between(-6, 5)));
    return Scalar::from_double(d, chooser_.below(2) == 0 ? magnitude : -magnitude);
  }

  // One such value everywhere, or a mix with small integers.
  void fill_neutral(Filler& out) {
    const std::vector<Scalar>& neutral = neutral_values(out.dtype());
    if (chooser_.chance(1, 4)) {
      const Scalar x = chooser_.pick(neutral);
      for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, x);
      return;
    }
    for (std::int64_t i = 0; i < out.size(); ++i)
      out.set(i, chooser_.chance(3, 4) ? chooser_.pick(neutral) : small(out.dtype()));
  }

  void fill_integers(Filler& out, int place) {
    const bool picks =
        needs_.reduce == Op::ReduceMax || (is_reduce(needs_.reduce) && is_bool(out.dtype()));
    if (picks && needs_.terms > 1) return fill_winners(out);
    for (std::int64_t i = 0; i < out.size(); ++i)
      out.set(i, marked(i, out) ? mark(place, out.dtype()) : small(out.dtype()));
  }

  // The first, middle and last element of an elementwise kernel get operands with mostly nonzero
  // results, so that an unwritten one shows.
  bool marked(std::int64_t i, const Filler& out) const {
    return !is_reduce(needs_.reduce) && (i == 0 || i == out.size() / 2 || i == out.size() - 1);
  }
  static Scalar mark(int place, DType d) {
    return is_bool(d) ? Scalar::of(place == 0) : Scalar::from_int(d, 1 + place);
  }

  // For a reduce that picks a term, runs in which one term decides: the last, the first (all below
  // 0 if the type allows), the first again and larger, any. For bools: only the last true, only the
  // first, none, two.
  void fill_winners(Filler& out) {
    const DType d = out.dtype();
    const bool below_zero = is_float(d) || info(d).kind == DTypeKind::Signed;
    for (std::int64_t first = 0; first < out.size(); first += needs_.terms) {
      const std::int64_t last = std::min(first + needs_.terms, out.size()) - 1;
      const std::int64_t turn = (first / needs_.terms + draw_) % 4;
      const std::int64_t winner = turn == 0   ? last
                                  : turn == 3 ? chooser_.between(first, last)
                                              : first;
      const bool below = turn == 1 && below_zero;
      for (std::int64_t i = first; i <= last; ++i) {
        if (is_bool(d))
          out.set(i, Scalar::of(turn != 2 && (i == winner || (turn == 3 && i == first))));
        else if (i == winner)
          out.set(i, Scalar::from_int(d, below ? -1 : 2 * bound_ + (turn == 2 ? 3 : 1)));
        else
          out.set(i, below ? Scalar::from_int(d, -chooser_.between(2, 2 * bound_ + 2)) : small(d));
      }
    }
  }

  // Every other run of terms is dense, which shows accumulators of too few digits.
  void fill_full(Filler& out, int place) {
    const DType d = out.dtype();
    const bool sparse = needs_.reduce == Op::ReduceSum && needs_.terms > 2 && place == 0;
    for (std::int64_t first = 0; first < out.size(); first += needs_.terms) {
      const std::int64_t last = std::min(first + needs_.terms, out.size()) - 1;
      if (!sparse || first / needs_.terms % 2 == 1) {
        for (std::int64_t i = first; i <= last; ++i)
          out.set(i, is_bool(d) && marked(i, out) ? mark(place, d) : dense(d, place));
        if (sums_floats(d) && last - first > 2) {
          out.set(first, place == 0 ? Scalar::from_double(d, kBig) : Scalar::from_int(d, 1));
          out.set(last, place == 0 ? Scalar::from_double(d, -kBig) : Scalar::from_int(d, 1));
        }
        continue;
      }
      for (std::int64_t i = first; i <= last; ++i) out.set(i, Scalar::from_int(d, 0));
      const std::int64_t one = chooser_.between(first, last), two = chooser_.between(first, last);
      Scalar a = random(d), b = random(d);
      for (int tries = 0; tries < 8 && !rounds_away(d, a, b); ++tries) b = random(d);
      out.set(one, a);
      if (two != one) out.set(two, b);
    }
  }

  bool sums_floats(DType d) const { return needs_.reduce == Op::ReduceSum && is_float(d); }

  // Terms of a sum are multiples of one power of two, together below 1 and short enough to be exact
  // beside kBig, which is added first and subtracted last: one answer is legal, and a narrower
  // accumulator loses part of it.
  static constexpr double kBig = 16;
  Scalar dense(DType d, int place) {
    if (!sums_floats(d)) return random(d);
    const auto carries =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(needs_.terms - 1)));
    const int room = info(sum_accumulator(d)).digits - carries - 6;
    const int bits = std::max(1, std::min(room, info(d).digits) / (needs_.sums_products ? 2 : 1));
    const std::uint64_t half = std::uint64_t{1} << (bits - 1);
    const int scale = place == 0 ? carries : 0;
    const double x = std::ldexp(static_cast<double>(half + chooser_.below(half)), -bits - scale);
    return Scalar::from_double(d, chooser_.chance(1, 4) ? -x : x);
  }

  // Whether the sum of two floats rounds away from zero, so that truncation shows.
  static bool rounds_away(DType d, const Scalar& a, const Scalar& b) {
    if (!is_float(d)) return true;
    const double x = a.to_double(), y = b.to_double(), sum = x + y;
    const double back = sum - x;
    const double rest = (x - (sum - back)) + (y - back);  // double's error (Knuth's TwoSum)
    const double lost = (Scalar::from_double(d, sum).to_double() - sum) - rest;
    return lost != 0 && (lost > 0) == (sum > 0);
  }

  // Edge operands in rotation and scattered, mixed with small integers once all have occurred.
  void fill_edges(Filler& out, int place) {
    std::vector<const Operands*> telling;
    for (const auto& [op, of, to] : needs_.elementwise)
      for (const Operands& operands : known_edges(op, of, to)) telling.push_back(&operands);
    const std::int64_t before = draw_ * out.size();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const std::int64_t turn = before + i;
      const auto known = static_cast<std::int64_t>(telling.size());
      if (turn < known || (known > 0 && turn % 4 == 0)) {
        const Operands& operands = *telling[static_cast<std::size_t>(
            turn < known ? turn : static_cast<std::int64_t>(hash_turn(turn) % telling.size()))];
        const Scalar& x = operands[static_cast<std::size_t>(place) % operands.size()];
        if (x.dtype() == out.dtype()) {
          out.set(i, x);
          continue;
        }
      }
      out.set(i,
              chooser_.chance(1, 2) ? chooser_.pick(edge_values(out.dtype())) : small(out.dtype()));
    }
  }
  // Equal for every input, so that operands stay together.
  static std::uint64_t hash_turn(std::int64_t turn) {
    return static_cast<std::uint64_t>(turn) * 0x9e3779b97f4a7c15U >> 32;
  }

  // Runs of terms with one rare value; the other inputs are 1, 2 and 3, which hide nothing.
  void fill_edge_rows(Filler& out, int place) {
    const std::vector<EdgeRow> rows = edge_rows(needs_.reduce, out.dtype());
    for (std::int64_t first = 0; first < out.size(); first += needs_.terms) {
      const std::int64_t last = std::min(first + needs_.terms, out.size()) - 1;
      const std::int64_t runs = (out.size() + needs_.terms - 1) / needs_.terms;
      const auto turn = static_cast<std::size_t>(first / needs_.terms + draw_ * runs);
      const EdgeRow& row = rows[turn % rows.size()];
      const std::int64_t rare = turn % 3 == 0   ? first
                                : turn % 3 == 1 ? last
                                                : chooser_.between(first, last);
      for (std::int64_t i = first; i <= last; ++i)
        out.set(i, place > 0   ? Scalar::from_int(out.dtype(), chooser_.between(1, 3))
                   : i == rare ? row.rare
                               : row.usual);
    }
  }

  Chooser& chooser_;
  ValueFamily family_;
  Needs needs_;
  std::int64_t draw_;
  std::int64_t bound_;
  bool edges_in_rows_ = false;
};

// Moves integers that form the positions of a checked GATHER inside its table.
void put_inside(std::vector<HostArray>& inputs, const LazyOpPtr& kernel) {
  std::map<int, std::int64_t> rows;  // by buffer, the smallest
  for (const LazyOpPtr& node : toposort(kernel)) {
    if (node->op() != Op::Gather || !node->buffer().checked) continue;
    const std::int64_t size = node->buffer().st.shape()[0].as_int();
    for (const LazyOpPtr& below : toposort(node->src()[0]))
      if (below->op() == Op::Load && is_integer(below->dtype()) && size > 0) {
        const auto [least, fresh] = rows.emplace(below->buffer().idx, size);
        if (!fresh) least->second = std::min(least->second, size);
      }
  }
  for (const auto& [buffer, size] : rows) {
    HostArray& input = inputs[static_cast<std::size_t>(buffer) - 1];
    const std::size_t width = itemsize(input.dtype);
    for (std::size_t i = 0; i < input.bytes.size(); i += width) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, input.bytes.data() + i, width);
      const std::uint64_t inside =
          Scalar::from_int(input.dtype,
                           static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(
                                                                std::min<std::int64_t>(size, 127))))
              .bits();
      std::memcpy(input.bytes.data() + i, &inside, width);
    }
  }
}

}  // namespace

ValueFamily draw_family(Chooser& chooser) {
  const std::uint64_t which = chooser.below(std::size(kValueFamilies) + 1);
  return which < std::size(kValueFamilies) ? kValueFamilies[which] : ValueFamily::Neutral;
}

std::string_view name(ValueFamily family) {
  constexpr std::string_view kNames[] = {"integers", "full", "edges", "zeros", "random", "neutral"};
  return kNames[static_cast<std::size_t>(family)];
}

HostArray draw_values(Chooser& chooser, ValueFamily family, DType dtype, std::int64_t size) {
  Filler out(dtype, size);
  Drawer(chooser, family, {}, 0).fill(out, 0);
  return out.take();
}

std::vector<HostArray> draw_inputs(Chooser& chooser, ValueFamily family, const LazyOpPtr& kernel,
                                   int draw) {
  Drawer drawer(chooser, family, needs_of(kernel), draw);
  std::vector<HostArray> inputs;
  for (const BufferSpec& spec : buffers_of(kernel)) {
    if (spec.idx == 0) continue;
    while (static_cast<int>(inputs.size()) + 1 < spec.idx) inputs.push_back({DType::Bool, {0}, {}});
    Filler out(spec.dtype, spec.size);
    drawer.fill(out, static_cast<int>(inputs.size()));
    inputs.push_back(out.take());
  }
  put_inside(inputs, kernel);
  return inputs;
}

}  // namespace touchstone::fuzz
