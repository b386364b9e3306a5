#include "touchstone/fuzz/draw/draw_kernel.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "touchstone/base/checked.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

Shape to_shape(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

class KernelDraw {
 public:
  KernelDraw(Chooser& chooser, Checks checks) : chooser_(chooser), checks_(checks) {}

  KernelCase draw() {
    Sizes shape = draw_shape();
    draw_dtypes();
    draw_symbols(shape);
    std::vector<LazyOpPtr> pool = draw_dag(shape, {});
    // Sums of sums and normalisations: nested and sibling reduces.
    for (std::uint64_t level = 0; level < 2 && chooser_.chance(1, 2 + level); ++level) {
      const std::vector<int> axes = draw_axes(shape);
      const Sizes before = shape;
      std::vector<LazyOpPtr> reduced{draw_reduce(pool.back(), axes)};
      if (chooser_.chance(1, 5)) {
        if (chooser_.chance(1, 2)) pool = draw_dag(before, std::move(pool));
        reduced.push_back(draw_reduce(pool.back(), axes));
        reduced.push_back(joined(reduced[0], reduced[1]));
      }
      for (const int axis : axes) {
        shape[static_cast<std::size_t>(axis)] = 1;
        std::erase_if(symbols_, [&](const Symbol& s) { return s.axis == axis; });
      }
      pool = std::move(reduced);
      if (chooser_.chance(1, 2)) pool = draw_dag(shape, std::move(pool));
    }
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(whole(shape)), pool.back()), {}};
    for (const symbolic::Node& v : variables_of(c.kernel))
      c.values[symbolic::variable_name(v)] = values_.at(symbolic::variable_name(v));
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.concrete());
    return c;
  }

 private:
  // A variable that is an axis size (at its largest where sizes are numbers), or that masks the
  // elements from it on, or those before it.
  struct Symbol {
    int axis = 0;
    sint n;
    bool masks = false;
    std::size_t place() const { return static_cast<std::size_t>(axis); }
  };

  Sizes draw_shape() {
    constexpr std::int64_t kSizes[] = {2, 1, 3, 4, 5, 7, 2, 3, 4, 6, 8, 0};
    Sizes shape(chooser_.below(5));
    for (std::int64_t& size : shape) size = kSizes[chooser_.below(12)];
    // Sometimes a last axis as long as runs that are computed at once.
    if (!shape.empty() && chooser_.chance(1, 16)) shape.back() = chooser_.between(15, 33);
    // Sometimes more elements than an interpreter or compiler handles in one chunk.
    if (chooser_.chance(1, 64)) {
      shape = {chooser_.between(2, 70), chooser_.between(60, 140)};
      if (chooser_.chance(1, 3)) shape = {chooser_.between(1, 4), chooser_.between(250, 600)};
    }
    return shape;
  }

  // Up to four, each of its own axis, in any order.
  void draw_symbols(const Sizes& shape) {
    if (shape.empty() || !chooser_.chance(shape.size() > 2 ? 2 : 1, 8)) return;
    std::vector<std::string> names{"n", "m", "k", "j"};
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    const auto take = [&](auto& from) {
      const auto at = from.begin() + chooser_.index(from.size());
      auto taken = std::move(*at);
      from.erase(at);
      return taken;
    };
    const std::uint64_t count = chooser_.chance(1, 2) ? 2 + chooser_.below(3) : 1;
    for (std::uint64_t i = count; i > 0; --i) {
      if (axes.empty()) return;
      Symbol s{take(axes), 1, false};
      const std::int64_t size = shape[s.place()];
      if (size == 0) continue;
      s.masks = chooser_.chance(size == 1 ? 2 : 1, 4);
      const std::int64_t least = s.masks || chooser_.chance(1, 4) ? 0 : chooser_.between(1, size);
      const std::string name = count == 1 ? names[0] : take(names);
      s.n = symbolic::variable(name, least, size);
      values_[name] = chooser_.chance(1, 8) ? least : chooser_.between(least, size);
      symbols_.push_back(std::move(s));
    }
  }

  Shape whole(const Sizes& sizes) const {
    Shape shape = to_shape(sizes);
    for (const Symbol& s : symbols_)
      if (!s.masks) shape[s.place()] = s.n;
    return shape;
  }

  ShapeTracker view(const Sizes& sizes) {
    ShapeTracker st = sized_view(sizes);
    for (const Symbol& s : symbols_)
      if (s.masks && chooser_.chance(1, 2)) st = masked(st, s, sizes[s.place()]);
    return st;
  }

  // Masks the elements from the variable on, or those before it.
  ShapeTracker masked(const ShapeTracker& st, const Symbol& s, std::int64_t size) {
    Mask keep;
    for (const sint& n : st.shape()) keep.emplace_back(0, n);
    Padding padding(keep.size(), {sint(0), sint(0)});
    if (chooser_.chance(1, 2)) {
      keep[s.place()] = {sint(0), s.n};
      padding[s.place()].second = sint(size) - s.n;
    } else {
      keep[s.place()] = {s.n, sint(size)};
      padding[s.place()].first = s.n;
    }
    return st.shrink(keep).pad(padding);
  }

  // A view with variable sizes: of a buffer of that size, a part of a larger one, or one broadcast
  // element.
  ShapeTracker sized_view(const Sizes& sizes) {
    std::vector<const Symbol*> sized;
    for (const Symbol& s : symbols_)
      if (!s.masks) sized.push_back(&s);
    if (sized.empty()) return draw_view(chooser_, sizes);
    const Shape wanted = whole(sizes);
    const std::uint64_t way = chooser_.below(4);
    if (way == 0) return ShapeTracker::contiguous(wanted);
    if (way == 1) {
      std::vector<int> order(sizes.size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[sized[0]->place()], order[chooser_.below(order.size())]);
      Shape before = wanted;
      for (std::size_t i = 0; i < order.size(); ++i)
        before[static_cast<std::size_t>(order[i])] = wanted[i];
      return ShapeTracker::contiguous(before).permute(order);
    }
    Sizes stored = sizes;
    std::vector<std::int64_t> from(sizes.size(), 0);
    for (const Symbol* s : sized) {
      if (chooser_.chance(1, 2)) {
        stored[s->place()] = 1;
      } else {
        from[s->place()] = chooser_.between(0, 2);
        stored[s->place()] += from[s->place()];
      }
    }
    Mask keep;
    for (const std::int64_t size : stored) keep.emplace_back(0, size);
    for (const Symbol* s : sized) {
      const std::size_t i = s->place();
      if (stored[i] != 1 || from[i] != 0) keep[i] = {from[i], s->n + from[i]};
    }
    return draw_view(chooser_, stored).shrink(keep).expand(wanted);
  }

  // Few types per case, so that nodes find partners.
  void draw_dtypes() {
    const std::uint64_t count = 1 + chooser_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      constexpr DType kSimplestFirst[] = {
          DType::Float32, DType::Int32,  DType::Bool,    DType::Float16,    DType::Int8,
          DType::UInt8,   DType::Int64,  DType::Float64, DType::BFloat16,   DType::UInt32,
          DType::Int16,   DType::UInt64, DType::UInt16,  DType::Float8E4M3, DType::Float8E5M2};
      dtypes_.push_back(kSimplestFirst[chooser_.below(kDTypeCount)]);
    }
  }

  LazyOpPtr leaf(const Sizes& shape, DType dtype) {
    const ShapeTracker st = view(shape);
    if (chooser_.chance(1, 5)) return LazyOp::constant(chooser_.pick(edge_values(dtype)), st);
    // Sometimes another view of an existing buffer.
    std::vector<int> known;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (buffers_[i] == dtype) known.push_back(static_cast<int>(i) + 1);
    if (!known.empty() && chooser_.chance(1, 3))
      return LazyOp::load(chooser_.pick(known), dtype, st);
    buffers_.push_back(dtype);
    return LazyOp::load(static_cast<int>(buffers_.size()), dtype, st);
  }

  // A node of the pool with this type, preferring later ones, or a new leaf.
  LazyOpPtr operand(std::vector<LazyOpPtr>& pool, const Sizes& shape, DType dtype) {
    std::vector<const LazyOpPtr*> fitting;
    for (auto node = pool.rbegin(); node != pool.rend(); ++node)
      if ((*node)->dtype() == dtype) fitting.push_back(&*node);
    if (fitting.empty() || chooser_.chance(1, 3)) {
      pool.push_back(leaf(shape, dtype));
      return pool.back();
    }
    return chooser_.chance(1, 4) ? *chooser_.pick(fitting) : *fitting[0];
  }

  LazyOpPtr cast(const LazyOpPtr& x) {
    const DType to = chooser_.pick(dtypes_);
    const bool bits = itemsize(to) == itemsize(x->dtype()) && !is_bool(to) && chooser_.chance(1, 3);
    return LazyOp::cast(x, to, bits);
  }

  // The elementwise ones, ADD first.
  static const std::vector<Op>& ops_of(DType dtype) {
    static const auto table = [] {
      std::array<std::vector<Op>, kDTypeCount> all;
      for (const DTypeInfo& type : dtype_table) {
        std::vector<Op>& ops = all[static_cast<std::size_t>(type.dtype)];
        ops.push_back(Op::Add);
        for (const OpInfo& row : op_table)
          if (is_elementwise(row.op) && row.op != Op::Add && takes(row.op, type.dtype))
            ops.push_back(row.op);
      }
      return all;
    }();
    return table[static_cast<std::size_t>(dtype)];
  }

  // The shape with axes of one element from the last axis on, so that what has it repeats along
  // them.
  Sizes without_last(Sizes shape) {
    for (std::size_t left = 1 + chooser_.below(shape.size()), i = shape.size(); left > 0; --left)
      shape[--i] = 1;
    return shape;
  }

  // A buffer gathered at positions inside its first axis, at its ends and outside.
  LazyOpPtr gather(std::vector<LazyOpPtr>& pool, const Sizes& shape) {
    const bool repeats = symbols_.empty() && product(shape) > 1 && chooser_.chance(1, 2);
    const Sizes part = repeats ? without_last(shape) : shape;
    if (repeats) buffers_.push_back(DType::Int64);
    LazyOpPtr at = repeats ? LazyOp::load(static_cast<int>(buffers_.size()), DType::Int64,
                                          view(part).expand(to_shape(shape)))
                           : operand(pool, shape, DType::Int64);
    const std::int64_t rows = chooser_.between(0, 6);
    const ShapeTracker all = ShapeTracker().reshape(Shape(shape.size(), 1)).expand(at->shape());
    if (rows > 0 && chooser_.chance(1, 2))
      at = LazyOp::binary(Op::Mod, at,
                          LazyOp::constant(Scalar::of(rows + chooser_.between(0, 1)), all));
    Sizes sizes = part;
    sizes.insert(sizes.begin(), rows);
    Shape table = at->shape();
    table.insert(table.begin(), rows);
    const ShapeTracker st = repeats                    ? draw_view(chooser_, sizes).expand(table)
                            : table == to_shape(sizes) ? draw_view(chooser_, sizes)
                                                       : ShapeTracker::contiguous(table);
    buffers_.push_back(chooser_.pick(dtypes_));
    std::optional<ShapeTracker> checked;
    if (checks_ == Checks::Drawn && chooser_.chance(1, 3))
      checked = at->shape() == to_shape(shape) && chooser_.chance(1, 2)
                    ? draw_view(chooser_, shape)
                    : ShapeTracker::contiguous(at->shape());
    pool.push_back(LazyOp::gather(static_cast<int>(buffers_.size()), buffers_.back(), st, at,
                                  std::move(checked)));
    return pool.back();
  }

  LazyOpPtr grow(std::vector<LazyOpPtr>& pool, const Sizes& shape) {
    if (chooser_.chance(1, 10)) return gather(pool, shape);
    const LazyOpPtr a = chooser_.chance(1, 4) ? chooser_.pick(pool) : pool.back();
    const Op op = chooser_.pick(ops_of(a->dtype()));
    if (op == Op::Cast) return cast(a);
    if (op == Op::Where) {
      const LazyOpPtr b = operand(pool, shape, a->dtype());
      const LazyOpPtr condition = operand(pool, shape, DType::Bool);
      return LazyOp::ternary(op, condition, a, b);
    }
    if (info(op).arity == 1) return LazyOp::unary(op, a);
    if (info(op).arity == 2 && chooser_.chance(1, 6)) {  // operands that folding may remove
      const Scalar neutral = chooser_.pick(neutral_values(a->dtype()));
      const LazyOpPtr k = LazyOp::constant(neutral, view(shape));
      return chooser_.chance(1, 2) ? LazyOp::binary(op, k, a) : LazyOp::binary(op, a, k);
    }
    const LazyOpPtr b = operand(pool, shape, a->dtype());
    if (info(op).arity == 2)
      return chooser_.chance(1, 2) ? LazyOp::binary(op, b, a) : LazyOp::binary(op, a, b);
    return LazyOp::ternary(op, a, b, operand(pool, shape, a->dtype()));
  }

  // A graph grown from a pool of nodes of this shape; the last is the result.
  std::vector<LazyOpPtr> draw_dag(const Sizes& shape, std::vector<LazyOpPtr> pool) {
    if (pool.empty()) pool.push_back(leaf(shape, dtypes_[0]));
    for (std::uint64_t steps = chooser_.below(7); steps > 0; --steps)
      pool.push_back(grow(pool, shape));
    return pool;
  }

  std::vector<int> draw_axes(const Sizes& shape) {
    std::vector<int> axes;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (chooser_.chance(1, 2)) axes.push_back(static_cast<int>(i));
    return axes;
  }

  LazyOpPtr draw_reduce(const LazyOpPtr& x, const std::vector<int>& axes) {
    return LazyOp::reduce(chooser_.chance(1, 3) ? Op::ReduceMax : Op::ReduceSum, x, axes);
  }

  LazyOpPtr joined(const LazyOpPtr& a, const LazyOpPtr& b) {
    constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Max};
    return LazyOp::binary(kOps[chooser_.below(3)], a, LazyOp::cast(b, a->dtype()));
  }

  Chooser& chooser_;
  Checks checks_;
  std::vector<DType> dtypes_;
  std::vector<DType> buffers_;   // type of buffer i + 1
  std::vector<Symbol> symbols_;  // of axes not yet reduced
  symbolic::Values values_;
};

