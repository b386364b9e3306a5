#include "touchstone/interp/device/program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "touchstone/interp/device/contraction.h"
#include "touchstone/ops/node_map.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"

namespace touchstone::interp {
namespace {

using Order = std::vector<int>;  // axes of a space, each at most once

std::int64_t concrete_size(const Shape& shape) {
  if (std::ranges::any_of(shape, [](const sint& s) { return s.as_int() == 0; })) return 0;
  std::int64_t size = 1;
  for (const sint& s : shape) size = checked_mul(size, s.as_int());
  return size;
}

class Builder {
 public:
  Builder(const LazyOpPtr& kernel, Repeats repeats) : kernel_(kernel), repeats_(repeats) {}

  // The region of `root` with axes permuted by `order`; omitted axes stay at index 0.
  int region(const LazyOp& root, const Order& order) {
    const auto [it, fresh] = regions_.try_emplace({&root, order}, -1);
    if (!fresh) return it->second;
    const int id = static_cast<int>(program_.regions.size());
    it->second = id;
    program_.regions.emplace_back();
    Region made;
    Shape shape;
    for (const int axis : order) shape.push_back(root.shape()[static_cast<std::size_t>(axis)]);
    made.size = concrete_size(shape);
    for (const sint& n : shape) made.shape.push_back(n.as_int());
    NodeMap<int> place;
    for (const LazyOp* node : region_nodes(root, order)) {
      place.emplace(node, static_cast<int>(made.nodes.size()));
      made.nodes.push_back(convert_node(*node, order, place, node == &root));
      made.nodes.back().run = run_of(*node, order, made);
    }
    program_.regions[static_cast<std::size_t>(id)] = std::move(made);
    finished_.push_back(id);
    return id;
  }

  KernelProgram take() {
    mark_contractions(program_, finished_);
    return std::move(program_);
  }

 private:
  // Operands before users, not descending below reduces and kept functions.
  std::vector<const LazyOp*> region_nodes(const LazyOp& root, const Order& axes) {
    std::vector<const LazyOp*> order;
    NodeMap<bool> seen;
    std::vector<std::pair<const LazyOp*, std::size_t>> path{{&root, 0}};
    seen.emplace(&root, true);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const bool is_leaf = is_reduce(node->op()) || (node != &root && is_kept(*node, axes));
      if (!is_leaf && next < node->src().size()) {
        const LazyOp* operand = node->src()[next++].get();
        if (seen.emplace(operand, true).second) path.emplace_back(operand, 0);
      } else {
        order.push_back(node);
        path.pop_back();
      }
    }
    return order;
  }

  // True for a costly operation that repeats often enough. A product that a sum may take unrounded
  // must stand where the sum does, and so must what may be computed as one.
  bool is_kept(const LazyOp& node, const Order& order) {
    constexpr std::int64_t kOften = 8;
    if (repeats_ != Repeats::KeptFunctions || !is_float(node.dtype())) return false;
    const auto is_costly = [](const LazyOp& n) {
      if (n.op() == Op::Div) {
        const LazyOp* divisor = n.src()[1].get();
        while (!divisor->src().empty()) divisor = divisor->src()[0].get();
        return divisor->op() != Op::Const;
      }
      return n.op() == Op::Exp2 || n.op() == Op::Log2 || n.op() == Op::Sin || n.op() == Op::Sqrt ||
             n.op() == Op::Recip;
    };
    const bool is_function = node.op() == Op::Function;
    if (is_function && node.function_arg().or_last ? !is_costly(*node.src().back())
                                                   : !is_function && !is_costly(node))
      return false;
    std::int64_t times = 1;
    for (const int axis : order) {
      const std::int64_t size = node.shape()[static_cast<std::size_t>(axis)].as_int();
      if (size == 0) return false;
      if (contains(still_below(node), axis) && times < kOften) times *= std::min(size, kOften);
    }
    return times >= kOften;
  }

  // The number of equal consecutive elements of the last node of `region`: the product of the last
  // axes that it does not depend on; 1 where a run is not worth it. A GATHER computes every
  // element.
  std::int64_t run_of(const LazyOp& node, const Order& order, const Region& region) {
    constexpr std::int64_t kWorth = 16;
    if (repeats_ != Repeats::KeptFunctions || node.op() == Op::Gather) return 1;
    std::int64_t run = 1;
    for (std::size_t i = order.size();
         i-- > 0 && (region.shape[i] <= 1 || contains(still_below(node), order[i]));)
      run *= std::max(region.shape[i], std::int64_t{1});
    for (const int s : region.nodes.back().src)
      run = std::min(run, region.nodes[static_cast<std::size_t>(s)].run);
    return run < kWorth ? 1 : run;
  }