/// An operation over one type; for CAST with the result type.
struct Operation {
  Op op;
  DType of, to;
  bool bits = false;
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made;
    for (const OpInfo& row : op_table)
      for (const DTypeInfo& of : dtype_table) {
        if (!is_elementwise(row.op) || row.op == Op::Noop || !takes(row.op, of.dtype)) continue;
        if (row.op != Op::Cast) made.push_back({row.op, of.dtype, of.dtype});
        for (const DTypeInfo& to : dtype_table) {
          if (row.op != Op::Cast) continue;
          made.push_back({row.op, of.dtype, to.dtype});
          if (to.itemsize == of.itemsize && !is_bool(to.dtype))
            made.push_back({row.op, of.dtype, to.dtype, true});
        }
      }
    return made;
  }();
  return all;
}

/// One operation, or two stacked, of any type, over one element per edge operand: in larger kernels
/// few pairs of operation and type meet edge values.
class OperationDraw {
 public:
  explicit OperationDraw(Chooser& chooser)
      : chooser_(chooser), st_(ShapeTracker::contiguous({chooser.between(1, 40)})) {}

  KernelCase draw() {
    LazyOpPtr value = apply(chooser_.pick(operations()), nullptr);
    if (chooser_.chance(1, 3)) {
      std::vector<Operation> fitting;
      for (const Operation& o : operations())
        if (o.of == value->dtype()) fitting.push_back(o);
      value = apply(chooser_.pick(fitting), value);
    }
    KernelCase c{LazyOp::store(st_, value), {}};
    const ValueFamily family = chooser_.chance(1, 2) ? ValueFamily::Edges : draw_family(chooser_);
    c.inputs = draw_inputs(chooser_, family, c.kernel);
    return c;
  }