  ProgramNode convert_node(const LazyOp& node, const Order& order, const NodeMap<int>& place,
                           bool is_root) {
    ProgramNode made;
    made.op = node.op();
    made.dtype = node.dtype();
    made.origin = &node;
    if (!is_root && is_kept(node, order)) {
      made.kept = true;
      add_region(made, node, node, order, {});
      return made;
    }
    for (const LazyOpPtr& s : node.src()) made.src_dtypes.push_back(s->dtype());
    if (const auto* b = std::get_if<MemBuffer>(&node.arg())) {
      made.buffer = b->idx;
      if (node.op() == Op::Gather)
        add_rows(made, *b, order);
      else
        made.addresses = Addresses(b->st, order);
    } else if (const auto* c = std::get_if<ConstBuffer>(&node.arg())) {
      made.value = c->value;
      made.addresses = Addresses(c->st, order);
    } else if (const auto* cast = std::get_if<CastArg>(&node.arg())) {
      made.bitcast = cast->bitcast;
    } else if (const auto* function = std::get_if<FunctionArg>(&node.arg())) {
      made.function = *function;
    }
    if (is_reduce(node.op())) {
      if (!add_groups(made, node, order))
        add_region(made, node, *node.src()[0], order, node.reduce_arg().axes);
      made.accumulator = node.reduce_arg().accumulator;
      if (made.terms > 0) made.row = row_of(node);
    } else {
      for (const LazyOpPtr& s : node.src()) made.src.push_back(place[s.get()]);
    }
    return made;
  }

  static void add_rows(ProgramNode& made, const MemBuffer& buffer, const Order& order) {
    const ShapeTracker& st = buffer.st;
    if (buffer.checked) made.numbers = Addresses(*buffer.checked, order);
    Order axes{0};
    Shape row;
    for (const int axis : order) {
      axes.push_back(axis + 1);
      row.push_back(st.shape()[static_cast<std::size_t>(axis) + 1]);
    }
    made.addresses = Addresses(st, axes);
    made.rows = st.shape()[0].as_int();
    made.row_size = concrete_size(row);
    (void)checked_mul(made.rows, made.row_size);
  }

  // The number of terms of a reduce next to each other where its operand is stored, if that has the
  // order of axes of the first LOAD below it that moves along all of them, else their own order; 0
  // if the terms are not in the order in which they are stored.
  static std::int64_t row_of(const LazyOp& node) {
    const LazyOpPtr& operand = node.src()[0];
    const Shape& shape = operand->shape();
    const auto axes_by = [&](const auto& stride) {
      std::vector<std::pair<std::int64_t, int>> axes;
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i].as_int() > 1) axes.emplace_back(-stride(i), static_cast<int>(i));
      return axes;
    };
    auto axes = axes_by([](std::size_t) { return std::int64_t{0}; });
    for (const LazyOp* x : ordered_nodes(operand)) {
      if (x->op() != Op::Load || x->shape() != shape || x->buffer().st.views().size() != 1)
        continue;
      const auto own =
          axes_by([&](std::size_t i) { return x->buffer().st.views()[0].strides()[i].as_int(); });
      if (!std::ranges::all_of(own, [](const auto& axis) { return axis.first < 0; })) continue;
      axes = own;
      break;
    }
    std::ranges::sort(axes);
    int last = -1;
    for (const auto& [stride, axis] : axes) {
      if (!contains_axis(node.reduce_arg().axes, axis)) continue;
      if (axis < last) return 0;
      last = axis;
    }
    std::int64_t row = 1;
    for (std::size_t i = axes.size();
         i-- > 0 && contains_axis(node.reduce_arg().axes, axes[i].second);)
      row *= shape[static_cast<std::size_t>(axes[i].second)].as_int();
    return row;
  }

  // The region of `term`: kept axes in the order of the node's own space, then the reduced axes.
  void add_region(ProgramNode& made, const LazyOp& node, const LazyOp& term, const Order& order,
                  const std::vector<int>& axes) {
    const auto reduced = [&](int axis) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    const bool empty = concrete_size(node.shape()) == 0;
    const StillAxes still = repeats_ != Repeats::Computed && !empty ? still_below(node) : 0;
    Order inner;
    Shape reduced_shape, kept_shape, shape;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const int axis = order[place];
      const sint& size = shape.emplace_back(node.shape()[static_cast<std::size_t>(axis)]);
      const bool repeated = contains(still, axis) && size.as_int() > 1;
      made.repeats = made.repeats || repeated;
      kept_shape.push_back(repeated ? sint(1) : size);
      if (reduced(axis) || repeated) continue;
      inner.push_back(axis);
      made.outer_axes.push_back(static_cast<int>(place));
    }
    if (made.repeats) {
      made.distinct = concrete_size(kept_shape);
      Order identity(order.size());
      std::iota(identity.begin(), identity.end(), 0);
      made.results = Addresses(ShapeTracker::contiguous(kept_shape).expand(shape), identity);
    }
    for (const int axis : axes) {
      inner.push_back(axis);
      reduced_shape.push_back(term.shape()[static_cast<std::size_t>(axis)]);
    }
    // Without outputs the count is unused, and the product may overflow.
    made.terms = empty ? 0 : concrete_size(reduced_shape);
    made.region = region(term, inner);
  }

  // Integers that no device computes in another way.
  static bool is_certain(const LazyOpPtr& root) {
    return std::ranges::all_of(ordered_nodes(root), [](const LazyOp* node) {
      return !is_float(node->dtype()) && node->op() != Op::Div && node->op() != Op::Mod &&
             node->op() != Op::Gather && node->op() != Op::Function &&
             !(node->op() == Op::Cast && is_float(node->src()[0]->dtype()));
    });
  }
  // Axes of more than one element along which the node moves.
  Order moving(const LazyOp& node) {
    Order axes;
    for (std::size_t i = 0; i < node.shape().size(); ++i)
      if (!contains(still_below(node), static_cast<int>(i)) && node.shape()[i].as_int() > 1)
        axes.push_back(static_cast<int>(i));
    return axes;
  }
  // The number of terms of each target if it takes the first ones, and no fewer than the one
  // before.
  static std::vector<std::int64_t> ends_of(const ShapeTracker& st, int target, int reduced) {
    const std::int64_t targets = st.shape()[static_cast<std::size_t>(target)].as_int(),
                       terms = st.shape()[static_cast<std::size_t>(reduced)].as_int();
    const Addresses mask(st, Order{target, reduced});
    std::vector<std::int64_t> ends;
    std::vector<AddressRun> runs;
    for (std::int64_t t = 0; t < targets; ++t) {
      mask.runs(t * terms, terms, runs);
      std::int64_t end = 0, at = 0;
      for (const AddressRun& run : runs) {
        if (run.valid() && end < at) return {};
        at += run.count;
        if (run.valid()) end = at;
      }
      if (!ends.empty() && end < ends.back()) return {};
      ends.push_back(end);
    }
    return ends;
  }

  // Whether this is a reduce by groups that is worth it; then fills in its regions.
  bool add_groups(ProgramNode& made, const LazyOp& node, const Order& order) {
    constexpr std::int64_t kWorth = 1 << 14, kMost = 1 << 25;
    if (repeats_ != Repeats::KeptFunctions || node.reduce_arg().axes.size() != 1 ||
        concrete_size(node.shape()) == 0)
      return false;
    const int reduced = node.reduce_arg().axes[0];
    const LazyOp *term = node.src()[0].get(), *first = nullptr;
    const auto is_mask = [](const LazyOp& n) {
      return n.op() == Op::Const && is_bool(n.dtype()) && n.constant().value.as<bool>();
    };
    const std::int64_t terms = term->shape()[static_cast<std::size_t>(reduced)].as_int();
    if (term->op() == Op::Where && is_mask(*term->src()[0]) &&
        moving(*term->src()[0]) == Order{reduced}) {
      std::vector<AddressRun> runs;
      Addresses(term->src()[0]->constant().st, Order{reduced}).runs(0, terms, runs);
      if (runs.size() == 2 && runs[0].valid() && runs[0].count == 1 && !runs[1].valid()) {
        first = term->src()[1].get();
        term = term->src()[2].get();
      }
    }
    if (term->op() != Op::Where) return false;
    const LazyOp &taken = *term->src()[0], &a = *term->src()[1], &none = *term->src()[2];
    const bool sums = node.op() == Op::ReduceSum;
    if (none.op() != Op::Const || !moving(none).empty() ||
        (sums && none.constant().value.to_double() != 0))
      return false;
    Groups groups;
    LazyOpPtr key, number;
    int target = -1;
    if (taken.op() == Op::CmpEq && taken.src()[0]->dtype() == DType::Int64) {
      for (const std::size_t k : {0U, 1U}) {
        const Order axes = moving(*taken.src()[k]);
        if (axes.size() != 1 || axes[0] == reduced) continue;
        number = taken.src()[k];
        key = taken.src()[1 - k];
        target = axes[0];
      }
      if (key == nullptr || contains_axis(moving(*key), target) || !is_certain(key) ||
          !is_certain(number))
        return false;
    } else if (is_mask(taken) && first == nullptr) {
      const Order axes = moving(taken);
      if (axes.size() != 2 || !contains_axis(axes, reduced)) return false;
      target = axes[0] == reduced ? axes[1] : axes[0];
    } else {
      return false;
    }
    if (!contains_axis(order, target) || contains_axis(moving(a), target)) return false;
    groups.targets = term->shape()[static_cast<std::size_t>(target)].as_int();
    if (terms < 2 || groups.targets < kWorth / terms) return false;
    // Results by rows, the target last.
    Order batch, places;
    Shape shape, rows;
    std::int64_t count = 1;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const int axis = order[place];
      const sint& size = shape.emplace_back(node.shape()[static_cast<std::size_t>(axis)]);
      places.push_back(axis == target ? static_cast<int>(order.size()) - 1
                                      : static_cast<int>(rows.size()));
      if (axis == target) continue;
      const bool alone = axis == reduced || contains(still_below(node), axis);
      rows.push_back(alone ? sint(1) : size);
      if (alone) continue;
      count = checked_mul(count, size.as_int());
      batch.push_back(axis);
      made.outer_axes.push_back(static_cast<int>(place));
    }
    const auto all = [&](std::int64_t each) { return checked_mul(count, each) <= kMost; };
    if (key == nullptr) groups.ends = ends_of(taken.constant().st, target, reduced);
    if (!all(terms) || !all(groups.targets) || (key == nullptr && groups.ends.empty())) {
      made.outer_axes.clear();
      return false;
    }
    rows.push_back(groups.targets);
    made.repeats = true;
    made.distinct = checked_mul(count, groups.targets);
    Order identity(order.size());
    std::iota(identity.begin(), identity.end(), 0);
    made.results =
        Addresses(ShapeTracker::contiguous(rows).permute(places).expand(shape), identity);
    made.terms = terms;
    const auto with = [&](int axis) {
      Order axes = batch;
      axes.push_back(axis);
      return axes;
    };
    made.region = region(a, with(reduced));
    if (key != nullptr) {
      groups.keys_of_rows =
          std::ranges::any_of(moving(*key), [&](int axis) { return contains_axis(batch, axis); });
      groups.keys = region(*key, groups.keys_of_rows ? with(reduced) : Order{reduced});
      groups.numbers = region(*number, {target});
    }
    if (first != nullptr) groups.first = region(*first, with(target));
    // A sum of zeros depends on the sign of `none`.
    if (!sums || !std::signbit(none.constant().value.to_double())) groups.none = region(none, {});
    made.groups = std::move(groups);
    return true;
  }

  StillAxes still_below(const LazyOp& node) {
    if (!still_) still_ = still_axes(kernel_, false);
    return (*still_)[&node];
  }
  static bool contains_axis(const Order& axes, int axis) {
    return std::ranges::find(axes, axis) != axes.end();
  }
  static bool contains(StillAxes set, int axis) { return axis < 64 && (set >> axis & 1U) != 0; }

  const LazyOpPtr& kernel_;
  Repeats repeats_;
  std::optional<NodeMap<StillAxes>> still_;
  KernelProgram program_;
  std::vector<int> finished_;  // regions, each after those of its reduces
  std::map<std::pair<const LazyOp*, Order>, int> regions_;
};

}  // namespace