 private:
  LazyOpPtr leaf(DType dtype) {
    if (chooser_.chance(1, 5)) return LazyOp::constant(chooser_.pick(edge_values(dtype)), st_);
    return LazyOp::load(++buffers_, dtype, st_);
  }

  // `below`, if any, is one of the operands, never the condition of a WHERE.
  LazyOpPtr apply(const Operation& o, const LazyOpPtr& below) {
    const bool chooses = o.op == Op::Where;
    const LazyOpPtr condition = chooses ? leaf(DType::Bool) : nullptr;
    std::vector<LazyOpPtr> src;
    for (int i = chooses ? 1 : 0; i < info(o.op).arity; ++i) src.push_back(leaf(o.of));
    if (below) src[chooser_.below(src.size())] = below;
    if (o.op == Op::Cast) return LazyOp::cast(src[0], o.to, o.bits);
    if (chooses) return LazyOp::ternary(o.op, condition, src[0], src[1]);
    return src.size() == 1   ? LazyOp::unary(o.op, src[0])
           : src.size() == 2 ? LazyOp::binary(o.op, src[0], src[1])
                             : LazyOp::ternary(o.op, src[0], src[1], src[2]);
  }

  Chooser& chooser_;
  ShapeTracker st_;
  int buffers_ = 0;
};

}  // namespace

KernelCase draw_kernel_case(Chooser& chooser, Checks checks) {
  if (chooser.chance(1, 6)) return OperationDraw(chooser).draw();
  if (chooser.chance(1, 7)) return draw_loops(chooser);
  if (!chooser.chance(1, 64)) return KernelDraw(chooser, checks).draw();
  KernelCase c{chooser.pick(network_kernels()), {}};
  c.inputs = draw_inputs(chooser, draw_family(chooser), c.concrete());
  return c;
}

}  // namespace touchstone::fuzz