void gathered_runs(const ProgramNode& node, std::span<const std::int64_t> positions,
                   std::int64_t first, std::vector<AddressRun>& out) {
  out.clear();
  std::vector<AddressRun> part;
  for (std::size_t i = 0; i < positions.size();) {
    const std::int64_t at = positions[i];
    std::size_t end = i + 1;
    while (end < positions.size() && positions[end] == at) ++end;
    const auto count = static_cast<std::int64_t>(end - i);
    if (at < 0 || at >= node.rows) {
      out.push_back({count, -1, 0});
    } else {
      node.addresses.runs(at * node.row_size + first + static_cast<std::int64_t>(i), count, part);
      out.insert(out.end(), part.begin(), part.end());
    }
    i = end;
  }
}

IndexFault fault_of(const ProgramNode& node, std::span<const std::int64_t> positions,
                    std::int64_t first) {
  IndexFault fault;
  if (!node.numbers) return fault;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= 0 && positions[i] < node.rows) continue;
    std::int64_t number = -1;
    node.numbers->read(first + static_cast<std::int64_t>(i), std::span(&number, 1));
    if (number >= 0) fault = std::min(fault, IndexFault{number, positions[i], node.rows});
  }
  return fault;
}

std::map<std::pair<int, int>, std::vector<int>> alike_nodes(const KernelProgram& program) {
  constexpr std::size_t kMostRegions = 16, kMostNodes = 1000;
  std::map<std::pair<int, int>, std::vector<int>> all;
  const auto region = [&](int i) -> const Region& {
    return program.regions[static_cast<std::size_t>(i)];
  };
  const auto compare = [&](auto&& self, int first, int second) -> const std::vector<int>& {
    const auto [it, fresh] = all.try_emplace({first, second});
    std::vector<int>& found = it->second;
    if (!fresh) return found;
    const Region &a = region(first), &b = region(second);
    const auto alike = [&](const ProgramNode& x, const ProgramNode& y) {
      const Contraction &c = x.contraction, &d = y.contraction;
      // Whether others add it matters only for products, or where it passes one on.
      const bool passes =
          c.carries || (c.passes != 0 && std::ranges::any_of(y.src, [&](int s) {
                          return b.nodes[static_cast<std::size_t>(s)].contraction.carries;
                        }));
      const auto src_alike = [&](int s, int t) { return found[static_cast<std::size_t>(t)] == s; };
      if (x.op != y.op || x.dtype != y.dtype || x.src_dtypes != y.src_dtypes ||
          !std::ranges::equal(x.src, y.src, src_alike) || x.buffer != y.buffer ||
          x.addresses != y.addresses || x.rows != y.rows || x.row_size != y.row_size ||
          x.numbers != y.numbers || x.value.bits() != y.value.bits() || x.bitcast != y.bitcast ||
          x.function.function != y.function.function || x.function.or_last != y.function.or_last ||
          x.terms != y.terms || x.row != y.row || x.accumulator != y.accumulator ||
          x.repeats != y.repeats || x.results != y.results || x.groups || y.groups ||
          x.kept != y.kept || x.run != y.run || x.rounds_to != y.rounds_to ||
          x.rounds_always != y.rounds_always ||
          (passes ? c != d
                  : c.passes != d.passes || c.adds != d.adds || c.carries != d.carries ||
                        c.flips_fused != d.flips_fused))
        return false;
      if (x.region == y.region) return true;
      if (x.region < 0 || y.region < 0) return false;
      const bool swaps = y.region < x.region;
      const auto& inner = self(self, swaps ? y.region : x.region, swaps ? x.region : y.region);
      const Region& other = region(swaps ? y.region : x.region);
      return !inner.empty() && inner.back() == static_cast<int>(other.nodes.size()) - 1;
    };
    if (a.size != b.size) return found;
    found.assign(b.nodes.size(), -1);
    for (std::size_t j = 0; j < b.nodes.size(); ++j)
      for (std::size_t i = 0; i < a.nodes.size() && found[j] < 0; ++i)
        if (alike(a.nodes[i], b.nodes[j])) found[j] = static_cast<int>(i);
    return found;
  };
  std::size_t nodes = 0;
  for (const Region& r : program.regions) nodes += r.nodes.size();
  if (nodes > kMostNodes || program.regions.size() > kMostRegions) return all;
  for (int second = 1; second < std::ssize(program.regions); ++second)
    for (int first = 0; first < second; ++first) compare(compare, first, second);
  return all;
}

KernelProgram make_program(const LazyOpPtr& kernel, Repeats repeats) {
  Builder builder(kernel, repeats);
  const LazyOpPtr& value = kernel->src().at(0);
  Order identity(value->shape().size());
  std::iota(identity.begin(), identity.end(), 0);
  builder.region(*value, identity);
  return builder.take();
}

}  // namespace touchstone::interp
